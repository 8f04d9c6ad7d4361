//! Excuses for functions of one operand that are not transcendental, and for clip.

use bitlane::{Category, DType, ErrorKind, Rules};

use super::Excuse;
use crate::goldens::replay::Case;

pub const NO_ANSWERS: &[Excuse] = &[Excuse {
    reason: "NumPy has no loop of clip for the extension type bf16, and takes the one of f32",
    applies: |case| {
        case.is(Rules::NumPy, &["clip"])
            && case.x().dtype() == Some(DType::BF16)
            && case.their_dtype() == Some(DType::F32)
            && case.our_dtype() == Some(DType::BF16)
    },
}];

pub const DEVIATIONS: &[Excuse] = &[
    Excuse {
        reason: "sections 7 and 13: only complex numbers have parts; NumPy, JAX, Torch and Paddle give those of real ones",
        applies: |case| {
            case.is_one_of(&["real", "imag", "conj"])
                && case.theirs().is_some()
                && case.we_refuse_as(ErrorKind::UnsupportedDType)
        },
    },
    Excuse {
        reason: "sections 7 and 13: sign, floor, ceil, trunc, round and square refuse bool, and all of these but square complex numbers",
        applies: |case| {
            let category = case.x().dtype().map(DType::category);
            let refused = match &*case.record.op {
                "sign" | "floor" | "ceil" | "trunc" | "round" => {
                    matches!(category, Some(Category::Bool | Category::Complex))
                }
                "square" => category == Some(Category::Bool),
                _ => false,
            };
            refused && case.theirs().is_some() && case.we_refuse_as(ErrorKind::UnsupportedDType)
        },
    },
    Excuse {
        reason: "sections 7 and 13: square roots of complex numbers, and their limits, are refused",
        applies: |case| {
            case.is_one_of(&["sqrt", "clip"])
                && case.x().dtype().is_some_and(DType::is_complex)
                && case.theirs().is_some()
                && case.we_refuse_as(ErrorKind::UnsupportedDType)
        },
    },
    Excuse {
        reason: "section 7: bits are those of integers; NumPy swaps the bytes of every dtype and counts the bits of bools",
        applies: |case| {
            case.is(Rules::NumPy, &["swap_bytes", "count_ones"])
                && case.x().dtype().is_some_and(|dtype| !dtype.is_int())
                && case.theirs().is_some()
                && case.we_refuse_as(ErrorKind::UnsupportedDType)
        },
    },
    Excuse {
        reason: "section 13: count_ones counts the bits of x, in its dtype; NumPy counts those of |x| and gives u8",
        applies: |case| {
            case.is(Rules::NumPy, &["count_ones"])
                && case.their_dtype() == Some(DType::U8)
                && case.our_dtype() == case.x().dtype()
        },
    },
    Excuse {
        reason: "section 13: reciprocal is a float; NumPy divides integers as integers",
        applies: |case| {
            case.is(Rules::NumPy, &["reciprocal"])
                && case.their_dtype().is_some_and(|dtype| dtype.category() < Category::Float)
                && case.our_dtype().is_some_and(DType::is_float)
        },
    },
    Excuse {
        reason: "section 13: the sign of NaN is NaN; Torch says 0",
        applies: |case| {
            case.is(Rules::Torch, &["sign"])
                && case.differs_only_where(|at| at.x.is_nan() && at.theirs == 0.0)
        },
    },
    Excuse {
        reason: "section 13: the sign of −0 is +0; in JAX, and for bf16 in NumPy, it is −0 (and see subnormals)",
        applies: |case| {
            matches!(case.rules, Rules::Jax | Rules::NumPy)
                && case.is_one_of(&["sign"])
                && case.differs_only_where(|at| {
                    at.is_zero() || (case.rules == Rules::Jax && at.has_subnormal())
                })
        },
    },
    Excuse {
        reason: "section 13: subnormals are numbers; JAX takes them for zeros",
        applies: |case| {
            case.rules == Rules::Jax
                && case.is_one_of(&["floor", "ceil", "sqrt", "reciprocal", "clip"])
                && case.differs_only_where(|at| at.has_subnormal())
        },
    },
    Excuse {
        reason: "section 7: the square root of −0 is −0, that of +∞ is +∞, and subnormals have one; Paddle's approximation in f32 loses them",
        applies: |case| {
            case.is(Rules::Paddle, &["sqrt"])
                && case.our_dtype() == Some(DType::F32)
                && case.differs_only_where(|at| {
                    at.x == 0.0 || at.x == f64::INFINITY || at.has_subnormal()
                })
        },
    },
    Excuse {
        reason: "section 7: trunc leaves integers as they are; Paddle converts i64 to f64 and back",
        applies: |case| {
            case.is(Rules::Paddle, &["trunc"])
                && case.our_dtype() == Some(DType::I64)
                && case.differs_only_where(|at| at.x.abs() > 2f64.powi(53))
        },
    },
    Excuse {
        reason: "section 7: a complex product is four products, a difference and a sum, each rounded; the libraries fuse some of them",
        applies: |case| {
            case.is_one_of(&["square"])
                && case.our_dtype().is_some_and(DType::is_complex)
                && case.their_dtype() == case.our_dtype()
                && (case.has_tag("random") || case.has_tag("view"))
        },
    },
    Excuse {
        reason: "section 7: a complex reciprocal is 1 divided by Smith's algorithm, which the libraries round otherwise, with other zeros and infinities",
        applies: |case| {
            case.is_one_of(&["reciprocal"])
                && case.our_dtype().is_some_and(DType::is_complex)
                && case.their_dtype() == case.our_dtype()
        },
    },
];

impl Case<'_> {
    fn is_one_of(&self, names: &[&str]) -> bool {
        names.contains(&&*self.record.op)
    }
}
