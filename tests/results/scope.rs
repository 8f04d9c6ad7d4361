//! The rulebook of a scope reaches every method, operator and builder that names none, and no other thread.

use bitlane::{BinaryOp, DType, Device, ErrorKind, ReduceOp, Rules, ScanOp, Tensor, UnaryOp};
use bitlane::{binary, clip, loss, reduce, scan, select, unary};

use crate::devices::devices;

fn tensors(device: &Device) -> [Tensor; 3] {
    let ones = |dtype| Tensor::ones([3], dtype, device).unwrap();
    [ones(DType::I32), ones(DType::F32), ones(DType::Bool)]
}

/// Calls a function with the dtype of each kind of call on `i32` and `f32`, each computed in a form that names no rulebook.
fn for_each_mixed(device: &Device, mut check: impl FnMut(&str, bitlane::Result<DType>)) {
    let [i, f, mask] = tensors(device);
    macro_rules! each {
        ($($form:literal: $result:expr;)*) => {
            $(check($form, $result.map(|tensor| tensor.dtype()));)*
        };
    }
    each! {
        "operator": &i + &f;
        "method": i.multiply(&f);
        "binary": binary(BinaryOp::Maximum, &i, &f).run();
        "expression": (i.expr() - &f).run();
        "expression of a method": i.expr().minimum(&f).run();
        "select": select(&mask, &i, &f);
        "select in an expression": mask.expr().select(&i, &f).run();
        "clip, the tensor": f.clip(&i, &i);
        "clip, a bound": i.clip(&f, 2);
        "clip, the other bound": i.clip(0, &f);
        "clip, a function": clip(&i, &f, &f);
        "clip in an expression": i.expr().clip(&f, &f).run();
        "fma, the factor": i.fma(&f, 1);
        "fma, the term": f.fma(1, &i);
        "fma in an expression": i.expr().fma(&f, 1).run();
        "number on the left": (2 - i.expr() + &f).run();
        "cumulative sum of a sum": (&i + &f).and_then(|sum| sum.cumulative_sum(0));
    }
}

#[test]
fn every_kind_of_call_promotes_by_the_rulebook_of_the_scope() {
    for device in devices() {
        for (rules, expected) in
            [(Rules::NumPy, DType::F64), (Rules::Torch, DType::F32), (Rules::Jax, DType::F32)]
        {
            let mut forms = 0;
            rules.scope(|| {
                for_each_mixed(&device, |form, dtype| {
                    assert_eq!(dtype.unwrap(), expected, "{form} under {rules} rules on {device}");
                    forms += 1;
                });
            });
            assert_eq!(forms, 17);
        }
        // Outside, and under the default, Paddle's rules mix no integers with floats.
        for_each_mixed(&device, |form, dtype| {
            assert_eq!(dtype.unwrap_err().kind(), ErrorKind::Promotion, "{form} on {device}");
        });
        Rules::NumPy.scope(|| {
            Rules::Paddle.scope(|| {
                for_each_mixed(&device, |form, dtype| assert!(dtype.is_err(), "{form}"));
            });
        });
    }
}

#[test]
fn in_place_forms_and_functions_of_one_operand_do_too() {
    for device in devices() {
        let [i, f, _] = tensors(&device);
        let mut own = f.copy().unwrap();
        assert_eq!(own.add_assign(&i).unwrap_err().kind(), ErrorKind::Promotion);
        Rules::Torch.scope(|| own.add_assign(&i)).unwrap();
        assert_eq!(own.to_vec::<f32>().unwrap(), [2.0; 3]);
        let dtypes = || {
            let long = unary(UnaryOp::Sqrt, &i).run().unwrap();
            let divided = (&i / &i).unwrap();
            [i.sqrt().unwrap(), long, i.expr().sqrt().run().unwrap(), divided].map(|x| x.dtype())
        };
        assert_eq!(Rules::NumPy.scope(dtypes), [DType::F64; 4]);
        assert_eq!(dtypes(), [DType::F32; 4]);
    }
}

#[test]
fn what_is_named_or_has_one_rulebook_is_not_affected() {
    for device in devices() {
        let [i, f, _] = tensors(&device);
        Rules::NumPy.scope(|| {
            let named = binary(BinaryOp::Add, &i, &f).rules(Rules::Torch).run().unwrap();
            assert_eq!(named.dtype(), DType::F32);
            let named = (i.expr() + &f).rules(Rules::Jax).run().unwrap();
            assert_eq!(named.dtype(), DType::F32);
            // Losses are always Paddle's.
            let loss = loss::l1(&i, &f, loss::Reduction::Sum);
            assert_eq!(loss.unwrap_err().kind(), ErrorKind::Promotion);
            // Reductions and scans have one dtype under every rulebook.
            let sum = reduce(ReduceOp::Sum, &i, ..).run().unwrap();
            let sums = scan(ScanOp::Sum, &i, 0).run().unwrap();
            assert_eq!([sum.dtype(), sums.dtype()], [DType::I64; 2]);
            let elsewhere = std::thread::scope(|scope| {
                scope.spawn(|| i.clip(&f, &f).map(|x| x.dtype())).join().unwrap()
            });
            assert_eq!(elsewhere.unwrap_err().kind(), ErrorKind::Promotion);
        });
        // An expression keeps the rulebook with which it was built.
        let expr = Rules::NumPy.scope(|| i.expr() + &f);
        assert_eq!(expr.run().unwrap().dtype(), DType::F64);
    }
}
