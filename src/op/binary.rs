//! Binary operations.

use super::{ElementOp, for_each_op, printed_and_parsed};
use crate::DType;
use crate::promote::Family;

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

macro_rules! define_binary_op {
    ($(
        $variant:ident $name:ident $domain:ident $result:ident {$assign:ident $family:ident $($alias:literal)*}
        $doc:literal {$($example:tt)*};
    )*) => {
        /// A binary operation.
        ///
        /// Each has a method of [`Tensor`](crate::Tensor), an in-place method whose name ends in `_assign`, and a
        /// method of [`Expr`](crate::Expr). [`binary`](crate::binary()) runs any of them with a rulebook, a destination
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

            /// Returns what the operation computes, as its documentation says.
            ///
            /// # Examples
            ///
            /// ```
            /// use bitlane::BinaryOp;
            /// assert!(BinaryOp::Add.description().starts_with("Adds the operands."));
            /// ```
            pub const fn description(self) -> &'static str {
                self.element().description()
            }

            /// Returns `true` if the operation is computed in this dtype where both operands have it.
            ///
            /// # Examples
            ///
            /// ```
            /// use bitlane::{BinaryOp, DType};
            /// let op = BinaryOp::Divide;
            /// // Integers are converted to floats first.
            /// assert!(op.is_defined_for(DType::F32) && !op.is_defined_for(DType::I32));
            /// ```
            pub const fn is_defined_for(self, dtype: DType) -> bool {
                self.element().domain().contains(dtype)
            }

            /// Returns the function that computes one element.
            pub(crate) const fn element(self) -> ElementOp {
                match self {
                    BinaryOp::LeftShift(_) => ElementOp::ShiftLeft,
                    BinaryOp::RightShift(Shift::Arithmetic) => ElementOp::ShiftRight,
                    BinaryOp::RightShift(Shift::Logical) => ElementOp::ShiftRightLogical,
                    $(BinaryOp::$variant => ElementOp::$variant,)*
                }
            }

            /// Returns the row of the promotion tables that governs the operation.
            pub(crate) const fn family(self) -> Family {
                match self {
                    BinaryOp::LeftShift(_) | BinaryOp::RightShift(_) => Family::Shift,
                    $(BinaryOp::$variant => Family::$family,)*
                }
            }
        }
    };
}

for_each_op!(binary: define_binary_op);
printed_and_parsed!(BinaryOp);
