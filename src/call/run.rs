//! Running a computation: its destination, its locks and its request to the backend.

use smallvec::SmallVec;

use super::reduce::refusal_of_nothing;
use super::{Call, Elements};
use crate::backend;
use crate::layout::{Layout, MAX_RANK, Shape, boxed};
use crate::op::ReduceOp;
use crate::operand::InMemory;
use crate::overlap::{Alias, alias};
use crate::plan::{OUT, Plan};
use crate::program::Program;
use crate::request::{Reduction, Request};
use crate::storage::{Access, Part};
use crate::{DType, Device, Error, Result, Tensor};

/// A reduction over some dimensions of what the program computes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReduceAxes {
    pub(crate) op: ReduceOp,
    /// Which dimensions are reduced.
    pub(crate) axes: [bool; MAX_RANK],
    /// Whether the result keeps the reduced dimensions, with size 1.
    pub(crate) keepdims: bool,
    /// The dtype of the result, to which the total is rounded once.
    pub(crate) rounded: DType,
    /// What a variance subtracts from the number of terms.
    pub(crate) correction: f64,
}

impl ReduceAxes {
    /// Returns the shape of the result of a reduction of elements of this shape.
    pub(crate) fn result_shape(&self, shape: &Shape) -> Shape {
        if self.keepdims {
            shape.only(&self.axes.map(|axis| !axis))
        } else {
            shape.without(&self.axes)
        }
    }

    /// Returns the layout of the destination with the reduced dimensions, which have size 1.
    pub(super) fn destination(&self, shape: &Shape, out: &Layout) -> Layout {
        let removed = (0..shape.len()).filter(|&axis| self.axes[axis] && !self.keepdims);
        removed.fold(*out, |layout, axis| layout.with_unit_axis(axis))
    }

    /// Returns what the total of a mean, a variance or a deviation of such terms is divided by.
    pub(super) fn divisor(&self, terms: &Plan) -> f64 {
        (terms.len as f64 - self.correction).max(0.0)
    }
}

/// Plans a reduction: the loops over the results, and the loops over the terms of one of them. The layouts have the shape,
/// except for the first one, that of the destination, whose reduced dimensions have size 1.
pub(super) fn reduction_plans(
    op: &'static str,
    shape: &Shape,
    axes: &[bool; MAX_RANK],
    layouts: &[Layout],
) -> Result<(Plan, Plan)> {
    // Each plan iterates over its own dimensions; those of the other have size 1.
    let part = |reduced: bool| -> SmallVec<[Layout; 4]> {
        let first_of_others = |layout: &Layout| {
            let others = (0..shape.len()).filter(|&axis| axes[axis] != reduced);
            others.fold(*layout, |layout, axis| layout.first_of(axis))
        };
        layouts.iter().map(first_of_others).collect()
    };
    let kept = part(false);
    let mut reduced = part(true);
    let sizes = shape.only(axes);
    reduced[OUT] = reduced[OUT].broadcast_to(op, &sizes)?;
    Ok((Plan::new(kept[OUT].shape(), &kept), Plan::in_order(&sizes, &reduced)))
}

/// Where the result goes: a new tensor, or a given one, of which a mask may select the elements that are written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Target<'a> {
    pub(crate) out: Option<&'a Tensor>,
    pub(crate) mask: Option<&'a Tensor>,
}

