//! Paddle's rules: an integer dtype mixes only with itself, floats widen, and complex dtypes mix with everything.

use super::{Family, Kind, Matrix, look_up, matrix, narrowest_integer, scalar_dtype};
use crate::{Category, DType};

/// The common dtype of two tensors. Paddle has no `u16`, `u32` and `u64`; here they behave like the other integers.
const TENSORS: Matrix = matrix! {
    //      Bool U8   U16  U32  U64  I8   I16  I32  I64  F16  BF16 F32  F64  C64  C128
    Bool:  [Bool -    -    -    -    -    -    -    -    -    -    -    -    C64  C128]
    U8:    [-    U8   -    -    -    -    -    -    -    -    -    -    -    C64  C128]
    U16:   [-    -    U16  -    -    -    -    -    -    -    -    -    -    C64  C128]
    U32:   [-    -    -    U32  -    -    -    -    -    -    -    -    -    C64  C128]
    U64:   [-    -    -    -    U64  -    -    -    -    -    -    -    -    C64  C128]
    I8:    [-    -    -    -    -    I8   -    -    -    -    -    -    -    C64  C128]
    I16:   [-    -    -    -    -    -    I16  -    -    -    -    -    -    C64  C128]
    I32:   [-    -    -    -    -    -    -    I32  -    -    -    -    -    C64  C128]
    I64:   [-    -    -    -    -    -    -    -    I64  -    -    -    -    C64  C128]
    F16:   [-    -    -    -    -    -    -    -    -    F16  F32  F32  F64  C64  C128]
    BF16:  [-    -    -    -    -    -    -    -    -    F32  BF16 F32  F64  C64  C128]
    F32:   [-    -    -    -    -    -    -    -    -    F32  F32  F32  F64  C64  C128]
    F64:   [-    -    -    -    -    -    -    -    -    F64  F64  F64  F64  C128 C128]
    C64:   [C64  C64  C64  C64  C64  C64  C64  C64  C64  C64  C64  C64  C128 C64  C128]
    C128:  [C128 C128 C128 C128 C128 C128 C128 C128 C128 C128 C128 C128 C128 C128 C128]
};

/// Returns `true` if a 0-d tensor yields to the other operand, as a number does.
const fn zero_d_is_weak(family: Family) -> bool {
    use Family::*;
    matches!(family, Arithmetic | Divide | Modular | Pow | Equality | Ordering | Copysign | MseLoss)
}

pub(super) fn compute(family: Family, lhs: Kind, rhs: Kind) -> Option<DType> {
    let common = common(family, lhs, rhs)?;
    Some(match (family, common.category()) {
        (Family::Divide, Category::Bool | Category::Int) => DType::F32,
        (Family::LogAddExp, Category::Int) => DType::F32,
        (Family::Atan2, Category::Int) => DType::F64,
        _ => common,
    })
}

fn common(family: Family, lhs: Kind, rhs: Kind) -> Option<DType> {
    use Kind::{Scalar, Tensor, ZeroD};
    match (lhs, rhs) {
        // Only the sign of y matters, so its category does not, except that a complex number has no sign.
        (Tensor(x) | ZeroD(x), Scalar(y))
            if family == Family::Copysign && y < Category::Complex =>
        {
            Some(x)
        }
        (Tensor(t) | ZeroD(t), Scalar(s)) | (Scalar(s), Tensor(t) | ZeroD(t)) => {
            Some(yielding(t, scalar_dtype(s)))
        }
        (Tensor(t), ZeroD(z)) | (ZeroD(z), Tensor(t)) if zero_d_is_weak(family) => {
            Some(yielding(t, z))
        }
        (ZeroD(l), ZeroD(r)) if zero_d_is_weak(family) => {
            look_up(&TENSORS, l, r).or_else(|| among_zero_d(l, r))
        }
        (Tensor(l) | ZeroD(l), Tensor(r) | ZeroD(r)) => match family {
            Family::Bitwise | Family::Shift => (l == r).then_some(l),
            _ => look_up(&TENSORS, l, r),
        },
        (Scalar(_), Scalar(_)) => None,
    }
}

/// The common dtype if one operand is weak: that of the strong operand, unless the category of the weak one is higher.
/// The exception is `f64` with `c64`, which gives `c128` so that neither loses precision.
fn yielding(strong: DType, weak: DType) -> DType {
    match (strong, weak) {
        (DType::F64, DType::C64) | (DType::C64, DType::F64) => DType::C128,
        _ if weak.category() <= strong.category() => strong,
        _ => weak,
    }
}

/// The common dtype of two 0-d tensors that [`TENSORS`] rejects: that of the higher category or, within one category,
/// the narrowest integer that holds both.
fn among_zero_d(lhs: DType, rhs: DType) -> Option<DType> {
    match lhs.category().cmp(&rhs.category()) {
        std::cmp::Ordering::Less => Some(rhs),
        std::cmp::Ordering::Greater => Some(lhs),
        std::cmp::Ordering::Equal => narrowest_integer(lhs, rhs),
    }
}
