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

use bitlane::{DType, Error, Expr, Packing, Result, Rules, Tensor};

pub use config::{Config, Layer, Layout};

/// Creates the error of an argument.
fn refused(op: &'static str, reason: String) -> Error {
    Error::InvalidArgument { op, reason }
}

/// Packs codes that are in memory, along an axis. Where a word has a field for every place in `order`, from the lowest up,
/// words are joined by shifts of the codes, which is faster than [`Tensor::pack`]; all other packings are left to that.
fn packed(codes: &Tensor, packing: &Packing, order: &[usize], axis: usize) -> Result<Tensor> {
    let len = codes.shape()[axis];
    if order.is_empty() || !len.is_multiple_of(order.len()) || len == 0 {
        return codes.pack(packing, axis);
    }
    let mut shape = codes.shape().to_vec();
    shape[axis] = len / order.len();
    shape.insert(axis + 1, order.len());
    // A view: one dimension becomes two.
    let fields = codes.reshape(shape)?;
    let mut words: Option<Expr<'static>> = None;
    for (place, &field) in order.iter().enumerate() {
        let own = fields.narrow(axis + 1, field, 1)?.squeeze(axis + 1)?;
        let own = own.into_expr().cast(packing.word()) << (place * packing.bits());
        words = Some(match words {
            Some(words) => words | own,
            None => own,
        });
    }
    match words {
        Some(words) => words.rules(Rules::Paddle).run(),
        None => codes.pack(packing, axis),
    }
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
