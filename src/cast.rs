//! Conversion of one value to another dtype. Every conversion on the host uses these definitions.
//!
//! Integers wrap, floats truncate and saturate to integers (NaN gives 0), everything but zero is `true`, complex
//! numbers lose their imaginary part, and a value that has to be rounded is rounded once, to nearest even. A number that is
//! too large for a float becomes infinite or, in `f8e4m3fn`, which has no infinities, a NaN.

use half::{bf16, f16};
use num_complex::Complex;

use crate::{f8e4m3fn, f8e5m2};

/// Conversion to the element type `T` by the rules of this module.
pub(crate) trait Cast<T> {
    fn cast(self) -> T;
}

/// Rounds a 32-bit float to 16 bits, to nearest even; a NaN keeps its sign and stays a NaN.
///
/// There are no branches on the value, so that loops over this function are vectorised.
pub(crate) fn f32_to_f16(value: f32) -> f16 {
    let bits = value.to_bits();
    let sign = ((bits >> 16) & 0x8000) as u16;
    let magnitude = bits & 0x7fff_ffff;
    // Normal results: rebias the exponent, then round by adding half an ulp, less one unit if the result is even.
    let odd = (magnitude >> 13) & 1;
    let normal = magnitude.wrapping_sub(112 << 23).wrapping_add(0xfff + odd) >> 13;
    // Subnormal results: adding 0.5 leaves the rounded bits at the bottom of the mantissa.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    let finite = if magnitude < 113 << 23 { subnormal } else { normal };
    let rounded = if magnitude >= 0x477f_f000 { 0x7c00 } else { finite };
    let result = if magnitude > 0x7f80_0000 { 0x7e00 } else { rounded };
    f16::from_bits(sign | result as u16)
}

/// Widens a 16-bit float exactly; a NaN keeps its sign.
pub(crate) fn f16_to_f32(value: f16) -> f32 {
    let bits = u32::from(value.to_bits());
    let sign = (bits & 0x8000) << 16;
    let magnitude = bits & 0x7fff;
    let shifted = magnitude << 13;
    let normal = shifted + (112 << 23);
    let special = shifted + (224 << 23);
    // A subnormal is its integer value times 2^-24; both steps are exact.
    let subnormal = ((magnitude as f32) * f32::from_bits(0x3380_0000)).to_bits();
    let finite = if magnitude < 0x0400 { subnormal } else { normal };
    f32::from_bits(sign | if magnitude >= 0x7c00 { special } else { finite })
}

/// Rounds a 32-bit float to bfloat16, to nearest even; a NaN keeps its sign and stays a NaN.
pub(crate) fn f32_to_bf16(value: f32) -> bf16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    let quiet = (bits >> 16) | 0x0040;
    let is_nan = bits & 0x7fff_ffff > 0x7f80_0000;
    bf16::from_bits(if is_nan { quiet } else { rounded } as u16)
}

/// Widens a bfloat16 exactly.
pub(crate) fn bf16_to_f32(value: bf16) -> f32 {
    f32::from_bits(u32::from(value.to_bits()) << 16)
}

/// Narrows to 32 bits, rounding to odd, so that a second rounding to fewer bits has the result of a single one.
fn f64_to_odd_f32(value: f64) -> f32 {
    let nearest = value as f32;
    let back = f64::from(nearest);
    if back == value || value.is_nan() || nearest.to_bits() & 1 == 1 {
        return nearest;
    }
    // `nearest` is even and inexact, so the result is the odd neighbour on the other side of `value`.
    let away = back.abs() < value.abs();
    let bits = nearest.to_bits();
    f32::from_bits(if away { bits + 1 } else { bits - 1 })
}

/// Converts an integer to a float such that a second rounding to at most 22 bits has the result of a single one.
fn wide_integer_to_odd_f32(magnitude: u64, negative: bool) -> f32 {
    let spare = (64 - magnitude.leading_zeros()).saturating_sub(24);
    let lost = magnitude & ((1 << spare) - 1) != 0;
    let kept = ((magnitude >> spare) | u64::from(lost)) << spare;
    let value = kept as f32;
    if negative { -value } else { value }
}

macro_rules! cast_with {
    ($($from:ty => $to:ty: $value:ident $result:expr;)*) => {$(
        impl Cast<$to> for $from {
            #[inline(always)]
            fn cast(self) -> $to {
                let $value = self;
                $result
            }
        }
    )*};
}

macro_rules! cast_by_as {
    ($from:ty => $($to:ty)*) => {
        cast_with! { $($from => $to: value value as $to;)* }
    };
}

macro_rules! real_to_complex {
    ($($from:ty)*) => {
        cast_with! {$(
            $from => Complex<f32>: value Complex::new(value.cast(), 0.0);
            $from => Complex<f64>: value Complex::new(value.cast(), 0.0);
        )*}
    };
}

