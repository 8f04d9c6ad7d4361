//! bitlane's operations on candle tensors: shifts, `copysign`, bitwise operations and whole expressions, as custom
//! operations of candle.
//!
//! ```
//! use bitlane_candle::Operations;
//! use candle_core::{Device, Tensor};
//! let words = Tensor::new(&[[0x3210u32], [0x7654]], &Device::Cpu)?;
//! let amounts = Tensor::new(&[0u32, 4, 8, 12], &Device::Cpu)?;
//! let nibbles = words.right_shift(&amounts)?.bitwise_and_scalar(0xf)?;
//! assert_eq!(nibbles.to_vec2::<u32>()?, [[0, 1, 2, 3], [4, 5, 6, 7]]);
//! # Ok::<(), candle_core::Error>(())
//! ```
//!
//! - [`Operations`] adds methods to candle's [`Tensor`](candle_core::Tensor).
//! - [`Unary`], [`Binary`], [`WithScalar`] and [`Select`] are the custom operations behind them, for
//!   [`apply_op1`](candle_core::Tensor::apply_op1), `apply_op2` and `apply_op3`.
//! - [`Fused1`], [`Fused2`] and [`Fused3`] turn any bitlane expression into a custom operation: a chain of operations
//!   in one pass over memory.
//!
//! - All of them except [`Select`] are also in-place operations (`inplace_op1` and so on), which replace the elements of
//!   the first tensor.
//!
//! Operands may have any candle layout, and broadcast as in bitlane. They are read in place, and the result is written
//! directly to the storage that candle receives: nothing is copied. Values and errors are those of bitlane; see its
//! [`docs/semantics.md`](https://github.com/bitlane/bitlane/blob/main/docs/semantics.md). A result dtype that candle
//! lacks is an error, except that a bool becomes a `u8` of 0 or 1.
//!
//! Only `copysign` of two tensors has a gradient, by its first operand. All other operations, including differentiable
//! ones such as an addition, return an error in the backward pass.
//!
//! With the feature `cuda`, tensors on CUDA devices are operands too. Kernels run on candle's stream, in order with
//! candle's own, and NVRTC compiles them at run time; a result belongs to candle like any other tensor. Without
//! the feature, and on Metal, a tensor on a GPU is an error.

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod evaluate;
mod extension;
mod ops;
mod storage;

pub use bitlane;

pub use self::extension::Operations;
pub use self::ops::{Binary, Fused1, Fused2, Fused3, Select, Unary, WithScalar};

/// Runs the examples of the README as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
