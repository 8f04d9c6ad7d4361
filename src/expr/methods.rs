//! The operations as methods and operators of expressions.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};

use half::{bf16, f16};
use num_complex::Complex;

use super::Expr;
use super::graph::{Operation, Root};
use crate::call::ReduceArguments;
use crate::op::{BinaryOp, ReduceOp, Shift, UnaryOp, for_each_op};
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
                pub fn $name(&self, other: impl Into<Expr<'a>>) -> Expr<'a> {
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
                pub fn $name(&self) -> Expr<'a> {
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
        {$method:ident $keepdims:ident $terms:ident $combine:ident $empty:ident $finish:ident $($alias:literal)*}
        $doc:literal {$x:literal => $dtype:ident $columns:literal $whole:literal};
    )*) => {
        /// # Reductions
        ///
        /// The axes are an integer, a list of integers, a range, or `..` for all; see [`IntoAxes`].
        impl<'a> Expr<'a> {
            $(define_reduction! {
                $finish $variant $method $keepdims [$($alias)*] $doc $x $dtype $columns
            })*
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
        $variant:ident $method:ident $keepdims:ident [$($alias:literal)*]
        $doc:literal $x:literal $dtype:ident
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
        $(#[doc(alias = $alias)])*
        pub fn $method(&self, axes: impl IntoAxes $($parameter)*) -> Expr<'a> {
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
        pub fn $keepdims(&self, axes: impl IntoAxes $($parameter)*) -> Expr<'a> {
            self.reduction(ReduceOp::$variant, axes, true, $correction)
        }
    };
}

for_each_op!(reductions: define_reductions);

/// # Operations with parameters, or named by a value
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
    pub fn unary(&self, op: UnaryOp) -> Expr<'a> {
        self.clone().then(Operation::Unary(op))
    }

    /// Adds an operation to the end. Unlike a clone, an expression that is given up need not be kept as it is.
    fn then(self, operation: Operation) -> Expr<'a> {
        Expr::of(Root::unary(operation, self.root))
    }

    /// Adds a binary operation to the end, as [`then`](Expr::then) does.
    fn then_with(self, op: BinaryOp, other: impl Into<Expr<'a>>) -> Expr<'a> {
        Expr::of(Root::binary(Operation::Binary(op), self.root, other.into().root))
    }

    /// Applies a reduction.
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
    pub fn reduce(&self, op: ReduceOp, axes: impl IntoAxes) -> Expr<'a> {
        self.reduction(op, axes, false, None)
    }

    /// Applies a reduction and keeps the reduced dimensions, with size 1.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, ReduceOp, Tensor};
    /// let x = Tensor::from_nested([[1, -2], [3, 4]], &Device::cpu())?;
    /// assert_eq!(x.expr().reduce_keepdims(ReduceOp::Max, 0).shape()?, [1, 2]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn reduce_keepdims(&self, op: ReduceOp, axes: impl IntoAxes) -> Expr<'a> {
        self.reduction(op, axes, true, None)
    }

    fn reduction(
        &self,
        op: ReduceOp,
        axes: impl IntoAxes,
        keepdims: bool,
        correction: Option<Scalar>,
    ) -> Expr<'a> {
        let arguments = ReduceArguments { keepdims, correction, ..ReduceArguments::new(axes) };
        Expr::of(Root::reduction(op, arguments, self.root.clone()))
    }

    /// Applies a binary operation.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{BinaryOp, Device, Tensor};
    /// let x = Tensor::from_nested([1, -2], &Device::cpu())?;
    /// let op: BinaryOp = "maximum".parse()?;
    /// assert_eq!(x.expr().binary(op, 0).run()?.to_vec::<i32>()?, [1, 0]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn binary(&self, op: BinaryOp, other: impl Into<Expr<'a>>) -> Expr<'a> {
        self.clone().then_with(op, other)
    }

    /// Shifts the bits to the left and fills with zeros. An amount out of range gives 0. Arithmetic and logical left
    /// shifts are the same.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Shift, Tensor};
    /// let x = Tensor::from_nested([1u8, 129], &Device::cpu())?;
    /// let shifted = x.expr().bitwise_left_shift(1, Shift::Logical);
    /// assert_eq!(shifted.run()?.to_vec::<u8>()?, [2, 2]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    #[doc(alias = "shl")]
    #[doc(alias = "left_shift")]
    #[doc(alias = "shift_left")]
    pub fn bitwise_left_shift(&self, amount: impl Into<Expr<'a>>, kind: Shift) -> Expr<'a> {
        self.binary(BinaryOp::LeftShift(kind), amount)
    }

    /// Shifts the bits to the right. An amount out of range gives 0, or −1 for a negative number shifted arithmetically.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Shift, Tensor};
    /// let x = Tensor::from_nested([-8i8, 8], &Device::cpu())?;
    /// let shifted = x.expr().bitwise_right_shift(2, Shift::Logical);
    /// assert_eq!(shifted.run()?.to_vec::<i8>()?, [62, 2]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    #[doc(alias = "shr")]
    #[doc(alias = "right_shift")]
    #[doc(alias = "shift_right_logical")]
    #[doc(alias = "shift_right_arithmetic")]
    pub fn bitwise_right_shift(&self, amount: impl Into<Expr<'a>>, kind: Shift) -> Expr<'a> {
        self.binary(BinaryOp::RightShift(kind), amount)
    }

    /// Converts the elements to a dtype, as [`Tensor::cast`](crate::Tensor::cast) does.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::from_nested([1.9f32, -1.9], &Device::cpu())?;
    /// assert_eq!(x.expr().cast(DType::I8).run()?.to_vec::<i8>()?, [1, -1]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    #[doc(alias = "astype")]
    #[doc(alias = "to_dtype")]
    pub fn cast(&self, dtype: DType) -> Expr<'a> {
        self.clone().then(Operation::Cast(dtype))
    }

    /// Converts the elements to a dtype, as [`Tensor::cast_saturating`](crate::Tensor::cast_saturating) does.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::from_nested([1.5f32, 1e4], &Device::cpu())?;
    /// let scaled = (x.expr() * 2).cast_saturating(DType::F8E4M3FN).cast(DType::F32).run()?;
    /// assert_eq!(scaled.to_vec::<f32>()?, [3.0, 448.0]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    #[doc(alias = "saturating_cast")]
    #[doc(alias = "saturate")]
    pub fn cast_saturating(&self, dtype: DType) -> Expr<'a> {
        self.clone().then(Operation::CastSaturating(dtype))
    }

    /// Reads the bits of the elements as another dtype of the same size; see [`Tensor::bitcast`](crate::Tensor::bitcast).
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
    pub fn bitcast(&self, dtype: DType) -> Expr<'a> {
        self.clone().then(Operation::Bitcast(dtype))
    }

    /// Selects the elements of `x` where this expression, which must be bool, is true, and those of `y` elsewhere; see
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
    pub fn select(&self, x: impl Into<Expr<'a>>, y: impl Into<Expr<'a>>) -> Expr<'a> {
        let operands = [self.root.clone(), x.into().root, y.into().root];
        Expr::of(Root::ternary(Operation::Select, operands))
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
    pub fn clip(&self, low: impl Into<Expr<'a>>, high: impl Into<Expr<'a>>) -> Expr<'a> {
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
    pub fn fma(&self, y: impl Into<Expr<'a>>, z: impl Into<Expr<'a>>) -> Expr<'a> {
        let operands = [self.root.clone(), y.into().root, z.into().root];
        Expr::of(Root::ternary(Operation::Fma, operands))
    }
}

