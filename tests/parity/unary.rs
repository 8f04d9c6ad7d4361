//! Unary operations, reductions, and the gradient of copysign.

use bitlane::introspect::Force;
use bitlane::{DType, ReduceOp, ScanOp, Tensor, UnaryOp, reduce, scan};

use crate::data::{Pair, dense, lanes, strided, turned};
use crate::model::element::{Bits, Nan, Number, encode_float};
use crate::model::unary;
use crate::model::view::View;
use crate::runner::{Kernel, Runner};

/// Views of one operand: contiguous at different alignments, broadcast, and transposed.
fn views(dtype: DType) -> Vec<View> {
    let l = lanes(dtype);
    vec![
        dense(&[1024 * l + l + 3], 0),
        dense(&[700 * l + 5], 1),
        strided(&[6, 4 * l], &[0, 1]),
        turned(&[33, 2 * l + 1]),
        turned(&[3, 5, 7]),
        strided(&[2; 8], &[1, -2, 4, -8, 16, -32, 64, 128]),
    ]
}

/// Copies, conversions, fills, and every unary operation.
pub fn all(runner: &Runner, dtype: DType) {
    let data = runner.data(dtype);
    let generated = Some(&Kernel::Generated);
    for view in views(dtype) {
        let what = || format!("a copy of {dtype}, {view:?}");
        runner.agree(generated, Nan::Exact, what, |side| view.of(&data.lhs.0[side]).copy());
    }
    // A destination that overlaps an operand is written by a copy from a temporary.
    let l = lanes(dtype);
    for n in [2, l + 1, 1024 * l + l + 3] {
        let storage = Pair::new(dtype, &data.elements[..n + 1], &runner.devices);
        let what = || format!("{n} elements of {dtype}, overlapping");
        runner.agree(generated, Nan::Any, what, |side| {
            let base = &storage.0[side];
            let later = dense(&[n], 1).of(base);
            (later.expr() + &later).out(&mut dense(&[n], 0).of(base)).run()?;
            Ok(base.clone())
        });
    }
    for &to in DType::ALL.iter().filter(|&&to| to != dtype) {
        let what = || format!("{dtype} cast to {to}");
        runner.agree(generated, Nan::SameSign, what, |side| {
            dense(&[1030], 0).of(&data.lhs.0[side]).cast(to)
        });
    }
    let (a, b) = (turned(&[7, 9, 5]), DType::F64);
    let what = || format!("{dtype} turned and cast to {b}");
    runner.agree(generated, Nan::SameSign, what, |side| {
        let x = a.of(&data.lhs.0[side]);
        if dtype == b { x.copy() } else { x.cast(b) }
    });
    runner.agree(
        generated,
        Nan::Exact,
        || format!("{dtype} filled"),
        |side| Tensor::ones([1030], dtype, &runner.devices[side]),
    );
    let views = [dense(&[1024 * l + 3], 0), dense(&[300], 1), turned(&[3, 5, 7])];
    for (at, &op) in UnaryOp::ALL.iter().enumerate() {
        // Over all dtypes, every operation is run on every view.
        let view = &views[(at + dtype as usize) % views.len()];
        let what = || format!("{op} of {dtype}, {view:?}");
        // If the dtype does not support the operation, both sides must return the same error.
        let freedom = match unary::freedom(op, dtype) {
            Nan::Exact => Nan::Exact,
            _ => Nan::Any,
        };
        runner.agree(None, freedom, what, |side| {
            bitlane::unary(op, &view.of(&data.lhs.0[side])).run()
        });
    }
    if dtype.is_float() {
        copysign_grad(runner, dtype);
    }
}

/// The overrides under which sums and scans are run: none, one thread for each or for long chunks, many threads, and more
/// stages or short chunks.
pub const SUMS: [Force; 4] =
    [Force::NOTHING, Force::THREAD_SUMS, Force::BLOCK_SUMS, Force::SMALL_SEGMENTS];

/// Sums and extremes over rows, columns and all dimensions, of arbitrary elements.
pub fn sums(runner: &Runner, dtype: DType, force: Force) {
    let data = runner.data(dtype);
    let cases: [(View, &[usize]); 6] = [
        (dense(&[1], 0), &[0]),
        (dense(&[4099], 1), &[0]),
        (dense(&[37, 65], 0), &[0]),
        (dense(&[37, 65], 0), &[1]),
        (turned(&[9, 33, 5]), &[0, 2]),
        (strided(&[257, 3], &[-1, 0]), &[0]),
    ];
    let is_other = |op: &ReduceOp| !matches!(op, ReduceOp::Sum | ReduceOp::Mean);
    let others: Vec<_> = ReduceOp::ALL.iter().copied().filter(is_other).collect();
    for (at, (view, axes)) in cases.into_iter().enumerate() {
        let what = || format!("the sum of {dtype}, {view:?} over {axes:?}, {force:?}");
        let generated = Some(&Kernel::Generated);
        runner.agree(generated, Nan::Any, what, |side| view.of(&data.lhs.0[side]).sum(axes));
        // Over all dtypes and cases, every reduction is run several times.
        let op = others[(at + 3 * dtype as usize) % others.len()];
        let what = || format!("{op} of {dtype}, {view:?} over {axes:?}, {force:?}");
        // If the dtype has no order, both sides must return the same error.
        runner.agree(None, Nan::Any, what, |side| {
            reduce(op, &view.of(&data.lhs.0[side]), axes).run()
        });
    }
}

