//! Walking a graph: every operation once, after its operands.

use std::sync::Arc;

use smallvec::SmallVec;

use super::graph::{Argument, Graph, Node};
use crate::Operand;

/// An operand of an operation: an input, or what has become of another operation.
#[derive(Clone, Copy)]
pub(super) enum Item<'b, 'a, V> {
    Input(&'b Operand<'a>),
    Value(V),
}

/// An operation on the way.
pub(super) struct Visit<'b, 'a, V> {
    pub(super) graph: &'b Graph<'a>,
    pub(super) node: &'b Node,
    /// Those beyond the arity repeat the first.
    pub(super) operands: [Item<'b, 'a, V>; 3],
    /// Whether it is the last one of all.
    pub(super) is_root: bool,
}

/// A graph that is not finished.
struct Frame<'b, 'a> {
    graph: &'b Arc<Graph<'a>>,
    /// The next operation.
    next: usize,
    /// Where its values begin.
    first: usize,
}

/// What has become of operations.
struct Values<V> {
    /// Of the graphs that are not finished; those of the same graph side by side.
    open: SmallVec<[V; 8]>,
    /// Of the graphs that are.
    finished: SmallVec<[(*const (), V); 4]>,
}

/// Calls a function for every operation, operands before operations and left before right, and gives what it has made of the
/// last. There is no recursion, so that no depth overflows the stack.
pub(super) fn walk<'b, 'a, V: Copy, E>(
    root: &'b Arc<Graph<'a>>,
    mut visit: impl FnMut(Visit<'b, 'a, V>) -> Result<V, E>,
) -> Result<V, E> {
    let mut values = Values { open: SmallVec::new(), finished: SmallVec::new() };
    let mut waiting: SmallVec<[Frame<'b, 'a>; 4]> = SmallVec::new();
    let mut frame = Frame { graph: root, next: 0, first: 0 };
    loop {
        let graph = frame.graph;
        // A graph has at least one operation.
        let node = &graph.nodes[frame.next];
        let operands = match values.operands(&frame, node) {
            Ok(operands) => operands,
            Err(part) => {
                let inner = Frame { graph: part, next: 0, first: values.open.len() };
                waiting.push(std::mem::replace(&mut frame, inner));
                continue;
            }
        };
        frame.next += 1;
        let is_last = frame.next == graph.nodes.len();
        let is_root = is_last && waiting.is_empty();
        let value = visit(Visit { graph, node, operands, is_root })?;
        if !is_last {
            values.open.push(value);
            continue;
        }
        let Some(outer) = waiting.pop() else { return Ok(value) };
        values.finished.push((address(graph), value));
        values.open.truncate(frame.first);
        frame = outer;
    }
}

impl<V: Copy> Values<V> {
    /// The operands of an operation, or else a graph that has to be walked first.
    fn operands<'b, 'a>(
        &self,
        frame: &Frame<'b, 'a>,
        node: &'b Node,
    ) -> Result<[Item<'b, 'a, V>; 3], &'b Arc<Graph<'a>>> {
        let item = |index: usize| match frame.graph.argument(node, index) {
            Argument::Input(operand) => Ok(Item::Input(operand)),
            Argument::Node(index) => Ok(Item::Value(self.open[frame.first + index])),
            Argument::Part(part) => {
                let own = address(part);
                let known = self.finished.iter().find(|(other, _)| *other == own);
                known.map(|&(_, value)| Item::Value(value)).ok_or(part)
            }
        };
        let mut operands = [item(0)?; 3];
        for (index, operand) in operands.iter_mut().enumerate().take(node.operation.arity()).skip(1)
        {
            *operand = item(index)?;
        }
        Ok(operands)
    }
}

fn address(graph: &Arc<Graph<'_>>) -> *const () {
    Arc::as_ptr(graph).cast()
}
