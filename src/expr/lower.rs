//! Lowering of a graph of operations to a call.

use super::Expr;
use super::graph::{Operation, Root};
use super::split::Split;
use super::temporaries::Temporaries;
use super::views::ViewStep;
use super::walk::{Item, Visit, walk};
#[cfg(feature = "cpu")]
use crate::backend;
#[cfg(feature = "cpu")]
use crate::call::rows::{self, Stage};
use crate::call::{Call, Elements, ReduceAxes, ShapeId, Target, Term};
use crate::layout::{Shape, boxed};
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
    /// The shape of the result, if it is computed with finer dimensions.
    whole: Option<Shape>,
    /// The result, if it has been computed.
    finished: Option<Tensor>,
    /// The name of the last operation, for errors.
    op: &'static str,
    /// The stages that have to be run before.
    pending: Vec<Pending<'a>>,
}

/// A stage that has not been run, and the tensor that it is to fill.
struct Pending<'a> {
    stage: Lowered<'a>,
    result: &'a Tensor,
}

impl Pending<'_> {
    fn run(self) -> Result<()> {
        let target = Target { out: Some(self.result), mask: None };
        self.stage.run(target).map(drop)
    }
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

impl Stages {
    /// Whether there is something to compute, so that memory is needed.
    pub(super) fn is_run(&self) -> bool {
        matches!(self, Stages::Run)
    }
}

impl<'a> Lowered<'a> {
    pub(super) fn dtype(&self) -> DType {
        self.over.map_or_else(|| self.call.program.dtype(self.root.value), |over| over.rounded)
    }

    pub(super) fn shape(&self) -> Shape {
        self.whole.unwrap_or_else(|| self.computed_shape())
    }

    /// Returns the shape in which the result is computed.
    fn computed_shape(&self) -> Shape {
        let shape = *self.call.shape(self.root.shape);
        self.over.map_or(shape, |over| over.result_shape(&shape))
    }

    pub(super) fn run(mut self, target: Target<'_>) -> Result<Tensor> {
        let pending = std::mem::take(&mut self.pending);
        #[cfg(feature = "cpu")]
        if !pending.is_empty() {
            return self.run_after(pending, target);
        }
        for stage in pending {
            stage.run()?;
        }
        if let (Some(result), None, None) = (&self.finished, target.out, target.mask) {
            return Ok(result.clone());
        }
        let Some(whole) = self.whole else {
            return self.call.run(self.op, self.root, self.over, target);
        };
        let device = self.device(target)?;
        let fresh;
        let out = match target.out {
            Some(out) => out,
            None => {
                fresh = Tensor::undefined(self.op, &device, &whole, self.dtype())?;
                &fresh
            }
        };
        device.expect_same(self.op, out.device())?;
        if out.shape() != &*whole {
            let (destination, result) = (boxed(out.shape()), boxed(&whole));
            return Err(Error::InplaceShape { op: self.op, destination, result });
        }
        // A shape that others refine can always be split into theirs.
        let fine = self.computed_shape();
        let split = out.reshape(&*fine)?;
        let mask = match target.mask {
            Some(mask) if target.out.is_some() && mask.dtype() == DType::Bool => {
                let layout = mask.layout().broadcast_to("mask", &whole)?;
                Some(mask.with_layout(layout).reshape(&*fine)?)
            }
            other => other.cloned(),
        };
        let destination = target.out.is_some() || mask.is_none();
        let target = Target { out: destination.then_some(&split), mask: mask.as_ref() };
        self.call.run(self.op, self.root, self.over, target)?;
        Ok(out.clone())
    }

    /// Runs stages and then this one, those at the end block by block if they share rows.
    #[cfg(feature = "cpu")]
    fn run_after(self, pending: Vec<Pending<'a>>, target: Target<'_>) -> Result<Tensor> {
        let (shape, dtype) = (self.shape(), self.dtype());
        let is_plain = self.finished.is_none() && self.whole.is_none() && target.mask.is_none();
        let fresh = match target.out {
            None if is_plain => {
                Some(Tensor::undefined(self.op, &self.device(target)?, &shape, dtype)?)
            }
            _ => None,
        };
        let target = Target { out: target.out.or(fresh.as_ref()), ..target };
        let fits = |out: &&Tensor| {
            out.shape() == &*shape
                && out.dtype() == dtype
                && backend::has_executables(out.device())
                && !out.layout().overlaps_itself()
        };
        if let Some(out) = target.out.filter(|_| is_plain).filter(fits) {
            let stages = pending.iter().map(|pending| pending.stage.to_fill(pending.result));
            let stages: Vec<Stage<'_, 'a>> = stages.chain([self.to_fill(out)]).collect();
            if rows::run(&stages)? {
                return Ok(out.clone());
            }
        }
        pending.into_iter().try_for_each(Pending::run)?;
        self.run(target)
    }

