//! The operators `+ - * / % & | ^ << >>` on tensors, with any operand on the right or a number on the left, and the
//! prefix operators `-x` and `!x`.
//!
//! They return a `Result`, since shapes and dtypes may be incompatible. For that reason there are no compound
//! assignment operators such as `+=`.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};

use half::{bf16, f16};
use num_complex::Complex;

use super::{binary, unary};
use crate::op::{BinaryOp, Shift, UnaryOp};
use crate::operand::for_each_number;
use crate::{Operand, Result, Scalar, Tensor};

/// Calls `$callback!` with every binary operator, preceded by the arguments in brackets.
macro_rules! for_each_operator {
    ($callback:ident $($argument:tt)*) => {
        $callback! {
            [$($argument)*]
            Add add BinaryOp::Add;
            Sub sub BinaryOp::Subtract;
            Mul mul BinaryOp::Multiply;
            Div div BinaryOp::Divide;
            Rem rem BinaryOp::Remainder;
            BitAnd bitand BinaryOp::BitwiseAnd;
            BitOr bitor BinaryOp::BitwiseOr;
            BitXor bitxor BinaryOp::BitwiseXor;
            Shl shl BinaryOp::LeftShift(Shift::Arithmetic);
            Shr shr BinaryOp::RightShift(Shift::Arithmetic);
        }
    };
}

pub(crate) use for_each_operator;

/// Implements the operators for a borrowed tensor on the left and any operand on the right.
macro_rules! with_operand_on_the_right {
    ([] $($operator:ident $method:ident $op:expr;)*) => {$(
        impl<'a, R: Into<Operand<'a>>> $operator<R> for &'a Tensor {
            type Output = Result<Tensor>;

            fn $method(self, other: R) -> Result<Tensor> {
                binary($op, self, other).run()
            }
        }
    )*};
}

for_each_operator!(with_operand_on_the_right);

/// The right operand of an operator whose left operand is an owned tensor, as in `(&x + &y)? * 2`.
///
/// Implemented for everything that converts to an [`Operand`]. Unlike `Into<Operand<'_>>` it has no lifetime parameter,
/// so one implementation per operator accepts all of them and the type of a literal can be inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand beside a tensor",
    note = "an operand is a `Tensor`, `&Tensor`, number or `Scalar`; a `Result<Tensor>` needs `?` first, and an `Expr` \
            needs an expression on its left: `x.expr() + …`"
)]
pub trait RightSide {
    /// Runs an operation with this as its right operand.
    fn run(self, op: BinaryOp, lhs: &Tensor) -> Result<Tensor>;
}

macro_rules! right_sides {
    ($($side:ty)*) => {$(
        impl RightSide for $side {
            fn run(self, op: BinaryOp, lhs: &Tensor) -> Result<Tensor> {
                binary(op, lhs, self).run()
            }
        }
    )*};
}

for_each_number!(right_sides);
right_sides! { Tensor &Tensor &mut Tensor Scalar Operand<'_> }

#[cfg(feature = "ndarray")]
impl<T, S, D> RightSide for &ndarray::ArrayBase<S, D>
where
    T: crate::Element,
    S: ndarray::Data<Elem = T> + Send + Sync,
    D: ndarray::Dimension,
{
    fn run(self, op: BinaryOp, lhs: &Tensor) -> Result<Tensor> {
        binary(op, lhs, self).run()
    }
}

#[cfg(feature = "ndarray")]
impl<T, S, D> RightSide for ndarray::ArrayBase<S, D>
where
    T: crate::Element,
    S: ndarray::Data<Elem = T> + Send + Sync,
    D: ndarray::Dimension,
{
    fn run(self, op: BinaryOp, lhs: &Tensor) -> Result<Tensor> {
        (&self).run(op, lhs)
    }
}

macro_rules! with_owned_on_the_left {
    ([] $($operator:ident $method:ident $op:expr;)*) => {$(
        impl<R: RightSide> $operator<R> for Tensor {
            type Output = Result<Tensor>;

            fn $method(self, other: R) -> Result<Tensor> {
                other.run($op, &self)
            }
        }
    )*};
}

for_each_operator!(with_owned_on_the_left);

/// Implements the operators for a number on the left. Rustdoc shows only the implementations for [`Scalar`].
macro_rules! with_number_on_the_left {
    ([#[$attribute:meta] $number:ty] $($operator:ident $method:ident $op:expr;)*) => {$(
        #[$attribute]
        impl $operator<&Tensor> for $number {
            type Output = Result<Tensor>;

            fn $method(self, other: &Tensor) -> Result<Tensor> {
                binary($op, self, other).run()
            }
        }

        #[$attribute]
        impl $operator<Tensor> for $number {
            type Output = Result<Tensor>;

            fn $method(self, other: Tensor) -> Result<Tensor> {
                binary($op, self, other).run()
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
    #[doc = "Every Rust number can also be the left operand, as in `1i32 << &x`."] Scalar
}

macro_rules! prefix_operators {
    ($($operator:ident $method:ident $op:ident;)*) => {$(
        impl $operator for &Tensor {
            type Output = Result<Tensor>;

            fn $method(self) -> Result<Tensor> {
                unary(UnaryOp::$op, self).run()
            }
        }

        impl $operator for Tensor {
            type Output = Result<Tensor>;

            fn $method(self) -> Result<Tensor> {
                unary(UnaryOp::$op, &self).run()
            }
        }
    )*};
}

prefix_operators! {
    Neg neg Negative;
    Not not BitwiseNot;
}
