//! The operations with promotion rules that are neither unary nor binary.

use super::{Domain, for_each_op};
use crate::promote::Family;

macro_rules! define_other_op {
    ($(
        $variant:ident $name:ident $domain:ident $result:ident {$family:ident}
        $doc:literal {$($example:tt)*};
    )*) => {
        /// The operations with promotion rules that are not in [`BinaryOp`](super::BinaryOp).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(crate) enum OtherOp {
            $(#[doc = $doc] $variant,)*
        }

        impl OtherOp {
            pub(crate) const ALL: &'static [OtherOp] = &[$(OtherOp::$variant,)*];

            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(OtherOp::$variant => stringify!($name),)*
                }
            }

            pub(crate) const fn family(self) -> Family {
                match self {
                    $(OtherOp::$variant => Family::$family,)*
                }
            }

            pub(crate) const fn domain(self) -> Domain {
                match self {
                    $(OtherOp::$variant => Domain::$domain,)*
                }
            }
        }
    };
}

for_each_op!(others: define_other_op);