    /// Returns the computation with the tensor that it is to fill.
    #[cfg(feature = "cpu")]
    fn to_fill<'s>(&'s self, out: &'s Tensor) -> Stage<'s, 'a> {
        Stage { op: self.op, call: &self.call, root: self.root, over: self.over, out }
    }

    /// Returns the device on which the result is computed.
    fn device(&self, target: Target<'_>) -> Result<Device> {
        let given = self.root.device.or(target.out.or(target.mask).map(Tensor::device));
        given.cloned().map_or_else(Device::best, Ok)
    }

    pub(super) fn prepare(self) -> Result<()> {
        if self.finished.is_some() {
            return Ok(());
        }
        self.call.prepare(self.op, self.root, self.over)
    }

    #[cfg(feature = "cuda")]
    pub(super) fn kernels(self) -> Result<Vec<crate::introspect::Kernel>> {
        if self.finished.is_some() {
            return Ok(Vec::new());
        }
        self.call.kernels(self.op, self.root, self.over)
    }

    /// Carries out a stage whose result the rest of the expression reads, and returns the result. If it is not computed,
    /// there is a tensor like it.
    fn stage(self, stages: &mut Stages) -> Result<Tensor> {
        let stand_in = |lowered: &Lowered<'_>| {
            let device = lowered.device(Target::default())?;
            Tensor::without_memory(lowered.op, &device, &lowered.shape(), lowered.dtype())
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
        let mut packings = Packings::None;
        match self.lower_with(&mut packings, temporaries, stages) {
            // Packing reads tensors of its own, so that there may be too many for one pass.
            Err(error) if is_too_wide(&error) && packings == Packings::Within => {
                self.lower_with(&mut Packings::Apart, temporaries, stages)
            }
            lowered => lowered,
        }
    }

    fn lower_with<'b>(
        &'b self,
        packings: &mut Packings,
        temporaries: &'b Temporaries,
        stages: &mut Stages,
    ) -> Result<Lowered<'b>> {
        let (call, rules) = (Call::new(), self.rules);
        let mut lowering = Lowering {
            call,
            rules,
            nodes: 0,
            over: None,
            whole: None,
            finished: None,
            packings,
            temporaries,
            stages,
            is_cut: false,
            stored: Vec::new(),
            pending: Vec::new(),
        };
        let (root, op) = match &self.root {
            Root::Input(operand) => {
                let op = "expression";
                (lowering.call.operand(operand).elements(op)?.into(), op)
            }
            Root::Graph(graph) => {
                let op = graph.nodes.last().map_or("expression", |node| graph.name(node));
                (walk(graph, |visit| lowering.node(&visit))?, op)
            }
        };
        let Lowering { mut call, over, whole, finished, is_cut, pending, .. } = lowering;
        let Split { elements: root, whole: own } = root;
        let whole = if over.is_some() { whole } else { own.map(|whole| *call.shape(whole)) };
        if is_cut {
            let (part, root) = call.part(root)?;
            check_inputs(&part)?;
            return Ok(Lowered { call: part, root, over, whole, finished, op, pending });
        }
        call.program.finish(root.value);
        Ok(Lowered { call, root, over, whole, finished, op, pending })
    }
}

/// How values are packed and unpacked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Packings {
    /// There has been nothing to pack or unpack.
    None,
    /// In the pass that computes or uses the values.
    Within,
    /// In a pass of their own.
    Apart,
}

pub(super) struct Lowering<'b, 's> {
    pub(super) call: Call<'b>,
    rules: Rules,
    /// The number of operations that have been added.
    nodes: usize,
    /// The reduction at the root.
    over: Option<ReduceAxes>,
    /// The shape of its result, if it is computed with finer dimensions.
    whole: Option<Shape>,
    /// The result, if the root has been computed.
    pub(super) finished: Option<Tensor>,
    pub(super) packings: &'s mut Packings,
    pub(super) temporaries: &'b Temporaries,
    pub(super) stages: &'s mut Stages,
    /// Whether the call has steps that its result may not need.
    pub(super) is_cut: bool,
    /// Values that have been computed for a view of them, and what the rest reads in their place.
    pub(super) stored: Vec<(Elements<'b>, Elements<'b>)>,
    /// The stages that have not been run.
    pending: Vec<Pending<'b>>,
}

/// An operand of an operation: a number, or elements and their shape if that is not the one they are computed in.
pub(super) type SplitTerm<'b> = (Term<'b>, Option<ShapeId>);