macro_rules! with_operand_on_the_right {
    ([] $($operator:ident $method:ident $op:expr;)*) => {$(
        impl<'a, R: Into<Expr<'a>>> $operator<R> for Expr<'a> {
            type Output = Expr<'a>;

            #[inline]
            fn $method(self, other: R) -> Expr<'a> {
                self.then_with($op, other)
            }
        }

        impl<'a, R: Into<Expr<'a>>> $operator<R> for &Expr<'a> {
            type Output = Expr<'a>;

            fn $method(self, other: R) -> Expr<'a> {
                self.binary($op, other)
            }
        }
    )*};
}

for_each_operator!(with_operand_on_the_right);

/// Implements the operators for a number on the left.
macro_rules! with_number_on_the_left {
    ([$number:ty] $($operator:ident $method:ident $op:expr;)*) => {$(
        #[doc(hidden)]
        impl<'a> $operator<Expr<'a>> for $number {
            type Output = Expr<'a>;

            fn $method(self, other: Expr<'a>) -> Expr<'a> {
                Expr::from(self).then_with($op, other)
            }
        }

        #[doc(hidden)]
        impl<'a> $operator<&Expr<'a>> for $number {
            type Output = Expr<'a>;

            fn $method(self, other: &Expr<'a>) -> Expr<'a> {
                Expr::from(self).then_with($op, other)
            }
        }
    )*};
}

/// A literal on the left, as in `2.0 * x.expr()`, has a type only if one type of integers and one of floats can stand
/// there. The type does not matter, since a number adopts the dtype of its tensor.
macro_rules! with_numbers_on_the_left {
    ($($number:ty)*) => {
        $(for_each_operator!(with_number_on_the_left $number);)*
    };
}

with_numbers_on_the_left! { bool i64 f64 f16 bf16 Complex<f32> Complex<f64> Scalar }

macro_rules! prefix_operators {
    ($($operator:ident $method:ident $op:ident;)*) => {$(
        impl<'a> $operator for Expr<'a> {
            type Output = Expr<'a>;

            fn $method(self) -> Expr<'a> {
                self.then(Operation::Unary(UnaryOp::$op))
            }
        }

        impl<'a> $operator for &Expr<'a> {
            type Output = Expr<'a>;

            fn $method(self) -> Expr<'a> {
                self.unary(UnaryOp::$op)
            }
        }
    )*};
}

prefix_operators! {
    Neg neg Negative;
    Not not BitwiseNot;
}
