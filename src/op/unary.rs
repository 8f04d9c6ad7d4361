//! Unary operations.

use super::{ElementOp, for_each_op, printed_and_parsed};
use crate::DType;
use crate::promote::UnaryFamily;

macro_rules! define_unary_op {
    ($(
        $variant:ident $name:ident $domain:ident $result:ident {$family:ident $($alias:literal)*}
        $doc:literal {$($example:tt)*};
    )*) => {
        /// A unary operation.
        ///
        /// Each has a method of [`Tensor`](crate::Tensor) and of [`Expr`](crate::Expr). [`unary`](crate::unary()) runs
        /// any of them with a rulebook, a destination and a mask. An operation is printed and parsed as the name of its
        /// method.
        ///
        /// # Examples
        ///
        /// ```
        /// use bitlane::UnaryOp;
        /// assert_eq!("bitwise_not".parse::<UnaryOp>()?, UnaryOp::BitwiseNot);
        /// assert_eq!(UnaryOp::Abs.to_string(), "abs");
        /// # Ok::<(), bitlane::Error>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum UnaryOp {
            $(#[doc = $doc] $variant,)*
        }

        impl UnaryOp {
            /// Every operation, in the order of the table.
            pub const ALL: &'static [UnaryOp] = &[$(UnaryOp::$variant,)*];

            /// Returns the name, as printed and parsed.
            ///
            /// # Examples
            ///
            /// ```
            /// use bitlane::UnaryOp;
            /// assert_eq!(UnaryOp::LogicalNot.name(), "logical_not");
            /// ```
            pub const fn name(self) -> &'static str {
                self.element().name()
            }

            /// Returns what the operation computes, as its documentation says.
            ///
            /// # Examples
            ///
            /// ```
            /// use bitlane::UnaryOp;
            /// assert!(UnaryOp::BitwiseNot.description().starts_with("Flips every bit."));
            /// ```
            pub const fn description(self) -> &'static str {
                self.element().description()
            }

            /// Returns `true` if the operation is computed in this dtype where the operand has it.
            ///
            /// # Examples
            ///
            /// ```
            /// use bitlane::{DType, UnaryOp};
            /// assert!(UnaryOp::Abs.is_defined_for(DType::I8) && !UnaryOp::Abs.is_defined_for(DType::Bool));
            /// ```
            pub const fn is_defined_for(self, dtype: DType) -> bool {
                self.element().domain().contains(dtype)
            }

            /// Returns how the operand is promoted.
            pub(crate) const fn family(self) -> UnaryFamily {
                match self {
                    $(UnaryOp::$variant => UnaryFamily::$family,)*
                }
            }

            /// Returns the function that computes one element.
            pub(crate) const fn element(self) -> ElementOp {
                match self {
                    $(UnaryOp::$variant => ElementOp::$variant,)*
                }
            }
        }
    };
}

for_each_op!(unary: define_unary_op);
printed_and_parsed!(UnaryOp);
