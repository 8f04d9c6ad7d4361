//! Tensor operations on CUDA and on the CPU, one by one or fused into an expression, with the same bits on every device.
//! New here? Begin with the [`guide`].
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
//! # Status
//!
//! The CPU backend is tested and measured. The CUDA backend is verified on a virtual driver, which runs the kernels
//! that NVRTC compiles, and has not yet run on a physical GPU. If you have one, `bitlane verdict` compares it with the
//! CPU bit for bit and measures it (the program is the crate `bitlane-cli`; see [GPU]); please report what it prints in
//! an [issue](https://github.com/bitlane/bitlane/issues).
//!
//! # Overview
//!
//! - A [`Device`] is where tensors live and operations run. Data never moves between devices implicitly: operands on
//!   different devices are an error, and [`Tensor::to_device`] moves them.
//! - A [`Tensor`] is a view of storage on a device, described by a shape, strides and an offset. Clones and views
//!   ([`slice`](Tensor::slice), [`permute`](Tensor::permute), [`broadcast_to`](Tensor::broadcast_to) and so on) share
//!   the storage and never copy; every operation accepts every view.
//! - A [`DType`] is one of seventeen element types, from `bool` to complex numbers of 128 bits.
//! - An [`Operand`] is the other side of an operation: a tensor, a Rust number or, with the feature `ndarray`, an
//!   array on the host. A literal on the left of an operator needs a type, as in `1i32 << &x`.
//! - A [`BinaryOp`] names an operation on two operands. Each has a method ([`Tensor::add`]), an in-place method
//!   ([`Tensor::add_assign`]), an operator where Rust has one (`&x + &y`, which returns a `Result`), and a builder
//!   ([`binary()`]) that takes a rulebook, a destination and a mask:
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
//! - An [`Expr`] is a chain or graph of operations that is built first and then computed in one pass over memory, with
//!   the same bits as the operations called one by one. Its operators need no `?`:
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
//! - A [`UnaryOp`] names an operation on one tensor ([`Tensor::abs`], [`unary()`]), and a [`ReduceOp`] a reduction over
//!   some of its dimensions ([`Tensor::sum`], [`Tensor::max_keepdims`], [`reduce()`]):
//!
//! ```
//! # use bitlane::{DType, Device, ReduceOp, Tensor, reduce};
//! let x = Tensor::from_nested([[1u8, 2, 3], [4, 5, 6]], &Device::cpu())?;
//! assert_eq!(x.sum(0)?.to_vec::<u64>()?, [5, 7, 9]);
//! assert_eq!(x.max_keepdims(-1)?.shape(), [2, 1]);
//! assert_eq!(reduce(ReduceOp::Sum, &x, ..).dtype(DType::U8).run()?.item::<u8>()?, 21);
//! # Ok::<(), bitlane::Error>(())
//! ```
//!
//! - Reductions may stand anywhere in an expression. This is the softmax of every row, in three passes over memory:
//!
//! ```
//! # use bitlane::{Device, Tensor};
//! let x = Tensor::from_nested([[0.0f32, 1.0, 2.0], [5.0, 5.0, 5.0]], &Device::cpu())?;
//! let e = (x.expr() - x.expr().max_keepdims(-1)).exp();
//! let softmax = (&e / &e.sum_keepdims(-1)).run()?;
//! assert_eq!(softmax.get::<f32>([1, 0])?, 1.0 / 3.0);
//! # Ok::<(), bitlane::Error>(())
//! ```
//!
//! - A [`ScanOp`] names a scan along one dimension ([`Tensor::cumulative_sum`], [`scan()`]), and a [`Packing`] how values
//!   of a few bits lie in words ([`Tensor::pack`]). [`Tensor::take`] and [`Tensor::compress`] look elements up.
//! - [`select`], [`clip`], [`Tensor::fma`] and [`loss`] are the operations that are none of these.
//! - [`promote`] returns the dtype of a result, without computing it, under one of four rulebooks ([`Rules`]):
//!   Paddle's (the default, which rejects mixed tensor dtypes such as `i32` and `f32`), Torch's, NumPy's and JAX's.
//! - An [`Error`] states what was given, what is allowed and what to do. Invalid input never causes a panic, nor does
//!   a machine without CUDA, and a call that returns an error leaves its destination unchanged.
//!
//! # Semantics
//!
//! Shifts are defined for every amount: an amount that is negative or not less than the bit width gives 0, or −1 for
//! an arithmetic right shift of a negative value. Integer arithmetic wraps. Floats of 8 and 16 bits are computed in `f32`
//! and rounded once, to nearest even; operations are neither contracted nor reordered. `copysign` works on the bits: it
//! honours the signs of zeros and NaNs, and keeps the payload of a NaN. Floats are summed in `f64`, in an order that
//! depends only on the number of terms. `exp`, `sin` and all other functions are implemented by this crate; those of one
//! operand are correctly rounded in `f16`, `bf16` and `f32`.
//!
//! Every operation therefore gives the same bits on the CPU and on CUDA, on its own or in an expression; only the sign
//! and payload of a NaN produced by arithmetic are unspecified.
//!
//! # Threads
//!
//! Tensors are `Send` and `Sync`. An operation locks the storages it uses, exclusively for the destination and shared
//! for the operands, so safe code cannot cause a data race. Large operations on the CPU are shared among threads,
//! whose number `cpu::set_threads` limits; results never depend on it.
//!
//! After `fork()` the CPU backend still works in the child; if the parent had started its threads, the child computes
//! on the calling thread alone. CUDA does not survive a fork: as in any CUDA program, a process that has used it must
//! start other processes with `exec`.
//!
//! # When it does not compile
//!
//! [`Tensor`] lists common compiler errors and their solutions. The most frequent: `&x + &y` is a `Result` and needs a
//! `?`, a literal on the left of an operator needs a type (`2.0f64 * &x`), and `x.sum(..)` needs its axes.
//!
//! # Features
//!
//! - `cpu` (default): the CPU backend, and the module [`cpu`], which limits its threads and its memory.
//! - `cuda`: the CUDA backend. Building it needs no CUDA toolkit; running it needs an NVIDIA driver and NVRTC, and
//!   [`Device::cuda`] reports what is missing. Operations are queued and return at once; a failure on the device is
//!   reported by the next call that waits for it, such as [`Tensor::to_vec`] or [`Device::synchronize`]. The module
//!   [`cuda`] is for programs that use cudarc themselves, and has graphs and the memory pool.
//! - `ndarray`: `ndarray` arrays as operands, and conversion in both directions ([`Tensor::from_ndarray`]).
//! - `npy`: the module [`npy`], which loads and saves NumPy's `.npy` and `.npz` files.
//! - `safetensors`: the module [`safetensors`], which loads and saves files in that format.
//! - `dlpack`: the module [`dlpack`], which shares memory with PyTorch, NumPy, JAX and others.
//! - `serde`: bit-exact serialization of tensors, dtypes and rulebooks. A deserialized tensor is on the CPU.
//! - `tracing`: events when kernels are compiled, found in the cache, and launched.
//!
//! The program `bitlane` (`cargo install bitlane-cli`) runs operations on `.npy` and `.safetensors` files; `bitlane doctor`
//! reports what a machine lacks.
//!
//! # Further reading
//!
//! - [`guide`]: from NumPy or PyTorch to bitlane in five minutes. [`guide::cookbook`]: whole jobs.
//! - [`guide::porting`]: equivalents of other libraries' calls. [`guide::faq`]: questions.
//! - [`guide::errors`]: every kind of error, what it means and what to do. [`guide::environment`]: environment variables.
//! - [Semantics]: the definition of every operation for every dtype, and the differences from Paddle, Torch, NumPy and
//!   JAX. [Promotion]: the rulebooks as tables.
//! - [GPU]: what running on CUDA needs. [Performance]: how to get the most out of it, and how to measure it.
//! - [Proof]: how it is tested. [Architecture]: how it is built. [Contributing]: how to change it.
//!
#![doc = concat!("[Semantics]: https://github.com/bitlane/bitlane/blob/v", env!("CARGO_PKG_VERSION"), "/docs/semantics.md")]
#![doc = concat!("[Promotion]: https://github.com/bitlane/bitlane/blob/v", env!("CARGO_PKG_VERSION"), "/docs/promotion.md")]
#![doc = concat!("[GPU]: https://github.com/bitlane/bitlane/blob/v", env!("CARGO_PKG_VERSION"), "/docs/gpu.md")]
#![doc = concat!("[Performance]: https://github.com/bitlane/bitlane/blob/v", env!("CARGO_PKG_VERSION"), "/docs/performance.md")]
#![doc = concat!("[Proof]: https://github.com/bitlane/bitlane/blob/v", env!("CARGO_PKG_VERSION"), "/docs/proof.md")]
#![doc = concat!("[Architecture]: https://github.com/bitlane/bitlane/blob/v", env!("CARGO_PKG_VERSION"), "/ARCHITECTURE.md")]
#![doc = concat!("[Contributing]: https://github.com/bitlane/bitlane/blob/v", env!("CARGO_PKG_VERSION"), "/CONTRIBUTING.md")]
// Without all features, some of the modules above are not there to link to.
#![cfg_attr(
    not(all(
        feature = "cpu",
        feature = "cuda",
        feature = "ndarray",
        feature = "npy",
        feature = "safetensors",
        feature = "dlpack"
    )),
    allow(rustdoc::broken_intra_doc_links)
)]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

