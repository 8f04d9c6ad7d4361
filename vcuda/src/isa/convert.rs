//! `cvt`: every pair of types. The constant holds the rounding mode, and whether to an integer or clamped.

use super::Row;
use super::half::Half;
use super::lane::{BF16, F16, Lane, Operands, Registers};
use super::soft::{DOUBLE, Number, Rounding, SINGLE};
use super::types::*;

/// Bits of the constant: the rounding mode is in the lowest two.
pub const TO_WHOLE: u64 = 4;
/// `.sat` of an integer result.
pub const SATURATE: u64 = 8;

macro_rules! conversions {
    (@pairs [$($d:ident)*] $sources:tt) => {
        pub(super) const ROWS: &[Row] = &conversions!(@concat $($d $sources)*);
    };
    (@concat $($d:ident [$($s:ident)*])*) => { [$($(conversions!(@row $d $s)),*),*] };
    (@row $d:ident $s:ident) => {{
        fn body(r: &mut Registers, o: &Operands, mask: u32) {
            let how = o.imm;
            r.map1::<$d, $s>(o, mask, |a| <$d as Value>::convert(a, how))
        }
        Row { name: concat!("cvt.", stringify!($d), ".", stringify!($s)), d: &[<$d as Lane>::CLASS], s: &[<$s as Lane>::CLASS], body }
    }};
}

conversions!(@pairs [u8 s8 u16 s16 u32 s32 u64 s64 f16 bf16 f32 f64] [u8 s8 u16 s16 u32 s32 u64 s64 f16 bf16 f32 f64]);

/// A value on its way from one type to another.
enum Between {
    Whole(i128),
    Real(Number),
}

trait Value: Sized {
    fn out(self) -> Between;
    fn into_type(value: Between, how: u64) -> Self;
    #[inline(always)]
    fn convert<S: Value>(source: S, how: u64) -> Self {
        Self::into_type(source.out(), how)
    }
}

macro_rules! whole_values {
    ($($t:ty)*) => { $(
        impl Value for $t {
            #[inline(always)]
            fn out(self) -> Between {
                Between::Whole(self.into())
            }
            #[inline(always)]
            fn into_type(value: Between, how: u64) -> $t {
                match value {
                    Between::Whole(v) if how & SATURATE == 0 => v as $t,
                    Between::Whole(v) => v.clamp(<$t>::MIN.into(), <$t>::MAX.into()) as $t,
                    // From a float the result always saturates; a NaN gives zero, or the lowest 64-bit value.
                    Between::Real(number) => match number.to_integer(Rounding::from_code(how)) {
                        Some(v) => v.clamp(<$t>::MIN.into(), <$t>::MAX.into()) as $t,
                        None if <$t>::BITS == 64 => 1 << (<$t>::BITS - 1),
                        None => 0,
                    },
                }
            }
        }
    )* };
}
whole_values!(u8 i8 u16 i16 u32 i32 u64 i64);

fn real(value: Between, how: u64) -> (Number, Rounding) {
    let mode = Rounding::from_code(how);
    match value {
        Between::Whole(v) => (Number::integer(v), mode),
        Between::Real(number) if how & TO_WHOLE == 0 => (number, mode),
        Between::Real(number) => (to_whole(number, mode), mode),
    }
}

/// A float rounded to a whole float, its sign kept even when it becomes zero.
fn to_whole(number: Number, mode: Rounding) -> Number {
    match number {
        Number::Finite { negative, exponent, .. } if exponent < 0 => {
            let whole = number.to_integer(mode).unwrap_or(0);
            Number::Finite { negative, magnitude: whole.unsigned_abs(), exponent: 0 }
        }
        other => other,
    }
}

macro_rules! real_values {
    ($($t:ty: $format:expr, $v:ident => $bits:expr, $b:ident => $from:expr;)*) => { $(
        impl Value for $t {
            fn out(self) -> Between {
                let $v = self;
                Between::Real(Number::decode($bits, $format))
            }
            fn into_type(value: Between, how: u64) -> $t {
                let (number, mode) = real(value, how);
                let $b = number.encode($format, mode);
                $from
            }
        }
    )* };
}
real_values! {
    F16: F16::FORMAT, v => v.0.into(), b => F16(b as u16);
    BF16: BF16::FORMAT, v => v.0.into(), b => BF16(b as u16);
    f32: SINGLE, v => v.to_bits().into(), b => f32::from_bits(b as u32);
    f64: DOUBLE, v => v.to_bits(), b => f64::from_bits(b);
}
