//! Floats: arithmetic that rounds once, the modular operations of NumPy, and steps between neighbours. The 16-bit
//! floats are computed in `f32`.

use half::{bf16, f16};

use super::{Finiteness, Modular, NearModular, Number, Quotient, Sign};
use crate::cast::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};
use crate::{f8e4m3fn, f8e5m2, math};

/// The bits of a float, in an unsigned integer of its size.
pub(crate) trait FloatBits: Copy {
    fn without_sign(self) -> Self;
    fn with_flipped_sign(self) -> Self;
    fn with_sign_of(self, other: Self) -> Self;
    fn is_negative(self) -> bool;
    fn is_not_zero(self) -> bool;
}

macro_rules! float_bits {
    ($($bits:ty)*) => {$(
        impl FloatBits for $bits {
            #[inline(always)]
            fn without_sign(self) -> Self {
                self & (<$bits>::MAX >> 1)
            }

            #[inline(always)]
            fn with_flipped_sign(self) -> Self {
                self ^ !(<$bits>::MAX >> 1)
            }

            #[inline(always)]
            fn with_sign_of(self, other: Self) -> Self {
                self.without_sign() | (other & !(<$bits>::MAX >> 1))
            }

            #[inline(always)]
            fn is_negative(self) -> bool {
                self > <$bits>::MAX >> 1
            }

            #[inline(always)]
            fn is_not_zero(self) -> bool {
                self.without_sign() != 0
            }
        }
    )*};
}

float_bits! { u8 u16 u32 u64 }

/// Steps between neighbours.
pub(crate) trait Float: Copy {
    fn nextafter(self, other: Self) -> Self;
}

macro_rules! floats {
    ($($float:ident, $one:expr, $widen:expr, $narrow:expr;)*) => {$(
        impl Number for $float {
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                $narrow($widen(self) + $widen(other))
            }

            #[inline(always)]
            fn subtract(self, other: Self) -> Self {
                $narrow($widen(self) - $widen(other))
            }

            #[inline(always)]
            fn multiply(self, other: Self) -> Self {
                $narrow($widen(self) * $widen(other))
            }
        }

        impl Quotient for $float {
            const ONE: Self = $one;

            #[inline(always)]
            fn divide(self, other: Self) -> Self {
                $narrow($widen(self) / $widen(other))
            }
        }

        impl Finiteness for $float {
            #[inline(always)]
            fn is_nan(self) -> bool {
                self.to_bits().without_sign() > <$float>::INFINITY.to_bits()
            }

            #[inline(always)]
            fn is_infinite(self) -> bool {
                self.to_bits().without_sign() == <$float>::INFINITY.to_bits()
            }

            #[inline(always)]
            fn is_finite(self) -> bool {
                self.to_bits().without_sign() < <$float>::INFINITY.to_bits()
            }
        }

        neighbours! { $float, $widen }
    )*};
}

/// Neighbours of floats.
macro_rules! neighbours {
    ($float:ident, $widen:expr) => {
        impl Float for $float {
            #[inline(always)]
            fn nextafter(self, other: Self) -> Self {
                let (x, y) = ($widen(self), $widen(other));
                // Away from zero the bits of a float count up.
                let step = if (x < y) == (x > 0.0) { 1 } else { !0 };
                let neighbour = self.to_bits().wrapping_add(step);
                // The smallest number, with the sign of the direction.
                let smallest = (other.to_bits() & !(!0 >> 1)) | 1;
                let moved = Self::from_bits(if x == 0.0 { smallest } else { neighbour });
                let stays = if x.is_nan() { self } else { other };
                if x.is_nan() | y.is_nan() | (x == y) { stays } else { moved }
            }
        }
    };
}

floats! {
    f16, f16::ONE, f16_to_f32, f32_to_f16;
    bf16, bf16::ONE, bf16_to_f32, f32_to_bf16;
    f32, 1.0, std::convert::identity, std::convert::identity;
    f64, 1.0, std::convert::identity, std::convert::identity;
}

neighbours! { f8e4m3fn, f8e4m3fn::to_f32 }
neighbours! { f8e5m2, f8e5m2::to_f32 }

/// Rounding to integers and the square root, for which machines have instructions.
pub(crate) trait Rounding: Copy {
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn trunc(self) -> Self;
    /// Rounds to the nearest integer, and to the even one halfway between two.
    fn round(self) -> Self;
    fn sqrt(self) -> Self;
}

macro_rules! rounding {
    ($($float:ident)*) => {$(
        impl Rounding for $float {
            #[inline(always)]
            fn floor(self) -> Self {
                <$float>::floor(self)
            }

            #[inline(always)]
            fn ceil(self) -> Self {
                <$float>::ceil(self)
            }

            #[inline(always)]
            fn trunc(self) -> Self {
                <$float>::trunc(self)
            }

            #[inline(always)]
            fn round(self) -> Self {
                <$float>::round_ties_even(self)
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                <$float>::sqrt(self)
            }
        }

        impl Sign for $float {
            #[inline(always)]
            fn sign(self) -> Self {
                let unit = (1.0 as $float).copysign(self);
                let sign = if self == 0.0 { 0.0 } else { unit };
                if self.is_nan() { self } else { sign }
            }
        }
    )*};
}

