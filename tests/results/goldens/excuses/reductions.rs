//! Excuses for the reductions other than sums, and for scans.

use bitlane::{DType, Rules};

use super::Excuse;
use crate::goldens::record::Operand;
use crate::goldens::replay::Case;

pub const DEVIATIONS: &[Excuse] = &[
    Excuse {
        reason: "sections 8 and 13: running totals of integers are i64 or u64; JAX keeps the narrow dtypes",
        applies: |case| {
            case.is(Rules::Jax, &["cumulative_sum", "cumulative_prod"])
                && case.their_dtype() == case.x().dtype()
                && matches!(case.our_dtype(), Some(DType::I64 | DType::U64))
        },
    },
    Excuse {
        reason: "section 8: totals of integers are i64 or u64; Paddle keeps i32, and says i64 for u8",
        applies: |case| {
            let theirs = case.their_dtype();
            case.is(Rules::Paddle, &["prod", "cumulative_sum", "cumulative_prod"])
                && (theirs == case.x().dtype() || theirs == Some(DType::I64))
                && matches!(case.our_dtype(), Some(DType::I64 | DType::U64))
        },
    },
    Excuse {
        reason: "section 8: the first NaN is the largest and the smallest; Paddle passes over it",
        applies: |case| {
            case.is(Rules::Paddle, &["argmax", "argmin"])
                && case.their_dtype() == case.our_dtype()
                && case.x_has_nan()
        },
    },
    Excuse {
        reason: "section 8: a sum divided by 0 is infinite; JAX's variance is a NaN where the correction is the count",
        applies: |case| {
            case.is(Rules::Jax, &["var", "std"])
                && case.differs_only_where(|at| at.theirs.is_nan() && at.ours.is_infinite())
        },
    },
];

impl Case<'_> {
    fn x_has_nan(&self) -> bool {
        let Operand::Tensor(x) = self.x() else { return false };
        let len = x.bytes.len() / x.dtype.size();
        x.dtype.is_float() && (0..len).any(|index| x.float(index).is_nan())
    }
}
