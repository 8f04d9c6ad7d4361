//! Element-wise selection between two operands.

use crate::call::{Target, run_operation};
use crate::expr::graph::Operation;
use crate::promote::Rules;
use crate::{Operand, Result, Tensor};

/// Selects the elements of `x` where the condition is true and those of `y` elsewhere. NumPy calls this `where`.
///
/// The condition is a `bool` tensor, and all three operands are broadcast. `x` and `y` are promoted by the default
/// rules; if both are numbers, they count as tensors without dimensions, of the dtypes that
/// [`Scalar::dtype`](crate::Scalar::dtype) returns. Elements are copied bit for bit: a NaN keeps its payload unless its
/// dtype changes. For other rules, a destination or a mask see [`Expr::select`](crate::Expr::select).
///
/// # Examples
///
/// ```
/// use bitlane::{Device, Tensor, select};
/// let x = Tensor::from_slice(&[-1.5f32, 0.0, 2.5], [3], &Device::cpu())?;
/// let clipped = select(&x.less_than(0)?, 0, &x)?;
/// assert_eq!(clipped.to_vec::<f32>()?, [0.0, 0.0, 2.5]);
/// # Ok::<(), bitlane::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the condition is not `bool`, and as for
/// [`Binary::run`](crate::Binary::run) without a destination.
pub fn select<'a>(
    condition: &'a Tensor,
    x: impl Into<Operand<'a>>,
    y: impl Into<Operand<'a>>,
) -> Result<Tensor> {
    let operands = [&condition.into(), &x.into(), &y.into()];
    run_operation(Operation::Select, operands, Rules::default(), Target::default())
}
