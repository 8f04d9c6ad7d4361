//! Sets of dtypes in which operations can be computed.

use crate::DType;

/// Expands to `Some($value)` if dtypes of the class are in the domain, and to `None` otherwise.
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
    (Complex Complex $value:expr) => { Some($value) };
    (Integers Signed $value:expr) => { Some($value) };
    (Integers Unsigned $value:expr) => { Some($value) };
    (BoolAndIntegers Bool $value:expr) => { Some($value) };
    (BoolAndIntegers Signed $value:expr) => { Some($value) };
    (BoolAndIntegers Unsigned $value:expr) => { Some($value) };
    ($domain:ident $class:ident $value:expr) => { None };
}
macro_rules! define_domain {
    ($($domain:ident $words:literal;)*) => {
        /// A set of dtypes in which an operation can be computed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Domain {
            $($domain,)*
        }

        impl Domain {
            pub(crate) const fn contains(self, dtype: DType) -> bool {
                self.bits() >> dtype as u32 & 1 != 0
            }

            /// The set with one bit per dtype, so that asking for one takes no branch.
            const fn bits(self) -> u32 {
                match self {
                    $(Domain::$domain => crate::dtype::for_each_dtype!(domain_bits $domain),)*
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

macro_rules! domain_bits {
    ($domain:ident $($variant:ident: $rust:ty = $name:literal $class:ident;)*) => {
        $((Option::<()>::is_some(&in_domain!($domain $class ())) as u32) << DType::$variant as u32)|*
    };
}

define_domain! {
    All "every dtype";
    Numbers "integers, floats and complex";
    Real "bool, integers and floats";
    RealNumbers "integers and floats";
    Fractions "floats and complex";
    Floats "floats";
    Complex "complex numbers";
    Integers "integers";
    BoolAndIntegers "bool and integers";
}
