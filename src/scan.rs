//! What a backend needs to know to scan elements.

use crate::DType;
use crate::op::ElementOp;

/// A scan along the middle one of three dimensions. Operand and result are contiguous, in the slots 1 and 0 of the access,
/// and have at least one element.
///
/// The order is fixed: the elements along the dimension are the leaves of a perfect binary tree. The prefix that ends at an
/// element of the left half is the prefix within that half, and one that ends in the right half is the total of the left
/// half combined with the prefix within the right one. So it depends only on the place of the element, and the last of 2^k
/// prefixes is the total in the order of a [`Reduction`](crate::request::Reduction).
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScanRequest {
    /// The name of the operation, for messages.
    pub(crate) op: &'static str,
    /// The operation that combines two totals.
    pub(crate) combine: ElementOp,
    /// The dtype of the elements.
    pub(crate) terms: DType,
    /// The dtype of the result, to which every total is rounded once.
    pub(crate) out: DType,
    /// The product of the dimensions before the one that is scanned.
    pub(crate) outer: usize,
    /// The number of elements along the dimension.
    pub(crate) len: usize,
    /// The product of the dimensions after it.
    pub(crate) inner: usize,
    /// The first element of the operand in its storage. The result begins at the start of its own.
    pub(crate) offset: usize,
}
