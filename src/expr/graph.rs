//! The operations of an expression, in the order in which they are computed.
//!
//! An operation on an expression that nobody else holds is added to the end of its graph, so that a chain of operations
//! allocates once. A graph that somebody else holds too stays as it is, and becomes a part of a new one: so a
//! node that is used twice is the same node.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::op::ElementOp;
use crate::ops::Reduce;
use crate::{BinaryOp, DType, Operand, Scalar};

/// The most operations of a graph; a longer expression is made of several.
const MAX_LEN: usize = 256;

/// Graphs with more operations than this are not copied into another one.
const MAX_COPIED: usize = 16;

/// What an expression is: an input, or operations.
#[derive(Clone)]
pub(super) enum Root<'a> {
    Input(Operand<'a>),
    /// The result of the last operation.
    Graph(Arc<Graph<'a>>),
}

/// Operations, each after its operands and those of an operation from left to right.
#[derive(Clone, Default)]
pub(super) struct Graph<'a> {
    pub(super) nodes: SmallVec<[Node; 8]>,
    inputs: Inputs<'a>,
    /// Graphs that are used elsewhere too, or are too large to be copied.
    parts: Vec<Arc<Graph<'a>>>,
    /// The axes of reductions.
    axes: Vec<Box<[usize]>>,
}

/// Operands in memory and numbers. (A `SmallVec` would not let an expression be used for a shorter lifetime than its own.)
#[derive(Clone)]
struct Inputs<'a> {
    few: [Operand<'a>; FEW],
    more: Vec<Operand<'a>>,
    len: usize,
}

/// How many inputs need no allocation of their own.
const FEW: usize = 4;

impl Default for Inputs<'_> {
    fn default() -> Self {
        // Numbers stand where there is no input yet.
        let nothing = || Operand::from(Scalar::Int(0));
        Inputs { few: std::array::from_fn(|_| nothing()), more: Vec::new(), len: 0 }
    }
}

impl<'a> Inputs<'a> {
    /// Adds an input, and gives its place.
    fn push(&mut self, operand: Operand<'a>) -> u16 {
        match self.few.get_mut(self.len) {
            Some(free) => *free = operand,
            None => self.more.push(operand),
        }
        self.len += 1;
        self.len as u16 - 1
    }

    fn get(&self, place: u16) -> &Operand<'a> {
        let place = usize::from(place);
        self.few.get(place).unwrap_or_else(|| &self.more[place - FEW])
    }

    /// Moves the inputs of others to the end.
    fn append(&mut self, others: Inputs<'a>) {
        for operand in others.few.into_iter().chain(others.more).take(others.len) {
            self.push(operand);
        }
    }
}

/// What a node does with its operands.
#[derive(Clone, Copy)]
pub(super) enum Operation {
    Unary(ElementOp),
    Cast(DType),
    Binary(BinaryOp),
    Select,
    /// Allowed at the root only. The number is the place of its axes.
    Reduce(Reduce, u16),
}

impl Operation {
    pub(super) const fn arity(self) -> usize {
        match self {
            Operation::Unary(_) | Operation::Cast(_) | Operation::Reduce(..) => 1,
            Operation::Binary(_) => 2,
            Operation::Select => 3,
        }
    }

    /// The name, as errors and the printed expression have it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Operation::Unary(op) => op.name(),
            Operation::Cast(_) => "cast",
            Operation::Binary(op) => op.name(),
            Operation::Select => ElementOp::Select.name(),
            Operation::Reduce(reduce, _) => reduce.name(),
        }
    }
}

/// One operation.
#[derive(Clone, Copy)]
pub(super) struct Node {
    pub(super) operation: Operation,
    /// Those beyond the arity mean nothing.
    places: [Place; 3],
}

/// Where an operand is.
#[derive(Clone, Copy)]
enum Place {
    Input(u16),
    Node(u16),
    Part(u16),
}

/// An operand of an operation.
#[derive(Clone, Copy)]
pub(super) enum Argument<'b, 'a> {
    Input(&'b Operand<'a>),
    /// The result of an earlier operation of the same graph.
    Node(usize),
    /// The result of another graph.
    Part(&'b Arc<Graph<'a>>),
}

