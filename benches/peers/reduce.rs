//! Reductions, running sums, and whole jobs made of them.

use std::hint::black_box;

use bitlane::{DType, Expr, ReduceOp, Rules, Tensor, reduce};

use crate::Call;
use crate::cases::{dtype, length, numbers};
use crate::functions::scattered;

/// The length of a row, of which there are as many as the elements need.
const ROW: usize = 1024;

/// A reduction over all elements, such as `1M`, over rows, `1M/rows`, or over columns, `1M/columns`; or running sums along
/// them.
pub fn prepare(op: &str, name: &str, shape: &str) -> Option<Call> {
    let (len, axis) = match shape.split_once('/') {
        None => (length(shape)?, None),
        Some((len, "rows")) => (length(len)?, Some(1)),
        Some((len, "columns")) => (length(len)?, Some(0)),
        Some(_) => return None,
    };
    let shape = if axis.is_some() { vec![len / ROW, ROW] } else { vec![len] };
    // Numbers that fit every dtype, in no order: of a few that repeat, one of the first is the largest.
    let x = scattered(&shape, dtype(name)?, (0.0, 250.0));
    if op == "cumsum" {
        let axis = axis.unwrap_or(0);
        return Some(Box::new(move || {
            drop(black_box(black_box(&x).cumulative_sum(axis).unwrap()));
        }));
    }
    let op: ReduceOp = op.parse().ok()?;
    let axes = axis.map_or_else(|| vec![0], |axis| vec![axis]);
    Some(Box::new(move || {
        let call = reduce(op, black_box(&x), axes.as_slice()).rules(Rules::Torch);
        drop(black_box(call.run().unwrap()));
    }))
}

/// A whole job, by its name.
pub fn job(name: &str) -> Option<Call> {
    let leaked =
        |shape: &[usize], dtype| -> &'static Tensor { Box::leak(Box::new(numbers(shape, dtype))) };
    let job: Expr<'static> = match name {
        "softmax" => {
            let x = leaked(&[512, 1000], DType::F32);
            let e = (x.expr() - x.expr().max_keepdims(-1)).exp();
            &e / &e.sum_keepdims(-1)
        }
        "layernorm" => {
            let x = leaked(&[4096, 1024], DType::F32);
            let centred = x.expr() - x.expr().mean_keepdims(-1);
            let variance = centred.square().mean_keepdims(-1);
            centred / (variance + 1e-5).sqrt()
        }
        "quantise" => {
            let x = leaked(&[4096, 1024], DType::F32);
            let scale = x.expr().abs().max_keepdims(-1) / 127.0;
            (x.expr() / scale).round().clip(-127, 127).cast(DType::I8)
        }
        "hamming" => {
            let (words, query) = (leaked(&[256 << 10, 4], DType::I64), leaked(&[4], DType::I64));
            (words.expr() ^ query).count_ones().sum(-1)
        }
        _ => return None,
    };
    let job = job.rules(Rules::Torch);
    Some(Box::new(move || drop(black_box(black_box(&job).run().unwrap()))))
}
