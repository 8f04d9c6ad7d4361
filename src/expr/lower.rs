//! Lowering of a graph of operations to a call.

use super::Expr;
use super::graph::{Operation, Root};
use super::walk::{Item, Visit, walk};
use crate::call::{Call, Elements, Over, Target, Term};
use crate::layout::Shape;
use crate::promote::Rules;
use crate::{DType, Error, Result, Tensor};

/// The largest number of operations in an expression.
const MAX_NODES: usize = 256;

/// The largest number of different tensors and arrays.
const MAX_TENSORS: usize = 16;

/// The largest number of scalar operands.
const MAX_NUMBERS: usize = 128;

/// An expression with every dtype and shape decided.
pub(super) struct Lowered<'a> {
    call: Call<'a>,
    root: Elements<'a>,
    over: Option<Over>,
    /// The name of the last operation, for errors.
    op: &'static str,
}

impl Lowered<'_> {
    pub(super) fn dtype(&self) -> DType {
        self.over.map_or_else(|| self.call.program.dtype(self.root.value), |over| over.rounded)
    }

    pub(super) fn shape(&self) -> Shape {
        let shape = *self.call.shape(self.root.shape);
        self.over.map_or(shape, |over| over.result_shape(&shape))
    }

    pub(super) fn run(self, target: Target<'_>) -> Result<Tensor> {
        self.call.run(self.op, self.root, self.over, target)
    }

    pub(super) fn prepare(self) -> Result<()> {
        self.call.prepare(self.op, self.root, self.over)
    }

    #[cfg(feature = "cuda")]
    pub(super) fn kernels(self) -> Result<Vec<crate::introspect::Kernel>> {
        self.call.kernels(self.op, self.root, self.over)
    }
}

impl Expr<'_> {
    /// Decides every dtype and shape, operands before operations and left before right.
    pub(super) fn lower(&self) -> Result<Lowered<'_>> {
        let mut lowering = Lowering { call: Call::new(), rules: self.rules, nodes: 0, over: None };
        let (root, op) = match &self.root {
            Root::Input(operand) => {
                let op = "expression";
                (lowering.call.operand(operand).elements(op)?, op)
            }
            Root::Graph(graph) => {
                let op = graph.nodes.last().map_or("expression", |node| node.operation.name());
                (walk(graph, |visit| lowering.node(&visit))?, op)
            }
        };
        let Lowering { mut call, over, .. } = lowering;
        call.program.finish(root.value);
        Ok(Lowered { call, root, over, op })
    }
}

struct Lowering<'b> {
    call: Call<'b>,
    rules: Rules,
    /// How many operations have been added.
    nodes: usize,
    /// The reduction at the root.
    over: Option<Over>,
}

impl<'b> Lowering<'b> {
    /// Adds an operand, unless it is there already.
    fn term(&mut self, visit: &Visit<'_, 'b, '_, Elements<'b>>, index: usize) -> Result<Term<'b>> {
        match visit.operand(index) {
            Some(Item::Value(elements)) => Ok(Term::Elements(elements)),
            Some(Item::Input(operand)) => {
                let term = self.call.operand(operand);
                self.check_inputs()?;
                Ok(term)
            }
            None => Err(Error::InvalidArgument {
                op: visit.node.operation.name(),
                reason: "the operands are missing".into(),
            }),
        }
    }

    /// Adds an operation.
    fn node(&mut self, visit: &Visit<'_, 'b, '_, Elements<'b>>) -> Result<Elements<'b>> {
        let node = visit.node;
        let op = || node.operation.name();
        let refused = |reason: String| Error::InvalidArgument { op: op(), reason };
        self.nodes += 1;
        let x = self.term(visit, 0)?;
        match node.operation {
            Operation::Reduce(reduce, arguments) if visit.is_root => {
                let arguments = visit.graph.reduce_arguments(arguments);
                let arguments = arguments.ok_or_else(|| refused("the axes are missing".into()))?;
                let terms = x.elements(op())?;
                let (terms, over) = self.call.reduce(reduce, terms, arguments, self.rules)?;
                self.over = Some(over);
                return Ok(terms);
            }
            Operation::Reduce(..) => {}
            _ if self.nodes > MAX_NODES => {
                return Err(refused(format!(
                    "an expression has at most {MAX_NODES} operations; run a part of it first"
                )));
            }
            _ => {}
        }
        let mut terms = [x; 3];
        for (index, term) in terms.iter_mut().enumerate().take(node.operation.arity()).skip(1) {
            *term = self.term(visit, index)?;
        }
        let result = self.call.operation(node.operation, terms, self.rules)?;
        self.check_inputs()?;
        Ok(result)
    }

    /// Refuses more inputs than a kernel takes.
    fn check_inputs(&self) -> Result<()> {
        let (tensors, numbers) = (self.call.tensors(), self.call.numbers());
        if tensors <= MAX_TENSORS && numbers <= MAX_NUMBERS {
            return Ok(());
        }
        let reason = format!(
            "an expression has at most {MAX_TENSORS} different tensors and {MAX_NUMBERS} numbers; run a part of it first"
        );
        Err(Error::InvalidArgument { op: "expression", reason })
    }
}
