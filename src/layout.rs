//! Shape, strides and offset: the arithmetic of views and broadcasting, without side effects and without `unsafe`.

use std::ops::Range;

use crate::error::counted;
use crate::slice::Slice;
use crate::{Error, Result};

/// The largest rank of a tensor.
pub const MAX_RANK: usize = 8;

/// The positions of a tensor's elements in its storage, in units of elements.
///
/// Invariant: every element that a layout reaches is inside the storage that it describes. The functions that create
/// layouts check or preserve this, so that users of a layout need not check it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    rank: usize,
    shape: [usize; MAX_RANK],
    strides: [isize; MAX_RANK],
    offset: usize,
}

/// Copies a shape to the heap, for an error.
pub(crate) fn boxed(shape: &[usize]) -> Box<[usize]> {
    shape.into()
}

fn invalid(op: &'static str, shape: &[usize], reason: impl Into<String>) -> Error {
    Error::InvalidShape { op, shape: boxed(shape), reason: reason.into() }
}

/// Returns the number of elements of a shape, after checking its rank and that its byte count fits `isize`.
pub(crate) fn checked_len(op: &'static str, shape: &[usize], element_size: usize) -> Result<usize> {
    if shape.len() > MAX_RANK {
        let reason = format!("rank {} is above the limit of {MAX_RANK}", shape.len());
        return Err(invalid(op, shape, reason));
    }
    // Dimensions of size 0 are left out, because strides are products of the other sizes and must not overflow either.
    let nonzero = shape.iter().filter(|&&size| size != 0);
    let bytes = nonzero.clone().try_fold(element_size, |bytes, &size| bytes.checked_mul(size));
    match bytes {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(shape.iter().product()),
        _ => Err(invalid(op, shape, "the byte count overflows isize")),
    }
}

/// Resolves a number that may be negative, and then counts from the end, to an index below `count`. Returns `None` if it
/// is out of bounds.
pub(crate) fn place(number: i128, count: usize) -> Option<usize> {
    let from_front = if number < 0 { number + count as i128 } else { number };
    usize::try_from(from_front).ok().filter(|&place| place < count)
}

/// Resolves an axis, which may be negative, of a tensor of this shape.
pub(crate) fn checked_axis(op: &'static str, axis: i128, shape: &[usize]) -> Result<usize> {
    place(axis, shape.len()).ok_or_else(|| {
        let reason = format!("axis {axis} of a tensor of rank {} ({shape:?})", shape.len());
        Error::OutOfBounds { op, reason }
    })
}

impl Layout {
    /// Creates a row-major layout without gaps. The shape must have passed [`checked_len`].
    #[inline]
    pub(crate) fn row_major(shape: &[usize]) -> Layout {
        let mut layout =
            Layout { rank: shape.len(), shape: [1; MAX_RANK], strides: [0; MAX_RANK], offset: 0 };
        let mut stride = 1isize;
        for axis in (0..shape.len()).rev() {
            layout.shape[axis] = shape[axis];
            layout.strides[axis] = stride;
            stride *= shape[axis].max(1) as isize;
        }
        layout
    }

    /// Creates a layout with any strides and offset, after checking that it is inside a storage of `capacity` elements.
    pub(crate) fn strided(
        op: &'static str,
        shape: &[usize],
        strides: &[isize],
        offset: usize,
        capacity: usize,
    ) -> Result<Layout> {
        checked_len(op, shape, 1)?;
        if strides.len() != shape.len() {
            let reason = format!("{} strides for {} dimensions", strides.len(), shape.len());
            return Err(invalid(op, shape, reason));
        }
        let mut layout = Layout::row_major(shape);
        layout.strides[..shape.len()].copy_from_slice(strides);
        layout.offset = offset;
        let reach = layout.checked_reach();
        let inside = if layout.is_empty() {
            offset <= capacity
        } else {
            reach.is_some_and(|(low, high)| low >= 0 && high < capacity as i128)
        };
        if inside {
            return Ok(layout);
        }
        let reason = match reach {
            Some((low, high)) if !layout.is_empty() => format!(
                "shape {shape:?} with strides {strides:?} and offset {offset} reaches elements \
                 {low} to {high} of a storage of {capacity}"
            ),
            _ => format!(
                "offset {offset} lies outside a storage of {}",
                counted(capacity, "element")
            ),
        };
        Err(Error::OutOfBounds { op, reason })
    }

