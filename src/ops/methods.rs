//! The methods of the op table: one per unary row, one and an in-place one per binary row.

use super::binary;
use crate::call::{Call, Target};
use crate::op::{BinaryOp, ElementOp, Shift, for_each_op};
use crate::{Operand, Result, Tensor};

macro_rules! define_methods {
    (
        shifts { $($shifts:tt)* }
        binary { $(
            $variant:ident $name:ident $assign:ident $family:ident $domain:ident $rule:ident
            $doc:literal [$($x:expr),*] $y:expr => $dtype:ident [$($result:expr),*];
        )* }
        unary { $(
            $unary:ident $unary_name:ident $unary_domain:ident $unary_rule:ident
            $unary_doc:literal [$($unary_x:expr),*] => $unary_dtype:ident [$($unary_result:expr),*];
        )* }
        $($rest:tt)*
    ) => {
        /// Operations with another tensor, a number or an array, under the default rules; for other
        /// rules, a destination or a mask see [`binary`](crate::binary()).
        impl Tensor {
            $(
                #[doc = $doc]
                ///
                /// # Errors
                ///
                /// See [`Binary::run`](crate::Binary::run).
                ///
                /// ```
                /// # use bitlane::{Device, Tensor};
                #[doc = concat!(
                    "let x = Tensor::from_slice(&[", stringify!($($x),*), "], [2], &Device::cpu())?;"
                )]
                #[doc = concat!(
                    "assert_eq!(x.", stringify!($name), "(", stringify!($y), ")?.to_vec::<",
                    stringify!($dtype), ">()?, [", stringify!($($result),*), "]);"
                )]
                /// # Ok::<(), bitlane::Error>(())
                /// ```
                pub fn $name<'a>(&'a self, other: impl Into<Operand<'a>>) -> Result<Tensor> {
                    binary(BinaryOp::$variant, self, other).run()
                }

                #[doc = concat!(
                    "[`Tensor::", stringify!($name), "`] in place: the result must have this \
                     tensor's shape, and a dtype that fits it."
                )]
                ///
                /// # Errors
                ///
                /// See [`Binary::run`](crate::Binary::run); the tensor is then as it was.
                pub fn $assign<'a>(&mut self, other: impl Into<Operand<'a>>) -> Result<()> {
                    assign(self, BinaryOp::$variant, other.into())
                }
            )*
        }

        /// Operations on one tensor. Their destination, mask and rules come with
        /// [expressions](Tensor::expr).
        impl Tensor {
            $(
                #[doc = $unary_doc]
                ///
                /// # Errors
                ///
                /// [`Error::UnsupportedDType`](crate::Error::UnsupportedDType) for a dtype without the
                /// operation, [`Error::OutOfMemory`](crate::Error::OutOfMemory), and on CUDA what the
                /// device says.
                ///
                /// ```
                /// # use bitlane::{Device, Tensor};
                #[doc = concat!(
                    "let x = Tensor::from_slice(&[", stringify!($($unary_x),*), "], [2], &Device::cpu())?;"
                )]
                #[doc = concat!(
                    "assert_eq!(x.", stringify!($unary_name), "()?.to_vec::<",
                    stringify!($unary_dtype), ">()?, [", stringify!($($unary_result),*), "]);"
                )]
                /// # Ok::<(), bitlane::Error>(())
                /// ```
                pub fn $unary_name(&self) -> Result<Tensor> {
                    unary(ElementOp::$unary, self)
                }
            )*
        }
    };
}

for_each_op!(define_methods);

pub(super) fn unary(op: ElementOp, x: &Tensor) -> Result<Tensor> {
    let mut call = Call::new();
    let x = call.tensor(x);
    let result = call.unary(op, x)?;
    call.run(op.name(), result, None, Target::default())
}

/// Shifts. An amount is out of range if it is negative or at least the number of bits.
impl Tensor {
    /// Bits move left and zeros enter; an amount out of range gives 0. Both kinds are the same.
    ///
    /// # Errors
    ///
    /// See [`Binary::run`](crate::Binary::run).
    ///
    /// ```
    /// # use bitlane::{Device, Shift, Tensor};
    /// let x = Tensor::from_slice(&[-45i8, -45, -45], [3], &Device::cpu())?;
    /// let y = Tensor::from_slice(&[2i8, 3, 8], [3], &Device::cpu())?;
    /// let shifted = x.bitwise_left_shift(&y, Shift::Arithmetic)?;
    /// assert_eq!(shifted.to_vec::<i8>()?, [76, -104, 0]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn bitwise_left_shift<'a>(
        &'a self,
        amount: impl Into<Operand<'a>>,
        kind: Shift,
    ) -> Result<Tensor> {
        binary(BinaryOp::LeftShift(kind), self, amount).run()
    }

    /// Bits move right. An amount out of range gives 0, or −1 for a negative number shifted
    /// arithmetically.
    ///
    /// # Errors
    ///
    /// See [`Binary::run`](crate::Binary::run).
    ///
    /// ```
    /// # use bitlane::{Device, Shift, Tensor};
    /// let x = Tensor::from_slice(&[-100i8, 100], [2], &Device::cpu())?;
    /// assert_eq!(x.bitwise_right_shift(100, Shift::Arithmetic)?.to_vec::<i8>()?, [-1, 0]);
    /// assert_eq!(x.bitwise_right_shift(2, Shift::Logical)?.to_vec::<i8>()?, [39, 25]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn bitwise_right_shift<'a>(
        &'a self,
        amount: impl Into<Operand<'a>>,
        kind: Shift,
    ) -> Result<Tensor> {
        binary(BinaryOp::RightShift(kind), self, amount).run()
    }

    /// [`Tensor::bitwise_left_shift`] in place.
    ///
    /// # Errors
    ///
    /// See [`Binary::run`](crate::Binary::run); the tensor is then as it was.
    pub fn bitwise_left_shift_assign<'a>(
        &mut self,
        amount: impl Into<Operand<'a>>,
        kind: Shift,
    ) -> Result<()> {
        assign(self, BinaryOp::LeftShift(kind), amount.into())
    }

    /// [`Tensor::bitwise_right_shift`] in place.
    ///
    /// # Errors
    ///
    /// See [`Binary::run`](crate::Binary::run); the tensor is then as it was.
    ///
    /// ```
    /// # use bitlane::{Device, Shift, Tensor};
    /// let mut x = Tensor::from_slice(&[64u32, 128], [2], &Device::cpu())?;
    /// x.bitwise_right_shift_assign(4, Shift::Arithmetic)?;
    /// assert_eq!(x.to_vec::<u32>()?, [4, 8]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn bitwise_right_shift_assign<'a>(
        &mut self,
        amount: impl Into<Operand<'a>>,
        kind: Shift,
    ) -> Result<()> {
        assign(self, BinaryOp::RightShift(kind), amount.into())
    }
}

fn assign(tensor: &Tensor, op: BinaryOp, other: Operand<'_>) -> Result<()> {
    binary(op, tensor, other).write_to(tensor).run().map(drop)
}
