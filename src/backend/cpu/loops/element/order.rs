//! Order: comparisons and the two kinds of extremes.

use half::{bf16, f16};

use super::Comparable;

/// Real numbers in their order.
pub(crate) trait Ordered: Copy {
    fn is_below(self, other: Self) -> bool;
    fn is_at_most(self, other: Self) -> bool;
    /// Returns the larger number, or NaN if either is NaN; −0 is below +0.
    fn larger(self, other: Self) -> Self;
    fn smaller(self, other: Self) -> Self;
    /// Returns the larger number, or the other one if one is NaN; −0 is below +0.
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
            fn larger(self, other: Self) -> Self {
                self.max(other)
            }

            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
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
    ($($float:ident $bits:ident;)*) => {$(
        impl Comparable for $float {
            #[inline(always)]
            fn equals(self, other: Self) -> bool {
                self == other
            }
        }

        impl Ordered for $float {
            #[inline(always)]
            fn is_below(self, other: Self) -> bool {
                self < other
            }

            #[inline(always)]
            fn is_at_most(self, other: Self) -> bool {
                self <= other
            }

            // One choice between the operands, so that loops become comparisons and a blend: the left one
            // if it is NaN or the larger, or equal and without a sign (which tells zeros apart).
            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                let (x, y) = (self, other);
                let positive = self.to_bits() >> (<$bits>::BITS - 1) == 0;
                if (x > y) | x.is_nan() | ((x == y) & positive) { self } else { other }
            }

            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                let (x, y) = (self, other);
                let negative = self.to_bits() >> (<$bits>::BITS - 1) == 1;
                if (x < y) | x.is_nan() | ((x == y) & negative) { self } else { other }
            }

            #[inline(always)]
            fn fmax(self, other: Self) -> Self {
                let (x, y) = (self, other);
                let positive = self.to_bits() >> (<$bits>::BITS - 1) == 0;
                if (x > y) | y.is_nan() | ((x == y) & positive) { self } else { other }
            }

            #[inline(always)]
            fn fmin(self, other: Self) -> Self {
                let (x, y) = (self, other);
                let negative = self.to_bits() >> (<$bits>::BITS - 1) == 1;
                if (x < y) | y.is_nan() | ((x == y) & negative) { self } else { other }
            }
        }
    )*};
}

ordered_floats! { f32 u32; f64 u64; }

/// 16-bit floats are compared as integers, which a vector has twice as many of as of `f32`.
macro_rules! ordered_halves {
    ($($half:ident)*) => {$(
        impl Half for $half {
            #[inline(always)]
            fn bits(self) -> u16 {
                self.to_bits()
            }
        }

        impl Comparable for $half {
            #[inline(always)]
            fn equals(self, other: Self) -> bool {
                let both_zero = (self.bits() | other.bits()) & MAGNITUDE == 0;
                (self.bits() == other.bits()) & !self.is_nan() | both_zero
            }
        }

        impl Ordered for $half {
            #[inline(always)]
            fn is_below(self, other: Self) -> bool {
                let both_zero = (self.bits() | other.bits()) & MAGNITUDE == 0;
                (self.key() < other.key()) & !self.is_nan() & !other.is_nan() & !both_zero
            }

            #[inline(always)]
            fn is_at_most(self, other: Self) -> bool {
                let both_zero = (self.bits() | other.bits()) & MAGNITUDE == 0;
                (self.key() <= other.key()) & !self.is_nan() & !other.is_nan() | both_zero
            }

            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                let greater = (self.key() >= other.key()) & !other.is_nan();
                if greater | self.is_nan() { self } else { other }
            }

            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                let less = (self.key() <= other.key()) & !other.is_nan();
                if less | self.is_nan() { self } else { other }
            }

            #[inline(always)]
            fn fmax(self, other: Self) -> Self {
                let greater = (self.key() >= other.key()) & !self.is_nan();
                if greater | other.is_nan() { self } else { other }
            }

            #[inline(always)]
            fn fmin(self, other: Self) -> Self {
                let less = (self.key() <= other.key()) & !self.is_nan();
                if less | other.is_nan() { self } else { other }
            }
        }
    )*};
}

ordered_halves! { f16 bf16 }

/// All bits of a 16-bit float but the sign.
const MAGNITUDE: u16 = 0x7fff;

trait Half: Copy {
    fn bits(self) -> u16;

    /// An integer in the order of the floats: −0 is just below +0.
    #[inline(always)]
    fn key(self) -> i16 {
        let bits = self.bits() as i16;
        bits ^ ((bits >> 15) & MAGNITUDE as i16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_of_zeros_and_nan() {
        for (x, y) in [(-0.0f32, 0.0f32), (0.0, -0.0)] {
            for larger in [x.larger(y), x.fmax(y)] {
                assert_eq!(larger.to_bits(), 0);
            }
            for smaller in [x.smaller(y), x.fmin(y)] {
                assert_eq!(smaller.to_bits(), (-0.0f32).to_bits());
            }
        }
        for (x, y) in [(1.0, f64::NAN), (f64::NAN, 1.0)] {
            assert!(x.larger(y).is_nan() && x.smaller(y).is_nan());
            assert_eq!((x.fmax(y), x.fmin(y)), (1.0, 1.0));
        }
        assert!(f64::NAN.fmax(f64::NAN).is_nan());
        assert_eq!((1.0f64.larger(2.0), 2.0f64.smaller(1.0), 3.0f64.fmax(-1.0)), (2.0, 1.0, 3.0));
    }

    /// Every 16-bit float against some of every sort, compared with the order of `f32`.
    #[test]
    fn halves_are_ordered_as_wider_floats_are() {
        fn check<T: Ordered + Comparable>(from: fn(u16) -> T, wide: fn(T) -> f32, some: [u16; 12]) {
            let bits = |x: f32| if x.is_nan() { 0 } else { x.to_bits() };
            for x in 0..=u16::MAX {
                for y in some {
                    let (x, y) = (from(x), from(y));
                    let (u, v) = (wide(x), wide(y));
                    assert_eq!(x.equals(y), u == v, "{u} {v}");
                    assert_eq!((x.is_below(y), x.is_at_most(y)), (u < v, u <= v), "{u} {v}");
                    assert_eq!(bits(wide(x.larger(y))), bits(u.larger(v)), "{u} {v}");
                    assert_eq!(bits(wide(x.smaller(y))), bits(u.smaller(v)), "{u} {v}");
                    assert_eq!(bits(wide(x.fmax(y))), bits(Ordered::fmax(u, v)), "{u} {v}");
                    assert_eq!(bits(wide(x.fmin(y))), bits(Ordered::fmin(u, v)), "{u} {v}");
                }
            }
        }
        let some = |infinity: u16| {
            let positive = [0, 1, infinity / 2, infinity - 1, infinity, infinity + 1];
            let mut all = [0; 12];
            for (place, bits) in positive.into_iter().enumerate() {
                all[2 * place] = bits;
                all[2 * place + 1] = bits | 0x8000;
            }
            all
        };
        check(f16::from_bits, f16::to_f32, some(0x7c00));
        check(bf16::from_bits, bf16::to_f32, some(0x7f80));
    }
}
