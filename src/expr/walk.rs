//! Traversal of a graph: every operation once, after its operands.

use std::sync::Arc;

use smallvec::SmallVec;

use super::graph::{Argument, Graph, Node};
use crate::Operand;

/// An operand of an operation: an input, or the value that was computed for another operation.
#[derive(Clone, Copy)]
pub(super) enum Item<'b, 'a, V> {
    Input(&'b Operand<'a>),
    Value(V),
}

/// An operation that is being visited.
pub(super) struct Visit<'w, 'b, 'a, V> {
    pub(super) graph: &'b Graph<'a>,
    pub(super) node: &'b Node,
    /// Whether it is the last operation of the whole graph.
    pub(super) is_root: bool,
    first: usize,
    values: &'w Values<V>,
}

/// A graph whose traversal is not finished.
struct OpenGraph<'b, 'a> {
    graph: &'b Arc<Graph<'a>>,
    /// The next operation.
    next: usize,
    /// The index of its first value among those of all open graphs.
    first: usize,
}

/// The values of the operations visited so far.
struct Values<V> {
    /// Those of open graphs; the values of a graph are contiguous.
    open: SmallVec<[V; 8]>,
    /// The result of each finished graph, by its address.
    finished: SmallVec<[(*const (), V); 4]>,
}

/// Calls `visit` for every operation, operands before operations and left before right, and returns the value of the
/// last. There is no recursion, so that no depth overflows the stack.
#[inline]
pub(super) fn walk<'b, 'a, V: Copy, E>(
    root: &'b Arc<Graph<'a>>,
    mut visit: impl FnMut(Visit<'_, 'b, 'a, V>) -> Result<V, E>,
) -> Result<V, E> {
    let mut values = Values { open: SmallVec::new(), finished: SmallVec::new() };
    let mut waiting: SmallVec<[OpenGraph<'b, 'a>; 4]> = SmallVec::new();
    let mut frame = OpenGraph { graph: root, next: 0, first: 0 };
    loop {
        let graph = frame.graph;
        // A graph has at least one operation.
        let node = &graph.nodes[frame.next];
        if let Some(part) = values.missing(graph, node) {
            let inner = OpenGraph { graph: part, next: 0, first: values.open.len() };
            waiting.push(std::mem::replace(&mut frame, inner));
            continue;
        }
        frame.next += 1;
        let is_last = frame.next == graph.nodes.len();
        let is_root = is_last && waiting.is_empty();
        let value = visit(Visit { graph, node, is_root, first: frame.first, values: &values })?;
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
    /// Returns a part that has to be traversed before an operation.
    #[inline]
    fn missing<'b, 'a>(&self, graph: &'b Graph<'a>, node: &'b Node) -> Option<&'b Arc<Graph<'a>>> {
        if graph.parts().is_empty() {
            return None;
        }
        graph.arguments(node).find_map(|argument| match argument {
            Argument::Part(part) if self.finished(part).is_none() => Some(part),
            _ => None,
        })
    }

    fn finished(&self, part: &Arc<Graph<'_>>) -> Option<V> {
        let own = address(part);
        self.finished.iter().find(|(other, _)| *other == own).map(|&(_, value)| value)
    }
}

impl<'b, 'a, V: Copy> Visit<'_, 'b, 'a, V> {
    /// Returns an operand; all of them have been visited.
    #[inline]
    pub(super) fn operand(&self, index: usize) -> Option<Item<'b, 'a, V>> {
        Some(match self.graph.argument(self.node, index) {
            Argument::Input(operand) => Item::Input(operand),
            Argument::Node(index) => Item::Value(*self.values.open.get(self.first + index)?),
            Argument::Part(part) => Item::Value(self.values.finished(part)?),
        })
    }
}

fn address(graph: &Arc<Graph<'_>>) -> *const () {
    Arc::as_ptr(graph).cast()
}
