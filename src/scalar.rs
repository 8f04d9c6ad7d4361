//! Scalars: numbers as operands.

use std::fmt;

use half::{bf16, f16};
use num_complex::Complex;

use crate::cast::Cast;
use crate::dtype::for_each_dtype;
use crate::{Category, DType, Error, Result, f8e4m3fn, f8e5m2};

/// A number as an operand.
///
/// A scalar is weakly typed: combined with a tensor it adopts the dtype of the tensor, unless its [`Category`] is
/// higher. Every primitive number type except `i128` and `u128`, and `f16`, `bf16`, floats of 8 bits and
/// [`Complex`] numbers convert into it.
///
/// # Examples
///
/// ```
/// use bitlane::{Category, Scalar};
/// assert_eq!(Scalar::from(3u8), Scalar::Int(3));
/// assert_eq!(Scalar::from(u64::MAX), Scalar::UInt(u64::MAX));
/// assert_eq!(Scalar::from(0.5f32).category(), Category::Float);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar {
    /// A boolean.
    Bool(bool),
    /// An integer that fits `i64`.
    Int(i64),
    /// An integer above [`i64::MAX`].
    UInt(u64),
    /// A floating-point number.
    Float(f64),
    /// A complex number.
    Complex(Complex<f64>),
}

/// The bytes of one element, at the start of a buffer that is large enough for every dtype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(align(16))]
pub(crate) struct ElementBytes(pub(crate) [u8; 16]);

impl Scalar {
    /// Returns the category, which decides promotion.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{Category, Scalar};
    /// assert_eq!(Scalar::from(-1).category(), Category::Int);
    /// ```
    pub const fn category(&self) -> Category {
        match self {
            Scalar::Bool(_) => Category::Bool,
            Scalar::Int(_) | Scalar::UInt(_) => Category::Int,
            Scalar::Float(_) => Category::Float,
            Scalar::Complex(_) => Category::Complex,
        }
    }

    /// Returns the dtype of the scalar where no tensor determines it: `bool`, `i64` (`u64` above [`i64::MAX`]), `f32`
    /// or `c64`.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{DType, Scalar};
    /// assert_eq!(Scalar::from(1u8).dtype(), DType::I64);
    /// assert_eq!(Scalar::from(0.5).dtype(), DType::F32);
    /// ```
    pub const fn dtype(&self) -> DType {
        match self {
            Scalar::Bool(_) => DType::Bool,
            Scalar::Int(_) => DType::I64,
            Scalar::UInt(value) if *value > i64::MAX.unsigned_abs() => DType::U64,
            Scalar::UInt(_) => DType::I64,
            Scalar::Float(_) => DType::F32,
            Scalar::Complex(_) => DType::C64,
        }
    }

    /// Returns the sign bit before any conversion. It is set for negative numbers, `-0.0` and negative NaNs.
    pub(crate) fn is_sign_negative(&self) -> bool {
        match *self {
            Scalar::Bool(_) | Scalar::UInt(_) => false,
            Scalar::Int(value) => value < 0,
            Scalar::Float(value) => value.is_sign_negative(),
            Scalar::Complex(value) => value.re.is_sign_negative(),
        }
    }

    fn as_integer(&self) -> Option<i128> {
        match *self {
            Scalar::Int(value) => Some(value.into()),
            Scalar::UInt(value) => Some(value.into()),
            Scalar::Bool(value) => Some(value.into()),
            Scalar::Float(_) | Scalar::Complex(_) => None,
        }
    }

    /// Converts to `dtype`, rounding once.
    ///
    /// # Errors
    ///
    /// [`Error::ScalarOverflow`] for an integer that an integer dtype cannot hold.
    pub(crate) fn to_element(self, op: &'static str, dtype: DType) -> Result<ElementBytes> {
        self.checked_to_element(dtype).ok_or(Error::ScalarOverflow { op, scalar: self, dtype })
    }

    /// Rounds to `dtype`, once; `None` for an integer that an integer dtype cannot hold.
    pub(crate) fn checked_to_element(self, dtype: DType) -> Option<ElementBytes> {
        let bits = dtype.bits();
        let fits = match self.as_integer() {
            Some(value) if dtype.is_signed_int() => matches!(value >> (bits - 1), 0 | -1),
            Some(value) if dtype.is_unsigned_int() => value >> bits == 0,
            _ => true,
        };
        fits.then(|| self.wrap_to_element(dtype))
    }

    /// Converts to `dtype` for the bitwise operations. An integer that fits the width of `dtype`, as a signed or as an
    /// unsigned number, is reinterpreted as its bits; returns `None` for a wider one.
    pub(crate) fn checked_to_bits(self, dtype: DType) -> Option<ElementBytes> {
        let bits = dtype.bits();
        let fits = match self.as_integer() {
            Some(value) if dtype.is_int() => value >> bits == 0 || value >> (bits - 1) == -1,
            _ => true,
        };
        fits.then(|| self.wrap_to_element(dtype))
    }

    /// Converts to `dtype` as [`Tensor::cast`](crate::Tensor::cast) does, so integers wrap.
    pub(crate) fn wrap_to_element(self, dtype: DType) -> ElementBytes {
        macro_rules! convert {
            ($value:ident $($variant:ident: $rust:ty = $name:literal $class:ident;)*) => {
                match dtype {
                    $(DType::$variant => element_bytes::<$rust>($value.cast()),)*
                }
            };
        }
        match self {
            Scalar::Bool(value) => for_each_dtype!(convert value),
            Scalar::Int(value) => for_each_dtype!(convert value),
            Scalar::UInt(value) => for_each_dtype!(convert value),
            Scalar::Float(value) => for_each_dtype!(convert value),
            Scalar::Complex(value) => for_each_dtype!(convert value),
        }
    }

