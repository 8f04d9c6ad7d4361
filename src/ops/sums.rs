//! Reductions: which there are, what they accept, and the sums among them.

use crate::call::{Call, Elements, Over, Target};
use crate::layout::{MAX_RANK, boxed};
use crate::op::Domain;
use crate::program::Fold;
use crate::{DType, Error, Result, Tensor};

/// A reduction that was asked for.
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

    /// Adds what has to happen to the terms, checks the axes, and decides the dtype of the result.
    pub(crate) fn of<'a>(
        self,
        call: &mut Call<'a>,
        terms: Elements<'a>,
        axes: &[usize],
    ) -> Result<(Elements<'a>, Over)> {
        // Whether any or all are true is the largest or smallest truth.
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
            if axis >= shape.len() {
                let reason = format!("axis {axis} of a tensor of rank {} ({shape:?})", shape.len());
                return Err(Error::OutOfBounds { op, reason });
            }
            if std::mem::replace(&mut chosen[axis], true) {
                let reason = format!("axis {axis} is named twice in {axes:?}");
                return Err(Error::InvalidArgument { op, reason });
            }
        }
        if matches!(self, Reduce::Max | Reduce::Min) {
            // No terms are no harm where there are no results either.
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

/// # Sums over dimensions
///
/// The dimensions are dropped; an empty list of axes means all of them.
///
/// Floats are added in `f64` and rounded once. The order of the additions depends on the number of terms alone: they
/// are the leaves of a perfect binary tree in row-major order. So the result has the same bits on every device, with
/// any number of threads and for every layout; and its error before rounding is at most the depth of the
/// tree (the logarithm of the number of terms) times 2⁻⁵³ times the sum of the magnitudes.
impl Tensor {
    /// The sum over some dimensions. Floats and complex numbers keep their dtype, bools and signed integers give
    /// `i64` and unsigned ones `u64`, which wrap.
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
    /// [`Error::OutOfBounds`] for an axis that the tensor does not have, [`Error::InvalidArgument`] for one that
    /// is named twice, [`Error::OutOfMemory`].
    pub fn sum(&self, axes: &[usize]) -> Result<Tensor> {
        Reduce::Sum.run(self, axes)
    }

    /// The mean over some dimensions, of floats and complex numbers: the sum divided by the number of terms,
    /// rounded once. The mean of nothing is NaN.
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