/// A computation whose operands are all in place.
pub(super) struct Ready<'a> {
    pub(super) op: &'static str,
    pub(super) device: &'a Device,
    pub(super) program: Program,
    /// The shape of what the program computes.
    pub(super) shape: Shape,
    over: Option<ReduceAxes>,
    /// The shape and dtype of the result.
    result: (Shape, DType),
    pub(super) inputs: SmallVec<[(&'a Tensor, Layout); 4]>,
}

impl<'a> Call<'a> {
    /// Computes a value of the program, or a reduction of it, and returns the destination.
    ///
    /// # Errors
    ///
    /// For the destination [`Error::DeviceMismatch`], [`Error::InplaceShape`], [`Error::InplaceDtype`],
    /// [`Error::OverlappingDestination`]; [`Error::InvalidArgument`] for a mask that is not bool or has no
    /// destination, [`Error::Broadcast`] for one of another shape; [`Error::InvalidShape`] or
    /// [`Error::OutOfMemory`] for a result that is too large; and what the device says.
    pub(crate) fn run(
        self,
        op: &'static str,
        root: Elements<'_>,
        over: Option<ReduceAxes>,
        target: Target<'_>,
    ) -> Result<Tensor> {
        self.with_ready(op, root, over, target, |ready| match target.out {
            Some(out) => {
                ready.check_destination(out)?;
                let mask = target.mask.map(|mask| ready.broadcast_mask(mask)).transpose()?;
                ready.run_into(out, mask.as_ref())?;
                Ok(out.clone())
            }
            None if target.mask.is_some() => Err(Error::InvalidArgument {
                op,
                reason: "a mask needs a destination, which holds what the mask leaves alone; \
                         give one with `out`"
                    .into(),
            }),
            None => ready.run_fresh(),
        })
    }

    /// Compiles what [`run`](Call::run) without a destination will need, and runs nothing.
    pub(crate) fn prepare(
        self,
        op: &'static str,
        root: Elements<'_>,
        over: Option<ReduceAxes>,
    ) -> Result<()> {
        self.with_ready(op, root, over, Target::default(), |ready| {
            ready.prepare(|request, access| backend::prepare(ready.device, request, access))
        })
    }

    /// Returns the kernels that [`run`](Call::run) without a destination would launch on CUDA, wherever the operands are.
    #[cfg(feature = "cuda")]
    pub(crate) fn kernels(
        self,
        op: &'static str,
        root: Elements<'_>,
        over: Option<ReduceAxes>,
    ) -> Result<Vec<crate::introspect::Kernel>> {
        let mut kernels = Vec::new();
        self.with_ready(op, root, over, Target::default(), |ready| {
            ready.prepare(|request, _| {
                kernels.extend(backend::cuda::kernels_for(request)?);
                Ok(())
            })
        })?;
        Ok(kernels)
    }

    /// Uploads arrays of the host to the device, and calls a function with the computation.
    fn with_ready<T>(
        self,
        op: &'static str,
        root: Elements<'_>,
        over: Option<ReduceAxes>,
        target: Target<'_>,
        function: impl FnOnce(&mut Ready<'_>) -> Result<T>,
    ) -> Result<T> {
        let shape = *self.shape(root.shape);
        let Call { mut program, inputs: sources, .. } = self;
        match over {
            Some(_) => program.finish_terms(root.value),
            None => program.finish(root.value),
        }
        let device = root.device.or(target.out.or(target.mask).map(Tensor::device));
        let opened;
        let device = match device {
            Some(device) => device,
            None => {
                opened = Device::best()?;
                &opened
            }
        };
        for tensor in target.out.into_iter().chain(target.mask) {
            device.expect_same(op, tensor.device())?;
        }
        let mut uploaded: SmallVec<[Tensor; 1]> = SmallVec::new();
        for source in &sources {
            if let Some(array) = source.upload(device) {
                uploaded.push(array?);
            }
        }
        let mut arrays = uploaded.iter();
        let mut inputs = SmallVec::new();
        for source in &sources {
            let tensor = match source {
                InMemory::Tensor(tensor) => Some(*tensor),
                #[cfg(feature = "ndarray")]
                InMemory::Array(_) => arrays.next(),
            };
            #[cfg(not(feature = "ndarray"))]
            let _ = &mut arrays;
            if let Some(tensor) = tensor {
                inputs.push((tensor, tensor.layout().broadcast_to(op, &shape)?));
            }
        }
        let result = match over {
            Some(over) => (over.result_shape(&shape), over.rounded),
            None => (shape, program.dtype(program.result())),
        };
        function(&mut Ready { op, device, program, shape, over, result, inputs })
    }
}

impl Ready<'_> {
    /// Refuses a destination that the result does not fit.
    fn check_destination(&self, out: &Tensor) -> Result<()> {
        let (op, (shape, result)) = (self.op, self.result);
        if out.shape() != &*shape {
            let (destination, result) = (boxed(out.shape()), boxed(&shape));
            return Err(Error::InplaceShape { op, destination, result });
        }
        let destination = out.dtype();
        if result.category() > destination.category() {
            return Err(Error::InplaceDtype { op, destination, result });
        }
        if out.layout().overlaps_itself() {
            let (shape, strides) = (boxed(out.shape()), out.strides().into());
            return Err(Error::OverlappingDestination { op, shape, strides });
        }
        Ok(())
    }

    /// Broadcasts a mask, which must be bool, to the shape of the result.
    fn broadcast_mask(&self, mask: &Tensor) -> Result<Tensor> {
        if mask.dtype() != DType::Bool {
            let reason = format!("the mask is {}, not bool; cast or compare it", mask.dtype());
            return Err(Error::InvalidArgument { op: self.op, reason });
        }
        Ok(mask.with_layout(mask.layout().broadcast_to("mask", &self.result.0)?))
    }

    /// Computes into a new tensor.
    fn run_fresh(&self) -> Result<Tensor> {
        let out = self.undefined(self.result.1)?;
        self.launch(&out, None, &self.lock(&out, None))?;
        Ok(out)
    }

    /// Allocates a tensor of the result's shape, whose elements are undefined.
    fn undefined(&self, dtype: DType) -> Result<Tensor> {
        Tensor::undefined(self.op, self.device, &self.result.0, dtype)
    }

    /// Computes into a given tensor, through a temporary if it partly overlaps an operand, or if a reduction has to be
    /// converted or masked.
    fn run_into(&mut self, out: &Tensor, mask: Option<&Tensor>) -> Result<()> {
        let mask_alias = match mask {
            Some(mask) => alias_of(out, mask, mask.layout()),
            None => Alias::Disjoint,
        };
        let mut inputs = self.inputs.iter().map(|(tensor, layout)| alias_of(out, tensor, layout));
        let temporary = match self.over {
            None => {
                mask_alias == Alias::Overlapping || inputs.any(|alias| alias == Alias::Overlapping)
            }
            // An element of the result may be written while other reductions still read the storage.
            Some(over) => {
                mask.is_some()
                    || over.rounded != out.dtype()
                    || inputs.any(|alias| alias != Alias::Disjoint)
            }
        };
        drop(inputs);
        if self.over.is_none() {
            let result = self.program.result();
            self.program.cast(result, out.dtype());
        }
        if !temporary {
            return self.launch(out, mask, &self.lock(out, mask));
        }
        let result = self.undefined(self.over.map_or(out.dtype(), |over| over.rounded))?;
        // The mask has to be read before the destination is written, too.
        let mask_copy = match (mask, mask_alias) {
            (Some(mask), Alias::Overlapping) => Some((mask, self.undefined(DType::Bool)?)),
            _ => None,
        };
        // The locks are held over the two or three launches, so that others see them as one.
        let access = self.lock(out, mask);
        let inputs = self.program.slots();
        let private = Part::Private(result.storage());
        self.launch(
            &result,
            None,
            &access.for_part([private].into_iter().chain((1..inputs).map(Part::Held))),
        )?;
        let mut parts: SmallVec<[Part<'_>; 3]> = SmallVec::from_slice(&[Part::Held(OUT), private]);
        let mut masking = mask.map(Tensor::layout);
        if let Some((mask, copy)) = &mask_copy {
            let private_mask = Part::Private(copy.storage());
            let access = access.for_part([private_mask, Part::Held(inputs)]);
            self.copy(copy, mask, None, &access)?;
            parts.push(private_mask);
            masking = Some(copy.layout());
        } else if mask.is_some() {
            parts.push(Part::Held(inputs));
        }
        self.copy(out, &result, masking, &access.for_part(parts))
    }

    /// Locks what a launch reads and writes.
    fn lock<'b>(&'b self, out: &'b Tensor, mask: Option<&'b Tensor>) -> Access<'b> {
        let inputs = self.inputs.iter().map(|(tensor, _)| *tensor);
        Access::new([out].into_iter().chain(inputs).chain(mask).map(Tensor::storage))
    }

    /// Copies one tensor of the result's shape to another, converted, where the mask is true.
    fn copy(
        &self,
        to: &Tensor,
        from: &Tensor,
        mask: Option<&Layout>,
        access: &Access<'_>,
    ) -> Result<()> {
        let mut program = Program::new();
        let value = program.memory(from.dtype());
        program.cast(value, to.dtype());
        self.elementwise(&program, to, [from.layout()], mask, access)
    }

    /// Calls the backend to compute all of `out`, which has the dtype of the result.
    fn launch(&self, out: &Tensor, mask: Option<&Tensor>, access: &Access<'_>) -> Result<()> {
        match self.over {
            Some(over) => self.reduce(over, out, access, |request, access| {
                backend::run(self.device, request, access)
            }),
            None => {
                let inputs = self.inputs.iter().map(|(_, layout)| layout);
                self.elementwise(&self.program, out, inputs, mask.map(Tensor::layout), access)
            }
        }
    }

    fn elementwise<'b>(
        &self,
        program: &Program,
        out: &'b Tensor,
        inputs: impl IntoIterator<Item = &'b Layout>,
        mask: Option<&'b Layout>,
        access: &Access<'_>,
    ) -> Result<()> {
        let layouts = [out.layout()].into_iter().chain(inputs).chain(mask);
        let plan = Plan::new(out.shape(), layouts);
        if plan.len == 0 {
            return Ok(());
        }
        let request = Request {
            op: self.op,
            program,
            plan: &plan,
            out: out.dtype(),
            masked: mask.is_some(),
            reduction: None,
        };
        backend::run(self.device, &request, access)
    }

    /// Calls a function with the requests of a reduction, in order.
    pub(super) fn reduce(
        &self,
        over: ReduceAxes,
        out: &Tensor,
        access: &Access<'_>,
        mut function: impl FnMut(&Request<'_>, &Access<'_>) -> Result<()>,
    ) -> Result<()> {
        if out.is_empty() {
            Ok(())
        } else if self.shape.contains(&0) {
            self.empty_reduction(over, out, access)
        } else if over.op.takes_correction() {
            self.variance(over, out, access, function)
        } else {
            let inputs = self.inputs.iter().map(|(_, layout)| layout);
            self.with_reduction(&self.program, inputs, over, out, |request| {
                function(request, access)
            })
        }
    }

    /// Makes the request for a reduction: the loops over the results, and the loops over the terms of one of them. There must
    /// be a result and a term.
    pub(super) fn with_reduction<'b>(
        &self,
        program: &Program,
        inputs: impl IntoIterator<Item = &'b Layout>,
        over: ReduceAxes,
        out: &Tensor,
        function: impl FnOnce(&Request<'_>) -> Result<()>,
    ) -> Result<()> {
        let destination = over.destination(&self.shape, out.layout());
        let inputs = inputs.into_iter().copied();
        let layouts: SmallVec<[Layout; 4]> = std::iter::once(destination).chain(inputs).collect();
        let (plan, terms) = reduction_plans(self.op, &self.shape, &over.axes, &layouts)?;
        let divisor = over.divisor(&terms);
        function(&Request {
            op: self.op,
            program,
            plan: &plan,
            out: out.dtype(),
            masked: false,
            reduction: Some(Reduction { op: over.op, terms: &terms, divisor }),
        })
    }

    /// Fills the destination with the reduction of no terms.
    fn empty_reduction(&self, over: ReduceAxes, out: &Tensor, access: &Access<'_>) -> Result<()> {
        let Some(value) = over.op.of_nothing() else {
            return Err(refusal_of_nothing(over.op, &self.shape));
        };
        let mut program = Program::new();
        program.number(over.rounded, value.wrap_to_element(over.rounded));
        let only_destination = access.for_part([Part::Held(OUT)]);
        self.elementwise(&program, out, [], None, &only_destination)
    }

    /// Makes the request for a new result without running it.
    fn prepare(
        &self,
        mut function: impl FnMut(&Request<'_>, &Access<'_>) -> Result<()>,
    ) -> Result<()> {
        // A destination that is never written. New memory is aligned whatever its size, so none is needed.
        let out = Tensor::without_memory(self.op, self.device, &self.result.0, self.result.1)?;
        let access = self.lock(&out, None);
        if let Some(over) = self.over {
            if self.shape.contains(&0) {
                return Ok(());
            }
            return self.reduce(over, &out, &access, function);
        }
        let inputs = self.inputs.iter().map(|(_, layout)| layout);
        let plan = Plan::new(out.shape(), [out.layout()].into_iter().chain(inputs));
        if plan.len == 0 {
            return Ok(());
        }
        let request = Request {
            op: self.op,
            program: &self.program,
            plan: &plan,
            out: out.dtype(),
            masked: false,
            reduction: None,
        };
        function(&request, &access)
    }
}

/// Determines the relation between a destination and a tensor that is read through a layout.
pub(super) fn alias_of(out: &Tensor, tensor: &Tensor, layout: &Layout) -> Alias {
    if !tensor.shares_storage(out) {
        return Alias::Disjoint;
    }
    alias((out.layout(), out.dtype().size()), (layout, tensor.dtype().size()))
}
