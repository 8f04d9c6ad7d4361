//! Values that are computed with finer dimensions than those of their shape.
//!
//! A dimension of a view can always be split, and often not be merged with the next one: a word that is broadcast along its
//! values has a stride of 0 there. So where dimensions are merged, the computation keeps the finer ones. Whatever the value
//! is combined with is split likewise, and so is the destination.

use smallvec::SmallVec;

use super::lower::{Lowering, SplitTerm, Stages};
use crate::call::{Elements, ReduceArguments, ReduceAxes, ShapeId, Term};
use crate::layout::{Layout, MAX_RANK, Shape, broadcast};
use crate::op::ReduceOp;
use crate::operand::InMemory;
use crate::promote::Rules;
use crate::tensor::{IntoAxes, inferred};
use crate::{Device, Error, Result, Tensor};

/// The most steps of a value that a view computes once more; the limit is part of the documentation of
/// [`Expr`](crate::Expr).
const MAX_REPEATED: usize = 256;

/// From so many steps on, whatever a view would repeat is computed first, so that steps can always be numbered, and their
/// inputs, of which there are at most twice as many and one for each view.
const MAX_STEPS: usize = 16_384;

/// A value of the program, and its shape if it is computed with finer dimensions.
#[derive(Clone, Copy)]
pub(super) struct Split<'b> {
    pub(super) elements: Elements<'b>,
    /// Every size is the product of adjacent sizes of the elements.
    pub(super) whole: Option<ShapeId>,
}

impl<'b> From<Elements<'b>> for Split<'b> {
    fn from(elements: Elements<'b>) -> Self {
        Split { elements, whole: None }
    }
}

/// Sizes, of which there may be more than a tensor has dimensions.
type Sizes = SmallVec<[usize; 2 * MAX_RANK]>;

