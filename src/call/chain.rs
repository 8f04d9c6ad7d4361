//! The fast path for several operations: on contiguous tensors of one shape and device, computed by a few loops.
//!
//! As in [`short`](super::short), nothing is decided here in another way than by [`Call`](super::Call), which takes
//! everything else, including errors.

use smallvec::SmallVec;

use super::short::Done;
use super::{Meaning, Side, Target};
use crate::backend::{self, Link, Memory};
use crate::op::ElementOp;
use crate::operand::{Operand, Source};
use crate::plan::OUT;
use crate::promote::{Compute, Kind, Op, Rules, decide};
use crate::storage::{self, Access, Reading};
use crate::{BinaryOp, DType, Result, Scalar, Tensor};

/// The most different tensors, and the most numbers, of a chain.
const MAX: usize = backend::Chain::MAX;

/// The most operands, of which several may be the same tensor.
const MAX_OPERANDS: usize = 2 * MAX;

/// The operands of a chain of operations.
pub(crate) struct Operands<'a> {
    /// Each tensor once, at the front. All are contiguous and have the shape and the device of the first.
    tensors: [Option<&'a Tensor>; MAX],
    numbers: [Option<&'a Scalar>; MAX],
    signature: Signature,
    len: usize,
}

/// Everything that loops depend on in their operands, as bytes, which are compared quickly.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Signature {
    /// The dtype of each tensor, counted from 1; 0 where there is none.
    tensors: [u8; MAX],
    /// The category of each number, counted from 1; 0 where there is none.
    numbers: [u8; MAX],
    /// The [`Link`] of each operand, counted from 1; 0 where there is none.
    operands: [u8; MAX_OPERANDS],
    /// Whether the tensors have no dimensions.
    is_zero_d: bool,
}

/// An operand or a result: what promotion sees of it, and where it is.
#[derive(Clone, Copy)]
pub(crate) struct Value {
    kind: Kind,
    link: Link,
}

impl<'a> Operands<'a> {
    #[inline]
    pub(crate) fn new() -> Operands<'a> {
        let signature = Signature {
            tensors: [0; MAX],
            numbers: [0; MAX],
            operands: [0; MAX_OPERANDS],
            is_zero_d: false,
        };
        Operands { tensors: [None; MAX], numbers: [None; MAX], signature, len: 0 }
    }

    /// Adds an operand; returns `None` if it differs from the others in shape or device, is not contiguous, or is one
    /// too many.
    #[inline(always)]
    pub(crate) fn add(&mut self, operand: &'a Operand<'_>) -> Option<()> {
        let link = match operand.source() {
            Ok(Source::Tensor(tensor)) => self.tensor(tensor)?,
            #[cfg(feature = "ndarray")]
            Ok(Source::Array(_)) => return None,
            Err(number) => {
                let index = self.numbers.iter().position(Option::is_none)?;
                self.numbers[index] = Some(number);
                self.signature.numbers[index] = number.category() as u8 + 1;
                Link::number(index)
            }
        };
        *self.signature.operands.get_mut(self.len)? = link.index() as u8 + 1;
        self.len += 1;
        Some(())
    }

    #[inline]
    fn tensor(&mut self, tensor: &'a Tensor) -> Option<Link> {
        let is_it = |known: &&Tensor| std::ptr::eq(*known, tensor);
        let index = self.tensors.iter().position(|known| known.as_ref().is_none_or(is_it))?;
        if self.tensors[index].is_none() {
            let is_alike = match self.tensors[0] {
                Some(first) => first.has_shape_and_device_of(tensor),
                None => backend::has_chains(tensor.device()),
            };
            if !is_alike || !tensor.is_contiguous() {
                return None;
            }
            self.tensors[index] = Some(tensor);
            self.signature.tensors[index] = tensor.dtype() as u8 + 1;
            self.signature.is_zero_d = tensor.rank() == 0;
        }
        Some(Link::tensor(index))
    }

    /// How many operands there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns an operand, by the order in which they were added.
    pub(crate) fn value(&self, index: usize) -> Option<Value> {
        let index = usize::from(self.signature.operands.get(index)?.checked_sub(1)?);
        Some(if index < MAX {
            Value { kind: self.tensors[index]?.into(), link: Link::tensor(index) }
        } else {
            let index = index - MAX;
            Value { kind: Kind::scalar(self.numbers[index]?), link: Link::number(index) }
        })
    }

    #[inline]
    pub(crate) fn signature(&self) -> &Signature {
        &self.signature
    }

    fn tensors(&self) -> impl Iterator<Item = &'a Tensor> + Clone {
        self.tensors.iter().map_while(|tensor| *tensor)
    }
}

impl Value {
    /// The dtype; `None` for a number.
    const fn dtype(self) -> Option<DType> {
        match self.kind {
            Kind::Tensor(dtype) | Kind::ZeroD(dtype) => Some(dtype),
            Kind::Scalar(_) => None,
        }
    }

    /// The result of a step from this value, which has its shape.
    const fn then(self, link: Link, dtype: DType) -> Value {
        let kind = match self.kind {
            Kind::ZeroD(_) => Kind::ZeroD(dtype),
            _ => Kind::Tensor(dtype),
        };
        Value { kind, link }
    }
}

/// The loops of a few operations. They depend on the operations, the rulebook and the signature of the operands alone,
/// so a chain serves all operands with the same signature. Every function returns `None` for what only
/// [`Call`](super::Call) can do.
#[derive(Clone)]
pub(crate) struct Chain {
    rules: Rules,
    /// What each number is converted to.
    numbers: [Option<(Meaning, DType)>; MAX],
    loops: backend::Chain,
}

