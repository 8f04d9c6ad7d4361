//! Views of values that have views in them: their steps are added once, and a value of many steps is computed first.

use bitlane::{DType, Device, Expr, Result, Tensor};

use crate::devices::devices;

/// Returns different elements.
fn tensor(shape: &[usize], dtype: DType, device: &Device) -> Tensor {
    let numbers: Vec<i64> =
        (0..shape.iter().product::<usize>() as i64).map(|k| 37 * k + 11).collect();
    Tensor::from_slice(&numbers, shape, device).unwrap().cast(dtype).unwrap()
}

/// Checks rounds of a computation against the same calls one after another, on every device.
fn check<'a>(
    x: &'a Tensor,
    rounds: usize,
    expression: impl Fn(&Expr<'a>) -> Expr<'a>,
    calls: impl Fn(&Tensor) -> Result<Tensor>,
) {
    let e = (0..rounds).fold(x.expr(), |e, _| expression(&e));
    let expected = (0..rounds).fold(x.clone(), |x, _| calls(&x).unwrap());
    let context = format!("{rounds} rounds on {}", x.device());
    assert_eq!(e.shape().unwrap(), expected.shape(), "{context}");
    assert_eq!(e.dtype().unwrap(), expected.dtype(), "{context}");
    let given = e.run().unwrap_or_else(|error| panic!("{context}: {error}"));
    assert!(given.bits_equal(&expected).unwrap(), "{context}: {given} is not {expected}");
}

/// If each view repeated all steps of its operand, 17 rounds would have more steps than can be numbered.
#[test]
fn views_of_views_equal_the_same_calls() {
    for device in devices() {
        for dtype in [DType::I32, DType::F32] {
            let x = tensor(&[5], dtype, &device);
            for rounds in [1, 2, 10, 17, 120] {
                check(&x, rounds, |e| e + &e.flip(0), |x| x + x.flip(0)?);
            }
        }
        // Every round adds one of two axes, so there are four views of the tensor.
        let x = tensor(&[3, 4], DType::U16, &device);
        check(
            &x,
            20,
            |e| {
                let e = e ^ &(e.flip(0) * 3);
                &e + &e.flip(1)
            },
            |x| {
                let x = (x ^ (x.flip(0)? * 3)?)?;
                &x + x.flip(1)?
            },
        );
        // Parts of a tensor, of which the passes read many.
        let x = tensor(&[40], DType::I64, &device);
        check(
            &x,
            14,
            |e| e.slice(0, 1..) - e.slice(0, ..-1),
            |x| x.slice(0, 1..)? - x.slice(0, ..-1)?,
        );
    }
}

/// What a view repeats is limited: beyond it, the operand is computed first.
#[test]
fn views_of_long_computations_equal_the_same_calls() {
    for device in devices() {
        let x = tensor(&[7], DType::U8, &device);
        for rounds in [30, 63] {
            check(
                &x,
                rounds,
                |e| {
                    let e = (e * 5) ^ 77;
                    &e + &e.flip(0)
                },
                |x| {
                    let x = ((x * 5)? ^ 77)?;
                    &x + x.flip(0)?
                },
            );
        }
    }
}

/// Numbers have no views, so that one number is one of those that a pass reads, however many views there are.
#[test]
fn views_do_not_multiply_numbers() {
    for device in devices() {
        let x = tensor(&[6], DType::I32, &device);
        check(
            &x,
            9,
            |e| {
                let e = e + 1;
                &e * &e.flip(0)
            },
            |x| {
                let x = (x + 1)?;
                &x * x.flip(0)?
            },
        );
    }
}
