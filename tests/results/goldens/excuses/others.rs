//! Excuses for unary operations, select, sums and losses.

use bitlane::{DType, ErrorKind, Rules};

use super::Excuse;
use crate::goldens::replay::Case;

pub const DEVIATIONS: &[Excuse] = &[
    Excuse {
        reason: "section 7: abs and negative refuse bool",
        applies: |case| {
            ["abs", "negative"].contains(&&*case.record.op)
                && case.has_tag("refused")
                && case.theirs().is_some()
                && case.we_refuse_as(ErrorKind::UnsupportedDType)
        },
    },
    Excuse {
        reason: "section 7: abs of a complex number is its hypot, infinite if a part is; JAX gives NaN, and it and NumPy are an ulp off",
        applies: |case| {
            case.record.op == "abs"
                && matches!(case.rules, Rules::NumPy | Rules::Jax)
                && case.has_dtype(&[DType::C64, DType::C128])
                && case.differs_only_where(|at| {
                    (at.theirs.is_nan() && at.ours == f64::INFINITY) || at.is_close(f64::EPSILON)
                })
        },
    },
    Excuse {
        reason: "section 7: abs, negative and select keep the bits of a NaN; half floats go through f32 in Torch and JAX",
        applies: |case| {
            matches!(case.rules, Rules::Torch | Rules::Jax)
                && ["abs", "negative", "select"].contains(&&*case.record.op)
                && matches!(case.our_dtype(), Some(DType::F16 | DType::BF16))
                && case.differs_only_where(|at| at.theirs.is_nan() && at.ours.is_nan())
        },
    },
    Excuse {
        reason: "section 8: any and all give bools; those of u8 are u8 in Torch",
        applies: |case| {
            case.is(Rules::Torch, &["any", "all"])
                && case.has_dtype(&[DType::U8])
                && case.their_dtype() == Some(DType::U8)
                && case.our_dtype() == Some(DType::Bool)
        },
    },
    Excuse {
        reason: "section 7: negative flips the sign bit; Paddle multiplies by −1 and adds 0",
        applies: |case| {
            case.is(Rules::Paddle, &["negative"])
                && case.our_dtype().is_some_and(DType::is_float)
                && case.differs_only_where(|at| at.x == 0.0 || at.x.is_nan())
        },
    },
    Excuse {
        reason: "section 7: negative flips the sign bits of both parts; Torch and Paddle compute a complex product",
        applies: |case| {
            matches!(case.rules, Rules::Torch | Rules::Paddle)
                && case.record.op == "negative"
                && case.our_dtype().is_some_and(DType::is_complex)
                && case.their_dtype() == case.our_dtype()
                && (case.has_tag("special") || case.has_tag("0-D x"))
        },
    },
    Excuse {
        reason: "section 13: subnormals are true; JAX takes them for zeros",
        applies: |case| {
            case.is(Rules::Jax, &["logical_not"])
                && case.differs_only_where(|at| at.has_subnormal())
        },
    },
    Excuse {
        reason: "sections 6 and 13: a number follows the tensor; Paddle's where makes it an i64 or f32 tensor first",
        applies: |case| {
            let gives_f32 = || case.their_dtype() == Some(DType::F32);
            case.is(Rules::Paddle, &["select"])
                && case.has_tag("scalar")
                && (case.is_refused("promotion", "") || gives_f32())
                && case.ours.is_ok()
        },
    },
    Excuse {
        reason: "section 8: unsigned integers add up to u64; Torch says i64",
        applies: |case| {
            case.is(Rules::Torch, &["sum"])
                && case.x().dtype().is_some_and(DType::is_unsigned_int)
                && case.their_dtype() == Some(DType::I64)
                && case.our_dtype() == Some(DType::U64)
        },
    },
    Excuse {
        reason: "section 8: integers add up to i64 or u64; Paddle keeps the narrow dtypes",
        applies: |case| {
            case.is(Rules::Paddle, &["sum"])
                && case.their_dtype() == case.x().dtype()
                && matches!(case.our_dtype(), Some(DType::I64 | DType::U64))
        },
    },
    Excuse {
        reason: "section 8: a sum of −0 alone is −0; the libraries start from +0",
        applies: |case| is_sum(case) && case.has_tag("special") && case.differs_only_in_zeros(),
    },
    Excuse {
        reason: "section 8: mean is for floats and complex; NumPy, JAX and Paddle take others",
        applies: |case| {
            case.record.op == "mean"
                && case.has_tag("refused")
                && case.theirs().is_some()
                && case.we_refuse_as(ErrorKind::UnsupportedDType)
        },
    },
    Excuse {
        reason: "section 8: a complex mean divides each part by the count; the libraries divide by a complex number",
        applies: |case| {
            case.record.op == "mean"
                && (case.has_tag("special") || case.has_tag("empty"))
                && case.our_dtype().is_some_and(DType::is_complex)
                && case.their_dtype() == case.our_dtype()
        },
    },
    Excuse {
        reason: "section 9: a loss takes its parameter in the dtype computed in; Paddle's is an f32",
        applies: |case| {
            case.is(Rules::Paddle, &["huber_loss", "smooth_l1_loss"])
                && case.our_dtype() == Some(DType::F64)
                && [case.parameter("delta"), case.parameter("beta")].contains(&Some(0.3))
                && case.differs_only_where(|at| at.is_close(1e-6))
        },
    },
    Excuse {
        reason: "section 9: smooth_l1 with β = 0 is l1; Paddle divides by 0",
        applies: |case| {
            case.is(Rules::Paddle, &["smooth_l1_loss"])
                && case.parameter("beta") == Some(0.0)
                && case.differs_only_where(|at| at.theirs.is_nan())
        },
    },
    Excuse {
        reason: "section 9: a loss has the promoted dtype; Torch's huber_loss has that of x",
        applies: |case| {
            case.is(Rules::Torch, &["huber_loss"])
                && case.has_tag("mixed")
                && case.their_dtype() == case.x().dtype()
                && case.our_dtype() != case.x().dtype()
        },
    },
    Excuse {
        reason: "section 9: a loss is computed in the promoted dtype; Torch and Paddle take exp in that of x",
        applies: |case| {
            case.record.op == "poisson_nll_loss"
                && case.has_tag("mixed")
                && case.differs_only_where(|at| at.is_close(1e-3))
        },
    },
    Excuse {
        reason: "section 9: ε is an f32 for half floats; Torch rounds it to f16, where it is 0",
        applies: |case| {
            case.is(Rules::Torch, &["poisson_nll_loss"])
                && case.has_tag("special")
                && case.our_dtype() == Some(DType::F16)
                && case.record.params["log_input"] == false
                && case.differs_only_where(|at| at.x == 0.0)
        },
    },
    Excuse {
        reason: "section 9: nothing is added where y ≤ 1; Torch and Paddle add +0, which makes −0 positive",
        applies: |case| {
            case.record.op == "poisson_nll_loss"
                && case.record.params["full"] == true
                && case.differs_only_where(|at| at.is_zero())
        },
    },
];

fn is_sum(case: &Case) -> bool {
    ["sum", "mean"].contains(&&*case.record.op)
}

/// Predicates that only these excuses use.
impl Case<'_> {
    /// Returns a parameter of a loss.
    fn parameter(&self, name: &str) -> Option<f64> {
        self.record.params[name].as_f64()
    }
}
