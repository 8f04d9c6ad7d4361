//! The element functions: what each operation computes, one element at a time.
//!
//! A function is a type that implements [`Map`], [`Apply`] or [`Fuse`] for the types it takes. Where dtypes share their
//! bits' behaviour (`i8` and `u8` add alike) only one of them is implemented, and `table` knows which.

mod complex;
mod float;
mod functions;
mod fused;
mod integer;
mod order;

use std::ops::{BitAnd, BitOr, BitXor, Not};

use self::complex::Complexes;
use self::float::{Float, FloatBits, Rounding};
pub(crate) use self::functions::*;
pub(crate) use self::fused::{FmaInHardware, FmaInSoftware, FmaToOdd};
use self::integer::{Integer, Signed};
use self::order::Ordered;
use crate::cast::Cast;
use crate::math::IntegerPower;

/// A unary function.
pub(crate) trait Map<T> {
    type Output;
    fn map(x: T) -> Self::Output;
}

/// A binary function that has a fast path without branches for most elements.
pub(crate) trait ApplyNear<T>: Apply<T> {
    /// Returns whether the elements need the general path.
    fn is_far(x: T, y: T) -> bool;
    /// Computes the result on the fast path.
    fn apply_near(x: T, y: T) -> Self::Output;
}

/// A ternary function of numbers of one type.
pub(crate) trait Fuse<T> {
    fn fuse(x: T, y: T, z: T) -> T;
}

/// A binary function.
pub(crate) trait Apply<T> {
    type Output;
    fn apply(x: T, y: T) -> Self::Output;
}

macro_rules! functions_of_one {
    ($($function:ident: [$($bound:tt)*] $output:ty, |$x:ident| $result:expr;)*) => {$(
        pub(crate) struct $function;

        impl<T: $($bound)*> Map<T> for $function {
            type Output = $output;

            #[inline(always)]
            fn map($x: T) -> $output {
                $result
            }
        }
    )*};
}

macro_rules! functions_of_two {
    ($($function:ident: [$($bound:tt)*] $output:ty, |$x:ident, $y:ident| $result:expr;)*) => {$(
        pub(crate) struct $function;

        impl<T: $($bound)*> Apply<T> for $function {
            type Output = $output;

            #[inline(always)]
            fn apply($x: T, $y: T) -> $output {
                $result
            }
        }
    )*};
}

/// Sums, differences and products, of every kind of number.
pub(crate) trait Number: Copy {
    fn add(self, other: Self) -> Self;
    fn subtract(self, other: Self) -> Self;
    fn multiply(self, other: Self) -> Self;
}

/// Quotients, which only floats and complex numbers have.
pub(crate) trait Quotient: Copy {
    const ONE: Self;
    fn divide(self, other: Self) -> Self;
}

/// Tests for numbers that are not finite, which only floats and complex numbers have.
pub(crate) trait Finiteness: Copy {
    fn is_nan(self) -> bool;
    fn is_infinite(self) -> bool;
    fn is_finite(self) -> bool;
}

/// The sign as a number.
pub(crate) trait Sign: Copy {
    fn sign(self) -> Self;
}

/// Division with a remainder.
pub(crate) trait Modular: Copy {
    fn floor_divide(self, other: Self) -> Self;
    fn remainder(self, other: Self) -> Self;
}

/// As [`Modular`], for operands that are not too far apart.
pub(crate) trait NearModular: Modular {
    fn is_far(self, other: Self) -> bool;
    fn floor_divide_near(self, other: Self) -> Self;
    fn remainder_near(self, other: Self) -> Self;
}

/// Equality.
pub(crate) trait Comparable: Copy {
    fn equals(self, other: Self) -> bool;
}

