//! Comparing whole tensors, for tests.

use super::Tensor;
use crate::cast::Cast;
use crate::dtype::for_each_dtype;
use crate::layout::broadcast;
use crate::{Category, Complex, DType, Result};

/// # Comparing
///
/// These methods wait for the device and compare whole tensors on the host. [`Tensor::equal`] compares element by
/// element.
impl Tensor {
    /// Returns `true` if both tensors have the same dtype, the same shape and the same bits.
    ///
    /// −0.0 therefore differs from 0.0, and a NaN equals a NaN with the same sign and payload. The tensors may be on
    /// different devices.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// # let device = Device::cpu();
    /// let x = Tensor::from_nested([0.0f32, f32::NAN], &device)?;
    /// assert!(x.bits_equal(&x.copy()?)?);
    /// assert!(!x.bits_equal(&Tensor::from_nested([-0.0f32, f32::NAN], &device)?)?);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), or the error of an earlier operation that failed on a device.
    pub fn bits_equal(&self, other: &Tensor) -> Result<bool> {
        let alike = self.dtype() == other.dtype() && self.shape() == other.shape();
        Ok(alike && self.to_bytes()? == other.to_bytes()?)
    }

    /// Returns `true` if all pairs of elements are close: `|x − y| ≤ absolute + relative · |y|`, as in NumPy's
    /// `allclose`.
    ///
    /// NaN is not close to anything, not even to itself; an infinity is close only to itself. The dtypes may differ,
    /// the shapes are broadcast, and the tensors may be on different devices.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// # let device = Device::cpu();
    /// let x = Tensor::from_nested([1.0f32, 100.0], &device)?;
    /// let y = Tensor::from_nested([1.000001f64, 100.0001], &device)?;
    /// assert!(x.allclose(&y, 1e-5, 1e-8)?);
    /// assert!(!x.allclose(&y, 0.0, 1e-8)?);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Broadcast`](crate::Error::Broadcast) if the shapes do not broadcast,
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), or the error of an earlier operation that failed on a device.
    pub fn allclose(&self, other: &Tensor, relative: f64, absolute: f64) -> Result<bool> {
        let shape = broadcast("allclose", self.shape(), other.shape())?;
        let (x, y) = (self.broadcast_to(&*shape)?, other.broadcast_to(&*shape)?);
        let is_exact = |tensor: &Tensor| tensor.dtype().category() <= Category::Int;
        if is_exact(&x) && is_exact(&y) {
            // Distinct large integers could become equal as floats.
            let (x, y) = (x.integers()?, y.integers()?);
            return Ok(x.into_iter().zip(y).all(|(x, y)| {
                x == y || (x - y).unsigned_abs() as f64 <= absolute + relative * y.abs() as f64
            }));
        }
        let (x, y) = (x.complex_numbers()?, y.complex_numbers()?);
        Ok(x.into_iter().zip(y).all(|(x, y)| {
            // A non-finite difference is never close; equal infinities satisfy `x == y`.
            let distance = (x - y).norm();
            x == y || distance.is_finite() && distance <= absolute + relative * y.norm()
        }))
    }

    fn integers(&self) -> Result<Vec<i128>> {
        match self.dtype() {
            DType::U64 => Ok(self.to_vec::<u64>()?.into_iter().map(i128::from).collect()),
            _ => Ok(self.cast(DType::I64)?.to_vec::<i64>()?.into_iter().map(i128::from).collect()),
        }
    }

    fn complex_numbers(&self) -> Result<Vec<Complex<f64>>> {
        macro_rules! convert {
            ($($variant:ident: $rust:ty = $name:literal $class:ident;)*) => {
                match self.dtype() {
                    $(DType::$variant => {
                        Ok(self.to_vec::<$rust>()?.into_iter().map(Cast::cast).collect())
                    })*
                }
            };
        }
        for_each_dtype!(convert)
    }
}
