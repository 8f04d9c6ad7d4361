//! The floats of 8 bits: their types, and their conversions from and to `f32`.
//!
//! There are no branches on the value in the conversions, so that loops over them are vectorised.

use std::cmp::Ordering;
use std::fmt;

use half::f16;

use crate::cast::{Cast, f16_to_f32};

/// Widens exactly; a NaN keeps its sign.
fn e4m3fn_to_f32(value: f8e4m3fn) -> f32 {
    let bits = u32::from(value.to_bits());
    let sign = (bits & 0x80) << 24;
    let magnitude = bits & 0x7f;
    let normal = (magnitude << 20) + (120 << 23);
    // A subnormal is its integer value times 2^-9; both steps are exact.
    let subnormal = ((magnitude as f32) * f32::from_bits(0x3b00_0000)).to_bits();
    let finite = if magnitude < 0x08 { subnormal } else { normal };
    f32::from_bits(sign | if magnitude == 0x7f { 0x7fc0_0000 } else { finite })
}

/// Rounds to nearest even. What is too large becomes a NaN, and a NaN keeps its sign.
fn f32_to_e4m3fn(value: f32) -> f8e4m3fn {
    let bits = value.to_bits();
    let sign = ((bits >> 24) & 0x80) as u8;
    let magnitude = bits & 0x7fff_ffff;
    // Normal results: rebias the exponent, then round by adding half an ulp, less one unit if the result is even.
    let odd = (magnitude >> 20) & 1;
    let normal = magnitude.wrapping_sub(120 << 23).wrapping_add(0x7_ffff + odd) >> 20;
    // Subnormal results: adding 2^14 leaves the rounded bits, multiples of 2^-9, at the bottom of the mantissa.
    let subnormal = (f32::from_bits(magnitude) + 16384.0).to_bits().wrapping_sub(0x4680_0000);
    let finite = if magnitude < 121 << 23 { subnormal } else { normal };
    // 464 is halfway between the largest number and the one that would be next, and rounds down to the even one.
    let result = if magnitude > 0x43e8_0000 { 0x7f } else { finite };
    f8e4m3fn::from_bits(sign | result as u8)
}

/// Widens exactly; a NaN keeps its sign.
fn e5m2_to_f32(value: f8e5m2) -> f32 {
    // The upper half of an `f16`.
    f16_to_f32(f16::from_bits(u16::from(value.to_bits()) << 8))
}

/// Rounds to nearest even; a NaN keeps its sign and stays a NaN.
fn f32_to_e5m2(value: f32) -> f8e5m2 {
    let bits = value.to_bits();
    let sign = ((bits >> 24) & 0x80) as u8;
    let magnitude = bits & 0x7fff_ffff;
    let odd = (magnitude >> 21) & 1;
    let normal = magnitude.wrapping_sub(112 << 23).wrapping_add(0xf_ffff + odd) >> 21;
    // Multiples of 2^-16.
    let subnormal = (f32::from_bits(magnitude) + 128.0).to_bits().wrapping_sub(0x4300_0000);
    let finite = if magnitude < 113 << 23 { subnormal } else { normal };
    // From 61440 on, halfway between the largest number and the next power of two, the result is infinite.
    let rounded = if magnitude >= 0x4770_0000 { 0x7c } else { finite };
    let result = if magnitude > 0x7f80_0000 { 0x7e } else { rounded };
    f8e5m2::from_bits(sign | result as u8)
}

