//! The short way for several operations: on tensors that lie alike, side by side, and are computed by a few loops.
//!
//! As in [`short`](super::short), nothing is decided here in another way than by [`Call`](super::Call), which takes
//! everything that is not so simple, what has to be refused included.

use smallvec::SmallVec;

use super::{Side, Target, element};
use crate::backend::{self, Link};
use crate::op::ElementOp;
use crate::operand::{Operand, Source};
use crate::plan::OUT;
use crate::program::Input;
use crate::promote::{Compute, Kind, Op, Rules, resolve};
use crate::storage::{self, Access, Reading, Storage};
use crate::{BinaryOp, DType, Result, Scalar, Tensor};

/// Operations so far. Every function gives nothing if they are not so simple.
pub(crate) struct Chain<'a> {
    rules: Rules,
    /// What they read. The first one has the shape and the device of all.
    tensors: SmallVec<[(&'a Tensor, Link); 4]>,
    loops: backend::Chain,
}

/// The result of an operation, or elements in memory.
#[derive(Clone, Copy)]
pub(crate) struct Computed {
    link: Link,
    kind: Kind,
    dtype: DType,
}

/// An operand of an operation.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    Number(Scalar),
    Computed(Computed),
}

impl Computed {
    /// The result of a step from this one, which has its shape.
    #[inline]
    fn then(self, link: Link, dtype: DType) -> Computed {
        let kind = match self.kind {
            Kind::ZeroD(_) => Kind::ZeroD(dtype),
            _ => Kind::Tensor(dtype),
        };
        Computed { link, kind, dtype }
    }
}