    /// Returns the lowest and the highest element reached, or `None` if the layout is empty or they overflow.
    fn checked_reach(&self) -> Option<(i128, i128)> {
        let (mut low, mut high) = (self.offset as i128, self.offset as i128);
        for axis in 0..self.rank {
            let last = self.shape[axis].checked_sub(1)? as i128;
            let span = last.checked_mul(self.strides[axis] as i128)?;
            if span < 0 { low = low.checked_add(span)? } else { high = high.checked_add(span)? }
        }
        Some((low, high))
    }

    /// Returns the range from the lowest element reached to one past the highest. It is empty if there are no elements.
    pub(crate) fn reach(&self) -> Range<usize> {
        match self.checked_reach() {
            // The layout is inside its storage, so both ends fit `usize`.
            Some((low, high)) => low as usize..high as usize + 1,
            None => 0..0,
        }
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape[..self.rank]
    }

    pub(crate) fn strides(&self) -> &[isize] {
        &self.strides[..self.rank]
    }

    pub(crate) fn offset(&self) -> usize {
        self.offset
    }

    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    pub(crate) fn len(&self) -> usize {
        self.shape().iter().product()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.shape().contains(&0)
    }

    /// Returns `true` if the elements are in row-major order without gaps.
    #[inline(always)] // small calls ask for it once per tensor
    pub(crate) fn is_contiguous(&self) -> bool {
        let mut expected = 1;
        for axis in (0..self.rank).rev() {
            if self.shape[axis] != 1 {
                if self.strides[axis] != expected {
                    return self.is_empty();
                }
                expected *= self.shape[axis] as isize;
            }
        }
        true
    }

    /// Returns `true` if both layouts have the same shape.
    #[inline]
    pub(crate) fn has_shape_of(&self, other: &Layout) -> bool {
        // A loop, since a call to compare so few sizes would take longer.
        self.rank == other.rank && self.shape().iter().zip(&other.shape).all(|(x, y)| x == y)
    }

    /// Returns `true` if both layouts have the same shape and the same positions: they are equal except for the strides
    /// of dimensions of size 1.
    pub(crate) fn is_same_view(&self, other: &Layout) -> bool {
        self.shape() == other.shape()
            && (self.is_empty()
                || self.offset == other.offset
                    && (0..self.rank).all(|axis| {
                        self.shape[axis] == 1 || self.strides[axis] == other.strides[axis]
                    }))
    }

    /// Checks that an axis exists.
    pub(crate) fn axis(&self, op: &'static str, axis: usize) -> Result<usize> {
        checked_axis(op, axis as i128, self.shape())
    }

    /// Returns a layout of another shape over the same elements in the same order, if strides can express it.
    pub(crate) fn reshape(&self, shape: &[usize]) -> Result<Layout> {
        let op = "reshape";
        let len = checked_len(op, shape, 1)?;
        if len != self.len() {
            let reason = format!(
                "{}, but the tensor has {} ({:?})",
                counted(len, "element"),
                self.len(),
                self.shape()
            );
            return Err(invalid(op, shape, reason));
        }
        let mut result = Layout::row_major(shape);
        result.offset = self.offset;
        if self.is_empty() {
            return Ok(result);
        }
        let mut old = [(1usize, 0isize); MAX_RANK];
        let mut count = 0;
        for axis in 0..self.rank {
            if self.shape[axis] != 1 {
                old[count] = (self.shape[axis], self.strides[axis]);
                count += 1;
            }
        }
        // From the right: adjacent old dimensions that collapse into one form a run, which is split into new dimensions
        // with the same product of sizes.
        let mut new_axis = shape.len();
        while count > 0 {
            count -= 1;
            let (mut run, stride) = old[count];
            while count > 0 && stride.checked_mul(run as isize) == Some(old[count - 1].1) {
                count -= 1;
                run *= old[count].0;
            }
            let mut taken = 1;
            while taken < run && new_axis > 0 {
                new_axis -= 1;
                result.strides[new_axis] = stride * taken as isize;
                taken *= shape[new_axis];
            }
            if taken != run {
                let reason = format!(
                    "no view of shape {:?} and strides {:?} has it; call `contiguous` first",
                    self.shape(),
                    self.strides()
                );
                return Err(invalid(op, shape, reason));
            }
        }
        Ok(result)
    }