macro_rules! float8 {
    ($(
        $(#[$doc:meta])*
        $float:ident: $widen:ident $narrow:ident one $one:literal max $max:literal nan $nan:literal;
    )*) => {$(
        $(#[$doc])*
        ///
        /// The type converts and compares, and has no arithmetic of its own: that of tensors is computed in `f32` and
        /// rounded once. A NaN equals nothing, and both zeros are equal.
        #[allow(non_camel_case_types, reason = "it is named like `f16` and the primitive floats")]
        #[derive(Clone, Copy, Default, bytemuck::Pod, bytemuck::Zeroable)]
        #[repr(transparent)]
        pub struct $float(u8);

        impl $float {
            /// The number 1.
            pub const ONE: $float = $float($one);

            /// The largest finite number.
            pub const MAX: $float = $float($max);

            /// The lowest finite number.
            pub const MIN: $float = $float($max | 0x80);

            /// A NaN.
            pub const NAN: $float = $float($nan);

            /// Returns the number that these bits represent.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("use bitlane::", stringify!($float), ";")]
            #[doc = concat!("let one = ", stringify!($float), "::from_bits(", stringify!($one), ");")]
            /// assert_eq!(one.to_f32(), 1.0);
            /// ```
            pub const fn from_bits(bits: u8) -> $float {
                $float(bits)
            }

            /// Returns the bits.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("use bitlane::", stringify!($float), ";")]
            #[doc = concat!("assert_eq!(", stringify!($float), "::ONE.to_bits(), ", stringify!($one), ");")]
            /// ```
            pub const fn to_bits(self) -> u8 {
                self.0
            }

            /// Rounds to the nearest number, ties to even, as [`Tensor::cast`](crate::Tensor::cast) does.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("use bitlane::", stringify!($float), ";")]
            #[doc = concat!("assert_eq!(", stringify!($float), "::from_f32(1.05), ", stringify!($float), "::ONE);")]
            /// ```
            #[inline(always)]
            pub fn from_f32(value: f32) -> $float {
                $narrow(value)
            }

            /// Rounds to the nearest number, once, as [`Tensor::cast`](crate::Tensor::cast) does.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("use bitlane::", stringify!($float), ";")]
            #[doc = concat!("assert!(", stringify!($float), "::from_f64(f64::NAN).is_nan());")]
            /// ```
            pub fn from_f64(value: f64) -> $float {
                value.cast()
            }

            /// Converts to `f32`, which holds every number exactly.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("use bitlane::", stringify!($float), ";")]
            #[doc = concat!("assert_eq!(", stringify!($float), "::from_f32(-0.75).to_f32(), -0.75);")]
            /// ```
            #[inline(always)]
            pub fn to_f32(self) -> f32 {
                $widen(self)
            }

            /// Converts to `f64`, which holds every number exactly.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("use bitlane::", stringify!($float), ";")]
            #[doc = concat!("assert_eq!(", stringify!($float), "::from_f32(-0.75).to_f64(), -0.75);")]
            /// ```
            pub fn to_f64(self) -> f64 {
                self.to_f32().into()
            }

            /// Returns whether this is a NaN.
            ///
            /// # Examples
            ///
            /// ```
            #[doc = concat!("use bitlane::", stringify!($float), ";")]
            #[doc = concat!("assert!(", stringify!($float), "::NAN.is_nan());")]
            /// ```
            pub fn is_nan(self) -> bool {
                self.to_f32().is_nan()
            }
        }

        impl fmt::Debug for $float {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.to_f32(), f)
            }
        }

        impl fmt::Display for $float {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.to_f32(), f)
            }
        }

        impl PartialEq for $float {
            fn eq(&self, other: &$float) -> bool {
                self.to_f32() == other.to_f32()
            }
        }

        impl PartialOrd for $float {
            fn partial_cmp(&self, other: &$float) -> Option<Ordering> {
                self.to_f32().partial_cmp(&other.to_f32())
            }
        }

        impl From<$float> for f32 {
            fn from(value: $float) -> f32 {
                value.to_f32()
            }
        }

        impl From<$float> for f64 {
            fn from(value: $float) -> f64 {
                value.to_f64()
            }
        }
    )*};
}

float8! {
    /// A float of 8 bits: a sign, 4 bits of exponent and 3 of mantissa. There are no infinities, and one NaN of either
    /// sign; the largest number is 448. This is the E4M3 of the OCP's 8-bit floats and `float8_e4m3fn` of ml_dtypes and
    /// PyTorch.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::f8e4m3fn;
    /// assert_eq!(f8e4m3fn::from_f32(17.0).to_f32(), 16.0); // a tie, to even
    /// assert_eq!(f8e4m3fn::MAX.to_f32(), 448.0);
    /// assert!(f8e4m3fn::from_f32(500.0).is_nan());
    /// ```
    f8e4m3fn: e4m3fn_to_f32 f32_to_e4m3fn one 0x38 max 0x7e nan 0x7f;
    /// A float of 8 bits: a sign, 5 bits of exponent and 2 of mantissa, the upper half of an [`f16`](half::f16). The
    /// largest number is 57344. This is the E5M2 of the OCP's 8-bit floats and `float8_e5m2` of ml_dtypes and PyTorch.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::f8e5m2;
    /// assert_eq!(f8e5m2::from_f32(9.0).to_f32(), 8.0); // a tie, to even
    /// assert_eq!(f8e5m2::MAX.to_f32(), 57344.0);
    /// assert_eq!(f8e5m2::from_f32(1e9), f8e5m2::INFINITY);
    /// ```
    f8e5m2: e5m2_to_f32 f32_to_e5m2 one 0x3c max 0x7b nan 0x7e;
}

impl f8e5m2 {
    /// Infinity.
    pub const INFINITY: f8e5m2 = f8e5m2(0x7c);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The finite numbers without a sign, in their order: the value of bits by the definition of the format.
    fn numbers(exponent_bits: u32, count: u8) -> Vec<f64> {
        let mantissa_bits = 7 - exponent_bits;
        let bias = (1 << (exponent_bits - 1)) - 1;
        let number = |bits: u8| {
            let (exponent, fraction) =
                (i32::from(bits >> mantissa_bits), f64::from(bits & ((1 << mantissa_bits) - 1)));
            let fraction = fraction / f64::from(1 << mantissa_bits);
            match exponent {
                0 => fraction * f64::powi(2.0, 1 - bias),
                _ => (1.0 + fraction) * f64::powi(2.0, exponent - bias),
            }
        };
        (0..count).map(number).collect()
    }

