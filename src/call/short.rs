//! The fast path: one operation on contiguous tensors of one shape, dtype and device, computed by one loop.
//!
//! Such calls are common, and on few elements putting a request together would take most of their time. Nothing is
//! decided here in another way: promotion, the conversion of numbers, the table of loops and the order of the locks
//! are those of the general path, which takes everything else, including errors.

use super::{Meaning, Side, Target};
use crate::backend::{self, Memory};
use crate::operand::{Operand, Source};
use crate::promote::{Compute, Kind, Rules, decide};
use crate::storage::{self, Storage};
use crate::{BinaryOp, DType, Result, Tensor};

/// A result that is not a tensor yet. A tensor is large, and is therefore made where the caller wants it.
pub(crate) enum Done<'a> {
    /// The result was written to this destination.
    Given(&'a Tensor),
    /// The result is in new memory, and has the shape and the device of another tensor.
    New { memory: Memory, dtype: DType, like: &'a Tensor },
}

impl Done<'_> {
    #[inline]
    pub(crate) fn tensor(self) -> Tensor {
        match self {
            Done::Given(out) => out.clone(),
            Done::New { memory, dtype, like } => {
                let storage = Storage::new(like.device(), like.len() * dtype.size(), memory);
                Tensor::row_major(storage, like.shape(), dtype)
            }
        }
    }
}

/// Runs a binary operation, or returns `None` if the general path has to.
pub(crate) fn run<'a>(
    op: BinaryOp,
    lhs: &'a Operand<'_>,
    rhs: &'a Operand<'_>,
    rules: Rules,
    target: Target<'a>,
) -> Option<Result<Done<'a>>> {
    let Ok(Source::Tensor(x)) = lhs.source() else { return None };
    let (y, number) = match rhs.source() {
        Ok(Source::Tensor(y)) => (y, None),
        #[cfg(feature = "ndarray")]
        Ok(Source::Array(_)) => return None,
        Err(number) => (x, Some(number)),
    };
    let is_alike = |other: &Tensor| x.has_shape_and_device_of(other) && other.is_contiguous();
    if target.mask.is_some() || !x.is_contiguous() || !(number.is_some() || is_alike(y)) {
        return None;
    }
    let right = number.map_or_else(|| Kind::from(y), Kind::scalar);
    let resolved = decide(op.into(), Kind::from(x), right, rules).ok()?;
    let (dtype, function) = (x.dtype(), op.element());
    let is_converted = resolved.compute != Compute::In(dtype)
        || (number.is_none() && y.dtype() != dtype)
        || resolved.result != function.result(dtype);
    if is_converted {
        return None;
    }
    let number = match number {
        Some(number) => Some(Meaning::of(op, Side::Right).element(*number, dtype)?),
        None => None,
    };
    let dense = backend::dense(x.device(), function, dtype, number.is_some(), x.len())?;
    let offsets = (x.layout().offset(), y.layout().offset());
    let compute = |x: &Memory, y: &Memory, to: &Memory, offset: usize| {
        // SAFETY: all have the device that the loop was found on, the shape of `x` and contiguous elements, which
        // storages hold in full; the dtypes are those of the function, and so is the number's. The destination is
        // apart from both operands: its storage is another one, or new. The locks are held, or it is new.
        unsafe { dense.run((x, offsets.0), (y, offsets.1), number.as_ref(), (to, offset)) };
    };
    if let Some(out) = target.out {
        let is_apart = !out.shares_storage(x) && !out.shares_storage(y);
        if out.dtype() != resolved.result || !is_apart || !is_alike(out) {
            return None;
        }
        storage::with_written(out.storage(), x.storage(), y.storage(), |to, x, y| {
            compute(x, y, to, out.layout().offset());
        });
        return Some(Ok(Done::Given(out)));
    }
    let dtype = resolved.result;
    let memory = match x.device().allocate(x.len() * dtype.size()) {
        Ok(memory) => memory,
        Err(error) => return Some(Err(error)),
    };
    // The new memory needs no lock: no other thread can reach it yet.
    storage::with_read(x.storage(), y.storage(), |x, y| compute(x, y, &memory, 0));
    Some(Ok(Done::New { memory, dtype, like: x }))
}
