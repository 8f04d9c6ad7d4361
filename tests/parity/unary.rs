//! Kernels of one operand, and the gradient of copysign.

use bitlane::introspect::Force;
use bitlane::{BinaryOp, DType, Tensor, binary};

use crate::data::{Pair, dense, lanes, strided, turned};
use crate::model::element::{Bits, Nan, Number, encode_float};
use crate::model::view::View;
use crate::runner::Runner;

/// Views for one operand, and the shape of the kernel that copies them.
fn views(dtype: DType) -> Vec<(&'static str, View)> {
    let l = lanes(dtype);
    let mut views = vec![
        ("gath4", turned(&[3, 5, 7])),
        ("gath4", turned(&[2, 3, 4, 5])),
        ("gath8", turned(&[2, 3, 2, 3, 4])),
        ("gath8", strided(&[2; 8], &[1, -2, 4, -8, 16, -32, 64, 128])),
        ("gath2", turned(&[33, 2 * l + 1])),
        ("gath2", strided(&[6, 4 * l], &[0, 1])),
    ];
    for n in [2, l + 1, 254 * l + 1, 255 * l, 255 * l + 1, 700 * l + 5] {
        views.push(("gath2", strided(&[n], &[-1])));
    }
    views
}

/// The kernel's shape if all are made to take another one.
fn under(force: Force, shape: &'static str) -> &'static str {
    match (force, shape) {
        (Force::Mixed, _) => "mixed",
        (Force::Wide, _) => "mixedw",
        (Force::Gather, "contig") => "gath2",
        (_, shape) => shape,
    }
}

/// Copies and conversions to a dtype.
pub fn cast(runner: &Runner, to: DType, force: Force) {
    let kernel = |shape| format!("{}_cast_{to}", under(force, shape));
    let data = runner.data(to);
    for (shape, view) in views(to) {
        let what = || format!("a copy of {to}, {view:?}, {force:?}");
        runner.agree(Some(&kernel(shape)), Nan::Exact, what, |side| {
            view.of(&data.lhs.0[side]).contiguous()
        });
    }
    // A destination that overlaps what is read is written by a copy from where it was computed.
    let l = lanes(to);
    let block = if to.size() < 8 { 1024 * l } else { 2048 * l };
    for n in [2, l + 1, block - 1, block, block + 1, block + l + 3] {
        let storage = Pair::new(to, &data.elements[..n + 1], &runner.devices);
        let what = || format!("{n} elements of {to}, overlapping, {force:?}");
        runner.agree(Some(&kernel("contig")), Nan::Any, what, |side| {
            let base = &storage.0[side];
            let later = dense(&[n], 1).of(base);
            binary(BinaryOp::Add, &later, &later).out(&mut dense(&[n], 0).of(base)).run()?;
            Ok(base.clone())
        });
    }
    for &from in DType::ALL.iter().filter(|&&from| from != to) {
        let data = runner.data(from);
        for view in [dense(&[1030], 1), turned(&[7, 9, 5])] {
            let what = || format!("{from} cast to {to}, {view:?}, {force:?}");
            runner.agree(Some(&kernel("mixed")), Nan::SameSign, what, |side| {
                view.of(&data.lhs.0[side]).cast(to)
            });
        }
    }
    runner.agree(
        Some(&kernel("mixed")),
        Nan::Exact,
        || format!("{to} filled"),
        |side| Tensor::ones([1030], to, &runner.devices[side]),
    );
}

pub fn signbit(runner: &Runner, dtype: DType, force: Force) {
    let l = lanes(dtype);
    let block = if dtype.size() < 8 { 1024 * l } else { 2048 * l };
    let mut all = views(dtype);
    for n in [1, l + 1, block - 1, block, block + 1, block + l + 3] {
        all.push(("contig", dense(&[n], 0)));
        // Places differ by one, so that a result in order cannot be had from vectors.
        all.extend((l > 1 && n > 1).then(|| ("gath2", dense(&[n], 1))));
    }
    let data = runner.data(dtype);
    for (shape, view) in all {
        let kernel = format!("{}_signbit_{dtype}", under(force, shape));
        let what = || format!("signbit of {dtype}, {view:?}, {force:?}");
        runner.agree(Some(&kernel), Nan::Exact, what, |side| view.of(&data.lhs.0[side]).signbit());
    }
}

/// The gradient. Sums are of small whole numbers, so that they are exact in any order.
pub fn copysign_grad(runner: &Runner, dtype: DType) {
    let whole = |at: usize| -> Bits {
        let value = (at * 7 % 23) as i128 - 11;
        let (negative, mantissa) = (value < 0, value.unsigned_abs());
        encode_float(dtype, Number::Finite { negative, mantissa, exponent: 0 })
    };
    let numbers: Vec<_> = (0..40_000).map(whole).collect();
    let numbers = Pair::new(dtype, &numbers, &runner.devices);
    let data = runner.data(dtype);
    let cases: &[(&str, View, View, View)] = &[
        ("each", dense(&[1], 0), dense(&[1], 0), dense(&[1], 0)),
        ("each", dense(&[257], 1), dense(&[257], 0), dense(&[257], 3)),
        ("each", turned(&[7, 9, 5]), dense(&[7, 9, 5], 0), strided(&[7, 9, 5], &[-45, 5, -1])),
        ("each", dense(&[9, 33], 0), dense(&[33], 2), dense(&[9, 33], 0)),
        ("each", dense(&[33], 0), dense(&[9, 33], 2), dense(&[9, 33], 0)),
        ("each", dense(&[9, 1], 0), dense(&[31], 2), turned(&[9, 31])),
        ("each", dense(&[2, 1, 2, 1, 2], 0), dense(&[2; 5], 2), dense(&[2; 5], 0)),
        ("sum", dense(&[9, 1], 0), dense(&[32], 2), turned(&[9, 32])),
        ("sum", dense(&[], 0), dense(&[1000], 2), dense(&[1000], 0)),
        ("sum", dense(&[7], 0), dense(&[255, 7], 2), dense(&[255, 7], 0)),
        ("sum", dense(&[7], 0), dense(&[256, 7], 2), dense(&[256, 7], 0)),
        ("sum", dense(&[7, 1], 0), dense(&[257], 2), strided(&[7, 257], &[257, -1])),
        ("sum", dense(&[3, 1, 2, 1], 0), dense(&[3, 37, 2, 31], 1), turned(&[3, 37, 2, 31])),
    ];
    for (shape, x, y, g) in cases {
        let kernel = format!("{shape}_copysign_grad_{dtype}");
        let what = || format!("the gradient of {dtype}, {x:?} {y:?} {g:?}");
        let is_summed = x.shape != g.shape;
        runner.agree(Some(&kernel), Nan::Exact, what, |side| {
            let from = if is_summed { &numbers } else { &data.rhs };
            let (x, y) = (x.of(&data.lhs.0[side]), y.of(&data.rhs.0[side]));
            let (gx, gy) = x.copysign_grad(&y, &g.of(&from.0[side]))?;
            assert!(gy.to_bytes()?.iter().all(|&byte| byte == 0));
            Ok(gx)
        });
    }
}
