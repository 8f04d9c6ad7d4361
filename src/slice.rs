//! Slices of an axis: start, end and step.

use std::fmt;
use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use crate::{Error, Result};

/// A selection of elements along an axis: a Rust range with a step, as [`Tensor::slice`](crate::Tensor::slice) takes
/// it.
///
/// Negative bounds count from the end, and the step may be negative. Bounds beyond the axis are clamped, as in Python.
///
/// # Examples
///
/// ```
/// use bitlane::{DType, Device, Slice, Tensor};
/// let x = Tensor::arange(6, DType::I32, &Device::cpu())?;
/// assert_eq!(x.slice(0, 1..4)?.to_vec::<i32>()?, [1, 2, 3]);
/// assert_eq!(x.slice(0, -2..)?.to_vec::<i32>()?, [4, 5]);
/// assert_eq!(x.slice(0, 2..=-2)?.to_vec::<i32>()?, [2, 3, 4]);
/// assert_eq!(x.slice(0, Slice::from(..).step(-2))?.to_vec::<i32>()?, [5, 3, 1]);
/// # Ok::<(), bitlane::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    start: Option<isize>,
    end: Option<isize>,
    /// Whether the end itself is included.
    inclusive: bool,
    step: isize,
}

/// Prints the slice as Python writes it: `1:4`, `::-1`.
impl fmt::Display for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = |f: &mut fmt::Formatter<'_>, bound: Option<isize>| match bound {
            Some(bound) => write!(f, "{bound}"),
            None => Ok(()),
        };
        bound(f, self.start)?;
        f.write_str(if self.inclusive { ":=" } else { ":" })?;
        bound(f, self.end)?;
        if self.step == 1 { Ok(()) } else { write!(f, ":{}", self.step) }
    }
}

impl Slice {
    /// Creates a slice that goes from `start` to `end`, exclusive, in steps of `step`.
    ///
    /// Without a start it begins with the first element in the direction of the step; without an end it goes up to and
    /// includes the last one.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{DType, Device, Slice, Tensor};
    /// let x = Tensor::arange(6, DType::I32, &Device::cpu())?;
    /// let every_third = x.slice(0, Slice::new(Some(1), None, 3))?;
    /// assert_eq!(every_third.to_vec::<i32>()?, [1, 4]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub const fn new(start: Option<isize>, end: Option<isize>, step: isize) -> Slice {
        Slice { start, end, inclusive: false, step }
    }

    /// Returns the same slice with another step. A negative step goes backwards.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{DType, Device, Slice, Tensor};
    /// let x = Tensor::arange(6, DType::I32, &Device::cpu())?;
    /// assert_eq!(x.slice(0, Slice::from(1..6).step(2))?.to_vec::<i32>()?, [1, 3, 5]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub const fn step(self, step: isize) -> Slice {
        Slice { step, ..self }
    }

    pub(crate) const fn stride(self) -> isize {
        self.step
    }

    /// Returns the index of the first element and the number of elements on an axis of this size.
    pub(crate) fn resolve(self, size: usize) -> Result<(usize, usize)> {
        if self.step == 0 {
            return Err(Error::InvalidArgument {
                op: "slice",
                reason: "the step is 0; it must be positive or negative".into(),
            });
        }
        let size = size as isize;
        let backwards = self.step < 0;
        // Backwards, positions range from the last element to one before the first.
        let (lowest, highest) = if backwards { (-1, size - 1) } else { (0, size) };
        let place = |index: Option<isize>, beyond: isize, default: isize| match index {
            None => default,
            Some(index) => {
                let index = if index < 0 { index.saturating_add(size) } else { index };
                index.saturating_add(beyond).clamp(lowest, highest)
            }
        };
        let beyond = if self.inclusive { self.step.signum() } else { 0 };
        let start = place(self.start, 0, if backwards { highest } else { lowest });
        let end = place(self.end, beyond, if backwards { lowest } else { highest });
        let distance = if backwards { start - end } else { end - start };
        let len = usize::try_from(distance).map_or(0, |d| d.div_ceil(self.step.unsigned_abs()));
        Ok((usize::try_from(start).unwrap_or(0), len))
    }
}

/// Implements the conversions from ranges for the given index types: `i32`, the default type of a literal, `usize`, the
/// type of the sizes in [`Tensor::shape`](crate::Tensor::shape), and `isize`, its signed counterpart.
macro_rules! slice_from_ranges {
    ($($index:ty)*) => {$(
        slice_from_ranges! { $index:
            Range<$index>: range => (Some(range.start), Some(range.end), false);
            RangeInclusive<$index>: range => (Some(*range.start()), Some(*range.end()), true);
            RangeFrom<$index>: range => (Some(range.start), None, false);
            RangeTo<$index>: range => (None, Some(range.end), false);
            RangeToInclusive<$index>: range => (None, Some(range.end), true);
        }
    )*};
    ($index:ty: $($range:ty: $name:ident => $parts:expr;)*) => {$(
        impl From<$range> for Slice {
            fn from($name: $range) -> Self {
                // No axis has more than `isize::MAX` elements, so a larger bound can be clamped.
                let index = |end: $index| isize::try_from(end).unwrap_or(isize::MAX);
                let (start, end, inclusive) = $parts;
                Slice { start: start.map(index), end: end.map(index), inclusive, step: 1 }
            }
        }
    )*};
}

slice_from_ranges! { i32 isize usize }

impl From<RangeFull> for Slice {
    fn from(_: RangeFull) -> Self {
        Slice::new(None, None, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(slice: Slice, size: usize) -> Vec<usize> {
        let (start, len) = slice.resolve(size).unwrap();
        let place = |k: usize| start.wrapping_add_signed(slice.stride() * k as isize);
        (0..len).map(place).collect()
    }

    #[test]
    fn ends_that_are_taken_too() {
        assert_eq!(taken((1..=3).into(), 6), [1, 2, 3]);
        assert_eq!(taken((..=-2).into(), 4), [0, 1, 2]);
        assert_eq!(taken((..=-1).into(), 3), [0, 1, 2]);
        assert_eq!(taken((-9..=-5).into(), 4), [0; 0]);
        assert_eq!(taken((0..=usize::MAX).into(), 3), [0, 1, 2]);
        let (last, first) = (4, 0);
        assert_eq!(taken(Slice::from(last..=first).step(-2), 6), [4, 2, 0]);
        assert_eq!(taken(Slice::from(..=1).step(-1), 4), [3, 2, 1]);
        assert_eq!(taken((0..=isize::MAX).into(), 2), [0, 1]);
    }

    #[test]
    fn ends_of_every_type() {
        let (from, to) = (1usize, 3usize);
        assert_eq!(taken((from..to).into(), 6), [1, 2]);
        assert_eq!(taken((usize::MAX..).into(), 6), [0; 0]);
        assert_eq!(taken((..-4isize).into(), 6), [0, 1]);
    }
}
