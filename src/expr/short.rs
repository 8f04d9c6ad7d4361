//! The short way of an expression: few operations on tensors that lie alike.

use super::Expr;
use super::graph::{Operation, Root};
use super::walk::{Item, Visit, walk};
use crate::call::Target;
use crate::call::chain::{Chain, Computed, Part};
use crate::{Result, Tensor};

impl Expr<'_> {
    /// Computes the expression if it is so simple.
    pub(super) fn run_short(&self, target: Target<'_>) -> Option<Result<Tensor>> {
        let Root::Graph(graph) = &self.root else { return None };
        let mut chain = Chain::new(self.rules);
        let result = walk(graph, |visit| node(&mut chain, visit).ok_or(())).ok()?;
        chain.run(result, target)
    }
}

/// Adds an operation.
fn node<'b>(chain: &mut Chain<'b>, visit: Visit<'b, '_, Computed>) -> Option<Computed> {
    let [x, y, z] = visit.operands;
    let mut part = |item: Item<'b, '_, Computed>| match item {
        Item::Value(value) => Some(Part::Computed(value)),
        Item::Input(operand) => chain.operand(operand),
    };
    let x = part(x)?;
    match visit.node.operation {
        Operation::Binary(op) => {
            let y = part(y)?;
            chain.binary(op, x, y)
        }
        Operation::Unary(op) => chain.unary(op, x),
        Operation::Cast(dtype) => match x {
            Part::Computed(value) => chain.cast(value, dtype),
            Part::Number(_) => None,
        },
        Operation::Select => {
            let (y, z) = (part(y)?, part(z)?);
            chain.select(x, y, z)
        }
        Operation::Reduce(..) => None,
    }
}
