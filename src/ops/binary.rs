//! The builder behind every binary operation.

#[cfg(doc)]
use crate::Error;
use crate::call::{Target, run_operation};
use crate::expr::graph::Operation;
use crate::op::BinaryOp;
use crate::operand::Operand;
use crate::promote::Rules;
use crate::{Result, Tensor};

/// A binary operation that has not run yet, created by [`binary`].
///
/// Optionally choose a rulebook, a destination and a mask, then [`run`](Binary::run) it.
///
/// # Examples
///
/// ```
/// use bitlane::{BinaryOp, Device, Rules, Tensor, binary};
/// let device = Device::cpu();
/// let x = Tensor::from_slice(&[1i32, 2, 3], [3], &device)?;
/// let y = Tensor::from_slice(&[0.5f32, 0.5, 0.5], [3], &device)?;
/// let mask = Tensor::from_slice(&[true, false, true], [3], &device)?;
/// let mut out = Tensor::from_slice(&[-1.0f32, -1.0, -1.0], [3], &device)?;
/// binary(BinaryOp::Add, &x, &y).rules(Rules::Torch).out(&mut out).mask(&mask).run()?;
/// assert_eq!(out.to_vec::<f32>()?, [1.5, -1.0, 3.5]);
/// # Ok::<(), bitlane::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "nothing happens until it is run"]
pub struct Binary<'a> {
    op: BinaryOp,
    lhs: Operand<'a>,
    rhs: Operand<'a>,
    rules: Rules,
    target: Target<'a>,
}

/// Prepares an operation on two operands, to be completed and run with the methods of [`Binary`].
///
/// The operands must not both be numbers.
///
/// # Examples
///
/// ```
/// use bitlane::{BinaryOp, Device, Tensor, binary};
/// let x = Tensor::from_nested([1, 2, 3], &Device::cpu())?;
/// let differences = binary(BinaryOp::Subtract, 10, &x).run()?;
/// assert_eq!(differences.to_vec::<i32>()?, [9, 8, 7]);
/// # Ok::<(), bitlane::Error>(())
/// ```
pub fn binary<'a>(
    op: BinaryOp,
    lhs: impl Into<Operand<'a>>,
    rhs: impl Into<Operand<'a>>,
) -> Binary<'a> {
    Binary {
        op,
        lhs: lhs.into(),
        rhs: rhs.into(),
        rules: Rules::current(),
        target: Target::default(),
    }
}

impl<'a> Binary<'a> {
    /// Promotes the operands by this rulebook. The default is [`Rules::current`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{BinaryOp, DType, Device, Rules, Tensor, binary};
    /// # let device = Device::cpu();
    /// let x = Tensor::from_nested([1i32, 2], &device)?;
    /// let y = Tensor::from_nested([0.5f32, 0.5], &device)?;
    /// assert!(binary(BinaryOp::Add, &x, &y).run().is_err()); // Paddle does not mix integers with floats
    /// let sum = binary(BinaryOp::Add, &x, &y).rules(Rules::NumPy).run()?;
    /// assert_eq!(sum.dtype(), DType::F64);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn rules(self, rules: Rules) -> Self {
        Binary { rules, ..self }
    }

    /// Writes the result to this tensor, the destination, instead of to a new one.
    ///
    /// The destination keeps its dtype and shape: the result must have that shape, and a dtype of the same or a lower
    /// category. The destination may be a view, and may share storage with the operands.
    ///
    /// The result is computed in its own dtype and then converted as [`Tensor::cast`] converts it. In a destination of
    /// a narrower dtype of the same category, integers therefore wrap and floats are rounded.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{BinaryOp, DType, Device, Tensor, binary};
    /// # let device = Device::cpu();
    /// let x = Tensor::from_nested([200i32, 300], &device)?;
    /// let mut narrow = Tensor::zeros([2], DType::U8, &device)?;
    /// binary(BinaryOp::Add, &x, 1).out(&mut narrow).run()?;
    /// assert_eq!(narrow.to_vec::<u8>()?, [201, 45]); // 301 wraps to 45
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn out(self, out: &'a mut Tensor) -> Self {
        self.write_to(out)
    }

    /// Like [`Binary::out`], for callers that already hold exclusive access.
    pub(super) fn write_to(self, out: &'a Tensor) -> Self {
        Binary { target: Target { out: Some(out), ..self.target }, ..self }
    }

    /// Writes only the elements for which the mask is true.
    ///
    /// The mask is a `bool` tensor, which is broadcast to the shape of the result. It requires a destination
    /// ([`out`](Binary::out)), whose other elements are unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{BinaryOp, Device, Tensor, binary};
    /// # let device = Device::cpu();
    /// let x = Tensor::from_nested([1, 2, 3], &device)?;
    /// let mask = Tensor::from_nested([true, false, true], &device)?;
    /// let mut out = x.copy()?;
    /// binary(BinaryOp::Multiply, &x, 10).out(&mut out).mask(&mask).run()?;
    /// assert_eq!(out.to_vec::<i32>()?, [10, 2, 30]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn mask(self, mask: &'a Tensor) -> Self {
        Binary { target: Target { mask: Some(mask), ..self.target }, ..self }
    }

    /// Runs the operation. Returns the destination if there is one, and a new tensor otherwise.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{BinaryOp, Device, Shift, Tensor, binary};
    /// let x = Tensor::from_nested([1u32, 2, 3], &Device::cpu())?;
    /// let shifted = binary(BinaryOp::LeftShift(Shift::Logical), &x, 4).run()?;
    /// assert_eq!(shifted.to_vec::<u32>()?, [16, 32, 48]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Promotion`] if the rulebook has no common dtype for the operands, [`Error::UnsupportedDType`] if the
    ///   operation is not defined for that dtype.
    /// - [`Error::Broadcast`] if the shapes of the operands, or of the mask and the result, do not broadcast.
    /// - [`Error::ScalarOverflow`] if an integer operand does not fit the integer dtype of the computation.
    /// - [`Error::DeviceMismatch`] if the operands, the destination and the mask are not on the same device.
    /// - [`Error::InplaceShape`], [`Error::InplaceDtype`] or [`Error::OverlappingDestination`] if the destination
    ///   cannot hold the result.
    /// - [`Error::InvalidArgument`] if both operands are numbers, or if a mask is not `bool` or has no destination.
    /// - [`Error::InvalidShape`] or [`Error::OutOfMemory`] if the result is too large.
    /// - On CUDA, [`Error::Compile`] or [`Error::Driver`].
    ///
    /// On error the destination is unchanged.
    pub fn run(self) -> Result<Tensor> {
        let operands = [&self.lhs, &self.rhs];
        run_operation(Operation::Binary(self.op), operands, self.rules, self.target)
    }
}
