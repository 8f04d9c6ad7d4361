//! Stages that share rows: computations of which each reads results of earlier ones, but only in the same row.
//!
//! All of them are run on one block of rows before the next block. So what several of them read comes from memory once, and
//! from the cache after that. The order of a reduction depends on the number of its terms alone, so that the bits are those
//! of the same stages run one after another.

use smallvec::SmallVec;

use super::run::{ReduceAxes, Target, alias_of, reduction_plans};
use super::variance::{add_distances, mean_of};
use super::{Call, Elements};
use crate::backend;
use crate::layout::{Layout, MAX_RANK, Shape};
use crate::operand::InMemory;
use crate::overlap::Alias;
use crate::plan::{OUT, Plan};
use crate::program::Program;
use crate::request::{RowLoops, RowStage, RowsRequest};
use crate::storage::Access;
use crate::{DType, Result, Tensor};

/// A computation and the tensor that it is to fill.
pub(crate) struct Stage<'s, 'a> {
    pub(crate) op: &'static str,
    pub(crate) call: &'s Call<'a>,
    pub(crate) root: Elements<'a>,
    pub(crate) over: Option<ReduceAxes>,
    /// It has the shape and the dtype of the result, on the CPU.
    pub(crate) out: &'s Tensor,
}

/// Runs stages, those at the end block by block if they share rows; returns `false`, without running any, if they do not.
/// The results of all but the last are new tensors that nobody else has.
pub(crate) fn run(stages: &[Stage<'_, '_>]) -> Result<bool> {
    for first in 0..stages.len().saturating_sub(1) {
        let (before, together) = stages.split_at(first);
        if share(together, before)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Runs stages block by block, after some that are run one after another, if they share rows.
fn share(stages: &[Stage<'_, '_>], before: &[Stage<'_, '_>]) -> Result<bool> {
    let mean = |stage: &Stage<'_, '_>| -> Result<Option<Tensor>> {
        let Some(over) = stage.over.filter(|over| over.op.takes_correction()) else {
            return Ok(None);
        };
        let shape = mean_of(over).result_shape(stage.call.shape(stage.root.shape));
        Tensor::undefined(stage.op, stage.out.device(), &shape, DType::F64).map(Some)
    };
    let means = stages.iter().map(mean).collect::<Result<Vec<_>>>()?;
    let mut passes = Vec::with_capacity(stages.len());
    for (stage, mean) in stages.iter().zip(&means) {
        let Some(pass) = Pass::new(stage)? else { return Ok(false) };
        match mean {
            None => passes.push(pass),
            Some(mean) => passes.extend(pass.of_variance(mean)?),
        }
    }
    let Some(axes) = row_axes(&passes).filter(|&axes| are_apart(&passes, axes)) else {
        return Ok(false);
    };
    let slots = || passes.iter().flat_map(|pass| pass.tensors.iter().zip(&pass.layouts));
    let starts: SmallVec<[Layout; 16]> = slots()
        .map(|(_, layout)| (axes..layout.rank()).fold(*layout, |layout, _| layout.at(axes, 0)))
        .collect();
    let rows = Plan::in_order(&passes[0].shape[..axes], &starts);
    let Some(block) = backend::cpu::rows_of_a_block(&rows, bytes_of_a_row(slots(), axes)) else {
        return Ok(false);
    };
    for Stage { op, call, root, over, out } in before {
        Call::clone(call).run(op, *root, *over, Target { out: Some(out), mask: None })?;
    }
    run_blocks(&passes, axes, &rows, block)?;
    Ok(true)
}

/// Runs passes over rows on one block after another: on so many iterations of the innermost loop over rows.
fn run_blocks(passes: &[Pass<'_>], axes: usize, rows: &Plan, block: usize) -> Result<()> {
    let mut first = 0;
    let mut stages = Vec::with_capacity(passes.len());
    for pass in passes {
        let slots = &rows.slots[first..];
        let strides: SmallVec<[isize; 4]> = slots.iter().map(|slot| slot.strides[0]).collect();
        first += pass.layouts.len();
        let rest = rows.sizes[0] % block;
        stages.push(RowStage {
            op: pass.op,
            program: pass.program.clone(),
            out: pass.tensors[OUT].dtype(),
            reduce: pass.over.map(|over| over.op),
            whole: pass.loops(axes, block, &strides)?,
            rest: (rest > 0).then(|| pass.loops(axes, rest, &strides)).transpose()?,
        });
    }
    // The slots of the request come after the one that is locked for writing.
    let written = passes.last().map(|pass| pass.tensors[OUT]);
    let tensors = passes.iter().flat_map(|pass| pass.tensors.iter().copied());
    let access = Access::new(written.into_iter().chain(tensors).map(Tensor::storage));
    backend::cpu::run_rows(&RowsRequest { rows, block, stages: &stages }, &access)
}

/// A pass over some elements.
struct Pass<'a> {
    op: &'static str,
    program: Program,
    /// The shape of what the program computes.
    shape: Shape,
    over: Option<ReduceAxes>,
    /// The destination and the inputs.
    tensors: SmallVec<[&'a Tensor; 4]>,
    /// Where they have the elements of the shape. The dimensions over which the pass reduces have size 1 in the destination.
    layouts: SmallVec<[Layout; 4]>,
}

impl<'a> Pass<'a> {
    /// Returns `None` if the stage reads arrays, which have to be uploaded.
    fn new(stage: &Stage<'a, '_>) -> Result<Option<Pass<'a>>> {
        let (op, call, over, out) = (stage.op, stage.call, stage.over, stage.out);
        let shape = *call.shape(stage.root.shape);
        let mut program = call.program.clone();
        match over {
            Some(_) => program.finish_terms(stage.root.value),
            None => program.finish(stage.root.value),
        }
        let destination = over.map_or(*out.layout(), |over| over.destination(&shape, out.layout()));
        let mut pass = Pass {
            op,
            program,
            shape,
            over,
            tensors: SmallVec::from_slice(&[out]),
            layouts: SmallVec::from_slice(&[destination]),
        };
        for source in &call.inputs {
            match source {
                InMemory::Tensor(tensor) => pass.read(tensor)?,
                #[cfg(feature = "ndarray")]
                InMemory::Array(_) => return Ok(None),
            }
        }
        Ok(Some(pass))
    }

    /// Adds an input.
    fn read(&mut self, tensor: &'a Tensor) -> Result<()> {
        self.layouts.push(tensor.layout().broadcast_to(self.op, &self.shape)?);
        self.tensors.push(tensor);
        Ok(())
    }

    /// Returns the two passes of a variance or a deviation.
    fn of_variance(mut self, mean: &'a Tensor) -> Result<[Pass<'a>; 2]> {
        let of_mean = Pass {
            op: self.op,
            program: self.program.clone(),
            shape: self.shape,
            over: self.over.map(mean_of),
            tensors: [mean].into_iter().chain(self.tensors[1..].iter().copied()).collect(),
            layouts: [*mean.layout()]
                .into_iter()
                .chain(self.layouts[1..].iter().copied())
                .collect(),
        };
        add_distances(&mut self.program);
        self.read(mean)?;
        Ok([of_mean, self])
    }

    /// Plans the loops over `len` rows, which are as far apart in each slot as the strides say.
    fn loops(&self, axes: usize, len: usize, strides: &[isize]) -> Result<RowLoops> {
        let layouts = self.layouts.iter().zip(strides);
        let layouts: SmallVec<[Layout; 4]> =
            layouts.map(|(layout, &stride)| layout.rows(axes, len, stride)).collect();
        let sizes: SmallVec<[usize; MAX_RANK]> =
            [len].into_iter().chain(self.shape[axes..].iter().copied()).collect();
        let Some(over) = self.over else {
            return Ok(RowLoops { plan: Plan::new(&sizes, &layouts), terms: None });
        };
        let mut reduced = [false; MAX_RANK];
        reduced[1..sizes.len()].copy_from_slice(&over.axes[axes..self.shape.len()]);
        let (plan, terms) = reduction_plans(self.op, &Shape::of(&sizes), &reduced, &layouts)?;
        let divisor = over.divisor(&terms);
        Ok(RowLoops { plan, terms: Some((terms, divisor)) })
    }
}

/// Returns how many dimensions, from the first on, are the same in all passes and reduced by none, if these are several
/// rows.
fn row_axes(passes: &[Pass<'_>]) -> Option<usize> {
    let reduced = |pass: &Pass<'_>| pass.over?.axes.iter().position(|&is_reduced| is_reduced);
    let axes = passes.iter().filter_map(reduced).min()?;
    let (first, others) = passes.split_first()?;
    let rows = first.shape.get(..axes)?;
    let is_like =
        |pass: &Pass<'_>| pass.shape.len() == first.shape.len() && pass.shape[..axes] == *rows;
    let has_rows = rows.iter().product::<usize>() > 1;
    let is_empty = passes.iter().any(|pass| pass.shape.contains(&0));
    (has_rows && !is_empty && others.iter().all(is_like)).then_some(axes)
}

/// Whether the passes read of each other's results only what is in the same row, and nothing that is written before.
fn are_apart(passes: &[Pass<'_>], axes: usize) -> bool {
    let Some(last) = passes.last() else { return false };
    let out = last.tensors[OUT];
    let is_apart = |index: usize| {
        let pass = &passes[index];
        pass.tensors.iter().zip(&pass.layouts).skip(1).all(|(tensor, layout)| {
            if tensor.shares_storage(out) {
                return match alias_of(out, tensor, layout) {
                    Alias::Disjoint => true,
                    Alias::Same => last.over.is_none(),
                    Alias::Overlapping => false,
                };
            }
            let before = passes[..index].iter().rev();
            let mut sources = before.filter(|pass| tensor.shares_storage(pass.tensors[OUT]));
            sources.next().is_none_or(|source| has_rows_of(&source.layouts[OUT], layout, axes))
        })
    };
    (0..passes.len()).all(is_apart)
}

/// Whether a layout reads of every row of a new tensor in the same row. It is inside the tensor, so that it has to begin
/// where the tensor does, and to go from row to row as that does.
fn has_rows_of(written: &Layout, read: &Layout, axes: usize) -> bool {
    let is_same =
        |axis: usize| written.shape()[axis] == 1 || written.strides()[axis] == read.strides()[axis];
    written.offset() == read.offset() && (0..axes).all(is_same)
}

/// Returns the bytes of a row in all storages together.
fn bytes_of_a_row<'a>(
    slots: impl Iterator<Item = (&'a &'a Tensor, &'a Layout)>,
    axes: usize,
) -> usize {
    let mut seen: SmallVec<[(&Tensor, usize); 16]> = SmallVec::new();
    for (tensor, layout) in slots {
        let sizes = layout.shape().iter().zip(layout.strides()).skip(axes);
        let moving = sizes.filter(|(_, stride)| **stride != 0).map(|(&size, _)| size);
        let bytes = moving.fold(tensor.dtype().size(), usize::saturating_mul);
        match seen.iter_mut().find(|(other, _)| tensor.shares_storage(other)) {
            Some((_, most)) => *most = bytes.max(*most),
            None => seen.push((tensor, bytes)),
        }
    }
    seen.iter().map(|(_, bytes)| *bytes).fold(0, usize::saturating_add)
}
