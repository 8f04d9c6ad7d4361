//! bitlane
#![deny(missing_docs, unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::todo, clippy::unimplemented)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

#[cfg(not(any(feature = "cpu", feature = "cuda")))]
compile_error!("bitlane needs a backend: enable the feature `cpu` or `cuda`");

mod backend;
mod cast;
mod device;
mod dtype;
mod error;
mod interop;
mod layout;
mod op;
mod operand;
mod ops;
mod plan;
pub mod promote;
mod scalar;
mod slice;
mod storage;
mod tensor;

pub use half::{bf16, f16};
pub use num_complex::Complex;

pub use device::Device;
pub use dtype::{Category, DType, Element};
pub use error::{Error, ErrorKind, Result};
pub use op::{BinaryOp, Shift};
pub use operand::Operand;
pub use ops::{Binary, atleast_1d, atleast_2d, atleast_3d, binary};
pub use promote::Rules;
pub use scalar::Scalar;
pub use slice::Slice;
pub use tensor::{IntoShape, Tensor};
