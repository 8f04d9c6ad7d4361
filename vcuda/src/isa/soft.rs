//! Exact binary arithmetic and correct rounding to any PTX float format in any rounding mode.
//!
//! The host's arithmetic covers only `f32` and `f64`, rounded to nearest. `f16`, `bf16` and the modes `.rz`, `.rm` and
//! `.rp` are computed here: numbers are split into sign, exponent and a 128-bit significand, combined with the lost
//! bits kept as a sticky bit, and rounded once.

use std::cmp::Ordering;

/// A rounding mode of PTX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// To nearest, ties to even (`.rn`).
    Nearest,
    /// Towards zero (`.rz`).
    Zero,
    /// Down (`.rm`).
    Down,
    /// Up (`.rp`).
    Up,
}

impl Rounding {
    /// Returns the mode stored in an instruction's immediate.
    pub fn from_code(code: u64) -> Rounding {
        match code & 3 {
            1 => Rounding::Zero,
            2 => Rounding::Down,
            3 => Rounding::Up,
            _ => Rounding::Nearest,
        }
    }
}

/// A binary interchange format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// Bits of the exponent field.
    pub exponent: u32,
    /// Bits of the fraction field.
    pub fraction: u32,
    /// The bits of the device's canonical NaN.
    pub nan: u64,
}

/// `.f16`
pub const HALF: Format = Format { exponent: 5, fraction: 10, nan: 0x7fff };
/// `.bf16`
pub const BFLOAT: Format = Format { exponent: 8, fraction: 7, nan: 0x7fff };
/// `.f32`
pub const SINGLE: Format = Format { exponent: 8, fraction: 23, nan: 0x7fff_ffff };
/// `.f64`
pub const DOUBLE: Format = Format { exponent: 11, fraction: 52, nan: 0xfff8_0000_0000_0000 };

/// A number: `(-1)^negative × magnitude × 2^exponent`, or one of the special values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    Nan,
    Infinite {
        negative: bool,
    },
    /// `magnitude` may be zero; its lowest bit may be a sticky bit, which stands for lost bits.
    Finite {
        negative: bool,
        magnitude: u128,
        exponent: i32,
    },
}
use Number::{Finite, Infinite, Nan};

/// Significands are normalised to this top bit, which leaves room for a carry.
const TOP: u32 = 124;

fn shift_right_sticky(value: u128, by: u32) -> u128 {
    match by {
        0 => value,
        1..=127 => value >> by | u128::from(value & ((1 << by) - 1) != 0),
        _ => u128::from(value != 0),
    }
}

fn normalised(magnitude: u128, exponent: i32) -> (u128, i32) {
    let top = 127 - magnitude.leading_zeros();
    if top > TOP {
        (shift_right_sticky(magnitude, top - TOP), exponent + (top - TOP) as i32)
    } else {
        (magnitude << (TOP - top), exponent - (TOP - top) as i32)
    }
}

impl Number {
    /// Decodes the bits of a format.
    pub fn decode(bits: u64, f: Format) -> Number {
        let negative = bits >> (f.exponent + f.fraction) & 1 != 0;
        let field = (bits >> f.fraction & ((1 << f.exponent) - 1)) as i32;
        let fraction = bits & ((1 << f.fraction) - 1);
        let bias = (1 << (f.exponent - 1)) - 1;
        if field == (1 << f.exponent) - 1 {
            return if fraction == 0 { Infinite { negative } } else { Nan };
        }
        let (magnitude, field) =
            if field == 0 { (fraction, 1) } else { (fraction | 1 << f.fraction, field) };
        Finite { negative, magnitude: magnitude.into(), exponent: field - bias - f.fraction as i32 }
    }

    /// Creates a number from an integer.
    pub fn integer(value: i128) -> Number {
        Finite { negative: value < 0, magnitude: value.unsigned_abs(), exponent: 0 }
    }

