//! Single elements and single rows.

use std::iter::FusedIterator;
use std::ops::Range;

use super::{IntoAxis, IntoIndex, Tensor};
use crate::layout::place;
use crate::{Element, Error, Result};

/// # Elements and rows
impl Tensor {
    /// Returns the only element of a tensor with exactly one element. Waits for the device.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_nested([[1, 2], [3, 4]], &Device::cpu())?;
    /// assert_eq!(x.sum(..)?.item::<i64>()?, 10);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidShape`] if there is not exactly one element, [`Error::InvalidArgument`] if `T` is not its type,
    /// or the error of an earlier operation that failed on the device.
    pub fn item<T: Element>(&self) -> Result<T> {
        self.only("item")
    }

    /// Returns the element at an index, in which negative numbers count from the end. Waits for the device.
    ///
    /// To read many elements, [`Tensor::to_vec`] is faster.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_nested([[1, 2], [3, 4]], &Device::cpu())?;
    /// assert_eq!(x.get::<i32>([1, 0])?, 3);
    /// assert_eq!(x.get::<i32>([-1, -1])?, 4);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`] if there is no such element or the index does not have one number per dimension,
    /// [`Error::InvalidArgument`] if `T` is not the element type, or the error of an earlier operation that failed on
    /// the device.
    pub fn get<T: Element>(&self, index: impl IntoIndex) -> Result<T> {
        let op = "get";
        let index = index.numbers();
        let outside = || {
            let reason = format!("index {index:?} in a tensor of shape {:?}", self.shape());
            Error::OutOfBounds { op, reason }
        };
        if index.len() != self.rank() {
            return Err(outside());
        }
        let mut element = self.clone();
        for (axis, &number) in index.iter().enumerate() {
            let place = place(number, self.shape()[axis]).ok_or_else(outside)?;
            element = element.narrow(axis, place, 1)?;
        }
        element.only(op)
    }

    /// Returns a view of the tensor at one index of an axis, without that axis.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_nested([[1, 2], [3, 4]], &Device::cpu())?;
    /// assert_eq!(x.index_axis(0, 1)?.to_vec::<i32>()?, [3, 4]);
    /// assert_eq!(x.index_axis(1, -1)?.to_vec::<i32>()?, [2, 4]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`] if the axis or the index does not exist.
    pub fn index_axis(&self, axis: impl IntoAxis, index: impl IntoAxis) -> Result<Tensor> {
        let op = "index_axis";
        let axis = self.axis(op, axis)?;
        let size = self.shape()[axis];
        let place = place(index.number(), size).ok_or_else(|| Error::OutOfBounds {
            op,
            reason: format!("index {} of axis {axis} of size {size}", index.number()),
        })?;
        Ok(self.with_layout(self.layout.at(axis, place)))
    }

    /// Returns an iterator over views of the tensor along its first dimension, each without that dimension. Each view is
    /// made when it is asked for.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_nested([[1, 2], [3, 4], [5, 6]], &Device::cpu())?;
    /// for (index, mut row) in x.rows()?.enumerate() {
    ///     row.multiply_assign(10 * index)?;
    /// }
    /// assert_eq!(x.to_vec::<i32>()?, [0, 0, 30, 40, 100, 120]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidShape`] if the tensor has no dimensions.
    pub fn rows(&self) -> Result<Rows> {
        let Some(&count) = self.shape().first() else {
            let reason = "a tensor without dimensions has no rows".into();
            return Err(Error::InvalidShape { op: "rows", shape: [].into(), reason });
        };
        Ok(Rows { tensor: self.clone(), left: 0..count })
    }

    /// Returns the only element, with errors that name the operation `op`.
    fn only<T: Element>(&self, op: &'static str) -> Result<T> {
        let elements = if self.len() == 1 { self.elements(op)? } else { Vec::new() };
        elements.first().copied().ok_or_else(|| {
            let reason = format!("has {} elements, not 1", self.len());
            Error::InvalidShape { op, shape: self.shape().into(), reason }
        })
    }
}

/// The rows of a tensor, from the front or from the back: the iterator that [`Tensor::rows`] returns.
///
/// # Examples
///
/// ```
/// # use bitlane::{Device, Tensor};
/// let x = Tensor::from_nested([[1, 2], [3, 4], [5, 6]], &Device::cpu())?;
/// let mut rows = x.rows()?;
/// assert_eq!(rows.len(), 3);
/// let last = rows.next_back().map(|row| row.to_vec::<i32>()).transpose()?;
/// assert_eq!(last, Some(vec![5, 6]));
/// # Ok::<(), bitlane::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rows {
    tensor: Tensor,
    /// The rows that have not been returned yet.
    left: Range<usize>,
}

impl Rows {
    fn row(&self, index: usize) -> Tensor {
        self.tensor.with_layout(self.tensor.layout.at(0, index))
    }
}

impl Iterator for Rows {
    type Item = Tensor;

    fn next(&mut self) -> Option<Tensor> {
        self.left.next().map(|index| self.row(index))
    }

    fn nth(&mut self, skipped: usize) -> Option<Tensor> {
        self.left.nth(skipped).map(|index| self.row(index))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl DoubleEndedIterator for Rows {
    fn next_back(&mut self) -> Option<Tensor> {
        self.left.next_back().map(|index| self.row(index))
    }

    fn nth_back(&mut self, skipped: usize) -> Option<Tensor> {
        self.left.nth_back(skipped).map(|index| self.row(index))
    }
}

impl ExactSizeIterator for Rows {}

impl FusedIterator for Rows {}