    /// Returns the layout of the same bytes as elements of another size: the last dimension, which must be dense, grows
    /// or shrinks by the ratio. Both sizes are powers of two.
    pub(crate) fn bitcast(&self, from: usize, to: usize) -> Result<Layout> {
        let op = "bitcast";
        let refused = |reason: String| Err(invalid(op, self.shape(), reason));
        if from == to {
            return Ok(*self);
        }
        let Some(last) = self.rank.checked_sub(1) else {
            return refused(format!(
                "elements of {from} bytes become elements of {to}, and there is no dimension that could grow or shrink"
            ));
        };
        if self.shape[last] > 1 && self.strides[last] != 1 {
            return refused(format!(
                "dimension {last} has stride {} and would have to be dense; call `contiguous` first",
                self.strides[last]
            ));
        }
        let mut result = *self;
        result.strides[last] = 1;
        if to < from {
            let ratio = from / to;
            // The bytes have been counted, but not those of a tensor without any.
            result.shape[last] = self.shape[last].saturating_mul(ratio);
            checked_len(op, result.shape(), to)?;
            // Only a stride that leads nowhere can be so large that it overflows.
            for stride in &mut result.strides[..last] {
                *stride = stride.saturating_mul(ratio as isize);
            }
            result.offset = self.offset.saturating_mul(ratio);
            return Ok(result);
        }
        let ratio = to / from;
        if !self.shape[last].is_multiple_of(ratio) {
            return refused(format!(
                "dimension {last} has {}, and one of {to} bytes takes {ratio}",
                counted(self.shape[last], "element")
            ));
        }
        result.shape[last] /= ratio;
        for axis in 0..last {
            let is_whole = self.strides[axis] % ratio as isize == 0;
            if !(is_whole || self.shape[axis] == 1 || self.is_empty()) {
                return refused(format!(
                    "dimension {axis} has stride {}, which is not a multiple of {ratio}; call `contiguous` first",
                    self.strides[axis]
                ));
            }
            result.strides[axis] /= ratio as isize;
        }
        if !(self.offset.is_multiple_of(ratio) || self.is_empty()) {
            return refused(format!(
                "the first element is number {} of the storage, which is not a multiple of {ratio}; call `copy` first",
                self.offset
            ));
        }
        result.offset /= ratio;
        Ok(result)
    }

    /// Reorders the dimensions: `order[k]` is the old axis that becomes axis `k`.
    pub(crate) fn permute(&self, order: &[usize]) -> Result<Layout> {
        let mut result = *self;
        let mut seen = [false; MAX_RANK];
        let valid = order.len() == self.rank
            && order
                .iter()
                .all(|&axis| axis < self.rank && !std::mem::replace(&mut seen[axis], true));
        if !valid {
            return Err(Error::InvalidArgument {
                op: "permute",
                reason: format!("{order:?} is not a permutation of the {} axes", self.rank),
            });
        }
        for (axis, &old) in order.iter().enumerate() {
            result.shape[axis] = self.shape[old];
            result.strides[axis] = self.strides[old];
        }
        Ok(result)
    }

    pub(crate) fn transpose(&self, first: usize, second: usize) -> Result<Layout> {
        let (first, second) = (self.axis("transpose", first)?, self.axis("transpose", second)?);
        let mut result = *self;
        result.shape.swap(first, second);
        result.strides.swap(first, second);
        Ok(result)
    }

