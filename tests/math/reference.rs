//! Reference functions in double-double arithmetic, with about 100 bits.
//!
//! They share no algorithms with the functions under test. `goldens` compares them with mpmath.

use std::f64::consts::{FRAC_PI_2, LN_2, LN_10, LOG2_E, PI};
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::sync::LazyLock;

use crate::function::Function;

/// The unevaluated sum of two doubles, the second at most half an ulp of the first.
#[derive(Clone, Copy, Debug)]
pub struct Double {
    pub hi: f64,
    pub lo: f64,
}

const LN2: Double = Double { hi: LN_2, lo: f64::from_bits(0x3c7a_bc9e_3b39_803f) };
const LN10: Double = Double { hi: LN_10, lo: f64::from_bits(0xbcaf_48ad_494e_a3e9) };
const WHOLE: Double = Double { hi: PI, lo: f64::from_bits(0x3ca1_a626_3314_5c07) };
const HALF: Double = Double { hi: FRAC_PI_2, lo: f64::from_bits(0x3c91_a626_3314_5c07) };

/// A result as `value` * 2^`exponent`, so that none overflows or underflows.
#[derive(Clone, Copy, Debug)]
pub struct Exact {
    pub value: Double,
    pub exponent: i32,
}

impl From<f64> for Double {
    fn from(hi: f64) -> Double {
        Double { hi, lo: 0.0 }
    }
}

impl From<Double> for Exact {
    fn from(value: Double) -> Exact {
        Exact { value, exponent: 0 }
    }
}

/// Returns the exact sum of any two numbers.
fn two_sum(x: f64, y: f64) -> Double {
    let hi = x + y;
    let seen = hi - x;
    Double { hi, lo: (x - (hi - seen)) + (y - seen) }
}

/// Returns the exact sum, for |x| >= |y|.
fn quick_sum(x: f64, y: f64) -> Double {
    let hi = x + y;
    Double { hi, lo: y - (hi - x) }
}

impl Add for Double {
    type Output = Double;
    fn add(self, other: Double) -> Double {
        let (upper, lower) = (two_sum(self.hi, other.hi), two_sum(self.lo, other.lo));
        let sum = quick_sum(upper.hi, upper.lo + lower.hi);
        quick_sum(sum.hi, sum.lo + lower.lo)
    }
}

impl Neg for Double {
    type Output = Double;
    fn neg(self) -> Double {
        Double { hi: -self.hi, lo: -self.lo }
    }
}

impl Sub for Double {
    type Output = Double;
    fn sub(self, other: Double) -> Double {
        self + -other
    }
}

impl Mul for Double {
    type Output = Double;
    fn mul(self, other: Double) -> Double {
        let hi = self.hi * other.hi;
        let lo = self.hi.mul_add(other.hi, -hi);
        quick_sum(hi, lo + (self.hi * other.lo + self.lo * other.hi))
    }
}

impl Div for Double {
    type Output = Double;
    fn div(self, other: Double) -> Double {
        let first = self.hi / other.hi;
        let rest = self - other * first.into();
        let second = rest.hi / other.hi;
        let rest = rest - other * second.into();
        quick_sum(first, second) + (rest.hi / other.hi).into()
    }
}

impl Double {
    /// Multiplies by 2^exponent; nothing may underflow.
    fn scaled(self, exponent: i32) -> Double {
        Double { hi: power_of_two(self.hi, exponent), lo: power_of_two(self.lo, exponent) }
    }
}

/// Returns `x` * 2^exponent, which is exact if the result is normal.
pub fn power_of_two(x: f64, exponent: i32) -> f64 {
    let mut x = x;
    let mut left = exponent;
    while left != 0 {
        let step = left.clamp(-1000, 1000);
        x *= f64::from_bits(((1023 + step) as u64) << 52);
        left -= step;
    }
    x
}

