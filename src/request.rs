//! Requests: a program with the loops over which a backend runs it.

use crate::DType;
use crate::op::ReduceOp;
use crate::plan::Plan;
use crate::program::Program;

/// A reduction over some loops of the results of a program.
///
/// The order of the additions is fixed: the terms, in row-major order of the summed dimensions, are the leaves of a
/// perfect binary tree, and every node is the sum of its two children, the left one first. Leaves beyond the last term
/// do not exist, and a node with one child is that child. The order depends only on the number of terms, and any aligned
/// run of 2^k terms is a subtree, so that vectors, threads and blocks can each compute one. Floats are added in `f64` and
/// rounded once. Products have the same tree. Everything else gives the same in any order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction<'a> {
    pub(crate) op: ReduceOp,
    /// The loops over the terms of one result, in row-major order. The destination has stride 0 in all of them. There
    /// is at least one term.
    pub(crate) terms: &'a Plan,
    /// What the total of a mean, a variance or a deviation is divided by.
    pub(crate) divisor: f64,
}

/// Everything that a backend needs to know about a computation except the memory itself.
///
/// The slots of the plan and of the access are: the destination, the inputs in memory in the order of the program, and
/// the mask if there is one. The destination has the dtype `out` and at least one element, and no two of its elements
/// share memory. An input that shares the storage of the destination is either the same view or does not overlap it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    /// The name of the operation, for messages.
    pub(crate) op: &'static str,
    pub(crate) program: &'a Program,
    /// The loops over the destination.
    pub(crate) plan: &'a Plan,
    /// The dtype of the destination: that of the program's result or, for a reduction, the one to which it is rounded.
    pub(crate) out: DType,
    /// Whether the last slot is a mask. Elements whose mask is false are not written. Reductions have no mask.
    pub(crate) masked: bool,
    pub(crate) reduction: Option<Reduction<'a>>,
}

/// Requests that share rows: all of them are run on one block of rows before the next block, so that rows are read from
/// memory once. An element that a request computes is read by others in the same row alone.
#[cfg(feature = "cpu")]
#[derive(Debug)]
pub(crate) struct RowsRequest<'a> {
    /// The loops over the rows, in row-major order. The slots are those of all stages, one stage after another.
    pub(crate) rows: &'a Plan,
    /// How many iterations of the innermost of these loops are a block.
    pub(crate) block: usize,
    pub(crate) stages: &'a [RowStage],
}

/// One of the requests that share rows.
#[cfg(feature = "cpu")]
#[derive(Debug)]
pub(crate) struct RowStage {
    pub(crate) op: &'static str,
    pub(crate) program: Program,
    pub(crate) out: DType,
    pub(crate) reduce: Option<ReduceOp>,
    /// The loops over a block.
    pub(crate) whole: RowLoops,
    /// The loops over the last block, if it is shorter.
    pub(crate) rest: Option<RowLoops>,
}

/// The loops of a request over a block of rows. The offsets are relative to the first of them.
#[cfg(feature = "cpu")]
#[derive(Debug)]
pub(crate) struct RowLoops {
    /// The loops over the destination.
    pub(crate) plan: Plan,
    /// The loops over the terms of one result of a reduction, and its divisor.
    pub(crate) terms: Option<(Plan, f64)>,
}

#[cfg(feature = "cpu")]
impl RowStage {
    /// Returns the request over a block of so many iterations.
    pub(crate) fn request(&self, rows: &RowsRequest<'_>, count: usize) -> Request<'_> {
        let rest = self.rest.as_ref().filter(|_| count < rows.block);
        let RowLoops { plan, terms } = rest.unwrap_or(&self.whole);
        let (op, program, out) = (self.op, &self.program, self.out);
        let reduction = self.reduce.zip(terms.as_ref());
        let reduction =
            reduction.map(|(op, (terms, divisor))| Reduction { op, terms, divisor: *divisor });
        Request { op, program, plan, out, masked: false, reduction }
    }
}
