//! Integers: wrapping arithmetic, shifts by any amount, division that never fails.

use super::{Comparable, Modular, Number, Sign};

/// Operations of all integers.
pub(crate) trait Integer: Copy {
    fn shift_left(self, amount: Self) -> Self;
    /// Shifts to the right; copies of the sign enter, or zeros if the integers are unsigned.
    fn shift_right(self, amount: Self) -> Self;
    /// Rotates to the left by an amount modulo the width; a negative one rotates to the right.
    fn rotate_left(self, amount: Self) -> Self;
    fn negate(self) -> Self;
    fn is_not_zero(self) -> bool;
    fn count_ones(self) -> Self;
    /// Returns the number of zeros above the highest one; the width for 0.
    fn leading_zeros(self) -> Self;
    /// Returns the number of zeros below the lowest one; the width for 0.
    fn trailing_zeros(self) -> Self;
    fn reverse_bits(self) -> Self;
    fn swap_bytes(self) -> Self;
}

/// Operations of signed integers.
pub(crate) trait Signed: Copy {
    /// Returns the magnitude; the lowest integer is its own.
    fn magnitude(self) -> Self;
    /// Returns the magnitude with the sign of another integer, wrapping.
    fn copysign(self, sign: Self) -> Self;
}

macro_rules! integers {
    ($($int:ty, $unsigned:ty;)*) => {$(
        impl Integer for $int {
            // A negative amount read as unsigned is far out of range, so one comparison serves,
            // and amounts of at least the width make `unbounded_shl` and its kin give 0 or the sign.
            #[inline(always)]
            fn shift_left(self, amount: Self) -> Self {
                (self as $unsigned).unbounded_shl(clamp_amount(amount as $unsigned as u64)) as $int
            }

            #[inline(always)]
            fn shift_right(self, amount: Self) -> Self {
                self.unbounded_shr(clamp_amount(amount as $unsigned as u64))
            }

            // The width is a power of two, so the lowest bits of an amount are its remainder, whatever its sign.
            #[inline(always)]
            fn rotate_left(self, amount: Self) -> Self {
                <$int>::rotate_left(self, amount as u32 % <$int>::BITS)
            }

            #[inline(always)]
            fn negate(self) -> Self {
                self.wrapping_neg()
            }

            #[inline(always)]
            fn is_not_zero(self) -> bool {
                self != 0
            }

            #[inline(always)]
            fn count_ones(self) -> Self {
                <$int>::count_ones(self) as $int
            }

            #[inline(always)]
            fn leading_zeros(self) -> Self {
                <$int>::leading_zeros(self) as $int
            }

            #[inline(always)]
            fn trailing_zeros(self) -> Self {
                <$int>::trailing_zeros(self) as $int
            }

            #[inline(always)]
            fn reverse_bits(self) -> Self {
                <$int>::reverse_bits(self)
            }

            #[inline(always)]
            fn swap_bytes(self) -> Self {
                <$int>::swap_bytes(self)
            }
        }

        #[allow(unused_comparisons, reason = "one text for signed and unsigned integers")]
        impl Sign for $int {
            #[inline(always)]
            fn sign(self) -> Self {
                (self > 0) as $int - (self < 0) as $int
            }
        }

        impl Number for $int {
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn subtract(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline(always)]
            fn multiply(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
        }

        impl Comparable for $int {
            #[inline(always)]
            fn equals(self, other: Self) -> bool {
                self == other
            }
        }

        #[allow(unused_comparisons, reason = "one text for signed and unsigned integers")]
        impl Modular for $int {
            #[inline(always)]
            fn floor_divide(self, other: Self) -> Self {
                if other == 0 {
                    return 0;
                }
                let quotient = self.wrapping_div(other);
                let remainder = self.wrapping_rem(other);
                quotient.wrapping_sub((remainder != 0 && (remainder < 0) != (other < 0)) as $int)
            }

            #[inline(always)]
            fn remainder(self, other: Self) -> Self {
                if other == 0 {
                    return 0;
                }
                let remainder = self.wrapping_rem(other);
                if remainder != 0 && (remainder < 0) != (other < 0) {
                    remainder.wrapping_add(other)
                } else {
                    remainder
                }
            }
        }
    )*};
}

/// Amounts above every width stay above it when narrowed.
#[inline(always)]
fn clamp_amount(amount: u64) -> u32 {
    amount.min(64) as u32
}

integers! {
    u8, u8; u16, u16; u32, u32; u64, u64;
    i8, u8; i16, u16; i32, u32; i64, u64;
}

macro_rules! signed {
    ($($int:ty)*) => {$(
        impl Signed for $int {
            #[inline(always)]
            fn magnitude(self) -> Self {
                self.wrapping_abs()
            }

            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                if (self ^ sign) < 0 { self.wrapping_neg() } else { self }
            }
        }
    )*};
}