    fn e4m3fn() -> Vec<f64> {
        numbers(4, 0x7f)
    }

    fn e5m2() -> Vec<f64> {
        numbers(5, 0x7c)
    }

    #[test]
    fn all_bits_are_the_numbers_of_the_definition() {
        let check = |numbers: Vec<f64>, wide: fn(u8) -> f32, narrow: fn(f32) -> u8| {
            for (bits, &number) in (0..).zip(&numbers) {
                for (bits, number) in [(bits, number), (bits | 0x80, -number)] {
                    let given = wide(bits);
                    assert_eq!(f64::from(given).to_bits(), number.to_bits(), "{bits:#x}");
                    assert_eq!(narrow(given), bits);
                }
            }
        };
        check(e4m3fn(), |x| f8e4m3fn(x).to_f32(), |x| f8e4m3fn::from_f32(x).0);
        check(e5m2(), |x| f8e5m2(x).to_f32(), |x| f8e5m2::from_f32(x).0);
        assert!(f8e4m3fn(0x7f).is_nan() && f8e4m3fn(0xff).to_f32().is_sign_negative());
        assert_eq!([0x7c, 0xfc].map(|x| f8e5m2(x).to_f32()), [f32::INFINITY, f32::NEG_INFINITY]);
        for bits in [0x7d, 0x7e, 0x7f] {
            assert!(f8e5m2(bits).is_nan() && f8e5m2(bits | 0x80).is_nan());
        }
    }

    /// Rounds by a search among the numbers, and `beyond` stands for what follows the largest.
    fn nearest(numbers: &[f64], beyond: u8, value: f64) -> u8 {
        let sign = if value.is_sign_negative() { 0x80 } else { 0 };
        let magnitude = value.abs();
        let last = numbers.len() - 1;
        let step = numbers[last] - numbers[last - 1];
        let at = |place: usize| numbers.get(place).copied().unwrap_or(numbers[last] + step);
        let above = numbers.partition_point(|&number| number < magnitude).min(last + 1);
        let below = above.saturating_sub(1);
        let (down, up) = (magnitude - at(below), at(above) - magnitude);
        let chosen = if down < up || (down == up && below % 2 == 0) { below } else { above };
        sign | if chosen > last { beyond } else { chosen as u8 }
    }

    #[test]
    fn narrowing_rounds_once_to_nearest_even() {
        let (e4m3fn, e5m2) = (e4m3fn(), e5m2());
        let check = |value: f64| {
            let expected = [nearest(&e4m3fn, 0x7f, value), nearest(&e5m2, 0x7c, value)];
            let given = [f8e4m3fn::from_f64(value).0, f8e5m2::from_f64(value).0];
            assert_eq!(given, expected, "{value:e}");
            let single = value as f32;
            if f64::from(single) == value {
                let given = [f8e4m3fn::from_f32(single).0, f8e5m2::from_f32(single).0];
                assert_eq!(given, expected, "{value:e}");
            }
        };
        // All numbers, all ties, and what is next to them as `f32` and as `f64`.
        for numbers in [&e4m3fn, &e5m2] {
            let last = numbers[numbers.len() - 1];
            let beyond = [last + last / 16.0, last * 2.0, 1e30, 1e300, f64::from(f32::MAX)];
            let ties = numbers.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0);
            for value in numbers.iter().copied().chain(ties).chain(beyond) {
                let single = value as f32;
                let around = [single.next_down(), single.next_up()].map(f64::from);
                let near = [value, value.next_down(), value.next_up(), around[0], around[1]];
                near.into_iter().filter(|value| value.is_finite()).for_each(|value| {
                    check(value);
                    check(-value);
                });
            }
        }
        // Every `f16`, and `f32` all over the range.
        for bits in 0..0x7c00 {
            check(f16_to_f32(f16::from_bits(bits)).into());
        }
        for bits in (0..0x7f80_0000u32).step_by(4099) {
            check(f32::from_bits(bits).into());
        }
    }

    #[test]
    fn nans_keep_their_sign() {
        for nan in [0x7fc0_0000, 0x7f80_0001, 0x7fff_ffff] {
            let [positive, negative] = [nan, nan | 1 << 31].map(f32::from_bits);
            assert_eq!([positive, negative].map(|x| f8e4m3fn::from_f32(x).0), [0x7f, 0xff]);
            assert_eq!([positive, negative].map(|x| f8e5m2::from_f32(x).0), [0x7e, 0xfe]);
        }
        assert_eq!(f8e4m3fn::from_f32(f32::NEG_INFINITY).0, 0xff);
        assert_eq!(f8e5m2::from_f32(f32::NEG_INFINITY).0, 0xfc);
    }
}
