//! Views: other layouts over the same storage. None of them copies.

use super::{IntoShape, Tensor};
#[cfg(doc)]
use crate::Error;
use crate::Result;
use crate::layout::{Layout, checked_len};
use crate::slice::Slice;

impl Tensor {
    /// Another shape with the same elements in the same row-major order.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidShape`] if the number of elements differs, or if no strides can express the
    /// shape: then a copy is needed, which [`Tensor::contiguous`] makes.
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::arange(6, DType::I32, &Device::cpu())?;
    /// assert_eq!(x.reshape([2, 3])?.shape(), [2, 3]);
    /// let columns = x.reshape([2, 3])?.transpose(0, 1)?;
    /// assert!(columns.reshape([6]).is_err());
    /// assert_eq!(columns.contiguous()?.reshape([6])?.to_vec::<i32>()?, [0, 3, 1, 4, 2, 5]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn reshape(&self, shape: impl IntoShape) -> Result<Tensor> {
        shape.with_shape(|shape| Ok(self.with_layout(self.layout.reshape(shape)?)))
    }

    /// A new dimension of size 1 in front of `axis`.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`] if `axis` is above the rank, [`Error::InvalidShape`] at rank 8.
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::zeros([2, 3], DType::I32, &Device::cpu())?;
    /// assert_eq!(x.unsqueeze(1)?.shape(), [2, 1, 3]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn unsqueeze(&self, axis: usize) -> Result<Tensor> {
        Ok(self.with_layout(self.layout.unsqueeze(axis)?))
    }

    /// Without a dimension of size 1.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidShape`] if its size is not 1, [`Error::OutOfBounds`] if it does not exist.
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::zeros([2, 1, 3], DType::I32, &Device::cpu())?;
    /// assert_eq!(x.squeeze(1)?.shape(), [2, 3]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn squeeze(&self, axis: usize) -> Result<Tensor> {
        Ok(self.with_layout(self.layout.squeeze(axis)?))
    }

    /// Two dimensions exchanged.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`] if one of them does not exist.
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::zeros([2, 3], DType::I32, &Device::cpu())?;
    /// assert_eq!(x.transpose(0, 1)?.shape(), [3, 2]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn transpose(&self, first: usize, second: usize) -> Result<Tensor> {
        Ok(self.with_layout(self.layout.transpose(first, second)?))
    }

    /// The dimensions in another order: `order[k]` names the one that becomes dimension `k`.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if `order` does not name every dimension once.
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::zeros([2, 3, 4], DType::I32, &Device::cpu())?;
    /// assert_eq!(x.permute([2, 0, 1])?.shape(), [4, 2, 3]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn permute(&self, order: impl AsRef<[usize]>) -> Result<Tensor> {
        Ok(self.with_layout(self.layout.permute(order.as_ref())?))
    }

    /// Part of a dimension, by start, end and step; see [`Slice`].
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`] if the dimension does not exist, [`Error::InvalidArgument`] for a
    /// step of 0.
    ///
    /// ```
    /// # use bitlane::{DType, Device, Slice, Tensor};
    /// let x = Tensor::arange(7, DType::I32, &Device::cpu())?;
    /// assert_eq!(x.slice(0, 2..5)?.to_vec::<i32>()?, [2, 3, 4]);
    /// assert_eq!(x.slice(0, Slice::from(5..0).step(-2))?.to_vec::<i32>()?, [5, 3, 1]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn slice(&self, axis: usize, slice: impl Into<Slice>) -> Result<Tensor> {
        Ok(self.with_layout(self.layout.slice(axis, slice.into())?))
    }

    /// `len` elements of a dimension from `start` on; unlike [`Tensor::slice`], all must exist.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`] if they do not.
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::arange(7, DType::I32, &Device::cpu())?;
    /// assert_eq!(x.narrow(0, 2, 3)?.to_vec::<i32>()?, [2, 3, 4]);
    /// assert!(x.narrow(0, 5, 3).is_err());
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn narrow(&self, axis: usize, start: usize, len: usize) -> Result<Tensor> {
        Ok(self.with_layout(self.layout.narrow(axis, start, len)?))
    }

    /// A dimension in reverse.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`] if it does not exist.
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::arange(3, DType::I32, &Device::cpu())?;
    /// assert_eq!(x.flip(0)?.to_vec::<i32>()?, [2, 1, 0]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn flip(&self, axis: usize) -> Result<Tensor> {
        Ok(self.with_layout(self.layout.flip(axis)?))
    }

    /// Stretched to a shape: missing dimensions and those of size 1 repeat.
    ///
    /// # Errors
    ///
    /// [`Error::Broadcast`] if another size differs, [`Error::InvalidShape`] above rank 8 or if the
    /// bytes of such a shape cannot be counted.
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::arange(2, DType::I32, &Device::cpu())?;
    /// assert_eq!(x.broadcast_to([2, 2])?.to_vec::<i32>()?, [0, 1, 0, 1]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn broadcast_to(&self, shape: impl IntoShape) -> Result<Tensor> {
        let op = "broadcast_to";
        shape.with_shape(|shape| {
            checked_len(op, shape, self.dtype.size())?;
            Ok(self.with_layout(self.layout.broadcast_to(op, shape)?))
        })
    }

    /// Any shape, strides and offset over the storage, in elements, counted from its start.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`] if an element would lie outside the storage, [`Error::InvalidShape`]
    /// if there are not as many strides as sizes, above rank 8, or if the bytes of such a shape
    /// cannot be counted.
    ///
    /// ```
    /// # use bitlane::{DType, Device, ErrorKind, Tensor};
    /// let x = Tensor::arange(5, DType::I32, &Device::cpu())?;
    /// let windows = x.as_strided(&[3, 3], &[1, 1], 0)?;
    /// assert_eq!(windows.to_vec::<i32>()?, [0, 1, 2, 1, 2, 3, 2, 3, 4]);
    /// let error = x.as_strided(&[3], &[-1], 1).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::OutOfBounds);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn as_strided(&self, shape: &[usize], strides: &[isize], offset: usize) -> Result<Tensor> {
        let op = "as_strided";
        checked_len(op, shape, self.dtype.size())?;
        let capacity = self.storage.bytes() / self.dtype.size();
        Layout::strided(op, shape, strides, offset, capacity).map(|layout| self.with_layout(layout))
    }
}
