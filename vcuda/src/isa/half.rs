//! Half precision and bfloat16, as scalars and packed in pairs.

use super::lane::{BF16, F16};
use super::rows;
use super::soft::{BFLOAT, Format, HALF, Number, Rounding};
use super::types::*;

rows! { ROWS:
    "add" [f16 bf16] (T, T) -> T = |a, b| sum(a, b);
    "sub" [f16 bf16] (T, T) -> T = |a, b| sum(a, flip(b));
    "mul" [f16 bf16] (T, T) -> T = |a, b| round(a.number().multiply(b.number()));
    "fma" [f16 bf16] (T, T, T) -> T = |a, b, c| fused(a, b, c);
    "fma.relu" [f16 bf16] (T, T, T) -> T = |a, b, c| relu(fused(a, b, c));
    "neg" [f16 bf16] (T) -> T = |a| flip(a);
    "abs" [f16 bf16] (T) -> T = |a| T::from_bits(a.0 & 0x7fff);
    "min" [f16 bf16] (T, T) -> T = |a, b| least(a, b, false);
    "max" [f16 bf16] (T, T) -> T = |a, b| flip_number(least(flip(a), flip(b), false));
    "min.NaN" [f16 bf16] (T, T) -> T = |a, b| least(a, b, true);
    "max.NaN" [f16 bf16] (T, T) -> T = |a, b| flip_number(least(flip(a), flip(b), true));
    "ex2" [f16 bf16] (T) -> T = |a| from_f64(to_f64(a).exp2());
    "tanh" [f16 bf16] (T) -> T = |a| from_f64(to_f64(a).tanh());
    "ex2" [f16x2] (T) -> T = |a| each::<F16>(a, |a| from_f64(to_f64(a).exp2()));
    "ex2" [bf16x2] (T) -> T = |a| each::<BF16>(a, |a| from_f64(to_f64(a).exp2()));
    "tanh" [f16x2] (T) -> T = |a| each::<F16>(a, |a| from_f64(to_f64(a).tanh()));
    "tanh" [bf16x2] (T) -> T = |a| each::<BF16>(a, |a| from_f64(to_f64(a).tanh()));
    "flush" [f16 bf16] (T) -> T = |a| flushed(a);
    "flush" [f16x2] (T) -> T = |a| each::<F16>(a, flushed);
    "flush" [bf16x2] (T) -> T = |a| each::<BF16>(a, flushed);
    "saturate" [f16 bf16] (T) -> T = |a| saturated(a);
    "saturate" [f16x2] (T) -> T = |a| each::<F16>(a, saturated);
    "saturate" [bf16x2] (T) -> T = |a| each::<BF16>(a, saturated);
    "add" [f16x2] (T, T) -> T = |a, b| two::<F16>(a, b, sum);
    "add" [bf16x2] (T, T) -> T = |a, b| two::<BF16>(a, b, sum);
    "sub" [f16x2] (T, T) -> T = |a, b| two::<F16>(a, b, |a, b| sum(a, flip(b)));
    "sub" [bf16x2] (T, T) -> T = |a, b| two::<BF16>(a, b, |a, b| sum(a, flip(b)));
    "mul" [f16x2] (T, T) -> T = |a, b| two::<F16>(a, b, |a, b| round(a.number().multiply(b.number())));
    "mul" [bf16x2] (T, T) -> T = |a, b| two::<BF16>(a, b, |a, b| round(a.number().multiply(b.number())));
    "fma" [f16x2] (T, T, T) -> T = |a, b, c| three::<F16>(a, b, c, fused);
    "fma" [bf16x2] (T, T, T) -> T = |a, b, c| three::<BF16>(a, b, c, fused);
    "fma.relu" [f16x2] (T, T, T) -> T = |a, b, c| three::<F16>(a, b, c, |a, b, c| relu(fused(a, b, c)));
    "fma.relu" [bf16x2] (T, T, T) -> T = |a, b, c| three::<BF16>(a, b, c, |a, b, c| relu(fused(a, b, c)));
    "neg" [f16x2 bf16x2] (T) -> T = |a| a ^ 0x8000_8000;
    "abs" [f16x2 bf16x2] (T) -> T = |a| a & 0x7fff_7fff;
    "min" [f16x2] (T, T) -> T = |a, b| two::<F16>(a, b, |a, b| least(a, b, false));
    "min" [bf16x2] (T, T) -> T = |a, b| two::<BF16>(a, b, |a, b| least(a, b, false));
    "max" [f16x2] (T, T) -> T = |a, b| two::<F16>(a, b, |a, b| flip_number(least(flip(a), flip(b), false)));
    "max" [bf16x2] (T, T) -> T = |a, b| two::<BF16>(a, b, |a, b| flip_number(least(flip(a), flip(b), false)));
    "min.NaN" [f16x2] (T, T) -> T = |a, b| two::<F16>(a, b, |a, b| least(a, b, true));
    "min.NaN" [bf16x2] (T, T) -> T = |a, b| two::<BF16>(a, b, |a, b| least(a, b, true));
    "max.NaN" [f16x2] (T, T) -> T = |a, b| two::<F16>(a, b, |a, b| flip_number(least(flip(a), flip(b), true)));
    "max.NaN" [bf16x2] (T, T) -> T = |a, b| two::<BF16>(a, b, |a, b| flip_number(least(flip(a), flip(b), true)));
}

