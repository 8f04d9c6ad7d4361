//! The floats of 8 bits, which mix with themselves and with numbers. JAX's rules convert bools and integers to them, and
//! under Torch's a tensor without dimensions yields to one with dimensions, as a number does.

use super::{Family, Kind, Rules};
use crate::{Category, DType};

/// Whether an operand is a float of 8 bits.
pub(super) const fn is_one(kind: Kind) -> bool {
    match kind {
        Kind::Tensor(dtype) | Kind::ZeroD(dtype) => dtype.is_float8(),
        Kind::Scalar(_) => false,
    }
}

/// The common dtype of two operands of which one is a float of 8 bits.
pub(super) fn compute(family: Family, lhs: Kind, rhs: Kind, rules: Rules) -> Option<DType> {
    use Kind::{Scalar, Tensor, ZeroD};
    match (lhs, rhs) {
        (Tensor(t) | ZeroD(t), Scalar(s)) | (Scalar(s), Tensor(t) | ZeroD(t)) => {
            (s <= Category::Float).then_some(t)
        }
        (Tensor(strong), ZeroD(weak)) | (ZeroD(weak), Tensor(strong))
            if rules == Rules::Torch && !family.is_loss() =>
        {
            (weak.category() <= strong.category()).then_some(strong)
        }
        (Tensor(l) | ZeroD(l), Tensor(r) | ZeroD(r)) => {
            let (float8, other) = if l.is_float8() { (l, r) } else { (r, l) };
            let is_whole = other.category() < Category::Float;
            (other == float8 || (is_whole && rules == Rules::Jax)).then_some(float8)
        }
        (Scalar(_), Scalar(_)) => None,
    }
}
