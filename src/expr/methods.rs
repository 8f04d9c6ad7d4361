//! The operations as methods and operators of expressions.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};

use half::{bf16, f16};
use num_complex::Complex;

use super::Expr;
use super::graph::{Operation, Root};
use crate::call::ReduceArguments;
use crate::op::{BinaryOp, ReduceOp, Shift, UnaryOp, for_each_op};
use crate::operand::for_each_number;
use crate::ops::operators::for_each_operator;
use crate::tensor::IntoAxes;
use crate::{DType, Scalar};

macro_rules! define_binary {
    ($(
        $variant:ident $name:ident $domain:ident $rule:ident {$assign:ident $family:ident $($alias:literal)*}
        $doc:literal {$x:literal $y:literal => $dtype:ident $result:literal};
    )*) => {
        /// # Binary operations
        ///
        /// The other operand is whatever an [`Operand`](crate::Operand) is made of, or another expression.
        #[allow(clippy::should_implement_trait, reason = "the operators are there too")]
        impl<'a> Expr<'a> {
            $(
                #[doc = $doc]
                ///
                /// # Examples
                ///
                /// ```
                /// # use bitlane::{Device, Tensor};
                #[doc = concat!("let x = Tensor::from_slice(&[", $x, "], [2], &Device::cpu())?;")]
                #[doc = concat!("let result = x.expr().", stringify!($name), "(", $y, ").run()?;")]
                #[doc = concat!(
                    "assert_eq!(result.to_vec::<", stringify!($dtype), ">()?, [", $result, "]);"
                )]
                /// # Ok::<(), bitlane::Error>(())
                /// ```
                $(#[doc(alias = $alias)])*
                pub fn $name(self, other: impl Into<Expr<'a>>) -> Expr<'a> {
                    self.binary(BinaryOp::$variant, other)
                }
            )*
        }
    };
}

for_each_op!(binary: define_binary);

macro_rules! define_unary {
    ($(
        $variant:ident $name:ident $domain:ident $rule:ident {$family:ident $($alias:literal)*}
        $doc:literal {$x:literal => $dtype:ty, $result:literal};
    )*) => {
        /// # Unary operations
        impl<'a> Expr<'a> {
            $(
                #[doc = $doc]
                ///
                /// # Examples
                ///
                /// ```
                /// # use bitlane::{Complex, Device, Tensor};
                #[doc = concat!("let x = Tensor::from_slice(&[", $x, "], [2], &Device::cpu())?;")]
                #[doc = concat!("let result = x.expr().", stringify!($name), "().run()?;")]
                #[doc = concat!(
                    "assert_eq!(result.to_vec::<", stringify!($dtype), ">()?, [", $result, "]);"
                )]
                /// # Ok::<(), bitlane::Error>(())
                /// ```
                $(#[doc(alias = $alias)])*
                pub fn $name(self) -> Expr<'a> {
                    self.unary(UnaryOp::$variant)
                }
            )*
        }
    };
}

for_each_op!(unary: define_unary);

macro_rules! define_reductions {
    ($(
        $variant:ident $name:ident $domain:ident $rule:ident {$keepdims:ident $($own:ident)*}
        $doc:literal {$x:literal => $dtype:ident $columns:literal $whole:literal};
    )*) => {
        /// # Reductions
        ///
        /// A reduction is the last step of an expression. The axes are an integer, a list of integers, a range, or
        /// `..` for all; see [`IntoAxes`].
        impl<'a> Expr<'a> {
            $(
                #[doc = $doc]
                ///
                /// # Examples
                ///
                /// ```
                /// # use bitlane::{Device, Tensor};
                #[doc = concat!("let x = Tensor::from_slice(&[", $x, "], [2, 3], &Device::cpu())?;")]
                #[doc = concat!("let result = x.expr().", stringify!($name), "(0).run()?;")]
                #[doc = concat!(
                    "assert_eq!(result.to_vec::<", stringify!($dtype), ">()?, [", $columns, "]);"
                )]
                /// # Ok::<(), bitlane::Error>(())
                /// ```
                pub fn $name(self, axes: impl IntoAxes) -> Expr<'a> {
                    self.reduce(ReduceOp::$variant, axes)
                }

                #[doc = concat!(
                    "Computes [`Expr::", stringify!($name), "`] and keeps the reduced dimensions, with size 1."
                )]
                ///
                /// # Examples
                ///
                /// ```
                /// # use bitlane::{Device, Tensor};
                #[doc = concat!("let x = Tensor::from_slice(&[", $x, "], [2, 3], &Device::cpu())?;")]
                #[doc = concat!(
                    "assert_eq!(x.expr().", stringify!($keepdims), "(-1).shape()?, [2, 1]);"
                )]
                /// # Ok::<(), bitlane::Error>(())
                /// ```
                pub fn $keepdims(self, axes: impl IntoAxes) -> Expr<'a> {
                    self.reduce_keepdims(ReduceOp::$variant, axes)
                }
            )*
        }
    };
}

for_each_op!(reductions: define_reductions);

