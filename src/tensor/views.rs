//! Views: other layouts over the same storage.

use smallvec::SmallVec;

use super::shape::inferred;
use super::{IntoAxis, IntoIndex, IntoReshape, IntoShape, Tensor};
use crate::layout::{Layout, MAX_RANK, boxed, checked_axis, checked_len, place};
use crate::slice::Slice;
use crate::{DType, Error, Result};

/// # Views
///
/// Each of these methods returns a tensor with another shape and other strides over the same storage. None of them
/// copies elements. A negative axis counts from the last dimension.
impl Tensor {
    /// Returns a view of another shape with the same elements in the same row-major order.
    ///
    /// One size of a tuple may be `..`, which is inferred from the others. `..` alone flattens to one dimension.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::arange(6, DType::I32, &Device::cpu())?;
    /// assert_eq!(x.reshape([2, 3])?.shape(), [2, 3]);
    /// assert_eq!(x.reshape((2, ..))?.shape(), [2, 3]);
    /// let columns = x.reshape([2, 3])?.transpose(0, 1)?;
    /// assert!(columns.reshape([6]).is_err());
    /// assert_eq!(columns.contiguous()?.reshape([6])?.to_vec::<i32>()?, [0, 3, 1, 4, 2, 5]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidShape`] if the number of elements differs, or if no strides over the storage can express the
    /// shape. In the latter case a copy is needed: call [`Tensor::contiguous`] first.
    #[doc(alias = "view")]
    pub fn reshape(&self, shape: impl IntoReshape) -> Result<Tensor> {
        self.reshape_to(&shape.sizes())
    }

    /// Returns a view of another shape, in which one size may be inferred from the others.
    pub(crate) fn reshape_to(&self, sizes: &[Option<usize>]) -> Result<Tensor> {
        let shape = inferred(self.len(), sizes)?;
        Ok(self.with_layout(self.layout.reshape(&shape)?))
    }

    /// Inserts a dimension of size 1, which becomes dimension `axis` of the result.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::zeros([2, 3], DType::I32, &Device::cpu())?;
    /// assert_eq!(x.unsqueeze(1)?.shape(), [2, 1, 3]);
    /// assert_eq!(x.unsqueeze(-1)?.shape(), [2, 3, 1]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`] if the result has no such dimension, [`Error::InvalidShape`] if the rank is already 8.
    #[doc(alias = "expand_dims")]
    pub fn unsqueeze(&self, axis: impl IntoAxis) -> Result<Tensor> {
        let place = place(axis.number(), self.rank() + 1).ok_or_else(|| Error::OutOfBounds {
            op: "unsqueeze",
            reason: format!("axis {} in a tensor of rank {}", axis.number(), self.rank()),
        })?;
        Ok(self.with_layout(self.layout.unsqueeze(place)?))
    }

    /// Removes a dimension of size 1.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::zeros([2, 1, 3], DType::I32, &Device::cpu())?;
    /// assert_eq!(x.squeeze(1)?.shape(), [2, 3]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidShape`] if its size is not 1, [`Error::OutOfBounds`] if the axis does not exist.
    pub fn squeeze(&self, axis: impl IntoAxis) -> Result<Tensor> {
        let axis = self.axis("squeeze", axis)?;
        Ok(self.with_layout(self.layout.squeeze(axis)?))
    }

    /// Swaps two dimensions.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::zeros([2, 3], DType::I32, &Device::cpu())?;
    /// assert_eq!(x.transpose(0, 1)?.shape(), [3, 2]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`] if either axis does not exist.
    pub fn transpose(&self, first: impl IntoAxis, second: impl IntoAxis) -> Result<Tensor> {
        let (first, second) = (self.axis("transpose", first)?, self.axis("transpose", second)?);
        Ok(self.with_layout(self.layout.transpose(first, second)?))
    }

    /// Reorders the dimensions: `order[k]` is the dimension that becomes dimension `k`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::zeros([2, 3, 4], DType::I32, &Device::cpu())?;
    /// assert_eq!(x.permute([2, 0, 1])?.shape(), [4, 2, 3]);
    /// assert_eq!(x.permute([-1, 0, 1])?.shape(), [4, 2, 3]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if `order` does not name every dimension exactly once.
    pub fn permute(&self, order: impl IntoIndex) -> Result<Tensor> {
        let order = order.numbers();
        // An axis that does not exist becomes one that `Layout::permute` rejects.
        let axes = order.iter().map(|&axis| place(axis, self.rank()).unwrap_or(usize::MAX));
        let layout = self.layout.permute(&axes.collect::<SmallVec<[usize; MAX_RANK]>>());
        layout.map(|layout| self.with_layout(layout)).map_err(|_| {
            let reason = format!("{order:?} is not a permutation of the {} axes", self.rank());
            Error::InvalidArgument { op: "permute", reason }
        })
    }

    /// Selects part of a dimension by start, end and step; see [`Slice`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Slice, Tensor};
    /// let x = Tensor::arange(7, DType::I32, &Device::cpu())?;
    /// assert_eq!(x.slice(0, 2..5)?.to_vec::<i32>()?, [2, 3, 4]);
    /// assert_eq!(x.slice(0, Slice::from(5..0).step(-2))?.to_vec::<i32>()?, [5, 3, 1]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`] if the axis does not exist, [`Error::InvalidArgument`] if the step is 0.
    pub fn slice(&self, axis: impl IntoAxis, slice: impl Into<Slice>) -> Result<Tensor> {
        let axis = self.axis("slice", axis)?;
        Ok(self.with_layout(self.layout.slice(axis, slice.into())?))
    }

