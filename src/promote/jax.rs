//! JAX's rules with 64-bit types enabled: a lattice in which every float is above every integer. The rank does not
//! matter, and a Python number yields to any array.

use super::numpy::with_scalar;
use super::{Family, Kind, Matrix, look_up, matrix};
use crate::{Category, DType};

/// `jax.numpy.promote_types`.
const TENSORS: Matrix = matrix! {
    //      Bool U8   U16  U32  U64  I8   I16  I32  I64  F16  BF16 F32  F64  C64  C128
    Bool:  [Bool U8   U16  U32  U64  I8   I16  I32  I64  F16  BF16 F32  F64  C64  C128]
    U8:    [U8   U8   U16  U32  U64  I16  I16  I32  I64  F16  BF16 F32  F64  C64  C128]
    U16:   [U16  U16  U16  U32  U64  I32  I32  I32  I64  F16  BF16 F32  F64  C64  C128]
    U32:   [U32  U32  U32  U32  U64  I64  I64  I64  I64  F16  BF16 F32  F64  C64  C128]
    U64:   [U64  U64  U64  U64  U64  F64  F64  F64  F64  F16  BF16 F32  F64  C64  C128]
    I8:    [I8   I16  I32  I64  F64  I8   I16  I32  I64  F16  BF16 F32  F64  C64  C128]
    I16:   [I16  I16  I32  I64  F64  I16  I16  I32  I64  F16  BF16 F32  F64  C64  C128]
    I32:   [I32  I32  I32  I64  F64  I32  I32  I32  I64  F16  BF16 F32  F64  C64  C128]
    I64:   [I64  I64  I64  I64  F64  I64  I64  I64  I64  F16  BF16 F32  F64  C64  C128]
    F16:   [F16  F16  F16  F16  F16  F16  F16  F16  F16  F16  F32  F32  F64  C64  C128]
    BF16:  [BF16 BF16 BF16 BF16 BF16 BF16 BF16 BF16 BF16 F32  BF16 F32  F64  C64  C128]
    F32:   [F32  F32  F32  F32  F32  F32  F32  F32  F32  F32  F32  F32  F64  C64  C128]
    F64:   [F64  F64  F64  F64  F64  F64  F64  F64  F64  F64  F64  F64  F64  C128 C128]
    C64:   [C64  C64  C64  C64  C64  C64  C64  C64  C64  C64  C64  C64  C128 C64  C128]
    C128:  [C128 C128 C128 C128 C128 C128 C128 C128 C128 C128 C128 C128 C128 C128 C128]
};

pub(super) fn compute(family: Family, lhs: Kind, rhs: Kind) -> Option<DType> {
    let common = match (lhs, rhs) {
        (Kind::Tensor(l) | Kind::ZeroD(l), Kind::Tensor(r) | Kind::ZeroD(r)) => {
            look_up(&TENSORS, l, r)?
        }
        // JAX knows a Python integer exponent at trace time, and then computes with a bool base as i32.
        (Kind::Tensor(DType::Bool) | Kind::ZeroD(DType::Bool), Kind::Scalar(Category::Int))
            if family == Family::Pow =>
        {
            DType::I32
        }
        (Kind::Tensor(t) | Kind::ZeroD(t), Kind::Scalar(s))
        | (Kind::Scalar(s), Kind::Tensor(t) | Kind::ZeroD(t)) => with_scalar(t, s),
        (Kind::Scalar(_), Kind::Scalar(_)) => return None,
    };
    use Family::{Atan2, Copysign, Divide, LogAddExp, NextAfter};
    Some(match family {
        Divide | Copysign | Atan2 | LogAddExp | NextAfter => to_inexact(common),
        _ => common,
    })
}

/// `jax.dtypes.to_inexact_dtype`: 64-bit integers become `f64`, bools and all other integers `f32`.
fn to_inexact(dtype: DType) -> DType {
    match dtype.category() {
        Category::Float | Category::Complex => dtype,
        Category::Bool | Category::Int if dtype.size() < 8 => DType::F32,
        Category::Bool | Category::Int => DType::F64,
    }
}
