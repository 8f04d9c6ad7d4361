//! bitlane's operations on candle tensors: shifts, `copysign`, bitwise operations and whole expressions, as candle's
//! custom operations.
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
//! - [`Operations`] has methods for candle's [`Tensor`](candle_core::Tensor).
//! - [`Unary`], [`Binary`], [`WithScalar`] and [`Select`] are the custom operations behind them, for
//!   [`apply_op1`](candle_core::Tensor::apply_op1) and its kin.
//! - [`Fused1`], [`Fused2`] and [`Fused3`] make a custom operation of any bitlane expression: a chain of operations in one
//!   pass over memory.
//!
//! Operands may have any layout that candle gives them and broadcast as in bitlane. They are read where they are, and the
//! result is written to the memory that candle gets: nothing is copied. Values, and errors, are those of bitlane: see its
//! [`docs/semantics.md`](https://github.com/bitlane/bitlane/blob/main/docs/semantics.md). Dtypes that candle lacks cannot be
//! results, except that a bool becomes a `u8` of 0 or 1.
//!
//! Only `copysign` of two tensors has a gradient, by its first operand. All other operations, including differentiable
//! ones such as an addition, return an error in the backward pass.
//!
//! Only the CPU is served: a tensor on a GPU is an error. candle's `cuda` feature needs nvcc to build, which this crate is
//! not tested with.

#![deny(missing_docs, unsafe_op_in_unsafe_fn, clippy::undocumented_unsafe_blocks)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::todo)]

mod evaluate;
mod extension;
mod ops;
mod storage;

pub use bitlane;

pub use self::extension::Operations;
pub use self::ops::{Binary, Fused1, Fused2, Fused3, Select, Unary, WithScalar};

/// The README's example is a documentation test like any other.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
