//! Where the crate's result differs from a library's, and why it may.

mod arithmetic;
mod elementary;
mod float8;
mod others;
mod reductions;
mod transcendental;

use bitlane::{Category, DType, ErrorKind, Rules, Scalar};

use super::record::{Content, Operand};
use super::replay::Case;

/// A set of recorded answers from which the crate differs, and the reason.
#[derive(Clone, Copy)]
pub struct Excuse {
    pub reason: &'static str,
    pub applies: fn(&Case) -> bool,
}

/// Returns the answers that say nothing about a library's rules, because its Python wrapper or a missing kernel ended
/// the call (docs/semantics.md, section 6). The crate need not follow them.
pub fn no_answers() -> Vec<Excuse> {
    [NO_ANSWERS, arithmetic::NO_ANSWERS, elementary::NO_ANSWERS].concat()
}

/// Returns the answers from which the crate deviates on purpose, each with the section of docs/semantics.md that says
/// so.
pub fn deviations() -> Vec<Excuse> {
    [
        DEVIATIONS,
        arithmetic::DEVIATIONS,
        elementary::DEVIATIONS,
        float8::DEVIATIONS,
        others::DEVIATIONS,
        reductions::DEVIATIONS,
        transcendental::DEVIATIONS,
    ]
    .concat()
}

// Excuses for shifts, copysign, atleast_Nd and the first binary operations.

const NO_ANSWERS: &[Excuse] = &[
    Excuse {
        reason: "Paddle looks for a kernel for x before it compares the dtypes; refused either way",
        applies: |case| {
            case.rules == Rules::Paddle
                && case.is_shift()
                && case.has_tag("mixed")
                && case.is_refused("unsupported", "(NotFound) The kernel with key (CPU")
                && case.we_refuse_as(ErrorKind::Promotion)
        },
    },
    Excuse {
        reason: "Torch asks for complex before it promotes; refused either way",
        applies: |case| {
            case.is(Rules::Torch, &["maximum"])
                && case.is_refused("unsupported", "not implemented for complex")
                && case.we_refuse_as(ErrorKind::Promotion)
        },
    },
];

