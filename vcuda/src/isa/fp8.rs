//! Conversions of eight-bit floats, which PTX always packs in pairs.

use super::Row;
use super::half::{Half, to_f64};
use super::lane::{Body, F16, Operands, Registers};
use super::soft::{DOUBLE, HALF, Number, Rounding};
use super::warp::RELU;
use crate::ptx::ast::Class::Word;

/// An eight-bit format: the width of the fraction, the exponent bias, the bits of the largest finite number.
#[derive(Clone, Copy)]
struct Tiny {
    fraction: i32,
    bias: i32,
    most: u8,
}

/// `.e4m3`: no infinities, one NaN encoding per sign.
const E4M3: Tiny = Tiny { fraction: 3, bias: 7, most: 0x7e };
/// `.e5m2`: the upper byte of an IEEE half.
const E5M2: Tiny = Tiny { fraction: 2, bias: 15, most: 0x7b };
const NAN: u8 = 0x7f;

impl Tiny {
    /// Rounds to nearest even; values out of range become the largest finite number.
    fn encode(self, value: f64) -> u8 {
        if value.is_nan() {
            return NAN;
        }
        let sign = u8::from(value.is_sign_negative()) << 7;
        // Rounding is to an integer in units of the last place, which for subnormals is that of the smallest normal
        // number.
        let exponent = ((value.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(1 - self.bias);
        let units = (value.abs() * scale(self.fraction - exponent)).round_ties_even();
        let field = f64::from((exponent + self.bias - 1) << self.fraction);
        sign | (units + field).min(self.most.into()) as u8
    }

    fn decode(self, bits: u8) -> f64 {
        let magnitude = i32::from(bits & 0x7f);
        let (field, fraction) =
            (magnitude >> self.fraction, magnitude & ((1 << self.fraction) - 1));
        let value = if magnitude > self.most.into() {
            let infinite = self.most == E5M2.most && fraction == 0;
            if infinite { f64::INFINITY } else { f64::NAN }
        } else {
            let units = if field == 0 { fraction } else { fraction | 1 << self.fraction };
            f64::from(units) * scale(field.max(1) - self.bias - self.fraction)
        };
        if bits >> 7 != 0 { -value } else { value }
    }
}

/// Returns a power of two.
fn scale(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// Applies `.relu` if present: a value with a negative sign, including −0, becomes +0, as for the other floats.
fn positive(value: f64, how: u64) -> f64 {
    if how & RELU != 0 && value.is_sign_negative() && !value.is_nan() { 0.0 } else { value }
}

/// Converts `a` to the upper byte and `b` to the lower byte of `d`.
fn from_singles(r: &mut Registers, o: &Operands, mask: u32, tiny: Tiny) {
    let how = o.imm;
    let one = |v: f32| u16::from(tiny.encode(positive(v.into(), how)));
    r.map2::<u16, f32, f32>(o, mask, |a, b| one(a) << 8 | one(b));
}

fn from_halves(r: &mut Registers, o: &Operands, mask: u32, tiny: Tiny) {
    let how = o.imm;
    let one = |v: u32| u16::from(tiny.encode(positive(to_f64(F16::from_bits(v as u16)), how)));
    r.map1::<u16, u32>(o, mask, |a| one(a >> 16) << 8 | one(a));
}

fn to_halves(r: &mut Registers, o: &Operands, mask: u32, tiny: Tiny) {
    let how = o.imm;
    let one = |v: u16| {
        let value = positive(tiny.decode(v as u8), how);
        Number::decode(value.to_bits(), DOUBLE).encode(HALF, Rounding::Nearest) as u32
    };
    r.map1::<u32, u16>(o, mask, |a| one(a >> 8) << 16 | one(a));
}

macro_rules! conversions {
    ($($name:literal $operands:literal $f:ident $tiny:ident;)*) => { &[$(Row {
        name: $name,
        d: &[Word],
        s: &[Word; $operands],
        body: { fn body(r: &mut Registers, o: &Operands, mask: u32) { $f(r, o, mask, $tiny) } body as Body },
    }),*] };
}

pub(super) const ROWS: &[Row] = conversions! {
    "cvt.satfinite.e4m3x2.f32" 2 from_singles E4M3;
    "cvt.satfinite.e5m2x2.f32" 2 from_singles E5M2;
    "cvt.satfinite.e4m3x2.f16x2" 1 from_halves E4M3;
    "cvt.satfinite.e5m2x2.f16x2" 1 from_halves E5M2;
    "cvt.f16x2.e4m3x2" 1 to_halves E4M3;
    "cvt.f16x2.e5m2x2" 1 to_halves E5M2;
};