    /// Inserts a dimension of size 1 in front of `axis`.
    pub(crate) fn unsqueeze(&self, axis: usize) -> Result<Layout> {
        let op = "unsqueeze";
        if axis > self.rank {
            let reason = format!("axis {axis} in a tensor of rank {}", self.rank);
            return Err(Error::OutOfBounds { op, reason });
        }
        if self.rank == MAX_RANK {
            return Err(invalid(op, self.shape(), format!("rank {MAX_RANK} is the limit")));
        }
        Ok(self.with_unit_axis(axis))
    }

    /// Like [`Layout::unsqueeze`], for a rank that is known to be below [`MAX_RANK`].
    pub(crate) fn with_unit_axis(&self, axis: usize) -> Layout {
        let mut result = *self;
        result.shape.copy_within(axis..self.rank, axis + 1);
        result.strides.copy_within(axis..self.rank, axis + 1);
        result.rank += 1;
        result.shape[axis] = 1;
        result.strides[axis] = if axis < self.rank {
            self.strides[axis].saturating_mul(self.shape[axis].max(1) as isize)
        } else {
            1
        };
        result
    }

    pub(crate) fn squeeze(&self, axis: usize) -> Result<Layout> {
        let axis = self.axis("squeeze", axis)?;
        if self.shape[axis] != 1 {
            let reason = format!("axis {axis} has size {}, not 1", self.shape[axis]);
            return Err(invalid("squeeze", self.shape(), reason));
        }
        Ok(self.without(axis))
    }

    /// Removes an axis, which must exist: what remains is what lies at its index 0.
    fn without(&self, axis: usize) -> Layout {
        let mut result = *self;
        result.shape.copy_within(axis + 1..self.rank, axis);
        result.strides.copy_within(axis + 1..self.rank, axis);
        result.rank -= 1;
        result.shape[result.rank] = 1;
        result.strides[result.rank] = 0;
        result
    }

    /// Selects one index of an axis and removes the axis. Both must exist.
    pub(crate) fn at(&self, axis: usize, index: usize) -> Layout {
        self.selected(axis, index, 1, 1).without(axis)
    }

    /// Selects `len` elements of an axis, beginning with `start`.
    pub(crate) fn narrow(&self, axis: usize, start: usize, len: usize) -> Result<Layout> {
        let axis = self.axis("narrow", axis)?;
        let size = self.shape[axis];
        if start.checked_add(len).is_none_or(|end| end > size) {
            let reason = format!(
                "{} from {start} on, of axis {axis} of size {size}",
                counted(len, "element")
            );
            return Err(Error::OutOfBounds { op: "narrow", reason });
        }
        Ok(self.selected(axis, start, len, 1))
    }

    /// Selects elements of an axis by start, end and step, as Python does.
    pub(crate) fn slice(&self, axis: usize, slice: Slice) -> Result<Layout> {
        let axis = self.axis("slice", axis)?;
        let (start, len) = slice.resolve(self.shape[axis])?;
        Ok(self.selected(axis, start, len, slice.stride()))
    }

    pub(crate) fn flip(&self, axis: usize) -> Result<Layout> {
        let axis = self.axis("flip", axis)?;
        let size = self.shape[axis];
        Ok(self.selected(axis, size.saturating_sub(1), size, -1))
    }

    /// Selects the first element of an axis and keeps the axis, with size 1. An empty axis stays empty.
    pub(crate) fn first_of(&self, axis: usize) -> Layout {
        self.selected(axis, 0, self.shape[axis].min(1), 1)
    }

    /// Merges the first `axes` axes to one of `len` rows, which are `stride` apart. The rows are relative to the first of
    /// them: the offset is 0.
    #[cfg(feature = "cpu")]
    pub(crate) fn rows(&self, axes: usize, len: usize, stride: isize) -> Layout {
        let mut result = (1..axes).fold(*self, |layout, _| layout.without(0));
        (result.shape[0], result.strides[0], result.offset) = (len, stride, 0);
        result
    }

