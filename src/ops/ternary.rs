//! The operations on three operands.

use crate::call::{Call, Target, run_operation};
use crate::expr::graph::Operation;
use crate::op::BinaryOp;
use crate::promote::Rules;
use crate::{Operand, Result, Tensor};

/// Selects the elements of `x` where the condition is true and those of `y` elsewhere. NumPy calls this `where`.
///
/// The condition is a `bool` tensor, and all three operands are broadcast. `x` and `y` are promoted by
/// [`Rules::current`]; if both are numbers, they count as tensors without dimensions, of the dtypes that
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
#[doc(alias = "where")]
#[doc(alias = "where_cond")]
pub fn select<'a>(
    condition: &'a Tensor,
    x: impl Into<Operand<'a>>,
    y: impl Into<Operand<'a>>,
) -> Result<Tensor> {
    let operands = [&condition.into(), &x.into(), &y.into()];
    run_operation(Operation::Select, operands, Rules::current(), Target::default())
}

/// Limits elements to a range; see [`Tensor::clip`].
///
/// # Examples
///
/// ```
/// use bitlane::{Device, Tensor, clip};
/// let x = Tensor::from_nested([-5, 3, 70], &Device::cpu())?;
/// assert_eq!(clip(&x, 0, 63)?.to_vec::<i32>()?, [0, 3, 63]);
/// # Ok::<(), bitlane::Error>(())
/// ```
///
/// # Errors
///
/// See [`Binary::run`](crate::Binary::run).
#[doc(alias = "clamp")]
pub fn clip<'a>(
    x: &'a Tensor,
    low: impl Into<Operand<'a>>,
    high: impl Into<Operand<'a>>,
) -> Result<Tensor> {
    x.clip(low, high)
}

/// # Ternary operations
///
/// The other operands are tensors, numbers or arrays; see [`Operand`]. These methods promote by [`Rules::current`]. For
/// other rules, a destination or a mask see the methods of the same names of [`Expr`](crate::Expr).
impl Tensor {
    /// Limits every element to the range from `low` to `high`: `minimum(maximum(x, low), high)`.
    ///
    /// Where `low` is above `high`, the result is `high`. It is NaN where any of the three is. Each of the two steps
    /// promotes its operands.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_slice(&[-5i8, 3, 100], [3], &Device::cpu())?;
    /// let high = Tensor::from_slice(&[9i8, 2, 9], [3], &Device::cpu())?;
    /// assert_eq!(x.clip(0, &high)?.to_vec::<i8>()?, [0, 2, 9]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`Tensor::maximum`] and [`Tensor::minimum`], under these names.
    #[doc(alias = "clamp")]
    pub fn clip<'a>(
        &'a self,
        low: impl Into<Operand<'a>>,
        high: impl Into<Operand<'a>>,
    ) -> Result<Tensor> {
        let (low, high) = (low.into(), high.into());
        let rules = Rules::current();
        let mut call = Call::new();
        let (x, low) = (call.tensor(self).into(), call.operand(&low));
        let raised = call.binary(BinaryOp::Maximum, x, low, rules)?;
        let high = call.operand(&high);
        let result = call.binary(BinaryOp::Minimum, raised.into(), high, rules)?;
        call.run(BinaryOp::Minimum.name(), result, None, Target::default())
    }

    /// Multiplies by `y` and adds `z`, rounded once.
    ///
    /// The dtype is the common one of this tensor and `y`, and then of both with `z`; it must be a float. The product is
    /// exact and the sum is rounded to that dtype, even to `f16` and `bf16`, and even on machines without an
    /// instruction for it.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_slice(&[1.0f32 + f32::EPSILON, 3.0], [2], &Device::cpu())?;
    /// // The rounding error of x * x, which is 0 if the product is rounded before the sum.
    /// assert_eq!(x.fma(&x, &x.square()?.negative()?)?.to_vec::<f32>()?, [1.4210855e-14, 0.0]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// See [`Binary::run`](crate::Binary::run).
    #[doc(alias = "mul_add")]
    #[doc(alias = "addcmul")]
    pub fn fma<'a>(
        &'a self,
        y: impl Into<Operand<'a>>,
        z: impl Into<Operand<'a>>,
    ) -> Result<Tensor> {
        let operands = [&self.into(), &y.into(), &z.into()];
        run_operation(Operation::Fma, operands, Rules::current(), Target::default())
    }
}
