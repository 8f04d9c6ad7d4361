//! Single elements and single rows.

use std::iter::FusedIterator;
use std::ops::Range;

use super::{IntoAxis, IntoIndex, Tensor};
use crate::layout::place;
use crate::slice::Slice;
use crate::{Element, Error, Result};

/// One entry of the argument of [`Tensor::at`]: a number, which selects one index of a dimension and removes it, or a
/// range or [`Slice`], which keeps the dimension. Negative numbers count from the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// One index.
    Index(i128),
    /// A range of indices.
    Slice(Slice),
}

impl<S: Into<Slice>> From<S> for Position {
    fn from(slice: S) -> Self {
        Position::Slice(slice.into())
    }
}

macro_rules! position_from_numbers {
    ($($number:ty)*) => {$(
        impl From<$number> for Position {
            fn from(number: $number) -> Self {
                Position::Index(number.number())
            }
        }
    )*};
}

position_from_numbers! { usize isize i32 i64 }

/// The argument of [`Tensor::at`]: a tuple of numbers and ranges, one per dimension from the first on, or one alone.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not select elements of a tensor",
    note = "`at` takes numbers and ranges, such as `3`, `1..`, or `(.., 3, 1..5)`"
)]
pub trait IntoPositions {
    /// Returns the entries, in the order of the dimensions.
    fn positions(self) -> Vec<Position>;
}

impl<P: Into<Position>> IntoPositions for P {
    fn positions(self) -> Vec<Position> {
        vec![self.into()]
    }
}

macro_rules! tuple_positions {
    ($($($name:ident $position:ident)*;)*) => {$(
        impl<$($name: Into<Position>),*> IntoPositions for ($($name,)*) {
            fn positions(self) -> Vec<Position> {
                let ($($position,)*) = self;
                vec![$($position.into()),*]
            }
        }
    )*};
}

tuple_positions! {
    A a;
    A a B b;
    A a B b C c;
    A a B b C c D d;
    A a B b C c D d E e;
    A a B b C c D d E e F f;
    A a B b C c D d E e F f G g;
    A a B b C c D d E e F f G g H h;
}

/// # Elements and rows
impl Tensor {
    /// Returns a view of selected elements: a number selects one index of a dimension and removes it, a range selects
    /// several. Dimensions that are not mentioned are kept whole.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::arange(24, DType::I32, &Device::cpu())?.reshape([2, 3, 4])?;
    /// assert_eq!(x.at((.., 1, 2..))?.to_vec::<i32>()?, [6, 7, 18, 19]);
    /// assert_eq!(x.at((-1, -1))?.to_vec::<i32>()?, [20, 21, 22, 23]);
    /// assert_eq!(x.at(0)?.shape(), [3, 4]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`] if there is no such index or dimension, and [`Error::InvalidArgument`] for a step of 0.
    pub fn at(&self, positions: impl IntoPositions) -> Result<Tensor> {
        let positions = positions.positions();
        if positions.len() > self.rank() {
            let (given, rank) = (positions.len(), self.rank());
            let reason = format!("{given} positions in a tensor of rank {rank}");
            return Err(Error::OutOfBounds { op: "at", reason });
        }
        let (mut view, mut axis) = (self.clone(), 0);
        for position in positions {
            match position {
                Position::Slice(slice) => {
                    view = view.slice(axis, slice)?;
                    axis += 1;
                }
                Position::Index(number) => {
                    let index = place(number, view.shape()[axis]).ok_or_else(|| {
                        let shape = self.shape();
                        let reason = format!("index {number} in a tensor of shape {shape:?}");
                        Error::OutOfBounds { op: "at", reason }
                    })?;
                    view = view.narrow(axis, index, 1)?.squeeze(axis)?;
                }
            }
        }
        Ok(view)
    }

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