/// Returns the exponent of a nonzero number: 2^exponent <= |x| < 2^(exponent + 1).
pub fn exponent_of(x: f64) -> i32 {
    let field = |x: f64| (x.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    if x.abs() < f64::MIN_POSITIVE { field(x * 2f64.powi(64)) - 64 } else { field(x) }
}

/// 1/k!.
static RECIPROCALS: LazyLock<[Double; 20]> = LazyLock::new(|| {
    let mut factorial = 1.0; // exact up to 18!
    std::array::from_fn(|k| {
        factorial *= k.max(1) as f64;
        Double::from(1.0) / factorial.into()
    })
});

/// e^x - 1 for |x| <= 0.4.
fn exp_minus_one(x: Double) -> Double {
    const HALVINGS: i32 = 6;
    let reciprocals = &*RECIPROCALS;
    let x = x.scaled(-HALVINGS);
    let mut sum = reciprocals[12];
    for k in (1..12).rev() {
        sum = reciprocals[k] + x * sum;
    }
    let mut result = x * sum;
    for _ in 0..HALVINGS {
        result = result.scaled(1) + result * result;
    }
    result
}

/// e^x for |x| up to 10^6.
fn exp(x: Double) -> Exact {
    let count = (x.hi * LOG2_E).round();
    let rest = x - LN2 * count.into();
    Exact { value: Double::from(1.0) + exp_minus_one(rest), exponent: count as i32 }
}

/// The natural logarithm of a positive number.
fn log(x: Double) -> Double {
    let mut exponent = exponent_of(x.hi);
    let mut significand = x.scaled(-exponent);
    if significand.hi > 1.4 {
        significand = significand.scaled(-1);
        exponent += 1;
    }
    // One step of Newton's method doubles the number of correct bits.
    let near = significand.hi.ln();
    let ratio = exp_minus_one((-near).into());
    let error = (significand - 1.0.into()) + significand * ratio;
    let log = Double::from(near) + error + (-0.5 * error.hi * error.hi).into();
    log + LN2 * f64::from(exponent).into()
}

/// Returns the square root of a number that is not negative.
fn root(x: Double) -> Double {
    if x.hi == 0.0 {
        return x;
    }
    let near = x.hi.sqrt();
    let rest = x - Double::from(near) * near.into();
    quick_sum(near, rest.hi / (2.0 * near)) + (rest.lo / (2.0 * near)).into()
}

/// log(1 + x) for x above -1, with a small relative error also near 0.
fn log_one_plus(x: Double) -> Double {
    if x.hi.abs() > 0.25 {
        return log(x + 1.0.into());
    }
    // One step of Newton's method, as in `log`.
    let near = x.hi.ln_1p();
    let power = exp_minus_one(near.into());
    let error = (x - power) / (power + 1.0.into());
    Double::from(near) + error + (-0.5 * error.hi * error.hi).into()
}

/// e^x - 1, with a small relative error also near 0.
fn exp_less_one(x: Double) -> Exact {
    if x.hi.abs() < 0.3 {
        return exp_minus_one(x).into();
    }
    let power = exp(x);
    if power.exponent > 200 {
        return power;
    }
    if power.exponent < -200 {
        return Double::from(-1.0).into();
    }
    (power.value.scaled(power.exponent) - 1.0.into()).into()
}

/// Returns (m, m / (m + 1)), of which half the sum is sinh x and half the difference cosh x - 1, for x up to 100.
fn powers_less_one(x: f64) -> (Double, Double) {
    let m = exp_less_one(x.into()).value;
    (m, m / (m + 1.0.into()))
}

/// sinh x or cosh x for x from 100 on.
fn half_exp(x: f64) -> Exact {
    let power = exp(x.into());
    Exact { value: power.value, exponent: power.exponent - 1 }
}

fn sinh(x: f64) -> Exact {
    if x > 100.0 {
        return half_exp(x);
    }
    let (up, down) = powers_less_one(x);
    (up + down).scaled(-1).into()
}

fn cosh(x: f64) -> Exact {
    if x > 100.0 {
        return half_exp(x);
    }
    let (up, down) = powers_less_one(x);
    ((up - down).scaled(-1) + 1.0.into()).into()
}

fn tanh(x: f64) -> Exact {
    if x > 40.0 {
        return Double::from(1.0).into();
    }
    let m = exp_less_one((2.0 * x).into()).value;
    (m / (m + 2.0.into())).into()
}

fn asinh(x: f64) -> Exact {
    if x > 1e30 {
        return (log(x.into()) + LN2).into();
    }
    let square = Double::from(x) * x.into();
    let root = root(square + 1.0.into());
    log_one_plus(Double::from(x) + square / (root + 1.0.into())).into()
}

fn acosh(x: f64) -> Exact {
    if x > 1e30 {
        return (log(x.into()) + LN2).into();
    }
    let (below, above) = (two_sum(x, -1.0), two_sum(x, 1.0));
    log_one_plus(below + root(below * above)).into()
}

fn atanh(x: f64) -> Exact {
    log_one_plus(Double::from(2.0 * x) / two_sum(1.0, -x)).scaled(-1).into()
}

/// Returns an odd function of any number, given that of positive ones. Tiny numbers are scaled up, so that no product of
/// them underflows.
fn odd(function: fn(f64) -> Exact, x: f64) -> Exact {
    // Below this, x^3 is less than 2^-160 of x, and the function is x.
    let size = x.abs();
    let result = if size < 2f64.powi(-80) {
        let exponent = exponent_of(size);
        Exact { value: power_of_two(size, -exponent).into(), exponent }
    } else {
        function(size)
    };
    if x < 0.0 { Exact { value: -result.value, ..result } } else { result }
}

/// Returns x + c x^2, for an x so small that the terms beyond are negligible.
fn line(x: f64, c: f64) -> Exact {
    let exponent = exponent_of(x);
    let x_scaled = power_of_two(x, -exponent);
    let square = if exponent < -500 { 0.0 } else { c * x_scaled * x };
    Exact { value: quick_sum(x_scaled, square), exponent }
}

/// (sin x, cos x) for x in [0, 0.8].
fn sin_cos(x: f64) -> (Double, Double) {
    const HALVINGS: i32 = 5;
    let reciprocals = &*RECIPROCALS;
    let x = Double::from(power_of_two(x, -HALVINGS));
    let square = -(x * x);
    let (mut sin, mut versine) = (reciprocals[17], reciprocals[18]);
    for k in (1..9).rev() {
        sin = reciprocals[2 * k - 1] + square * sin;
        versine = reciprocals[2 * k] + square * versine;
    }
    // 1 - cos is more precise than cos.
    let (mut sin, mut versine) = (x * sin, -(square * versine));
    for _ in 0..HALVINGS {
        let cos = Double::from(1.0) - versine;
        (sin, versine) = ((sin * cos).scaled(1), (sin * sin).scaled(1));
    }
    (sin, Double::from(1.0) - versine)
}

/// Returns the angle whose tangent is short / long, for positive numbers with short <= long.
fn angle(short: f64, long: f64) -> Exact {
    let (a, b) = (exponent_of(short), exponent_of(long));
    let (short, long) = (power_of_two(short, -a), power_of_two(long, -b));
    let quotient = Double::from(short) / long.into();
    if a - b < -40 {
        let square = power_of_two(quotient.hi, a - b) * power_of_two(quotient.hi, a - b);
        return Exact {
            value: quotient * (Double::from(1.0) - (square / 3.0).into()),
            exponent: a - b,
        };
    }
    let (short, long) = (Double::from(power_of_two(short, a - b)), Double::from(long));
    let near = (short.hi / long.hi).atan();
    let (sin, cos) = sin_cos(near);
    let rest = (short * cos - long * sin) / (long * cos + short * sin);
    (Double::from(near) + rest).into()
}

/// atan2(y, x) for finite numbers other than 0.
fn atan2(y: f64, x: f64) -> Exact {
    let (height, width) = (y.abs(), x.abs());
    let (steep, left) = (height > width, x < 0.0);
    let angle = if steep { angle(width, height) } else { angle(height, width) };
    let mut result = angle;
    if steep || left {
        let small =
            if angle.exponent < -1000 { 0.0.into() } else { angle.value.scaled(angle.exponent) };
        let start = if steep { HALF } else { WHOLE };
        result = (if steep == left { start + small } else { start - small }).into();
    }
    if y < 0.0 { Exact { value: -result.value, ..result } } else { result }
}

/// log(e^x + e^y) for finite numbers.
fn logaddexp(x: f64, y: f64) -> Double {
    let (large, small) = if x > y { (x, y) } else { (y, x) };
    let difference = two_sum(small, -large);
    if difference.hi < -700.0 {
        return large.into(); // the rest is below the last bit of the result
    }
    let ratio = exp(difference);
    let ratio = ratio.value.scaled(ratio.exponent);
    let log =
        if ratio.hi < 1e-18 { ratio - (ratio * ratio).scaled(-1) } else { log(ratio + 1.0.into()) };
    log + large.into()
}

/// Returns the exact value for ordinary arguments: finite, nonzero, and positive where the function requires it.
pub fn exact(function: Function, x: f64, y: f64) -> Exact {
    match function {
        Function::Exp => exp(x.into()),
        Function::Log => log(x.into()).into(),
        Function::Pow => exp(log(x.into()) * y.into()),
        Function::Atan2 => atan2(x, y),
        Function::Logaddexp => logaddexp(x, y).into(),
        Function::Exp2 => exp(LN2 * x.into()),
        Function::Expm1 if x.abs() < 1e-20 => line(x, 0.5),
        Function::Expm1 => exp_less_one(x.into()),
        Function::Log2 => (log(x.into()) / LN2).into(),
        Function::Log10 => (log(x.into()) / LN10).into(),
        Function::Log1p if x.abs() < 1e-20 => line(x, -0.5),
        Function::Log1p => log_one_plus(x.into()).into(),
        Function::Sinh => odd(sinh, x),
        Function::Cosh => cosh(x.abs()),
        Function::Tanh => odd(tanh, x),
        Function::Asinh => odd(asinh, x),
        Function::Acosh => acosh(x),
        Function::Atanh => odd(atanh, x),
    }
}
