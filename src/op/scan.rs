//! Scans: reductions of all elements up to each one.

use super::{Domain, ElementOp, for_each_op, printed_and_parsed, result_dtype};
use crate::DType;

macro_rules! define_scan_op {
    ($(
        $variant:ident $name:ident $domain:ident $result:ident {$combine:ident $($alias:literal)*}
        $doc:literal {$($example:tt)*};
    )*) => {
        /// A scan: a reduction of all elements along an axis up to each one.
        ///
        /// Each has a method of [`Tensor`](crate::Tensor), as whose name it is printed and parsed. [`scan`](crate::scan())
        /// runs any of them with a dtype, a destination and a mask.
        ///
        /// # Examples
        ///
        /// ```
        /// use bitlane::ScanOp;
        /// assert_eq!("cumulative_max".parse::<ScanOp>()?, ScanOp::Max);
        /// assert_eq!(ScanOp::Sum.to_string(), "cumulative_sum");
        /// # Ok::<(), bitlane::Error>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ScanOp {
            $(#[doc = $doc] $variant,)*
        }

        impl ScanOp {
            /// Every scan, in the order of the table.
            pub const ALL: &'static [ScanOp] = &[$(ScanOp::$variant,)*];

            /// Returns the name, as printed and parsed.
            ///
            /// # Examples
            ///
            /// ```
            /// use bitlane::ScanOp;
            /// assert_eq!(ScanOp::Xor.name(), "cumulative_xor");
            /// ```
            pub const fn name(self) -> &'static str {
                match self {
                    $(ScanOp::$variant => stringify!($name),)*
                }
            }

            /// Returns the dtypes that can be scanned.
            pub(crate) const fn domain(self) -> Domain {
                match self {
                    $(ScanOp::$variant => Domain::$domain,)*
                }
            }

            /// Returns the dtype of the result for elements of `dtype`.
            pub(crate) const fn result(self, dtype: DType) -> DType {
                match self {
                    $(ScanOp::$variant => result_dtype!($result dtype),)*
                }
            }

            /// Returns the binary operation that combines two totals.
            pub(crate) const fn combine(self) -> ElementOp {
                match self {
                    $(ScanOp::$variant => ElementOp::$combine,)*
                }
            }

            /// Returns what the scan computes, as its documentation says.
            ///
            /// # Examples
            ///
            /// ```
            /// use bitlane::ScanOp;
            /// assert!(ScanOp::Sum.description().starts_with("Sums all elements"));
            /// ```
            pub const fn description(self) -> &'static str {
                match self {
                    $(ScanOp::$variant => $doc,)*
                }
            }
        }
    };
}

for_each_op!(scans: define_scan_op);

impl ScanOp {
    /// Returns `true` if elements of this dtype can be scanned.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{DType, ScanOp};
    /// assert!(ScanOp::Max.is_defined_for(DType::I8) && !ScanOp::Max.is_defined_for(DType::C64));
    /// ```
    pub const fn is_defined_for(self, dtype: DType) -> bool {
        self.domain().contains(dtype)
    }

    /// Returns whether the dtype of the terms and the result can be chosen: where integers would be widened otherwise.
    pub(crate) const fn takes_dtype(self) -> bool {
        matches!(self.result(DType::U8), DType::U64)
    }
}

printed_and_parsed!(ScanOp);
