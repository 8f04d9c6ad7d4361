//! `max`, `min`, `any` and `all`.

use super::sums::Reduce;
#[cfg(doc)]
use crate::Error;
use crate::{Result, Tensor};

/// # Maximum, minimum, any and all
///
/// These methods reduce the given dimensions, which the result no longer has. An empty list of axes means all of them.
/// The result has the same bits on every device, except that the sign and payload of a NaN are unspecified.
impl Tensor {
    /// Returns the largest elements over the given dimensions.
    ///
    /// Elements compare as in [`Tensor::maximum`]: the result is NaN if any element is, and −0 is less than +0. The
    /// dtype is unchanged.
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
    /// As for [`Tensor::sum`], [`Error::UnsupportedDType`] for complex dtypes, and [`Error::InvalidShape`] if there are
    /// no elements to reduce.
    pub fn max(&self, axes: &[usize]) -> Result<Tensor> {
        Reduce::Max.run(self, axes)
    }

    /// Returns the smallest elements over the given dimensions.
    ///
    /// Elements compare as in [`Tensor::minimum`]: the result is NaN if any element is, and −0 is less than +0. The
    /// dtype is unchanged.
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

    /// Tests whether any element over the given dimensions is true.
    ///
    /// Every value other than zero is true, including NaN. The result is `false` where there are no elements.
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
    /// As for [`Tensor::sum`].
    pub fn any(&self, axes: &[usize]) -> Result<Tensor> {
        Reduce::Any.run(self, axes)
    }

    /// Tests whether all elements over the given dimensions are true.
    ///
    /// Every value other than zero is true, including NaN. The result is `true` where there are no elements.
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
    /// As for [`Tensor::sum`].
    pub fn all(&self, axes: &[usize]) -> Result<Tensor> {
        Reduce::All.run(self, axes)
    }
}
