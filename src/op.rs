//! The op table: one row per binary operation.

use std::fmt;
use std::str::FromStr;

use crate::promote::Family;
use crate::{DType, Error, Result};

/// How bits enter from the left in a right shift. Left shifts are the same in both kinds.
///
/// ```
/// use bitlane::{Device, Shift, Tensor};
/// let x = Tensor::from_slice(&[-102i8], [1], &Device::cpu())?;
/// assert_eq!(x.bitwise_right_shift(3, Shift::Arithmetic)?.to_vec::<i8>()?, [-13]);
/// assert_eq!(x.bitwise_right_shift(3, Shift::Logical)?.to_vec::<i8>()?, [19]);
/// # Ok::<(), bitlane::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Shift {
    /// Copies of the sign bit enter; the kind of `<<` and `>>`.
    #[default]
    Arithmetic,
    /// Zeros enter, whatever the sign.
    Logical,
}

/// Calls `$callback!` with the whole table: the shifts, then the operations without a parameter.
///
/// A plain row reads `Variant method method_in_place Family Domain Function "what it computes"
/// [x] y => dtype [result];`.
///
/// - *family* is the row of the promotion tables that governs the operation;
/// - *domain* is the set of dtypes in which it can be computed;
/// - *function* is the type in `backend::cpu::element` that holds the function of two elements;
///   the device function of the same name as the method is in `cuda/ops.cuh`;
/// - the rest is the documentation, and an example that the documentation tests run.
///
/// The method's name is the operation's name; a shift's name is followed by its kind.
macro_rules! for_each_binary_op {
    ($callback:ident $($argument:tt)*) => {
        $callback! {
            $($argument)*
            shifts {
                LeftShift Arithmetic bitwise_left_shift ShiftLeft;
                RightShift Arithmetic bitwise_right_shift ShiftRight;
                LeftShift Logical bitwise_left_shift_logical ShiftLeft;
                RightShift Logical bitwise_right_shift_logical ShiftRightLogical;
            }
            plain {
                Copysign copysign copysign_assign Copysign Real Copysign
                    "The magnitude of the left operand with the sign of the right one."
                    [1.5f32, -2.0] -0.0 => f32 [-1.5, -2.0];
                Add add add_assign Arithmetic All Add
                    "The sum; integers wrap, bools are or-ed."
                    [1i32, i32::MAX] 1 => i32 [2, i32::MIN];
                Subtract subtract subtract_assign Arithmetic Numbers Subtract
                    "The difference; integers wrap, bools are refused."
                    [5u8, 0] 1 => u8 [4, 255];
                Multiply multiply multiply_assign Arithmetic All Multiply
                    "The product; integers wrap, bools are and-ed."
                    [3i8, 100] 2 => i8 [6, -56];
                Divide divide divide_assign Divide Fractions Divide
                    "The quotient, never below float: integers give `f32` under the default rules."
                    [7i32, 1] 2 => f32 [3.5, 0.5];
                Equal equal equal_assign Equality All Equal
                    "Whether the operands are equal; NaN equals nothing."
                    [1.0f32, f32::NAN] 1 => bool [true, false];
                NotEqual not_equal not_equal_assign Equality All NotEqual
                    "Whether the operands differ; NaN differs from everything."
                    [1.0f32, f32::NAN] 1 => bool [false, true];
                LessThan less_than less_than_assign Ordering Real LessThan
                    "Whether the left operand is below the right one."
                    [1i32, 2] 2 => bool [true, false];
                LessEqual less_equal less_equal_assign Ordering Real LessEqual
                    "Whether the left operand is below the right one or equal."
                    [2i32, 3] 2 => bool [true, false];
                GreaterThan greater_than greater_than_assign Ordering Real GreaterThan
                    "Whether the left operand is above the right one."
                    [2i32, 3] 2 => bool [false, true];
                GreaterEqual greater_equal greater_equal_assign Ordering Real GreaterEqual
                    "Whether the left operand is above the right one or equal."
                    [1i32, 2] 2 => bool [false, true];
                LogicalAnd logical_and logical_and_assign Logical All LogicalAnd
                    "Whether both operands are non-zero."
                    [2i32, 0] 1 => bool [true, false];
                LogicalOr logical_or logical_or_assign Logical All LogicalOr
                    "Whether either operand is non-zero."
                    [2i32, 0] 0 => bool [true, false];
                LogicalXor logical_xor logical_xor_assign Logical All LogicalXor
                    "Whether exactly one operand is non-zero."
                    [2i32, 0] 1 => bool [false, true];
                BitwiseAnd bitwise_and bitwise_and_assign Bitwise BoolAndIntegers BitwiseAnd
                    "The bits that are set in both operands."
                    [0b1100u8, 0b1010] 0b0110 => u8 [0b0100, 0b0010];
                BitwiseOr bitwise_or bitwise_or_assign Bitwise BoolAndIntegers BitwiseOr
                    "The bits that are set in either operand."
                    [0b1100u8, 0b1010] 0b0110 => u8 [0b1110, 0b1110];
                BitwiseXor bitwise_xor bitwise_xor_assign Bitwise BoolAndIntegers BitwiseXor
                    "The bits that are set in exactly one operand."
                    [0b1100u8, 0b1010] 0b0110 => u8 [0b1010, 0b1100];
                Maximum maximum maximum_assign MinMax Real Maximum
                    "The larger operand, NaN if either is NaN; −0 is below +0."
                    [1i32, 5] 3 => i32 [3, 5];
                Minimum minimum minimum_assign MinMax Real Minimum
                    "The smaller operand, NaN if either is NaN; −0 is below +0."
                    [1i32, 5] 3 => i32 [1, 3];
                Fmax fmax fmax_assign MinMax Real Fmax
                    "The larger operand, or the other one if one is NaN; −0 is below +0."
                    [1.0f32, f32::NAN] 3.0 => f32 [3.0, 3.0];
                Fmin fmin fmin_assign MinMax Real Fmin
                    "The smaller operand, or the other one if one is NaN; −0 is below +0."
                    [1.0f32, f32::NAN] 3.0 => f32 [1.0, 3.0];
            }
        }
    };
}
pub(crate) use for_each_binary_op;

