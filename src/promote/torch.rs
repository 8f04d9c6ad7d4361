//! PyTorch's rules: `torch.promote_types` for two operands of the same kind. A 0-d tensor yields to one with
//! dimensions, and a Python number yields to both.

use super::{Family, Kind, Matrix, look_up, matrix, scalar_dtype};
use crate::{Category, DType};

/// `torch.promote_types`. `u16`, `u32` and `u64` mix only with themselves and with floats.
const TENSORS: Matrix = matrix! {
    //      Bool U8   U16  U32  U64  I8   I16  I32  I64  F16  BF16 F32  F64  C64  C128
    Bool:  [Bool U8   -    -    -    I8   I16  I32  I64  F16  BF16 F32  F64  C64  C128]
    U8:    [U8   U8   -    -    -    I16  I16  I32  I64  F16  BF16 F32  F64  C64  C128]
    U16:   [-    -    U16  -    -    -    -    -    -    F16  BF16 F32  F64  -    -]
    U32:   [-    -    -    U32  -    -    -    -    -    F16  BF16 F32  F64  -    -]
    U64:   [-    -    -    -    U64  -    -    -    -    F16  BF16 F32  F64  -    -]
    I8:    [I8   I16  -    -    -    I8   I16  I32  I64  F16  BF16 F32  F64  C64  C128]
    I16:   [I16  I16  -    -    -    I16  I16  I32  I64  F16  BF16 F32  F64  C64  C128]
    I32:   [I32  I32  -    -    -    I32  I32  I32  I64  F16  BF16 F32  F64  C64  C128]
    I64:   [I64  I64  -    -    -    I64  I64  I64  I64  F16  BF16 F32  F64  C64  C128]
    F16:   [F16  F16  F16  F16  F16  F16  F16  F16  F16  F16  F32  F32  F64  C64  C128]
    BF16:  [BF16 BF16 BF16 BF16 BF16 BF16 BF16 BF16 BF16 F32  BF16 F32  F64  C64  C128]
    F32:   [F32  F32  F32  F32  F32  F32  F32  F32  F32  F32  F32  F32  F64  C64  C128]
    F64:   [F64  F64  F64  F64  F64  F64  F64  F64  F64  F64  F64  F64  F64  C128 C128]
    C64:   [C64  C64  -    -    -    C64  C64  C64  C64  C64  C64  C64  C128 C64  C128]
    C128:  [C128 C128 -    -    -    C128 C128 C128 C128 C128 C128 C128 C128 C128 C128]
};

pub(super) fn compute(family: Family, lhs: Kind, rhs: Kind) -> Option<DType> {
    match family {
        Family::Divide | Family::Copysign | Family::Atan2 => common(lhs, rhs).map(to_float),
        // Torch compares a half float with a complex number in complex32; here in complex64.
        _ if family.is_predicate() => common(lhs, rhs).or_else(|| half_with_complex(lhs, rhs)),
        // PyTorch broadcasts the operands of these losses first, so none of them is 0-d.
        Family::Loss | Family::MseLoss => common(stretched(lhs), stretched(rhs)),
        // PyTorch writes the result to a tensor of the left operand's dtype, which must be able to hold it.
        Family::HuberLoss => {
            let common = common(stretched(lhs), stretched(rhs))?;
            (dtype(lhs).category() >= common.category()).then_some(common)
        }
        // exp(x) - y * x: the exponential of an integer x is a float before it meets the product.
        Family::PoissonLoss => {
            let product = common(lhs, rhs)?;
            let product = match (lhs, rhs) {
                (Kind::Tensor(_), _) | (_, Kind::Tensor(_)) => Kind::Tensor(product),
                _ => Kind::ZeroD(product),
            };
            let exponential = to_float(dtype(lhs));
            common(
                match lhs {
                    Kind::Tensor(_) => Kind::Tensor(exponential),
                    Kind::ZeroD(_) | Kind::Scalar(_) => Kind::ZeroD(exponential),
                },
                product,
            )
        }
        _ => common(lhs, rhs),
    }
}

fn to_float(dtype: DType) -> DType {
    if dtype.category() < Category::Float { DType::F32 } else { dtype }
}

const fn dtype(kind: Kind) -> DType {
    match kind {
        Kind::Tensor(dtype) | Kind::ZeroD(dtype) => dtype,
        Kind::Scalar(category) => scalar_dtype(category),
    }
}

const fn stretched(kind: Kind) -> Kind {
    Kind::Tensor(dtype(kind))
}

/// `torch.result_type`: two operands of the same kind promote, otherwise the weaker one yields.
fn common(lhs: Kind, rhs: Kind) -> Option<DType> {
    let standing = |kind| match kind {
        Kind::Tensor(_) => 2,
        Kind::ZeroD(_) => 1,
        Kind::Scalar(_) => 0,
    };
    match standing(lhs).cmp(&standing(rhs)) {
        std::cmp::Ordering::Equal => look_up(&TENSORS, dtype(lhs), dtype(rhs)),
        std::cmp::Ordering::Greater => yielding(dtype(lhs), dtype(rhs)),
        std::cmp::Ordering::Less => yielding(dtype(rhs), dtype(lhs)),
    }
}

/// The common dtype if one operand is weak. It can raise the category; a complex one takes its width from a float.
fn yielding(strong: DType, weak: DType) -> Option<DType> {
    match (strong, weak.category()) {
        (_, category) if category <= strong.category() => Some(strong),
        (DType::Bool, Category::Int) => look_up(&TENSORS, strong, weak),
        (DType::F64, _) => Some(DType::C128),
        (DType::F32, _) => Some(DType::C64),
        // complex32, which is not among the dtypes.
        (DType::F16 | DType::BF16, _) => None,
        _ => Some(weak),
    }
}

fn half_with_complex(lhs: Kind, rhs: Kind) -> Option<DType> {
    let is_half = |kind| matches!(dtype(kind), DType::F16 | DType::BF16);
    let is_complex = |kind| dtype(kind).is_complex();
    let met = (is_half(lhs) && is_complex(rhs)) || (is_complex(lhs) && is_half(rhs));
    met.then_some(DType::C64)
}
