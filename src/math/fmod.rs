//! The remainder of a division truncated towards zero, with the sign of the dividend. It is exact.
//!
//! While the quotient is small, a single step without branches suffices. A loop over numbers for which [`is_far_f32`]
//! or [`is_far_f64`] is false can use that step alone, and is vectorised.

use super::parts::{ROUND, flip, select, upper};

/// The bound on the quotient for f32: an integer up to this bound times an f32 has at most 53 bits.
const FAR_F32: f64 = 268_435_456.0; // 2^28

/// The bound on the quotient for f64: an integer up to this bound has exact products with both halves of an f64.
const FAR_F64: f64 = 16_777_216.0; // 2^24

/// Returns `true` if x / y is too large for [`fmod_step_f32`].
#[inline(always)]
pub(crate) fn is_far_f32(x: f32, y: f32) -> bool {
    is_far(f64::from(x), f64::from(y), FAR_F32)
}

/// Returns `true` if x / y is too large for [`fmod_step_f64`].
#[inline(always)]
pub(crate) fn is_far_f64(x: f64, y: f64) -> bool {
    is_far(x, y, FAR_F64)
}

/// fmod of numbers for which [`is_far_f32`] is false.
#[inline(always)]
pub(crate) fn fmod_step_f32(x: f32, y: f32) -> f32 {
    let (x, y) = (f64::from(x), f64::from(y));
    fmod_cases(x, y, step_f32(x.abs(), y.abs())) as f32
}

/// fmod of numbers for which [`is_far_f64`] is false.
#[inline(always)]
pub(crate) fn fmod_step_f64(x: f64, y: f64) -> f64 {
    fmod_cases(x, y, step_f64(x.abs(), y.abs()))
}

/// fmod of any two numbers.
#[inline(always)]
pub(crate) fn fmod_f32(x: f32, y: f32) -> f32 {
    if is_far_f32(x, y) { fmod_far_f32(x, y) } else { fmod_step_f32(x, y) }
}

/// fmod of any two numbers.
#[inline(always)]
pub(crate) fn fmod_f64(x: f64, y: f64) -> f64 {
    if is_far_f64(x, y) { fmod_far_f64(x, y) } else { fmod_step_f64(x, y) }
}

#[cold]
#[inline(never)]
fn fmod_far_f32(x: f32, y: f32) -> f32 {
    let (x, y) = (f64::from(x), f64::from(y));
    flip(long_division(x.abs(), y.abs(), FAR_F32, step_f32), x) as f32
}

#[cold]
#[inline(never)]
fn fmod_far_f64(x: f64, y: f64) -> f64 {
    flip(long_division(x.abs(), y.abs(), FAR_F64, step_f64), x)
}

/// Returns `false` if the result is NaN, which needs no division.
#[inline(always)]
fn is_far(x: f64, y: f64, limit: f64) -> bool {
    (x.abs() < f64::INFINITY) & (y != 0.0) & (x.abs() >= y.abs() * limit)
}

/// Long division: the divisor is multiplied by `place` as long as it does not exceed `x`, then divided again step by
/// step.
#[inline(always)]
fn long_division(x: f64, y: f64, place: f64, step: impl Fn(f64, f64) -> f64) -> f64 {
    let mut divisor = y;
    while divisor * place <= x {
        divisor *= place;
    }
    let mut rest = step(x, divisor);
    while divisor > y {
        divisor *= 1.0 / place;
        rest = step(rest, divisor);
    }
    rest
}

/// x mod y for positive f32 values. The quotient is rounded to nearest, so the difference may be negative.
#[inline(always)]
fn step_f32(x: f64, y: f64) -> f64 {
    let quotient = (x / y + ROUND) - ROUND;
    reduced(x, y, x - quotient * y)
}

/// x mod y for positive f64 values, like [`step_f32`].
#[inline(always)]
fn step_f64(x: f64, y: f64) -> f64 {
    // If the quotient is rounded up, its product with y exceeds x and might overflow.
    let large = x > 1e300;
    let scale = select(large, 0.25, 1.0);
    let (x, y) = (x * scale, y * scale);
    let quotient = (x / y + ROUND) - ROUND;
    let y_upper = upper(y);
    let rest = reduced(x, y, (x - quotient * y_upper) - quotient * (y - y_upper));
    rest * select(large, 4.0, 1.0)
}

#[inline(always)]
fn reduced(x: f64, y: f64, difference: f64) -> f64 {
    let rest = select(difference < 0.0, difference + y, difference);
    select(x < y, x, rest)
}

/// Handles the special cases of fmod. `rest` is the remainder of |x| and |y|.
#[inline(always)]
fn fmod_cases(x: f64, y: f64, rest: f64) -> f64 {
    let undefined = (x.abs() == f64::INFINITY) | (y == 0.0) | x.is_nan() | y.is_nan();
    select(undefined, f64::NAN, flip(rest, x))
}
