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
    #[inline]
    fn push(&mut self, operand: Operand<'a>) -> u16 {
        match self.few.get_mut(self.len) {
            Some(free) => *free = operand,
            None => self.more.push(operand),
        }
        self.len += 1;
        self.len as u16 - 1
    }

    #[inline]
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
    /// An operation on one expression.
    pub(super) fn unary(operation: Operation, x: Root<'a>) -> Root<'a> {
        let (mut graph, x, _) = x.open();
        Arc::make_mut(&mut graph).push(operation, [x; 3]);
        Root::Graph(graph)
    }

    /// An operation on two expressions.
    #[inline]
    pub(super) fn binary(operation: Operation, x: Root<'a>, y: Root<'a>) -> Root<'a> {
        match (x, y) {
            (Root::Input(x), Root::Input(y)) => Root::Graph(Graph::of_inputs(operation, x, y)),
            // An input is read when it is used, so the operations on the right come first.
            (Root::Input(x), Root::Graph(mut graph)) if graph.can_grow() => {
                let it = Arc::make_mut(&mut graph);
                let (x, y) = (Place::Input(it.inputs.push(x)), it.result());
                it.push(operation, [x, y, y]);
                Root::Graph(graph)
            }
            (x, y) => {
                let (mut graph, x, can_copy) = x.open();
                let it = Arc::make_mut(&mut graph);
                let (y, _) = it.operand(y, can_copy);
                it.push(operation, [x, y, y]);
                Root::Graph(graph)
            }
        }
    }

    /// An operation on three expressions.
    pub(super) fn ternary(operation: Operation, [x, y, z]: [Root<'a>; 3]) -> Root<'a> {
        let (mut graph, x, can_copy) = x.open();
        let it = Arc::make_mut(&mut graph);
        let (y, can_copy) = it.operand(y, can_copy);
        let (z, _) = it.operand(z, can_copy);
        it.push(operation, [x, y, z]);
        Root::Graph(graph)
    }

    /// A reduction of an expression.
    pub(super) fn reduction(reduce: Reduce, axes: &[usize], terms: Root<'a>) -> Root<'a> {
        let (mut graph, terms, _) = terms.open();
        let it = Arc::make_mut(&mut graph);
        it.axes.push(axes.into());
        it.push(Operation::Reduce(reduce, it.axes.len() as u16 - 1), [terms; 3]);
        Root::Graph(graph)
    }

    /// A graph that nobody else holds, to which an operation with this first operand can be added; the place of the operand,
    /// and whether operations of the next one may be copied.
    #[inline]
    fn open(self) -> (Arc<Graph<'a>>, Place, bool) {
        match self {
            Root::Graph(graph) if graph.can_grow() => {
                let place = graph.result();
                (graph, place, true)
            }
            other => {
                let mut graph = Graph::default();
                let (place, can_copy) = graph.operand(other, true);
                (Arc::new(graph), place, can_copy)
            }
        }
    }
}

impl<'a> Graph<'a> {
    /// A new graph of one operation.
    fn of_inputs(operation: Operation, x: Operand<'a>, y: Operand<'a>) -> Arc<Graph<'a>> {
        let nothing = || Operand::from(Scalar::Int(0));
        let places = [Place::Input(0), Place::Input(1), Place::Input(1)];
        let mut nodes = SmallVec::new();
        nodes.push(Node { operation, places });
        let few = [x, y, nothing(), nothing()];
        let inputs = Inputs { few, more: Vec::new(), len: 2 };
        Arc::new(Graph { nodes, inputs, parts: Vec::new(), axes: Vec::new() })
    }

    /// Whether an operation may be added: nobody else holds the graph.
    #[inline]
    fn can_grow(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) == 1 && self.nodes.len() < MAX_LEN
    }

    /// The place of the last result.
    #[inline]
    fn result(&self) -> Place {
        Place::Node((self.nodes.len() as u16).saturating_sub(1))
    }

    #[inline]
    fn push(&mut self, operation: Operation, places: [Place; 3]) {
        self.nodes.push(Node { operation, places });
    }

    /// Finds a place for an operand of the operation that will be added next. Operations must not be copied before a part that
    /// is computed first, so none may be after there was one.
    #[inline]
    fn operand(&mut self, operand: Root<'a>, can_copy: bool) -> (Place, bool) {
        match operand {
            Root::Input(operand) => (Place::Input(self.inputs.push(operand)), can_copy),
            Root::Graph(graph) => self.graph(graph, can_copy),
        }
    }

    fn graph(&mut self, graph: Arc<Graph<'a>>, can_copy: bool) -> (Place, bool) {
        let is_short =
            graph.nodes.len() <= MAX_COPIED && self.nodes.len() + graph.nodes.len() < MAX_LEN;
        if !(can_copy && is_short) {
            return (self.part(graph), false);
        }
        match Arc::try_unwrap(graph) {
            Ok(graph) => (self.append(graph), true),
            Err(graph) => (self.part(graph), false),
        }
    }

    fn part(&mut self, graph: Arc<Graph<'a>>) -> Place {
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
        self.result()
    }

    /// The operands of an operation.
    pub(super) fn arguments<'b>(
        &'b self,
        node: &'b Node,
    ) -> impl DoubleEndedIterator<Item = Argument<'b, 'a>> + ExactSizeIterator {
        (0..node.operation.arity()).map(|index| self.argument(node, index))
    }

    /// An operand of an operation.
    #[inline]
    pub(super) fn argument(&self, node: &Node, index: usize) -> Argument<'_, 'a> {
        match node.places[index] {
            Place::Input(index) => Argument::Input(self.inputs.get(index)),
            Place::Node(index) => Argument::Node(usize::from(index)),
            Place::Part(index) => Argument::Part(&self.parts[usize::from(index)]),
        }
    }

    /// Graphs that are operands of the operations.
    pub(super) fn parts(&self) -> &[Arc<Graph<'a>>] {
        &self.parts
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
