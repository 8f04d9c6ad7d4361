//! Integer powers, which wrap.

use super::parts::select;

/// Integer types with a power function.
pub(crate) trait IntegerPower: Copy {
    /// Returns `self`^`exponent` modulo 2^bits. If the exponent is negative, the result is the reciprocal truncated
    /// towards zero: 1 for base 1, 1 or -1 for base -1, and 0 otherwise.
    fn power(self, exponent: Self) -> Self;
}

macro_rules! powers {
    ($($signed:ty, $unsigned:ty;)*) => {$(
        impl IntegerPower for $unsigned {
            /// Computes the power by repeated squaring, with one step per bit of the exponent whether it is set or not.
            /// All elements take the same steps, so that a loop over them is vectorised.
            #[inline(always)]
            fn power(self, exponent: Self) -> Self {
                let (mut result, mut square) = (1, self);
                for bit in 0..Self::BITS {
                    let factor = select(exponent >> bit & 1 == 1, square, 1);
                    result = factor.wrapping_mul(result);
                    square = square.wrapping_mul(square);
                }
                result
            }
        }

        impl IntegerPower for $signed {
            #[inline(always)]
            fn power(self, exponent: Self) -> Self {
                let power = (self as $unsigned).power(exponent as $unsigned) as $signed;
                // The power of -1 is -1 if the exponent is odd.
                let reciprocal = select(self == 1, 1, 0);
                let of_minus_one = select(exponent & 1 == 1, -1, 1);
                let reciprocal = select(self == -1, of_minus_one, reciprocal);
                select(exponent < 0, reciprocal, power)
            }
        }
    )*};
}

powers! {
    i8, u8;
    i16, u16;
    i32, u32;
    i64, u64;
}
