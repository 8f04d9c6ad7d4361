//! Excuses for transcendental functions and hypot.

use bitlane::{DType, ErrorKind, Rules};

use super::Excuse;

pub const DEVIATIONS: &[Excuse] = &[
    Excuse {
        reason: "section 13: transcendental functions and hypot take no complex numbers, under every rulebook",
        applies: |case| {
            case.record.id.starts_with("transcendental-")
                && case.has_dtype(&[DType::C64, DType::C128])
                && case.theirs().is_some()
                && case.we_refuse_as(ErrorKind::UnsupportedDType)
        },
    },
    Excuse {
        reason: "section 7: functions of f64 have an error below 1 ulp; JAX's atanh is not that close",
        applies: |case| {
            case.is(Rules::Jax, &["atanh"])
                && case.our_dtype() == Some(DType::F64)
                && case.differs_only_where(|at| at.is_close(1e-13))
        },
    },
    Excuse {
        reason: "sections 7 and 13: hypot is infinite if a side is; Paddle composes it of products and quotients",
        applies: |case| {
            case.is(Rules::Paddle, &["hypot"])
                && case.has_tag("special")
                && case.differs_only_where(|at| at.x.is_infinite() || at.y.is_infinite())
        },
    },
    Excuse {
        reason: "section 7: hypot is computed in the promoted dtype; Paddle computes a part of it in that of x",
        applies: |case| {
            case.is(Rules::Paddle, &["hypot"])
                && case.has_tag("mixed")
                && case.our_dtype() == Some(DType::F64)
                && case.differs_only_where(|at| at.is_close(1e-6))
        },
    },
    Excuse {
        reason: "section 13: hypot promotes as other functions of floats do; a 0-d operand is weak in the products that Paddle composes it of",
        applies: |case| {
            case.is(Rules::Paddle, &["hypot"])
                && (case.has_tag("0-D x") || case.has_tag("0-D y"))
                && case.theirs().is_some()
                && (case.we_refuse_as(ErrorKind::Promotion)
                    || case.their_dtype() != case.our_dtype())
        },
    },
];
