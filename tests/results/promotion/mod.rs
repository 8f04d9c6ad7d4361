//! Compares promotion with recorded answers of the real libraries, cell by cell, and with docs/semantics.md.
//!
//! The crate must give the answer in every cell of `goldens/promotion.jsonl`, unless it does not follow from the
//! library's rules (`NO_ANSWERS`) or the crate deviates on purpose (`DEVIATIONS`).

mod excuses;
mod goldens;

use bitlane::promote::{Kind, Op, result_type};
use bitlane::{BinaryOp, Category, DType, ErrorKind, Rules, Scalar};

use excuses::{DEVIATIONS, Excuse, NO_ANSWERS};
use goldens::{Goldens, Matrix, named};

#[test]
fn every_answer_of_the_libraries_is_given_or_departed_from_on_purpose() {
    let goldens = Goldens::read();
    assert_eq!(goldens.0.len(), 906);
    let mut matched = 0;
    let mut excused = [vec![0; NO_ANSWERS.len()], vec![0; DEVIATIONS.len()]];
    let mut wrong = Vec::new();
    for cell in goldens.0.iter().flat_map(Matrix::cells) {
        let excuse = |list: &[Excuse]| list.iter().position(|e| (e.applies)(&cell, &goldens));
        if cell.agrees() {
            matched += 1;
        } else if let Some(at) = excuse(NO_ANSWERS) {
            excused[0][at] += 1;
        } else if let Some(at) = excuse(DEVIATIONS) {
            excused[1][at] += 1;
        } else {
            wrong.push(cell.to_string());
        }
    }
    println!("{matched} cells matched");
    for (heading, list, counts) in [
        ("without an answer of the rules", NO_ANSWERS, &excused[0]),
        ("departed from on purpose", DEVIATIONS, &excused[1]),
    ] {
        println!("{} cells {heading}:", counts.iter().sum::<usize>());
        for (excuse, count) in list.iter().zip(counts) {
            println!("{count:6}  {}", excuse.reason);
            assert!(*count > 0, "no cell needs this excuse, so strike it: {}", excuse.reason);
        }
    }
    assert!(wrong.is_empty(), "{} cells are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn kinds() -> Vec<Kind> {
    let tensors = DType::ALL.iter().flat_map(|&d| [Kind::tensor(d), Kind::zero_d(d)]);
    let scalars = [Category::Bool, Category::Int, Category::Float, Category::Complex];
    tensors.chain(scalars.map(Kind::Scalar)).collect()
}

/// Returns the dtype or the kind of error.
fn answer(op: Op, lhs: Kind, rhs: Kind, rules: Rules) -> Result<DType, ErrorKind> {
    result_type(op, lhs, rhs, rules).map_err(|error| error.kind())
}

#[test]
fn paddle_is_symmetric_in_all_cells_of_two_tensors() {
    for &op in Op::ALL {
        for &l in DType::ALL {
            for &r in DType::ALL {
                let (l, r) = (Kind::tensor(l), Kind::tensor(r));
                let [there, back] = [(l, r), (r, l)].map(|(l, r)| answer(op, l, r, Rules::Paddle));
                assert_eq!(there, back, "{op} of {l} and {r}");
            }
        }
    }
}

#[test]
fn commutative_operations_promote_commutatively() {
    let ops = [BinaryOp::Add, BinaryOp::Multiply, BinaryOp::Subtract, BinaryOp::Divide];
    let others = [BinaryOp::Equal, BinaryOp::BitwiseXor, BinaryOp::LogicalAnd, BinaryOp::Maximum];
    for op in ops.into_iter().chain(others).map(Op::from).chain([named("select")]) {
        for &rules in Rules::ALL {
            for l in kinds() {
                for r in kinds() {
                    let [there, back] = [(l, r), (r, l)].map(|(l, r)| answer(op, l, r, rules));
                    assert_eq!(there, back, "{op} of {l} and {r} under {rules} rules");
                }
            }
        }
    }
}

#[test]
fn paddle_rules_are_those_of_the_specification() {
    use DType::*;
    use ErrorKind::{InvalidArgument, Promotion, UnsupportedDType};
    let (t, z) = (Kind::tensor, Kind::zero_d);
    let [bool, int, float, complex] =
        [Category::Bool, Category::Int, Category::Float, Category::Complex].map(Kind::Scalar);
    for (op, lhs, rhs, expected) in [
        // Two tensors.
        ("add", t(F16), t(BF16), Ok(F32)),
        ("add", t(C64), t(F64), Ok(C128)),
        ("add", t(C64), t(I64), Ok(C64)),
        ("add", t(U16), t(U16), Ok(U16)),
        ("add", t(U16), t(I32), Err(Promotion)),
        ("subtract", t(Bool), t(Bool), Err(UnsupportedDType)),
        ("bitwise_and", t(I32), t(I64), Err(Promotion)),
        ("bitwise_and", t(F32), t(F32), Err(UnsupportedDType)),
        ("bitwise_left_shift", t(I8), z(I64), Err(Promotion)),
        ("bitwise_right_shift_logical", t(U64), t(U64), Ok(U64)),
        ("atan2", t(U8), t(U8), Ok(F64)),
        ("logaddexp", t(I64), t(I64), Ok(F32)),
        ("nextafter", t(I64), t(I64), Err(UnsupportedDType)),
        // A tensor and a number.
        ("add", t(Bool), int, Ok(I64)),
        ("add", int, t(U8), Ok(U8)),
        ("multiply", t(I8), float, Ok(F32)),
        ("multiply", t(F64), complex, Ok(C128)),
        ("multiply", z(BF16), complex, Ok(C64)),
        ("divide", t(Bool), bool, Ok(F32)),
        ("divide", t(F16), int, Ok(F16)),
        ("equal", t(I32), float, Ok(Bool)),
        ("bitwise_or", t(I32), float, Err(UnsupportedDType)),
        ("bitwise_left_shift", t(Bool), int, Ok(I64)),
        ("maximum", t(F32), int, Ok(F32)),
        ("select", t(U8), int, Ok(U8)),
        ("copysign", t(I32), float, Ok(I32)),
        ("copysign", t(F32), complex, Err(UnsupportedDType)),
        ("copysign", float, t(I32), Ok(F32)),
        ("mse_loss", t(F32), float, Err(InvalidArgument)),
        ("add", int, float, Err(InvalidArgument)),
        // 0-d tensors.
        ("add", t(I32), z(BF16), Ok(BF16)),
        ("add", z(U8), t(Bool), Ok(U8)),
        ("add", t(I8), z(I64), Ok(I8)),
        ("add", t(U64), z(I8), Ok(U64)),
        ("multiply", t(C64), z(F64), Ok(C128)),
        ("multiply", z(C64), t(F64), Ok(C128)),
        ("multiply", t(C64), z(C128), Ok(C64)),
        ("divide", t(I32), z(F16), Ok(F16)),
        ("mse_loss", t(F32), z(F64), Ok(F32)),
        ("l1_loss", t(F32), z(F64), Ok(F64)),
        ("maximum", t(F32), z(F64), Ok(F64)),
        ("logical_and", t(I32), z(F64), Err(Promotion)),
        ("less_than", t(I32), z(F64), Ok(Bool)),
        ("add", z(U8), z(I8), Ok(I16)),
        ("add", z(U64), z(I8), Err(Promotion)),
        ("add", z(Bool), z(F16), Ok(F16)),
        ("select", z(U8), z(I8), Err(Promotion)),
    ] {
        assert_eq!(answer(named(op), lhs, rhs, Rules::Paddle), expected, "{op} of {lhs} and {rhs}");
    }
}

#[test]
fn names_are_parsed_and_printed() {
    for &op in Op::ALL {
        assert_eq!(named(op.name()), op);
        assert_eq!(op.to_string(), op.name());
    }
    for &op in BinaryOp::ALL {
        assert_eq!(named(op.name()), Op::from(op));
    }
    assert_eq!(named("where"), named("select"));
    assert_eq!(named("mod"), named("remainder"));
    assert!("op.add".parse::<Op>().is_err());
    for &rules in Rules::ALL {
        assert_eq!(rules.to_string().to_lowercase().parse::<Rules>().unwrap(), rules);
    }
    let [lhs, rhs] = [Kind::tensor(DType::I8), Kind::zero_d(DType::U16)];
    let error = result_type(BinaryOp::BitwiseAnd, lhs, rhs, Rules::Paddle).unwrap_err();
    assert_eq!(
        error.to_string(),
        "bitwise_and: Paddle rules give i8 tensor and 0-d u16 tensor no common dtype; \
         `cast` one of them, or ask for other rules with `.rules(Rules::Torch)`"
    );
    let scalar = Kind::scalar(&Scalar::UInt(u64::MAX));
    assert_eq!(scalar.to_string(), "int scalar");
    let error = result_type(BinaryOp::Add, scalar, scalar, Rules::Jax).unwrap_err();
    assert_eq!(error.to_string(), "add: at least one operand must be a tensor");
}