impl<'a> Chain<'a> {
    #[inline]
    pub(crate) fn new(rules: Rules) -> Chain<'a> {
        Chain { rules, tensors: SmallVec::new(), loops: backend::Chain::new() }
    }

    /// Adds an operand.
    #[inline]
    pub(crate) fn operand(&mut self, operand: &'a Operand<'_>) -> Option<Part> {
        let tensor = match operand.source() {
            Ok(Source::Tensor(tensor)) => tensor,
            #[cfg(feature = "ndarray")]
            Ok(Source::Array(_)) => return None,
            Err(number) => return Some(Part::Number(number)),
        };
        let kind = Kind::from(tensor);
        let link = self.tensor(tensor)?;
        Some(Part::Computed(Computed { link, kind, dtype: tensor.dtype() }))
    }

    #[inline]
    fn tensor(&mut self, tensor: &'a Tensor) -> Option<Link> {
        let known = self.tensors.iter().find(|(other, _)| std::ptr::eq(*other, tensor));
        if let Some(&(_, link)) = known {
            return Some(link);
        }
        let is_alike = match self.tensors.first() {
            None => backend::has_chains(tensor.device()),
            Some((first, _)) => {
                tensor.shape() == first.shape() && tensor.device() == first.device()
            }
        };
        if !is_alike || !tensor.is_contiguous() {
            return None;
        }
        let link = self.loops.input(Input::Memory(tensor.dtype(), self.tensors.len()))?;
        self.tensors.push((tensor, link));
        Some(link)
    }

    /// Adds a binary operation.
    #[inline]
    pub(crate) fn binary(&mut self, op: BinaryOp, lhs: Part, rhs: Part) -> Option<Computed> {
        let (kinds, like) = match (&lhs, &rhs) {
            (Part::Computed(x), Part::Computed(y)) => ((x.kind, y.kind), *x),
            (Part::Computed(x), Part::Number(y)) => ((x.kind, Kind::scalar(y)), *x),
            (Part::Number(x), Part::Computed(y)) => ((Kind::scalar(x), y.kind), *y),
            (Part::Number(_), Part::Number(_)) => return None,
        };
        let resolved = resolve(op.into(), kinds.0, kinds.1, self.rules).ok()?;
        let Compute::In(dtype) = resolved.compute else { return None };
        let x = self.converted(op, &lhs, Side::Left, dtype)?;
        let y = self.converted(op, &rhs, Side::Right, dtype)?;
        let function = op.element();
        let link = self.loops.apply(function, dtype, [x, y, x])?;
        self.cast(like.then(link, function.result(dtype)), resolved.result)
    }

    /// An operand of a binary operation in the dtype of the computation.
    #[inline(always)]
    fn converted(&mut self, op: BinaryOp, part: &Part, side: Side, dtype: DType) -> Option<Link> {
        match part {
            Part::Computed(it) => Some(self.cast(*it, dtype)?.link),
            Part::Number(number) => {
                self.loops.input(Input::Number(dtype, element(op, *number, side, dtype).ok()?))
            }
        }
    }

    /// Adds a unary operation.
    pub(crate) fn unary(&mut self, op: ElementOp, x: Part) -> Option<Computed> {
        let Part::Computed(x) = x else { return None };
        // Outside its domain it has no loop.
        let link = self.loops.apply(op, x.dtype, [x.link; 3])?;
        Some(x.then(link, op.result(x.dtype)))
    }

    /// Adds a conversion that was asked for.
    pub(crate) fn convert(&mut self, x: Part, dtype: DType) -> Option<Computed> {
        match x {
            Part::Computed(x) => self.cast(x, dtype),
            Part::Number(_) => None,
        }
    }

    /// Adds a conversion, if one is needed.
    #[inline(always)]
    fn cast(&mut self, x: Computed, dtype: DType) -> Option<Computed> {
        if x.dtype == dtype {
            return Some(x);
        }
        let link = self.loops.cast(x.link, x.dtype, dtype)?;
        Some(x.then(link, dtype))
    }

    /// Adds a selection.
    pub(crate) fn select(&mut self, condition: Part, x: Part, y: Part) -> Option<Computed> {
        let Part::Computed(condition) = condition else { return None };
        let kind = |part: &Part| match part {
            Part::Number(number) => Kind::scalar(number),
            Part::Computed(it) => it.kind,
        };
        let resolved = resolve(Op::SELECT, kind(&x), kind(&y), self.rules).ok()?;
        let (op, dtype) = (ElementOp::Select, resolved.result);
        if condition.dtype != DType::Bool {
            return None;
        }
        let mut links = [condition.link; 3];
        for (link, part) in links[1..].iter_mut().zip([x, y]) {
            *link = match part {
                Part::Computed(it) => self.cast(it, dtype)?.link,
                Part::Number(number) => {
                    let number = number.to_element(op.name(), dtype).ok()?;
                    self.loops.input(Input::Number(dtype, number))?
                }
            };
        }
        let link = self.loops.apply(op, dtype, links)?;
        Some(condition.then(link, dtype))
    }

    /// Computes the last result, and gives the destination.
    #[inline]
    pub(crate) fn run(&self, result: Computed, target: Target<'_>) -> Option<Result<Tensor>> {
        let (first, _) = *self.tensors.first()?;
        let len = first.len();
        if target.mask.is_some() || !self.loops.is_ready(result.link, len) {
            return None;
        }
        if let Some(out) = target.out {
            return self.run_into(out, result, len);
        }
        let bytes = len * result.dtype.size();
        let memory = match first.device().allocate(bytes) {
            Ok(memory) => memory,
            Err(error) => return Some(Err(error)),
        };
        let offset = |slot: usize| self.tensors[slot].0.layout().offset();
        // Nobody else has seen the new memory yet.
        if let [(x, _)] | [(x, _), _] = &self.tensors[..] {
            let y = self.tensors.last().map_or(*x, |(y, _)| *y);
            storage::with_read(x.storage(), y.storage(), |x, y| {
                let slot = |slot: usize| (if slot == 0 { x } else { y }, offset(slot));
                self.loops.run(len, slot, (&memory, 0));
            });
        } else {
            let reading = Reading::new(self.tensors.iter().map(|(tensor, _)| tensor.storage()));
            let memory_of = |slot: usize| reading.memory(self.tensors[slot].0.storage());
            self.loops.run(len, |slot| (memory_of(slot), offset(slot)), (&memory, 0));
        }
        let storage = Storage::new(first.device(), bytes, memory);
        Some(Ok(Tensor::row_major(storage, first.shape(), result.dtype)))
    }

    /// Writes to a given tensor, if it lies as the others do and is apart from them.
    fn run_into(&self, out: &Tensor, result: Computed, len: usize) -> Option<Result<Tensor>> {
        let (first, _) = self.tensors.first()?;
        let is_alike = out.dtype() == result.dtype
            && out.shape() == first.shape()
            && out.device() == first.device()
            && out.is_contiguous();
        if !is_alike || self.tensors.iter().any(|(tensor, _)| tensor.shares_storage(out)) {
            return None;
        }
        let inputs = self.tensors.iter().map(|(tensor, _)| *tensor);
        let access = Access::new([out].into_iter().chain(inputs).map(Tensor::storage));
        let offset = |slot: usize| self.tensors[slot].0.layout().offset();
        let slot = |slot: usize| (access.memory(slot + 1), offset(slot));
        self.loops.run(len, slot, (access.memory(OUT), out.layout().offset()));
        Some(Ok(out.clone()))
    }
}