/// Scans along every axis. Over all dtypes, every scan is run on every view.
pub fn scans(runner: &Runner, dtype: DType, force: Force) {
    let data = runner.data(dtype);
    let short =
        [dense(&[37, 65], 0), turned(&[9, 33, 5]), dense(&[450, 9], 0), dense(&[5, 1, 3], 2)];
    for (at, view) in [dense(&[4099], 1)].iter().chain(&short).enumerate() {
        for axis in 0..view.shape.len() {
            let op = ScanOp::ALL[(at + axis + dtype as usize) % ScanOp::ALL.len()];
            let what = || format!("{op} of {dtype}, {view:?} along {axis}, {force:?}");
            runner.agree(None, Nan::Any, what, |side| {
                scan(op, &view.of(&data.lhs.0[side]), axis).run()
            });
        }
    }
}

/// Look-ups by index.
pub fn look_ups(runner: &Runner, dtype: DType) {
    let data = runner.data(dtype);
    for view in &[dense(&[4099], 1), dense(&[37, 65], 0), turned(&[9, 33, 5])] {
        for axis in 0..view.shape.len() {
            let size = view.shape[axis] as i64;
            let what = || format!("take from {dtype}, {view:?} along {axis}");
            runner.agree(None, Nan::Exact, what, |side| {
                let numbers = Tensor::arange(20, DType::I64, &runner.devices[side])?;
                // Every other one is out of range, or negative.
                let indices = numbers.multiply(size)?.floor_divide(11)?.subtract(3)?;
                view.of(&data.lhs.0[side]).take_clamped(&indices, axis)
            });
        }
        let what = || format!("what is not zero of {dtype}, {view:?}");
        runner.agree(None, Nan::Exact, what, |side| {
            let x = view.of(&data.lhs.0[side]);
            x.compress(&x.cast(DType::Bool)?)
        });
    }
}

/// The gradient of copysign. Where it is summed, the incoming gradient consists of small integers.
fn copysign_grad(runner: &Runner, dtype: DType) {
    let whole = |at: usize| -> Bits {
        let value = (at * 7 % 23) as i128 - 11;
        let (negative, mantissa) = (value < 0, value.unsigned_abs());
        encode_float(dtype, Number::Finite { negative, mantissa, exponent: 0 })
    };
    let numbers: Vec<_> = (0..40_000).map(whole).collect();
    let numbers = Pair::new(dtype, &numbers, &runner.devices);
    let data = runner.data(dtype);
    let cases: &[(View, View, View)] = &[
        (dense(&[1], 0), dense(&[1], 0), dense(&[1], 0)),
        (dense(&[257], 1), dense(&[257], 0), dense(&[257], 3)),
        (turned(&[7, 9, 5]), dense(&[7, 9, 5], 0), strided(&[7, 9, 5], &[-45, 5, -1])),
        (dense(&[9, 33], 0), dense(&[33], 2), dense(&[9, 33], 0)),
        (dense(&[33], 0), dense(&[9, 33], 2), dense(&[9, 33], 0)),
        (dense(&[9, 1], 0), dense(&[31], 2), turned(&[9, 31])),
        (dense(&[2, 1, 2, 1, 2], 0), dense(&[2; 5], 2), dense(&[2; 5], 0)),
        (dense(&[9, 1], 0), dense(&[32], 2), turned(&[9, 32])),
        (dense(&[], 0), dense(&[1000], 2), dense(&[1000], 0)),
        (dense(&[7], 0), dense(&[255, 7], 2), dense(&[255, 7], 0)),
        (dense(&[7], 0), dense(&[256, 7], 2), dense(&[256, 7], 0)),
        (dense(&[7, 1], 0), dense(&[257], 2), strided(&[7, 257], &[257, -1])),
        (dense(&[3, 1, 2, 1], 0), dense(&[3, 37, 2, 31], 1), turned(&[3, 37, 2, 31])),
    ];
    for (x, y, g) in cases {
        let what = || format!("the gradient of {dtype}, {x:?} {y:?} {g:?}");
        let is_summed = x.shape != g.shape;
        runner.agree(Some(&Kernel::Generated), Nan::Exact, what, |side| {
            let from = if is_summed { &numbers } else { &data.rhs };
            let (x, y) = (x.of(&data.lhs.0[side]), y.of(&data.rhs.0[side]));
            let (gx, gy) = x.copysign_grad(&y, &g.of(&from.0[side]))?;
            assert!(gy.to_bytes()?.iter().all(|&byte| byte == 0));
            Ok(gx)
        });
    }
}
