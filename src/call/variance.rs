//! Variances: a pass for the means, and a pass over the distances from them.

use smallvec::SmallVec;

use super::run::{Ready, ReduceAxes};
use crate::layout::Layout;
use crate::op::{ElementOp, ReduceOp};
use crate::program::Program;
use crate::request::Request;
use crate::storage::{Access, Part};
use crate::{DType, Result, Tensor};

impl Ready<'_> {
    /// Calls a function with the two requests of a variance or a deviation. The means are `f64` and not rounded, so that
    /// only the result is.
    pub(super) fn variance(
        &self,
        over: ReduceAxes,
        out: &Tensor,
        access: &Access<'_>,
        mut function: impl FnMut(&Request<'_>, &Access<'_>) -> Result<()>,
    ) -> Result<()> {
        let of_mean = mean_of(over);
        let shape = of_mean.result_shape(&self.shape);
        let mean = Tensor::undefined(self.op, self.device, &shape, DType::F64)?;
        let private = Part::Private(mean.storage());
        let held = (1..self.program.slots()).map(Part::Held);
        let layouts = || self.inputs.iter().map(|(_, layout)| layout);
        {
            let access = access.for_part([private].into_iter().chain(held.clone()));
            self.with_reduction(&self.program, layouts(), of_mean, &mean, |request| {
                function(request, &access)
            })?;
        }
        let mut program = self.program.clone();
        add_distances(&mut program);
        let everywhere = mean.layout().broadcast_to(self.op, &self.shape)?;
        let inputs: SmallVec<[&Layout; 4]> = layouts().chain([&everywhere]).collect();
        let parts = [Part::Held(0)].into_iter().chain(held).chain([private]);
        let access = access.for_part(parts);
        self.with_reduction(&program, inputs, over, out, |request| function(request, &access))
    }
}

/// Returns the reduction that gives the means.
pub(super) fn mean_of(over: ReduceAxes) -> ReduceAxes {
    let (op, rounded) = (ReduceOp::Mean, DType::F64);
    ReduceAxes { op, keepdims: true, rounded, correction: 0.0, ..over }
}

/// Adds the squares of the distances from the means, which are the next input.
pub(super) fn add_distances(program: &mut Program) {
    let term = program.result();
    let center = program.memory(DType::F64);
    let term = program.cast(term, DType::F64);
    let distance = program.apply(ElementOp::Subtract, [term, center]);
    program.apply(ElementOp::Square, [distance]);
}
