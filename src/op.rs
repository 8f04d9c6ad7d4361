//! The op table, which has one row per operation of any arity.

mod domain;

use std::fmt;
use std::str::FromStr;

pub(crate) use self::domain::Domain;
use crate::promote::Family;
use crate::{DType, Error, Result};

/// How a right shift fills the vacated bits. Arithmetic and logical left shifts are the same.
///
/// # Examples
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
    /// Fills with copies of the sign bit, or with zeros if the dtype is unsigned. `<<` and `>>` shift in this way.
    #[default]
    Arithmetic,
    /// Fills with zeros, whatever the sign.
    Logical,
}

/// Calls `$callback!` with the whole table, which has a group per arity.
///
/// A row starts with the enum variant and the name of the operation. The name is also that of the method, of the device
/// function in `cuda/ops.cuh`, and of the operation in text. The variant is also the name of the type in
/// `backend::cpu::element` that implements the operation for one element. The other columns are
///
/// - for a binary operation, its in-place method and its *family*, the row of the promotion tables that governs it (a
///   unary operation is computed in the dtype of its operand);
/// - the *domain*, the set of dtypes in which it can be computed;
/// - the *result*: `Same` for the dtype in which it is computed, or `Bool`;
/// - its description, which becomes the documentation of the methods and the variant;
/// - an example for a documentation test: two elements, the right operand, and the result with its type.
///
/// `shifts` are binary operations with a parameter, `functions` are steps of the losses that have no method of their
/// own, and `losses` consist of several steps (`ops::loss`).
macro_rules! for_each_op {
    ($callback:ident $($argument:tt)*) => {
        $callback! {
            $($argument)*
            shifts {
                ShiftLeft bitwise_left_shift Same;
                ShiftRight bitwise_right_shift Same;
                ShiftRightLogical bitwise_right_shift_logical Same;
            }
            binary {
                Copysign copysign copysign_assign Copysign Real Same
                    "Combines the magnitude of the left operand with the sign of the right one."
                    "1.5f32, -2.0" "-0.0" => f32 "-1.5, -2.0";
                Add add add_assign Arithmetic All Same
                    "Adds the operands. Integers wrap; bools are or-ed."
                    "1i32, i32::MAX" "1" => i32 "2, i32::MIN";
                Subtract subtract subtract_assign Arithmetic Numbers Same
                    "Subtracts the right operand from the left one. Integers wrap; bools are rejected."
                    "5u8, 0" "1" => u8 "4, 255";
                Multiply multiply multiply_assign Arithmetic All Same
                    "Multiplies the operands. Integers wrap; bools are and-ed."
                    "3i8, 100" "2" => i8 "6, -56";
                Divide divide divide_assign Divide Fractions Same
                    "Divides the left operand by the right one. Integers are divided as floats: in `f32` under the \
                     default rules."
                    "7.0f32, 1.0" "2" => f32 "3.5, 0.5";
                FloorDivide floor_divide floor_divide_assign Modular RealNumbers Same
                    "Divides the left operand by the right one and rounds towards −∞. An integer divided by 0 gives 0."
                    "7i32, -7" "2" => i32 "3, -4";
                Remainder remainder remainder_assign Modular RealNumbers Same
                    "Computes the remainder of `floor_divide`, which has the sign of the divisor. An integer modulo 0 \
                     gives 0."
                    "7i32, -7" "4" => i32 "3, 1";
                Pow pow pow_assign Pow RealNumbers Same
                    "Raises the left operand to the power of the right one. Integers wrap; a negative exponent gives 0, \
                     except with the bases 1 and −1."
                    "3i32, -2" "3" => i32 "27, -8";
                Equal equal equal_assign Equality All Bool
                    "Tests whether the operands are equal. NaN equals nothing, not even itself."
                    "1.0f32, f32::NAN" "1" => bool "true, false";
                NotEqual not_equal not_equal_assign Equality All Bool
                    "Tests whether the operands differ. NaN differs from everything, even from itself."
                    "1.0f32, f32::NAN" "1" => bool "false, true";
                LessThan less_than less_than_assign Ordering Real Bool
                    "Tests whether the left operand is less than the right one."
                    "1i32, 2" "2" => bool "true, false";
                LessEqual less_equal less_equal_assign Ordering Real Bool
                    "Tests whether the left operand is less than or equal to the right one."
                    "2i32, 3" "2" => bool "true, false";
                GreaterThan greater_than greater_than_assign Ordering Real Bool
                    "Tests whether the left operand is greater than the right one."
                    "2i32, 3" "2" => bool "false, true";
                GreaterEqual greater_equal greater_equal_assign Ordering Real Bool
                    "Tests whether the left operand is greater than or equal to the right one."
                    "1i32, 2" "2" => bool "false, true";
                LogicalAnd logical_and logical_and_assign Logical All Bool
                    "Tests whether both operands are non-zero."
                    "2i32, 0" "1" => bool "true, false";
                LogicalOr logical_or logical_or_assign Logical All Bool
                    "Tests whether at least one operand is non-zero."
                    "2i32, 0" "0" => bool "true, false";
                LogicalXor logical_xor logical_xor_assign Logical All Bool
                    "Tests whether exactly one operand is non-zero."
                    "2i32, 0" "1" => bool "false, true";
                BitwiseAnd bitwise_and bitwise_and_assign Bitwise BoolAndIntegers Same
                    "Computes the bitwise AND of the operands."
                    "0b1100u8, 0b1010" "0b0110" => u8 "0b0100, 0b0010";
                BitwiseOr bitwise_or bitwise_or_assign Bitwise BoolAndIntegers Same
                    "Computes the bitwise OR of the operands."
                    "0b1100u8, 0b1010" "0b0110" => u8 "0b1110, 0b1110";
                BitwiseXor bitwise_xor bitwise_xor_assign Bitwise BoolAndIntegers Same
                    "Computes the bitwise exclusive OR of the operands."
                    "0b1100u8, 0b1010" "0b0110" => u8 "0b1010, 0b1100";
                Maximum maximum maximum_assign MinMax Real Same
                    "Selects the larger operand, or NaN if either is NaN. −0 is less than +0."
                    "1i32, 5" "3" => i32 "3, 5";
                Minimum minimum minimum_assign MinMax Real Same
                    "Selects the smaller operand, or NaN if either is NaN. −0 is less than +0."
                    "1i32, 5" "3" => i32 "1, 3";
                Fmax fmax fmax_assign MinMax Real Same
                    "Selects the larger operand, ignoring a NaN unless both are NaN. −0 is less than +0."
                    "1.0f32, f32::NAN" "3.0" => f32 "3.0, 3.0";
                Fmin fmin fmin_assign MinMax Real Same
                    "Selects the smaller operand, ignoring a NaN unless both are NaN. −0 is less than +0."
                    "1.0f32, f32::NAN" "3.0" => f32 "1.0, 3.0";
                LogAddExp logaddexp logaddexp_assign LogAddExp Floats Same
                    "Computes `log(exp(x) + exp(y))` without intermediate overflow."
                    "1000.0f32, f32::NEG_INFINITY" "0.0" => f32 "1000.0, 0.0";
                NextAfter nextafter nextafter_assign NextAfter Floats Same
                    "Computes the next representable value after the left operand in the direction of the right one."
                    "1.0f32, 0.0" "0.0" => f32 "0.99999994, 0.0";
                Atan2 atan2 atan2_assign Atan2 Floats Same
                    "Computes the angle, in radians, of the point with the left operand as its y coordinate and the \
                     right one as its x coordinate."
                    "0.0f32, 1.0" "0.0" => f32 "0.0, std::f32::consts::FRAC_PI_2";
            }
            unary {
                Abs abs RealNumbers Same
                    "Computes the absolute value. Integers wrap, so the lowest one is unchanged; floats, even NaN, have \
                     their sign bit cleared."
                    "-3i32, i32::MIN" => i32 "3, i32::MIN";
                Negative negative Numbers Same
                    "Negates every element. Integers wrap; floats, even NaN, have their sign bit flipped."
                    "-3i32, i32::MIN" => i32 "3, i32::MIN";
                BitwiseNot bitwise_not BoolAndIntegers Same
                    "Flips every bit. A bool is negated."
                    "0u8, 0b1010" => u8 "255, 0b1111_0101";
                LogicalNot logical_not All Bool
                    "Tests whether each element is zero."
                    "0i32, 5" => bool "true, false";
                Signbit signbit Real Bool
                    "Tests whether the sign bit is set, as in −0.0, negative NaNs and negative integers."
                    "-0.0f32, f32::INFINITY" => bool "true, false";
            }
            functions {
                Exp exp Floats Same;
                Log log Floats Same;
            }
            ternary {
                Select select Select All Same;
            }
            losses {
                L1Loss l1_loss Loss Floats;
                SmoothL1Loss smooth_l1_loss Loss Floats;
                MseLoss mse_loss MseLoss Floats;
                HuberLoss huber_loss HuberLoss Floats;
                PoissonNllLoss poisson_nll_loss PoissonLoss Floats;
            }
        }
    };
}
pub(crate) use for_each_op;

