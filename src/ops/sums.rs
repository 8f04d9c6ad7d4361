//! Sums and means over dimensions.

use crate::call::{Call, Over, Target};
use crate::layout::MAX_RANK;
use crate::op::Domain;
use crate::program::Fold;
use crate::{DType, Error, Result, Tensor};

/// A sum or a mean that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sum {
    Sum,
    Mean,
}

impl Sum {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Sum::Sum => "sum",
            Sum::Mean => "mean",
        }
    }

    /// Checks the axes of a tensor of this shape, and decides the dtype of the result.
    pub(crate) fn over(self, dtype: DType, shape: &[usize], axes: &[usize]) -> Result<Over> {
        let op = self.name();
        let (fold, rounded) = match self {
            Sum::Sum if dtype.is_unsigned_int() => (Fold::Sum, DType::U64),
            Sum::Sum if dtype.is_int() || dtype == DType::Bool => (Fold::Sum, DType::I64),
            Sum::Sum => (Fold::Sum, dtype),
            Sum::Mean if Domain::Fractions.contains(dtype) => (Fold::Mean, dtype),
            Sum::Mean => {
                let allowed = Domain::Fractions.words();
                return Err(Error::UnsupportedDType { op, dtype, allowed });
            }
        };
        let mut chosen = [axes.is_empty(); MAX_RANK];
        for &axis in axes {
            if axis >= shape.len() {
                let reason = format!("axis {axis} of a tensor of rank {} ({shape:?})", shape.len());
                return Err(Error::OutOfBounds { op, reason });
            }
            if std::mem::replace(&mut chosen[axis], true) {
                let reason = format!("axis {axis} is named twice in {axes:?}");
                return Err(Error::InvalidArgument { op, reason });
            }
        }
        Ok(Over { fold, axes: chosen, rounded })
    }
}

fn run(sum: Sum, x: &Tensor, axes: &[usize]) -> Result<Tensor> {
    let over = sum.over(x.dtype(), x.shape(), axes)?;
    let mut call = Call::new();
    let terms = call.tensor(x);
    call.run(sum.name(), terms, Some(over), Target::default())
}

/// Sums over dimensions, which are dropped. An empty list of axes means all of them.
///
/// Floats are added in `f64` and rounded once. The order of the additions depends on the number of terms alone: they
/// are the leaves of a perfect binary tree in row-major order. So the result has the same bits on every device, with
/// any number of threads and for every layout; and its error before rounding is at most the depth of the
/// tree (the logarithm of the number of terms) times 2⁻⁵³ times the sum of the magnitudes.
impl Tensor {
    /// The sum over some dimensions. Floats and complex numbers keep their dtype, bools and signed integers give
    /// `i64` and unsigned ones `u64`, which wrap.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`] for an axis that the tensor does not have, [`Error::InvalidArgument`] for one that
    /// is named twice, [`Error::OutOfMemory`].
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_slice(&[1, 2, 3, 4, 5, 6], [2, 3], &Device::cpu())?;
    /// assert_eq!(x.sum(&[0])?.to_vec::<i64>()?, [5, 7, 9]);
    /// assert_eq!(x.sum(&[])?.to_vec::<i64>()?, [21]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn sum(&self, axes: &[usize]) -> Result<Tensor> {
        run(Sum::Sum, self, axes)
    }

    /// The mean over some dimensions, of floats and complex numbers: the sum divided by the number of terms,
    /// rounded once. The mean of nothing is NaN.
    ///
    /// # Errors
    ///
    /// As for [`Tensor::sum`], and [`Error::UnsupportedDType`] for bools and integers.
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], [2, 2], &Device::cpu())?;
    /// assert_eq!(x.mean(&[1])?.to_vec::<f32>()?, [1.5, 3.5]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn mean(&self, axes: &[usize]) -> Result<Tensor> {
        run(Sum::Mean, self, axes)
    }
}