impl Chain {
    /// A chain without operations.
    pub(crate) fn new(rules: Rules, operands: &Operands<'_>) -> Option<Chain> {
        let mut loops = backend::Chain::new();
        for tensor in operands.tensors() {
            loops.tensor(tensor.dtype())?;
        }
        loops.reserve_numbers(operands.numbers.iter().flatten().count());
        Some(Chain { rules, numbers: [None; MAX], loops })
    }

    /// Adds a binary operation.
    pub(crate) fn binary(&mut self, op: BinaryOp, lhs: Value, rhs: Value) -> Option<Value> {
        let resolved = decide(op.into(), lhs.kind, rhs.kind, self.rules).ok()?;
        let Compute::In(dtype) = resolved.compute else { return None };
        let x = self.converted(lhs, Meaning::of(op, Side::Left), dtype)?;
        let y = self.converted(rhs, Meaning::of(op, Side::Right), dtype)?;
        let function = op.element();
        let link = self.loops.apply(function, dtype, [x, y, x])?;
        let like = if lhs.dtype().is_some() { lhs } else { rhs };
        self.cast(like.then(link, function.result(dtype)), resolved.result)
    }

    /// Converts an operand to the dtype of the computation.
    fn converted(&mut self, value: Value, meaning: Meaning, dtype: DType) -> Option<Link> {
        if value.dtype().is_some() {
            return Some(self.cast(value, dtype)?.link);
        }
        // A number is an operand of one operation alone, so there is one dtype to convert it to.
        let index = value.link.index().checked_sub(MAX)?;
        *self.numbers.get_mut(index)? = Some((meaning, dtype));
        self.loops.reserved_number(index, dtype)
    }

    /// Adds a unary operation.
    pub(crate) fn unary(&mut self, op: ElementOp, x: Value) -> Option<Value> {
        let dtype = x.dtype()?;
        // Outside its domain it has no loop.
        let link = self.loops.apply(op, dtype, [x.link; 3])?;
        Some(x.then(link, op.result(dtype)))
    }

    /// Adds a conversion, if one is needed.
    pub(crate) fn cast(&mut self, x: Value, dtype: DType) -> Option<Value> {
        Some(x.then(self.loops.cast(x.link, x.dtype()?, dtype)?, dtype))
    }

    /// Adds a selection.
    pub(crate) fn select(&mut self, condition: Value, x: Value, y: Value) -> Option<Value> {
        let dtype = decide(Op::SELECT, x.kind, y.kind, self.rules).ok()?.result;
        if condition.dtype() != Some(DType::Bool) {
            return None;
        }
        let x = self.converted(x, Meaning::Value, dtype)?;
        let y = self.converted(y, Meaning::Value, dtype)?;
        let link = self.loops.apply(ElementOp::Select, dtype, [condition.link, x, y])?;
        Some(condition.then(link, dtype))
    }

    /// Computes the last result from operands. Returns `None` if a number does not fit, if there is a mask, or if the
    /// destination differs from the operands in shape, device or layout, has another dtype than the result, or shares
    /// storage with an operand.
    ///
    /// # Safety
    ///
    /// The operands must have the signature that the chain was made for, and the result must be of this chain.
    #[inline]
    pub(crate) unsafe fn run<'a>(
        &mut self,
        result: Value,
        operands: &Operands<'a>,
        target: Target<'a>,
    ) -> Option<Result<Done<'a>>> {
        let (first, dtype) = (operands.tensors[0]?, result.dtype()?);
        let len = first.len();
        if target.mask.is_some() || !self.loops.is_ready(result.link, len) {
            return None;
        }
        for (index, (number, form)) in operands.numbers.iter().zip(&self.numbers).enumerate() {
            let Some(number) = number else { break };
            let (meaning, dtype) = (*form)?;
            self.loops.set_number(index, meaning.element(**number, dtype)?);
        }
        let offset = |index: usize| operands.tensors[index].map_or(0, |it| it.layout().offset());
        if let Some(out) = target.out {
            let is_direct = out.dtype() == dtype
                && first.has_shape_and_device_of(out)
                && out.is_contiguous()
                && !operands.tensors().any(|tensor| tensor.shares_storage(out));
            if !is_direct {
                return None;
            }
            let all = [out].into_iter().chain(operands.tensors());
            let access = Access::new(all.map(Tensor::storage));
            let tensor = |index: usize| (access.memory(index + 1), offset(index));
            // SAFETY: the loops are ready. All operands are contiguous, of one shape and on one device with chains, as
            // `Operands` has checked, and the caller vouches for their dtypes; all numbers have been set. Storages hold
            // their tensors' elements in full, and the destination's is none of the operands'. The locks are held.
            unsafe {
                self.loops.run(len, tensor, (access.memory(OUT), out.layout().offset()));
            }
            return Some(Ok(Done::Given(out)));
        }
        let memory = match first.device().allocate(len * dtype.size()) {
            Ok(memory) => memory,
            Err(error) => return Some(Err(error)),
        };
        // The new memory needs no lock: no other thread can reach it yet.
        if let [_, y, None, ..] = operands.tensors {
            storage::with_read(first.storage(), y.unwrap_or(first).storage(), |x, y| {
                let tensor = |index: usize| (if index == 0 { x } else { y }, offset(index));
                // SAFETY: as above; the new memory has room for `len` results.
                unsafe { self.loops.run(len, tensor, (&memory, 0)) };
            });
        } else {
            let storages = operands.tensors().map(Tensor::storage);
            let reading = Reading::new(storages.clone());
            let memories: SmallVec<[&Memory; MAX]> =
                storages.map(|storage| reading.memory(storage)).collect();
            // SAFETY: as above; the new memory has room for `len` results.
            unsafe {
                self.loops.run(len, |index| (memories[index], offset(index)), (&memory, 0));
            }
        }
        Some(Ok(Done::New { memory, dtype, like: first }))
    }
}
