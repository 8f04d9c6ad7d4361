//! The op table: one row per operation, whatever its arity.

mod domain;

use std::fmt;
use std::str::FromStr;

pub(crate) use self::domain::Domain;
use crate::promote::Family;
use crate::{DType, Error, Result};

/// How bits enter from the left in a right shift. Left shifts are the same in both kinds.
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
    /// Copies of the sign bit enter; the kind of `<<` and `>>`.
    #[default]
    Arithmetic,
    /// Zeros enter, whatever the sign.
    Logical,
}

/// Calls `$callback!` with the whole table, a group per arity.
///
/// A row starts with the variant and the operation's name, which is the method's name, the name of
/// the device function in `cuda/ops.cuh` and what is printed and parsed. The variant is also the
/// name of the type in `backend::cpu::element` that holds the function of the elements. Then come
///
/// - for a binary operation its in-place method and its *family*, the row of the promotion tables
///   that governs it (unary operations are computed in the dtype of their operand);
/// - the *domain*, the set of dtypes in which it can be computed;
/// - the *result*: the dtype in which it is computed (`Same`), or `Bool`;
/// - what it computes, and an example that the documentation tests run: two elements, the number beside them, and the
///   result with its type.
///
/// `shifts` are binary operations with a parameter, `functions` are steps of the losses without a
/// method of their own, and `losses` are composed of several steps (`ops::loss`).
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
                    "The magnitude of the left operand with the sign of the right one."
                    "1.5f32, -2.0" "-0.0" => f32 "-1.5, -2.0";
                Add add add_assign Arithmetic All Same
                    "The sum; integers wrap, bools are or-ed."
                    "1i32, i32::MAX" "1" => i32 "2, i32::MIN";
                Subtract subtract subtract_assign Arithmetic Numbers Same
                    "The difference; integers wrap, bools are refused."
                    "5u8, 0" "1" => u8 "4, 255";
                Multiply multiply multiply_assign Arithmetic All Same
                    "The product; integers wrap, bools are and-ed."
                    "3i8, 100" "2" => i8 "6, -56";
                Divide divide divide_assign Divide Fractions Same
                    "The quotient, never below float: integers give `f32` under the default rules."
                    "7.0f32, 1.0" "2" => f32 "3.5, 0.5";
                FloorDivide floor_divide floor_divide_assign Modular RealNumbers Same
                    "The quotient rounded towards −∞; an integer divided by 0 is 0."
                    "7i32, -7" "2" => i32 "3, -4";
                Remainder remainder remainder_assign Modular RealNumbers Same
                    "What `floor_divide` leaves, with the sign of the divisor; an integer modulo 0 is 0."
                    "7i32, -7" "4" => i32 "3, 1";
                Pow pow pow_assign Pow RealNumbers Same
                    "The left operand to the power of the right one; integers wrap, and a negative exponent gives 0 but for the bases 1 and −1."
                    "3i32, -2" "3" => i32 "27, -8";
                Equal equal equal_assign Equality All Bool
                    "Whether the operands are equal; NaN equals nothing."
                    "1.0f32, f32::NAN" "1" => bool "true, false";
                NotEqual not_equal not_equal_assign Equality All Bool
                    "Whether the operands differ; NaN differs from everything."
                    "1.0f32, f32::NAN" "1" => bool "false, true";
                LessThan less_than less_than_assign Ordering Real Bool
                    "Whether the left operand is below the right one."
                    "1i32, 2" "2" => bool "true, false";
                LessEqual less_equal less_equal_assign Ordering Real Bool
                    "Whether the left operand is below the right one or equal."
                    "2i32, 3" "2" => bool "true, false";
                GreaterThan greater_than greater_than_assign Ordering Real Bool
                    "Whether the left operand is above the right one."
                    "2i32, 3" "2" => bool "false, true";
                GreaterEqual greater_equal greater_equal_assign Ordering Real Bool
                    "Whether the left operand is above the right one or equal."
                    "1i32, 2" "2" => bool "false, true";
                LogicalAnd logical_and logical_and_assign Logical All Bool
                    "Whether both operands are non-zero."
                    "2i32, 0" "1" => bool "true, false";
                LogicalOr logical_or logical_or_assign Logical All Bool
                    "Whether either operand is non-zero."
                    "2i32, 0" "0" => bool "true, false";
                LogicalXor logical_xor logical_xor_assign Logical All Bool
                    "Whether exactly one operand is non-zero."
                    "2i32, 0" "1" => bool "false, true";
                BitwiseAnd bitwise_and bitwise_and_assign Bitwise BoolAndIntegers Same
                    "The bits that are set in both operands."
                    "0b1100u8, 0b1010" "0b0110" => u8 "0b0100, 0b0010";
                BitwiseOr bitwise_or bitwise_or_assign Bitwise BoolAndIntegers Same
                    "The bits that are set in either operand."
                    "0b1100u8, 0b1010" "0b0110" => u8 "0b1110, 0b1110";
                BitwiseXor bitwise_xor bitwise_xor_assign Bitwise BoolAndIntegers Same
                    "The bits that are set in exactly one operand."
                    "0b1100u8, 0b1010" "0b0110" => u8 "0b1010, 0b1100";
                Maximum maximum maximum_assign MinMax Real Same
                    "The larger operand, NaN if either is NaN; −0 is below +0."
                    "1i32, 5" "3" => i32 "3, 5";
                Minimum minimum minimum_assign MinMax Real Same
                    "The smaller operand, NaN if either is NaN; −0 is below +0."
                    "1i32, 5" "3" => i32 "1, 3";
                Fmax fmax fmax_assign MinMax Real Same
                    "The larger operand, or the other one if one is NaN; −0 is below +0."
                    "1.0f32, f32::NAN" "3.0" => f32 "3.0, 3.0";
                Fmin fmin fmin_assign MinMax Real Same
                    "The smaller operand, or the other one if one is NaN; −0 is below +0."
                    "1.0f32, f32::NAN" "3.0" => f32 "1.0, 3.0";
                LogAddExp logaddexp logaddexp_assign LogAddExp Floats Same
                    "The logarithm of the sum of the operands' exponentials, without overflow on the way."
                    "1000.0f32, f32::NEG_INFINITY" "0.0" => f32 "1000.0, 0.0";
                NextAfter nextafter nextafter_assign NextAfter Floats Same
                    "The next representable number after the left operand in the direction of the right one."
                    "1.0f32, 0.0" "0.0" => f32 "0.99999994, 0.0";
                Atan2 atan2 atan2_assign Atan2 Floats Same
                    "The angle of the point whose y is the left operand and whose x is the right one."
                    "0.0f32, 1.0" "0.0" => f32 "0.0, std::f32::consts::FRAC_PI_2";
            }
            unary {
                Abs abs RealNumbers Same
                    "The magnitude: integers wrap, so the lowest one is its own; floats lose their sign bit, NaN too."
                    "-3i32, i32::MIN" => i32 "3, i32::MIN";
                Negative negative Numbers Same
                    "The value with the opposite sign: integers wrap, floats flip their sign bit, NaN too."
                    "-3i32, i32::MIN" => i32 "3, i32::MIN";
                BitwiseNot bitwise_not BoolAndIntegers Same
                    "Every bit flipped; a bool is negated."
                    "0u8, 0b1010" => u8 "255, 0b1111_0101";
                LogicalNot logical_not All Bool
                    "Whether the element is zero."
                    "0i32, 5" => bool "true, false";
                Signbit signbit Real Bool
                    "Whether the sign bit is set: true for −0.0 and negative NaNs, and for integers below 0."
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
        /// An operation on two operands. Every one has a method of [`Tensor`](crate::Tensor), an
        /// in-place method ending in `_assign`, and the long form [`binary`](crate::binary).
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
            /// Bits move left and zeros enter; an amount out of range gives 0.
            LeftShift(Shift),
            /// Bits move right; an amount out of range gives 0, or −1 for an arithmetic shift of a
            /// negative value.
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

            /// The name, as printed and parsed.
            pub const fn name(self) -> &'static str {
                match self {
                    // The one name without a function of its own: both kinds shift left alike.
                    BinaryOp::LeftShift(Shift::Logical) => "bitwise_left_shift_logical",
                    _ => self.element().name(),
                }
            }

            /// The function of the elements.
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

        /// A function of one, two or three elements: what the backends have code for. All operands
        /// have the dtype of the computation, but the condition of `Select`, which is bool.
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

            /// How many operands the function takes.
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

        /// The operations that promotion knows besides the binary ones.
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

/// A row's result column as a dtype.
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
