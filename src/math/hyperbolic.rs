//! sinh, cosh, tanh, asinh, acosh and atanh.
//!
//! The first three are quotients of m = e^x - 1, which is accurate near 0; the others are logarithms of sums of two.

use super::exponential::{Power, half_expm1, narrow_expm1_sum};
use super::logarithm::{TINY, log_of};
use super::parts::{flip, select};
use super::sums::Sum;
use super::tables::{LN2, LN2_REST};

/// From here on, e^-x is negligible compared with e^x, and tanh x is 1.
const FAR: f64 = 40.0;

/// sinh x.
#[inline(always)]
pub(crate) fn sinh(x: f64) -> f64 {
    let size = x.abs();
    let near = sinh_of(expm1_near(size)).rounded();
    let near = select(size < TINY, size + size * size * (size * (1.0 / 6.0)), near);
    let far = Power::of(size, 0.0).half().rounded();
    flip(select(size > FAR, far, near), x)
}

/// cosh x.
#[inline(always)]
pub(crate) fn cosh(x: f64) -> f64 {
    let size = x.abs();
    let far = Power::of(size, 0.0).half().rounded();
    select(size > FAR, far, cosh_of(expm1_near(size)).rounded())
}

/// tanh x.
#[inline(always)]
pub(crate) fn tanh(x: f64) -> f64 {
    let size = x.abs();
    let near = tanh_of(expm1_near(size * 2.0)).rounded();
    flip(select(size < TINY, size - size * size * (size * (1.0 / 3.0)), near), x)
}

/// The inverse of sinh.
#[inline(always)]
pub(crate) fn asinh(x: f64) -> f64 {
    let size = x.abs();
    // Far from 0, it is log 2x.
    let far = size > 1e9;
    let near = select(far, 1.0, size);
    let sum = asinh_of(near, Sum::product(near, near));
    let log = log_of(Sum { value: size, rest: 0.0 }).plus(LN2);
    let log = log.rest + LN2_REST + log.value;
    let result = select(far, log, sum.rounded());
    let result = select(size < TINY, size - size * size * (size * (1.0 / 6.0)), result);
    flip(select(size == f64::INFINITY, size, result), x)
}

/// The inverse of cosh.
#[inline(always)]
pub(crate) fn acosh(x: f64) -> f64 {
    let far = x > 1e9;
    let near = select(far, 1.0, x);
    // x^2 - 1 as a product, whose factors are exact.
    let (below, above) = (near - 1.0, Sum::add(near, 1.0));
    let product = Sum::product(below, above.value);
    let square = Sum { value: product.value, rest: product.rest + below * above.rest };
    let sum = acosh_of(near, square);
    let log = log_of(Sum { value: x, rest: 0.0 }).plus(LN2);
    acosh_cases(x, select(far, log.rest + LN2_REST + log.value, sum.rounded()))
}

/// The inverse of tanh.
#[inline(always)]
pub(crate) fn atanh(x: f64) -> f64 {
    let size = x.abs();
    let result = atanh_of(size).rounded();
    let result = select(size < TINY, size + size * size * (size * (1.0 / 3.0)), result);
    atanh_cases(x, result)
}

/// sinh x, for rounding to a narrow format.
#[inline(always)]
pub(crate) fn narrow_sinh(x: f64) -> f64 {
    flip(sinh_of(narrow_expm1_sum(x.abs())).odd(), x)
}

/// cosh x, for rounding to a narrow format.
#[inline(always)]
pub(crate) fn narrow_cosh(x: f64) -> f64 {
    cosh_of(narrow_expm1_sum(x.abs())).odd()
}

/// tanh x, for rounding to a narrow format.
#[inline(always)]
pub(crate) fn narrow_tanh(x: f64) -> f64 {
    flip(tanh_of(narrow_expm1_sum(x.abs() * 2.0)).odd(), x)
}

/// The inverse of sinh, for rounding to a narrow format.
#[inline(always)]
pub(crate) fn narrow_asinh(x: f64) -> f64 {
    let size = x.abs();
    let sum = asinh_of(size, Sum { value: size * size, rest: 0.0 });
    let tiny = Sum { value: size, rest: size * size * (size * (-1.0 / 6.0)) };
    let result = Sum::select(size < TINY, tiny, sum).odd();
    flip(select(size == f64::INFINITY, size, result), x)
}

/// The inverse of cosh, for rounding to a narrow format.
#[inline(always)]
pub(crate) fn narrow_acosh(x: f64) -> f64 {
    acosh_cases(x, acosh_of(x, Sum::add(x * x, -1.0)).odd())
}

/// The inverse of tanh, for rounding to a narrow format.
#[inline(always)]
pub(crate) fn narrow_atanh(x: f64) -> f64 {
    let size = x.abs();
    let tiny = Sum { value: size, rest: size * size * (size * (1.0 / 3.0)) };
    atanh_cases(x, Sum::select(size < TINY, tiny, atanh_of(size)).odd())
}

/// e^x - 1 for a number that is not negative, and taken to be no more than [`FAR`].
#[inline(always)]
fn expm1_near(x: f64) -> Sum {
    half_expm1(select(x > FAR, FAR, x)).scaled(2.0)
}

/// sinh x, given m: (m + m / (m + 1)) / 2.
#[inline(always)]
fn sinh_of(m: Sum) -> Sum {
    let quotient = m.over(m.plus(1.0));
    let sum = m.plus(quotient.value);
    Sum { value: sum.value, rest: sum.rest + quotient.rest }.scaled(0.5)
}

/// cosh x, given m: (m + 1 + 1 / (m + 1)) / 2.
#[inline(always)]
fn cosh_of(m: Sum) -> Sum {
    let power = m.plus(1.0);
    let inverse = Sum { value: 1.0, rest: 0.0 }.over(power);
    let sum = power.plus(inverse.value);
    Sum { value: sum.value, rest: sum.rest + inverse.rest }.scaled(0.5)
}

/// tanh x, given e^2x - 1.
#[inline(always)]
fn tanh_of(m: Sum) -> Sum {
    m.over(m.plus(2.0))
}

/// asinh x = log(x + sqrt(x^2 + 1)) for a positive number and its square.
#[inline(always)]
fn asinh_of(x: f64, square: Sum) -> Sum {
    log_of(square.plus(1.0).root().plus(x))
}

/// acosh x = log(x + sqrt(x^2 - 1)), given x^2 - 1.
#[inline(always)]
fn acosh_of(x: f64, square: Sum) -> Sum {
    log_of(square.root().plus(x))
}

/// atanh x = log((1 + x) / (1 - x)) / 2 for a positive number below 1.
#[inline(always)]
fn atanh_of(x: f64) -> Sum {
    log_of(Sum::add(1.0, x).over(Sum::add(1.0, -x))).scaled(0.5)
}

/// Handles the special cases of acosh x. `result` is correct for finite x from 1 up.
#[inline(always)]
fn acosh_cases(x: f64, result: f64) -> f64 {
    let result = select(x == f64::INFINITY, x, result);
    select((x < 1.0) | x.is_nan(), f64::NAN, result)
}

/// Handles the special cases of atanh x, and its sign. `result` is that of |x|, correct below 1.
#[inline(always)]
fn atanh_cases(x: f64, result: f64) -> f64 {
    let result = select(x.abs() == 1.0, f64::INFINITY, result);
    select((x.abs() > 1.0) | x.is_nan(), f64::NAN, flip(result, x))
}
