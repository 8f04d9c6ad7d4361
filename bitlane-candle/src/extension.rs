//! Methods on candle's tensors.

use bitlane::{BinaryOp, Rules, Scalar, Shift, UnaryOp};
use candle_core::{Result, Tensor};

use crate::ops::{Binary, Fused1, Fused3, Unary, WithScalar};

mod sealed {
    pub trait Sealed {}
    impl Sealed for candle_core::Tensor {}
}

/// The operations that candle lacks, as methods of its [`Tensor`].
///
/// Operands broadcast, and dtypes are promoted as in PyTorch. Every method fails for tensors on different devices, for
/// dtypes that the operation does not support, and for shapes that do not broadcast; without the feature `cuda`, also for
/// a tensor on a GPU.
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
    /// Applies any binary operation to two tensors.
    fn bitlane(&self, op: BinaryOp, other: &Tensor) -> Result<Tensor>;

    /// Applies any binary operation to a tensor and a number.
    fn bitlane_scalar(&self, op: BinaryOp, scalar: impl Into<Scalar>) -> Result<Tensor>;

    /// Applies any unary operation.
    fn bitlane_unary(&self, op: UnaryOp) -> Result<Tensor>;

    /// Inverts every bit.
    fn bitwise_not(&self) -> Result<Tensor> {
        self.bitlane_unary(UnaryOp::BitwiseNot)
    }

    /// Returns 1 where the sign bit is set, else 0.
    fn signbit(&self) -> Result<Tensor> {
        self.bitlane_unary(UnaryOp::Signbit)
    }

    /// Shifts left. An amount that is negative or not less than the bit width gives 0.
    fn left_shift(&self, amounts: &Tensor) -> Result<Tensor> {
        self.bitlane(BinaryOp::LeftShift(Shift::Arithmetic), amounts)
    }

    /// Shifts right arithmetically. An amount that is negative or not less than the bit width gives 0, or −1 for a
    /// negative value.
    fn right_shift(&self, amounts: &Tensor) -> Result<Tensor> {
        self.bitlane(BinaryOp::RightShift(Shift::Arithmetic), amounts)
    }

    /// Rotates left by amounts that count modulo the bit width.
    fn rotate_left(&self, amounts: &Tensor) -> Result<Tensor> {
        self.bitlane(BinaryOp::RotateLeft, amounts)
    }

    /// Rotates right by amounts that count modulo the bit width.
    fn rotate_right(&self, amounts: &Tensor) -> Result<Tensor> {
        self.bitlane(BinaryOp::RotateRight, amounts)
    }

    /// Counts the bits that are 1.
    fn count_ones(&self) -> Result<Tensor> {
        self.bitlane_unary(UnaryOp::CountOnes)
    }

    /// Reads the bits as another dtype of the same size.
    fn bitcast(&self, dtype: bitlane::DType) -> Result<Tensor>;

    /// Converts to another dtype. What is too large for it becomes its largest finite value.
    fn cast_saturating(&self, dtype: bitlane::DType) -> Result<Tensor>;

    /// Limits every element to the range from `low` to `high`.
    fn clip(&self, low: impl Into<Scalar>, high: impl Into<Scalar>) -> Result<Tensor>;

    /// Multiplies by `y` and adds `z`, rounded once.
    fn fma(&self, y: &Tensor, z: &Tensor) -> Result<Tensor>;

    /// Returns the bitwise AND.
    fn bitwise_and(&self, other: &Tensor) -> Result<Tensor> {
        self.bitlane(BinaryOp::BitwiseAnd, other)
    }

    /// Returns the bitwise OR.
    fn bitwise_or(&self, other: &Tensor) -> Result<Tensor> {
        self.bitlane(BinaryOp::BitwiseOr, other)
    }

    /// Returns the bitwise XOR.
    fn bitwise_xor(&self, other: &Tensor) -> Result<Tensor> {
        self.bitlane(BinaryOp::BitwiseXor, other)
    }

    /// Returns the magnitude of `self` with the sign of `other`. This operation has a gradient.
    fn copysign(&self, other: &Tensor) -> Result<Tensor> {
        self.bitlane(BinaryOp::Copysign, other)
    }

    /// Like [`left_shift`](Operations::left_shift), by the same amount for all elements.
    fn left_shift_scalar(&self, amount: impl Into<Scalar>) -> Result<Tensor> {
        self.bitlane_scalar(BinaryOp::LeftShift(Shift::Arithmetic), amount)
    }

    /// Like [`right_shift`](Operations::right_shift), by the same amount for all elements.
    fn right_shift_scalar(&self, amount: impl Into<Scalar>) -> Result<Tensor> {
        self.bitlane_scalar(BinaryOp::RightShift(Shift::Arithmetic), amount)
    }

    /// Returns the bitwise AND of each element and a number.
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

    fn bitlane_unary(&self, op: UnaryOp) -> Result<Tensor> {
        self.apply_op1(Unary::new(op))
    }

    fn bitcast(&self, dtype: bitlane::DType) -> Result<Tensor> {
        self.apply_op1(Fused1::new("bitcast", move |x| x.bitcast(dtype)))
    }

    fn cast_saturating(&self, dtype: bitlane::DType) -> Result<Tensor> {
        self.apply_op1(Fused1::new("cast_saturating", move |x| x.cast_saturating(dtype)))
    }

    fn clip(&self, low: impl Into<Scalar>, high: impl Into<Scalar>) -> Result<Tensor> {
        let (low, high) = (low.into(), high.into());
        self.apply_op1(Fused1::new("clip", move |x| x.clip(low, high).rules(Rules::Torch)))
    }

    fn fma(&self, y: &Tensor, z: &Tensor) -> Result<Tensor> {
        self.apply_op3(y, z, Fused3::new("fma", |x, y, z| x.fma(y, z).rules(Rules::Torch)))
    }
}
