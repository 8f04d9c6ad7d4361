//! `+ - * / % & | ^ << >>` on tensors, with an operand or a number on either side; `-x` and `!x`.
//!
//! They give a `Result`, since shapes and dtypes may not fit; for that reason there is no `+=`.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};

use half::{bf16, f16};
use num_complex::Complex;

use super::binary;
use super::methods::unary;
use crate::op::{BinaryOp, ElementOp, Shift};
use crate::operand::for_each_number;
use crate::{Operand, Result, Scalar, Tensor};

/// Calls `$callback!` with every binary operator, the arguments in front.
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

/// A borrowed tensor on the left takes every operand.
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

/// What may stand to the right of an owned tensor, such as `?` has just given: what converts to an
/// [`Operand`] for as long as the operation takes. Without a lifetime, unlike `Into<Operand<'_>>`,
/// so that one implementation takes everything and the type of a literal can be inferred.
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

/// A number on the left. The documentation shows one of these, not one for every type of number.
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
    #[doc = "Every Rust number can stand on the left, too: `1i32 << &x`."] Scalar
}

macro_rules! prefix_operators {
    ($($operator:ident $method:ident $op:ident;)*) => {$(
        impl $operator for &Tensor {
            type Output = Result<Tensor>;

            fn $method(self) -> Result<Tensor> {
                unary(ElementOp::$op, self)
            }
        }

        impl $operator for Tensor {
            type Output = Result<Tensor>;

            fn $method(self) -> Result<Tensor> {
                unary(ElementOp::$op, &self)
            }
        }
    )*};
}

prefix_operators! {
    Neg neg Negative;
    Not not BitwiseNot;
}
