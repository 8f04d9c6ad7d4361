//! Single- and double-precision arithmetic. Approximate instructions are computed in full precision.

use super::rows;
use super::soft::{DOUBLE, Number, Rounding, SINGLE};
use super::types::f32x2;

rows! { ROWS:
    "add" [f32 f64] (T, T) -> T = |a, b| (a + b).canonical();
    "sub" [f32 f64] (T, T) -> T = |a, b| (a - b).canonical();
    "mul" [f32 f64] (T, T) -> T = |a, b| (a * b).canonical();
    "div" [f32 f64] (T, T) -> T = |a, b| (a / b).canonical();
    "fma" [f32 f64] (T, T, T) -> T = |a, b, c| a.mul_add(b, c).canonical();
    "mad" [f32 f64] (T, T, T) -> T = |a, b, c| a.mul_add(b, c).canonical();
    "add.round" [f32 f64] (T, T; mode) -> T = |a, b| rounded(mode, |m| a.number().add(b.number(), m));
    "sub.round" [f32 f64] (T, T; mode) -> T = |a, b| rounded(mode, |m| a.number().add((-b).number(), m));
    "mul.round" [f32 f64] (T, T; mode) -> T = |a, b| rounded(mode, |_| a.number().multiply(b.number()));
    "div.round" [f32 f64] (T, T; mode) -> T = |a, b| rounded(mode, |_| a.number().divide(b.number()));
    "fma.round" [f32 f64] (T, T, T; mode) -> T = |a, b, c| rounded(mode, |m| a.number().multiply(b.number()).add(c.number(), m));
    "mad.round" [f32 f64] (T, T, T; mode) -> T = |a, b, c| rounded(mode, |m| a.number().multiply(b.number()).add(c.number(), m));
    "add" [f32x2] (T, T) -> T = |a, b| both(a, b, 0, |a, b, _| (a + b).canonical());
    "sub" [f32x2] (T, T) -> T = |a, b| both(a, b, 0, |a, b, _| (a - b).canonical());
    "mul" [f32x2] (T, T) -> T = |a, b| both(a, b, 0, |a, b, _| (a * b).canonical());
    "fma" [f32x2] (T, T, T) -> T = |a, b, c| both(a, b, c, |a, b, c| a.mul_add(b, c).canonical());
    "add.round" [f32x2] (T, T; mode) -> T = |a, b| both(a, b, 0, |a, b, _| rounded(mode, |m| a.number().add(b.number(), m)));
    "sub.round" [f32x2] (T, T; mode) -> T = |a, b| both(a, b, 0, |a, b, _| rounded(mode, |m| a.number().add((-b).number(), m)));
    "mul.round" [f32x2] (T, T; mode) -> T = |a, b| both(a, b, 0, |a, b, _| rounded(mode, |_| a.number().multiply(b.number())));
    "fma.round" [f32x2] (T, T, T; mode) -> T = |a, b, c| both(a, b, c, |a, b, c| rounded(mode, |m| a.number().multiply(b.number()).add(c.number(), m)));
    "flush" [f32x2] (T) -> T = |a| both(a, 0, 0, |a, _, _| flushed(a));
    "sqrt" [f32 f64] (T) -> T = |a| a.sqrt().canonical();
    "sqrt.round" [f32 f64] (T; mode) -> T = |a| rounded(mode, |_| a.number().square_root());
    "rcp" [f32 f64] (T) -> T = |a| (1.0 / a).canonical();
    "rcp.round" [f32 f64] (T; mode) -> T = |a| rounded(mode, |_| Number::integer(1).divide(a.number()));
    "rsqrt" [f32] (T) -> T = |a| ((1.0 / f64::from(a).sqrt()) as f32).canonical();
    "rsqrt" [f64] (T) -> T = |a| (1.0 / a.sqrt()).canonical();
    "sin" [f32] (T) -> T = |a| (f64::from(a).sin() as f32).canonical();
    "cos" [f32] (T) -> T = |a| (f64::from(a).cos() as f32).canonical();
    "tanh" [f32] (T) -> T = |a| (f64::from(a).tanh() as f32).canonical();
    "ex2" [f32] (T) -> T = |a| (f64::from(a).exp2() as f32).canonical();
    "lg2" [f32] (T) -> T = |a| (f64::from(a).log2() as f32).canonical();
    "neg" [f32 f64] (T) -> T = |a| -a;
    "abs" [f32 f64] (T) -> T = |a| a.abs();
    "copysign" [f32 f64] (T, T) -> T = |sign, a| a.copysign(sign);
    "min" [f32 f64] (T, T) -> T = |a, b| least(a, b);
    "max" [f32 f64] (T, T) -> T = |a, b| -least(-a, -b);
    "min.NaN" [f32 f64] (T, T) -> T = |a, b| if a.is_nan() || b.is_nan() { T::CANONICAL } else { least(a, b) };
    "max.NaN" [f32 f64] (T, T) -> T = |a, b| if a.is_nan() || b.is_nan() { T::CANONICAL } else { -least(-a, -b) };
    "min.xorsign.abs" [f32] (T, T) -> T = |a, b| signed_by_both(a, b, least(a.abs(), b.abs()));
    "max.xorsign.abs" [f32] (T, T) -> T = |a, b| signed_by_both(a, b, -least(-a.abs(), -b.abs()));
    "min.NaN.xorsign.abs" [f32] (T, T) -> T = |a, b| if a.is_nan() || b.is_nan() { T::CANONICAL } else { signed_by_both(a, b, least(a.abs(), b.abs())) };
    "max.NaN.xorsign.abs" [f32] (T, T) -> T = |a, b| if a.is_nan() || b.is_nan() { T::CANONICAL } else { signed_by_both(a, b, -least(-a.abs(), -b.abs())) };
    // The decoder expands `.ftz` and `.sat` of other instructions to these.
    "flush" [f32] (T) -> T = |a| flushed(a);
    "saturate" [f32 f64] (T) -> T = |a| if a > 0.0 { a.min(1.0) } else { 0.0 };
    "testp.finite" [f32 f64] (T) -> bool = |a| a.is_finite();
    "testp.infinite" [f32 f64] (T) -> bool = |a| a.is_infinite();
    "testp.number" [f32 f64] (T) -> bool = |a| !a.is_nan();
    "testp.notanumber" [f32 f64] (T) -> bool = |a| a.is_nan();
    "testp.normal" [f32 f64] (T) -> bool = |a| a.is_normal();
    "testp.subnormal" [f32 f64] (T) -> bool = |a| a.is_subnormal();
}

