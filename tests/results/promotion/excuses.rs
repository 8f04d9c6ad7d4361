//! Where the crate's answer differs from a library's, and why it may.

use bitlane::{Category, DType, ErrorKind, Rules};

use super::goldens::{Cell, Goldens, category};

/// A set of cells from which the crate differs, and the reason.
pub struct Excuse {
    pub reason: &'static str,
    pub applies: fn(&Cell, &Goldens) -> bool,
}

/// Cells that say nothing about a library's rules, because its Python wrapper or a missing kernel ended the call
/// (docs/semantics.md, section 6: `!A` and `!U` are not refusals by the rule). The crate need not follow them.
pub const NO_ANSWERS: &[Excuse] = &[
    Excuse {
        reason: "the Python wrapper takes no numbers at all",
        applies: |cell, goldens| {
            matches!(cell.answer, "!A" | "!U") && cell.has_scalar() && !goldens.takes_scalars(cell)
        },
    },
    Excuse {
        reason: "no kernel for the common dtype, which is refused even with itself",
        applies: |cell, goldens| cell.answer == "!U" && goldens.lacks_kernel(cell),
    },
    Excuse {
        reason: "Torch has no logical kernel for complex32, the complex of a half float",
        applies: |cell, _| {
            cell.is(Rules::Torch, &["logical_and", "logical_or", "logical_xor"])
                && cell.answer == "!U"
                && cell.has_complex()
                && (cell.has("f16") || cell.has("bf16"))
        },
    },
    Excuse {
        reason: "Paddle's pow with a number has no bf16 kernel",
        applies: |cell, _| {
            cell.is(Rules::Paddle, &["pow"]) && cell.asks("!U", "TS") && cell.lhs == "bf16"
        },
    },
    Excuse {
        reason: "Paddle composes logaddexp and l1_loss of subtract, which has no kernel for half floats",
        applies: |cell, _| {
            cell.is(Rules::Paddle, &["logaddexp", "l1_loss"])
                && (cell.asks("!U", "TZ") || cell.asks("!U", "ZT"))
                && cell.categories() == [Category::Float; 2]
                && (cell.has("f16") || cell.has("bf16"))
        },
    },
    Excuse {
        reason: "Paddle's wrapper of poisson_nll_loss takes no bf16 input",
        applies: |cell, _| {
            cell.is(Rules::Paddle, &["poisson_nll_loss"])
                && (cell.asks("!U", "TT") || cell.asks("!U", "ZZ"))
                && cell.lhs == "bf16"
                && category(cell.rhs) == Category::Float
        },
    },
    Excuse {
        reason: "Paddle's losses want equal shapes",
        applies: |cell, _| {
            let shapes_differ = matches!(cell.operands, "TZ" | "ZT");
            shapes_differ
                && (cell.is(Rules::Paddle, &["huber_loss", "smooth_l1_loss"])
                    && cell.answer == "!A"
                    || cell.is(Rules::Paddle, &["poisson_nll_loss"]) && cell.answer == "!S")
        },
    },
];

