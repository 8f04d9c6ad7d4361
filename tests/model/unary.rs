//! The unary operations, and `select` (docs/semantics.md, section 7).

use bitlane::DType;

use super::element::{Bits, cast, from_parts, integer, part_dtype, parts, wrapped};

/// `abs` is defined for all dtypes but bool and the complex ones.
pub fn abs_is_defined(dtype: DType) -> bool {
    dtype.is_int() || dtype.is_float()
}

/// `negative` is defined for all dtypes but bool.
pub fn negative_is_defined(dtype: DType) -> bool {
    dtype != DType::Bool
}

/// `bitwise_not` is defined for integers and bool.
pub fn bitwise_not_is_defined(dtype: DType) -> bool {
    dtype.is_int() || dtype == DType::Bool
}

/// Returns the magnitude: an integer wraps, the sign bit of a float is cleared.
pub fn abs(dtype: DType, x: Bits) -> Bits {
    if dtype.is_float() {
        return x & !(1 << (dtype.bits() - 1));
    }
    wrapped(dtype, integer(dtype, x).abs())
}

/// Returns the negation: an integer wraps, the sign bit of a float is flipped, and those of both parts of a complex
/// number.
pub fn negative(dtype: DType, x: Bits) -> Bits {
    if dtype.is_complex() {
        let part = part_dtype(dtype);
        let (real, imaginary) = parts(dtype, x);
        return from_parts(dtype, negative(part, real), negative(part, imaginary));
    }
    if dtype.is_float() { x ^ 1 << (dtype.bits() - 1) } else { wrapped(dtype, -integer(dtype, x)) }
}

/// Flips every bit; a bool has only one.
pub fn bitwise_not(dtype: DType, x: Bits) -> Bits {
    if dtype == DType::Bool { x ^ 1 } else { wrapped(dtype, !integer(dtype, x)) }
}

/// Returns whether an element is zero; a NaN is not.
pub fn logical_not(dtype: DType, x: Bits) -> Bits {
    cast(dtype, DType::Bool, x) ^ 1
}

/// Returns x if the condition is true, else y.
pub fn select(condition: Bits, x: Bits, y: Bits) -> Bits {
    if condition == 1 { x } else { y }
}
