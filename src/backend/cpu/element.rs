//! The element functions: what each operation does to two elements. The scalar truth of the crate.

use std::ops::{BitAnd, BitOr, BitXor};

use half::{bf16, f16};
use num_complex::Complex;

use crate::cast::{Cast, bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};

/// A function of two elements; the types that implement it are the last column of the op table.
pub(super) trait Apply<T> {
    type Output;
    fn apply(lhs: T, rhs: T) -> Self::Output;
}

/// Integers: the shifts, for every amount.
trait Integer: Copy {
    fn shift_left(self, amount: Self) -> Self;
    fn shift_right(self, amount: Self) -> Self;
    fn shift_right_logical(self, amount: Self) -> Self;
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

            #[inline(always)]
            fn shift_right_logical(self, amount: Self) -> Self {
                (self as $unsigned).unbounded_shr(clamp_amount(amount as $unsigned as u64)) as $int
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

/// Sums and products; of bools they are or and and.
trait Sum: Copy {
    fn add(self, other: Self) -> Self;
    fn multiply(self, other: Self) -> Self;
}

/// Differences, which bools do not have.
trait Difference: Copy {
    fn subtract(self, other: Self) -> Self;
}

/// Quotients, which only floats and complex numbers have.
trait Quotient: Copy {
    fn divide(self, other: Self) -> Self;
}

/// What is compared in the place of a value: the halves widen, and the rest stand for themselves.
pub(super) trait Comparable: Copy {
    type Key: PartialEq + Copy;
    fn key(self) -> Self::Key;
}

macro_rules! comparables {
    ($($value:ty => $key:ty: $widen:expr;)*) => {$(
        impl Comparable for $value {
            type Key = $key;

            #[inline(always)]
            fn key(self) -> $key {
                $widen(self)
            }
        }
    )*};
    ($($value:ty)*) => {
        comparables! { $($value => $value: std::convert::identity;)* }
    };
}

comparables! { bool u8 u16 u32 u64 i8 i16 i32 i64 i128 f32 f64 Complex<f32> Complex<f64> }
comparables! { f16 => f32: f16_to_f32; bf16 => f32: bf16_to_f32; }

/// Real numbers: order, sign, and the two sorts of extremes.
pub(super) trait Real: Comparable<Key: PartialOrd> {
    fn is_nan(self) -> bool;
    /// Negative, or a float with the sign bit set.
    fn signbit(self) -> bool;
    fn copysign(self, sign: Self) -> Self;

    /// The larger one, where −0 is below +0; for operands that are not NaN.
    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        let (own, others) = (self.key(), other.key());
        if own > others || (own == others && !self.signbit()) { self } else { other }
    }

    /// The smaller one, where −0 is below +0; for operands that are not NaN.
    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        let (own, others) = (self.key(), other.key());
        if own < others || (own == others && self.signbit()) { self } else { other }
    }
}

macro_rules! integer_arithmetic {
    ($($int:ty, $copysign:expr;)*) => {$(
        impl Sum for $int {
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn multiply(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
        }

        impl Difference for $int {
            #[inline(always)]
            fn subtract(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
        }

        impl Real for $int {
            #[inline(always)]
            fn is_nan(self) -> bool {
                false
            }

            #[inline(always)]
            #[allow(unused_comparisons, reason = "one text for signed and unsigned integers")]
            fn signbit(self) -> bool {
                self < 0
            }

            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                let function: fn($int, $int) -> $int = $copysign;
                function(self, sign)
            }
        }
    )*};
}

integer_arithmetic! {
    u8, |magnitude, _| magnitude;
    u16, |magnitude, _| magnitude;
    u32, |magnitude, _| magnitude;
    u64, |magnitude, _| magnitude;
    i8, |value, sign| if (value ^ sign) < 0 { value.wrapping_neg() } else { value };
    i16, |value, sign| if (value ^ sign) < 0 { value.wrapping_neg() } else { value };
    i32, |value, sign| if (value ^ sign) < 0 { value.wrapping_neg() } else { value };
    i64, |value, sign| if (value ^ sign) < 0 { value.wrapping_neg() } else { value };
}

impl Sum for bool {
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self | other
    }

    #[inline(always)]
    fn multiply(self, other: Self) -> Self {
        self & other
    }
}

impl Real for bool {
    #[inline(always)]
    fn is_nan(self) -> bool {
        false
    }

    #[inline(always)]
    fn signbit(self) -> bool {
        false
    }

    #[inline(always)]
    fn copysign(self, _: Self) -> Self {
        self
    }
}

macro_rules! floats {
    ($($float:ty, $bits:ty, $widen:expr, $narrow:expr;)*) => {$(
        impl Sum for $float {
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                $narrow($widen(self) + $widen(other))
            }

            #[inline(always)]
            fn multiply(self, other: Self) -> Self {
                $narrow($widen(self) * $widen(other))
            }
        }

        impl Difference for $float {
            #[inline(always)]
            fn subtract(self, other: Self) -> Self {
                $narrow($widen(self) - $widen(other))
            }
        }

        impl Quotient for $float {
            #[inline(always)]
            fn divide(self, other: Self) -> Self {
                $narrow($widen(self) / $widen(other))
            }
        }

        impl Real for $float {
            #[inline(always)]
            fn is_nan(self) -> bool {
                $widen(self).is_nan()
            }

            #[inline(always)]
            fn signbit(self) -> bool {
                self.to_bits() >> (<$bits>::BITS - 1) == 1
            }

            // On the bits, so that the payload of a NaN survives, a signalling one's too.
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                let mask: $bits = 1 << (<$bits>::BITS - 1);
                Self::from_bits((self.to_bits() & !mask) | (sign.to_bits() & mask))
            }
        }
    )*};
}

