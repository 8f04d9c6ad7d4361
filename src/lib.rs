//! Bitwise shifts, `copysign` and the other operations that type promotion governs, broadcast over tensors on CUDA
//! devices and on the CPU, with the same bits on both.
//!
//! ```
//! use bitlane::{Device, Shift, Tensor};
//!
//! let device = Device::best()?; // the first CUDA device, else the CPU
//! let words = Tensor::from_slice(&[0x7654_3210u32, 0xfedc_ba98], [2, 1], &device)?;
//! let amounts = Tensor::from_slice(&[0u32, 4, 8, 12], [4], &device)?;
//! let nibbles = (words.bitwise_right_shift(&amounts, Shift::Logical)? & 0xf)?;
//! assert_eq!(nibbles.shape(), [2, 4]);
//! assert_eq!(nibbles.to_vec::<u32>()?, [0, 1, 2, 3, 8, 9, 10, 11]);
//! # Ok::<(), bitlane::Error>(())
//! ```
//!
//! # The pieces
//!
//! - A [`Device`] is where tensors live and operations run. Nothing moves between devices by itself:
//!   operands on different ones are an error, and [`Tensor::to_device`] is the remedy.
//! - A [`Tensor`] is storage on a device seen through a shape, strides and an offset. Clones and views
//!   ([`slice`](Tensor::slice), [`permute`](Tensor::permute), [`broadcast_to`](Tensor::broadcast_to)
//!   and so on) share the storage and never copy; every operation takes every view as it is.
//! - A [`DType`] is one of fifteen element types, from `bool` to complex numbers of 128 bits.
//! - An [`Operand`] is what stands beside a tensor: another tensor, a Rust number, or with the feature
//!   `ndarray` an array of the host.
//!   A literal on the left of an operator needs its type, as in `1i32 << &x`.
//! - A [`BinaryOp`] names an operation on two operands. Each has a method ([`Tensor::add`]), most an operator
//!   (`&x + &y`, which gives a `Result`), an in-place method ([`Tensor::add_assign`]) and the long form with a rulebook,
//!   a destination and a mask:
//!
//! ```
//! # use bitlane::{BinaryOp, Device, Rules, Tensor, binary};
//! # let device = Device::cpu();
//! let x = Tensor::from_slice(&[1u8, 2, 3], [3], &device)?;
//! let keep = Tensor::from_slice(&[true, false, true], [3], &device)?;
//! let mut out = Tensor::from_slice(&[0i64, 0, 0], [3], &device)?;
//! binary(BinaryOp::Multiply, &x, 100).rules(Rules::NumPy).out(&mut out).mask(&keep).run()?;
//! assert_eq!(out.to_vec::<i64>()?, [100, 0, 44]); // computed in u8, where 300 wraps to 44
//! # Ok::<(), bitlane::Error>(())
//! ```
//!
//! - An [`Expr`] is a chain of operations that is written first and computed in one pass over memory, with the very bits
//!   of the operations called one by one. Its operators need no `?`:
//!
//! ```
//! # use bitlane::{DType, Device, Tensor};
//! # let device = Device::cpu();
//! # let words = Tensor::from_slice(&[0x7654_3210u32, 0xfedc_ba98], [2, 1], &device)?;
//! # let amounts = Tensor::from_slice(&[0u32, 4, 8, 12], [4], &device)?;
//! let weights = (((words.expr() >> &amounts) & 0xf).cast(DType::F16) - 8) * 0.25;
//! assert_eq!(weights.run()?.shape(), [2, 4]);
//! # Ok::<(), bitlane::Error>(())
//! ```
//!
//! - [`select`], the reductions ([`Tensor::sum`], [`mean`](Tensor::mean), [`max`](Tensor::max), [`min`](Tensor::min),
//!   [`any`](Tensor::any), [`all`](Tensor::all)) and [`loss`] are the operations that are not binary or unary.
//! - [`promote`] answers, without computing, which dtype an operation gives under one of four rulebooks
//!   ([`Rules`]): Paddle's, which is the default and refuses what would surprise, Torch's, NumPy's and JAX's.
//! - An [`Error`] says what was given, what is allowed and what to do. Input never causes a panic, nor does
//!   a machine without CUDA, and a call that fails leaves its destination as it was.
//!
//! # What is computed
//!
//! Shifts are defined for every amount: an amount that is negative or not less than the bit width gives 0, or −1 for an
//! arithmetic right shift of a negative value. Integer arithmetic wraps. `f16` and `bf16` are computed in
//! `f32` and rounded once, to nearest even; nothing is fused or reordered. `copysign` works on the bits:
//! the sign of a zero and of a NaN counts, and the payload of a NaN survives. Sums of floats are added in `f64`, in an order
//! that depends on the number of terms alone. `pow`, `atan2`, `logaddexp` and the functions inside the losses are the
//! crate's own. So every operation gives the same bits on the CPU and on CUDA, on its own or in an expression; only the
//! sign and payload of a NaN made by arithmetic are free.
//!
//! # Threads
//!
//! Tensors are `Send` and `Sync`. An operation locks the storages it touches, the destination's for
//! writing, so operations that share storage happen one after another and safe code cannot race. Large operations on the
//! CPU are shared among threads, which `cpu::set_threads` limits; the result never depends on their number.
//!
//! After `fork()` the CPU backend works on in the child, on the one thread that a child has. CUDA does not survive a fork:
//! a process that has used it must start others by `exec`, as with any CUDA program.
//!
//! # When it does not compile
//!
//! [`Tensor`] lists what the compiler says and what is meant. The usual ones: `&x + &y` is a `Result` and wants a `?`, a
//! literal on the left of an operator wants a type (`2.0f64 * &x`), and `x.sum(&[])` takes its axes.
//!
//! # Features
//!
//! - `cpu` (default): the CPU backend.
//! - `cuda`: the CUDA backend. Building it needs no CUDA toolkit; running it needs an NVIDIA driver and
//!   NVRTC, and [`Device::cuda`] says what is missing. Operations are queued and return at once; what
//!   fails on the device is reported by the next call that waits for it, such as [`Tensor::to_vec`] or
//!   [`Device::synchronize`]. The module `cuda` is for programs that use cudarc themselves.
//! - `ndarray`: arrays as operands, and conversion from and to `ndarray`.
//! - `npy`: the module `npy`, which loads and saves NumPy's `.npy` and `.npz` files.
//! - `safetensors`: the module `safetensors`, which loads and saves models in that format.
//! - `dlpack`: the module `dlpack`, which shares memory with PyTorch, NumPy, JAX and others.
//! - `serde`: tensors, dtypes and rulebooks can be serialised, to the bit. A tensor that is read is on the CPU.
//! - `cli`: the program `bitlane` (`cargo install bitlane --features cli`), which runs operations on `.npy` files and says
//!   with `bitlane doctor` what a machine lacks.
//! - `tracing`: events when kernels are compiled, found in the cache, and launched.
//!
//! # Further pages
//!
//! - [Semantics]: what every operation computes for every dtype, and the differences from Paddle, Torch, NumPy and JAX.
//! - [Promotion]: the tables of the rulebooks. [Porting]: calls of other libraries, and ours.
//! - [GPU]: what running on CUDA needs. [Performance]: what makes it fast, and how to measure it.
//! - [Proof]: how it is tested. [Architecture]: how it is built. [Contributing]: how to change it.
//!
//! [Semantics]: https://github.com/bitlane/bitlane/blob/main/docs/semantics.md
//! [Promotion]: https://github.com/bitlane/bitlane/blob/main/docs/promotion.md
//! [Porting]: https://github.com/bitlane/bitlane/blob/main/docs/porting.md
//! [GPU]: https://github.com/bitlane/bitlane/blob/main/docs/gpu.md
//! [Performance]: https://github.com/bitlane/bitlane/blob/main/docs/performance.md
//! [Proof]: https://github.com/bitlane/bitlane/blob/main/docs/proof.md
//! [Architecture]: https://github.com/bitlane/bitlane/blob/main/ARCHITECTURE.md
//! [Contributing]: https://github.com/bitlane/bitlane/blob/main/CONTRIBUTING.md
//!
//! # How it is built
//!
//! Operands go through `promote` (the dtype of every step) and `layout` (the shape) into a `call`, which puts together
//! a `program` (what to compute) and a `plan` (which loops) and hands them to a backend.
//! Each is a value that can be printed and tested, and none reaches back. An ordinary call, a loss, a gradient and an
//! expression of twenty nodes are the same request. The tables in `dtype` and `op` have one row per dtype and per operation;
//! everything else is made from them.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(missing_docs, unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::todo,
    clippy::unimplemented
)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

