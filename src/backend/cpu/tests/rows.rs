//! Stages that share rows have the bits of stages that are run one after another, whatever the size of a block.

use crate::backend::cpu::settings::Settings;
use crate::{DType, Device, Expr, Result, Tensor};

/// What is forced: blocks of one row, of some rows, and of all of them.
const SHARED: [&str; 4] = [
    "rows=1,stream=1,parallel=1,threads=7",
    "rows=700,stream=1,parallel=1,threads=2",
    "rows=5000,stream=1",
    "rows=100000,stream=1",
];

/// So many bytes are not shared.
const APART: &str = "stream=1000000000";

fn numbers(shape: &[usize]) -> Result<Tensor> {
    let len = shape.iter().product::<usize>();
    let x = Tensor::arange(len, DType::F32, &Device::cpu())?.reshape(shape)?;
    (x * 0.37)?.remainder(5)? - 2
}

fn computations(x: &Expr<'_>) -> Vec<(&'static str, Expr<'static>)> {
    let x: Expr<'static> = x.run().map(Tensor::into_expr).unwrap();
    let e = (&x - x.max_keepdims(-1)).exp();
    let centred = &x - x.mean_keepdims(-1);
    let inner = &x - x.max_keepdims(-1);
    let scaled = &x / (x.abs().max_keepdims(..) + 1);
    vec![
        ("softmax", &e / e.sum_keepdims(-1)),
        ("normalised", &centred / (centred.square().mean_keepdims(-1) + 1e-5).sqrt()),
        ("deviation", &centred / (x.std_keepdims(-1, 1) + 1)),
        ("two reductions", &inner * inner.sum_keepdims(-2)),
        ("a reduction at the end", centred.square().sum(-1)),
        ("everything first", &scaled - scaled.mean_keepdims(-1)),
        ("rows of others", &x - x.max_keepdims(-1).flip(0)),
        ("columns", &x - x.sum_keepdims(0)),
        ("places", x.argmax_keepdims(-1).cast(DType::F32) * x.argmin_keepdims(-1).cast(DType::F32)),
    ]
}

fn softmax(x: &Tensor) -> Expr<'_> {
    let e = (x.expr() - x.expr().max_keepdims(-1)).exp();
    &e / &e.sum_keepdims(-1)
}

#[test]
fn blocks_of_any_size_have_the_same_bits() -> Result<()> {
    for shape in [&[3, 7][..], &[67, 33], &[300, 5], &[4, 10, 6], &[3, 5, 4, 6]] {
        let x = numbers(shape)?;
        for (name, computation) in computations(&x.expr()) {
            let apart = Settings::forced(APART, || computation.run())?;
            for list in SHARED {
                let together = Settings::forced(list, || computation.run())?;
                assert!(together.bits_equal(&apart)?, "{name} of {shape:?}, {list}");
            }
        }
    }
    Ok(())
}

/// The destination may be what is read, or a part of it that other rows read.
#[test]
fn rows_that_are_overwritten_have_been_read() -> Result<()> {
    for (read, written) in [(0..69, 0..69), (0..69, 1..70), (1..70, 0..69), (0..35, 35..70)] {
        for list in SHARED {
            let all = numbers(&[70, 41])?;
            let x = all.slice(0, read.clone())?;
            let expected = Settings::forced(APART, || softmax(&x.copy()?).run())?;
            let mut out = all.slice(0, written.clone())?;
            Settings::forced(list, || softmax(&x).out(&mut out).run())?;
            assert!(out.bits_equal(&expected)?, "{read:?} into {written:?}, {list}");
        }
    }
    Ok(())
}