const DEVIATIONS: &[Excuse] = &[
    Excuse {
        reason: "sections 3 and 13: an amount outside the dtype's range is out of range; Paddle, Torch and JAX wrap it",
        applies: |case| {
            case.is_shift()
                && case.rules != Rules::NumPy
                && case.does_not_fit(case.y(), case.x())
                && case.their_dtype() == case.our_dtype()
        },
    },
    Excuse {
        reason: "section 3: an amount outside the dtype's range is out of range; NumPy refuses it",
        applies: |case| {
            case.is_shift()
                && case.rules == Rules::NumPy
                && case.is_refused("overflow", "out of bounds")
                && case.does_not_fit(case.y(), case.x())
                && case.ours.is_ok()
        },
    },
    Excuse {
        reason: "sections 3 and 13: a left number must fit; Paddle, Torch and JAX wrap it",
        applies: |case| {
            case.is_shift()
                && case.rules != Rules::NumPy
                && case.does_not_fit(case.x(), case.y())
                && case.theirs().is_some()
                && case.we_refuse_as(ErrorKind::ScalarOverflow)
        },
    },
    Excuse {
        reason: "section 3: zeros enter from the left of unsigned integers; lax.shift_right_arithmetic fills with the highest bit",
        applies: |case| {
            case.is(Rules::Jax, &["bitwise_right_shift"])
                && case.form() == "lax"
                && case.record.params["is_arithmetic"] == true
                && case.x().dtype().is_some_and(DType::is_unsigned_int)
                && case.ours.is_ok()
        },
    },
    Excuse {
        reason: "sections 3 and 7: shifts are for integers, under every rulebook; NumPy and JAX shift bools as integers",
        applies: |case| {
            case.is_shift()
                && case.categories() == [Category::Bool; 2]
                && case.their_dtype().is_some_and(DType::is_int)
                && case.we_refuse_as(ErrorKind::UnsupportedDType)
        },
    },
    Excuse {
        reason: "section 10: a destination takes every result of its category; NumPy wants the same sign too",
        applies: |case| {
            case.rules == Rules::NumPy
                && case.form() == "inplace"
                && case.is_refused("inplace_dtype", "")
                && case.categories() == [Category::Int; 2]
                && case.x().dtype() == case.our_dtype()
        },
    },
    Excuse {
        reason: "sections 10 and 13: a destination keeps its dtype; Paddle changes it",
        applies: |case| {
            case.rules == Rules::Paddle
                && case.form() == "inplace"
                && case.their_dtype() != case.x().dtype()
                && case.our_dtype() == case.x().dtype()
        },
    },
    Excuse {
        reason: "sections 4 and 13: a number's sign counts before it is converted; Paddle loses it in an integer dtype",
        applies: |case| {
            let vanishes = |y| matches!(y, Scalar::Float(y) if y.is_sign_negative() && y > -1.0);
            case.is(Rules::Paddle, &["copysign"])
                && case.x().dtype().is_some_and(DType::is_signed_int)
                && case.y().scalar().is_some_and(vanishes)
                && case.their_dtype() == case.our_dtype()
        },
    },
    Excuse {
        reason: "sections 4 and 13: the sign of a NaN counts; Torch and Paddle lose it in a half float",
        applies: |case| {
            let is_nan = |y| matches!(y, Scalar::Float(y) if y.is_nan() && y.is_sign_negative());
            matches!(case.rules, Rules::Torch | Rules::Paddle)
                && case.record.op == "copysign"
                && case.has_dtype(&[DType::F16, DType::BF16])
                && case.y().scalar().is_some_and(is_nan)
                && case.their_dtype() == case.our_dtype()
        },
    },
    Excuse {
        reason: "sections 4 and 13: copysign of integers stays in integers; Paddle converts i64 to f64 and back",
        applies: |case| {
            case.is(Rules::Paddle, &["copysign"])
                && case.our_dtype() == Some(DType::I64)
                && case.differs_only_where(|at| at.x.abs() > 2f64.powi(53))
        },
    },
    Excuse {
        reason: "section 4: copysign keeps the bits of a NaN; JAX computes bf16 in f32",
        applies: |case| {
            case.is(Rules::Jax, &["copysign"])
                && case.our_dtype() == Some(DType::BF16)
                && case.differs_only_where(|at| at.theirs.is_nan() && at.ours.is_nan())
        },
    },
    Excuse {
        reason: "sections 4 and 13: copysign_grad is ±g at ±inf and NaN, +0 at ±0; Torch and Paddle say NaN and ±0",
        applies: |case| {
            matches!(case.rules, Rules::Torch | Rules::Paddle)
                && case.differs_only_where_x(|x| !x.is_finite() || x == 0.0)
        },
    },
    Excuse {
        reason: "sections 4 and 13: copysign_grad is +0 at ±0, and a NaN's sign bit counts; JAX says ±g at both",
        applies: |case| {
            case.rules == Rules::Jax && case.differs_only_where_x(|x| x == 0.0 || x.is_nan())
        },
    },
    Excuse {
        reason: "sections 6 and 7: complex numbers have no order, under every rulebook",
        applies: |case| {
            ["less_than", "maximum"].contains(&&*case.record.op)
                && case.categories().contains(&Category::Complex)
                && case.theirs().is_some()
                && case.we_refuse_as(ErrorKind::UnsupportedDType)
        },
    },
    Excuse {
        reason: "sections 7 and 13: 0 times or divided by a negative number is −0; JAX's bool becomes +0, and Paddle adds 0",
        applies: |case| {
            let bool_in_jax =
                case.is(Rules::Jax, &["multiply", "divide"]) && case.has_dtype(&[DType::Bool]);
            (bool_in_jax || case.is(Rules::Paddle, &["multiply"]))
                && case.their_dtype() == case.our_dtype()
                && case.our_dtype().is_some_and(DType::is_float)
                && case.differs_only_in_the_sign_of_zero()
        },
    },
    Excuse {
        reason: "section 13: numbers are equal if they are; Paddle's equal tolerates differences near the smallest normal number",
        applies: |case| {
            case.is(Rules::Paddle, &["equal"])
                && case.has_tag("special")
                && case.differs_only_where(|at| (at.x - at.y).abs() < 1e-37)
        },
    },
    Excuse {
        reason: "sections 5 and 13: nothing is ever stacked; NumPy stacks a tuple, and refuses one of different shapes",
        applies: |case| {
            let stacked = case.theirs().is_some() || case.is_refused("shape", "inhomogeneous");
            case.is_atleast() && case.rules == Rules::NumPy && case.call() != "args" && stacked
        },
    },
    Excuse {
        reason: "section 5: nothing is ever stacked; Paddle makes one tensor of a tuple of numbers",
        applies: |case| {
            case.is_atleast()
                && case.rules == Rules::Paddle
                && case.call() == "tuple"
                && case.record.operands.iter().all(|operand| operand.scalar().is_some())
        },
    },
    Excuse {
        reason: "section 5: a float alone is f32, a complex number c64; NumPy and JAX say f64 and c128",
        applies: |case| {
            case.is_atleast()
                && matches!(case.rules, Rules::NumPy | Rules::Jax)
                && case.call() == "args"
                && case.has_number()
                && case.theirs().is_some()
        },
    },
];

