//! Excuses for conversions of the floats of 8 bits.

use bitlane::{DType, Rules};

use super::Excuse;

pub const DEVIATIONS: &[Excuse] = &[
    Excuse {
        reason: "sections 7 and 13: a conversion rounds once; ml_dtypes and Torch convert f64 through f32",
        applies: |case| {
            let narrows = ["cast", "cast_saturating"].contains(&&*case.record.op);
            narrows
                && matches!(case.rules, Rules::NumPy | Rules::Torch)
                && case.x().dtype() == Some(DType::F64)
                && case.differs_only_where(|at| f64::from(at.x as f32) != at.x)
        },
    },
    Excuse {
        reason: "section 7: a conversion keeps the sign of a NaN; JAX's NaN of f8e5m2 is positive",
        applies: |case| {
            case.is(Rules::Jax, &["cast"])
                && case.our_dtype() == Some(DType::F8E5M2)
                && case.differs_only_where(|at| at.theirs.is_nan() && at.ours.is_nan())
        },
    },
];
