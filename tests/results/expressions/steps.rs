//! Steps of random graphs that change the shape: views, packings and reductions.

use bitlane::{DType, Error, Expr, Packing, ReduceOp, Rules, Slice, Tensor, reduce};

use super::graph::Outcome;
use crate::model::random::Random;

/// A step that changes the shape of an earlier entry.
#[derive(Clone, Debug)]
pub enum Step {
    Transpose(i64, i64),
    Unsqueeze(i64),
    Squeeze(i64),
    Flip(i64),
    Slice(i64, Slice),
    Reshape(Vec<usize>),
    Pack(Packing, i64),
    Unpack(Packing, i64),
    Repack(Packing, Packing, i64),
}

impl Step {
    /// Draws a view.
    pub fn view(random: &mut Random) -> Step {
        let axis = |random: &mut Random| random.below(4) as i64 - 2;
        match random.below(5) {
            0 => Step::Transpose(axis(random), axis(random)),
            1 => Step::Unsqueeze(axis(random)),
            2 => Step::Squeeze(axis(random)),
            3 => Step::Flip(axis(random)),
            _ => Step::Slice(axis(random), Slice::from(1..).step(2)),
        }
    }

    /// Draws a packing or a new shape for what has a dtype and a shape.
    pub fn packing(random: &mut Random, dtype: Option<DType>, shape: &[usize]) -> Step {
        const WORDS: [DType; 4] = [DType::U8, DType::I16, DType::U32, DType::I64];
        let bits = 1 + random.below(8);
        let axis = random.below(shape.len().max(1)) as i64 - random.below(2) as i64;
        // Words of another dtype than that of the values are refused.
        let own = dtype.filter(|dtype| dtype.is_int()).unwrap_or(DType::I32);
        let word = WORDS[random.below(4)];
        match random.below(5) {
            0 | 1 => Step::Pack(layout(random, bits, word), axis),
            2 => Step::Unpack(layout(random, bits, own), axis),
            3 => Step::Repack(layout(random, bits, own), layout(random, bits, word), axis),
            _ => {
                // All in one dimension, split where an odd number of the sizes ends, or turned round.
                let len: usize = shape.iter().product();
                let half = shape.len().div_ceil(2);
                let first: usize = shape[..half].iter().product();
                let reversed = shape.iter().rev().copied().collect();
                let shapes = [vec![len], vec![first, len / first.max(1)], reversed];
                Step::Reshape(shapes[random.below(3)].clone())
            }
        }
    }

    pub fn is_packing(&self) -> bool {
        matches!(self, Step::Pack(..) | Step::Unpack(..) | Step::Repack(..))
    }

    pub fn of(&self, x: &Tensor) -> Result<Tensor, Error> {
        match *self {
            Step::Transpose(first, second) => x.transpose(first, second),
            Step::Unsqueeze(axis) => x.unsqueeze(axis),
            Step::Squeeze(axis) => x.squeeze(axis),
            Step::Flip(axis) => x.flip(axis),
            Step::Slice(axis, slice) => x.slice(axis, slice),
            Step::Reshape(ref shape) => x.contiguous()?.reshape(shape),
            Step::Pack(ref packing, axis) => x.pack(packing, axis),
            Step::Unpack(ref packing, axis) => x.unpack(packing, axis),
            Step::Repack(ref from, ref to, axis) => x.repack(from, to, axis),
        }
    }

    pub fn of_expr<'a>(&self, x: &Expr<'a>) -> Expr<'a> {
        match *self {
            Step::Transpose(first, second) => x.transpose(first, second),
            Step::Unsqueeze(axis) => x.unsqueeze(axis),
            Step::Squeeze(axis) => x.squeeze(axis),
            Step::Flip(axis) => x.flip(axis),
            Step::Slice(axis, slice) => x.slice(axis, slice),
            Step::Reshape(ref shape) => x.reshape(shape),
            Step::Pack(ref packing, axis) => x.pack(packing, axis),
            Step::Unpack(ref packing, axis) => x.unpack(packing, axis),
            Step::Repack(ref from, ref to, axis) => x.repack(from, to, axis),
        }
    }

    /// Returns which elements of the result are free. A word that has a free value is, and no one looks where it lies.
    pub fn free(&self, x: &Outcome) -> Result<Tensor, Error> {
        if !self.is_packing() {
            return self.of(&x.free);
        }
        let shape = self.of(&x.result)?.shape().to_vec();
        x.free.any(..)?.broadcast_to(shape)
    }
}

/// Draws the layout of values in words.
fn layout(random: &mut Random, bits: usize, word: DType) -> Packing {
    let packing = Packing::new(bits, word);
    let packing = if random.below(3) == 0 { packing.signed() } else { packing };
    let fields = 8 * word.size() / bits;
    match random.below(3) {
        0 if bits.is_power_of_two() => packing.order((0..fields).rev()),
        1 if bits.is_power_of_two() => packing.big_endian_fields(),
        _ => packing,
    }
}

/// A reduction.
#[derive(Clone, Debug)]
pub struct Last {
    pub op: ReduceOp,
    pub axes: Vec<usize>,
    pub keepdims: bool,
}

impl Last {
    /// Draws a reduction of a tensor of this rank. Half of them are sums and means, whose order matters.
    pub fn random(random: &mut Random, rank: usize) -> Last {
        let axes = (0..rank).filter(|_| random.below(2) == 0).collect();
        let ops: &[ReduceOp] =
            if random.below(2) == 0 { &[ReduceOp::Sum, ReduceOp::Mean] } else { ReduceOp::ALL };
        Last { op: ops[random.below(ops.len())], axes, keepdims: random.below(3) == 0 }
    }

    pub fn of_expr<'a>(&self, x: &Expr<'a>) -> Expr<'a> {
        match self.keepdims {
            true => x.reduce_keepdims(self.op, &self.axes),
            false => x.reduce(self.op, &self.axes),
        }
    }

    /// Computes it. A reduction with a free term is free.
    pub fn of(&self, x: &Outcome, rules: Rules) -> Result<Outcome, Error> {
        let run = |op, x: &Tensor| {
            let reduction = reduce(op, x, &self.axes).rules(rules);
            if self.keepdims { reduction.keepdims() } else { reduction }.run()
        };
        Ok(Outcome { result: run(self.op, &x.result)?, free: run(ReduceOp::Any, &x.free)? })
    }
}
