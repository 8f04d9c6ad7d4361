//! Stages that share rows are run block by block, and those that do not one after another. Either way the bits are those of
//! the stages computed as tensors.

use bitlane::{DType, Device, Expr, Result, Tensor};

use crate::devices::devices;

/// A computation, given the operand and how a value inside is used further: as a part of the expression, or computed.
type Computation = for<'a> fn(&Expr<'a>, &dyn Fn(Expr<'a>) -> Result<Expr<'a>>) -> Result<Expr<'a>>;

/// Computations of which all stages are reductions along the last dimensions or the dimension before.
const COMPUTATIONS: &[(&str, Computation)] = &[
    ("softmax", |x, stage| {
        let e = (x - &stage(x.max_keepdims(-1))?).exp();
        Ok(&e / &stage(e.sum_keepdims(-1))?)
    }),
    ("normalised", |x, stage| {
        let centred = x - &stage(x.mean_keepdims(-1))?;
        let variance = stage(centred.square().mean_keepdims(-1))?;
        Ok(centred / (variance + 1e-5).sqrt())
    }),
    ("deviation", |x, stage| {
        let deviation = stage(x.std_keepdims(-1, 0))?;
        Ok((x - &stage(x.mean_keepdims(-1))?) / (deviation + 1))
    }),
    ("quantised", |x, stage| {
        let scale = stage(x.abs().max_keepdims(-1))? / 127.0;
        Ok((x / &(scale + 1e-3)).round().cast(DType::I8))
    }),
    ("two dimensions", |x, stage| Ok(x - &stage(x.mean_keepdims([-2, -1]))?)),
    ("other dimensions", |x, stage| {
        let inner = x - &stage(x.max_keepdims(-1))?;
        Ok(&inner * &stage(inner.sum_keepdims(-2))?)
    }),
    ("reduced at the end", |x, stage| Ok((x - &stage(x.mean_keepdims(-1))?).square().sum(-1))),
    ("kept at the end", |x, stage| {
        let largest = stage(x.max_keepdims(-1))?;
        let sum = stage((x - &largest).exp().sum_keepdims(-1))?;
        Ok(sum.log() + largest)
    }),
    ("places", |x, stage| {
        let place = stage(x.argmax_keepdims(-1))?.cast(DType::F32);
        Ok(x.cast(DType::F32) * &(place - stage(x.argmin_keepdims(-1))?.cast(DType::F32)))
    }),
    ("everything first", |x, stage| {
        let x = x / &(stage(x.abs().max_keepdims(..))? + 1);
        Ok(&x - &stage(x.mean_keepdims(-1))?)
    }),
    ("rows of others", |x, stage| Ok(x - &stage(x.max_keepdims(-1))?.flip(0))),
    ("columns", |x, stage| Ok(x - &stage(x.sum_keepdims(0))?)),
    ("columns and rows", |x, stage| {
        let x = x - &stage(x.max_keepdims(0))?;
        Ok(&x + &stage(x.min_keepdims(-1))?)
    }),
    ("rows that are read as columns", |x, stage| {
        // The largest of row k belongs to column k.
        let largest = stage(x.slice(-1, ..1).max_keepdims(-1))?;
        Ok(x.slice(-1, ..1) + largest.transpose(-1, -2))
    }),
];

fn computed(value: Expr<'_>) -> Result<Expr<'static>> {
    value.run().map(Tensor::into_expr)
}

/// Views of numbers of several shapes and strides.
fn operands(device: &Device) -> Result<Vec<Tensor>> {
    let numbers = |shape: &[usize]| -> Result<Tensor> {
        let len = shape.iter().product::<usize>();
        let x = Tensor::arange(len, DType::F32, device)?.reshape(shape)?;
        (x * 0.37)?.remainder(5).and_then(|x| x - 2)
    };
    Ok(vec![
        numbers(&[1, 1])?,
        numbers(&[3, 7])?,
        numbers(&[67, 33])?,
        numbers(&[5, 1000])?,
        numbers(&[700, 5])?,
        numbers(&[33, 67])?.transpose(0, 1)?,
        numbers(&[40, 9])?.flip(0)?,
        numbers(&[40, 9])?.flip(1)?,
        numbers(&[4, 10, 6])?,
        numbers(&[4, 10, 6])?.permute([1, 0, 2])?,
        numbers(&[11, 4, 20])?.slice(1, 1..3)?.slice(2, 4..17)?,
        numbers(&[1, 9])?.broadcast_to([13, 9])?,
        numbers(&[2, 3, 4, 5])?.permute([1, 0, 2, 3])?,
        numbers(&[6, 50])?.cast(DType::F16)?,
        numbers(&[6, 50])?.cast(DType::F64)?,
        numbers(&[6, 50])?.cast(DType::F8E4M3FN)?,
        numbers(&[6, 50])?.cast(DType::F8E5M2)?,
    ])
}

#[test]
fn stages_that_share_rows_equal_computed_stages() -> Result<()> {
    for device in devices() {
        for (index, x) in operands(&device)?.iter().enumerate() {
            for (name, computation) in COMPUTATIONS {
                let context = format!("{name} of operand {index} on {device}");
                let together = computation(&x.expr(), &Ok)?.run()?;
                let apart = computation(&x.expr(), &|value| computed(value))?.run()?;
                assert!(together.bits_equal(&apart)?, "{context}: {together}\n{apart}");
                let mut out = Tensor::zeros(apart.shape(), apart.dtype(), &device)?;
                computation(&x.expr(), &Ok)?.out(&mut out).run()?;
                assert!(out.bits_equal(&apart)?, "{context}, into a tensor");
            }
        }
    }
    Ok(())
}

/// The destination may be what is read, or a part of it that other rows read.
#[test]
fn rows_that_are_overwritten_have_been_read() -> Result<()> {
    for device in devices() {
        for (name, computation) in &COMPUTATIONS[..3] {
            let all = Tensor::arange(70 * 41, DType::F32, &device)?.reshape([70, 41])?;
            let all = (all * 0.37)?.remainder(5)?;
            for (read, written) in [(0..69, 0..69), (0..69, 1..70), (1..70, 0..69), (0..35, 35..70)]
            {
                let numbers = all.copy()?;
                let x = numbers.slice(0, read.clone())?;
                let expected = computation(&x.expr(), &|value| computed(value))?.run()?;
                let mut out = numbers.slice(0, written.clone())?;
                computation(&x.expr(), &Ok)?.out(&mut out).run()?;
                let context = format!("{name} of {read:?} into {written:?} on {device}");
                assert!(out.bits_equal(&expected)?, "{context}");
            }
        }
    }
    Ok(())
}

/// A destination of another dtype or a mask keeps the stages apart.
#[test]
fn masks_and_other_dtypes_have_the_same_bits() -> Result<()> {
    for device in devices() {
        let x = (Tensor::arange(60, DType::F32, &device)?.reshape([12, 5])? * 0.37)?;
        let centred = x.expr() - x.expr().mean_keepdims(-1);
        let expected = centred.run()?;
        let mask = x.greater_than(7)?;
        let mut out = Tensor::full([12, 5], 9, DType::F64, &device)?;
        centred.out(&mut out).mask(&mask).run()?;
        let kept = Tensor::full([12, 5], 9, DType::F64, &device)?;
        let expected = bitlane::select(&mask, &expected.cast(DType::F64)?, &kept)?;
        assert!(out.bits_equal(&expected)?, "{device}");
    }
    Ok(())
}