/// The operations that `f32` and `f64` share here.
pub(super) trait Float: Copy + PartialOrd {
    /// The canonical NaN, which arithmetic on the device returns.
    const CANONICAL: Self;
    fn canonical(self) -> Self;
    fn number(self) -> Number;
    fn from_number(number: Number, mode: Rounding) -> Self;
    fn negative(self) -> bool;
}

impl Float for f32 {
    const CANONICAL: f32 = f32::from_bits(0x7fff_ffff);
    #[inline(always)]
    fn canonical(self) -> f32 {
        if self.is_nan() { Self::CANONICAL } else { self }
    }
    fn number(self) -> Number {
        Number::decode(self.to_bits().into(), SINGLE)
    }
    fn from_number(number: Number, mode: Rounding) -> f32 {
        f32::from_bits(number.encode(SINGLE, mode) as u32)
    }
    fn negative(self) -> bool {
        self.is_sign_negative()
    }
}

impl Float for f64 {
    const CANONICAL: f64 = f64::from_bits(0xfff8_0000_0000_0000);
    #[inline(always)]
    fn canonical(self) -> f64 {
        if self.is_nan() { Self::CANONICAL } else { self }
    }
    fn number(self) -> Number {
        Number::decode(self.to_bits(), DOUBLE)
    }
    fn from_number(number: Number, mode: Rounding) -> f64 {
        f64::from_bits(number.encode(DOUBLE, mode))
    }
    fn negative(self) -> bool {
        self.is_sign_negative()
    }
}

/// Flushes a subnormal number to zero, keeping its sign.
fn flushed(a: f32) -> f32 {
    if a.is_subnormal() { (0.0f32).copysign(a) } else { a }
}

/// Applies `f` to the lower and the upper of two numbers packed in 64 bits.
fn both(a: u64, b: u64, c: u64, f: impl Fn(f32, f32, f32) -> f32) -> u64 {
    let part = |by: u32| {
        let number = |v: u64| f32::from_bits((v >> by) as u32);
        u64::from(f(number(a), number(b), number(c)).to_bits()) << by
    };
    part(0) | part(32)
}

fn rounded<F: Float>(mode: u64, value: impl Fn(Rounding) -> Number) -> F {
    let mode = Rounding::from_code(mode);
    F::from_number(value(mode), mode)
}

/// Returns the lesser operand. A NaN is ignored if the other operand is a number, and −0 is less than +0.
pub(super) fn least<F: Float>(a: F, b: F) -> F {
    match a.partial_cmp(&b) {
        Some(std::cmp::Ordering::Less) => a,
        Some(std::cmp::Ordering::Greater) => b,
        Some(std::cmp::Ordering::Equal) => {
            if a.negative() {
                a
            } else {
                b
            }
        }
        None => match (a.partial_cmp(&a), b.partial_cmp(&b)) {
            (Some(_), None) => a,
            (None, Some(_)) => b,
            _ => F::CANONICAL,
        },
    }
}

fn signed_by_both(a: f32, b: f32, magnitude: f32) -> f32 {
    magnitude.copysign(if a.is_sign_negative() != b.is_sign_negative() { -1.0 } else { 1.0 })
}
