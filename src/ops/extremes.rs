//! Extremes and truths over dimensions.

use super::sums::Reduce;
#[cfg(doc)]
use crate::Error;
use crate::{Result, Tensor};

/// # Extremes and truths over dimensions
///
/// The dimensions are dropped; an empty list of axes means all of them. The result has the same bits on every device,
/// except that the sign and payload of a NaN are free.
impl Tensor {
    /// The largest element over some dimensions, as [`Tensor::maximum`] compares: NaN if there is one, and −0 is below
    /// +0. Keeps the dtype.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_slice(&[1, 5, 3, 4, 2, 6], [2, 3], &Device::cpu())?;
    /// assert_eq!(x.max(&[0])?.to_vec::<i32>()?, [4, 5, 6]);
    /// assert_eq!(x.max(&[])?.item::<i32>()?, 6);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::UnsupportedDType`] for complex numbers, [`Error::OutOfBounds`] for an axis that the tensor does not
    /// have, [`Error::InvalidArgument`] for one that is named twice, [`Error::InvalidShape`] if there is no element to
    /// take the maximum of, [`Error::OutOfMemory`].
    pub fn max(&self, axes: &[usize]) -> Result<Tensor> {
        Reduce::Max.run(self, axes)
    }

    /// The smallest element over some dimensions, as [`Tensor::minimum`] compares: NaN if there is one, and −0 is below
    /// +0. Keeps the dtype.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_slice(&[1.5f32, -0.5, f32::NAN, 4.0], [2, 2], &Device::cpu())?;
    /// let least = x.min(&[1])?.to_vec::<f32>()?;
    /// assert!(least[0] == -0.5 && least[1].is_nan());
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Tensor::max`].
    pub fn min(&self, axes: &[usize]) -> Result<Tensor> {
        Reduce::Min.run(self, axes)
    }

    /// Whether any element over some dimensions is true, that is, not zero; a NaN is true. Of no elements, none is.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_slice(&[1, 5, 3, 4, 2, 6], [2, 3], &Device::cpu())?;
    /// assert_eq!(x.greater_than(4)?.any(&[1])?.to_vec::<bool>()?, [true, true]);
    /// assert!(!x.equal(0)?.any(&[])?.item::<bool>()?);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`] for an axis that the tensor does not have, [`Error::InvalidArgument`] for one that is
    /// named twice, [`Error::OutOfMemory`].
    pub fn any(&self, axes: &[usize]) -> Result<Tensor> {
        Reduce::Any.run(self, axes)
    }

    /// Whether all elements over some dimensions are true, that is, not zero; a NaN is true. Of no elements, all are.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_slice(&[1, 5, 3, 4, 2, 6], [2, 3], &Device::cpu())?;
    /// assert_eq!(x.greater_than(1)?.all(&[1])?.to_vec::<bool>()?, [false, true]);
    /// assert!(x.equal(&x)?.all(&[])?.item::<bool>()?);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Tensor::any`].
    pub fn all(&self, axes: &[usize]) -> Result<Tensor> {
        Reduce::All.run(self, axes)
    }
}
