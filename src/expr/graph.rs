//! The operations of an expression, in the order in which they are computed.
//!
//! An operation on an expression that has not been cloned is added to the end of its graph, so that a chain of
//! operations allocates once. A graph that is shared with a clone stays as it is and becomes a part of a new graph, so
//! that a node that is used twice remains one node.

use std::sync::Arc;

use smallvec::SmallVec;

use super::views::View;
use crate::call::ReduceArguments;
use crate::op::ElementOp;
use crate::{BinaryOp, DType, Operand, ReduceOp, UnaryOp};

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
    /// The first inputs, that is tensors, arrays and numbers. (A `SmallVec` would be invariant, and an expression
    /// could not be used for a shorter lifetime than its own.)
    inline: [Option<Operand<'a>>; 8],
    /// How many inputs there are, in `inline` and in `spill`.
    inputs: usize,
    /// What most graphs do not have, and need not set up and drop.
    spill: Option<Box<Spill<'a>>>,
}

#[derive(Clone, Default)]
struct Spill<'a> {
    /// The inputs that `inline` has no room for.
    inputs: Vec<Operand<'a>>,
    /// Graphs that are shared with other expressions, or too large to be copied.
    parts: Vec<Arc<Graph<'a>>>,
    /// The axes and options of reductions.
    reductions: Vec<ReduceArguments>,
    views: Vec<View>,
}

/// What a node does with its operands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Unary(UnaryOp),
    Cast(DType),
    CastSaturating(DType),
    Bitcast(DType),
    Binary(BinaryOp),
    Select,
    Fma,
    /// The number is the place of its axes and options.
    Reduce(ReduceOp, u16),
    /// A view of its operand, or a packing, by its place.
    View(u16),
}

impl Operation {
    /// Whether each element of the result is computed from those with the same index.
    pub(crate) const fn is_elementwise(self) -> bool {
        !matches!(self, Operation::Reduce(..) | Operation::View(..))
    }

    pub(crate) const fn arity(self) -> usize {
        match self {
            Operation::Unary(_)
            | Operation::Cast(_)
            | Operation::CastSaturating(_)
            | Operation::Bitcast(_)
            | Operation::Reduce(..)
            | Operation::View(..) => 1,
            Operation::Binary(_) => 2,
            Operation::Select | Operation::Fma => 3,
        }
    }

    /// Returns the name, as errors and the printed expression have it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Operation::Unary(op) => op.name(),
            Operation::Cast(_) => "cast",
            Operation::CastSaturating(_) => "cast_saturating",
            Operation::Bitcast(_) => "bitcast",
            Operation::Binary(op) => op.name(),
            Operation::Select => ElementOp::Select.name(),
            Operation::Fma => ElementOp::Fma.name(),
            Operation::Reduce(reduce, _) => reduce.name(),
            // The graph knows which.
            Operation::View(_) => "view",
        }
    }
}

/// One operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) operation: Operation,
    /// Three places of 16 bits in one word, which is compared at once. Those beyond the arity repeat the last.
    places: u64,
}

impl Node {
    #[inline]
    fn new(operation: Operation, [x, y, z]: [Location; 3]) -> Node {
        let word = |place: Location| u64::from(place.0);
        Node { operation, places: word(x) | word(y) << 16 | word(z) << 32 }
    }

    /// Returns an operation on the first inputs.
    #[inline]
    pub(crate) fn on_inputs(operation: Operation) -> Node {
        let last = operation.arity() - 1;
        Node::new(operation, [0, 1.min(last), 2.min(last)].map(Location::input))
    }

    /// Returns where an operand is.
    #[inline]
    pub(crate) fn place(&self, index: usize) -> Location {
        Location((self.places >> (16 * index)) as u16)
    }

    /// Returns the same operation on other operands, or `None` if there is none for one of them.
    pub(super) fn with_operands(
        self,
        mut place: impl FnMut(usize) -> Option<Location>,
    ) -> Option<Node> {
        let mut places = [place(0)?; 3];
        for index in 1..self.operation.arity() {
            places[index..].fill(place(index)?);
        }
        Some(Node::new(self.operation, places))
    }
}

/// Where an operand is: the index of an input, a node or a part, with its kind in the lowest two bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Location(u16);

/// A [`Location`], unpacked.
pub(crate) enum Located {
    Input(usize),
    Node(usize),
    Part(usize),
}

impl Location {
    const BITS: u32 = 2;

    #[inline]
    pub(super) fn input(index: usize) -> Location {
        Location((index << Location::BITS) as u16)
    }

    #[inline]
    pub(super) fn node(index: usize) -> Location {
        Location((index << Location::BITS) as u16 | 1)
    }