macro_rules! define_ops {
    (
        shifts { $($shift:ident $shift_name:ident $shift_result:ident;)* }
        binary { $(
            $variant:ident $name:ident $assign:ident $family:ident $domain:ident $result:ident
            $doc:literal $x:literal $y:literal => $dtype:ident $expected:literal;
        )* }
        unary { $(
            $unary:ident $unary_name:ident $unary_domain:ident $unary_result:ident
            $unary_doc:literal $unary_x:literal => $unary_dtype:ident $unary_expected:literal;
        )* }
        functions { $($function:ident $function_name:ident $function_domain:ident $function_result:ident;)* }
        ternary { $($ternary:ident $ternary_name:ident $ternary_family:ident $ternary_domain:ident $ternary_result:ident;)* }
        losses { $($loss:ident $loss_name:ident $loss_family:ident $loss_domain:ident;)* }
    ) => {
        /// A binary operation.
        ///
        /// Each has a method of [`Tensor`](crate::Tensor), an in-place method whose name ends in `_assign`, and a
        /// method of [`Expr`](crate::Expr). [`binary`](crate::binary) runs any of them with a rulebook, a destination
        /// and a mask.
        ///
        /// An operation is printed and parsed as the name of its method, to which a logical shift appends `_logical`.
        ///
        /// # Examples
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
            /// Shifts to the left and fills with zeros. An amount out of range gives 0.
            LeftShift(Shift),
            /// Shifts to the right. An amount out of range gives 0, or −1 for an arithmetic shift of a negative value.
            RightShift(Shift),
            $(#[doc = $doc] $variant,)*
        }

        impl BinaryOp {
            /// Every operation, in the order of the table.
            pub const ALL: &'static [BinaryOp] = &[
                BinaryOp::LeftShift(Shift::Arithmetic),
                BinaryOp::RightShift(Shift::Arithmetic),
                BinaryOp::LeftShift(Shift::Logical),
                BinaryOp::RightShift(Shift::Logical),
                $(BinaryOp::$variant,)*
            ];

            /// Returns the name, as printed and parsed.
            ///
            /// # Examples
            ///
            /// ```
            /// use bitlane::{BinaryOp, Shift};
            /// assert_eq!(BinaryOp::RightShift(Shift::Arithmetic).name(), "bitwise_right_shift");
            /// ```
            pub const fn name(self) -> &'static str {
                match self {
                    // The only operation without an element function of its own: both left shifts are the same.
                    BinaryOp::LeftShift(Shift::Logical) => "bitwise_left_shift_logical",
                    _ => self.element().name(),
                }
            }

            /// The function that computes one element.
            pub(crate) const fn element(self) -> ElementOp {
                match self {
                    BinaryOp::LeftShift(_) => ElementOp::ShiftLeft,
                    BinaryOp::RightShift(Shift::Arithmetic) => ElementOp::ShiftRight,
                    BinaryOp::RightShift(Shift::Logical) => ElementOp::ShiftRightLogical,
                    $(BinaryOp::$variant => ElementOp::$variant,)*
                }
            }

            /// The row of the promotion tables that governs the operation.
            pub(crate) const fn family(self) -> Family {
                match self {
                    BinaryOp::LeftShift(_) | BinaryOp::RightShift(_) => Family::Shift,
                    $(BinaryOp::$variant => Family::$family,)*
                }
            }
        }

        /// A function of one, two or three elements, as the backends implement it. All operands have the dtype of the
        /// computation, except for the condition of `Select`, which is bool.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum ElementOp {
            $($shift,)*
            $($variant,)*
            $($unary,)*
            $($function,)*
            $($ternary,)*
        }

        impl ElementOp {
            /// Every function, in the order of the table.
            pub(crate) const ALL: &'static [ElementOp] = &[
                $(ElementOp::$shift,)*
                $(ElementOp::$variant,)*
                $(ElementOp::$unary,)*
                $(ElementOp::$function,)*
                $(ElementOp::$ternary,)*
            ];

            /// The name of the operation and of its device function.
            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(ElementOp::$shift => stringify!($shift_name),)*
                    $(ElementOp::$variant => stringify!($name),)*
                    $(ElementOp::$unary => stringify!($unary_name),)*
                    $(ElementOp::$function => stringify!($function_name),)*
                    $(ElementOp::$ternary => stringify!($ternary_name),)*
                }
            }

            /// The number of operands.
            pub(crate) const fn arity(self) -> usize {
                match self {
                    $(ElementOp::$shift => 2,)*
                    $(ElementOp::$variant => 2,)*
                    $(ElementOp::$unary => 1,)*
                    $(ElementOp::$function => 1,)*
                    $(ElementOp::$ternary => 3,)*
                }
            }

            /// The dtypes in which the function can be computed.
            pub(crate) const fn domain(self) -> Domain {
                match self {
                    $(ElementOp::$shift => Domain::Integers,)*
                    $(ElementOp::$variant => Domain::$domain,)*
                    $(ElementOp::$unary => Domain::$unary_domain,)*
                    $(ElementOp::$function => Domain::$function_domain,)*
                    $(ElementOp::$ternary => Domain::$ternary_domain,)*
                }
            }

            /// The dtype of the result of a computation in `dtype`.
            pub(crate) const fn result(self, dtype: DType) -> DType {
                match self {
                    $(ElementOp::$shift => result!($shift_result dtype),)*
                    $(ElementOp::$variant => result!($result dtype),)*
                    $(ElementOp::$unary => result!($unary_result dtype),)*
                    $(ElementOp::$function => result!($function_result dtype),)*
                    $(ElementOp::$ternary => result!($ternary_result dtype),)*
                }
            }
        }

        /// The operations with promotion rules that are not in [`BinaryOp`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum OtherOp {
            $($ternary,)*
            $($loss,)*
        }

        impl OtherOp {
            pub(crate) const ALL: &'static [OtherOp] =
                &[$(OtherOp::$ternary,)* $(OtherOp::$loss,)*];

            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(OtherOp::$ternary => stringify!($ternary_name),)*
                    $(OtherOp::$loss => stringify!($loss_name),)*
                }
            }

            pub(crate) const fn family(self) -> Family {
                match self {
                    $(OtherOp::$ternary => Family::$ternary_family,)*
                    $(OtherOp::$loss => Family::$loss_family,)*
                }
            }

            pub(crate) const fn domain(self) -> Domain {
                match self {
                    $(OtherOp::$ternary => Domain::$ternary_domain,)*
                    $(OtherOp::$loss => Domain::$loss_domain,)*
                }
            }
        }
    };
}

/// Expands the result column of a row to a dtype.
macro_rules! result {
    (Same $dtype:ident) => {
        $dtype
    };
    (Bool $dtype:ident) => {
        DType::Bool
    };
}

for_each_op!(define_ops);

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

impl fmt::Display for BinaryOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