    /// Rounds to a format and returns the bits.
    pub fn encode(self, f: Format, mode: Rounding) -> u64 {
        let sign = |negative: bool| u64::from(negative) << (f.exponent + f.fraction);
        let infinity = ((1 << f.exponent) - 1) << f.fraction;
        let (negative, magnitude, exponent) = match self {
            Nan => return f.nan,
            Infinite { negative } => return sign(negative) | infinity,
            Finite { negative, magnitude: 0, .. } => return sign(negative),
            Finite { negative, magnitude, exponent } => (negative, magnitude, exponent),
        };
        let bias = (1 << (f.exponent - 1)) - 1;
        let (magnitude, exponent) = normalised(magnitude, exponent);
        // The exponent of the result's last bit, which for subnormals is fixed.
        let last = (exponent + (TOP - f.fraction) as i32).max(1 - bias - f.fraction as i32);
        let drop = (last - exponent) as u32;
        let (mut kept, rest, half) = if drop < 128 {
            (magnitude >> drop, magnitude & ((1 << drop) - 1), 1u128 << (drop - 1))
        } else {
            (0, 1, 2)
        };
        let up = match mode {
            Rounding::Nearest => match rest.cmp(&half) {
                Ordering::Greater => true,
                Ordering::Equal => kept & 1 != 0,
                Ordering::Less => false,
            },
            Rounding::Zero => false,
            Rounding::Down => negative && rest != 0,
            Rounding::Up => !negative && rest != 0,
        };
        kept += u128::from(up);
        // Adding the fields handles a carry into the next binade or from the subnormals to the normal numbers.
        let field = (last + f.fraction as i32 + bias - 1).max(0) as u64;
        let bits = (field << f.fraction) + kept as u64;
        if bits >= infinity {
            let away = match mode {
                Rounding::Nearest => true,
                Rounding::Zero => false,
                Rounding::Down => negative,
                Rounding::Up => !negative,
            };
            return sign(negative) | if away { infinity } else { infinity - 1 };
        }
        sign(negative) | bits
    }

    /// Returns the sum. An exact zero from operands of different signs is negative only when rounding down.
    pub fn add(self, other: Number, mode: Rounding) -> Number {
        match (self, other) {
            (Nan, _) | (_, Nan) => Nan,
            (Infinite { negative: a }, Infinite { negative: b }) => {
                if a == b {
                    self
                } else {
                    Nan
                }
            }
            (Infinite { .. }, _) => self,
            (_, Infinite { .. }) => other,
            (
                Finite { negative: a, magnitude: 0, .. },
                Finite { negative: b, magnitude: 0, exponent },
            ) => Finite {
                negative: if a == b { a } else { mode == Rounding::Down },
                magnitude: 0,
                exponent,
            },
            (Finite { magnitude: 0, .. }, _) => other,
            (_, Finite { magnitude: 0, .. }) => self,
            (
                Finite { negative: na, magnitude: ma, exponent: ea },
                Finite { negative: nb, magnitude: mb, exponent: eb },
            ) => {
                let ((ma, ea), (mb, eb)) = (normalised(ma, ea), normalised(mb, eb));
                let exponent = ea.max(eb);
                let (ma, mb) = (
                    shift_right_sticky(ma, (exponent - ea) as u32),
                    shift_right_sticky(mb, (exponent - eb) as u32),
                );
                if na == nb {
                    return Finite { negative: na, magnitude: ma + mb, exponent };
                }
                match ma.cmp(&mb) {
                    Ordering::Equal => {
                        Finite { negative: mode == Rounding::Down, magnitude: 0, exponent }
                    }
                    Ordering::Greater => Finite { negative: na, magnitude: ma - mb, exponent },
                    Ordering::Less => Finite { negative: nb, magnitude: mb - ma, exponent },
                }
            }
        }
    }

    /// Returns the product, which is exact for significands of up to 64 bits.
    pub fn multiply(self, other: Number) -> Number {
        match (self, other) {
            (Nan, _) | (_, Nan) => Nan,
            (Infinite { .. }, Finite { magnitude: 0, .. })
            | (Finite { magnitude: 0, .. }, Infinite { .. }) => Nan,
            (Infinite { negative: a }, Infinite { negative: b } | Finite { negative: b, .. })
            | (Finite { negative: a, .. }, Infinite { negative: b }) => {
                Infinite { negative: a != b }
            }
            (
                Finite { negative: a, magnitude: ma, exponent: ea },
                Finite { negative: b, magnitude: mb, exponent: eb },
            ) => Finite { negative: a != b, magnitude: ma * mb, exponent: ea + eb },
        }
    }

