//! Blocks of values.

use bitlane::{DType, Expr, Packing, Result, Rules, Tensor};

use super::Kind;
use super::read::half_power;

/// Returns the blocks of rows of `f32` values, as rows of bytes.
pub(super) fn blocks(kind: Kind, values: &Tensor) -> Result<Tensor> {
    match kind {
        Kind::Q4_0 => around_zero(values, 4),
        Kind::Q5_0 => around_zero(values, 5),
        Kind::Q4_1 => from_minimum(values, 4),
        Kind::Q5_1 => from_minimum(values, 5),
        Kind::Q8_0 => {
            let scale = (values.expr().abs().max_keepdims(-1) / 127).rules(Rules::Paddle).run()?;
            let steps = away_from_zero(&(values.expr() * inverse(&scale)));
            let steps = steps.cast(DType::I8).rules(Rules::Paddle).run()?;
            joined(&[half(&scale)?, steps.bitcast(DType::U8)?])
        }
        Kind::TQ2_0 => {
            let scale = values.expr().abs().max_keepdims(-1).rules(Rules::Paddle).run()?;
            let steps = away_from_zero(&(values.expr() * inverse(&scale)));
            let steps = (steps.cast(DType::I8) + 1).cast(DType::U8);
            let steps = steps.rules(Rules::Paddle).run()?;
            let steps = steps.reshape((.., 2, 4, 32))?;
            let bytes = fields(&steps, 2, 2)?.reshape((.., 64))?;
            joined(&[bytes, half(&scale)?])
        }
        Kind::MXFP4 => mxfp4(values),
        // `quantize` has refused the others.
        _ => values.bitcast(DType::U8),
    }
}

/// Returns 1 / scale, or 0 where the scale is 0.
fn inverse(scale: &Tensor) -> Expr<'_> {
    scale.expr().equal(0).select(0.0, 1.0 / scale.expr())
}

/// Rounds to the nearest integer, and halfway cases away from zero.
fn away_from_zero<'a>(x: &Expr<'a>) -> Expr<'a> {
    let size = x.abs();
    let floor = size.floor();
    let rounded = &floor + ((&size - &floor) * 2).floor();
    x.sign() * rounded
}

/// Returns a column of scales as the bytes of `f16`.
fn half(scale: &Tensor) -> Result<Tensor> {
    scale.cast(DType::F16)?.bitcast(DType::U8)
}

fn joined(parts: &[Tensor]) -> Result<Tensor> {
    Tensor::concatenate(parts, 1)
}

/// Returns the bytes of steps of 4 or 5 bits: their fifth bits in four bytes, and two fours in each of 16 bytes.
fn packed(steps: &Tensor, bits: usize) -> Result<Vec<Tensor>> {
    let mut parts = Vec::new();
    if bits == 5 {
        let high = (steps >> 4)?;
        parts.push(high.pack(&Packing::arrow_bits(), 1)?);
    }
    let low = (steps & 15)?.reshape((.., 2, 16))?;
    parts.push(fields(&low, 1, 4)?);
    Ok(parts)
}

/// Joins the bytes along an axis, each of which has a field of some bits of its own.
fn fields(steps: &Tensor, axis: usize, bits: usize) -> Result<Tensor> {
    steps.pack(&Packing::new(bits, DType::U8), axis)?.squeeze(axis)
}

/// The value that is farthest from zero, with its sign, becomes the lowest step.
fn around_zero(values: &Tensor, bits: usize) -> Result<Tensor> {
    let lowest = 1i64 << (bits - 1);
    let farthest = values.abs()?.argmax_keepdims(-1)?;
    let farthest = values.take_along_axis(&farthest, -1)?;
    let scale = (farthest.expr() / -lowest).rules(Rules::Paddle).run()?;
    let steps = (values.expr() * inverse(&scale) + (lowest as f64 + 0.5)).trunc();
    let steps = steps.cast(DType::U8).minimum(2 * lowest - 1).rules(Rules::Paddle).run()?;
    joined(&[vec![half(&scale)?], packed(&steps, bits)?].concat())
}

/// The smallest value becomes step 0, and the largest one the last.
fn from_minimum(values: &Tensor, bits: usize) -> Result<Tensor> {
    let last = (1i64 << bits) - 1;
    let minimum = values.min_keepdims(-1)?;
    let range = values.expr().max_keepdims(-1) - &minimum;
    let scale = (range / last).rules(Rules::Paddle).run()?;
    let steps = ((values.expr() - &minimum) * inverse(&scale) + 0.5).trunc();
    let steps = steps.cast(DType::U8).minimum(last).rules(Rules::Paddle).run()?;
    joined(&[vec![half(&scale)?, half(&minimum)?], packed(&steps, bits)?].concat())
}

/// Every value becomes the nearest 4-bit float, the first of two that are as near.
fn mxfp4(values: &Tensor) -> Result<Tensor> {
    let largest = values.expr().abs().max_keepdims(-1).rules(Rules::Paddle).run()?;
    let exponent = largest.expr().log2().floor() + (127 - 2);
    let exponent = largest.expr().greater_than(0).select(exponent, 0.0);
    let exponent = exponent.cast(DType::U8).rules(Rules::Paddle).run()?;
    let half = half_power(&exponent.expr()).rules(Rules::Paddle).run()?;
    // Twice the bounds between floats; a value at a bound becomes the smaller one, and 0 has no sign.
    let size = values.expr().abs();
    let above = [0.5, 1.5, 2.5, 3.5, 5.0, 7.0, 10.0]
        .map(|bound| size.greater_than(half.expr() * bound).cast(DType::U8));
    let [first, rest @ ..] = above;
    let code = rest.into_iter().fold(first, |sum, step| sum + step);
    let code = size.isfinite().select(code, 0);
    let sign = (values.expr().less_than(0)).logical_and(code.greater_than(0)).cast(DType::U8) << 3;
    let nearest = (code | sign).rules(Rules::Paddle).run()?;
    joined(&[vec![exponent], packed(&nearest, 4)?].concat())
}
