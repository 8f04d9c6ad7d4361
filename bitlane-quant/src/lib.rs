//! Quantised weights on bitlane tensors.
//!
//! Every format is made of bitlane's expressions and views alone, so that it runs on the CPU and on CUDA with the same
//! bits, and without kernels of its own.
//!
//! ```
//! use bitlane::{DType, Device, Tensor};
//! use bitlane_quant::gguf::{self, Kind};
//! let weights = Tensor::arange(64, DType::F32, &Device::cpu())?;
//! let blocks = gguf::quantize(Kind::Q8_0, &weights)?;
//! assert_eq!(blocks.len(), 2 * Kind::Q8_0.block_bytes());
//! let back = gguf::dequantize(Kind::Q8_0, &blocks, DType::F32)?;
//! assert!((back - &weights)?.abs()?.max(..)?.item::<f32>()? < 0.26);
//! # Ok::<(), bitlane::Error>(())
//! ```
//!
//! What does not fit is an [`Error`] that says what was given and what is allowed.

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod bitsandbytes;
mod config;
pub mod fp4;
pub mod gguf;
pub mod grouped;

use bitlane::{DType, Error, Result};

pub use config::{Config, Layer, Layout};

/// Creates the error of an argument.
fn refused(op: &'static str, reason: String) -> Error {
    Error::InvalidArgument { op, reason }
}

/// Checks that values can be rounded to this dtype.
fn rounded_dtype(op: &'static str, dtype: DType) -> Result<()> {
    if matches!(dtype, DType::F16 | DType::BF16 | DType::F32) {
        return Ok(());
    }
    Err(refused(op, format!("dtype: values are f16, bf16 or f32, not {dtype}")))
}

/// The example of the README is a documentation test.
#[cfg(all(doctest, feature = "cpu"))]
#[doc = include_str!("../README.md")]
struct Readme;
