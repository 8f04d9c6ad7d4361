//! The short way of an expression: few operations on tensors that lie alike.

use super::Expr;
use super::graph::{Argument, Node, Operation, Root};
use super::walk::{Item, walk};
use crate::call::Target;
use crate::call::chain::{Chain, Computed, Part};
use crate::{Result, Tensor};

/// The most operations that are tried.
const MAX_NODES: usize = 8;

impl Expr<'_> {
    /// Computes the expression if it is so simple.
    #[inline]
    pub(super) fn run_short(&self, target: Target<'_>) -> Option<Result<Tensor>> {
        let Root::Graph(graph) = &self.root else { return None };
        let mut chain = Chain::new(self.rules);
        let result = if graph.parts().is_empty() {
            let mut values = [None; MAX_NODES];
            for (index, node) in graph.nodes.iter().enumerate() {
                let item = |place: usize| match graph.argument(node, place) {
                    Argument::Input(operand) => Some(Item::Input(operand)),
                    Argument::Node(index) => values.get(index).copied()?.map(Item::Value),
                    Argument::Part(_) => None,
                };
                *values.get_mut(index)? = Some(add(&mut chain, node, item)?);
            }
            values[graph.nodes.len() - 1]?
        } else {
            walk(graph, |visit| add(&mut chain, visit.node, |place| visit.operand(place)).ok_or(()))
                .ok()?
        };
        chain.run(result, target)
    }
}

/// Adds an operation.
#[inline]
fn add<'b, 'a: 'b>(
    chain: &mut Chain<'b>,
    node: &Node,
    item: impl Fn(usize) -> Option<Item<'b, 'a, Computed>>,
) -> Option<Computed> {
    let mut part = |place: usize| match item(place)? {
        Item::Value(value) => Some(Part::Computed(value)),
        Item::Input(operand) => chain.operand(operand),
    };
    let x = part(0)?;
    match node.operation {
        Operation::Binary(op) => {
            let y = part(1)?;
            chain.binary(op, x, y)
        }
        Operation::Unary(op) => chain.unary(op, x),
        Operation::Cast(dtype) => chain.convert(x, dtype),
        Operation::Select => {
            let (y, z) = (part(1)?, part(2)?);
            chain.select(x, y, z)
        }
        Operation::Reduce(..) => None,
    }
}
