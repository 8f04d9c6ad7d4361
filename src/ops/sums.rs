//! Reductions: the list of them, the dtypes they accept, and the methods `sum` and `mean`.

use crate::call::{Call, Elements, Over, Target};
use crate::layout::{MAX_RANK, boxed, checked_axis};
use crate::op::Domain;
use crate::program::Fold;
use crate::{DType, Error, Result, Tensor};

/// A reduction, as a method of a tensor or an expression names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reduce {
    Sum,
    Mean,
    Max,
    Min,
    Any,
    All,
}

impl Reduce {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Reduce::Sum => "sum",
            Reduce::Mean => "mean",
            Reduce::Max => "max",
            Reduce::Min => "min",
            Reduce::Any => "any",
            Reduce::All => "all",
        }
    }

    /// Appends the conversion of the terms that the reduction needs, checks the axes, and determines the dtype of the
    /// result.
    pub(crate) fn of<'a>(
        self,
        call: &mut Call<'a>,
        terms: Elements<'a>,
        axes: &[usize],
    ) -> Result<(Elements<'a>, Over)> {
        // `any` is the maximum of bools, and `all` is the minimum.
        let is_truth = matches!(self, Reduce::Any | Reduce::All);
        let terms = if is_truth { call.cast(terms, DType::Bool) } else { terms };
        let over = self.over(call.program.dtype(terms.value), call.shape(terms.shape), axes)?;
        Ok((terms, over))
    }

    fn over(self, dtype: DType, shape: &[usize], axes: &[usize]) -> Result<Over> {
        let op = self.name();
        let refused =
            |domain: Domain| Err(Error::UnsupportedDType { op, dtype, allowed: domain.words() });
        let (fold, rounded) = match self {
            Reduce::Sum if dtype.is_unsigned_int() => (Fold::Sum, DType::U64),
            Reduce::Sum if dtype.is_int() || dtype == DType::Bool => (Fold::Sum, DType::I64),
            Reduce::Sum => (Fold::Sum, dtype),
            Reduce::Mean if !Domain::Fractions.contains(dtype) => {
                return refused(Domain::Fractions);
            }
            Reduce::Mean => (Fold::Mean, dtype),
            Reduce::Max | Reduce::Min if !Domain::Real.contains(dtype) => {
                return refused(Domain::Real);
            }
            Reduce::Max | Reduce::Any => (Fold::Max, dtype),
            Reduce::Min | Reduce::All => (Fold::Min, dtype),
        };
        let mut chosen = [axes.is_empty(); MAX_RANK];
        for &axis in axes {
            let axis = checked_axis(op, axis as i128, shape)?;
            if std::mem::replace(&mut chosen[axis], true) {
                let reason = format!("axis {axis} is named twice in {axes:?}");
                return Err(Error::InvalidArgument { op, reason });
            }
        }
        if matches!(self, Reduce::Max | Reduce::Min) {
            // An empty reduced dimension is allowed if the result is empty as well.
            let empty =
                |reduced: bool| (0..shape.len()).any(|k| chosen[k] == reduced && shape[k] == 0);
            if empty(true) && !empty(false) {
                let reason = format!("there are no elements to take the {op} of");
                return Err(Error::InvalidShape { op, shape: boxed(shape), reason });
            }
        }
        Ok(Over { fold, axes: chosen, rounded })
    }

    pub(super) fn run(self, x: &Tensor, axes: &[usize]) -> Result<Tensor> {
        let mut call = Call::new();
        let terms = call.tensor(x);
        let (terms, over) = self.of(&mut call, terms, axes)?;
        call.run(self.name(), terms, Some(over), Target::default())
    }
}

/// # Sums and means
///
/// These methods reduce the given dimensions, which the result no longer has. An empty list of axes means all of them.
///
/// Floats are added in `f64` and rounded once. The order of the additions depends only on the number of terms: the
/// terms, in row-major order, are the leaves of a perfect binary tree. The result therefore has the same bits on every
/// device, with any number of threads and for every layout. Its error before rounding is at most 2⁻⁵³ times the depth
/// of the tree (the binary logarithm of the number of terms, rounded up) times the sum of the magnitudes of the terms.
impl Tensor {
    /// Sums the elements over the given dimensions.
    ///
    /// Sums of floats and complex numbers keep the dtype. Sums of bools and signed integers are `i64`, those of
    /// unsigned integers are `u64`; both wrap on overflow.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_slice(&[1, 2, 3, 4, 5, 6], [2, 3], &Device::cpu())?;
    /// assert_eq!(x.sum(&[0])?.to_vec::<i64>()?, [5, 7, 9]);
    /// assert_eq!(x.sum(&[])?.to_vec::<i64>()?, [21]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfBounds`] if an axis does not exist, [`Error::InvalidArgument`] if an axis is named twice,
    /// [`Error::OutOfMemory`], and on CUDA [`Error::Compile`] or [`Error::Driver`].
    pub fn sum(&self, axes: &[usize]) -> Result<Tensor> {
        Reduce::Sum.run(self, axes)
    }

    /// Averages floats or complex numbers over the given dimensions.
    ///
    /// The mean is the sum divided by the number of terms, rounded once. The mean of no elements is NaN.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], [2, 2], &Device::cpu())?;
    /// assert_eq!(x.mean(&[1])?.to_vec::<f32>()?, [1.5, 3.5]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Tensor::sum`], and [`Error::UnsupportedDType`] for bools and integers.
    pub fn mean(&self, axes: &[usize]) -> Result<Tensor> {
        Reduce::Mean.run(self, axes)
    }
}