    fn part(index: usize) -> Location {
        Location((index << Location::BITS) as u16 | 2)
    }

    #[inline]
    pub(crate) fn located(self) -> Located {
        let index = usize::from(self.0 >> Location::BITS);
        match self.0 & 3 {
            0 => Located::Input(index),
            1 => Located::Node(index),
            _ => Located::Part(index),
        }
    }
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
    /// Returns an operation on one expression.
    pub(super) fn unary(operation: Operation, x: Root<'a>) -> Root<'a> {
        x.then(move |graph, x, _| graph.push(operation, [x; 3]))
    }

    /// Returns an operation on two expressions.
    #[inline]
    pub(super) fn binary(operation: Operation, x: Root<'a>, y: Root<'a>) -> Root<'a> {
        // An input is read where it is used, so operations that are on the right alone come first.
        let is_right_first = matches!((&x, &y), (Root::Input(_), Root::Graph(_)));
        let (first, second) = if is_right_first { (y, x) } else { (x, y) };
        first.then(move |graph, first, can_copy| {
            let (second, _) = graph.operand(second, can_copy);
            let (x, y) = if is_right_first { (second, first) } else { (first, second) };
            graph.push(operation, [x, y, y]);
        })
    }

    /// Returns an operation on three expressions.
    pub(super) fn ternary(operation: Operation, [x, y, z]: [Root<'a>; 3]) -> Root<'a> {
        x.then(move |graph, x, can_copy| {
            let (y, can_copy) = graph.operand(y, can_copy);
            let (z, _) = graph.operand(z, can_copy);
            graph.push(operation, [x, y, z]);
        })
    }

    /// Returns a reduction of an expression.
    pub(super) fn reduction(op: ReduceOp, arguments: ReduceArguments, terms: Root<'a>) -> Root<'a> {
        terms.then(|graph, terms, _| {
            let own = &mut graph.spill().reductions;
            own.push(arguments);
            let place = own.len() as u16 - 1;
            graph.push(Operation::Reduce(op, place), [terms; 3]);
        })
    }

    /// Returns a view of an expression.
    pub(super) fn view(view: View, x: Root<'a>) -> Root<'a> {
        x.then(|graph, x, _| {
            let own = &mut graph.spill().views;
            own.push(view);
            let place = own.len() as u16 - 1;
            graph.push(Operation::View(place), [x; 3]);
        })
    }

    /// Adds an operation to the graph of its first operand, or to a new graph if that one is shared. `add` is given the
    /// place of the operand, and whether operations of the next operand may be copied.
    #[inline]
    fn then(self, add: impl FnOnce(&mut Graph<'a>, Location, bool)) -> Root<'a> {
        let (mut graph, first) = match self {
            Root::Graph(graph) if graph.can_grow() => (graph, None),
            // `default` builds the graph in place; `Arc::new` would copy it there.
            first => (Arc::default(), Some(first)),
        };
        let it = Arc::make_mut(&mut graph);
        let (x, can_copy) = match first {
            None => (it.result(), true),
            Some(first) => it.operand(first, true),
        };
        add(it, x, can_copy);
        Root::Graph(graph)
    }
}

impl<'a> Graph<'a> {
    /// Whether an operation may be added: the graph is not shared, and not too long.
    #[inline]
    fn can_grow(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) == 1 && self.nodes.len() < MAX_LEN
    }

    /// Returns the place of the last result.
    #[inline]
    fn result(&self) -> Location {
        Location::node(self.nodes.len().saturating_sub(1))
    }

    #[inline]
    fn push(&mut self, operation: Operation, places: [Location; 3]) {
        self.nodes.push(Node::new(operation, places));
    }

    /// Adds an input.
    #[inline(always)]
    fn input(&mut self, operand: Operand<'a>) -> Location {
        let index = self.inputs;
        self.inputs += 1;
        match self.inline.get_mut(index) {
            // The place is free: nothing has to be dropped.
            Some(free) => std::mem::forget(free.replace(operand)),
            None => self.spill().inputs.push(operand),
        }
        Location::input(index)
    }

    #[cold]
    fn spill(&mut self) -> &mut Spill<'a> {
        self.spill.get_or_insert_default()
    }

    /// Finds a place for an operand of the operation that will be added next. Operations must not be copied before a
    /// part that is computed first, so none may be after there was one.
    #[inline]
    fn operand(&mut self, operand: Root<'a>, can_copy: bool) -> (Location, bool) {
        match operand {
            Root::Input(operand) => (self.input(operand), can_copy),
            Root::Graph(graph) => self.graph(graph, can_copy),
        }
    }

    fn graph(&mut self, graph: Arc<Graph<'a>>, can_copy: bool) -> (Location, bool) {
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

    fn part(&mut self, graph: Arc<Graph<'a>>) -> Location {
        let parts = &mut self.spill().parts;
        let known = parts.iter().position(|part| Arc::ptr_eq(part, &graph));
        Location::part(known.unwrap_or_else(|| {
            parts.push(graph);
            parts.len() - 1
        }))
    }

    /// Moves the operations of another graph to the end of this one.
    fn append(&mut self, mut other: Graph<'a>) -> Location {
        let (nodes, inputs) = (self.nodes.len(), self.inputs);
        let lengths = |it: &Spill<'_>| (it.parts.len(), it.reductions.len(), it.views.len());
        let (parts, reductions, views) = self.spill.as_deref().map_or((0, 0, 0), lengths);
        let moved = |place: Location| match place.located() {
            Located::Input(index) => Location::input(index + inputs),
            Located::Node(index) => Location::node(index + nodes),
            Located::Part(index) => Location::part(index + parts),
        };
        let node = |node: &Node| {
            let operation = match node.operation {
                Operation::Reduce(op, own) => Operation::Reduce(op, own + reductions as u16),
                Operation::View(own) => Operation::View(own + views as u16),
                other => other,
            };
            Node::new(operation, [0, 1, 2].map(|index| moved(node.place(index))))
        };
        self.nodes.extend(other.nodes.iter().map(node));
        for operand in std::mem::take(&mut other.inline).into_iter().flatten() {
            self.input(operand);
        }
        if let Some(mut spill) = other.spill.take() {
            for operand in spill.inputs {
                self.input(operand);
            }
            let own = self.spill();
            own.parts.append(&mut spill.parts);
            own.reductions.append(&mut spill.reductions);
            own.views.append(&mut spill.views);
        }
        self.result()
    }

    /// Returns the operands of an operation.
    pub(super) fn arguments<'b>(
        &'b self,
        node: &'b Node,
    ) -> impl DoubleEndedIterator<Item = Argument<'b, 'a>> + ExactSizeIterator {
        (0..node.operation.arity()).map(|index| self.argument(node, index))
    }

    /// Returns an operand of an operation.
    #[inline]
    pub(super) fn argument(&self, node: &Node, index: usize) -> Argument<'_, 'a> {
        match node.place(index).located() {
            Located::Input(index) => Argument::Input(self.input_at(index)),
            Located::Node(index) => Argument::Node(index),
            Located::Part(index) => Argument::Part(&self.parts()[index]),
        }
    }

    fn input_at(&self, index: usize) -> &Operand<'a> {
        let more = |index: usize| &self.more()[index - self.inline.len()];
        self.inline.get(index).and_then(Option::as_ref).unwrap_or_else(|| more(index))
    }

    /// Returns the inputs after the first ones that are inline.
    #[inline]
    fn more(&self) -> &[Operand<'a>] {
        self.spill.as_ref().map_or(&[], |spill| &spill.inputs)
    }

    /// Returns the operands in memory and the numbers: the first ones, and the others.
    #[inline]
    pub(super) fn inputs(&self) -> (&[Option<Operand<'a>>], &[Operand<'a>]) {
        (&self.inline[..self.inputs.min(self.inline.len())], self.more())
    }

    /// Returns the graphs that are operands of the operations.
    #[inline]
    pub(super) fn parts(&self) -> &[Arc<Graph<'a>>] {
        self.spill.as_ref().map_or(&[], |spill| &spill.parts)
    }

    /// Returns the name of an operation, as errors and the printed expression have it.
    pub(super) fn name(&self, node: &Node) -> &'static str {
        let view = match node.operation {
            Operation::View(place) => self.view(place),
            _ => None,
        };
        view.map_or(node.operation.name(), |view| view.name)
    }

    /// Returns a view by its place in the graph.
    pub(super) fn view(&self, place: u16) -> Option<&View> {
        self.spill.as_ref()?.views.get(usize::from(place))
    }

    /// Returns the axes and options of a reduction by its place in the graph.
    pub(super) fn reduce_arguments(&self, place: u16) -> Option<&ReduceArguments> {
        self.spill.as_ref()?.reductions.get(usize::from(place))
    }
}

/// Takes a graph apart part by part, since a long chain of parts would overflow the stack if each dropped the next.
impl Drop for Graph<'_> {
    #[inline]
    fn drop(&mut self) {
        let Some(spill) = &mut self.spill else { return };
        while let Some(part) = spill.parts.pop() {
            if let Some(mut graph) = Arc::into_inner(part)
                && let Some(other) = &mut graph.spill
            {
                spill.parts.append(&mut other.parts);
            }
        }
    }
}
