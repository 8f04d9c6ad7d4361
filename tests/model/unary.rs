//! The operations on one element, and the choice between two (docs/semantics.md, section 7).

use bitlane::DType;

use super::element::{Bits, cast, from_parts, integer, part_dtype, parts, wrapped};

/// The dtypes of `abs`: no bool, no complex.
pub fn abs_is_defined(dtype: DType) -> bool {
    dtype.is_int() || dtype.is_float()
}

/// The dtypes of `negative`: all but bool.
pub fn negative_is_defined(dtype: DType) -> bool {
    dtype != DType::Bool
}

/// The dtypes of `bitwise_not`.
pub fn bitwise_not_is_defined(dtype: DType) -> bool {
    dtype.is_int() || dtype == DType::Bool
}

/// The magnitude: an integer wraps, a float loses its sign bit.
pub fn abs(dtype: DType, x: Bits) -> Bits {
    if dtype.is_float() {
        return x & !(1 << (dtype.bits() - 1));
    }
    wrapped(dtype, integer(dtype, x).abs())
}

/// The opposite: an integer wraps, a float flips its sign bit, a complex number those of both parts.
pub fn negative(dtype: DType, x: Bits) -> Bits {
    if dtype.is_complex() {
        let part = part_dtype(dtype);
        let (real, imaginary) = parts(dtype, x);
        return from_parts(dtype, negative(part, real), negative(part, imaginary));
    }
    if dtype.is_float() { x ^ 1 << (dtype.bits() - 1) } else { wrapped(dtype, -integer(dtype, x)) }
}

/// Every bit flipped; of a bool its only one.
pub fn bitwise_not(dtype: DType, x: Bits) -> Bits {
    if dtype == DType::Bool { x ^ 1 } else { wrapped(dtype, !integer(dtype, x)) }
}

/// Whether an element is zero; a NaN is not.
pub fn logical_not(dtype: DType, x: Bits) -> Bits {
    cast(dtype, DType::Bool, x) ^ 1
}

/// x where the condition is true, else y.
pub fn select(condition: Bits, x: Bits, y: Bits) -> Bits {
    if condition == 1 { x } else { y }
}