rounding! { f32 f64 }

macro_rules! modular {
    ($($float:ident, $fmod:path, $fmod_near:path, $is_far:path;)*) => {$(
        impl Modular for $float {
            #[inline(always)]
            fn floor_divide(self, other: Self) -> Self {
                self.quotient(other, $fmod(self, other))
            }

            #[inline(always)]
            fn remainder(self, other: Self) -> Self {
                self.rest(other, $fmod(self, other))
            }
        }

        impl NearModular for $float {
            #[inline(always)]
            fn is_far(self, other: Self) -> bool {
                $is_far(self, other)
            }

            #[inline(always)]
            fn floor_divide_near(self, other: Self) -> Self {
                self.quotient(other, $fmod_near(self, other))
            }

            #[inline(always)]
            fn remainder_near(self, other: Self) -> Self {
                self.rest(other, $fmod_near(self, other))
            }
        }

        impl FromRemainder for $float {
            #[inline(always)]
            fn quotient(self, y: Self, remainder: Self) -> Self {
                let ratio = self / y;
                // The remainder is exact, so the quotient is all but an integer already.
                let differs = (remainder != 0.0) & ((y < 0.0) != (remainder < 0.0));
                let quotient = (self - remainder) / y - if differs { 1.0 } else { 0.0 };
                let floor = quotient.floor();
                let nearest = if quotient - floor > 0.5 { floor + 1.0 } else { floor };
                let signed = if quotient == 0.0 { (0.0 as $float).copysign(ratio) } else { nearest };
                if y == 0.0 { ratio } else { signed }
            }

            #[inline(always)]
            fn rest(self, y: Self, remainder: Self) -> Self {
                let differs = (y < 0.0) != (remainder < 0.0);
                let moved = if differs { remainder + y } else { remainder };
                if remainder == 0.0 { (0.0 as $float).copysign(y) } else { moved }
            }
        }
    )*};
}

/// Floor division and the remainder as NumPy computes them, from the remainder that has the sign of the dividend.
trait FromRemainder: Copy {
    fn quotient(self, y: Self, remainder: Self) -> Self;
    fn rest(self, y: Self, remainder: Self) -> Self;
}

modular! {
    f32, math::fmod_f32, math::fmod_step_f32, math::is_far_f32;
    f64, math::fmod_f64, math::fmod_step_f64, math::is_far_f64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modular_operations_are_those_of_numpy() {
        let infinity = f64::INFINITY;
        let cases = [
            (7.0, 2.0, 3.0, 1.0),
            (-7.0, 2.0, -4.0, 1.0),
            (7.0, -2.0, -4.0, -1.0),
            (1.0, 0.1, 9.0, 0.09999999999999995),
            (-0.0, 2.0, -0.0, 0.0),
            (0.0, -2.0, -0.0, -0.0),
            (4.0, -2.0, -2.0, -0.0),
            (5.0, infinity, 0.0, 5.0),
            (-5.0, infinity, -1.0, infinity),
            (5.0, -infinity, -1.0, -infinity),
            (-0.0, infinity, -0.0, 0.0),
        ];
        for (x, y, quotient, remainder) in cases {
            let got = (Modular::floor_divide(x, y), Modular::remainder(x, y));
            let bits = |(a, b): (f64, f64)| (a.to_bits(), b.to_bits());
            assert_eq!(bits(got), bits((quotient, remainder)), "{x} {y}: {got:?}");
        }
        assert_eq!(Modular::floor_divide(-1.0f32, 0.0), f32::NEG_INFINITY);
        assert!(
            Modular::remainder(1.0f32, 0.0).is_nan()
                && Modular::remainder(f32::INFINITY, 2.0).is_nan()
        );
    }

    #[test]
    fn neighbours() {
        assert_eq!(1.0f32.nextafter(2.0).to_bits(), 1.0f32.to_bits() + 1);
        assert_eq!((-1.0f32).nextafter(2.0).to_bits(), (-1.0f32).to_bits() - 1);
        assert_eq!(0.0f64.nextafter(-1.0).to_bits(), (1 << 63) | 1);
        assert_eq!((-0.0f64).nextafter(0.0).to_bits(), 0);
        assert_eq!(f64::MAX.nextafter(f64::INFINITY), f64::INFINITY);
        assert!(1.0f32.nextafter(f32::NAN).is_nan() && f32::NAN.nextafter(1.0).is_nan());
        let (one, two) = (bf16::from_f32(1.0), bf16::from_f32(2.0));
        assert_eq!(one.nextafter(two).to_bits(), 0x3f81);
        assert_eq!(f16::from_bits(1).nextafter(f16::from_bits(0)).to_bits(), 0);
    }
}
