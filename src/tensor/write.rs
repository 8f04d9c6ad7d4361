//! Writing to tensors and views that are there already.

use super::Tensor;
use crate::call::{Call, Elements, Target, Term};
use crate::{Error, Operand, Result, Scalar};

/// # Writing in place
///
/// What is written through a view is seen through the tensor it was made from.
impl Tensor {
    /// Makes every element the same number, rounded to the dtype.
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
    /// [`Error::ScalarOverflow`] if an integer does not fit an integer dtype,
    /// [`Error::OverlappingDestination`] if elements of the view share memory, and what the device says. The tensor is
    /// then as it was.
    pub fn fill(&mut self, value: impl Into<Scalar>) -> Result<()> {
        self.write_number("fill", value.into(), None)
    }

    /// Copies the elements of another tensor, which broadcasts to the shape of this one. Elements of the same dtype
    /// keep every bit, −0.0 and NaN payloads included; others are converted as [`Tensor::cast`] does.
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
    /// [`Error::Broadcast`] if the shapes do not fit, [`Error::InplaceDtype`] if the other dtype is of a higher
    /// category, [`Error::OverlappingDestination`] if elements of this view share memory, [`Error::DeviceMismatch`],
    /// [`Error::ScalarOverflow`] for a number that does not fit, and what the device says. The tensor is then as it
    /// was.
    pub fn copy_from<'a>(&mut self, source: impl Into<Operand<'a>>) -> Result<()> {
        self.write("copy_from", source.into(), None)
    }

    /// Makes the elements where the mask is true the same number: `x[mask] = value`.
    ///
    /// The mask is a bool tensor that broadcasts to the shape of this one. It may be made from the tensor itself.
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
    /// As for [`Tensor::fill`]; [`Error::InvalidArgument`] if the mask is not bool, [`Error::Broadcast`] if it does not
    /// fit the shape.
    pub fn masked_fill(&mut self, mask: &Tensor, value: impl Into<Scalar>) -> Result<()> {
        self.write_number("masked_fill", value.into(), Some(mask))
    }

    /// Copies elements of another tensor where the mask is true: `x[mask] = source[mask]`. Both broadcast to the shape
    /// of this one.
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

    /// Copies an operand into this tensor, whose elements the caller may write.
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
        // The shape is this tensor's, to which the source is stretched.
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
