//! Expressions of a few operations as one list of them, which may be a prepared call.

use std::sync::Arc;

use smallvec::SmallVec;

use super::Expr;
use super::graph::{Graph, Location, Node, Root};
use super::walk::{Item, Visit, walk};
use crate::Result;
use crate::call::Target;
use crate::call::prepared::{self, MAX_PREPARED, Operands, Outcome};

impl Expr<'_> {
    /// Computes the expression as a prepared call, or returns `None` if the general path has to.
    #[inline]
    pub(super) fn run_prepared<'b>(&'b self, target: Target<'b>) -> Option<Result<Outcome<'b>>> {
        let Root::Graph(graph) = &self.root else { return None };
        let mut operands = Operands::new();
        if graph.parts().is_empty() {
            // An iterator over both would take longer than most of what it iterates over.
            let (first, others) = graph.inputs();
            for operand in first.iter().flatten() {
                operands.add(operand)?;
            }
            others.iter().try_for_each(|operand| operands.add(operand))?;
            return prepared::run(&graph.nodes, &operands, self.rules, target);
        }
        let nodes = flatten(graph, &mut operands)?;
        prepared::run(&nodes, &operands, self.rules, target)
    }
}

/// Returns the operations of a graph and of its parts as one list, or `None` if there are too many.
fn flatten<'b>(
    graph: &'b Arc<Graph<'_>>,
    operands: &mut Operands<'b>,
) -> Option<SmallVec<[Node; MAX_PREPARED]>> {
    let mut nodes: SmallVec<[Node; MAX_PREPARED]> = SmallVec::new();
    let mut add = |visit: &Visit<'_, 'b, '_, usize>| {
        let node = visit.node.with_operands(|index| {
            Some(match visit.operand(index)? {
                Item::Value(node) => Location::node(node),
                Item::Input(operand) => {
                    operands.add(operand)?;
                    Location::input(operands.len() - 1)
                }
            })
        })?;
        if nodes.len() == MAX_PREPARED {
            return None;
        }
        nodes.push(node);
        Some(nodes.len() - 1)
    };
    walk(graph, |visit| add(&visit).ok_or(())).ok()?;
    Some(nodes)
}
