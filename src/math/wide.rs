//! pow, atan2 and logaddexp of f64.
//!
//! Intermediate values need more precision than an f64 has, so they are kept as unevaluated sums of two f64. Exact
//! products need no fused multiply-add, because their factors are truncated to few enough bits.

use super::exponential::Power;
use super::logarithm::log_sum;
use super::parts::{
    Parity, ROUND, Triangle, flip, limited, logaddexp_cases, pow_cases, select, upper,
};
use super::sums::Sum;
use super::tables::{ATAN, HALF_PI_HI, HALF_PI_LO, PI_HI, PI_LO};

/// x^y.
#[inline(always)]
pub(crate) fn pow(x: f64, y: f64) -> f64 {
    // An exponent of this size takes every power out of range except that of 1, so infinity needs no special case.
    const LARGE: f64 = 36_893_488_147_419_103_232.0; // 2^65
    let exponent = limited(y, LARGE);
    let Sum { value: log, rest } = log_sum(x.abs());
    let (log_upper, exponent_upper) = (upper(log), upper(exponent));
    let log_lower = (log - log_upper) + rest;
    let product = exponent_upper * log_upper;
    let product_rest = (exponent - exponent_upper) * log_upper + exponent * log_lower;
    pow_cases(x, y, parity(y.abs()), Power::of(product, product_rest).rounded())
}

/// Returns the parity of a number that is not negative.
#[inline(always)]
fn parity(x: f64) -> Parity {
    const UNIT: f64 = 4_503_599_627_370_496.0; // 2^52: from here on, all numbers are integers
    let is_integer = |x: f64| (x >= UNIT) | ((x + UNIT) - UNIT == x);
    Parity { integer: is_integer(x), odd: is_integer(x) & !is_integer(x * 0.5) }
}

/// log(e^x + e^y).
#[inline(always)]
pub(crate) fn logaddexp(x: f64, y: f64) -> f64 {
    let large = select(x > y, x, y);
    let small = select(x > y, y, x);
    let difference = Sum::add(small, -large);
    let power = Power::of(difference.value, difference.rest);
    let (ratio, ratio_rest) = (power.rounded(), power.scale(power.rest));
    let sum = 1.0 + ratio;
    let sum_rest = ((1.0 - sum) + ratio) + ratio_rest;
    let log = log_sum(sum);
    let result = Sum::add(large, log.value);
    logaddexp_cases(x, y, result.value + (result.rest + (log.rest + sum_rest / sum)))
}

/// The angle of the point (x, y).
#[inline(always)]
pub(crate) fn atan2(y: f64, x: f64) -> f64 {
    let triangle = Triangle::of(y, x);
    let quotient = triangle.short / triangle.long;
    let (angle, rest) = atan_sum((triangle.short, 0.0), (triangle.long, 0.0), quotient);
    // A tiny angle equals its tangent. The quotient is used directly, because parts of the sum might underflow.
    let tiny = quotient < 5e-20;
    let angle = triangle.turn(select(tiny, quotient, angle));
    let rest = triangle.turn(select(tiny, 0.0, rest));
    let axis = triangle.axis(HALF_PI_HI, PI_HI);
    let sum = axis + angle;
    let sum_rest = (axis - sum) + angle;
    flip(sum + (sum_rest + (triangle.axis(HALF_PI_LO, PI_LO) + rest)), y)
}

/// The angle whose tangent is `short` / `long`, about `quotient`, as a sum of two. Both legs are sums of two as well.
#[inline(always)]
pub(super) fn atan_sum(short: (f64, f64), long: (f64, f64), quotient: f64) -> (f64, f64) {
    let ((short, short_rest), (long, long_rest)) = (short, long);
    const SMALL: f64 = f64::from_bits((1023 - 600) << 52); // 2^-600
    const LARGE: f64 = f64::from_bits((1023 + 600) << 52); // 2^600
    // Scaling avoids overflow and underflow. If it loses the short leg, the quotient is tiny.
    let scale = select(long > 1e150, SMALL, 1.0);
    let scale = select(long < 1e-150, LARGE, scale);
    let (short, long) = (short * scale, long * scale);
    // The nearest angle of the table, plus the rest, from the formula for the tangent of a difference.
    let shifted = quotient * 64.0 + ROUND;
    let near = (shifted - ROUND) * (1.0 / 64.0);
    let row = &ATAN[(shifted.to_bits() as usize & 127).min(64)];
    let (short_upper, long_upper) = (upper(short), upper(long));
    let (short_lower, long_lower) = (short - short_upper, long - long_upper);
    let across_upper = short - near * long_upper; // exact
    let across = across_upper - near * long_lower;
    let across_rest =
        ((across_upper - across) - near * long_lower) + (short_rest - near * long_rest);
    let along = long + near * short_upper;
    let along_rest = (((long - along) + near * short_upper) + near * short_lower) + long_rest;
    // across / along as the sum of its first 26 bits, whose products are exact, and the rest.
    let inverse = 1.0 / along;
    let t_upper = upper(across * inverse);
    let along_upper = upper(along);
    let remainder = ((across - t_upper * along_upper) - t_upper * (along - along_upper))
        + (across_rest - t_upper * along_rest);
    let t_lower = remainder * inverse;
    let t = t_upper + t_lower;
    let t2 = t * t;
    let series =
        -1.0 / 3.0 + t2 * (1.0 / 5.0 + t2 * (-1.0 / 7.0 + t2 * (1.0 / 9.0 + t2 * (-1.0 / 11.0))));
    let cube = t * (t2 * series);
    let (table, table_rest) = (f64::from_bits(row[0]), f64::from_bits(row[1]));
    let angle = table + t_upper;
    (angle, ((table - angle) + t_upper) + ((table_rest + t_lower) + cube))
}