    /// Converts a shift amount to `dtype`. An amount out of range becomes the bit width, which every integer dtype can
    /// hold and which is itself out of range, so that no amount is ever wrapped.
    pub(crate) fn to_shift_amount(self, dtype: DType) -> ElementBytes {
        let bits = dtype.bits();
        let amount = match self.as_integer() {
            Some(amount) if (0..i128::from(bits)).contains(&amount) => Scalar::UInt(amount as u64),
            _ => Scalar::UInt(bits.into()),
        };
        amount.wrap_to_element(dtype)
    }

    /// Converts the amount of a rotation to `dtype`: modulo the bit width, which divides what wrapping would subtract.
    pub(crate) fn to_turn(self, dtype: DType) -> ElementBytes {
        let turn = self.as_integer().map_or(0, |amount| amount.rem_euclid(dtype.bits().into()));
        Scalar::UInt(turn as u64).wrap_to_element(dtype)
    }

    /// Returns plus or minus one in `dtype`, with the sign that this scalar has before any conversion.
    pub(crate) fn to_sign(self, dtype: DType) -> ElementBytes {
        Scalar::Int(if self.is_sign_negative() { -1 } else { 1 }).wrap_to_element(dtype)
    }
}

fn element_bytes<T: crate::Element>(value: T) -> ElementBytes {
    let mut room = [0; 16];
    room[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
    ElementBytes(room)
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Bool(value) => value.fmt(f),
            Scalar::Int(value) => value.fmt(f),
            Scalar::UInt(value) => value.fmt(f),
            Scalar::Float(value) => fmt::Debug::fmt(value, f),
            Scalar::Complex(value) => value.fmt(f),
        }
    }
}

macro_rules! scalar_from {
    ($($from:ty: $value:ident => $scalar:expr;)*) => {$(
        impl From<$from> for Scalar {
            fn from($value: $from) -> Self {
                $scalar
            }
        }
    )*};
}

scalar_from! {
    bool: value => Scalar::Bool(value);
    i8: value => Scalar::Int(value.into());
    i16: value => Scalar::Int(value.into());
    i32: value => Scalar::Int(value.into());
    i64: value => Scalar::Int(value);
    isize: value => Scalar::Int(value as i64);
    u8: value => Scalar::Int(value.into());
    u16: value => Scalar::Int(value.into());
    u32: value => Scalar::Int(value.into());
    u64: value => i64::try_from(value).map_or(Scalar::UInt(value), Scalar::Int);
    usize: value => Scalar::from(value as u64);
    f8e4m3fn: value => Scalar::Float(value.cast());
    f8e5m2: value => Scalar::Float(value.cast());
    f16: value => Scalar::Float(value.cast());
    bf16: value => Scalar::Float(value.cast());
    f32: value => Scalar::Float(value.into());
    f64: value => Scalar::Float(value);
    Complex<f32>: value => Scalar::Complex(value.cast());
    Complex<f64>: value => Scalar::Complex(value);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn i8_of(element: ElementBytes) -> i8 {
        element.0[0] as i8
    }

    #[test]
    fn shift_amounts_never_wrap() {
        for (amount, expected) in [(0, 0), (7, 7), (8, 8), (257, 8), (-1, 8), (i64::MIN, 8)] {
            assert_eq!(i8_of(Scalar::Int(amount).to_shift_amount(DType::I8)), expected);
        }
        assert_eq!(i8_of(Scalar::UInt(u64::MAX).to_shift_amount(DType::I8)), 8);
    }

    #[test]
    fn rotations_count_modulo_the_width() {
        for (amount, expected) in [(0, 0), (8, 0), (-1, 7), (257, 1), (i64::MIN, 0), (i64::MAX, 7)]
        {
            assert_eq!(i8_of(Scalar::Int(amount).to_turn(DType::I8)), expected);
        }
        assert_eq!(i8_of(Scalar::UInt(u64::MAX).to_turn(DType::I8)), 7);
    }

    #[test]
    fn integers_must_fit() {
        assert!(Scalar::Int(127).to_element("add", DType::I8).is_ok());
        assert!(Scalar::Int(128).to_element("add", DType::I8).is_err());
        assert!(Scalar::Int(-1).to_element("add", DType::U64).is_err());
        assert!(Scalar::UInt(u64::MAX).to_element("add", DType::U64).is_ok());
        assert!(Scalar::UInt(u64::MAX).to_element("add", DType::F16).is_ok());
    }

    #[test]
    fn bitwise_operations_take_bits() {
        let bits = |value: i64, dtype| Scalar::Int(value).checked_to_bits(dtype);
        assert_eq!(i8_of(bits(0x80, DType::I8).unwrap()), i8::MIN);
        assert_eq!(i8_of(bits(-1, DType::U8).unwrap()), -1);
        assert!(bits(0x100, DType::I8).is_none());
        assert!(bits(-129, DType::U8).is_none());
    }

    #[test]
    fn signs_are_taken_before_conversion() {
        assert_eq!(i8_of(Scalar::Float(-0.5).to_sign(DType::I8)), -1);
        assert_eq!(i8_of(Scalar::Float(-0.0).to_sign(DType::I8)), -1);
        assert_eq!(i8_of(Scalar::Int(0).to_sign(DType::I8)), 1);
    }
}
