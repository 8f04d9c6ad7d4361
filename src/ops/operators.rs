//! `+ - * / & | ^ << >>` on tensors, with an operand or a number on either side.
//!
//! They give a `Result`, since shapes and dtypes may not fit; for that reason there is no `+=`.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Shl, Shr, Sub};

use half::{bf16, f16};
use num_complex::Complex;

use super::binary;
use crate::op::{BinaryOp, Shift};
use crate::operand::for_each_number;
use crate::{Operand, Result, Tensor};

/// Calls `$callback!` with every operator, the arguments in front.
macro_rules! for_each_operator {
    ($callback:ident $($argument:tt)*) => {
        $callback! {
            [$($argument)*]
            Add add BinaryOp::Add;
            Sub sub BinaryOp::Subtract;
            Mul mul BinaryOp::Multiply;
            Div div BinaryOp::Divide;
            BitAnd bitand BinaryOp::BitwiseAnd;
            BitOr bitor BinaryOp::BitwiseOr;
            BitXor bitxor BinaryOp::BitwiseXor;
            Shl shl BinaryOp::LeftShift(Shift::Arithmetic);
            Shr shr BinaryOp::RightShift(Shift::Arithmetic);
        }
    };
}

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

/// What `?` has just given is an owned tensor, and may stand on either side of these.
macro_rules! with_owned_on_the_left {
    ([$other:ty] $($operator:ident $method:ident $op:expr;)*) => {$(
        impl $operator<$other> for Tensor {
            type Output = Result<Tensor>;

            fn $method(self, other: $other) -> Result<Tensor> {
                binary($op, &self, other).run()
            }
        }
    )*};
}

for_each_operator!(with_owned_on_the_left Tensor);
for_each_operator!(with_owned_on_the_left &Tensor);

macro_rules! with_number_on_the_left {
    ([$number:ty] $($operator:ident $method:ident $op:expr;)*) => {$(
        impl $operator<&Tensor> for $number {
            type Output = Result<Tensor>;

            fn $method(self, other: &Tensor) -> Result<Tensor> {
                binary($op, self, other).run()
            }
        }

        impl $operator<Tensor> for $number {
            type Output = Result<Tensor>;

            fn $method(self, other: Tensor) -> Result<Tensor> {
                binary($op, self, other).run()
            }
        }
    )*};
}

macro_rules! with_numbers {
    ($($number:ty)*) => {$(
        for_each_operator!(with_owned_on_the_left $number);
        for_each_operator!(with_number_on_the_left $number);
    )*};
}

for_each_number!(with_numbers);
