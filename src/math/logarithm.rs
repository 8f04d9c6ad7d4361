//! log, log2, log10 and log1p.
//!
//! The argument is reduced to a power of two and a significand, and that by a table to 1 + r with r below 2^-7.4. In the
//! interval around 1, the significand itself is 1 + r, so that small results have small relative errors too.

use super::parts::{Split, log_cases, select};
use super::sums::Sum;
use super::tables::{LN2_HI, LN2_LO, LOG2_E_LOWER, LOG2_E_UPPER, LOG10_E_LOWER, LOG10_E_UPPER};

/// Below this magnitude, the first terms of a series suffice.
pub(super) const TINY: f64 = f64::from_bits((1023 - 28) << 52); // 2^-28

/// The natural logarithm.
#[inline(always)]
pub(crate) fn log(x: f64) -> f64 {
    log_cases(x, log_sum(x).value)
}

/// The binary logarithm.
#[inline(always)]
pub(crate) fn log2(x: f64) -> f64 {
    log_cases(x, log_sum(x).times(LOG2_E_UPPER, LOG2_E_LOWER).rounded())
}

/// The decimal logarithm.
#[inline(always)]
pub(crate) fn log10(x: f64) -> f64 {
    log_cases(x, log_sum(x).times(LOG10_E_UPPER, LOG10_E_LOWER).rounded())
}

/// log(1 + x).
#[inline(always)]
pub(crate) fn log1p(x: f64) -> f64 {
    let log = log_of(Sum::add(1.0, x)).rounded();
    let log = select(x.abs() < TINY, x - x * x * (0.5 - x * (1.0 / 3.0)), log);
    log1p_cases(x, log)
}

/// The natural logarithm, for rounding to a narrow format.
#[inline(always)]
pub(crate) fn narrow_log(x: f64) -> f64 {
    log_cases(x, narrow_log_sum(x).odd())
}

/// The binary logarithm, for rounding to a narrow format.
#[inline(always)]
pub(crate) fn narrow_log2(x: f64) -> f64 {
    log_cases(x, narrow_log_sum(x).times(LOG2_E_UPPER, LOG2_E_LOWER).odd())
}

/// The decimal logarithm, for rounding to a narrow format.
#[inline(always)]
pub(crate) fn narrow_log10(x: f64) -> f64 {
    log_cases(x, narrow_log_sum(x).times(LOG10_E_UPPER, LOG10_E_LOWER).odd())
}

/// log(1 + x), for rounding to a narrow format.
#[inline(always)]
pub(crate) fn narrow_log1p(x: f64) -> f64 {
    let split = Split::of(1.0 + x);
    // In the interval around 1, r is x, of which the sum with 1 may have lost a part. Elsewhere that part is negligible,
    // and r exact or the result large.
    let r = split.significand * f64::from_bits(split.row[0]) - 1.0;
    let near = (split.row[1] == 0) & (split.exponent == 0.0);
    log1p_cases(x, narrow_sum(&split, select(near, x, r)).odd())
}

/// Handles the special cases of log(1 + x). `log` is correct for finite x above -1 except 0.
#[inline(always)]
fn log1p_cases(x: f64, log: f64) -> f64 {
    let log = select((x == f64::INFINITY) | (x == 0.0), x, log);
    let log = select(x == -1.0, f64::NEG_INFINITY, log);
    select((x < -1.0) | x.is_nan(), f64::NAN, log)
}

/// The natural logarithm of a positive finite number that an f32 can represent.
#[inline(always)]
fn narrow_log_sum(x: f64) -> Sum {
    let split = Split::of(x);
    let r = split.significand * f64::from_bits(split.row[0]) - 1.0; // exact
    narrow_sum(&split, r)
}

#[inline(always)]
fn narrow_sum(split: &Split, r: f64) -> Sum {
    let [_, log_hi, log_lo, _] = split.row.map(f64::from_bits);
    let table = split.exponent * LN2_HI + log_hi; // exact
    let table_rest = split.exponent * LN2_LO + log_lo;
    let linear = Sum::quick(table, r);
    Sum::quick(linear.value, linear.rest + (table_rest + r * r * (-0.5 + r * series(r))))
}

/// (log(1 + r) - r + r^2 / 2) / r^3.
#[inline(always)]
fn series(r: f64) -> f64 {
    1.0 / 3.0
        + r * (-0.25
            + r * (0.2 + r * (-1.0 / 6.0 + r * (1.0 / 7.0 + r * (-0.125 + r * (1.0 / 9.0))))))
}

/// The natural logarithm of a positive finite sum.
#[inline(always)]
pub(super) fn log_of(x: Sum) -> Sum {
    let log = log_sum(x.value);
    Sum::quick(log.value, log.rest + x.rest / x.value)
}

/// The natural logarithm of a positive finite number.
#[inline(always)]
pub(super) fn log_sum(x: f64) -> Sum {
    let subnormal = x < f64::MIN_POSITIVE;
    let x = select(subnormal, x * 18_014_398_509_481_984.0, x); // 2^54
    let Split { significand, exponent, row } = Split::of(x);
    let exponent = select(subnormal, exponent - 54.0, exponent);
    let [inverse, log_hi, log_lo, _] = row.map(f64::from_bits);
    // r = significand * inverse - 1 as a sum of two, of which the first has at most 25 bits and an exact square. Its
    // factor is rounded and not truncated, because near 1 it must be 1.
    let significand_upper =
        f64::from_bits(significand.to_bits().wrapping_add(0x8000_0000) & !0xffff_ffff);
    let r_upper = significand_upper * inverse - 1.0;
    let r_lower = (significand - significand_upper) * inverse;
    let r = r_upper + r_lower;
    let r_rest = (r_upper - r) + r_lower;
    let table = exponent * LN2_HI + log_hi; // exact
    let table_rest = exponent * LN2_LO + log_lo;
    let linear = table + r;
    let linear_rest = (table - linear) + r;
    let square = -0.5 * r_upper * r_upper; // exact
    let square_rest = -0.5 * r_lower * (r + r_upper);
    let sum = linear + square;
    let sum_rest = (linear - sum) + square;
    let cube = r * (r * r) * series(r);
    let rest = ((table_rest + r_rest) + (linear_rest + sum_rest)) + (square_rest + cube);
    Sum::quick(sum, rest)
}