/// Expands to `Some($value)` if dtypes of the class are in the domain, else to `None`.
#[rustfmt::skip] // a table
macro_rules! in_domain {
    (All $class:ident $value:expr) => { Some($value) };
    (Numbers Bool $value:expr) => { None };
    (Numbers $class:ident $value:expr) => { Some($value) };
    (Real Complex $value:expr) => { None };
    (Real $class:ident $value:expr) => { Some($value) };
    (RealNumbers Bool $value:expr) => { None };
    (RealNumbers Complex $value:expr) => { None };
    (RealNumbers $class:ident $value:expr) => { Some($value) };
    (Fractions Float $value:expr) => { Some($value) };
    (Fractions Complex $value:expr) => { Some($value) };
    (Floats Float $value:expr) => { Some($value) };
    (Integers Signed $value:expr) => { Some($value) };
    (Integers Unsigned $value:expr) => { Some($value) };
    (BoolAndIntegers Bool $value:expr) => { Some($value) };
    (BoolAndIntegers Signed $value:expr) => { Some($value) };
    (BoolAndIntegers Unsigned $value:expr) => { Some($value) };
    ($domain:ident $class:ident $value:expr) => { None };
}
#[cfg(feature = "cpu")]
pub(crate) use in_domain;

macro_rules! define_domain {
    ($($domain:ident $words:literal;)*) => {
        /// A set of dtypes in which an operation can be computed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Domain {
            $($domain,)*
        }

        impl Domain {
            pub(crate) fn contains(self, dtype: DType) -> bool {
                match self {
                    $(Domain::$domain => crate::dtype::for_each_dtype!(domain_contains $domain dtype),)*
                }
            }

            /// The set in words, for error messages.
            pub(crate) const fn words(self) -> &'static str {
                match self {
                    $(Domain::$domain => $words,)*
                }
            }
        }
    };
}

