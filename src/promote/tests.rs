//! Tests of the dtype of the computation, which `tests/results/promotion`, a replay of the libraries' answers, cannot see.

use super::*;

fn kinds() -> Vec<Kind> {
    let tensors = DType::ALL.iter().flat_map(|&dtype| [Kind::Tensor(dtype), Kind::ZeroD(dtype)]);
    let scalars = [Category::Bool, Category::Int, Category::Float, Category::Complex];
    tensors.chain(scalars.map(Kind::Scalar)).collect()
}

fn for_each_question(mut ask: impl FnMut(Op, Kind, Kind, Rules)) {
    for &op in Op::ALL {
        for &rules in Rules::ALL {
            for lhs in kinds() {
                for rhs in kinds() {
                    ask(op, lhs, rhs, rules);
                }
            }
        }
    }
}

#[test]
fn computes_within_the_domain_and_answers_within_reason() {
    for_each_question(|op, lhs, rhs, rules| {
        let asked = format!("{op} of {lhs} and {rhs} under {rules} rules");
        match resolve(op, lhs, rhs, rules) {
            Ok(Resolved { compute: Compute::In(dtype), result }) => {
                assert!(op.domain().contains(dtype), "{asked} computes in {dtype}");
                let huber = rules == Rules::Torch && op.family() == Family::HuberLoss;
                let expected = if op.family().is_predicate() { DType::Bool } else { dtype };
                assert!(result == expected || huber && result.is_float(), "{asked}: {result}");
            }
            Ok(Resolved { compute: Compute::ExactIntegers, result }) => {
                assert!(op.family().is_comparison(), "{asked}");
                assert_eq!(result, DType::Bool, "{asked}");
            }
            Err(error) => {
                let line = error.to_string();
                assert!(line.starts_with(op.name()) && !line.contains('\n'), "{asked}: {line}");
            }
        }
    });
}

#[test]
fn compares_integers_exactly_under_every_rulebook() {
    let integer = |kind| match kind {
        Kind::Tensor(dtype) | Kind::ZeroD(dtype) if dtype.is_int() => Some(dtype),
        _ => None,
    };
    let holds = |wide: DType, narrow: DType| {
        let spare = u32::from(wide.is_signed_int() && narrow.is_unsigned_int());
        wide.is_int()
            && wide.bits() >= narrow.bits() + spare
            && (wide.is_signed_int() || narrow.is_unsigned_int())
    };
    for_each_question(|op, lhs, rhs, rules| {
        let (Some(l), Some(r)) = (integer(lhs), integer(rhs)) else { return };
        let Ok(resolved) = resolve(op, lhs, rhs, rules) else { return };
        if op.family().is_comparison() {
            match resolved.compute {
                Compute::In(dtype) => assert!(holds(dtype, l) && holds(dtype, r), "{lhs} {rhs}"),
                Compute::ExactIntegers => {
                    assert!(l.bits().max(r.bits()) == 64 && l.is_signed_int() != r.is_signed_int());
                }
            }
        }
    });
}

#[test]
fn a_weak_operand_never_moves_an_equal_or_higher_category() {
    for_each_question(|op, lhs, rhs, rules| {
        // ml_dtypes does not handle Python's float, so NumPy widens bf16.
        let numpy_bf16 = (lhs, rules) == (Kind::Tensor(DType::BF16), Rules::NumPy);
        if let (Kind::Tensor(dtype), Kind::Scalar(category)) = (lhs, rhs)
            && op.family() == Family::Arithmetic
            && category <= dtype.category()
            && !(numpy_bf16 && category == Category::Float)
            && op.domain().contains(dtype)
        {
            let resolved = resolve(op, lhs, rhs, rules).map(|resolved| resolved.result);
            assert_eq!(resolved.ok(), Some(dtype), "{op} of {lhs} and {rhs} under {rules} rules");
        }
    });
}