/// Cells in which the crate deviates from a library on purpose, each with the section of docs/semantics.md that says
/// so.
pub const DEVIATIONS: &[Excuse] = &[
    Excuse {
        reason: "sections 6 and 7: complex numbers have no order, under every rulebook",
        applies: |cell, _| {
            let ordering = ["less_than", "less_equal", "greater_than", "greater_equal"];
            cell.has_complex()
                && ordering.contains(&cell.op.name())
                && cell.answer == "bool"
                && cell.ours_is(ErrorKind::UnsupportedDType)
        },
    },
    Excuse {
        reason: "sections 6 and 7: min/max, pow, remainder, atan2 and logaddexp take no complex, under every rulebook",
        applies: |cell, _| {
            let ops =
                ["maximum", "minimum", "fmax", "fmin", "pow", "remainder", "atan2", "logaddexp"];
            cell.has_complex()
                && ops.contains(&cell.op.name())
                && cell.dtype().is_some_and(DType::is_complex)
                && cell.ours_is(ErrorKind::UnsupportedDType)
        },
    },
    Excuse {
        reason: "section 9: losses are for floats; Torch and Paddle take complex",
        applies: |cell, _| {
            cell.has_complex()
                && cell.op.name().ends_with("_loss")
                && cell.dtype().is_some()
                && cell.ours_is(ErrorKind::UnsupportedDType)
        },
    },
    Excuse {
        reason: "section 9: losses are for floats; Paddle's mse_loss takes integers",
        applies: |cell, _| {
            cell.is(Rules::Paddle, &["mse_loss"])
                && cell.dtype().is_some_and(DType::is_int)
                && cell.ours_is(ErrorKind::UnsupportedDType)
        },
    },
    Excuse {
        reason: "section 9: losses are for floats, and promote their operands; Paddle's poisson_nll_loss takes integers and bools without dimensions",
        applies: |cell, _| {
            cell.is(Rules::Paddle, &["poisson_nll_loss"])
                && cell.operands == "ZZ"
                && cell.categories().iter().any(|&category| category < Category::Float)
                && cell.dtype().is_some_and(DType::is_float)
                && cell.ours.is_err()
        },
    },
    Excuse {
        reason: "section 9: losses are for floats; Paddle refuses integers in poisson_nll_loss too, but later",
        applies: |cell, _| {
            cell.is(Rules::Paddle, &["poisson_nll_loss"])
                && cell.asks("!P", "TT")
                && cell.lhs == cell.rhs
                && cell.ours_is(ErrorKind::UnsupportedDType)
        },
    },
    Excuse {
        reason: "section 6: floor_divide, remainder and pow take no bool, under every rulebook",
        applies: |cell, _| {
            cell.categories() == [Category::Bool; 2]
                && ["floor_divide", "remainder", "pow"].contains(&cell.op.name())
                && cell.dtype().is_some()
                && cell.ours_is(ErrorKind::UnsupportedDType)
        },
    },
    Excuse {
        reason: "sections 3 and 7: shifts are for integers, under every rulebook; NumPy and JAX shift bools as integers",
        applies: |cell, _| {
            cell.categories() == [Category::Bool; 2]
                && cell.op.name().ends_with("_shift")
                && cell.dtype().is_some_and(DType::is_int)
                && cell.ours_is(ErrorKind::UnsupportedDType)
        },
    },
    Excuse {
        reason: "section 7: subtract refuses bool only as the dtype of the result; Torch refuses a bool operand",
        applies: |cell, _| {
            let is_bool = cell.categories().map(|category| category == Category::Bool);
            // l1_loss subtracts its operands; poisson_nll_loss subtracts the bool product of two bools.
            let subtracts_bool = cell.is(Rules::Torch, &["subtract", "l1_loss"])
                && is_bool != [false; 2]
                || cell.is(Rules::Torch, &["poisson_nll_loss"]) && is_bool == [true; 2];
            subtracts_bool && cell.answer == "!U"
        },
    },
    Excuse {
        reason: "sections 6 and 13: division is never below float; Paddle gives bool for two bools",
        applies: |cell, _| {
            cell.is(Rules::Paddle, &["divide"])
                && cell.categories() == [Category::Bool; 2]
                && cell.answer == "bool"
                && cell.ours_is_dtype(DType::F32)
        },
    },
    Excuse {
        reason: "sections 6 and 13: a 0-d operand and a number are weak in floor_divide too; Paddle lets them change the dtype",
        applies: |cell, _| {
            cell.is(Rules::Paddle, &["floor_divide"])
                && matches!(cell.operands, "TZ" | "ZT" | "TS")
                && cell.categories()[0] == cell.categories()[1]
                && cell.ours_is_dtype(cell.tensor_dtype())
        },
    },
    Excuse {
        reason: "sections 6 and 13: a number of higher category decides; Paddle's pow and remainder keep the tensor's dtype",
        applies: |cell, _| {
            let kept = cell.answer == cell.lhs || cell.answer == "!U";
            ["pow", "remainder"].contains(&cell.golden_op)
                && cell.rules == Rules::Paddle
                && cell.operands == "TS"
                && cell.categories()[0] < cell.categories()[1]
                && kept
                && cell.ours.is_ok()
        },
    },
    Excuse {
        reason: "sections 6 and 13: a number in select is weak; Paddle's where takes it as a tensor of i64 or f32",
        applies: |cell, _| {
            cell.is(Rules::Paddle, &["select"])
                && cell.has_scalar()
                && !cell.has_complex()
                && cell.ours.is_ok()
        },
    },
    Excuse {
        reason: "sections 6 and 7: bool with an integer is i64 in bitwise operations and shifts; Paddle makes the number a bool",
        applies: |cell, _| {
            cell.is(Rules::Paddle, &["bitwise_and", "bitwise_left_shift"])
                && cell.has("bool")
                && cell.has("int")
                && matches!(cell.answer, "bool" | "!U")
                && cell.ours_is_dtype(DType::I64)
        },
    },
    Excuse {
        reason: "section 6: of the losses only mse_loss takes a 0-d operand weakly; Paddle's l1_loss does too",
        applies: |cell, _| {
            cell.is(Rules::Paddle, &["l1_loss"])
                && cell.operands.contains('Z')
                && !cell.has_complex()
                && cell.dtype().is_some_and(DType::is_float)
                && (cell.ours_is(ErrorKind::Promotion) || cell.ours.is_ok())
        },
    },
    Excuse {
        reason: "sections 6 and 13: a float of 8 bits mixes with its own dtype and numbers, which it converts; NumPy with ml_dtypes widens",
        applies: |cell, _| {
            cell.rules == Rules::NumPy
                && (cell.has("f8e4m3fn") || cell.has("f8e5m2"))
                && cell.dtype().is_some()
                && (cell.ours_is(ErrorKind::Promotion) || cell.has("float"))
        },
    },
];
