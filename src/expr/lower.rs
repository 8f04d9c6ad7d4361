//! From a graph of nodes to a call.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Child, Expr, Node, Operation};
use crate::call::{Call, Elements, Over, Target, Term};
use crate::layout::Shape;
use crate::op::ElementOp;
use crate::promote::Rules;
use crate::{DType, Error, Result, Tensor};

/// The largest number of operations in an expression.
const MAX_NODES: usize = 256;

/// The largest number of different tensors and arrays.
const MAX_TENSORS: usize = 16;

/// The largest number of numbers.
const MAX_NUMBERS: usize = 128;

/// An expression with every dtype and shape decided.
pub(super) struct Lowered<'a> {
    call: Call<'a>,
    root: Elements<'a>,
    over: Option<Over>,
    /// The last operation, for messages.
    op: &'static str,
}

impl Lowered<'_> {
    pub(super) fn dtype(&self) -> DType {
        self.over.map_or_else(|| self.call.program.dtype(self.root.value), |over| over.rounded)
    }

    pub(super) fn shape(&self) -> Shape {
        self.over.map_or(self.root.shape, |over| self.root.shape.without(&over.axes))
    }

    pub(super) fn run(self, target: Target<'_>) -> Result<Tensor> {
        self.call.run(self.op, self.root, self.over, target)
    }

    pub(super) fn prepare(self) -> Result<()> {
        self.call.prepare(self.op, self.root, self.over)
    }

    #[cfg(feature = "cuda")]
    pub(super) fn kernels(self) -> Result<Vec<crate::introspect::Generated>> {
        self.call.kernels(self.op, self.root, self.over)
    }
}

impl Operation {
    /// The name, as errors and the printed expression have it.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Operation::Unary(op) => op.name(),
            Operation::Cast(_) => "cast",
            Operation::Binary(op) => op.name(),
            Operation::Select => ElementOp::Select.name(),
            Operation::Reduce(reduce, _) => reduce.name(),
        }
    }
}

impl<'a> Expr<'a> {
    /// Decides every dtype and shape, operands before operations and left before right.
    pub(super) fn lower(&self) -> Result<Lowered<'_>> {
        let mut lowering = Lowering { call: Call::new(), shared: SmallVec::new(), nodes: 0 };
        let (body, reduce) = match &self.root {
            Child::Node(node) => match (&node.operation, &node.children[0]) {
                (Operation::Reduce(reduce, axes), Some(terms)) => (terms, Some((*reduce, axes))),
                _ => (&self.root, None),
            },
            Child::Input(_) => (&self.root, None),
        };
        let mut op = match body {
            Child::Node(node) => node.operation.name(),
            Child::Input(_) => "expression",
        };
        let root = lowering.graph(body, self.rules)?;
        let mut call = lowering.call;
        op = reduce.map_or(op, |(reduce, _)| reduce.name());
        let mut root = elements(op, root)?;
        let mut over = None;
        if let Some((reduce, axes)) = reduce {
            let (terms, axes) = reduce.of(&mut call, root, axes)?;
            (root, over) = (terms, Some(axes));
        }
        call.program.finish(root.value);
        Ok(Lowered { call, root, over, op })
    }
}

/// Refuses a number where there must be elements.
fn elements<'a>(op: &'static str, term: Term<'a>) -> Result<Elements<'a>> {
    match term {
        Term::Elements(elements) => Ok(elements),
        Term::Number(scalar) => {
            let reason = format!(
                "the operand is the number {scalar}; at least one operand must be a tensor"
            );
            Err(Error::InvalidArgument { op, reason })
        }
    }
}

struct Lowering<'a> {
    call: Call<'a>,
    /// What has become of the nodes that may be used again.
    shared: SmallVec<[(*const Node<'a>, Term<'a>); 8]>,
    /// How many nodes there were.
    nodes: usize,
}

/// What is left to do with a child.
enum Task<'b, 'a> {
    Visit(&'b Child<'a>),
    /// The operands are on the stack of results.
    Combine(&'b Arc<Node<'a>>),
}

impl<'b> Lowering<'b> {
    /// Walks a graph without recursion, so that no depth overflows the stack.
    fn graph<'a: 'b>(&mut self, root: &'b Child<'a>, rules: Rules) -> Result<Term<'b>> {
        let mut tasks: SmallVec<[Task<'b, 'a>; 16]> = SmallVec::new();
        let mut results: SmallVec<[Term<'b>; 8]> = SmallVec::new();
        tasks.push(Task::Visit(root));
        while let Some(task) = tasks.pop() {
            match task {
                Task::Visit(Child::Input(operand)) => {
                    results.push(self.call.operand(operand));
                    self.check_inputs()?;
                }
                Task::Visit(Child::Node(node)) => match self.known(node) {
                    Some(term) => results.push(term),
                    None => {
                        tasks.push(Task::Combine(node));
                        for operand in node.children.iter().rev().flatten() {
                            tasks.push(Task::Visit(operand));
                        }
                    }
                },
                Task::Combine(node) => {
                    let arity = node.children.iter().take_while(|child| child.is_some()).count();
                    let first = results.len().saturating_sub(arity);
                    let term = Term::Elements(self.combine(node, &results[first..], rules)?);
                    results.truncate(first);
                    results.push(term);
                    if Arc::strong_count(node) > 1 {
                        self.shared.push((Arc::as_ptr(node).cast(), term));
                    }
                }
            }
        }
        results.pop().ok_or_else(|| Error::InvalidArgument {
            op: "expression",
            reason: "there is nothing to compute".into(),
        })
    }

    /// What a node that has been computed already has become.
    fn known(&self, node: &Arc<Node<'_>>) -> Option<Term<'b>> {
        let address: *const Node<'b> = Arc::as_ptr(node).cast();
        self.shared.iter().find(|(other, _)| *other == address).map(|&(_, term)| term)
    }

    fn combine(
        &mut self,
        node: &Node<'_>,
        operands: &[Term<'b>],
        rules: Rules,
    ) -> Result<Elements<'b>> {
        let op = || node.operation.name();
        let refused = |reason: String| Error::InvalidArgument { op: op(), reason };
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(refused(format!(
                "an expression has at most {MAX_NODES} operations; run a part of it first"
            )));
        }
        let result = match (&node.operation, operands) {
            (Operation::Unary(unary), &[x]) => self.call.unary(*unary, elements(op(), x)?)?,
            (Operation::Cast(dtype), &[x]) => self.call.cast(elements(op(), x)?, *dtype),
            (Operation::Binary(binary), &[x, y]) => self.call.binary(*binary, x, y, rules)?,
            (Operation::Select, &[condition, x, y]) => self.call.select(condition, x, y, rules)?,
            (Operation::Reduce(..), _) => {
                return Err(refused(format!(
                    "a {} must be the last step of an expression; run it first",
                    op()
                )));
            }
            _ => return Err(refused("the operands are missing".into())),
        };
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