/// Operations with parameters.
impl<'a> Expr<'a> {
    /// Applies a unary operation.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor, UnaryOp};
    /// let x = Tensor::from_nested([1, -2], &Device::cpu())?;
    /// let op: UnaryOp = "negative".parse()?;
    /// assert_eq!(x.expr().unary(op).run()?.to_vec::<i32>()?, [-1, 2]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn unary(self, op: UnaryOp) -> Expr<'a> {
        Expr::of(Root::unary(Operation::Unary(op), self.root))
    }

    /// Applies a reduction, as the last step.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, ReduceOp, Tensor};
    /// let x = Tensor::from_nested([[1, -2], [3, 4]], &Device::cpu())?;
    /// let op: ReduceOp = "max".parse()?;
    /// assert_eq!(x.expr().abs().reduce(op, 0).run()?.to_vec::<i32>()?, [3, 4]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn reduce(self, op: ReduceOp, axes: impl IntoAxes) -> Expr<'a> {
        self.reduction(op, axes, false)
    }

    /// Applies a reduction, as the last step, and keeps the reduced dimensions, with size 1.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, ReduceOp, Tensor};
    /// let x = Tensor::from_nested([[1, -2], [3, 4]], &Device::cpu())?;
    /// assert_eq!(x.expr().reduce_keepdims(ReduceOp::Max, 0).shape()?, [1, 2]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn reduce_keepdims(self, op: ReduceOp, axes: impl IntoAxes) -> Expr<'a> {
        self.reduction(op, axes, true)
    }

    fn reduction(self, op: ReduceOp, axes: impl IntoAxes, keepdims: bool) -> Expr<'a> {
        let arguments = ReduceArguments { axes: axes.into_axes(), keepdims, dtype: None };
        Expr::of(Root::reduction(op, arguments, self.root))
    }

    /// Applies a binary operation.
    pub fn binary(self, op: BinaryOp, other: impl Into<Expr<'a>>) -> Expr<'a> {
        Expr::of(Root::binary(Operation::Binary(op), self.root, other.into().root))
    }

    /// Bits move left and zeros enter; an amount out of range gives 0. Both kinds are the same.
    #[doc(alias = "shl")]
    #[doc(alias = "left_shift")]
    #[doc(alias = "shift_left")]
    pub fn bitwise_left_shift(self, amount: impl Into<Expr<'a>>, kind: Shift) -> Expr<'a> {
        self.binary(BinaryOp::LeftShift(kind), amount)
    }

    /// Bits move right. An amount out of range gives 0, or −1 for a negative number shifted arithmetically.
    #[doc(alias = "shr")]
    #[doc(alias = "right_shift")]
    #[doc(alias = "shift_right_logical")]
    #[doc(alias = "shift_right_arithmetic")]
    pub fn bitwise_right_shift(self, amount: impl Into<Expr<'a>>, kind: Shift) -> Expr<'a> {
        self.binary(BinaryOp::RightShift(kind), amount)
    }

    /// The same elements converted to a dtype, as [`Tensor::cast`](crate::Tensor::cast) does.
    #[doc(alias = "astype")]
    #[doc(alias = "to_dtype")]
    pub fn cast(self, dtype: DType) -> Expr<'a> {
        Expr::of(Root::unary(Operation::Cast(dtype), self.root))
    }

    /// The bits of the elements, read as another dtype of the same size; see [`Tensor::bitcast`](crate::Tensor::bitcast).
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::from_slice(&[1.0f32, -6.0], [2], &Device::cpu())?;
    /// let exponents = ((x.expr().bitcast(DType::U32) >> 23) & 0xff).run()?;
    /// assert_eq!(exponents.to_vec::<u32>()?, [127, 129]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    #[doc(alias = "view")]
    #[doc(alias = "transmute")]
    #[doc(alias = "reinterpret")]
    #[doc(alias = "bitcast_convert_type")]
    #[doc(alias = "to_bits")]
    #[doc(alias = "from_bits")]
    pub fn bitcast(self, dtype: DType) -> Expr<'a> {
        Expr::of(Root::unary(Operation::Bitcast(dtype), self.root))
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
    #[doc(alias = "where")]
    #[doc(alias = "where_cond")]
    pub fn select(self, x: impl Into<Expr<'a>>, y: impl Into<Expr<'a>>) -> Expr<'a> {
        Expr::of(Root::ternary(Operation::Select, [self.root, x.into().root, y.into().root]))
    }

    /// Limits every element to the range from `low` to `high`, as two operations: `self.maximum(low).minimum(high)`; see
    /// [`Tensor::clip`](crate::Tensor::clip).
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_slice(&[-1.5f32, 0.25, 2.5], [3], &Device::cpu())?;
    /// assert_eq!((x.expr() * 2).clip(0, 1).run()?.to_vec::<f32>()?, [0.0, 0.5, 1.0]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    #[doc(alias = "clamp")]
    pub fn clip(self, low: impl Into<Expr<'a>>, high: impl Into<Expr<'a>>) -> Expr<'a> {
        self.maximum(low).minimum(high)
    }

    /// Multiplies by `y` and adds `z`, rounded once; see [`Tensor::fma`](crate::Tensor::fma).
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_slice(&[1.0f32, 2.0], [2], &Device::cpu())?;
    /// assert_eq!((x.expr() + 1).fma(&x, -0.5).run()?.to_vec::<f32>()?, [1.5, 5.5]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    #[doc(alias = "mul_add")]
    #[doc(alias = "addcmul")]
    pub fn fma(self, y: impl Into<Expr<'a>>, z: impl Into<Expr<'a>>) -> Expr<'a> {
        Expr::of(Root::ternary(Operation::Fma, [self.root, y.into().root, z.into().root]))
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
