//! What a tensor is: its shape, dtype and device.

use std::sync::Arc;

use super::Tensor;
use crate::{DType, Device};

/// # Shape, dtype and device
impl Tensor {
    /// The size of each dimension.
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

    /// How far apart neighbours are in each dimension, in elements; 0 and negative are possible.
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

    /// The type of the elements.
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

    /// Where the elements live.
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

    /// The number of dimensions, 0 to 8.
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

    /// The number of elements.
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

    /// Whether there are no elements.
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

    /// Whether the elements lie in row-major order without gaps.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::zeros([2, 3], DType::I32, &Device::cpu())?;
    /// assert!(x.is_contiguous() && !x.transpose(0, 1)?.is_contiguous());
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    #[inline]
    pub fn is_contiguous(&self) -> bool {
        self.layout.is_contiguous()
    }

    /// Whether the two are views of the same storage, overlapping or not.
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

/// So that functions can take tensors, references to them and lists of either.
impl AsRef<Tensor> for Tensor {
    fn as_ref(&self) -> &Tensor {
        self
    }
}