/// A 16-bit float.
pub(super) trait Half: Copy {
    const FORMAT: Format;
    fn bits(self) -> u16;
    fn from_bits(bits: u16) -> Self;
    fn number(self) -> Number {
        Number::decode(self.bits().into(), Self::FORMAT)
    }
}

impl Half for F16 {
    const FORMAT: Format = HALF;
    fn bits(self) -> u16 {
        self.0
    }
    fn from_bits(bits: u16) -> F16 {
        F16(bits)
    }
}

impl Half for BF16 {
    const FORMAT: Format = BFLOAT;
    fn bits(self) -> u16 {
        self.0
    }
    fn from_bits(bits: u16) -> BF16 {
        BF16(bits)
    }
}

/// Rounds to the nearest 16-bit float.
pub(super) fn round<H: Half>(number: Number) -> H {
    H::from_bits(number.encode(H::FORMAT, Rounding::Nearest) as u16)
}

pub(super) fn to_f64<H: Half>(a: H) -> f64 {
    f64::from_bits(a.number().encode(super::soft::DOUBLE, Rounding::Nearest))
}

fn from_f64<H: Half>(value: f64) -> H {
    round(Number::decode(value.to_bits(), super::soft::DOUBLE))
}

fn sum<H: Half>(a: H, b: H) -> H {
    round(a.number().add(b.number(), Rounding::Nearest))
}

fn fused<H: Half>(a: H, b: H, c: H) -> H {
    round(a.number().multiply(b.number()).add(c.number(), Rounding::Nearest))
}

fn flip<H: Half>(a: H) -> H {
    H::from_bits(a.bits() ^ 0x8000)
}

/// Flips the sign of a number; a NaN is returned as it is.
fn flip_number<H: Half>(a: H) -> H {
    if a.number() == Number::Nan { a } else { flip(a) }
}

fn relu<H: Half>(a: H) -> H {
    if a.bits() & 0x8000 != 0 && a.number() != Number::Nan { H::from_bits(0) } else { a }
}

fn least<H: Half>(a: H, b: H, nan_wins: bool) -> H {
    let (x, y) = (to_f64(a), to_f64(b));
    match (x.is_nan(), y.is_nan()) {
        (false, false) => {
            if x < y || (x == y && a.bits() & 0x8000 != 0) {
                a
            } else {
                b
            }
        }
        (false, true) if !nan_wins => a,
        (true, false) if !nan_wins => b,
        _ => H::from_bits(H::FORMAT.nan as u16),
    }
}

/// Flushes a subnormal number to zero.
fn flushed<H: Half>(a: H) -> H {
    let exponent = (1 << 15) - (1 << H::FORMAT.fraction);
    if a.bits() & exponent == 0 { H::from_bits(a.bits() & 0x8000) } else { a }
}

/// Clamps to between zero and one; a NaN becomes zero.
fn saturated<H: Half>(a: H) -> H {
    from_f64(if to_f64(a) > 0.0 { to_f64(a).min(1.0) } else { 0.0 })
}

fn each<H: Half>(a: u32, f: impl Fn(H) -> H) -> u32 {
    two(a, a, |a, _| f(a))
}

fn two<H: Half>(a: u32, b: u32, f: impl Fn(H, H) -> H) -> u32 {
    let part = |by: u32| {
        u32::from(f(H::from_bits((a >> by) as u16), H::from_bits((b >> by) as u16)).bits()) << by
    };
    part(0) | part(16)
}

fn three<H: Half>(a: u32, b: u32, c: u32, f: impl Fn(H, H, H) -> H) -> u32 {
    let part = |by: u32| {
        u32::from(
            f(
                H::from_bits((a >> by) as u16),
                H::from_bits((b >> by) as u16),
                H::from_bits((c >> by) as u16),
            )
            .bits(),
        ) << by
    };
    part(0) | part(16)
}
