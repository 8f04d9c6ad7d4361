//! Concatenating and stacking.

use super::{IntoAxis, Tensor};
use crate::layout::{boxed, place};
use crate::{Error, Result};

/// # Joining
impl Tensor {
    /// Concatenates tensors along an existing axis.
    ///
    /// Their sizes must agree in all other dimensions, and they must have the same dtype and device.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// # let device = Device::cpu();
    /// let x = Tensor::from_nested([[1, 2], [3, 4]], &device)?;
    /// let y = Tensor::from_nested([[5], [6]], &device)?;
    /// let joined = Tensor::concatenate([&x, &y], 1)?;
    /// assert_eq!(joined.shape(), [2, 3]);
    /// assert_eq!(joined.to_vec::<i32>()?, [1, 2, 5, 3, 4, 6]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if there are no tensors or their dtypes differ, [`Error::InvalidShape`] if their
    /// sizes do not agree, [`Error::OutOfBounds`] if the axis does not exist, [`Error::DeviceMismatch`],
    /// [`Error::OutOfMemory`], and on CUDA [`Error::Compile`] or [`Error::Driver`].
    #[doc(alias = "cat")]
    #[doc(alias = "concat")]
    pub fn concatenate<T: AsRef<Tensor>>(
        tensors: impl IntoIterator<Item = T>,
        axis: impl IntoAxis,
    ) -> Result<Tensor> {
        let op = "concatenate";
        let tensors: Vec<T> = tensors.into_iter().collect();
        let tensors: Vec<&Tensor> = tensors.iter().map(AsRef::as_ref).collect();
        let first = first(op, &tensors)?;
        let axis = first.axis(op, axis)?;
        let mut total = 0usize;
        for (index, tensor) in tensors.iter().enumerate() {
            let differs = tensor.rank() != first.rank()
                || (0..first.rank()).any(|k| k != axis && tensor.shape()[k] != first.shape()[k]);
            if differs {
                return Err(misfit(op, index, tensor, first, &format!("beside axis {axis}")));
            }
            total = total.saturating_add(tensor.shape()[axis]);
        }
        let mut shape = first.shape().to_vec();
        shape[axis] = total;
        let joined = Tensor::undefined(op, first.device(), &shape, first.dtype())?;
        let mut start = 0;
        for tensor in tensors {
            let len = tensor.shape()[axis];
            joined.narrow(axis, start, len)?.write(op, tensor.into(), None)?;
            start += len;
        }
        Ok(joined)
    }

    /// Stacks tensors along a new axis, which becomes dimension `axis` of the result.
    ///
    /// They must have the same shape, dtype and device.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// # let device = Device::cpu();
    /// let x = Tensor::from_nested([1, 2, 3], &device)?;
    /// let y = Tensor::from_nested([4, 5, 6], &device)?;
    /// assert_eq!(Tensor::stack([&x, &y], 0)?.shape(), [2, 3]);
    /// assert_eq!(Tensor::stack([&x, &y], -1)?.to_vec::<i32>()?, [1, 4, 2, 5, 3, 6]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Tensor::concatenate`], and [`Error::InvalidShape`] if the rank is already 8.
    pub fn stack<T: AsRef<Tensor>>(
        tensors: impl IntoIterator<Item = T>,
        axis: impl IntoAxis,
    ) -> Result<Tensor> {
        let op = "stack";
        let tensors: Vec<T> = tensors.into_iter().collect();
        let tensors: Vec<&Tensor> = tensors.iter().map(AsRef::as_ref).collect();
        let first = first(op, &tensors)?;
        if let Some(index) = tensors.iter().position(|tensor| tensor.shape() != first.shape()) {
            return Err(misfit(op, index, tensors[index], first, "throughout"));
        }
        let axis = place(axis.number(), first.rank() + 1).ok_or_else(|| Error::OutOfBounds {
            op,
            reason: format!("axis {} of a result of rank {}", axis.number(), first.rank() + 1),
        })?;
        let mut shape = first.shape().to_vec();
        shape.insert(axis, tensors.len());
        let joined = Tensor::undefined(op, first.device(), &shape, first.dtype())?;
        for (index, tensor) in tensors.into_iter().enumerate() {
            joined.index_axis(axis, index)?.write(op, tensor.into(), None)?;
        }
        Ok(joined)
    }
}

/// Returns the first tensor, after checking that the others have its dtype and device.
fn first<'a>(op: &'static str, tensors: &[&'a Tensor]) -> Result<&'a Tensor> {
    let Some(&first) = tensors.first() else {
        let reason = "no tensors were given, at least one is needed".into();
        return Err(Error::InvalidArgument { op, reason });
    };
    for (index, tensor) in tensors.iter().enumerate() {
        first.device().expect_same(op, tensor.device())?;
        if tensor.dtype() != first.dtype() {
            let (own, other) = (first.dtype(), tensor.dtype());
            let reason =
                format!("tensor {index} is {other}, but the first is {own}; `cast` one of them");
            return Err(Error::InvalidArgument { op, reason });
        }
    }
    Ok(first)
}

/// The error for a tensor whose shape does not fit that of the first one.
fn misfit(op: &'static str, index: usize, tensor: &Tensor, first: &Tensor, place: &str) -> Error {
    let reason =
        format!("tensor {index} must have the sizes of the first, {:?}, {place}", first.shape());
    Error::InvalidShape { op, shape: boxed(tensor.shape()), reason }
}
