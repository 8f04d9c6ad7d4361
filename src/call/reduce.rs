//! Reductions: the dtypes of the terms and the result, and which dimensions are reduced.

use super::{Call, Elements, ReduceAxes};
use crate::layout::boxed;
use crate::op::ReduceOp;
use crate::promote::{ResolvedReduce, Rules, resolve_reduce};
use crate::tensor::{Axes, IntoAxes};
use crate::{DType, Error, Result, Scalar};

/// The axes and options of a reduction.
#[derive(Clone, Debug)]
pub(crate) struct ReduceArguments {
    pub(crate) axes: Axes,
    /// Whether the result keeps the reduced dimensions, with size 1.
    pub(crate) keepdims: bool,
    /// The dtype of the terms and the result, in place of those that follow from the operand.
    pub(crate) dtype: Option<DType>,
    /// What a variance subtracts from the number of terms.
    pub(crate) correction: Option<Scalar>,
}

impl ReduceArguments {
    /// Creates arguments without options.
    pub(crate) fn new(axes: impl IntoAxes) -> ReduceArguments {
        let axes = axes.into_axes();
        ReduceArguments { axes, keepdims: false, dtype: None, correction: None }
    }

    /// Returns the correction as a number of terms.
    fn correction(&self, op: ReduceOp) -> Result<f64> {
        let Some(given) = self.correction else { return Ok(0.0) };
        let refused = |reason| Err(Error::InvalidArgument { op: op.name(), reason });
        if !op.takes_correction() {
            return refused(format!("it has no correction, and {given} was given"));
        }
        match given {
            Scalar::Int(number) => Ok(number as f64),
            Scalar::UInt(number) => Ok(number as f64),
            Scalar::Float(number) if number.is_finite() => Ok(number),
            _ => refused(format!("the correction {given} is not a number of elements")),
        }
    }
}

impl<'a> Call<'a> {
    /// Adds the conversion of the terms that a reduction needs. Returns the terms, and over what they are reduced.
    ///
    /// # Errors
    ///
    /// [`Error::UnsupportedDType`] for the dtype, [`Error::OutOfBounds`] or [`Error::InvalidArgument`] for the axes,
    /// and [`Error::InvalidShape`] if there is no term where there must be one.
    pub(crate) fn reduce(
        &mut self,
        op: ReduceOp,
        elements: Elements<'a>,
        arguments: &ReduceArguments,
        rules: Rules,
    ) -> Result<(Elements<'a>, ReduceAxes)> {
        let dtype = self.program.dtype(elements.value);
        let ResolvedReduce { terms, result } = match arguments.dtype {
            None => resolve_reduce(op, dtype, rules)?,
            Some(dtype) if op.takes_dtype() => {
                let resolved = resolve_reduce(op, dtype, rules)?;
                ResolvedReduce { result: dtype, ..resolved }
            }
            Some(dtype) => {
                let takers = ReduceOp::ALL.iter().filter(|op| op.takes_dtype());
                let takers: Vec<_> = takers.map(|op| op.name()).collect();
                let reason = format!(
                    "the dtype {dtype} was given, which can be chosen for {} alone; `cast` the operand or the result",
                    takers.join(" and ")
                );
                return Err(Error::InvalidArgument { op: op.name(), reason });
            }
        };
        let shape = self.shape(elements.shape);
        let axes = arguments.axes.of(op.name(), shape)?;
        // Without terms there may be no results either.
        let has_empty =
            |reduced: bool| (0..shape.len()).any(|k| axes[k] == reduced && shape[k] == 0);
        if op.of_nothing().is_none() && has_empty(true) && !has_empty(false) {
            return Err(refusal_of_nothing(op, shape));
        }
        let correction = arguments.correction(op)?;
        let over =
            ReduceAxes { op, axes, keepdims: arguments.keepdims, rounded: result, correction };
        Ok((self.cast(elements, terms), over))
    }
}

/// Returns the error for a reduction of no terms that has no value.
pub(super) fn refusal_of_nothing(op: ReduceOp, shape: &[usize]) -> Error {
    let op = op.name();
    let reason = format!("there are no elements to take the {op} of");
    Error::InvalidShape { op, shape: boxed(shape), reason }
}
