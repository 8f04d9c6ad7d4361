//! Lowering of a graph of operations to a call.

use super::Expr;
use super::graph::{Operation, Root};
use super::temporaries::Temporaries;
use super::walk::{Item, Visit, walk};
use crate::call::{Call, Elements, ReduceAxes, Target, Term};
use crate::layout::Shape;
use crate::promote::Rules;
use crate::{DType, Device, Error, Result, Tensor};

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
    over: Option<ReduceAxes>,
    /// The name of the last operation, for errors.
    op: &'static str,
}

/// What is done with the reductions inside an expression, whose results the rest of it reads.
pub(super) enum Stages {
    /// They are computed.
    Run,
    /// Only the dtypes and shapes of their results matter.
    Describe,
    /// What they need is compiled.
    Prepare,
    /// The kernels that would compute them on CUDA are added to the list.
    #[cfg(feature = "cuda")]
    List(Vec<crate::introspect::Kernel>),
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

    /// Carries out a stage whose result the rest of the expression reads, and returns the result. If it is not computed,
    /// there is a tensor like it.
    fn stage(self, stages: &mut Stages) -> Result<Tensor> {
        let stand_in = |lowered: &Lowered<'_>| {
            let opened;
            let device = match lowered.root.device {
                Some(device) => device,
                None => {
                    opened = Device::best()?;
                    &opened
                }
            };
            Tensor::zeros(&*lowered.shape(), lowered.dtype(), device)
        };
        match stages {
            Stages::Run => self.run(Target::default()),
            Stages::Describe => stand_in(&self),
            Stages::Prepare => {
                let result = stand_in(&self)?;
                self.prepare()?;
                Ok(result)
            }
            #[cfg(feature = "cuda")]
            Stages::List(kernels) => {
                let result = stand_in(&self)?;
                kernels.extend(self.kernels()?);
                Ok(result)
            }
        }
    }
}

impl Expr<'_> {
    /// Decides every dtype and shape, operands before operations and left before right.
    ///
    /// The expression is cut into stages at its reductions. What is returned is the last stage, and `stages` says what is
    /// done with the others. Between two stages everything is one pass; a value that two stages use is computed in each.
    pub(super) fn lower<'b>(
        &'b self,
        temporaries: &'b Temporaries,
        stages: &mut Stages,
    ) -> Result<Lowered<'b>> {
        let (call, rules) = (Call::new(), self.rules);
        let mut lowering =
            Lowering { call, rules, nodes: 0, over: None, temporaries, stages, is_cut: false };
        let (root, op) = match &self.root {
            Root::Input(operand) => {
                let op = "expression";
                (lowering.call.operand(operand).elements(op)?, op)
            }
            Root::Graph(graph) => {
                let op = graph.nodes.last().map_or("expression", |node| graph.name(node));
                (walk(graph, |visit| lowering.node(&visit))?, op)
            }
        };
        let Lowering { mut call, over, is_cut, .. } = lowering;
        if is_cut {
            let (part, root) = call.part(root)?;
            check_inputs(&part)?;
            return Ok(Lowered { call: part, root, over, op });
        }
        call.program.finish(root.value);
        Ok(Lowered { call, root, over, op })
    }
}

struct Lowering<'b, 's> {
    call: Call<'b>,
    rules: Rules,
    /// How many operations have been added.
    nodes: usize,
    /// The reduction at the root.
    over: Option<ReduceAxes>,
    temporaries: &'b Temporaries,
    stages: &'s mut Stages,
    /// Whether the call has steps that its result may not need.
    is_cut: bool,
}

impl<'b> Lowering<'b, '_> {
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
                op: visit.graph.name(visit.node),
                reason: "the operands are missing".into(),
            }),
        }
    }

    /// Adds an operation.
    fn node(&mut self, visit: &Visit<'_, 'b, '_, Elements<'b>>) -> Result<Elements<'b>> {
        let node = visit.node;
        let op = || visit.graph.name(node);
        let refused = |reason: String| Error::InvalidArgument { op: op(), reason };
        self.nodes += 1;
        let x = self.term(visit, 0)?;
        let result = match node.operation {
            _ if self.nodes > MAX_NODES => {
                return Err(refused(format!(
                    "an expression has at most {MAX_NODES} operations; run a part of it first"
                )));
            }
            Operation::Reduce(reduce, arguments) => {
                let terms = x.elements(op())?;
                let arguments = visit.graph.reduce_arguments(arguments);
                let arguments = arguments.ok_or_else(|| refused("the axes are missing".into()))?;
                let (terms, over) = self.call.reduce(reduce, terms, arguments, self.rules)?;
                if visit.is_root {
                    self.over = Some(over);
                    return Ok(terms);
                }
                self.is_cut = true;
                let (call, root) = self.call.part(terms)?;
                check_inputs(&call)?;
                let lowered = Lowered { call, root, over: Some(over), op: op() };
                let result = lowered.stage(self.stages)?;
                self.call.tensor(self.temporaries.keep(result))
            }
            Operation::View(view) => {
                let x = x.elements(op())?;
                let view = visit.graph.view(view);
                let view = view.ok_or_else(|| refused("the view is missing".into()))?;
                self.is_cut = true;
                let keep = |tensor| self.temporaries.keep(tensor);
                let viewed = self.call.viewed(op(), x, |tensor| view.of(tensor), keep)?;
                viewed.ok_or_else(|| refused("a number has no dimensions to view".into()))?
            }
            operation => {
                let mut terms = [x; 3];
                for (index, term) in terms.iter_mut().enumerate().take(operation.arity()).skip(1) {
                    *term = self.term(visit, index)?;
                }
                self.call.operation(operation, terms, self.rules)?
            }
        };
        self.check_inputs()?;
        Ok(result)
    }

    /// Refuses more inputs than a kernel takes. If there are steps that the result may not need, this is done later.
    fn check_inputs(&self) -> Result<()> {
        if self.is_cut { Ok(()) } else { check_inputs(&self.call) }
    }
}

/// Refuses more inputs than a kernel takes.
fn check_inputs(call: &Call<'_>) -> Result<()> {
    let (most, things) = match (call.tensors(), call.numbers()) {
        (tensors, _) if tensors > MAX_TENSORS => (MAX_TENSORS, "different tensors"),
        (_, numbers) if numbers > MAX_NUMBERS => (MAX_NUMBERS, "numbers"),
        _ => return Ok(()),
    };
    let reason =
        format!("one pass of an expression has at most {most} {things}; run a part of it first");
    Err(Error::InvalidArgument { op: "expression", reason })
}