    /// Returns the quotient, with a sticky bit.
    pub fn divide(self, other: Number) -> Number {
        match (self, other) {
            (Nan, _)
            | (_, Nan)
            | (Infinite { .. }, Infinite { .. })
            | (Finite { magnitude: 0, .. }, Finite { magnitude: 0, .. }) => Nan,
            (Infinite { negative: a }, Finite { negative: b, .. })
            | (Finite { negative: a, .. }, Finite { negative: b, magnitude: 0, .. }) => {
                Infinite { negative: a != b }
            }
            (Finite { negative: a, .. }, Infinite { negative: b }) => {
                Finite { negative: a != b, magnitude: 0, exponent: 0 }
            }
            (
                Finite { negative: a, magnitude: ma, exponent: ea },
                Finite { negative: b, magnitude: mb, exponent: eb },
            ) => {
                if ma == 0 {
                    return Finite { negative: a != b, magnitude: 0, exponent: 0 };
                }
                let (ma, ea) = normalised(ma, ea);
                Finite {
                    negative: a != b,
                    magnitude: ma / mb << 1 | u128::from(ma % mb != 0),
                    exponent: ea - eb - 1,
                }
            }
        }
    }

    /// Returns the square root, with a sticky bit.
    pub fn square_root(self) -> Number {
        match self {
            Nan | Infinite { negative: true } => Nan,
            Infinite { .. } | Finite { magnitude: 0, .. } => self,
            Finite { negative: true, .. } => Nan,
            Finite { magnitude, exponent, .. } => {
                let (mut magnitude, mut exponent) = normalised(magnitude, exponent);
                if exponent % 2 != 0 {
                    magnitude <<= 1;
                    exponent -= 1;
                }
                let root = magnitude.isqrt();
                Finite {
                    negative: false,
                    magnitude: root << 1 | u128::from(root * root != magnitude),
                    exponent: exponent / 2 - 1,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EDGES: &[f32] = &[
        0.0,
        -0.0,
        1.0,
        -1.5,
        3.0,
        1e-45,
        1.17e-38,
        -1.1754942e-38,
        3.4e38,
        -3.4e38,
        1e-20,
        0.1,
        16777217.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
    ];

    #[test]
    fn agrees_with_the_host_to_nearest() {
        let n = |x: f32| Number::decode(x.to_bits().into(), SINGLE);
        let same = |got: Number, want: f32, what: &str| {
            let bits = got.encode(SINGLE, Rounding::Nearest) as u32;
            assert!(
                if want.is_nan() { f32::from_bits(bits).is_nan() } else { bits == want.to_bits() },
                "{what}: {bits:x} {:x}",
                want.to_bits()
            );
        };
        for &a in EDGES {
            same(n(a).square_root(), a.sqrt(), "sqrt");
            for &b in EDGES {
                same(n(a).add(n(b), Rounding::Nearest), a + b, &format!("{a}+{b}"));
                same(n(a).multiply(n(b)), a * b, &format!("{a}*{b}"));
                same(n(a).divide(n(b)), a / b, &format!("{a}/{b}"));
                for &c in EDGES {
                    same(
                        n(a).multiply(n(b)).add(n(c), Rounding::Nearest),
                        a.mul_add(b, c),
                        &format!("fma {a} {b} {c}"),
                    );
                }
            }
        }
    }

    #[test]
    fn directed_modes_bracket_the_value() {
        let third = Number::integer(1).divide(Number::integer(3));
        let down = third.encode(DOUBLE, Rounding::Down);
        assert_eq!(third.encode(DOUBLE, Rounding::Up), down + 1);
        assert_eq!(third.encode(DOUBLE, Rounding::Zero), down);
        let minus = Number::integer(-1).divide(Number::integer(3));
        assert_eq!(minus.encode(DOUBLE, Rounding::Down) & !(1 << 63), down + 1);
        assert_eq!(Number::integer(70000).encode(HALF, Rounding::Zero), 0x7bff);
        assert_eq!(Number::integer(70000).encode(HALF, Rounding::Nearest), 0x7c00);
    }
}
