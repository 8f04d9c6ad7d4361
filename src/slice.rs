//! Which elements of an axis a slice takes.

use std::ops::{Range, RangeFrom, RangeFull, RangeTo};

use crate::{Error, Result};

/// Which elements of an axis a slice takes: a Rust range, negative ends counting from the back,
/// and a step of either sign. Ends beyond the axis are cut off, as in Python.
///
/// ```
/// use bitlane::{DType, Device, Slice, Tensor};
/// let x = Tensor::arange(6, DType::I32, &Device::cpu())?;
/// assert_eq!(x.slice(0, 1..4)?.to_vec::<i32>()?, [1, 2, 3]);
/// assert_eq!(x.slice(0, -2..)?.to_vec::<i32>()?, [4, 5]);
/// assert_eq!(x.slice(0, Slice::from(..).step(-2))?.to_vec::<i32>()?, [5, 3, 1]);
/// # Ok::<(), bitlane::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    start: Option<isize>,
    end: Option<isize>,
    step: isize,
}

impl Slice {
    /// From `start` (or the first in the direction of the step) to before `end` (or the last).
    pub const fn new(start: Option<isize>, end: Option<isize>, step: isize) -> Slice {
        Slice { start, end, step }
    }

    /// The same ends with another step; negative steps walk backwards.
    pub const fn step(self, step: isize) -> Slice {
        Slice { step, ..self }
    }

    pub(crate) const fn stride(self) -> isize {
        self.step
    }

    /// The first element taken and how many there are, on an axis of `size`.
    pub(crate) fn resolve(self, size: usize) -> Result<(usize, usize)> {
        if self.step == 0 {
            return Err(Error::InvalidArgument {
                op: "slice",
                reason: "the step is 0; it must be positive or negative".into(),
            });
        }
        let size = size as isize;
        let backwards = self.step < 0;
        // Walking backwards, the positions run from the last element to one before the first.
        let (lowest, highest) = if backwards { (-1, size - 1) } else { (0, size) };
        let place = |end: Option<isize>, default: isize| match end {
            None => default,
            Some(index) if index < 0 => index.saturating_add(size).clamp(lowest, highest),
            Some(index) => index.clamp(lowest, highest),
        };
        let start = place(self.start, if backwards { highest } else { lowest });
        let end = place(self.end, if backwards { lowest } else { highest });
        let distance = if backwards { start - end } else { end - start };
        let len = usize::try_from(distance).map_or(0, |d| d.div_ceil(self.step.unsigned_abs()));
        Ok((usize::try_from(start).unwrap_or(0), len))
    }
}

impl From<Range<isize>> for Slice {
    fn from(range: Range<isize>) -> Self {
        Slice::new(Some(range.start), Some(range.end), 1)
    }
}

impl From<RangeFrom<isize>> for Slice {
    fn from(range: RangeFrom<isize>) -> Self {
        Slice::new(Some(range.start), None, 1)
    }
}

impl From<RangeTo<isize>> for Slice {
    fn from(range: RangeTo<isize>) -> Self {
        Slice::new(None, Some(range.end), 1)
    }
}

impl From<RangeFull> for Slice {
    fn from(_: RangeFull) -> Self {
        Slice::new(None, None, 1)
    }
}
