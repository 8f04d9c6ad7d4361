//! What a backend needs to know to look elements up by their indices.

use crate::DType;
use crate::plan::Plan;

/// A look-up: each element of the destination is a copy of the one at an index along an axis of the operand.
///
/// The slots of the plan and of the access are the destination, the operand at index 0 of the axis, and the indices. An index
/// below 0 counts from the end, and one out of range is clamped, so that every look-up is inside the operand whatever the
/// indices are. There is at least one element, and the axis has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GatherRequest<'a> {
    /// The name of the operation, for messages.
    #[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "nothing fails on the CPU"))]
    pub(crate) op: &'static str,
    /// The dtype of operand and destination.
    pub(crate) dtype: DType,
    /// The dtype of the indices, `i32` or `i64`.
    pub(crate) indices: DType,
    pub(crate) plan: &'a Plan,
    /// The stride of the operand along the axis, in elements.
    pub(crate) stride: isize,
    /// The size of the axis.
    pub(crate) len: usize,
}
