//! The properties of a tensor: its shape, dtype and device.

use std::sync::Arc;

use super::Tensor;
use crate::{DType, Device};

/// # Shape, dtype and device
impl Tensor {
    /// Returns the size of each dimension.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::zeros([2, 3], DType::I32, &Device::cpu())?;
    /// assert_eq!((x.shape(), x.rank(), x.len()), (&[2, 3][..], 2, 6));
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// Returns the stride of each dimension, in elements. Strides may be zero or negative.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::zeros([2, 3], DType::I32, &Device::cpu())?;
    /// assert_eq!(x.strides(), [3, 1]);
    /// assert_eq!(x.flip(0)?.strides(), [-3, 1]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn strides(&self) -> &[isize] {
        self.layout.strides()
    }

    /// Returns the type of the elements.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::zeros([2, 3], DType::I32, &Device::cpu())?;
    /// assert_eq!(x.dtype(), DType::I32);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the device that holds the elements.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::zeros([2, 3], DType::I32, &Device::cpu())?;
    /// assert_eq!(x.device(), &Device::cpu());
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Returns the number of dimensions, from 0 to 8.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::zeros([2, 3], DType::I32, &Device::cpu())?;
    /// assert_eq!(x.rank(), 2);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn rank(&self) -> usize {
        self.layout.rank()
    }

    /// Returns the number of elements.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::zeros([2, 3], DType::I32, &Device::cpu())?;
    /// assert_eq!(x.len(), 6);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        self.layout.len()
    }

    /// Returns `true` if the tensor has no elements.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::zeros([2, 3], DType::I32, &Device::cpu())?;
    /// assert!(!x.is_empty() && x.narrow(0, 1, 0)?.is_empty());
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.layout.is_empty()
    }

    /// Returns `true` if the elements are in row-major order without gaps.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::zeros([2, 3], DType::I32, &Device::cpu())?;
    /// assert!(x.is_contiguous() && !x.transpose(0, 1)?.is_contiguous());
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    #[inline(always)]
    pub fn is_contiguous(&self) -> bool {
        self.layout.is_contiguous()
    }

    /// Returns `true` if both tensors are views of the same storage, whether or not they overlap.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// # let x = Tensor::from_slice(&[1, 2, 3, 4], [2, 2], &Device::cpu())?;
    /// assert!(x.shares_storage(&x.transpose(0, 1)?));
    /// assert!(!x.shares_storage(&(&x + 1)?));
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn shares_storage(&self, other: &Tensor) -> bool {
        Arc::ptr_eq(&self.storage, &other.storage)
    }
}

/// Lets functions such as [`Tensor::stack`] accept both tensors and references to tensors.
impl AsRef<Tensor> for Tensor {
    fn as_ref(&self) -> &Tensor {
        self
    }
}