/// Predicates that only excuses use.
impl Case<'_> {
    /// Returns whether the library refused with this kind of error and these words.
    fn is_refused(&self, kind: &str, words: &str) -> bool {
        matches!(&self.answer.content,
            Content::Error { kind: own, text } if own == kind && text.contains(words))
    }

    fn is_atleast(&self) -> bool {
        self.record.op.starts_with("atleast_")
    }

    fn call(&self) -> &str {
        self.record.params["call"].as_str().unwrap()
    }

    fn has_number(&self) -> bool {
        self.record.operands.iter().any(|operand| operand.scalar().is_some())
    }

    /// Returns whether an operand is an integer outside the range of the other's dtype.
    fn does_not_fit(&self, number: &Operand, tensor: &Operand) -> bool {
        let number = match number.scalar() {
            Some(Scalar::Int(value)) => i128::from(value),
            Some(Scalar::UInt(value)) => i128::from(value),
            _ => return false,
        };
        tensor.dtype().filter(|dtype| dtype.is_int()).is_some_and(|dtype| {
            let unsigned = dtype.is_unsigned_int();
            let low = if unsigned { 0 } else { -(1i128 << (dtype.bits() - 1)) };
            !(low..low + (1i128 << dtype.bits())).contains(&number)
        })
    }

    /// Returns whether the gradients with respect to x differ, and only in elements where `such` holds for x.
    fn differs_only_where_x(&self, such: fn(f64) -> bool) -> bool {
        let differences = self.differences();
        self.record.op == "copysign_grad"
            && !differences.is_empty()
            && differences.iter().all(|at| {
                let Operand::Tensor(x) = self.x() else { return false };
                at.tensor == 0 && such(x.float(at.index))
            })
    }

    fn differs_only_in_the_sign_of_zero(&self) -> bool {
        let differences = self.differences();
        let both = self.theirs().zip(self.ours.as_ref().ok().map(|ours| &ours.tensors[0]));
        both.is_some_and(|(theirs, ours)| {
            let zero = |index| theirs.float(index) == 0.0 && ours.float(index) == 0.0;
            !differences.is_empty() && differences.iter().all(|at| zero(at.index))
        })
    }
}