impl<'a> Root<'a> {
    /// A reduction of an expression.
    pub(super) fn reduction(reduce: Reduce, axes: &[usize], terms: Root<'a>) -> Root<'a> {
        let mut root = Root::node(Operation::Reduce(reduce, 0), [terms]);
        if let Root::Graph(graph) = &mut root {
            Arc::make_mut(graph).set_axes(axes);
        }
        root
    }

    /// An operation on expressions.
    pub(super) fn node<const N: usize>(operation: Operation, operands: [Root<'a>; N]) -> Root<'a> {
        let mut operands = operands.map(Some);
        // Only the first graph can be extended, since its operations come before those of the others.
        let first = operands.iter_mut().find(|operand| matches!(operand, Some(Root::Graph(_))));
        let mut own = None;
        if let Some(first) = first
            && matches!(first, Some(Root::Graph(graph)) if graph.can_grow())
        {
            own = first.take();
        }
        let (mut graph, is_extended) = match own {
            Some(Root::Graph(graph)) => (graph, true),
            _ => (Arc::default(), false),
        };
        // Nobody else holds it, so nothing is cloned.
        let it = Arc::make_mut(&mut graph);
        let mut places = [Place::Node((it.nodes.len() as u16).saturating_sub(1)); 3];
        // Operations must not be put before a part that is computed first.
        let mut can_copy = is_extended;
        for (place, operand) in places.iter_mut().zip(operands) {
            if let Some(operand) = operand {
                *place = it.operand(operand, &mut can_copy);
            }
        }
        it.nodes.push(Node { operation, places });
        Root::Graph(graph)
    }
}

impl<'a> Graph<'a> {
    /// Whether an operation may be added: nobody else holds the graph.
    fn can_grow(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) == 1 && self.nodes.len() < MAX_LEN
    }

    /// Finds a place for an operand of the operation that will be added next.
    fn operand(&mut self, operand: Root<'a>, can_copy: &mut bool) -> Place {
        let graph = match operand {
            Root::Input(operand) => {
                return Place::Input(self.inputs.push(operand));
            }
            Root::Graph(graph) => graph,
        };
        let is_short = graph.nodes.len() <= MAX_COPIED.min(MAX_LEN - 1 - self.nodes.len());
        if !(*can_copy && is_short) {
            return self.part(graph, can_copy);
        }
        match Arc::try_unwrap(graph) {
            Ok(graph) => self.append(graph),
            Err(graph) => self.part(graph, can_copy),
        }
    }

    /// Sets the axes of the reduction that was added last.
    fn set_axes(&mut self, axes: &[usize]) {
        let place = self.axes.len() as u16;
        if let Some(Node { operation: Operation::Reduce(_, own), .. }) = self.nodes.last_mut() {
            *own = place;
            self.axes.push(axes.into());
        }
    }

    fn part(&mut self, graph: Arc<Graph<'a>>, can_copy: &mut bool) -> Place {
        *can_copy = false;
        let known = self.parts.iter().position(|part| Arc::ptr_eq(part, &graph));
        Place::Part(known.unwrap_or_else(|| {
            self.parts.push(graph);
            self.parts.len() - 1
        }) as u16)
    }

    /// Moves the operations of another graph to the end of this one.
    fn append(&mut self, mut other: Graph<'a>) -> Place {
        let [nodes, inputs, parts, axes] =
            [self.nodes.len(), self.inputs.len, self.parts.len(), self.axes.len()]
                .map(|len| len as u16);
        let moved = |place: Place| match place {
            Place::Input(index) => Place::Input(index + inputs),
            Place::Node(index) => Place::Node(index + nodes),
            Place::Part(index) => Place::Part(index + parts),
        };
        let node = |node: &Node| Node {
            operation: match node.operation {
                Operation::Reduce(reduce, own) => Operation::Reduce(reduce, own + axes),
                other => other,
            },
            places: node.places.map(moved),
        };
        self.nodes.extend(other.nodes.iter().map(node));
        self.inputs.append(std::mem::take(&mut other.inputs));
        self.parts.append(&mut other.parts);
        self.axes.append(&mut other.axes);
        Place::Node(self.nodes.len() as u16 - 1)
    }

    /// The operands of an operation.
    pub(super) fn arguments<'b>(
        &'b self,
        node: &'b Node,
    ) -> impl DoubleEndedIterator<Item = Argument<'b, 'a>> + ExactSizeIterator {
        (0..node.operation.arity()).map(|index| self.argument(node, index))
    }

    /// An operand of an operation.
    pub(super) fn argument(&self, node: &Node, index: usize) -> Argument<'_, 'a> {
        match node.places[index] {
            Place::Input(index) => Argument::Input(self.inputs.get(index)),
            Place::Node(index) => Argument::Node(usize::from(index)),
            Place::Part(index) => Argument::Part(&self.parts[usize::from(index)]),
        }
    }

    /// The axes of a reduction.
    pub(super) fn axes(&self, place: u16) -> &[usize] {
        self.axes.get(usize::from(place)).map_or(&[], |axes| axes)
    }
}

/// Takes a graph apart part by part, since a long chain of parts would overflow the stack if each dropped the next.
impl Drop for Graph<'_> {
    fn drop(&mut self) {
        let mut waiting = std::mem::take(&mut self.parts);
        while let Some(part) = waiting.pop() {
            if let Some(mut graph) = Arc::into_inner(part) {
                waiting.append(&mut graph.parts);
            }
        }
    }
}