#[cfg(not(any(feature = "cpu", feature = "cuda")))]
compile_error!("bitlane needs a backend: enable the feature `cpu` or `cuda`");

// In this order the documentation shows the methods of a tensor: those of `tensor` first, then the operations.
mod tensor;

mod ops;

mod expr;

mod backend;
mod call;
mod cast;
#[cfg(feature = "cpu")]
pub mod cpu;
#[cfg(feature = "cuda")]
pub mod cuda;
mod device;
mod dtype;
mod error;
mod interop;
#[cfg(feature = "cuda")]
#[doc(hidden)]
pub mod introspect;
mod layout;
#[allow(
    dead_code,
    unused_imports,
    reason = "some functions are there for the tests alone, which take the files as they are"
)]
mod math;
mod op;
mod operand;
mod overlap;
mod plan;
mod program;
pub mod promote;
mod scalar;
mod slice;
mod storage;

#[cfg(feature = "dlpack")]
pub use interop::dlpack;
#[cfg(feature = "npy")]
pub use interop::npy;
#[cfg(feature = "safetensors")]
pub use interop::safetensors;

pub use half::{bf16, f16};
pub use num_complex::Complex;

pub use device::Device;
pub use dtype::{Category, DType, Element};
pub use error::{Error, ErrorKind, Result};
pub use expr::{Evaluation, Expr};
pub use op::{BinaryOp, Shift};
pub use operand::Operand;
pub use ops::{Binary, atleast_1d, atleast_2d, atleast_3d, binary, loss, select};
pub use promote::Rules;
pub use scalar::Scalar;
pub use slice::Slice;
pub use tensor::{
    IntoAxis, IntoIndex, IntoRange, IntoReshape, IntoShape, Nested, Ragged, Size, Tensor,
};

/// The README's example is a documentation test like any other.
#[cfg(all(doctest, feature = "cpu"))]
#[doc = include_str!("../README.md")]
struct Readme;
