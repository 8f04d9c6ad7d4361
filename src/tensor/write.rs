//! Writing to existing tensors and views.

use super::Tensor;
use crate::call::{Call, Elements, Target, Term};
use crate::{Error, Operand, Result, Scalar};

/// # Writing in place
///
/// A write through a view is visible through every other tensor that shares its storage.
impl Tensor {
    /// Sets every element to `value`, rounded to the dtype.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::zeros([2, 3], DType::I32, &Device::cpu())?;
    /// x.slice(1, 1..)?.fill(7)?; // through a view
    /// assert_eq!(x.to_vec::<i32>()?, [0, 7, 7, 0, 7, 7]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::ScalarOverflow`] if an integer does not fit an integer dtype, [`Error::OverlappingDestination`] if
    /// elements of the view share memory, and on CUDA [`Error::Compile`] or [`Error::Driver`]. On error the tensor is
    /// unchanged.
    pub fn fill(&mut self, value: impl Into<Scalar>) -> Result<()> {
        self.write_number("fill", value.into(), None)
    }

    /// Copies the elements of another operand, which is broadcast to the shape of this tensor.
    ///
    /// Elements of the same dtype keep every bit, including the sign of zero and NaN payloads; others are converted as
    /// [`Tensor::cast`] converts them.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// # let device = Device::cpu();
    /// let x = Tensor::zeros([2, 2], DType::F32, &device)?;
    /// let row = Tensor::from_nested([-0.0f32, 1.5], &device)?;
    /// x.narrow(0, 1, 1)?.copy_from(&row)?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.0, 0.0, 0.0, 1.5]);
    /// assert!(x.get::<f32>([1, 0])?.is_sign_negative());
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Broadcast`] if the source does not broadcast to this shape, [`Error::InplaceDtype`] if its dtype is of
    /// a higher category, [`Error::OverlappingDestination`] if elements of this view share memory,
    /// [`Error::DeviceMismatch`] if the source is on another device, [`Error::ScalarOverflow`] if it is a number that
    /// does not fit, [`Error::OutOfMemory`], and on CUDA [`Error::Compile`] or [`Error::Driver`]. On error the tensor
    /// is unchanged.
    pub fn copy_from<'a>(&mut self, source: impl Into<Operand<'a>>) -> Result<()> {
        self.write("copy_from", source.into(), None)
    }

    /// Sets the elements where the mask is true to `value`, as `x[mask] = value` does in NumPy.
    ///
    /// The mask is a `bool` tensor, which is broadcast to the shape of this tensor and may share its storage.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let mut x = Tensor::from_nested([1.5f32, -2.0, f32::NAN], &Device::cpu())?;
    /// x.masked_fill(&x.less_than(0)?, 0)?;
    /// x.masked_fill(&x.not_equal(&x)?, -1)?; // only NaN differs from itself
    /// assert_eq!(x.to_vec::<f32>()?, [1.5, 0.0, -1.0]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Tensor::fill`]; [`Error::InvalidArgument`] if the mask is not `bool`, [`Error::Broadcast`] if it does
    /// not broadcast to this shape, [`Error::DeviceMismatch`] if it is on another device.
    pub fn masked_fill(&mut self, mask: &Tensor, value: impl Into<Scalar>) -> Result<()> {
        self.write_number("masked_fill", value.into(), Some(mask))
    }

    /// Copies the elements of another operand where the mask is true, as `x[mask] = source[mask]` does in NumPy.
    ///
    /// The source and the mask are broadcast to the shape of this tensor.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let mut x = Tensor::from_nested([1, -2, 3], &Device::cpu())?;
    /// x.assign_where(&x.less_than(0)?, (&x * 10)?)?;
    /// assert_eq!(x.to_vec::<i32>()?, [1, -20, 3]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Tensor::copy_from`] and [`Tensor::masked_fill`].
    pub fn assign_where<'a>(
        &mut self,
        mask: &Tensor,
        source: impl Into<Operand<'a>>,
    ) -> Result<()> {
        self.write("assign_where", source.into(), Some(mask))
    }

    /// Copies an operand into this tensor. The caller must have the right to write the elements.
    pub(super) fn write(
        &self,
        op: &'static str,
        source: Operand<'_>,
        mask: Option<&Tensor>,
    ) -> Result<()> {
        let mut call = Call::new();
        let elements = match call.operand(&source) {
            Term::Elements(elements) => elements,
            Term::Number(scalar) if scalar.category() > self.dtype().category() => {
                let (destination, result) = (self.dtype(), scalar.dtype());
                return Err(Error::InplaceDtype { op, destination, result });
            }
            Term::Number(scalar) => return self.write_number(op, scalar, mask),
        };
        if let Some(device) = elements.device {
            self.device().expect_same(op, device)?;
        }
        // The source is broadcast to this tensor's shape.
        let elements = Elements { shape: call.add_shape(self.shape()), ..elements };
        call.run(op, elements, None, Target { out: Some(self), mask }).map(drop)
    }

    fn write_number(&self, op: &'static str, value: Scalar, mask: Option<&Tensor>) -> Result<()> {
        let value = value.to_element(op, self.dtype())?;
        let mut call = Call::new();
        let value = call.number(self.dtype(), value);
        let shape = call.add_shape(self.shape());
        let elements = Elements { value, shape, device: Some(self.device()) };
        call.run(op, elements, None, Target { out: Some(self), mask }).map(drop)
    }
}
