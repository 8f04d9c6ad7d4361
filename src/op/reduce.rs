//! Reductions.

use super::{Domain, ElementOp, for_each_op, printed_and_parsed, result_dtype};
use crate::{DType, Scalar};

/// What becomes of the total of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Finish {
    /// It is the result.
    Total,
    /// It is divided by the number of terms.
    Mean,
    /// It is a sum of squares of distances from the mean, and divided by the number of terms less a correction.
    Variance,
    /// It is the square root of a variance.
    Deviation,
    /// The result is the place of the first term that it equals.
    Place,
}

macro_rules! define_reduce_op {
    ($(
        $variant:ident $name:ident $domain:ident $result:ident
        {$method:ident $keepdims:ident $terms:ident $combine:ident $empty:ident $finish:ident $($alias:literal)*}
        $doc:literal {$($example:tt)*};
    )*) => {
        /// A reduction.
        ///
        /// Each has a method of [`Tensor`](crate::Tensor) and of [`Expr`](crate::Expr), and a second one, whose name
        /// ends in `_keepdims`, that keeps the reduced dimensions with size 1. [`reduce`](crate::reduce()) runs any of
        /// them with a rulebook, a destination and a mask. A reduction is printed and parsed as the name of its method,
        /// except for the bitwise ones: those have the names of the binary operations, and methods whose names end in
        /// `_reduce`.
        ///
        /// # Examples
        ///
        /// ```
        /// use bitlane::ReduceOp;
        /// assert_eq!("mean".parse::<ReduceOp>()?, ReduceOp::Mean);
        /// assert_eq!(ReduceOp::Any.to_string(), "any");
        /// # Ok::<(), bitlane::Error>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ReduceOp {
            $(#[doc = $doc] $variant,)*
        }

        impl ReduceOp {
            /// Every reduction, in the order of the table.
            pub const ALL: &'static [ReduceOp] = &[$(ReduceOp::$variant,)*];

            /// Returns the name, as printed and parsed.
            ///
            /// # Examples
            ///
            /// ```
            /// use bitlane::ReduceOp;
            /// assert_eq!(ReduceOp::Sum.name(), "sum");
            /// ```
            pub const fn name(self) -> &'static str {
                match self {
                    $(ReduceOp::$variant => stringify!($name),)*
                }
            }

            /// Returns the dtypes that can be reduced.
            pub(crate) const fn domain(self) -> Domain {
                match self {
                    $(ReduceOp::$variant => Domain::$domain,)*
                }
            }

            /// Returns the dtype of the terms of a tensor of `dtype`: its own, or bool if their truth is reduced.
            pub(crate) const fn terms(self, dtype: DType) -> DType {
                match self {
                    $(ReduceOp::$variant => terms!($terms dtype),)*
                }
            }

            /// Returns the dtype of the result for terms of `dtype`.
            pub(crate) const fn result(self, dtype: DType) -> DType {
                match self {
                    $(ReduceOp::$variant => result_dtype!($result dtype),)*
                }
            }

            /// Returns the binary operation that combines two totals.
            pub(crate) const fn combine(self) -> ElementOp {
                match self {
                    $(ReduceOp::$variant => ElementOp::$combine,)*
                }
            }

            /// Returns the reduction of no terms, or `None` if there must be a term.
            pub(crate) const fn of_nothing(self) -> Option<Scalar> {
                match self {
                    $(ReduceOp::$variant => of_nothing!($empty),)*
                }
            }

            /// Returns what becomes of the total.
            pub(crate) const fn finish(self) -> Finish {
                match self {
                    $(ReduceOp::$variant => Finish::$finish,)*
                }
            }

            /// Returns what the reduction computes, as its documentation says.
            ///
            /// # Examples
            ///
            /// ```
            /// use bitlane::ReduceOp;
            /// assert!(ReduceOp::Sum.description().starts_with("Sums the elements"));
            /// ```
            pub const fn description(self) -> &'static str {
                match self {
                    $(ReduceOp::$variant => $doc,)*
                }
            }
        }
    };
}

/// Expands the column of the terms of a row.
macro_rules! terms {
    (Own $dtype:ident) => {
        $dtype
    };
    (Bool $dtype:ident) => {
        DType::Bool
    };
}

/// Expands the column of the value of no terms.
#[rustfmt::skip] // a table
macro_rules! of_nothing {
    (none) => { None };
    (one) => { Some(Scalar::Int(1)) };
    (ones) => { Some(Scalar::Int(-1)) };
    (zero) => { Some(Scalar::Int(0)) };
    (no) => { Some(Scalar::Bool(false)) };
    (yes) => { Some(Scalar::Bool(true)) };
    (nan) => { Some(Scalar::Complex(crate::Complex::new(f64::NAN, f64::NAN))) };
}

for_each_op!(reductions: define_reduce_op);

impl ReduceOp {
    /// Returns `true` if elements of this dtype can be reduced.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{DType, ReduceOp};
    /// assert!(ReduceOp::Max.is_defined_for(DType::I8) && !ReduceOp::Max.is_defined_for(DType::C64));
    /// ```
    pub const fn is_defined_for(self, dtype: DType) -> bool {
        self.domain().contains(dtype)
    }

    /// Returns whether the reduction has a correction, and is computed from the distances from the mean.
    pub(crate) const fn takes_correction(self) -> bool {
        matches!(self.finish(), Finish::Variance | Finish::Deviation)
    }

    /// Returns whether the dtype of the terms and the result can be chosen: where integers would be widened otherwise.
    pub(crate) const fn takes_dtype(self) -> bool {
        let narrow = DType::U8;
        self.terms(narrow) as u8 == narrow as u8 && matches!(self.result(narrow), DType::U64)
    }
}

printed_and_parsed!(ReduceOp);
