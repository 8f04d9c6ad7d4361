//! Methods for candle's tensors.

use bitlane::{BinaryOp, Scalar, Shift};
use candle_core::{Result, Tensor};

use crate::ops::{Binary, Unary, WithScalar};

mod sealed {
    pub trait Sealed {}
    impl Sealed for candle_core::Tensor {}
}

/// The operations that candle lacks, as methods of its [`Tensor`].
///
/// Operands broadcast, and dtypes are promoted as in PyTorch. Every method ends in an error for a tensor that is not on the
/// CPU, for dtypes that the operation does not have, and for shapes that do not broadcast.
///
/// # Examples
///
/// ```
/// use bitlane_candle::Operations;
/// use candle_core::{Device, Tensor};
/// let x = Tensor::new(&[1.5f32, -2.5], &Device::Cpu)?;
/// let signs = Tensor::new(&[-0.0f32, 7.0], &Device::Cpu)?;
/// assert_eq!(x.copysign(&signs)?.to_vec1::<f32>()?, [-1.5, 2.5]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub trait Operations: sealed::Sealed {
    /// Any operation on two tensors.
    fn bitlane(&self, op: BinaryOp, other: &Tensor) -> Result<Tensor>;

    /// Any operation on a tensor and a number.
    fn bitlane_scalar(&self, op: BinaryOp, scalar: impl Into<Scalar>) -> Result<Tensor>;

    /// Every bit inverted.
    fn bitwise_not(&self) -> Result<Tensor>;

    /// 1 where the sign bit is set, else 0.
    fn signbit(&self) -> Result<Tensor>;

    /// Bits move left. An amount that is negative or not less than the bit width gives 0.
    fn left_shift(&self, amounts: &Tensor) -> Result<Tensor> {
        self.bitlane(BinaryOp::LeftShift(Shift::Arithmetic), amounts)
    }

    /// Bits move right, and copies of the sign enter. An amount that is negative or not less than the bit width gives 0, or −1
    /// for a negative value.
    fn right_shift(&self, amounts: &Tensor) -> Result<Tensor> {
        self.bitlane(BinaryOp::RightShift(Shift::Arithmetic), amounts)
    }

    /// The bits that both have.
    fn bitwise_and(&self, other: &Tensor) -> Result<Tensor> {
        self.bitlane(BinaryOp::BitwiseAnd, other)
    }

    /// The bits that either has.
    fn bitwise_or(&self, other: &Tensor) -> Result<Tensor> {
        self.bitlane(BinaryOp::BitwiseOr, other)
    }

    /// The bits that one has and the other lacks.
    fn bitwise_xor(&self, other: &Tensor) -> Result<Tensor> {
        self.bitlane(BinaryOp::BitwiseXor, other)
    }

    /// The magnitude with the sign of the other. Has a gradient.
    fn copysign(&self, other: &Tensor) -> Result<Tensor> {
        self.bitlane(BinaryOp::Copysign, other)
    }

    /// As [`left_shift`](Operations::left_shift), by one amount.
    fn left_shift_scalar(&self, amount: impl Into<Scalar>) -> Result<Tensor> {
        self.bitlane_scalar(BinaryOp::LeftShift(Shift::Arithmetic), amount)
    }

    /// As [`right_shift`](Operations::right_shift), by one amount.
    fn right_shift_scalar(&self, amount: impl Into<Scalar>) -> Result<Tensor> {
        self.bitlane_scalar(BinaryOp::RightShift(Shift::Arithmetic), amount)
    }

    /// The bits that both the element and the number have.
    fn bitwise_and_scalar(&self, bits: impl Into<Scalar>) -> Result<Tensor> {
        self.bitlane_scalar(BinaryOp::BitwiseAnd, bits)
    }
}

impl Operations for Tensor {
    fn bitlane(&self, op: BinaryOp, other: &Tensor) -> Result<Tensor> {
        self.apply_op2(other, Binary::new(op))
    }

    fn bitlane_scalar(&self, op: BinaryOp, scalar: impl Into<Scalar>) -> Result<Tensor> {
        self.apply_op1(WithScalar::new(op, scalar))
    }

    fn bitwise_not(&self) -> Result<Tensor> {
        self.apply_op1(Unary::BitwiseNot)
    }

    fn signbit(&self) -> Result<Tensor> {
        self.apply_op1(Unary::Signbit)
    }
}