    /// Selects `len` elements of an axis, `step` apart, beginning with `start`. All of them must exist.
    fn selected(&self, axis: usize, start: usize, len: usize, step: isize) -> Layout {
        let mut result = *self;
        result.shape[axis] = len;
        // With a single element the step is irrelevant; it may be so large that the stride would overflow.
        result.strides[axis] =
            if len > 1 { self.strides[axis].wrapping_mul(step) } else { self.strides[axis] };
        if !result.is_empty() {
            result.offset = self.offset.wrapping_add_signed(start as isize * self.strides[axis]);
        }
        result
    }

    /// Broadcasts to a shape: dimensions are added on the left, and dimensions of size 1 get stride 0.
    pub(crate) fn broadcast_to(&self, op: &'static str, shape: &[usize]) -> Result<Layout> {
        if shape == self.shape() {
            return Ok(*self);
        }
        checked_len(op, shape, 1)?;
        let refused = || Error::Broadcast { op, lhs: boxed(self.shape()), rhs: boxed(shape) };
        let added = shape.len().checked_sub(self.rank).ok_or_else(refused)?;
        let mut result = Layout::row_major(shape);
        result.offset = self.offset;
        result.strides = [0; MAX_RANK];
        for axis in 0..self.rank {
            if self.shape[axis] == shape[axis + added] {
                result.strides[axis + added] = self.strides[axis];
            } else if self.shape[axis] != 1 {
                return Err(refused());
            }
        }
        Ok(result)
    }
}

/// Returns the size of a shape along an axis of a shape of `rank` dimensions to which it is broadcast: the last axes
/// correspond, and dimensions that it lacks have size 1.
pub(crate) fn aligned_size(shape: &[usize], axis: usize, rank: usize) -> usize {
    (axis + shape.len()).checked_sub(rank).map_or(1, |own| shape[own])
}

/// Returns the shape to which two shapes broadcast.
pub(crate) fn broadcast(op: &'static str, lhs: &[usize], rhs: &[usize]) -> Result<Shape> {
    let rank = lhs.len().max(rhs.len());
    let mut shape = [1; MAX_RANK];
    for (axis, slot) in shape[..rank].iter_mut().enumerate() {
        *slot = match (aligned_size(lhs, axis, rank), aligned_size(rhs, axis, rank)) {
            (l, r) if l == r => l,
            (1, r) => r,
            (l, 1) => l,
            _ => return Err(Error::Broadcast { op, lhs: boxed(lhs), rhs: boxed(rhs) }),
        };
    }
    Ok(Shape { rank, sizes: shape })
}

/// A shape stored inline, so that broadcasting does not allocate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    rank: usize,
    sizes: [usize; MAX_RANK],
}

impl Shape {
    /// Copies a shape of at most [`MAX_RANK`] dimensions, as every tensor has.
    pub(crate) fn of(sizes: &[usize]) -> Shape {
        let mut shape = Shape { rank: sizes.len().min(MAX_RANK), sizes: [1; MAX_RANK] };
        shape.sizes[..shape.rank].copy_from_slice(&sizes[..shape.rank]);
        shape
    }

    /// Returns the shape without the chosen dimensions.
    pub(crate) fn without(&self, chosen: &[bool; MAX_RANK]) -> Shape {
        let mut shape = Shape { rank: 0, sizes: [1; MAX_RANK] };
        for axis in (0..self.rank).filter(|&axis| !chosen[axis]) {
            shape.sizes[shape.rank] = self.sizes[axis];
            shape.rank += 1;
        }
        shape
    }

    /// Returns the shape with all dimensions that are not chosen set to size 1.
    pub(crate) fn only(&self, chosen: &[bool; MAX_RANK]) -> Shape {
        let mut shape = *self;
        for axis in (0..self.rank).filter(|&axis| !chosen[axis]) {
            shape.sizes[axis] = 1;
        }
        shape
    }
}

impl std::ops::Deref for Shape {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        &self.sizes[..self.rank]
    }
}
