//! Functions for results that are rounded to f32, f16 or bf16.
//!
//! The arguments are f64 values that an f32 can represent. The caller rounds the result, an f64, once. Its relative
//! error is far below that of this rounding, and a result that is too large or too small for the narrow format still
//! rounds to infinity or 0.

pub(crate) use super::exponential::{
    narrow_exp as exp, narrow_exp2 as exp2, narrow_expm1 as expm1,
};
pub(crate) use super::hyperbolic::{
    narrow_acosh as acosh, narrow_asinh as asinh, narrow_atanh as atanh, narrow_cosh as cosh,
    narrow_sinh as sinh, narrow_tanh as tanh,
};
pub(crate) use super::logarithm::{
    narrow_log as log, narrow_log1p as log1p, narrow_log2 as log2, narrow_log10 as log10,
};
use super::parts::{
    Parity, ROUND, Split, Triangle, flip, limited, logaddexp_cases, pow_cases, select,
};
use super::tables::{ATAN, EXP, HALF_PI_HI, LN2, LOG2_E, PI_HI};

/// An exponent of 2 that is outside the range of every narrow format, but inside that of f64.
const LIMIT: f64 = 512.0;

/// x^y.
#[inline(always)]
pub(crate) fn pow(x: f64, y: f64) -> f64 {
    // An exponent of this size takes every power out of range except that of 1, so infinity needs no special case.
    const LARGE: f64 = 1_099_511_627_776.0; // 2^40
    let exponent = limited(y, LARGE);
    pow_cases(x, y, parity(exponent), settle(power_of_two(exponent * logarithm(x.abs()))))
}

/// Returns the parity of a number of magnitude up to 2^40.
#[inline(always)]
fn parity(x: f64) -> Parity {
    const UNIT: f64 = 4_503_599_627_370_496.0; // 2^52: from here on, the last bit of a number has the value 1
    let rounded = x.abs() + UNIT;
    let integer = rounded - UNIT == x.abs();
    Parity { integer, odd: integer & (rounded.to_bits() & 1 == 1) }
}

/// log(e^x + e^y).
#[inline(always)]
pub(crate) fn logaddexp(x: f64, y: f64) -> f64 {
    let large = select(x > y, x, y);
    let small = select(x > y, y, x);
    let ratio = power_of_two((small - large) * LOG2_E);
    let sum = 1.0 + ratio;
    // The part of a small ratio that rounding the sum has lost is added to the logarithm directly.
    let log = logarithm(sum) * LN2 + (ratio - (sum - 1.0));
    logaddexp_cases(x, y, large + log)
}

/// The angle of the point (x, y).
#[inline(always)]
pub(crate) fn atan2(y: f64, x: f64) -> f64 {
    let triangle = Triangle::of(y, x);
    let (near, _, small) = atan_parts(triangle.short, triangle.long);
    flip(triangle.axis(HALF_PI_HI, PI_HI) + triangle.turn(near + small), y)
}

/// The angle whose tangent is `short` / `long` as a sum of three, of which the first two are in the table.
#[inline(always)]
pub(super) fn atan_parts(short: f64, long: f64) -> (f64, f64, f64) {
    // Relative to this number every narrow number is negligible, as relative to infinity, but 0 times it is 0.
    let long = select(long == f64::INFINITY, 1e300, long);
    // The nearest angle of the table, plus the rest, from the formula for the tangent of a difference.
    let shifted = f64::from(short as f32 / long as f32) * 64.0 + ROUND;
    let near = (shifted - ROUND) * (1.0 / 64.0);
    let row = &ATAN[(shifted.to_bits() as usize & 127).min(64)];
    let t = (short - near * long) / (long + near * short);
    let t2 = t * t;
    let series = -1.0 / 3.0 + t2 * (1.0 / 5.0 + t2 * (-1.0 / 7.0));
    (f64::from_bits(row[0]), f64::from_bits(row[1]), t + t * (t2 * series))
}

/// 2^t, with t clamped to ±[`LIMIT`], so that a result out of range is still out of range of the narrow formats. NaN
/// stays NaN.
#[inline(always)]
fn power_of_two(t: f64) -> f64 {
    let t = limited(t, LIMIT);
    let shifted = t * 128.0 + ROUND;
    let steps = shifted.to_bits();
    let r = (t - (shifted - ROUND) * (1.0 / 128.0)) * LN2;
    // There are 128 steps per power of two, so the lowest 7 bits of the count index the table and the others are the
    // exponent.
    let near = EXP[steps as usize & 127][0].wrapping_add((steps & !127) << 45);
    let near = f64::from_bits(near);
    near + near * (r + r * r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0))))
}

/// The binary logarithm of a positive finite number.
#[inline(always)]
fn logarithm(x: f64) -> f64 {
    let Split { significand, exponent, row } = Split::of(x);
    let r = significand * f64::from_bits(row[0]) - 1.0;
    let series = -0.5 + r * (1.0 / 3.0 + r * (-0.25 + r * (0.2 + r * (-1.0 / 6.0))));
    (exponent + f64::from_bits(row[3])) + (r + r * r * series) * LOG2_E
}

/// Rounds to the nearest number of 29 bits if that is so close that it may be the exact power.
///
/// A power that is halfway between two numbers of a narrow format has no more than 29 bits. It must be exact, or
/// rounding would not choose the even number.
#[inline(always)]
fn settle(power: f64) -> f64 {
    const BELOW: u64 = (1 << 24) - 1;
    const NEAR: u64 = 1 << 9;
    let raised = power.to_bits().wrapping_add(NEAR);
    let is_near = (raised & BELOW) as i64 <= 2 * NEAR as i64;
    select(is_near, f64::from_bits(raised & !BELOW), power)
}