impl<'b> Lowering<'b, '_> {
    /// Adds an operand, unless it is there already.
    fn term(
        &mut self,
        visit: &Visit<'_, 'b, '_, Split<'b>>,
        index: usize,
    ) -> Result<SplitTerm<'b>> {
        match visit.operand(index) {
            Some(Item::Value(split)) => {
                Ok((Term::Elements(self.stored_or_own(split.elements)), split.whole))
            }
            Some(Item::Input(operand)) => {
                let term = self.call.operand(operand);
                self.check_inputs()?;
                Ok((term, None))
            }
            None => Err(Error::InvalidArgument {
                op: visit.graph.name(visit.node),
                reason: "the operands are missing".into(),
            }),
        }
    }

    /// Returns the elements in memory in place of a value that has been computed, and else the value.
    fn stored_or_own(&self, own: Elements<'b>) -> Elements<'b> {
        let is_own = |known: &Elements<'_>| (known.value, known.shape) == (own.value, own.shape);
        self.stored.iter().find(|(known, _)| is_own(known)).map_or(own, |&(_, stored)| stored)
    }

    /// Adds an operation.
    fn node(&mut self, visit: &Visit<'_, 'b, '_, Split<'b>>) -> Result<Split<'b>> {
        let node = visit.node;
        let op = || visit.graph.name(node);
        let refused = |reason: String| Error::InvalidArgument { op: op(), reason };
        self.nodes += 1;
        let x = self.term(visit, 0)?;
        let operand = || Ok(Split { elements: x.0.elements(op())?, whole: x.1 });
        let result = match node.operation {
            _ if self.nodes > MAX_NODES => {
                return Err(refused(format!(
                    "an expression has at most {MAX_NODES} operations; run a part of it first"
                )));
            }
            Operation::Reduce(reduce, arguments) => {
                let terms = operand()?;
                let arguments = visit.graph.reduce_arguments(arguments);
                let arguments = arguments.ok_or_else(|| refused("the axes are missing".into()))?;
                let (terms, over, whole) = self.over(reduce, terms, arguments, self.rules)?;
                self.reduced(op(), terms, over, whole, visit.is_root)?
            }
            Operation::View(view) => {
                let x = operand()?;
                let view = visit.graph.view(view);
                let view = view.ok_or_else(|| refused("the view is missing".into()))?;
                match &view.step {
                    ViewStep::Of(of) => {
                        let x = self.settled(op(), x)?;
                        self.view(op(), x, |tensor| of(tensor))?.into()
                    }
                    ViewStep::Reshape(sizes) => self.reshaped(x, sizes)?,
                    ViewStep::Packing(step) => step.lower(self, x, visit.is_root)?,
                }
            }
            operation => {
                let mut terms = [x; 3];
                for (index, term) in terms.iter_mut().enumerate().take(operation.arity()).skip(1) {
                    *term = self.term(visit, index)?;
                }
                let whole = self.aligned(op(), &mut terms[..operation.arity()])?;
                let terms = terms.map(|(term, _)| term);
                Split { elements: self.call.operation(operation, terms, self.rules)?, whole }
            }
        };
        self.check_inputs()?;
        Ok(result)
    }

    /// Ends a pass with a reduction: at the root it is the result, and elsewhere it is carried out.
    pub(super) fn reduced(
        &mut self,
        op: &'static str,
        terms: Elements<'b>,
        over: ReduceAxes,
        whole: Option<Shape>,
        is_root: bool,
    ) -> Result<Split<'b>> {
        if is_root {
            (self.over, self.whole) = (Some(over), whole);
            return Ok(terms.into());
        }
        self.staged(op, terms, Some(over), whole)
    }

    /// Carries out a stage, and adds its result.
    pub(super) fn staged(
        &mut self,
        op: &'static str,
        root: Elements<'b>,
        over: Option<ReduceAxes>,
        whole: Option<Shape>,
    ) -> Result<Split<'b>> {
        self.is_cut = true;
        let (call, root) = self.call.part(root)?;
        check_inputs(&call)?;
        let pending = Vec::new();
        let stage = Lowered { call, root, over, whole, finished: None, op, pending };
        let result = if let Some(result) = self.postponed(&stage)? {
            let result = self.temporaries.keep(result);
            self.pending.push(Pending { stage, result });
            result
        } else {
            self.run_pending()?;
            self.temporaries.keep(stage.stage(self.stages)?)
        };
        Ok(self.call.tensor(result).into())
    }

    /// Returns the tensor for the result of a stage that may be run later: a reduction on the CPU, where stages share the
    /// passes over their rows.
    fn postponed(&self, stage: &Lowered<'_>) -> Result<Option<Tensor>> {
        #[cfg(feature = "cpu")]
        if let (Stages::Run, Some(_), None) = (&*self.stages, stage.over, stage.whole) {
            let device = stage.device(Target::default())?;
            if backend::has_executables(&device) {
                let (shape, dtype) = (stage.shape(), stage.dtype());
                return Tensor::undefined(stage.op, &device, &shape, dtype).map(Some);
            }
        }
        let _ = stage;
        Ok(None)
    }

    /// Runs the stages that have been postponed, before something reads their results.
    pub(super) fn run_pending(&mut self) -> Result<()> {
        if !self.stages.is_run() {
            return Ok(());
        }
        self.pending.drain(..).try_for_each(Pending::run)
    }

    /// Refuses more inputs than a kernel takes. If there are steps that the result may not need, this is done later.
    fn check_inputs(&self) -> Result<()> {
        if self.is_cut { Ok(()) } else { check_inputs(&self.call) }
    }
}

/// The name of the operation in the error of too many inputs.
const PASS: &str = "expression";

/// Whether a pass has been refused by [`check_inputs`].
fn is_too_wide(error: &Error) -> bool {
    matches!(error, Error::InvalidArgument { op: PASS, .. })
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
    Err(Error::InvalidArgument { op: PASS, reason })
}
