//! NumPy's rules (NEP 50): the smallest dtype that holds both; the rank does not matter; a Python
//! number yields to any array. `bf16` is the extension type of `ml_dtypes`.

use super::{Family, Kind, Matrix, look_up, matrix};
use crate::{Category, DType};

/// What the loops of the ufuncs choose; `numpy.promote_types`, but for `bf16`.
pub(super) const TENSORS: Matrix = matrix! {
    //      Bool U8   U16  U32  U64  I8   I16  I32  I64  F16  BF16 F32  F64  C64  C128
    Bool:  [Bool U8   U16  U32  U64  I8   I16  I32  I64  F16  BF16 F32  F64  C64  C128]
    U8:    [U8   U8   U16  U32  U64  I16  I16  I32  I64  F16  BF16 F32  F64  C64  C128]
    U16:   [U16  U16  U16  U32  U64  I32  I32  I32  I64  F32  F32  F32  F64  C64  C128]
    U32:   [U32  U32  U32  U32  U64  I64  I64  I64  I64  F64  F64  F64  F64  C128 C128]
    U64:   [U64  U64  U64  U64  U64  F64  F64  F64  F64  F64  F64  F64  F64  C128 C128]
    I8:    [I8   I16  I32  I64  F64  I8   I16  I32  I64  F16  BF16 F32  F64  C64  C128]
    I16:   [I16  I16  I32  I64  F64  I16  I16  I32  I64  F32  F32  F32  F64  C64  C128]
    I32:   [I32  I32  I32  I64  F64  I32  I32  I32  I64  F64  F64  F64  F64  C128 C128]
    I64:   [I64  I64  I64  I64  F64  I64  I64  I64  I64  F64  F64  F64  F64  C128 C128]
    F16:   [F16  F16  F32  F64  F64  F16  F32  F64  F64  F16  F32  F32  F64  C64  C128]
    BF16:  [BF16 BF16 F32  F64  F64  BF16 F32  F64  F64  F32  BF16 F32  F64  C64  C128]
    F32:   [F32  F32  F32  F64  F64  F32  F32  F64  F64  F32  F32  F32  F64  C64  C128]
    F64:   [F64  F64  F64  F64  F64  F64  F64  F64  F64  F64  F64  F64  F64  C128 C128]
    C64:   [C64  C64  C64  C128 C128 C64  C64  C128 C128 C64  C64  C64  C128 C64  C128]
    C128:  [C128 C128 C128 C128 C128 C128 C128 C128 C128 C128 C128 C128 C128 C128 C128]
};

pub(super) fn compute(family: Family, lhs: Kind, rhs: Kind) -> Option<DType> {
    match (lhs, rhs) {
        (Kind::Tensor(l) | Kind::ZeroD(l), Kind::Tensor(r) | Kind::ZeroD(r)) => match family {
            Family::Select if is_beyond_promote_types(l, r) => None,
            // The loop is chosen for each operand, not for their common dtype: u8 with i8 is f16.
            _ if has_float_loops(family) && l.category().max(r.category()) < Category::Float => {
                look_up(&TENSORS, smallest_float(l), smallest_float(r))
            }
            _ => look_up(&TENSORS, l, r).map(|common| in_loop(family, common)),
        },
        (Kind::Tensor(t) | Kind::ZeroD(t), Kind::Scalar(s))
        | (Kind::Scalar(s), Kind::Tensor(t) | Kind::ZeroD(t)) => {
            Some(match (t, s, family) {
                // ml_dtypes does not know Python's float: NumPy looks for a loop that takes both.
                (DType::BF16, Category::Float, Family::Select) => DType::F64,
                (DType::BF16, Category::Float, _) => DType::F32,
                _ => in_loop(family, with_scalar(t, s)),
            })
        }
        (Kind::Scalar(_), Kind::Scalar(_)) => None,
    }
}

/// A Python number counts as `i64`, `f64` or `c128`, if its category is higher than the array's;
/// a complex one takes its width from a float array. JAX agrees.
pub(super) fn with_scalar(array: DType, scalar: Category) -> DType {
    match (array, scalar) {
        _ if scalar <= array.category() => array,
        (_, Category::Bool) => array,
        (_, Category::Int) => DType::I64,
        (_, Category::Float) => DType::F64,
        (DType::F16 | DType::BF16 | DType::F32, Category::Complex) => DType::C64,
        (_, Category::Complex) => DType::C128,
    }
}

/// `numpy.where` asks `numpy.promote_types`, in which `bf16` meets only what casts to it safely or
/// what it casts to safely; a ufunc finds a loop for both.
fn is_beyond_promote_types(lhs: DType, rhs: DType) -> bool {
    let stranger = match (lhs, rhs) {
        (DType::BF16, other) | (other, DType::BF16) => other,
        _ => return false,
    };
    stranger == DType::F16 || (stranger.is_int() && stranger.size() > 1)
}

/// Whether the ufunc has loops for floats only, from `f16` on.
const fn has_float_loops(family: Family) -> bool {
    use Family::{Atan2, Copysign, LogAddExp, NextAfter};
    matches!(family, Atan2 | Copysign | LogAddExp | NextAfter)
}

/// The dtype in which a family computes what has a common dtype.
fn in_loop(family: Family, common: DType) -> DType {
    match family {
        _ if common.category() >= Category::Float => common,
        // Division has no loops below f64 but for the floats' own.
        Family::Divide => DType::F64,
        _ if has_float_loops(family) => smallest_float(common),
        _ => common,
    }
}

/// The smallest float to which a bool or an integer casts safely (of 64-bit ones NumPy says f64).
const fn smallest_float(dtype: DType) -> DType {
    match dtype.size() {
        1 => DType::F16,
        2 => DType::F32,
        _ => DType::F64,
    }
}
