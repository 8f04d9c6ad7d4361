//! The short way for several operations: on tensors that lie alike, side by side, and are computed by a few loops.
//!
//! As in [`short`](super::short), nothing is decided here in another way than by [`Call`](super::Call), which takes
//! everything that is not so simple, what has to be refused included.

use smallvec::SmallVec;

use super::{Side, Target, element};
use crate::backend::{self, Link};
use crate::op::ElementOp;
use crate::operand::{Operand, Source};
use crate::program::Input;
use crate::promote::{Compute, Kind, Op, Rules, resolve};
use crate::storage::{Access, Reading, Storage};
use crate::{BinaryOp, DType, Result, Scalar, Tensor};

/// Operations so far. Every function gives nothing if they are not so simple.
pub(crate) struct Chain<'a> {
    rules: Rules,
    /// What they read. The first one has the shape and the device of all.
    tensors: SmallVec<[&'a Tensor; 4]>,
    chain: Option<backend::Chain>,
}

/// The result of an operation.
#[derive(Clone, Copy)]
pub(crate) struct Computed {
    link: Link,
    dtype: DType,
}

/// An operand of an operation.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    Number(Scalar),
    Computed(Computed),
}

impl<'a> Chain<'a> {
    pub(crate) fn new(rules: Rules) -> Chain<'a> {
        Chain { rules, tensors: SmallVec::new(), chain: None }
    }

    /// Adds an operand.
    pub(crate) fn operand(&mut self, operand: &'a Operand<'_>) -> Option<Part> {
        let tensor = match operand.source() {
            Ok(Source::Tensor(tensor)) => tensor,
            #[cfg(feature = "ndarray")]
            Ok(Source::Array(_)) => return None,
            Err(number) => return Some(Part::Number(number)),
        };
        let dtype = tensor.dtype();
        let slot = self.tensors.len();
        match self.tensors.first() {
            None => self.chain = backend::chain(tensor.device()),
            Some(first) if std::ptr::eq(*first, tensor) => {}
            Some(first) if tensor.shape() == first.shape() && tensor.device() == first.device() => {
            }
            _ => return None,
        }
        if !tensor.is_contiguous() {
            return None;
        }
        self.tensors.push(tensor);
        let link = self.chain.as_mut()?.input(Input::Memory(dtype, slot))?;
        Some(Part::Computed(Computed { link, dtype }))
    }

    fn kind(&self, part: &Part) -> Option<Kind> {
        let is_zero_d = self.tensors.first()?.rank() == 0;
        Some(match part {
            Part::Number(number) => Kind::scalar(number),
            Part::Computed(it) if is_zero_d => Kind::ZeroD(it.dtype),
            Part::Computed(it) => Kind::Tensor(it.dtype),
        })
    }

    /// Adds a binary operation.
    pub(crate) fn binary(&mut self, op: BinaryOp, lhs: Part, rhs: Part) -> Option<Computed> {
        let resolved = resolve(op.into(), self.kind(&lhs)?, self.kind(&rhs)?, self.rules).ok()?;
        let Compute::In(dtype) = resolved.compute else { return None };
        let chain = self.chain.as_mut()?;
        let x = converted(chain, op, &lhs, Side::Left, dtype)?;
        let y = converted(chain, op, &rhs, Side::Right, dtype)?;
        let function = op.element();
        let link = chain.apply(function, dtype, [x, y, x])?;
        let link = self.cast(Computed { link, dtype: function.result(dtype) }, resolved.result)?;
        Some(link)
    }

    /// Adds a unary operation.
    pub(crate) fn unary(&mut self, op: ElementOp, x: Part) -> Option<Computed> {
        let Part::Computed(Computed { link, dtype }) = x else { return None };
        // Outside its domain it has no loop.
        let link = self.chain.as_mut()?.apply(op, dtype, [link; 3])?;
        Some(Computed { link, dtype: op.result(dtype) })
    }

    /// Adds a conversion.
    pub(crate) fn cast(&mut self, x: Computed, dtype: DType) -> Option<Computed> {
        if x.dtype == dtype {
            return Some(x);
        }
        let link = self.chain.as_mut()?.cast(x.link, x.dtype, dtype)?;
        Some(Computed { link, dtype })
    }

    /// Adds a selection.
    pub(crate) fn select(&mut self, condition: Part, x: Part, y: Part) -> Option<Computed> {
        let Part::Computed(Computed { link, dtype: DType::Bool }) = condition else { return None };
        let resolved = resolve(Op::SELECT, self.kind(&x)?, self.kind(&y)?, self.rules).ok()?;
        let (op, dtype) = (ElementOp::Select, resolved.result);
        let chain = self.chain.as_mut()?;
        let mut links = [link; 3];
        for (link, part) in links[1..].iter_mut().zip([x, y]) {
            *link = match part {
                Part::Computed(it) => chain.cast(it.link, it.dtype, dtype)?,
                Part::Number(number) => {
                    chain.input(Input::Number(dtype, number.to_element(op.name(), dtype).ok()?))?
                }
            };
        }
        Some(Computed { link: chain.apply(op, dtype, links)?, dtype })
    }

    /// Computes the last result, and gives the destination.
    pub(crate) fn run(self, result: Computed, target: Target<'_>) -> Option<Result<Tensor>> {
        let (chain, first) = (self.chain.as_ref()?, *self.tensors.first()?);
        let len = first.len();
        if target.mask.is_some() || !chain.is_ready(result.link, len) {
            return None;
        }
        let tensors = &self.tensors[..];
        if let Some(out) = target.out {
            let is_alike = out.dtype() == result.dtype
                && out.shape() == first.shape()
                && out.device() == first.device()
                && out.is_contiguous();
            if !is_alike || tensors.iter().any(|tensor| tensor.shares_storage(out)) {
                return None;
            }
            let storages = [out].into_iter().chain(tensors.iter().copied()).map(Tensor::storage);
            let access = Access::new(storages);
            let slot = |slot: usize| (access.memory(slot + 1), tensors[slot].layout().offset());
            chain.run(len, slot, (access.memory(0), out.layout().offset()));
            return Some(Ok(out.clone()));
        }
        let bytes = len * result.dtype.size();
        let memory = match first.device().allocate(bytes) {
            Ok(memory) => memory,
            Err(error) => return Some(Err(error)),
        };
        {
            // Nobody else has seen the new memory yet.
            let reading = Reading::new(tensors.iter().map(|tensor| tensor.storage()));
            let slot = |slot: usize| {
                let tensor = tensors[slot];
                (reading.memory(tensor.storage()), tensor.layout().offset())
            };
            chain.run(len, slot, (&memory, 0));
        }
        let storage = Storage::new(first.device(), bytes, memory);
        Some(Ok(Tensor::row_major(storage, first.shape(), result.dtype)))
    }
}

/// An operand of a binary operation in the dtype of the computation.
fn converted(
    chain: &mut backend::Chain,
    op: BinaryOp,
    part: &Part,
    side: Side,
    dtype: DType,
) -> Option<Link> {
    match part {
        Part::Computed(it) if it.dtype == dtype => Some(it.link),
        Part::Computed(it) => chain.cast(it.link, it.dtype, dtype),
        Part::Number(number) => {
            chain.input(Input::Number(dtype, element(op, *number, side, dtype).ok()?))
        }
    }
}