macro_rules! domain_contains {
    ($domain:ident $dtype:ident $($variant:ident: $rust:ty = $name:literal $class:ident;)*) => {
        match $dtype {
            $(DType::$variant => Option::<()>::is_some(&in_domain!($domain $class ())),)*
        }
    };
}

define_domain! {
    All "every dtype";
    Numbers "integers, floats and complex";
    Real "bool, integers and floats";
    RealNumbers "integers and floats";
    Fractions "floats and complex";
    Floats "floats";
    Integers "integers";
    BoolAndIntegers "bool and integers";
}

macro_rules! define_binary_op {
    (
        shifts { $($shift:ident $kind:ident $shift_name:ident $shift_function:ident;)* }
        plain { $(
            $variant:ident $name:ident $assign:ident $family:ident $domain:ident $function:ident
            $doc:literal [$($x:expr),*] $y:expr => $dtype:ident [$($result:expr),*];
        )* }
    ) => {
        /// An operation on two operands. Every one has a method of [`Tensor`](crate::Tensor), an
        /// in-place method ending in `_assign`, and the long form [`binary`](crate::binary).
        ///
        /// ```
        /// use bitlane::{BinaryOp, Shift};
        /// let op: BinaryOp = "bitwise_right_shift_logical".parse()?;
        /// assert_eq!(op, BinaryOp::RightShift(Shift::Logical));
        /// assert_eq!(BinaryOp::Add.to_string(), "add");
        /// # Ok::<(), bitlane::Error>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum BinaryOp {
            /// Bits move left and zeros enter; an amount out of range gives 0.
            LeftShift(Shift),
            /// Bits move right; an amount out of range leaves only what enters.
            RightShift(Shift),
            $(#[doc = $doc] $variant,)*
        }

        impl BinaryOp {
            /// Every operation, in the order of the table.
            pub const ALL: &'static [BinaryOp] = &[
                $(BinaryOp::$shift(Shift::$kind),)*
                $(BinaryOp::$variant,)*
            ];

            /// The name, as printed and parsed.
            pub const fn name(self) -> &'static str {
                match self {
                    $(BinaryOp::$shift(Shift::$kind) => stringify!($shift_name),)*
                    $(BinaryOp::$variant => stringify!($name),)*
                }
            }

            /// The row of the promotion tables that governs the operation.
            pub(crate) const fn family(self) -> Family {
                match self {
                    BinaryOp::LeftShift(_) | BinaryOp::RightShift(_) => Family::Shift,
                    $(BinaryOp::$variant => Family::$family,)*
                }
            }

            /// The dtypes in which the operation can be computed.
            pub(crate) const fn domain(self) -> Domain {
                match self {
                    BinaryOp::LeftShift(_) | BinaryOp::RightShift(_) => Domain::Integers,
                    $(BinaryOp::$variant => Domain::$domain,)*
                }
            }
        }
    };
}

for_each_binary_op!(define_binary_op);

impl FromStr for BinaryOp {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        BinaryOp::ALL.iter().copied().find(|op| op.name() == text).ok_or_else(|| {
            let names: Vec<_> = BinaryOp::ALL.iter().map(|op| op.name()).collect();
            Error::InvalidArgument {
                op: "BinaryOp",
                reason: format!("{text:?} names no operation; the names are {}", names.join(" ")),
            }
        })
    }
}

/// Calls `$callback!` with the table of unary operations, one `Variant "name" Domain;` row each.
macro_rules! for_each_unary_op {
    ($callback:ident $($argument:tt)*) => {
        $callback! {
            $($argument)*
            Copy "copy" All;
            Signbit "signbit" Real;
        }
    };
}

macro_rules! define_unary_op {
    ($($variant:ident $name:literal $domain:ident;)*) => {
        /// An operation on one operand.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum UnaryOp {
            $($variant,)*
        }

        impl UnaryOp {
            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(UnaryOp::$variant => $name,)*
                }
            }

            pub(crate) const fn domain(self) -> Domain {
                match self {
                    $(UnaryOp::$variant => Domain::$domain,)*
                }
            }
        }
    };
}

for_each_unary_op!(define_unary_op);

impl fmt::Display for BinaryOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