signed! { i8 i16 i32 i64 }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::IntegerPower;

    #[test]
    fn division_rounds_down_and_never_fails() {
        for x in i8::MIN..=i8::MAX {
            for y in i8::MIN..=i8::MAX {
                let (quotient, remainder) = (x.floor_divide(y), x.remainder(y));
                if y == 0 {
                    assert_eq!((quotient, remainder), (0, 0));
                    continue;
                }
                let exact = (f64::from(x) / f64::from(y)).floor() as i64 as i8;
                assert_eq!(quotient, exact, "{x} // {y}");
                assert_eq!(quotient.wrapping_mul(y).wrapping_add(remainder), x);
                assert!(remainder == 0 || (remainder < 0) == (y < 0));
            }
        }
        assert_eq!(i64::MIN.floor_divide(-1), i64::MIN);
        assert_eq!((7u8.floor_divide(0), 250u8.floor_divide(7), 250u8.remainder(7)), (0, 35, 5));
    }

    #[test]
    fn powers_wrap_and_negative_exponents_leave_the_units() {
        for x in i8::MIN..=i8::MAX {
            let mut expected = 1i8;
            for y in 0..=i8::MAX {
                assert_eq!(x.power(y), expected, "{x} ** {y}");
                expected = expected.wrapping_mul(x);
            }
        }
        assert_eq!([1i32, -1, -1, 0, 2].map(|x| x.power(-3)), [1, -1, -1, 0, 0]);
        assert_eq!((-1i64).power(i64::MIN), 1);
        // The square of this odd number wraps to 1, but it is no unit.
        assert_eq!(127i8.power(-1), 0);
        assert_eq!(255u8.power(255), 255);
    }

    #[test]
    fn rotations_by_any_amount() {
        for x in [0b1001_0110u8, 1, 0, 255] {
            for amount in i8::MIN..=i8::MAX {
                let turns = i32::from(amount).rem_euclid(8) as u32;
                let expected = (u16::from(x) << turns | u16::from(x) << turns >> 8) as u8;
                assert_eq!(Integer::rotate_left(x, amount as u8), expected, "{x} by {amount}");
                assert_eq!(Integer::rotate_left(x as i8, amount), expected as i8);
                assert_eq!(Integer::rotate_left(expected as i8, amount.negate()), x as i8);
            }
        }
        assert_eq!(Integer::rotate_left(1i64, i64::MIN + 65), 2);
        assert_eq!(Integer::rotate_left(i64::MIN, -63), 1);
    }

    #[test]
    fn shifts_by_any_amount() {
        assert_eq!([(-45i8).shift_left(2), (-45i8).shift_left(3)], [76, -104]);
        assert_eq!([(-100i8).shift_right(100), 100i8.shift_right(-1)], [-1, 0]);
        assert_eq!([(154u8).shift_right(3), 1u8.shift_left(8), 1u8.shift_left(7)], [19, 0, 128]);
    }
}
