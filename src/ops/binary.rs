//! The long form behind every binary operation.

#[cfg(doc)]
use crate::Error;
use crate::call::{Call, Target, short};
use crate::op::BinaryOp;
use crate::operand::Operand;
use crate::promote::Rules;
use crate::{Result, Tensor};

/// A binary operation before it runs: choose the rulebook, a destination and a mask, then
/// [`run`](Binary::run) it.
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

/// Prepares an operation on two operands; see [`Binary`].
pub fn binary<'a>(
    op: BinaryOp,
    lhs: impl Into<Operand<'a>>,
    rhs: impl Into<Operand<'a>>,
) -> Binary<'a> {
    Binary {
        op,
        lhs: lhs.into(),
        rhs: rhs.into(),
        rules: Rules::default(),
        target: Target::default(),
    }
}

impl<'a> Binary<'a> {
    /// Promotes by this rulebook instead of Paddle's.
    pub fn rules(self, rules: Rules) -> Self {
        Binary { rules, ..self }
    }

    /// Writes to this tensor instead of a new one. It keeps its dtype and shape: the result must
    /// have that shape and a dtype of the same category or a lower one. It may be any view, and
    /// may share storage with the operands.
    ///
    /// # Examples
    ///
    /// The result is computed in its own dtype and then converted as [`Tensor::cast`] does. So in a destination of
    /// a narrower dtype of the same category integers wrap and floats are rounded:
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

    /// Writes only where the mask, a bool tensor that broadcasts to the result, is true. Needs an
    /// [`out`](Binary::out), so that what is left alone is defined.
    pub fn mask(self, mask: &'a Tensor) -> Self {
        Binary { target: Target { mask: Some(mask), ..self.target }, ..self }
    }

    /// Runs the operation and gives the result: the destination if there is one, else a new tensor.
    ///
    /// # Errors
    ///
    /// [`Error::Promotion`] or [`Error::UnsupportedDType`] if the rules or the operation refuse the
    /// dtypes, [`Error::Broadcast`] if the shapes do not fit, [`Error::ScalarOverflow`] for a number
    /// that does not fit, [`Error::DeviceMismatch`] for operands on different devices, and for the
    /// destination [`Error::InplaceShape`], [`Error::InplaceDtype`],
    /// [`Error::OverlappingDestination`]; [`Error::InvalidArgument`] for two numbers, or for a mask
    /// that is not bool or has no destination; [`Error::InvalidShape`] or [`Error::OutOfMemory`] for
    /// a result that is too large; and on CUDA [`Error::Compile`] or [`Error::Driver`]. The
    /// destination is then as it was.
    pub fn run(self) -> Result<Tensor> {
        let Binary { op, lhs, rhs, rules, target } = self;
        if let Some(done) = short::run(op, &lhs, &rhs, rules, target) {
            return Ok(done?.tensor());
        }
        let mut call = Call::new();
        let (lhs, rhs) = (call.operand(&lhs), call.operand(&rhs));
        let result = call.binary(op, lhs, rhs, rules)?;
        call.run(op.name(), result, None, target)
    }
}
