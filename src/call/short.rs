//! The short way: operations on tensors that lie alike, side by side, and are computed by one loop or a few.
//!
//! Such calls are so common, and on few elements so short, that to put a request together would take most of their time.
//! Nothing is decided here in another way: promotion, numbers, the table of loops and the order of the locks are those of
//! the long way, which takes everything that is not so simple, what has to be refused included.

use super::{Side, Target, element};
use crate::backend::{self, Memory};
use crate::operand::{Operand, Source};
use crate::promote::{Compute, Kind, Rules, resolve};
use crate::storage::{self, Storage};
use crate::{BinaryOp, Result, Tensor};

/// Runs an operation if it is so simple, and one loop.
pub(crate) fn run(
    op: BinaryOp,
    lhs: &Operand<'_>,
    rhs: &Operand<'_>,
    rules: Rules,
    target: Target<'_>,
) -> Option<Result<Tensor>> {
    let Ok(Source::Tensor(x)) = lhs.source() else { return None };
    let (y, number) = match rhs.source() {
        Ok(Source::Tensor(y)) => (y, None),
        #[cfg(feature = "ndarray")]
        Ok(Source::Array(_)) => return None,
        Err(number) => (x, Some(number)),
    };
    let is_alike = |other: &Tensor| {
        other.shape() == x.shape() && other.device() == x.device() && other.is_contiguous()
    };
    if target.mask.is_some() || !x.is_contiguous() || !(number.is_some() || is_alike(y)) {
        return None;
    }
    let right = number.as_ref().map_or_else(|| Kind::from(y), Kind::scalar);
    let resolved = resolve(op.into(), Kind::from(x), right, rules).ok()?;
    let (dtype, function) = (x.dtype(), op.element());
    let is_converted = resolved.compute != Compute::In(dtype)
        || (number.is_none() && y.dtype() != dtype)
        || resolved.result != function.result(dtype);
    if is_converted {
        return None;
    }
    let number = match number {
        Some(number) => Some(element(op, number, Side::Right, dtype).ok()?),
        None => None,
    };
    let dense = backend::dense(x.device(), function, dtype, number.is_some(), x.len())?;
    let offsets = (x.layout().offset(), y.layout().offset());
    let compute = |x: &Memory, y: &Memory, to: &Memory, offset: usize| {
        dense.run((x, offsets.0), (y, offsets.1), number.as_ref(), (to, offset));
    };
    if let Some(out) = target.out {
        let is_apart = !out.shares_storage(x) && !out.shares_storage(y);
        if out.dtype() != resolved.result || !is_apart || !is_alike(out) {
            return None;
        }
        storage::with_written(out.storage(), x.storage(), y.storage(), |to, x, y| {
            compute(x, y, to, out.layout().offset());
        });
        return Some(Ok(out.clone()));
    }
    let bytes = x.len() * resolved.result.size();
    let memory = match x.device().allocate(bytes) {
        Ok(memory) => memory,
        Err(error) => return Some(Err(error)),
    };
    // Nobody else has seen the new memory yet.
    storage::with_read(x.storage(), y.storage(), |x, y| compute(x, y, &memory, 0));
    let storage = Storage::new(x.device(), bytes, memory);
    Some(Ok(Tensor::row_major(storage, x.shape(), resolved.result)))
}