macro_rules! integer_casts {
    ($($from:ty, $odd:expr;)*) => {$(
        cast_by_as! { $from => u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 }
        cast_with! {
            $from => bool: value value != 0;
            $from => f16: value {
                let to_odd: fn($from) -> f32 = $odd;
                f32_to_f16(to_odd(value))
            };
            $from => bf16: value {
                let to_odd: fn($from) -> f32 = $odd;
                f32_to_bf16(to_odd(value))
            };
        }
        real_to_complex! { $from }
    )*};
}

integer_casts! {
    u8, |value| value.into();
    u16, |value| value.into();
    u32, |value| wide_integer_to_odd_f32(value.into(), false);
    u64, |value| wide_integer_to_odd_f32(value, false);
    i8, |value| value.into();
    i16, |value| value.into();
    i32, |value| wide_integer_to_odd_f32(value.unsigned_abs().into(), value < 0);
    i64, |value| wide_integer_to_odd_f32(value.unsigned_abs(), value < 0);
}

cast_by_as! { bool => u8 u16 u32 u64 i8 i16 i32 i64 }
cast_with! {
    bool => bool: value value;
    bool => f16: value f16::from_bits(if value { 0x3c00 } else { 0 });
    bool => bf16: value bf16::from_bits(if value { 0x3f80 } else { 0 });
    bool => f32: value f32::from(u8::from(value));
    bool => f64: value f64::from(u8::from(value));
}
real_to_complex! { bool f16 bf16 f32 f64 }

cast_by_as! { f32 => u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 }
cast_by_as! { f64 => u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 }
cast_with! {
    f32 => bool: value value != 0.0;
    f32 => f16: value f32_to_f16(value);
    f32 => bf16: value f32_to_bf16(value);
    f64 => bool: value value != 0.0;
    f64 => f16: value f32_to_f16(f64_to_odd_f32(value));
    f64 => bf16: value f32_to_bf16(f64_to_odd_f32(value));
    f16 => f16: value value;
    f16 => bf16: value f32_to_bf16(f16_to_f32(value));
    bf16 => bf16: value value;
    bf16 => f16: value f32_to_f16(bf16_to_f32(value));
}

macro_rules! casts_through {
    ($from:ty, $widen:expr => $($to:ty)*) => {
        cast_with! { $($from => $to: value $widen(value).cast();)* }
    };
}

casts_through! { f16, f16_to_f32 => bool u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 }
casts_through! { bf16, bf16_to_f32 => bool u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 }

macro_rules! complex_casts {
    ($($part:ty)*) => {$(
        casts_through! {
            Complex<$part>, (|value: Complex<$part>| value.re)
            => u8 u16 u32 u64 i8 i16 i32 i64 f16 bf16 f32 f64
        }
        cast_with! {
            Complex<$part> => bool: value value.re != 0.0 || value.im != 0.0;
            Complex<$part> => Complex<f32>: value Complex::new(value.re.cast(), value.im.cast());
            Complex<$part> => Complex<f64>: value Complex::new(value.re.cast(), value.im.cast());
        }
    )*};
}

complex_casts! { f32 f64 }

/// Conversions of the floats of 8 bits.
macro_rules! float8_casts {
    ($($float:ident)*) => {$(
        casts_through! { $float, $float::to_f32 => bool u8 u16 u32 u64 i8 i16 i32 i64 f16 bf16 f32 f64 }
        // Integers that `f32` has to round are too large for 8 bits.
        cast_with! {
            bool => $float: value if value { $float::ONE } else { $float::default() };
            u8 => $float: value $float::from_f32(value.into());
            u16 => $float: value $float::from_f32(value.into());
            u32 => $float: value $float::from_f32(value as f32);
            u64 => $float: value $float::from_f32(value as f32);
            i8 => $float: value $float::from_f32(value.into());
            i16 => $float: value $float::from_f32(value.into());
            i32 => $float: value $float::from_f32(value as f32);
            i64 => $float: value $float::from_f32(value as f32);
            f16 => $float: value $float::from_f32(f16_to_f32(value));
            bf16 => $float: value $float::from_f32(bf16_to_f32(value));
            f32 => $float: value $float::from_f32(value);
            f64 => $float: value $float::from_f32(f64_to_odd_f32(value));
            Complex<f32> => $float: value value.re.cast();
            Complex<f64> => $float: value value.re.cast();
            $float => $float: value value;
        }
        real_to_complex! { $float }
    )*};
}