floats! {
    f16, u16, f16_to_f32, f32_to_f16;
    bf16, u16, bf16_to_f32, f32_to_bf16;
    f32, u32, std::convert::identity, std::convert::identity;
    f64, u64, std::convert::identity, std::convert::identity;
}

macro_rules! complexes {
    ($($part:ty)*) => {$(
        impl Sum for Complex<$part> {
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                Complex::new(self.re + other.re, self.im + other.im)
            }

            #[inline(always)]
            fn multiply(self, other: Self) -> Self {
                Complex::new(
                    self.re * other.re - self.im * other.im,
                    self.re * other.im + self.im * other.re,
                )
            }
        }

        impl Difference for Complex<$part> {
            #[inline(always)]
            fn subtract(self, other: Self) -> Self {
                Complex::new(self.re - other.re, self.im - other.im)
            }
        }

        impl Quotient for Complex<$part> {
            // Smith's algorithm: scaling by the larger part of the divisor avoids overflow.
            #[inline(always)]
            fn divide(self, other: Self) -> Self {
                if other.re.abs() >= other.im.abs() {
                    if other.re == 0.0 && other.im == 0.0 {
                        let zero = other.re.abs();
                        return Complex::new(self.re / zero, self.im / zero);
                    }
                    let ratio = other.im / other.re;
                    let scale = 1.0 / (other.re + other.im * ratio);
                    Complex::new(
                        (self.re + self.im * ratio) * scale,
                        (self.im - self.re * ratio) * scale,
                    )
                } else {
                    let ratio = other.re / other.im;
                    let scale = 1.0 / (other.im + other.re * ratio);
                    Complex::new(
                        (self.re * ratio + self.im) * scale,
                        (self.im * ratio - self.re) * scale,
                    )
                }
            }
        }
    )*};
}

complexes! { f32 f64 }

/// One operation: a unit type and its function for every type with the trait it needs.
macro_rules! element_functions {
    ($($function:ident: [$($bound:tt)*] $output:ty, |$lhs:ident, $rhs:ident| $result:expr;)*) => {$(
        pub(super) struct $function;

        impl<T: $($bound)*> Apply<T> for $function {
            type Output = $output;

            #[inline(always)]
            fn apply($lhs: T, $rhs: T) -> $output {
                $result
            }
        }
    )*};
}

element_functions! {
    ShiftLeft: [Integer] T, |x, y| x.shift_left(y);
    ShiftRight: [Integer] T, |x, y| x.shift_right(y);
    ShiftRightLogical: [Integer] T, |x, y| x.shift_right_logical(y);
    Copysign: [Real] T, |x, y| x.copysign(y);
    Add: [Sum] T, |x, y| x.add(y);
    Subtract: [Difference] T, |x, y| x.subtract(y);
    Multiply: [Sum] T, |x, y| x.multiply(y);
    Divide: [Quotient] T, |x, y| x.divide(y);
    Equal: [Comparable] bool, |x, y| x.key() == y.key();
    NotEqual: [Comparable] bool, |x, y| x.key() != y.key();
    LessThan: [Comparable<Key: PartialOrd>] bool, |x, y| x.key() < y.key();
    LessEqual: [Comparable<Key: PartialOrd>] bool, |x, y| x.key() <= y.key();
    GreaterThan: [Comparable<Key: PartialOrd>] bool, |x, y| x.key() > y.key();
    GreaterEqual: [Comparable<Key: PartialOrd>] bool, |x, y| x.key() >= y.key();
    LogicalAnd: [Cast<bool>] bool, |x, y| x.cast() & y.cast();
    LogicalOr: [Cast<bool>] bool, |x, y| x.cast() | y.cast();
    LogicalXor: [Cast<bool>] bool, |x, y| x.cast() ^ y.cast();
    BitwiseAnd: [BitAnd<Output = T>] T, |x, y| x & y;
    BitwiseOr: [BitOr<Output = T>] T, |x, y| x | y;
    BitwiseXor: [BitXor<Output = T>] T, |x, y| x ^ y;
    Maximum: [Real] T, |x, y| if x.is_nan() { x } else if y.is_nan() { y } else { x.larger(y) };
    Minimum: [Real] T, |x, y| if x.is_nan() { x } else if y.is_nan() { y } else { x.smaller(y) };
    Fmax: [Real] T, |x, y| if x.is_nan() { y } else if y.is_nan() { x } else { x.larger(y) };
    Fmin: [Real] T, |x, y| if x.is_nan() { y } else if y.is_nan() { x } else { x.smaller(y) };
}
