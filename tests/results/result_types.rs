//! `result_type` predicts the operations: for every operation, kind of operand and rulebook it returns the dtype that
//! the operation gives, or the same error.

use crate::devices::devices;
use bitlane::promote::{Kind, result_type};
use bitlane::{BinaryOp, Category, Complex, DType, Device, ErrorKind, Operand, Rules, Scalar};
use bitlane::{Tensor, binary};

/// Returns an operand of every kind: tensors, 0-d tensors, and a number of every category.
fn operands(device: &Device) -> Vec<(Kind, Operand<'static>)> {
    let mut operands = Vec::new();
    // Dtypes are decided on the host, so tensors without elements suffice where launches are expensive.
    let len = if device.to_string() == "cpu" { 2 } else { 0 };
    for &dtype in DType::ALL {
        let ones = |shape: &[usize]| Tensor::ones(shape, dtype, device).unwrap();
        operands.push((Kind::tensor(dtype), ones(&[len]).into()));
        operands.push((Kind::zero_d(dtype), ones(&[]).into()));
    }
    for scalar in [
        Scalar::Bool(true),
        Scalar::Int(1),
        Scalar::Float(1.5),
        Scalar::Complex(Complex::new(1.0, 2.0)),
    ] {
        operands.push((Kind::scalar(&scalar), scalar.into()));
    }
    operands
}

#[test]
fn every_result_has_the_dtype_that_was_announced() {
    for device in devices() {
        let operands = operands(&device);
        let (mut given, mut refused) = (0, 0);
        for &op in BinaryOp::ALL {
            for (lhs_kind, lhs) in &operands {
                for (rhs_kind, rhs) in &operands {
                    let dimensioned =
                        [lhs_kind, rhs_kind].iter().any(|k| matches!(k, Kind::Tensor(_)));
                    if device.to_string() != "cpu" && !dimensioned {
                        continue;
                    }
                    for &rules in Rules::ALL {
                        let announced = result_type(op, *lhs_kind, *rhs_kind, rules);
                        let result = binary(op, lhs.clone(), rhs.clone()).rules(rules).run();
                        let announced = announced.map_err(|error| error.to_string());
                        if result.is_ok() {
                            given += 1
                        } else {
                            refused += 1
                        }
                        let result = result.map(|tensor| tensor.dtype()).map_err(|e| e.to_string());
                        assert_eq!(
                            announced, result,
                            "{op} of {lhs_kind} and {rhs_kind} under {rules} rules on {device}"
                        );
                    }
                }
            }
        }
        println!("{device}: {given} results and {refused} refusals as announced");
        assert!(given > 20_000 && refused > 20_000);
    }
}

#[test]
fn operators_methods_and_the_long_form_agree() {
    for device in devices() {
        for &dtype in &[DType::Bool, DType::U8, DType::I64, DType::BF16, DType::C64] {
            let x = Tensor::ones([3], dtype, &device).unwrap();
            let forms = |results: [bitlane::Result<Tensor>; 3]| {
                results.map(|result| {
                    let tensor = result.map_err(|error| error.to_string())?;
                    Ok::<_, String>((tensor.dtype(), tensor.to_bytes().unwrap()))
                })
            };
            macro_rules! agree {
                ($($op:ident $method:ident $operator:tt;)*) => {$(
                    let long = binary(BinaryOp::$op, &x, 1).run();
                    let [a, b, c] = forms([x.$method(1), &x $operator 1, long]);
                    assert_eq!(a, b, "{} of {dtype}", BinaryOp::$op);
                    assert_eq!(b, c, "{} of {dtype}", BinaryOp::$op);
                    let long = binary(BinaryOp::$op, 1, &x).run();
                    let [a, b, c] = forms([1 $operator &x, 1i64 $operator x.clone(), long]);
                    assert_eq!(a, b, "{} of {dtype}, mirrored", BinaryOp::$op);
                    assert_eq!(b, c, "{} of {dtype}, mirrored", BinaryOp::$op);
                )*};
            }
            agree! {
                Add add +;
                Subtract subtract -;
                Multiply multiply *;
                Divide divide /;
                BitwiseAnd bitwise_and &;
                BitwiseOr bitwise_or |;
                BitwiseXor bitwise_xor ^;
            }
        }
    }
}

#[test]
fn a_destination_takes_every_result_of_its_category_or_a_lower_one() {
    for device in devices() {
        for &result in DType::ALL {
            let x = Tensor::ones([3], result, &device).unwrap();
            for &destination in DType::ALL {
                let mut out = Tensor::zeros([3], destination, &device).unwrap();
                let outcome = binary(BinaryOp::Multiply, &x, &x).out(&mut out).run();
                let held = result.category() <= destination.category();
                match outcome {
                    Ok(returned) => {
                        assert!(held, "{result} into {destination} on {device}");
                        assert!(returned.shares_storage(&out));
                        let ones = Tensor::ones([3], destination, &device).unwrap();
                        assert_eq!(out.to_bytes().unwrap(), ones.to_bytes().unwrap());
                    }
                    Err(error) => {
                        assert!(!held, "{result} into {destination} on {device}: {error}");
                        assert_eq!(error.kind(), ErrorKind::InplaceDtype);
                        assert!(out.to_bytes().unwrap().iter().all(|&byte| byte == 0));
                    }
                }
            }
        }
    }
}

#[test]
fn a_zero_dimensional_result_is_a_tensor() {
    for device in devices() {
        let x = Tensor::full((), 3, DType::I32, &device).unwrap();
        for result in [x.add(&x), x.add(1), x.less_than(2), x.signbit(), x.cast(DType::F16)] {
            let result = result.unwrap();
            assert_eq!((result.rank(), result.len()), (0, 1));
        }
        assert_eq!(Kind::from(&x), Kind::zero_d(DType::I32));
        assert_eq!(Kind::scalar(&Scalar::from(2.5)), Kind::Scalar(Category::Float));
    }
}