#[cfg(not(any(feature = "cpu", feature = "cuda")))]
compile_error!("bitlane needs a backend: enable the feature `cpu` or `cuda`");

// In this order the documentation shows the methods of a tensor: those of `tensor` first, then the operations.
mod tensor;

mod ops;

mod expr;
mod gather;

/// Defines a link in the documentation to a file of this version.
#[cfg(all(doc, feature = "cpu"))]
macro_rules! of_this_version {
    ($label:literal, $file:literal) => {
        concat!(
            "[",
            $label,
            "]: https://github.com/bitlane/bitlane/blob/v",
            env!("CARGO_PKG_VERSION"),
            "/",
            $file
        )
    };
}

// Pages of `docs/`, whose examples are documentation tests like any other.
#[cfg(all(doc, feature = "cpu"))]
#[doc = "[cookbook]: guide::cookbook"]
#[doc = "[environment]: guide::environment"]
#[doc = "[errors]: guide::errors"]
#[doc = "[faq]: guide::faq"]
#[doc = "[porting]: guide::porting"]
#[doc = "[bitlane-candle]: https://docs.rs/bitlane-candle"]
#[doc = of_this_version!("gpu", "docs/gpu.md")]
#[doc = of_this_version!("promotion", "docs/promotion.md")]
#[doc = ""]
pub mod guide;

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
mod exclusive;
mod float8;
mod interop;
#[cfg(feature = "cuda")]
#[doc(hidden)]
pub mod introspect;
mod layout;
#[allow(
    dead_code,
    unused_imports,
    reason = "tests include these files as modules of their own and call functions that the crate does not"
)]
mod math;
mod op;
mod operand;
mod overlap;
mod packing;
mod plan;
mod program;
pub mod promote;
mod request;
mod scalar;
mod scan;
mod slice;
mod storage;
mod sync;

