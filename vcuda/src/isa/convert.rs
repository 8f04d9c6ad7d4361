//! `cvt`, for every pair of types. The immediate holds the rounding mode, and whether to round to an integer and to
//! saturate.

use super::Row;
use super::float::Float;
use super::half::Half;
use super::lane::{BF16, F16, Lane, Operands, Registers};
use super::soft::{DOUBLE, Format, Number, Rounding, SINGLE};
use super::types::*;

/// The bit of the immediate for rounding to an integer (`.rni` and so on). The lowest two bits are the rounding mode.
pub const TO_WHOLE: u64 = 4;
/// The bit of the immediate for `.sat` of an integer result.
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

/// An intermediate value of a conversion. An `f64` holds the values of every float type exactly.
enum Between {
    Whole(i128),
    Real(f64),
}

trait Value: Sized {
    fn out(self) -> Between;
    fn into_type(value: Between, how: u64) -> Self;
    #[inline(always)]
    fn convert<S: Value>(source: S, how: u64) -> Self {
        Self::into_type(source.out(), how)
    }
}

/// Rounds a float to an integer, keeping the sign of a zero result.
#[inline(always)]
fn whole(value: f64, how: u64) -> f64 {
    match Rounding::from_code(how) {
        Rounding::Nearest => value.round_ties_even(),
        Rounding::Zero => value.trunc(),
        Rounding::Down => value.floor(),
        Rounding::Up => value.ceil(),
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
                    // A conversion from float always saturates. NaN gives zero, but for 64-bit integers the top bit
                    // alone.
                    Between::Real(v) if v.is_nan() && <$t>::BITS == 64 => 1 << (<$t>::BITS - 1),
                    Between::Real(v) => whole(v, how) as $t,
                }
            }
        }
    )* };
}
whole_values!(u8 i8 u16 i16 u32 i32 u64 i64);

/// Rounds to a format, in any rounding mode.
fn encode(value: Between, how: u64, format: Format) -> u64 {
    let number = match value {
        Between::Whole(v) => Number::integer(v),
        Between::Real(v) if how & TO_WHOLE == 0 => Number::decode(v.to_bits(), DOUBLE),
        Between::Real(v) => Number::decode(whole(v, how).to_bits(), DOUBLE),
    };
    number.encode(format, Rounding::from_code(how))
}

impl Value for F16 {
    #[inline(always)]
    fn out(self) -> Between {
        let (field, fraction) = (self.0 >> 10 & 31, f64::from(self.0 & 0x3ff));
        let magnitude = match field {
            0 => fraction * f64::from_bits((1023 - 24) << 52),
            31 if fraction == 0.0 => f64::INFINITY,
            31 => f64::NAN,
            _ => (fraction + 1024.0) * f64::from_bits((u64::from(field) + 1023 - 25) << 52),
        };
        Between::Real(if self.0 >> 15 != 0 { -magnitude } else { magnitude })
    }
    fn into_type(value: Between, how: u64) -> F16 {
        F16(encode(value, how, F16::FORMAT) as u16)
    }
}

impl Value for BF16 {
    #[inline(always)]
    fn out(self) -> Between {
        Between::Real(f32::from_bits(u32::from(self.0) << 16).into())
    }
    fn into_type(value: Between, how: u64) -> BF16 {
        BF16(encode(value, how, BF16::FORMAT) as u16)
    }
}

impl Value for f32 {
    #[inline(always)]
    fn out(self) -> Between {
        Between::Real(self.into())
    }
    #[inline(always)]
    fn into_type(value: Between, how: u64) -> f32 {
        // Round to nearest is the host's rounding mode.
        match value {
            Between::Real(v) if how == 0 => (v as f32).canonical(),
            Between::Whole(v) if how == 0 => v as f32,
            other => f32::from_bits(encode(other, how, SINGLE) as u32),
        }
    }
}

impl Value for f64 {
    #[inline(always)]
    fn out(self) -> Between {
        Between::Real(self)
    }
    #[inline(always)]
    fn into_type(value: Between, how: u64) -> f64 {
        match value {
            Between::Real(v) if how & TO_WHOLE == 0 => v.canonical(),
            Between::Whole(v) if how == 0 => v as f64,
            other => f64::from_bits(encode(other, how, DOUBLE)),
        }
    }
}
