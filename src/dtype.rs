//! The dtype table, from which every list of element types in the crate is generated.

use std::fmt;
use std::str::FromStr;

use bytemuck::{CheckedBitPattern, NoUninit};

use crate::Error;

/// Calls `$callback!` with the whole table, one `Variant: type = "name" Class;` row per dtype.
///
/// Arguments after the name of the callback are passed on in front of the rows.
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
            F8E4M3FN: crate::float8::f8e4m3fn = "f8e4m3fn" Float;
            F8E5M2: crate::float8::f8e5m2 = "f8e5m2" Float;
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

/// The kind of number that a dtype or a scalar holds. Categories are ordered from lowest to highest as promotion ranks
/// them.
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
    /// Booleans.
    Bool,
    /// Signed and unsigned integers.
    Int,
    /// IEEE 754 binary floats, bfloat16 and floats of 8 bits.
    Float,
    /// Complex numbers of two floats.
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
        /// A dtype is printed and parsed as the name of its Rust type; `Complex<f32>` and `Complex<f64>` are `"c64"`
        /// and `"c128"`.
        ///
        /// # Examples
        ///
        /// ```
        /// use bitlane::DType;
        /// let dtype: DType = "bf16".parse()?;
        /// assert_eq!(dtype, DType::BF16);
        /// assert_eq!(dtype.to_string(), "bf16");
        /// assert_eq!(dtype.size(), 2);
        /// assert_eq!(DType::ALL.len(), 17);
        /// # Ok::<(), bitlane::Error>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum DType {
            $(#[doc = concat!("Elements are `", stringify!($rust), "`.")] $variant,)*
        }

        impl DType {
            /// Every dtype, in the order of the table.
            pub const ALL: &'static [DType] = &[$(DType::$variant),*];

            /// Returns the size of one element in bytes.
            ///
            /// # Examples
            ///
            /// ```
            /// use bitlane::DType;
            /// assert_eq!(DType::C128.size(), 16);
            /// ```
            pub const fn size(self) -> usize {
                match self {
                    $(DType::$variant => size_of::<$rust>(),)*
                }
            }

            /// Returns the name, as printed and parsed.
            ///
            /// # Examples
            ///
            /// ```
            /// use bitlane::DType;
            /// assert_eq!(DType::U16.name(), "u16");
            /// ```
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
                            "unknown name {text:?}; the names are {}",
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

/// A Rust type that can be an element of a tensor. There is exactly one per [`DType`]; the trait is sealed.
///
/// # Examples
///
/// ```
/// use bitlane::{DType, Element, f16};
/// assert_eq!(f16::DTYPE, DType::F16);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the type of a tensor's elements",
    note = "elements are bool, integers of 8 to 64 bits, `f8e4m3fn`, `f8e5m2`, `f16`, `bf16`, `f32`, `f64`, `Complex<f32>` and `Complex<f64>`"
)]
pub trait Element:
    Copy + fmt::Debug + Send + Sync + NoUninit + CheckedBitPattern + sealed::Sealed + 'static
{
    /// The dtype of tensors with elements of this type.
    const DTYPE: DType;
}

for_each_dtype!(define_dtype);

impl DType {
    /// Refuses to read other bits as `bool`, which has only two values, and to read `bool` as another dtype: what is
    /// written through such a view would be read as `bool`.
    pub(crate) fn check_bitcast(self, op: &'static str, to: DType) -> Result<(), Error> {
        if (self == DType::Bool) == (to == DType::Bool) {
            return Ok(());
        }
        Err(Error::UnsupportedDType { op, dtype: DType::Bool, allowed: "dtypes other than bool" })
    }

    /// Returns the category: bools, integers, floats or complex numbers.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{Category, DType};
    /// assert_eq!(DType::U8.category(), Category::Int);
    /// ```
    pub const fn category(self) -> Category {
        match self.class() {
            Class::Bool => Category::Bool,
            Class::Unsigned | Class::Signed => Category::Int,
            Class::Float => Category::Float,
            Class::Complex => Category::Complex,
        }
    }

    /// Returns the width of one element in bits.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::DType;
    /// assert_eq!(DType::BF16.bits(), 16);
    /// ```
    pub const fn bits(self) -> u32 {
        8 * self.size() as u32
    }

    /// Returns `true` for the eight integer dtypes, signed and unsigned.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::DType;
    /// assert!(DType::U8.is_int() && !DType::Bool.is_int());
    /// ```
    pub const fn is_int(self) -> bool {
        matches!(self.class(), Class::Unsigned | Class::Signed)
    }

    /// Returns `true` for `i8`, `i16`, `i32` and `i64`.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::DType;
    /// assert!(DType::I8.is_signed_int() && !DType::U8.is_signed_int());
    /// ```
    pub const fn is_signed_int(self) -> bool {
        matches!(self.class(), Class::Signed)
    }

    /// Returns `true` for `u8`, `u16`, `u32` and `u64`.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::DType;
    /// assert!(DType::U8.is_unsigned_int() && !DType::I8.is_unsigned_int());
    /// ```
    pub const fn is_unsigned_int(self) -> bool {
        matches!(self.class(), Class::Unsigned)
    }

    /// Returns `true` for `f8e4m3fn`, `f8e5m2`, `f16`, `bf16`, `f32` and `f64`.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::DType;
    /// assert!(DType::BF16.is_float() && !DType::C64.is_float());
    /// ```
    pub const fn is_float(self) -> bool {
        matches!(self.class(), Class::Float)
    }

    /// Returns the dtype for computations of several steps: `f32` for narrower floats, and else the dtype itself.
    pub(crate) const fn working(self) -> DType {
        match self.class() {
            Class::Float if self.size() < 4 => DType::F32,
            _ => self,
        }
    }

    /// Returns the dtype in which elements are reduced and scanned: every float of 8 bits is an `f32`, and everything else is
    /// combined as it is.
    pub(crate) const fn reduced_as(self) -> DType {
        if self.is_float8() { DType::F32 } else { self }
    }

    /// Returns `true` for `f8e4m3fn` and `f8e5m2`.
    pub(crate) const fn is_float8(self) -> bool {
        matches!(self, DType::F8E4M3FN | DType::F8E5M2)
    }

    /// Returns `true` for `c64` and `c128`.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::DType;
    /// assert!(DType::C64.is_complex() && !DType::F64.is_complex());
    /// ```
    pub const fn is_complex(self) -> bool {
        matches!(self.class(), Class::Complex)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
