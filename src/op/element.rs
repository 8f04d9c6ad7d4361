//! The functions of one element that the backends implement.

use super::{Domain, for_each_op, result_dtype};
use crate::DType;

macro_rules! define_element_op {
    ($($arity:literal {$(
        $variant:ident $name:ident $domain:ident $result:ident {$($own:tt)*}
        $doc:literal {$($example:tt)*};
    )*})*) => {
        /// A function of one, two or three elements, as the backends implement it. All operands have the dtype of the
        /// computation, except for the condition of `Select`, which is bool.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum ElementOp {
            $($($variant,)*)*
        }

        impl ElementOp {
            /// Every function, in the order of the table.
            pub(crate) const ALL: &'static [ElementOp] = &[$($(ElementOp::$variant,)*)*];

            /// Returns the name of the operation and of its device function.
            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $($(ElementOp::$variant => stringify!($name),)*)*
                }
            }

            /// Returns the number of operands.
            pub(crate) const fn arity(self) -> usize {
                match self {
                    $($(ElementOp::$variant)|* => $arity,)*
                }
            }

            /// Returns the dtypes in which the function can be computed.
            pub(crate) const fn domain(self) -> Domain {
                match self {
                    $($(ElementOp::$variant => Domain::$domain,)*)*
                }
            }

            /// Returns the dtype of the result of a computation in `dtype`.
            pub(crate) const fn result(self, dtype: DType) -> DType {
                match self {
                    $($(ElementOp::$variant => result_dtype!($result dtype),)*)*
                }
            }

            /// Returns the documentation of the row.
            pub(super) const fn description(self) -> &'static str {
                match self {
                    $($(ElementOp::$variant => $doc,)*)*
                }
            }
        }
    };
}

for_each_op!(elements: define_element_op);
