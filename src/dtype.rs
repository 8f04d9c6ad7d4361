//! The dtype table: every list of element types in the crate is made from it.

use std::fmt;
use std::str::FromStr;

use bytemuck::{CheckedBitPattern, NoUninit};

use crate::Error;

/// Calls `$callback!` with the whole table, one `Variant: type = "name" Class;` row per dtype.
///
/// Arguments given after the callback's name are handed through in front of the rows.
macro_rules! for_each_dtype {
    ($callback:ident $($argument:tt)*) => {
        $callback! {
            $($argument)*
            Bool: bool = "bool" Bool;
            U8: u8 = "u8" Unsigned;
            U16: u16 = "u16" Unsigned;
            U32: u32 = "u32" Unsigned;
            U64: u64 = "u64" Unsigned;
            I8: i8 = "i8" Signed;
            I16: i16 = "i16" Signed;
            I32: i32 = "i32" Signed;
            I64: i64 = "i64" Signed;
            F16: half::f16 = "f16" Float;
            BF16: half::bf16 = "bf16" Float;
            F32: f32 = "f32" Float;
            F64: f64 = "f64" Float;
            C64: num_complex::Complex<f32> = "c64" Complex;
            C128: num_complex::Complex<f64> = "c128" Complex;
        }
    };
}
pub(crate) use for_each_dtype;

/// What sort of number a dtype or a scalar holds. The order is the order of promotion.
///
/// # Examples
///
/// ```
/// use bitlane::{Category, DType};
/// assert_eq!(DType::BF16.category(), Category::Float);
/// assert!(Category::Int < Category::Float);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// `false` or `true`.
    Bool,
    /// Signed and unsigned integers.
    Int,
    /// IEEE 754 binary floats and bfloat16.
    Float,
    /// Pairs of floats.
    Complex,
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Category::Bool => "bool",
            Category::Int => "int",
            Category::Float => "float",
            Category::Complex => "complex",
        })
    }
}

/// The class column of the table, one step finer than [`Category`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Bool,
    Unsigned,
    Signed,
    Float,
    Complex,
}

macro_rules! define_dtype {
    ($($variant:ident: $rust:ty = $name:literal $class:ident;)*) => {
        /// The type of a tensor's elements.
        ///
        /// The names printed and parsed are the Rust ones, `"bf16"`, `"c64"` and `"c128"` added.
        ///
        /// # Examples
        ///
        /// ```
        /// use bitlane::DType;
        /// let dtype: DType = "bf16".parse()?;
        /// assert_eq!(dtype, DType::BF16);
        /// assert_eq!(dtype.to_string(), "bf16");
        /// assert_eq!(dtype.size(), 2);
        /// assert_eq!(DType::ALL.len(), 15);
        /// # Ok::<(), bitlane::Error>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum DType {
            $(#[doc = concat!("Elements are `", stringify!($rust), "`.")] $variant,)*
        }

        impl DType {
            /// Every dtype, in the order of the table.
            pub const ALL: &'static [DType] = &[$(DType::$variant),*];

            /// The size of one element in bytes.
            pub const fn size(self) -> usize {
                match self {
                    $(DType::$variant => size_of::<$rust>(),)*
                }
            }

            /// The name, as printed and parsed.
            pub const fn name(self) -> &'static str {
                match self {
                    $(DType::$variant => $name,)*
                }
            }

            const fn class(self) -> Class {
                match self {
                    $(DType::$variant => Class::$class,)*
                }
            }
        }

        impl FromStr for DType {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self, Error> {
                match text {
                    $($name => Ok(DType::$variant),)*
                    _ => Err(Error::InvalidArgument {
                        op: "dtype",
                        reason: format!(
                            "{text:?} names no dtype; the names are {}",
                            [$($name),*].join(" ")
                        ),
                    }),
                }
            }
        }

        $(
            impl sealed::Sealed for $rust {}
            impl Element for $rust {
                const DTYPE: DType = DType::$variant;
            }
        )*
    };
}

mod sealed {
    pub trait Sealed {}
}

/// A Rust type that can be an element of a tensor: one per [`DType`], and no others.
///
/// # Examples
///
/// ```
/// use bitlane::{DType, Element, f16};
/// assert_eq!(f16::DTYPE, DType::F16);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the type of a tensor's elements",
    note = "elements are bool, integers of 8 to 64 bits, `f16`, `bf16`, `f32`, `f64`, `Complex<f32>` and `Complex<f64>`"
)]
pub trait Element:
    Copy + fmt::Debug + Send + Sync + NoUninit + CheckedBitPattern + sealed::Sealed + 'static
{
    /// The dtype of tensors with such elements.
    const DTYPE: DType;
}

for_each_dtype!(define_dtype);

impl DType {
    /// Whether elements are bools, integers, floats or complex numbers.
    pub const fn category(self) -> Category {
        match self.class() {
            Class::Bool => Category::Bool,
            Class::Unsigned | Class::Signed => Category::Int,
            Class::Float => Category::Float,
            Class::Complex => Category::Complex,
        }
    }

    /// The width of one element in bits.
    pub const fn bits(self) -> u32 {
        match self.size() {
            1 => 8,
            2 => 16,
            4 => 32,
            8 => 64,
            _ => 128,
        }
    }

    /// True for the eight integer dtypes, signed and unsigned.
    pub const fn is_int(self) -> bool {
        matches!(self.class(), Class::Unsigned | Class::Signed)
    }

    /// True for `i8` to `i64`.
    pub const fn is_signed_int(self) -> bool {
        matches!(self.class(), Class::Signed)
    }

    /// True for `u8` to `u64`.
    pub const fn is_unsigned_int(self) -> bool {
        matches!(self.class(), Class::Unsigned)
    }

    /// True for `f16`, `bf16`, `f32` and `f64`.
    pub const fn is_float(self) -> bool {
        matches!(self.class(), Class::Float)
    }

    /// True for `c64` and `c128`.
    pub const fn is_complex(self) -> bool {
        matches!(self.class(), Class::Complex)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