impl<'b> Lowering<'b, '_> {
    /// Returns the shape of a value.
    pub(super) fn shape(&self, x: &Split<'b>) -> Shape {
        *self.call.shape(x.whole.unwrap_or(x.elements.shape))
    }

    /// Adds a view of the elements of a value. A value of many steps is computed first, since a view repeats the steps.
    pub(super) fn view(
        &mut self,
        op: &'static str,
        x: Elements<'b>,
        view: impl Fn(&Tensor) -> Result<Tensor>,
    ) -> Result<Elements<'b>> {
        let steps = self.call.steps_for(x);
        let is_full = self.call.program.steps().len() > MAX_STEPS;
        let x = if steps > MAX_REPEATED || (steps > 0 && is_full) {
            let stored = self.staged(op, x, None, None)?.elements;
            self.stored.push((x, stored));
            stored
        } else {
            x
        };
        self.is_cut = true;
        let read = |source: InMemory<'_>, device: Option<&Device>| match source {
            InMemory::Tensor(tensor) => {
                let _ = device;
                Ok(tensor.clone())
            }
            #[cfg(feature = "ndarray")]
            InMemory::Array(array) => {
                let device = device.cloned().map_or_else(Device::best, Ok)?;
                match self.stages.is_run() {
                    true => array.upload(&device),
                    false => Tensor::without_memory(op, &device, array.shape(), array.dtype()),
                }
            }
        };
        let keep = |tensor| self.temporaries.keep(tensor);
        self.call.viewed(op, x, read, view, keep)?.ok_or_else(|| {
            let reason = "a number has no dimensions to view".into();
            Error::InvalidArgument { op, reason }
        })
    }

    /// Returns a value that is computed in its own shape, by a stage if need be.
    pub(super) fn settled(&mut self, op: &'static str, x: Split<'b>) -> Result<Elements<'b>> {
        match x.whole {
            None => Ok(x.elements),
            Some(_) => {
                let whole = self.shape(&x);
                Ok(self.staged(op, x.elements, None, Some(whole))?.elements)
            }
        }
    }

    /// Gives the operands of an operation common dimensions, and returns the shape of the result if these are finer.
    pub(super) fn aligned(
        &mut self,
        op: &'static str,
        terms: &mut [SplitTerm<'b>],
    ) -> Result<Option<ShapeId>> {
        if terms.iter().all(|(_, whole)| whole.is_none()) {
            return Ok(None);
        }
        let mut shape = Shape::of(&[]);
        for term in terms.iter() {
            let Some(split) = split_of(term) else { continue };
            match broadcast(op, &shape, &self.shape(&split)) {
                Ok(common) => shape = common,
                // The operation says what is wrong, and is not computed.
                Err(_) => return self.settle_all(op, terms, true),
            }
        }
        let Some(fine) = self.common_dimensions(terms, &shape) else {
            return self.settle_all(op, terms, false);
        };
        for term in terms.iter_mut() {
            let Some(split) = split_of(term) else { continue };
            let own = self.shape(&split);
            let missing = shape.len() - own.len();
            let mut sizes = Sizes::new();
            for (size, fine) in own.iter().zip(&fine[missing..]) {
                let is_broadcast = *size == 1;
                sizes.extend(fine.iter().map(|&fine| if is_broadcast { 1 } else { fine }));
            }
            let mut elements = split.elements;
            if **self.call.shape(elements.shape) != *sizes {
                elements = self.view(op, elements, |tensor| tensor.reshape(&*sizes))?;
            }
            *term = (Term::Elements(elements), None);
        }
        let is_finer = fine.iter().any(|sizes| sizes.len() > 1);
        Ok(is_finer.then(|| self.call.add_shape(&shape)))
    }

    /// Returns the sizes into which all operands split each dimension of a shape, or `None` if there are none.
    fn common_dimensions(&self, terms: &[SplitTerm<'b>], shape: &Shape) -> Option<Vec<Sizes>> {
        let mut factors: Vec<Vec<Sizes>> = vec![Vec::new(); shape.len()];
        for split in terms.iter().filter_map(split_of) {
            let (own, fine) = (self.shape(&split), self.call.shape(split.elements.shape));
            let missing = shape.len() - own.len();
            let owners = owners(fine, &own);
            for (axis, _) in own.iter().enumerate().filter(|&(_, &size)| size != 1) {
                let sizes = fine.iter().zip(&owners).filter(|&(_, &owner)| owner == axis);
                factors[missing + axis].push(sizes.map(|(&size, _)| size).collect());
            }
        }
        let refined = shape.iter().zip(&factors).map(|(&size, lists)| refinement(size, lists));
        let sizes = refined.collect::<Option<Vec<Sizes>>>()?;
        (sizes.iter().map(|sizes| sizes.len()).sum::<usize>() <= MAX_RANK).then_some(sizes)
    }

    /// Computes the operands that are split, or gives their shapes and dtypes alone.
    fn settle_all(
        &mut self,
        op: &'static str,
        terms: &mut [SplitTerm<'b>],
        is_refused: bool,
    ) -> Result<Option<ShapeId>> {
        for term in terms.iter_mut() {
            let Some(split) = split_of(term) else { continue };
            let stages = is_refused.then(|| std::mem::replace(self.stages, Stages::Describe));
            let settled = self.settled(op, split);
            if let Some(stages) = stages {
                *self.stages = stages;
            }
            *term = (Term::Elements(settled?), None);
        }
        Ok(None)
    }

    /// Gives a value another shape.
    pub(super) fn reshaped(&mut self, x: Split<'b>, sizes: &[Option<usize>]) -> Result<Split<'b>> {
        let op = "reshape";
        let own = self.shape(&x);
        let shape = inferred(own.iter().product(), sizes)?;
        // Elements without gaps have every shape of the same length.
        Layout::row_major(&own).reshape(&shape)?;
        if let Ok(view) = self.view(op, x.elements, |tensor| tensor.reshape(&*shape)) {
            return Ok(view.into());
        }
        let fine: Sizes = self.call.shape(x.elements.shape).iter().copied().collect();
        let new: Sizes = shape.iter().copied().collect();
        let refined = refinement(own.iter().product(), &[fine, new]);
        if let Some(refined) = refined.filter(|sizes| sizes.len() <= MAX_RANK) {
            let elements = self.view(op, x.elements, |tensor| tensor.reshape(&*refined))?;
            return Ok(Split { elements, whole: Some(self.call.add_shape(&shape)) });
        }
        let whole = x.whole.map(|_| own);
        let settled = self.staged(op, x.elements, None, whole)?;
        Ok(self.view(op, settled.elements, |tensor| tensor.reshape(&*shape))?.into())
    }

    /// Adds the terms of a reduction. Returns them, over which of their dimensions they are reduced, and the shape of the
    /// result if those that are left are finer.
    pub(super) fn over(
        &mut self,
        op: ReduceOp,
        x: Split<'b>,
        arguments: &ReduceArguments,
        rules: Rules,
    ) -> Result<(Elements<'b>, ReduceAxes, Option<Shape>)> {
        let name = op.name();
        let split = x.whole.filter(|_| !matches!(op, ReduceOp::Argmax | ReduceOp::Argmin));
        let Some(whole) = split else {
            let terms = self.settled(name, x)?;
            let (terms, over) = self.call.reduce(op, terms, arguments, rules)?;
            return Ok((terms, over, None));
        };
        // What is refused is refused in the shape of the value.
        let in_whole = Elements { shape: whole, ..x.elements };
        let (_, ReduceAxes { axes, .. }) = self.call.reduce(op, in_whole, arguments, rules)?;
        self.is_cut = true;
        let (own, fine) = (self.shape(&x), *self.call.shape(x.elements.shape));
        let owners = owners(&fine, &own);
        let reduced: Vec<usize> = (0..fine.len()).filter(|&axis| axes[owners[axis]]).collect();
        let arguments =
            ReduceArguments { axes: reduced.into_axes(), ..ReduceArguments::clone(arguments) };
        let (terms, over) = self.call.reduce(op, x.elements, &arguments, rules)?;
        let whole = ReduceAxes { axes, ..over }.result_shape(&own);
        Ok((terms, over, Some(whole)))
    }
}

fn split_of<'b>(term: &SplitTerm<'b>) -> Option<Split<'b>> {
    match term.0 {
        Term::Number(_) => None,
        Term::Elements(elements) => Some(Split { elements, whole: term.1 }),
    }
}

/// Returns the dimension of a shape to which each of the finer ones belongs.
fn owners(fine: &[usize], shape: &[usize]) -> Sizes {
    if fine == shape {
        return (0..shape.len()).collect();
    }
    let (mut axis, mut product) = (shape.len() - 1, 1);
    let mut owners: Sizes = SmallVec::from_elem(0, fine.len());
    for (owner, &size) in owners.iter_mut().zip(fine).rev() {
        while size != 1 && product == shape[axis] && axis > 0 {
            (axis, product) = (axis - 1, 1);
        }
        product *= size;
        *owner = axis;
    }
    owners
}

/// Returns the coarsest list of sizes that can be merged to each of some lists of this product, if there is one.
fn refinement(product: usize, lists: &[Sizes]) -> Option<Sizes> {
    if product <= 1 {
        return Some(SmallVec::from_slice(&[product]));
    }
    let mut ends: Sizes = SmallVec::from_slice(&[1, product]);
    for list in lists {
        let mut end = 1;
        ends.extend(list.iter().rev().map(|size| {
            end *= size;
            end
        }));
    }
    ends.sort_unstable();
    ends.dedup();
    let pairs = ends.windows(2).rev();
    pairs.map(|pair| pair[1].is_multiple_of(pair[0]).then(|| pair[1] / pair[0])).collect()
}
