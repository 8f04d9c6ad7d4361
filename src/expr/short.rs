//! The fast path of an expression: a few operations on contiguous tensors of one shape.
//!
//! Each thread remembers the loops of the expressions it has run last. Programs evaluate the same few expressions
//! again and again, and on few elements promoting and looking up the loops takes longer than running them.

use std::cell::RefCell;
use std::sync::Arc;

use smallvec::SmallVec;

use super::Expr;
use super::graph::{Graph, Located, Node, Operation, Place, Root};
use super::walk::{Item, Visit, walk};
use crate::Result;
use crate::call::Target;
use crate::call::chain::{Chain, Operands, Signature, Value};
use crate::call::short::Done;
use crate::promote::Rules;

/// The most operations of an expression that takes this path.
const MAX_NODES: usize = 8;

/// The most expressions a thread remembers.
const MAX_KNOWN: usize = 16;

thread_local! {
    static RECENT: RefCell<Recent> = const { RefCell::new(Recent::new()) };
}

/// The expressions that a thread has run last.
struct Recent {
    known: Vec<Known>,
    /// The one that was run last.
    last: usize,
    /// The one that is forgotten next.
    oldest: usize,
}

/// The loops of an expression, and everything they depend on. Elements, sizes and the values of numbers are not part
/// of it.
struct Known {
    nodes: SmallVec<[Node; MAX_NODES]>,
    operands: Signature,
    rules: Rules,
    chain: Chain,
    /// The result of the last operation.
    result: Value,
}

impl Expr<'_> {
    /// Computes the expression, or returns `None` if the general path has to, including for every error but a lack of
    /// memory.
    #[inline]
    pub(super) fn run_short<'b>(&'b self, target: Target<'b>) -> Option<Result<Done<'b>>> {
        let Root::Graph(graph) = &self.root else { return None };
        let mut operands = Operands::new();
        let flat;
        let nodes = if graph.parts().is_empty() {
            graph.inputs().try_for_each(|operand| operands.add(operand))?;
            &graph.nodes
        } else {
            flat = flatten(graph, &mut operands)?;
            &flat
        };
        let run = |recent: &RefCell<Recent>| {
            let mut recent = recent.try_borrow_mut().ok()?;
            let known = recent.get(nodes, &operands, self.rules)?;
            // SAFETY: what is known is of these nodes and of operands with this signature.
            unsafe { known.chain.run(known.result, &operands, target) }
        };
        // A thread that is ending may have forgotten everything already.
        RECENT.try_with(run).ok()?
    }
}

/// Returns the operations of a graph and of its parts as one list, or `None` if there are too many.
fn flatten<'b>(
    graph: &'b Arc<Graph<'_>>,
    operands: &mut Operands<'b>,
) -> Option<SmallVec<[Node; MAX_NODES]>> {
    let mut nodes: SmallVec<[Node; MAX_NODES]> = SmallVec::new();
    let mut add = |visit: &Visit<'_, 'b, '_, usize>| {
        let node = visit.node.on(|index| {
            Some(match visit.operand(index)? {
                Item::Value(node) => Place::node(node),
                Item::Input(operand) => {
                    operands.add(operand)?;
                    Place::input(operands.len() - 1)
                }
            })
        })?;
        if nodes.len() == MAX_NODES {
            return None;
        }
        nodes.push(node);
        Some(nodes.len() - 1)
    };
    walk(graph, |visit| add(&visit).ok_or(())).ok()?;
    Some(nodes)
}

impl Recent {
    const fn new() -> Recent {
        Recent { known: Vec::new(), last: 0, oldest: 0 }
    }

    /// Finds an expression, or adds it; `None` if it cannot take this path.
    #[inline]
    fn get(&mut self, nodes: &[Node], operands: &Operands<'_>, rules: Rules) -> Option<&mut Known> {
        let is_it = |known: &Known| {
            known.operands == *operands.signature()
                && known.rules == rules
                && known.nodes[..] == *nodes
        };
        if !self.known.get(self.last).is_some_and(is_it) {
            // Expressions tend to come in the same order, so the next one is tried first.
            let (before, after) = self.known.split_at(self.last);
            let mut others = (self.last..).zip(after).chain((0..).zip(before));
            self.last = match others.find(|(_, known)| is_it(known)) {
                Some((index, _)) => index,
                None => self.add(Known::new(nodes, operands, rules)?),
            };
        }
        self.known.get_mut(self.last)
    }

    /// Adds an expression, in place of the oldest if there are too many.
    fn add(&mut self, known: Known) -> usize {
        let index = self.oldest;
        self.oldest = (index + 1) % MAX_KNOWN;
        match self.known.get_mut(index) {
            Some(oldest) => *oldest = known,
            None => self.known.push(known),
        }
        index
    }
}

impl Known {
    /// Looks up the loops of an expression.
    #[cold]
    fn new(nodes: &[Node], operands: &Operands<'_>, rules: Rules) -> Option<Known> {
        if nodes.len() > MAX_NODES {
            return None;
        }
        let mut chain = Chain::new(rules, operands)?;
        let mut results: SmallVec<[Value; MAX_NODES]> = SmallVec::new();
        for node in nodes {
            let value = |index: usize| match node.place(index).located() {
                Located::Input(operand) => operands.value(operand),
                Located::Node(node) => results.get(node).copied(),
                Located::Part(_) => None,
            };
            let result = match node.operation {
                Operation::Binary(op) => chain.binary(op, value(0)?, value(1)?),
                Operation::Unary(op) => chain.unary(op.element(), value(0)?),
                Operation::Cast(dtype) => chain.cast(value(0)?, dtype),
                Operation::Select => chain.select(value(0)?, value(1)?, value(2)?),
                Operation::Bitcast(_)
                | Operation::Fma
                | Operation::Reduce(..)
                | Operation::View(..) => None,
            };
            results.push(result?);
        }
        let (operands, result) = (*operands.signature(), *results.last()?);
        Some(Known { nodes: SmallVec::from_slice(nodes), operands, rules, chain, result })
    }
}
