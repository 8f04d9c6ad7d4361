//! The operations as methods and operators of expressions.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};

use half::{bf16, f16};
use num_complex::Complex;

use super::Expr;
use super::graph::{Operation, Root};
use crate::op::{BinaryOp, ElementOp, Shift, for_each_op};
use crate::operand::for_each_number;
use crate::ops::Reduce;
use crate::ops::operators::for_each_operator;
use crate::{DType, Scalar};

macro_rules! define_methods {
    (
        shifts { $($shifts:tt)* }
        binary { $(
            $variant:ident $name:ident $assign:ident $family:ident $domain:ident $rule:ident
            $doc:literal $x:literal $y:literal => $dtype:ident $result:literal;
        )* }
        unary { $(
            $unary:ident $unary_name:ident $unary_domain:ident $unary_rule:ident
            $unary_doc:literal $unary_x:literal => $unary_dtype:ident $unary_result:literal;
        )* }
        $($rest:tt)*
    ) => {
        /// The operations, as [`Tensor`](crate::Tensor) has them.
        #[allow(clippy::should_implement_trait, reason = "the operators are there too")]
        impl<'a> Expr<'a> {
            $(
                #[doc = $doc]
                pub fn $name(self, other: impl Into<Expr<'a>>) -> Expr<'a> {
                    self.binary(BinaryOp::$variant, other)
                }
            )*

            $(
                #[doc = $unary_doc]
                pub fn $unary_name(self) -> Expr<'a> {
                    Expr::of(Root::unary(Operation::Unary(ElementOp::$unary), self.root))
                }
            )*
        }
    };
}

for_each_op!(define_methods);

/// Operations with parameters.
impl<'a> Expr<'a> {
    /// A binary operation by name.
    pub fn binary(self, op: BinaryOp, other: impl Into<Expr<'a>>) -> Expr<'a> {
        Expr::of(Root::binary(Operation::Binary(op), self.root, other.into().root))
    }

    /// Bits move left and zeros enter; an amount out of range gives 0. Both kinds are the same.
    pub fn bitwise_left_shift(self, amount: impl Into<Expr<'a>>, kind: Shift) -> Expr<'a> {
        self.binary(BinaryOp::LeftShift(kind), amount)
    }

    /// Bits move right. An amount out of range gives 0, or −1 for a negative number shifted arithmetically.
    pub fn bitwise_right_shift(self, amount: impl Into<Expr<'a>>, kind: Shift) -> Expr<'a> {
        self.binary(BinaryOp::RightShift(kind), amount)
    }

    /// The same elements converted to a dtype, as [`Tensor::cast`](crate::Tensor::cast) does.
    pub fn cast(self, dtype: DType) -> Expr<'a> {
        Expr::of(Root::unary(Operation::Cast(dtype), self.root))
    }

    /// The elements of `x` where this expression, which must be bool, is true, those of `y` elsewhere; see
    /// [`select`](crate::select).
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_slice(&[-1.5f32, 0.0, 2.5], [3], &Device::cpu())?;
    /// let clipped = x.expr().less_than(0).select(0, &x).run()?;
    /// assert_eq!(clipped.to_vec::<f32>()?, [0.0, 0.0, 2.5]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn select(self, x: impl Into<Expr<'a>>, y: impl Into<Expr<'a>>) -> Expr<'a> {
        Expr::of(Root::ternary(Operation::Select, [self.root, x.into().root, y.into().root]))
    }

    /// The sum over some dimensions, or over all of them for an empty list, as the last step; see
    /// [`Tensor::sum`](crate::Tensor::sum).
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0], [3], &Device::cpu())?;
    /// assert_eq!((x.expr() * &x).sum(&[]).run()?.to_vec::<f32>()?, [14.0]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn sum(self, axes: &[usize]) -> Expr<'a> {
        self.reduce(Reduce::Sum, axes)
    }

    /// The mean over some dimensions, or over all of them for an empty list, as the last step; see
    /// [`Tensor::mean`](crate::Tensor::mean).
    pub fn mean(self, axes: &[usize]) -> Expr<'a> {
        self.reduce(Reduce::Mean, axes)
    }

    /// The largest element over some dimensions, or over all of them for an empty list, as the last step; see
    /// [`Tensor::max`](crate::Tensor::max).
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_slice(&[1.0f32, -4.0, 3.0], [3], &Device::cpu())?;
    /// assert_eq!(x.expr().abs().max(&[]).run()?.item::<f32>()?, 4.0);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn max(self, axes: &[usize]) -> Expr<'a> {
        self.reduce(Reduce::Max, axes)
    }

    /// The smallest element over some dimensions, or over all of them for an empty list, as the last step; see
    /// [`Tensor::min`](crate::Tensor::min).
    pub fn min(self, axes: &[usize]) -> Expr<'a> {
        self.reduce(Reduce::Min, axes)
    }

    /// Whether any element over some dimensions, or over all of them for an empty list, is true, as the last step; see
    /// [`Tensor::any`](crate::Tensor::any).
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_slice(&[1.0f32, -4.0, 3.0], [3], &Device::cpu())?;
    /// assert!(x.expr().less_than(0).any(&[]).run()?.item::<bool>()?);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn any(self, axes: &[usize]) -> Expr<'a> {
        self.reduce(Reduce::Any, axes)
    }

    /// Whether all elements over some dimensions, or over all of them for an empty list, are true, as the last step;
    /// see [`Tensor::all`](crate::Tensor::all).
    pub fn all(self, axes: &[usize]) -> Expr<'a> {
        self.reduce(Reduce::All, axes)
    }

    fn reduce(self, reduce: Reduce, axes: &[usize]) -> Expr<'a> {
        Expr::of(Root::reduction(reduce, axes, self.root))
    }
}

macro_rules! with_operand_on_the_right {
    ([] $($operator:ident $method:ident $op:expr;)*) => {$(
        impl<'a, R: Into<Expr<'a>>> $operator<R> for Expr<'a> {
            type Output = Expr<'a>;

            fn $method(self, other: R) -> Expr<'a> {
                self.binary($op, other)
            }
        }
    )*};
}

for_each_operator!(with_operand_on_the_right);

/// A number on the left. The documentation shows one of these, not one for every type of number.
macro_rules! with_number_on_the_left {
    ([#[$attribute:meta] $number:ty] $($operator:ident $method:ident $op:expr;)*) => {$(
        #[$attribute]
        impl<'a> $operator<Expr<'a>> for $number {
            type Output = Expr<'a>;

            fn $method(self, other: Expr<'a>) -> Expr<'a> {
                Expr::from(self).binary($op, other)
            }
        }
    )*};
}

macro_rules! with_numbers_on_the_left {
    ($($number:ty)*) => {
        $(for_each_operator!(with_number_on_the_left #[doc(hidden)] $number);)*
    };
}

for_each_number!(with_numbers_on_the_left);
for_each_operator! {
    with_number_on_the_left
    #[doc = "Every Rust number can stand on the left, too: `1i32 << x.expr()`."] Scalar
}

impl<'a> Neg for Expr<'a> {
    type Output = Expr<'a>;

    fn neg(self) -> Expr<'a> {
        self.negative()
    }
}

impl<'a> Not for Expr<'a> {
    type Output = Expr<'a>;

    fn not(self) -> Expr<'a> {
        self.bitwise_not()
    }
}
