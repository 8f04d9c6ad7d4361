//! exp, log, pow, atan2 and logaddexp of f64.
//!
//! Intermediate values need more precision than an f64 has, so they are kept as unevaluated sums of two f64. Exact
//! products need no fused multiply-add, because their factors are truncated to few enough bits.

use super::parts::{
    Parity, ROUND, Split, Triangle, flip, limited, log_cases, logaddexp_cases, pow_cases, select,
    upper,
};
use super::tables::{
    ATAN, EXP, HALF_PI_HI, HALF_PI_LO, LN2_HI, LN2_LO, PI_HI, PI_LO, STEP_HI, STEP_LO, STEPS,
};

/// e^x overflows above this number, and underflows to 0 below its negative.
const LIMIT: f64 = 800.0;

/// e^x.
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    Power::of(x, 0.0).rounded()
}

/// The natural logarithm.
#[inline(always)]
pub(crate) fn log(x: f64) -> f64 {
    log_cases(x, log_sum(x).0)
}

/// x^y.
#[inline(always)]
pub(crate) fn pow(x: f64, y: f64) -> f64 {
    // An exponent of this size takes every power out of range except that of 1, so infinity needs no special case.
    const LARGE: f64 = 36_893_488_147_419_103_232.0; // 2^65
    let exponent = limited(y, LARGE);
    let (log, rest) = log_sum(x.abs());
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
    let (difference, rest) = add(small, -large);
    let power = Power::of(difference, rest);
    let (ratio, ratio_rest) = (power.rounded(), power.scale(power.rest));
    let sum = 1.0 + ratio;
    let sum_rest = ((1.0 - sum) + ratio) + ratio_rest;
    let (log, log_rest) = log_sum(sum);
    let (result, result_rest) = add(large, log);
    logaddexp_cases(x, y, result + (result_rest + (log_rest + sum_rest / sum)))
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

/// Returns a sum and its rounding error.
#[inline(always)]
pub(super) fn add(x: f64, y: f64) -> (f64, f64) {
    let sum = x + y;
    let y_seen = sum - x;
    (sum, (x - (sum - y_seen)) + (y - y_seen))
}

/// A power of e: (`near` + `rest`) * 2^(`exponent` - 8192), with `near` in or close to [1, 2).
struct Power {
    near: f64,
    rest: f64,
    exponent: u64,
}

impl Power {
    /// Computes e^(x + rest), where the rest is below a millionth of x. NaN stays NaN.
    #[inline(always)]
    fn of(x: f64, rest: f64) -> Power {
        // The number of steps is made positive, so that exponents from -8192 up can be handled as unsigned integers.
        const ROUND_UP: f64 = ROUND + 1_048_576.0; // 2^20
        let rest = select(x.abs() > LIMIT, 0.0, rest);
        let x = limited(x, LIMIT);
        let shifted = x * STEPS + ROUND_UP;
        let count = shifted.to_bits();
        let steps = shifted - ROUND_UP;
        let upper = x - steps * STEP_HI; // exact
        let lower = rest - steps * STEP_LO;
        let r = upper + lower;
        let r_rest = (upper - r) + lower;
        let row = &EXP[count as usize & 127];
        let (table, table_error) = (f64::from_bits(row[0]), f64::from_bits(row[1]));
        let series =
            0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0))));
        let added = table * (r + (r * r * series + (r_rest + table_error)));
        let near = table + added;
        Power { near, rest: (table - near) + added, exponent: (count & ((1 << 22) - 1)) >> 7 }
    }

    /// Returns the power, rounded once even if it is subnormal.
    #[inline(always)]
    fn rounded(&self) -> f64 {
        const SMALLEST: u64 = 8192 - 1022;
        let subnormal =
            (self.exponent < SMALLEST) | ((self.exponent == SMALLEST) & (self.near < 1.0));
        // Added to this power of two, a number is rounded at the last place that the scaled subnormal result has.
        let ruler = f64::from_bits(8193u64.wrapping_sub(self.exponent) << 52);
        let ruler = select(subnormal, ruler, 0.0);
        let sum = ruler + self.near;
        let sum_rest = ((ruler - sum) + self.near) + self.rest;
        self.scale((sum + sum_rest) - ruler)
    }

    /// Returns `x` times the power of two, in two steps, because the power itself may be out of range.
    #[inline(always)]
    fn scale(&self, x: f64) -> f64 {
        let half = self.exponent >> 1;
        let power = |exponent: u64| f64::from_bits(exponent.wrapping_sub(4096 - 1023) << 52);
        x * power(half) * power(self.exponent - half)
    }
}

/// The natural logarithm of a positive finite number as a sum of two.
#[inline(always)]
fn log_sum(x: f64) -> (f64, f64) {
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
    let series = 1.0 / 3.0
        + r * (-0.25
            + r * (0.2 + r * (-1.0 / 6.0 + r * (1.0 / 7.0 + r * (-0.125 + r * (1.0 / 9.0))))));
    let cube = r * (r * r) * series;
    let rest = ((table_rest + r_rest) + (linear_rest + sum_rest)) + (square_rest + cube);
    let log = sum + rest;
    (log, (sum - log) + rest)
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
