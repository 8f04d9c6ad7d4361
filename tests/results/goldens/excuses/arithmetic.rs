//! Excuses for floor_divide, remainder, pow, atan2, logaddexp and nextafter.

use bitlane::{Category, DType, ErrorKind, Rules};

use super::Excuse;

pub const NO_ANSWERS: &[Excuse] = &[Excuse {
    reason: "JAX's power takes a 0-d integer whose value it knows for a number, and answers otherwise while tracing",
    applies: |case| {
        case.is(Rules::Jax, &["pow"])
            && case.has_tag("0-D y")
            && case.y().dtype().is_some_and(DType::is_int)
            && case.their_dtype().is_some_and(DType::is_int)
            && case.their_dtype() != case.our_dtype()
    },
}];

pub const DEVIATIONS: &[Excuse] = &[
    Excuse {
        reason: "sections 6 and 7: no bool in floor_divide, remainder and pow, no complex there nor in atan2 and logaddexp, under every rulebook",
        applies: |case| {
            let ops = ["floor_divide", "remainder", "pow", "atan2", "logaddexp"];
            let has_complex = || case.categories().contains(&Category::Complex);
            ops.contains(&&*case.record.op)
                && (case.categories() == [Category::Bool; 2] || has_complex())
                && case.theirs().is_some()
                && case.we_refuse_as(ErrorKind::UnsupportedDType)
        },
    },
    Excuse {
        reason: "sections 7 and 13: an integer divided by zero is 0, as in NumPy; Torch and Paddle raise an error",
        applies: |case| {
            matches!(case.rules, Rules::Torch | Rules::Paddle)
                && case.has_tag("by_zero")
                && case.is_refused("other", "")
                && case.our_dtype().is_some_and(DType::is_int)
        },
    },
    Excuse {
        reason: "sections 7 and 13: an integer divided by zero is 0, as in NumPy; JAX says −1 or −2",
        applies: |case| {
            case.is(Rules::Jax, &["floor_divide"])
                && case.has_tag("by_zero")
                && case.our_dtype().is_some_and(DType::is_int)
                && case.differs_only_where(|at| at.y == 0.0)
        },
    },
    Excuse {
        reason: "sections 6 and 13: a 0-d operand is weak; it changes the dtype of Paddle's floor_divide",
        applies: |case| {
            case.is(Rules::Paddle, &["floor_divide"])
                && (case.has_tag("0-D x") || case.has_tag("0-D y"))
                && case.theirs().is_some()
                && case.their_dtype() != case.our_dtype()
        },
    },
    Excuse {
        reason: "section 7: a zero quotient has the sign of x / y, as in NumPy; JAX's has another",
        applies: |case| {
            case.is(Rules::Jax, &["floor_divide"]) && case.differs_only_where(|at| at.is_zero())
        },
    },
    Excuse {
        reason: "section 7: a zero remainder has the divisor's sign, as in NumPy; Torch, Paddle and JAX keep the dividend's",
        applies: |case| {
            case.record.op == "remainder"
                && case.rules != Rules::NumPy
                && case.differs_only_where(|at| at.is_zero())
        },
    },
    Excuse {
        reason: "section 7: the remainder is exact; Torch's is a NaN where the quotient overflows (and see the sign of zero)",
        applies: |case| {
            case.is(Rules::Torch, &["remainder"])
                && case.has_tag("special")
                && case.differs_only_where(|at| {
                    at.is_zero() || at.theirs.is_nan() && at.ours == 0.0 && at.y != 0.0
                })
        },
    },
    Excuse {
        reason: "section 7: half floats are computed in f32 and rounded once; Torch and JAX round on the way",
        applies: |case| {
            matches!(case.rules, Rules::Torch | Rules::Jax)
                && case.record.op == "floor_divide"
                && case.our_dtype() == Some(DType::F16)
                && case.differs_only_where(|at| {
                    (at.theirs - at.ours).abs() == 1.0 && at.ours == (at.x / at.y).floor()
                })
        },
    },
    Excuse {
        reason: "section 13: subnormals are numbers; JAX takes them for zeros",
        applies: |case| {
            case.is(Rules::Jax, &["remainder", "pow", "atan2", "nextafter"])
                && case.has_tag("special")
                && case.differs_only_where(|at| {
                    let is_zero = case.record.op == "remainder" && at.is_zero();
                    is_zero || at.has_subnormal()
                })
        },
    },
    Excuse {
        reason: "section 7: quotients are exact before they are rounded; JAX multiplies by the reciprocal, which is 0 for the largest number (and see subnormals and the sign of zero)",
        applies: |case| {
            case.is(Rules::Jax, &["floor_divide"])
                && case.has_tag("special")
                && case.differs_only_where(|at| {
                    at.is_zero() || at.has_subnormal() || at.x_is_largest()
                })
        },
    },
    Excuse {
        reason: "section 7: a negative exponent of an integer gives 0 or ±1; NumPy refuses it",
        applies: |case| {
            case.is(Rules::NumPy, &["pow"])
                && case.has_tag("negative")
                && case.is_refused("other", "negative integer powers")
                && case.our_dtype().is_some_and(DType::is_int)
        },
    },
    Excuse {
        reason: "section 7: integer pow wraps for every exponent; JAX takes the lowest six bits of it",
        applies: |case| {
            case.is(Rules::Jax, &["pow"])
                && case.our_dtype().is_some_and(DType::is_int)
                && case.differs_only_where(|at| !(0.0..64.0).contains(&at.y))
        },
    },
    Excuse {
        reason: "sections 7 and 13: integer pow stays in integers; Paddle goes through floats",
        applies: |case| {
            // Only in powers that a float does not hold exactly.
            case.is(Rules::Paddle, &["pow"])
                && matches!(case.our_dtype(), Some(DType::I32 | DType::I64))
                && case.differs_only_where(|at| at.x.abs().powf(at.y) >= 2f64.powi(31))
        },
    },
    Excuse {
        reason: "section 7: nextafter(x, y) is y where they are equal; NumPy's f16 keeps the sign of a zero x",
        applies: |case| {
            case.is(Rules::NumPy, &["nextafter"])
                && case.our_dtype() == Some(DType::F16)
                && case.differs_only_where(|at| at.x == 0.0 && at.y == 0.0)
        },
    },
    Excuse {
        reason: "section 7: atan2 of integers is computed in f64 under Paddle's rules; Paddle itself computes in f32",
        applies: |case| {
            case.is(Rules::Paddle, &["atan2"])
                && case.categories() == [Category::Int; 2]
                && case.our_dtype() == Some(DType::F64)
                && case.differs_only_where(|at| at.is_close(1e-6))
        },
    },
    Excuse {
        reason: "section 7: logaddexp knows infinities; Paddle subtracts them, and takes the logarithm of nearly 1",
        applies: |case| {
            case.is(Rules::Paddle, &["logaddexp"])
                && case.differs_only_where(|at| at.x.is_infinite() || at.y.is_infinite())
        },
    },
    Excuse {
        reason: "section 7: logaddexp is computed in the promoted dtype; Paddle computes a part of it in that of x",
        applies: |case| {
            case.is(Rules::Paddle, &["logaddexp"])
                && case.has_tag("mixed")
                && case.our_dtype() == Some(DType::F64)
                && case.differs_only_where(|at| at.is_close(1e-6))
        },
    },
];
