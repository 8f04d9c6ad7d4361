//! The methods of binary operations, generated from the op table: two each, one of them in place.

use super::binary;
use crate::op::{BinaryOp, Shift, for_each_op};
use crate::{Operand, Result, Tensor};

/// # Shifts
///
/// A shift amount is out of range if it is negative or not less than the bit width. `<<` and `>>` on tensors shift
/// arithmetically.
impl Tensor {
    /// Shifts the bits to the left by `amount` and fills with zeros. An amount out of range gives 0.
    ///
    /// Arithmetic and logical left shifts are the same.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Shift, Tensor};
    /// let x = Tensor::from_slice(&[-45i8, -45, -45], [3], &Device::cpu())?;
    /// let y = Tensor::from_slice(&[2i8, 3, 8], [3], &Device::cpu())?;
    /// let shifted = x.bitwise_left_shift(&y, Shift::Arithmetic)?;
    /// assert_eq!(shifted.to_vec::<i8>()?, [76, -104, 0]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// See [`Binary::run`](crate::Binary::run).
    #[doc(alias = "shl")]
    #[doc(alias = "left_shift")]
    #[doc(alias = "shift_left")]
    pub fn bitwise_left_shift<'a>(
        &'a self,
        amount: impl Into<Operand<'a>>,
        kind: Shift,
    ) -> Result<Tensor> {
        binary(BinaryOp::LeftShift(kind), self, amount).run()
    }

    /// Shifts the bits to the right by `amount` and fills according to `kind`. An amount out of range gives 0, or −1
    /// for an arithmetic shift of a negative value.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Shift, Tensor};
    /// let x = Tensor::from_slice(&[-100i8, 100], [2], &Device::cpu())?;
    /// assert_eq!(x.bitwise_right_shift(100, Shift::Arithmetic)?.to_vec::<i8>()?, [-1, 0]);
    /// assert_eq!(x.bitwise_right_shift(2, Shift::Logical)?.to_vec::<i8>()?, [39, 25]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// See [`Binary::run`](crate::Binary::run).
    #[doc(alias = "shr")]
    #[doc(alias = "right_shift")]
    #[doc(alias = "shift_right_logical")]
    #[doc(alias = "shift_right_arithmetic")]
    pub fn bitwise_right_shift<'a>(
        &'a self,
        amount: impl Into<Operand<'a>>,
        kind: Shift,
    ) -> Result<Tensor> {
        binary(BinaryOp::RightShift(kind), self, amount).run()
    }

    /// Applies [`Tensor::bitwise_left_shift`] in place.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Shift, Tensor};
    /// let mut x = Tensor::from_slice(&[1u8, 255], [2], &Device::cpu())?;
    /// x.bitwise_left_shift_assign(4, Shift::Logical)?;
    /// assert_eq!(x.to_vec::<u8>()?, [16, 240]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// See [`Binary::run`](crate::Binary::run). On error the tensor is unchanged.
    pub fn bitwise_left_shift_assign<'a>(
        &mut self,
        amount: impl Into<Operand<'a>>,
        kind: Shift,
    ) -> Result<()> {
        assign(self, BinaryOp::LeftShift(kind), amount.into())
    }

    /// Applies [`Tensor::bitwise_right_shift`] in place.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Shift, Tensor};
    /// let mut x = Tensor::from_slice(&[64u32, 128], [2], &Device::cpu())?;
    /// x.bitwise_right_shift_assign(4, Shift::Arithmetic)?;
    /// assert_eq!(x.to_vec::<u32>()?, [4, 8]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// See [`Binary::run`](crate::Binary::run). On error the tensor is unchanged.
    pub fn bitwise_right_shift_assign<'a>(
        &mut self,
        amount: impl Into<Operand<'a>>,
        kind: Shift,
    ) -> Result<()> {
        assign(self, BinaryOp::RightShift(kind), amount.into())
    }
}

/// The conversion with which an example reads the result of an in-place operation: the tensor keeps its own dtype even
/// if the result is `bool`.
macro_rules! as_result {
    (Same) => {
        ""
    };
    (Bool) => {
        ".cast(DType::Bool)?"
    };
}

macro_rules! define_methods {
    ($(
        $variant:ident $name:ident $domain:ident $rule:ident {$assign:ident $family:ident $($alias:literal)*}
        $doc:literal {$x:literal $y:literal => $dtype:ident $result:literal};
    )*) => {
        /// # Binary operations
        ///
        /// The second operand is another tensor, a number or an array; see [`Operand`]. These methods promote by
        /// [`Rules::current`](crate::Rules::current). For other rules, a destination or a mask see
        /// [`binary`](crate::binary()).
        impl Tensor {
            $(
                #[doc = $doc]
                ///
                /// # Examples
                ///
                /// ```
                /// # use bitlane::{Device, Tensor};
                #[doc = concat!(
                    "let x = Tensor::from_slice(&[", $x, "], [2], &Device::cpu())?;"
                )]
                #[doc = concat!(
                    "assert_eq!(x.", stringify!($name), "(", $y, ")?.to_vec::<",
                    stringify!($dtype), ">()?, [", $result, "]);"
                )]
                /// # Ok::<(), bitlane::Error>(())
                /// ```
                ///
                /// # Errors
                ///
                /// See [`Binary::run`](crate::Binary::run).
                $(#[doc(alias = $alias)])*
                pub fn $name<'a>(&'a self, other: impl Into<Operand<'a>>) -> Result<Tensor> {
                    binary(BinaryOp::$variant, self, other).run()
                }

                #[doc = concat!(
                    "Applies [`Tensor::", stringify!($name), "`] in place."
                )]
                ///
                /// The result must have the shape of this tensor, and a dtype of the same or a lower category; it is
                /// converted to the dtype of this tensor. For a mask or other rules see [`binary`](crate::binary()).
                ///
                /// # Examples
                ///
                /// ```
                /// # use bitlane::{DType, Device, Tensor};
                #[doc = concat!(
                    "let mut x = Tensor::from_slice(&[", $x, "], [2], &Device::cpu())?;"
                )]
                #[doc = concat!("x.", stringify!($assign), "(", $y, ")?;")]
                #[doc = concat!(
                    "assert_eq!(x", as_result!($rule), ".to_vec::<", stringify!($dtype), ">()?, [",
                    $result, "]);"
                )]
                /// # Ok::<(), bitlane::Error>(())
                /// ```
                ///
                /// # Errors
                ///
                /// See [`Binary::run`](crate::Binary::run). On error the tensor is unchanged.
                pub fn $assign<'a>(&mut self, other: impl Into<Operand<'a>>) -> Result<()> {
                    assign(self, BinaryOp::$variant, other.into())
                }
            )*
        }
    };
}

for_each_op!(binary: define_methods);

fn assign(tensor: &Tensor, op: BinaryOp, other: Operand<'_>) -> Result<()> {
    binary(op, tensor, other).write_to(tensor).run().map(drop)
}