float8_casts! { f8e4m3fn f8e5m2 }
cast_with! {
    f8e4m3fn => f8e5m2: value f8e5m2::from_f32(value.to_f32());
    f8e5m2 => f8e4m3fn: value f8e4m3fn::from_f32(value.to_f32());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to<T>(value: impl Cast<T>) -> T {
        value.cast()
    }

    /// Rounds by a search over the finite values of the narrow type, which is slow but obviously correct.
    fn nearest(value: f64, bits: impl Fn(u16) -> f64, infinity: u16) -> u16 {
        // The value one step past the largest finite one stands for infinity.
        let magnitude = |k: u16| {
            if k == infinity { 2.0 * bits(k - 1) - bits(k - 2) } else { bits(k) }
        };
        let target = value.abs();
        let (mut low, mut high) = (0, infinity);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if magnitude(middle) <= target { low = middle } else { high = middle }
        }
        if magnitude(high) <= target {
            return high;
        }
        let (below, above) = (target - magnitude(low), magnitude(high) - target);
        match below.partial_cmp(&above) {
            Some(std::cmp::Ordering::Less) => low,
            Some(std::cmp::Ordering::Equal) => low + (low & 1),
            _ => high,
        }
    }

    fn nearest_f16(value: f64) -> u16 {
        nearest(value, |k| f64::from(f16::from_bits(k)), 0x7c00)
    }

    fn nearest_bf16(value: f64) -> u16 {
        nearest(value, |k| f64::from(bf16::from_bits(k)), 0x7f80)
    }

    #[test]
    fn every_half_goes_to_f32_and_back() {
        for bits in 0..=u16::MAX {
            let half = f16::from_bits(bits);
            let wide = f16_to_f32(half);
            assert_eq!(wide.is_nan(), half.is_nan());
            assert_eq!(wide.is_sign_negative(), bits >> 15 == 1);
            if !half.is_nan() {
                assert_eq!(f64::from(wide), f64::from(half));
                assert_eq!(f32_to_f16(wide).to_bits(), bits);
            } else {
                let back = f32_to_f16(wide);
                assert!(back.is_nan() && back.is_sign_negative() == wide.is_sign_negative());
            }
        }
    }

    #[test]
    fn narrowing_rounds_once_to_nearest_even() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state ^ (state >> 29)
        };
        for round in 0..200_000 {
            let spread = random();
            // Exponents in and around the ranges of both formats, and mantissas at or next to a tie.
            let exponent = 1023 - 160 + spread % 320;
            let mantissa = match round % 4 {
                0 => random(),
                1 => (spread >> 12) << 41,
                2 => ((spread >> 12) << 41) | 1,
                _ => ((spread >> 12) << 41).wrapping_sub(1),
            } & ((1 << 52) - 1);
            let value = f64::from_bits((exponent << 52) | mantissa);
            assert_eq!(to::<f16>(value).to_bits(), nearest_f16(value), "{value:e}");
            assert_eq!(to::<bf16>(value).to_bits(), nearest_bf16(value), "{value:e}");
            assert_eq!(to::<f16>(-value).to_bits(), 0x8000 | nearest_f16(value));
            let single = value as f32;
            if single.is_finite() {
                assert_eq!(f32_to_f16(single).to_bits(), nearest_f16(single.into()), "{single:e}");
                assert_eq!(f32_to_bf16(single).to_bits(), nearest_bf16(single.into()));
            }
        }
    }

    #[test]
    fn wide_integers_round_once() {
        // 2^62 + 2^54 is halfway between two bf16. Adding one makes it round up, but rounding to f32 first would lose
        // that one.
        let tie = (1i64 << 62) + (1 << 54);
        assert_eq!(to::<bf16>(tie).to_bits(), 0x5e80);
        assert_eq!(to::<bf16>(tie + 1).to_bits(), 0x5e81);
        assert_eq!(to::<bf16>(-(tie + 1)).to_bits(), 0xde81);
        assert_eq!(to::<f16>(65519i64).to_bits(), 0x7bff);
        assert_eq!(to::<f16>(65520i64).to_bits(), 0x7c00);
        assert_eq!(to::<f16>(u64::MAX).to_bits(), 0x7c00);
        assert_eq!(to::<f16>(2049u32).to_bits(), to::<f16>(2048u32).to_bits());
    }

    #[test]
    fn floats_truncate_and_saturate() {
        assert_eq!(to::<i64>(f64::NAN), 0);
        assert_eq!(to::<u8>(-3.7f32), 0);
        assert_eq!(to::<i8>(1e9f32), 127);
        assert_eq!(to::<i32>(f16::from_bits(0xfc00)), i32::MIN);
        assert!(to::<bool>(f32::NAN));
        assert!(!to::<bool>(-0.0f32));
        assert!(to::<bool>(Complex::new(0.0f32, 1.0)));
        assert_eq!(to::<i16>(Complex::new(-2.5f64, 9.0)), -2);
        assert_eq!(to::<u8>(300i32), 44);
    }
}
