//! Powers of integers, which wrap.

use super::parts::select;

/// Integers that have powers.
pub(crate) trait Power: Copy {
    /// `self`^`exponent` modulo 2^bits. Where the exponent is negative, what division cut off towards zero
    /// makes of the reciprocal: 1 for base 1, 1 or -1 for base -1, else 0.
    fn power(self, exponent: Self) -> Self;
}

macro_rules! powers {
    ($($signed:ty, $unsigned:ty;)*) => {$(
        impl Power for $unsigned {
            /// By squaring, a step for each bit of the exponent whether it is set or not: a loop over elements
            /// has the same steps for all, and so becomes vector code.
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

        impl Power for $signed {
            #[inline(always)]
            fn power(self, exponent: Self) -> Self {
                let power = (self as $unsigned).power(exponent as $unsigned) as $signed;
                // The lowest bit of the exponent says which sign -1 has.
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
