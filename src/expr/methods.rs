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
        $variant:ident $name:ident $domain:ident $rule:ident {$assign:ident $family:ident}
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
        $variant:ident $name:ident $domain:ident $rule:ident
        {$method:ident $keepdims:ident $terms:ident $combine:ident $empty:ident $finish:ident}
        $doc:literal {$x:literal => $dtype:ident $columns:literal $whole:literal};
    )*) => {
        /// # Reductions
        ///
        /// A reduction is the last step of an expression. The axes are an integer, a list of integers, a range, or
        /// `..` for all; see [`IntoAxes`].
        impl<'a> Expr<'a> {
            $(define_reduction! { $finish $variant $method $keepdims $doc $x $dtype $columns })*
        }
    };
}

/// Defines the two methods of a row, by what becomes of its total.
macro_rules! define_reduction {
    (Variance $($row:tt)*) => {
        define_reduction!(
            @ [, correction: impl Into<Scalar>] [Some(correction.into())] ", 0" $($row)*
        );
    };
    (Deviation $($row:tt)*) => {
        define_reduction!(
            @ [, correction: impl Into<Scalar>] [Some(correction.into())] ", 0" $($row)*
        );
    };
    ($finish:ident $($row:tt)*) => {
        define_reduction!(@ [] [None] "" $($row)*);
    };
    (
        @ [$($parameter:tt)*] [$correction:expr] $example:literal
        $variant:ident $method:ident $keepdims:ident $doc:literal $x:literal $dtype:ident
        $columns:literal
    ) => {
        #[doc = $doc]
        ///
        /// # Examples
        ///
        /// ```
        /// # use bitlane::{Device, Tensor};
        #[doc = concat!("let x = Tensor::from_slice(&[", $x, "], [2, 3], &Device::cpu())?;")]
        #[doc = concat!("let result = x.expr().", stringify!($method), "(0", $example, ").run()?;")]
        #[doc = concat!(
            "assert_eq!(result.to_vec::<", stringify!($dtype), ">()?, [", $columns, "]);"
        )]
        /// # Ok::<(), bitlane::Error>(())
        /// ```
        pub fn $method(self, axes: impl IntoAxes $($parameter)*) -> Expr<'a> {
            self.reduction(ReduceOp::$variant, axes, false, $correction)
        }

        #[doc = concat!(
            "Computes [`Expr::", stringify!($method), "`] and keeps the reduced dimensions, with size 1."
        )]
        ///
        /// # Examples
        ///
        /// ```
        /// # use bitlane::{Device, Tensor};
        #[doc = concat!("let x = Tensor::from_slice(&[", $x, "], [2, 3], &Device::cpu())?;")]
        #[doc = concat!(
            "assert_eq!(x.expr().", stringify!($keepdims), "(-1", $example, ").shape()?, [2, 1]);"
        )]
        /// # Ok::<(), bitlane::Error>(())
        /// ```
        pub fn $keepdims(self, axes: impl IntoAxes $($parameter)*) -> Expr<'a> {
            self.reduction(ReduceOp::$variant, axes, true, $correction)
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
        self.reduction(op, axes, false, None)
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
        self.reduction(op, axes, true, None)
    }

    fn reduction(
        self,
        op: ReduceOp,
        axes: impl IntoAxes,
        keepdims: bool,
        correction: Option<Scalar>,
    ) -> Expr<'a> {
        let arguments = ReduceArguments { keepdims, correction, ..ReduceArguments::new(axes) };
        Expr::of(Root::reduction(op, arguments, self.root))
    }

    /// Applies a binary operation.
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