functions_of_one! {
    // Integers.
    Abs: [Signed] T, |x| x.magnitude();
    Negative: [Integer] T, |x| x.negate();
    BitwiseNot: [Not<Output = T>] T, |x| !x;
    // The byte of a bool.
    NotBool: [BitXor<Output = T> + From<bool>] T, |x| x ^ T::from(true);
    // The bits of floats, in integers of their size.
    AbsBits: [FloatBits] T, |x| x.without_sign();
    NegativeBits: [FloatBits] T, |x| x.with_flipped_sign();
    SignOfBits: [FloatBits] bool, |x| x.is_negative();
    TruthOfFloatBits: [FloatBits] bool, |x| x.is_not_zero();
    TruthOfIntegers: [Integer] bool, |x| x.is_not_zero();
    CountOnes: [Integer] T, |x| x.count_ones();
    LeadingZeros: [Integer] T, |x| x.leading_zeros();
    TrailingZeros: [Integer] T, |x| x.trailing_zeros();
    ReverseBits: [Integer] T, |x| x.reverse_bits();
    SwapBytes: [Integer] T, |x| x.swap_bytes();
    Always: [Integer] bool, |_x| true;
    // Floats in their own format, of at least 32 bits.
    Floor: [Rounding] T, |x| x.floor();
    Ceil: [Rounding] T, |x| x.ceil();
    Trunc: [Rounding] T, |x| x.trunc();
    Round: [Rounding] T, |x| x.round();
    Sqrt: [Rounding] T, |x| x.sqrt();
    // Several kinds of numbers.
    SignOf: [Sign] T, |x| x.sign();
    Square: [Number] T, |x| x.multiply(x);
    Reciprocal: [Quotient] T, |x| T::ONE.divide(x);
    IsNan: [Finiteness] bool, |x| x.is_nan();
    IsInf: [Finiteness] bool, |x| x.is_infinite();
    IsFinite: [Finiteness] bool, |x| x.is_finite();
    // Complex numbers.
    NegativeComplex: [Complexes] T, |x| x.negate();
    TruthOfComplex: [Complexes] bool, |x| x.is_not_zero();
    AbsOfComplex: [Complexes] T::Part, |x| x.magnitude();
    Real: [Complexes] T::Part, |x| x.real();
    Imag: [Complexes] T::Part, |x| x.imag();
    Conj: [Complexes] T, |x| x.conjugate();
}

functions_of_two! {
    ShiftLeft: [Integer] T, |x, y| x.shift_left(y);
    ShiftRight: [Integer] T, |x, y| x.shift_right(y);
    RotateLeft: [Integer] T, |x, y| x.rotate_left(y);
    RotateRight: [Integer] T, |x, y| x.rotate_left(y.negate());
    Copysign: [Signed] T, |x, y| x.copysign(y);
    CopysignBits: [FloatBits] T, |x, y| x.with_sign_of(y);
    Add: [Number] T, |x, y| x.add(y);
    Subtract: [Number] T, |x, y| x.subtract(y);
    Multiply: [Number] T, |x, y| x.multiply(y);
    Divide: [Quotient] T, |x, y| x.divide(y);
    FloorDivide: [Modular] T, |x, y| x.floor_divide(y);
    Remainder: [Modular] T, |x, y| x.remainder(y);
    Pow: [IntegerPower] T, |x, y| x.power(y);
    Equal: [Comparable] bool, |x, y| x.equals(y);
    NotEqual: [Comparable] bool, |x, y| !x.equals(y);
    LessThan: [Ordered] bool, |x, y| x.is_below(y);
    LessEqual: [Ordered] bool, |x, y| x.is_at_most(y);
    BitwiseAnd: [BitAnd<Output = T>] T, |x, y| x & y;
    BitwiseOr: [BitOr<Output = T>] T, |x, y| x | y;
    BitwiseXor: [BitXor<Output = T>] T, |x, y| x ^ y;
    Maximum: [Ordered] T, |x, y| x.larger(y);
    Minimum: [Ordered] T, |x, y| x.smaller(y);
    Fmax: [Ordered] T, |x, y| x.fmax(y);
    Fmin: [Ordered] T, |x, y| x.fmin(y);
    NextAfter: [Float] T, |x, y| x.nextafter(y);
}

macro_rules! near_functions {
    ($($function:ident: $near:ident;)*) => {$(
        impl<T: NearModular> ApplyNear<T> for $function {
            #[inline(always)]
            fn is_far(x: T, y: T) -> bool {
                x.is_far(y)
            }

            #[inline(always)]
            fn apply_near(x: T, y: T) -> T {
                x.$near(y)
            }
        }
    )*};
}

near_functions! { FloorDivide: floor_divide_near; Remainder: remainder_near; }

/// The conversion to `T`, as a unary function.
pub(crate) struct CastTo<T>(std::marker::PhantomData<T>);

impl<S: Cast<T>, T> Map<S> for CastTo<T> {
    type Output = T;

    #[inline(always)]
    fn map(x: S) -> T {
        x.cast()
    }
}
