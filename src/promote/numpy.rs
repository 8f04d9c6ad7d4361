//! NumPy's rules (NEP 50): the smallest dtype that holds both. The rank does not matter, and a Python number yields to
//! any array. `bf16` is the extension type of `ml_dtypes`.

use super::{Family, Kind, Matrix, look_up, matrix};
use crate::{Category, DType};

/// The dtype of the ufunc loop for each pair: `numpy.promote_types`, except for `bf16`.
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
            // NumPy chooses the loop by the operands, not by their common dtype: u8 with i8 gives f16.
            _ if has_float_loops(family) && l.category().max(r.category()) < Category::Float => {
                look_up(&TENSORS, smallest_float(l), smallest_float(r))
            }
            _ => look_up(&TENSORS, l, r).map(|common| in_loop(family, common)),
        },
        (Kind::Tensor(t) | Kind::ZeroD(t), Kind::Scalar(s))
        | (Kind::Scalar(s), Kind::Tensor(t) | Kind::ZeroD(t)) => {
            Some(match (t, s, family) {
                // ml_dtypes does not handle Python's float, so NumPy searches for a loop that accepts both.
                (DType::BF16, Category::Float, Family::Select) => DType::F64,
                (DType::BF16, Category::Float, _) => DType::F32,
                _ => in_loop(family, with_scalar(t, s)),
            })
        }
        (Kind::Scalar(_), Kind::Scalar(_)) => None,
    }
}

/// The common dtype of an array and a Python number. A number of a higher category than the array counts as `i64`,
/// `f64` or `c128`, except that a complex one takes its width from a float array. JAX has the same rule.
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

/// Returns `true` for pairs that a ufunc accepts but `numpy.where` does not. `numpy.where` uses `numpy.promote_types`,
/// where `bf16` combines only with dtypes that cast to it safely or that it casts to safely.
fn is_beyond_promote_types(lhs: DType, rhs: DType) -> bool {
    let stranger = match (lhs, rhs) {
        (DType::BF16, other) | (other, DType::BF16) => other,
        _ => return false,
    };
    stranger == DType::F16 || (stranger.is_int() && stranger.size() > 1)
}

/// Returns `true` if the ufunc has loops for floats only, the smallest of them `f16`.
const fn has_float_loops(family: Family) -> bool {
    use Family::{Atan2, Copysign, LogAddExp, NextAfter};
    matches!(family, Atan2 | Copysign | LogAddExp | NextAfter)
}

/// The dtype in which a family computes operands of the dtype `common`.
fn in_loop(family: Family, common: DType) -> DType {
    match family {
        _ if common.category() >= Category::Float => common,
        // Division has no loops for bools and integers; they are divided in f64.
        Family::Divide => DType::F64,
        _ if has_float_loops(family) => smallest_float(common),
        _ => common,
    }
}

/// The smallest float to which NumPy casts a bool or an integer safely; it counts `f64` as safe for 64-bit integers.
pub(super) const fn smallest_float(dtype: DType) -> DType {
    match dtype {
        DType::Bool | DType::U8 | DType::I8 => DType::F16,
        DType::U16 | DType::I16 => DType::F32,
        DType::U32 | DType::I32 | DType::U64 | DType::I64 => DType::F64,
        DType::F8E4M3FN | DType::F8E5M2 | DType::F16 | DType::BF16 => dtype,
        DType::F32 | DType::F64 | DType::C64 | DType::C128 => dtype,
    }
}
