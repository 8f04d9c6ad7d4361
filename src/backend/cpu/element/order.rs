//! Order: comparisons and the two sorts of extremes.

use half::{bf16, f16};

use super::Comparable;
use crate::cast::{bf16_to_f32, f16_to_f32};

/// Real numbers in their order.
pub(crate) trait Ordered: Copy {
    fn is_below(self, other: Self) -> bool;
    fn is_at_most(self, other: Self) -> bool;
    /// NaN if either is NaN; −0 is below +0.
    fn maximum(self, other: Self) -> Self;
    fn minimum(self, other: Self) -> Self;
    /// The other one if one is NaN; −0 is below +0.
    fn fmax(self, other: Self) -> Self;
    fn fmin(self, other: Self) -> Self;
}

macro_rules! ordered_integers {
    ($($int:ty)*) => {$(
        impl Ordered for $int {
            #[inline(always)]
            fn is_below(self, other: Self) -> bool {
                self < other
            }

            #[inline(always)]
            fn is_at_most(self, other: Self) -> bool {
                self <= other
            }

            #[inline(always)]
            fn maximum(self, other: Self) -> Self {
                self.max(other)
            }

            #[inline(always)]
            fn minimum(self, other: Self) -> Self {
                self.min(other)
            }

            #[inline(always)]
            fn fmax(self, other: Self) -> Self {
                self.max(other)
            }

            #[inline(always)]
            fn fmin(self, other: Self) -> Self {
                self.min(other)
            }
        }
    )*};
}

ordered_integers! { u8 u16 u32 u64 i8 i16 i32 i64 }

macro_rules! ordered_floats {
    ($($float:ty, $bits:ty, $widen:expr;)*) => {$(
        impl Comparable for $float {
            #[inline(always)]
            fn equals(self, other: Self) -> bool {
                $widen(self) == $widen(other)
            }
        }

        impl Ordered for $float {
            #[inline(always)]
            fn is_below(self, other: Self) -> bool {
                $widen(self) < $widen(other)
            }

            #[inline(always)]
            fn is_at_most(self, other: Self) -> bool {
                $widen(self) <= $widen(other)
            }

            // One choice between the operands, so that loops become comparisons and a blend: the left one
            // if it is NaN or the larger, or equal and without a sign (which tells zeros apart).
            #[inline(always)]
            fn maximum(self, other: Self) -> Self {
                let (x, y) = ($widen(self), $widen(other));
                let positive = self.to_bits() >> (<$bits>::BITS - 1) == 0;
                if (x > y) | x.is_nan() | ((x == y) & positive) { self } else { other }
            }

            #[inline(always)]
            fn minimum(self, other: Self) -> Self {
                let (x, y) = ($widen(self), $widen(other));
                let negative = self.to_bits() >> (<$bits>::BITS - 1) == 1;
                if (x < y) | x.is_nan() | ((x == y) & negative) { self } else { other }
            }

            #[inline(always)]
            fn fmax(self, other: Self) -> Self {
                let (x, y) = ($widen(self), $widen(other));
                let positive = self.to_bits() >> (<$bits>::BITS - 1) == 0;
                if (x > y) | y.is_nan() | ((x == y) & positive) { self } else { other }
            }

            #[inline(always)]
            fn fmin(self, other: Self) -> Self {
                let (x, y) = ($widen(self), $widen(other));
                let negative = self.to_bits() >> (<$bits>::BITS - 1) == 1;
                if (x < y) | y.is_nan() | ((x == y) & negative) { self } else { other }
            }
        }
    )*};
}

ordered_floats! {
    f16, u16, f16_to_f32;
    bf16, u16, bf16_to_f32;
    f32, u32, std::convert::identity;
    f64, u64, std::convert::identity;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_of_zeros_and_nan() {
        for (x, y) in [(-0.0f32, 0.0f32), (0.0, -0.0)] {
            for larger in [x.maximum(y), x.fmax(y)] {
                assert_eq!(larger.to_bits(), 0);
            }
            for smaller in [x.minimum(y), x.fmin(y)] {
                assert_eq!(smaller.to_bits(), (-0.0f32).to_bits());
            }
        }
        for (x, y) in [(1.0, f64::NAN), (f64::NAN, 1.0)] {
            assert!(x.maximum(y).is_nan() && x.minimum(y).is_nan());
            assert_eq!((x.fmax(y), x.fmin(y)), (1.0, 1.0));
        }
        assert!(f64::NAN.fmax(f64::NAN).is_nan());
        assert_eq!((1.0f64.maximum(2.0), 2.0f64.minimum(1.0), 3.0f64.fmax(-1.0)), (2.0, 1.0, 3.0));
    }
}