#[cfg(feature = "dlpack")]
pub use interop::dlpack;
#[cfg(feature = "npy")]
pub use interop::npy;
#[cfg(feature = "safetensors")]
pub use interop::safetensors;

pub use float8::{f8e4m3fn, f8e5m2};
pub use half::{bf16, f16};
pub use num_complex::Complex;

pub use backend::HostSlice;
pub use device::Device;
pub use dtype::{Category, DType, Element};
pub use error::{Error, ErrorKind, Result};
pub use expr::{Evaluation, Expr};
pub use op::{BinaryOp, ReduceOp, ScanOp, Shift, UnaryOp};
pub use operand::Operand;
pub use ops::{
    Binary, PartialSum, Reduce, Scan, Unary, atleast_1d, atleast_2d, atleast_3d, binary, clip,
    loss, reduce, scan, select, unary,
};
pub use packing::Packing;
pub use promote::Rules;
pub use scalar::Scalar;
pub use slice::Slice;
pub use tensor::{
    Axes, IntoAxes, IntoAxis, IntoIndex, IntoPositions, IntoRange, IntoReshape, IntoShape, Nested,
    Position, Ragged, Rows, Size, Tensor,
};

/// The README's example is a documentation test like any other.
#[cfg(all(doctest, feature = "cpu"))]
#[doc = include_str!("../README.md")]
struct Readme;