    /// Selects `len` elements of a dimension, beginning with `start`. Unlike with [`Tensor::slice`], all must exist.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::arange(7, DType::I32, &Device::cpu())?;
    /// assert_eq!(x.narrow(0, 2, 3)?.to_vec::<i32>()?, [2, 3, 4]);
    /// assert!(x.narrow(0, 5, 3).is_err());
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`] if the axis or one of the elements does not exist.
    pub fn narrow(&self, axis: impl IntoAxis, start: usize, len: usize) -> Result<Tensor> {
        let axis = self.axis("narrow", axis)?;
        Ok(self.with_layout(self.layout.narrow(axis, start, len)?))
    }

    /// Reverses a dimension.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::arange(3, DType::I32, &Device::cpu())?;
    /// assert_eq!(x.flip(0)?.to_vec::<i32>()?, [2, 1, 0]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`] if the axis does not exist.
    pub fn flip(&self, axis: impl IntoAxis) -> Result<Tensor> {
        let axis = self.axis("flip", axis)?;
        Ok(self.with_layout(self.layout.flip(axis)?))
    }

    /// Broadcasts to a shape: missing leading dimensions are added, and dimensions of size 1 are repeated.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::arange(2, DType::I32, &Device::cpu())?;
    /// assert_eq!(x.broadcast_to([2, 2])?.to_vec::<i32>()?, [0, 1, 0, 1]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Broadcast`] if the shape has fewer dimensions, or if a size other than 1 differs;
    /// [`Error::InvalidShape`] if the rank is above 8 or the byte count of the shape overflows `isize`.
    pub fn broadcast_to(&self, shape: impl IntoShape) -> Result<Tensor> {
        let op = "broadcast_to";
        shape.with_shape(|shape| {
            checked_len(op, shape, self.dtype.size())?;
            Ok(self.with_layout(self.layout.broadcast_to(op, shape)?))
        })
    }

    /// Returns a view with any shape, strides and offset. Strides and offset are in elements; the offset counts from
    /// the start of the storage, not of this view.
    ///
    /// # Examples
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
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`] if an element would be outside the storage; [`Error::InvalidShape`] if the numbers of
    /// strides and sizes differ, the rank is above 8, or the byte count of the shape overflows `isize`.
    pub fn as_strided(&self, shape: &[usize], strides: &[isize], offset: usize) -> Result<Tensor> {
        let op = "as_strided";
        checked_len(op, shape, self.dtype.size())?;
        let capacity = self.storage.bytes() / self.dtype.size();
        Layout::strided(op, shape, strides, offset, capacity).map(|layout| self.with_layout(layout))
    }

    /// Returns a view of the same bytes as elements of another dtype.
    ///
    /// Dtypes of the same size keep the shape. Otherwise the last dimension, which must be dense, grows or shrinks by the
    /// ratio of the sizes; a complex number is read as its real and then its imaginary part, and every other element as
    /// its bytes in the order of the machine. `bool` is excluded, because only two of its bytes are valid: [cast](Tensor::cast)
    /// it from or to `u8`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Complex, DType, Device, Tensor};
    /// # let device = Device::cpu();
    /// let x = Tensor::from_slice(&[1.0f32, -2.0], [2], &device)?;
    /// let bits = x.bitcast(DType::U32)?;
    /// assert_eq!(bits.to_vec::<u32>()?, [0x3f80_0000, 0xc000_0000]);
    /// assert!(bits.shares_storage(&x));
    /// assert_eq!(x.bitcast(DType::U16)?.shape(), [4]);
    /// let z = x.bitcast(DType::C64)?;
    /// assert_eq!(z.to_vec::<Complex<f32>>()?, [Complex::new(1.0, -2.0)]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidShape`] if no strides over the storage can express the elements, with the dimension that stands in
    /// the way; [`Error::UnsupportedDType`] from or to `bool`.
    #[doc(alias = "view")]
    #[doc(alias = "transmute")]
    #[doc(alias = "reinterpret")]
    #[doc(alias = "bitcast_convert_type")]
    #[doc(alias = "to_bits")]
    #[doc(alias = "from_bits")]
    pub fn bitcast(&self, dtype: DType) -> Result<Tensor> {
        let op = "bitcast";
        self.dtype.check_bitcast(op, dtype)?;
        let layout = self.layout.bitcast(self.dtype.size(), dtype.size())?;
        // Memory of another library may be aligned to its own elements only.
        let address = self.storage.read().address();
        if !address.is_multiple_of(dtype.size()) && !layout.is_empty() {
            let (shape, size) = (boxed(self.shape()), dtype.size());
            let reason = format!(
                "the memory begins at {address:#x}, which is not a multiple of {size}; call `copy` first"
            );
            return Err(Error::InvalidShape { op, shape, reason });
        }
        Ok(Tensor { layout, dtype, ..self.clone() })
    }

    /// Resolves an axis that may be negative.
    pub(crate) fn axis(&self, op: &'static str, number: impl IntoAxis) -> Result<usize> {
        checked_axis(op, number.number(), self.shape())
    }
}
