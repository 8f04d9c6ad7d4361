//! Arguments: random ones with ordinary results, and hard ones.

use crate::function::{Format, Function};
use crate::reference::power_of_two;

/// xorshift64*: small, fast, and the same on every machine.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Creates a generator with a state that is not 0.
    #[cfg(feature = "host-kernels")]
    pub fn from_state(state: u64) -> Random {
        Random(state)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(limit)) >> 64) as u64
    }

    /// Returns a number in [low, high).
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.bits() >> 11) as f64 * 2f64.powi(-53)
    }

    pub fn exponent(&mut self, low: i32, high: i32) -> i32 {
        low + self.below((high - low + 1) as u64) as i32
    }

    pub fn sign(&mut self) -> f64 {
        if self.bits() >> 63 == 1 { -1.0 } else { 1.0 }
    }

    /// Returns a positive number, with all exponents of the format equally likely, including those of subnormals.
    pub fn positive(&mut self, format: Format) -> f64 {
        let exponent = self.exponent(format.smallest - format.bits + 1, format.largest);
        let x = format.round(power_of_two(self.between(1.0, 2.0), exponent));
        if x.is_finite() && x > 0.0 { x } else { 1.5 }
    }

    /// Returns a number near 1, possibly adjacent to it.
    pub fn near_one(&mut self, format: Format) -> f64 {
        let exponent = self.exponent(-format.bits, -3);
        format.round(1.0 + self.sign() * power_of_two(self.between(1.0, 2.0), exponent))
    }

    /// Returns an exponent y for which x^y is in the range of the format, or just outside.
    fn exponent_for(&mut self, x: f64, format: Format) -> f64 {
        let (low, high) = (format.smallest - format.bits, format.largest + 2);
        let target = self.between(f64::from(low), f64::from(high));
        let y = format.round(target / x.log2());
        if y.is_finite() && y != 0.0 { y } else { 1.0 }
    }
}

/// Returns arguments from the whole range of a function.
pub fn random(random: &mut Random, function: Function, format: Format) -> (f64, f64) {
    let ln2 = std::f64::consts::LN_2;
    let exponents = (f64::from(format.smallest - format.bits), f64::from(format.largest + 1));
    match function {
        Function::Exp => (format.round(random.between(exponents.0 * ln2, exponents.1 * ln2)), 0.0),
        Function::Log | Function::Log2 | Function::Log10 => (random.positive(format), 0.0),
        Function::Exp2 => (format.round(random.between(exponents.0, exponents.1)), 0.0),
        Function::Expm1 => (format.round(random.between(-40.0, exponents.1 * ln2)), 0.0),
        Function::Sinh | Function::Cosh => {
            (format.round(random.between(-exponents.1 * ln2, exponents.1 * ln2)), 0.0)
        }
        Function::Tanh => (format.round(random.between(-20.0, 20.0)), 0.0),
        Function::Log1p | Function::Asinh => (random.sign() * random.positive(format), 0.0),
        Function::Acosh => (random.positive(format).max(1.0), 0.0),
        Function::Atanh => (format.round(random.between(-1.0, 1.0)), 0.0),
        Function::Pow => {
            let x = random.positive(format);
            let x = if x == 1.0 { 1.5 } else { x };
            (x, random.exponent_for(x, format))
        }
        Function::Atan2 => {
            // Half of the pairs are of similar size; otherwise nearly all angles would be close to multiples of a right
            // angle.
            let near = random.bits() & 1 == 0;
            let exponent = random.exponent(format.smallest, format.largest - 9);
            let side = |random: &mut Random| {
                let side = power_of_two(random.between(1.0, 2.0), exponent + random.exponent(0, 8));
                random.sign() * format.round(side)
            };
            if near {
                (side(random), side(random))
            } else {
                (random.sign() * random.positive(format), random.sign() * random.positive(format))
            }
        }
        Function::Logaddexp => {
            let size = power_of_two(random.between(1.0, 2.0), random.exponent(-10, 8));
            let x = format.round(random.between(-size, size));
            (x, format.round(x + random.between(-1.0, 1.0) * f64::from(format.bits)))
        }
    }
}

/// Returns arguments near 1, subnormal, huge, with exact results, or with results halfway between two numbers.
pub fn hard(random: &mut Random, function: Function, format: Format) -> (f64, f64) {
    let subnormal = |random: &mut Random| {
        let exponent = format.smallest - random.exponent(1, format.bits - 1);
        format.round(power_of_two(random.between(1.0, 2.0), exponent))
    };
    let case = random.below(6);
    match function {
        // At 0, at the ends of the range, and where the result is subnormal.
        Function::Exp => {
            let ln2 = std::f64::consts::LN_2;
            let x = match case {
                0 | 1 => {
                    random.sign()
                        * power_of_two(
                            random.between(1.0, 2.0),
                            random.exponent(-2 * format.bits, 0),
                        )
                }
                2 => f64::from(format.largest + 1) * ln2 * random.between(0.9999, 1.0001),
                3 => {
                    f64::from(format.smallest - format.bits + 1) * ln2 * random.between(0.99, 1.01)
                }
                4 => f64::from(format.smallest) * ln2 * random.between(0.999, 1.001),
                _ => f64::from(random.exponent(format.smallest, format.largest)) * ln2,
            };
            (format.round(x), 0.0)
        }
        Function::Log | Function::Log2 | Function::Log10 | Function::Acosh => (
            match case {
                0..=2 => random.near_one(format),
                3 => subnormal(random),
                4 => format
                    .round(power_of_two(random.between(1.0, 2.0), format.largest))
                    .min(f64::MAX),
                _ => format.round(random.between(0.69, 1.42)),
            },
            0.0,
        ),
        Function::Exp2 => {
            let (low, high) = (f64::from(format.smallest - format.bits), f64::from(format.largest));
            let x = match case {
                0 | 1 => {
                    random.between(-1.0, 1.0) * 2f64.powi(random.exponent(-2 * format.bits, 0))
                }
                2 => high + random.between(0.9, 1.1),
                3 => low + random.between(0.0, 3.0),
                4 => f64::from(format.smallest) + random.between(-1.0, 1.0),
                _ => f64::from(random.exponent(format.smallest - format.bits, format.largest)),
            };
            (format.round(x), 0.0)
        }
        // Near 0, where results are near x; near the steps of a table; and at the ends of the range.
        Function::Expm1
        | Function::Log1p
        | Function::Sinh
        | Function::Cosh
        | Function::Tanh
        | Function::Asinh
        | Function::Atanh => {
            let x = match case {
                0 => power_of_two(random.between(1.0, 2.0), random.exponent(-2 * format.bits, -1)),
                1 => power_of_two(random.between(1.0, 2.0), random.exponent(-12, -4)),
                2 => subnormal(random),
                3 => random.between(0.0, 1.0),
                4 => {
                    1.0 - power_of_two(random.between(1.0, 2.0), random.exponent(-format.bits, -3))
                }
                _ if function == Function::Atanh => random.between(0.5, 1.0),
                _ => {
                    (f64::from(format.largest + 1) * std::f64::consts::LN_2)
                        * random.between(0.99, 1.01)
                }
            };
            (random.sign() * format.round(x), 0.0)
        }
        Function::Pow => match case {
            0 | 1 => {
                let x = random.near_one(format);
                let x = if x == 1.0 { 1.5 } else { x };
                (x, random.exponent_for(x, format))
            }
            2 => {
                let x = subnormal(random);
                (x, random.exponent_for(x, format))
            }
            // So few bits that the power is exact: a number of the format, or halfway between two numbers.
            3 | 4 => {
                let y = random.exponent(2, 5);
                let x = random.below(1 << ((format.bits + 1) / y)) | 1;
                (power_of_two(x.max(3) as f64, random.exponent(-12, 4)), f64::from(y))
            }
            _ => {
                let x = random.below(1 << (format.bits / 2)).max(2) as f64;
                (x * x, [0.5, -0.5, 1.5, -1.0][random.below(4) as usize])
            }
        },
        Function::Atan2 => match case {
            // Tiny, and halfway between two subnormal numbers.
            0 => (random.sign() * subnormal(random), power_of_two(1.0, random.exponent(1, 3))),
            1 => (random.sign() * random.positive(format), random.sign() * subnormal(random)),
            2 => {
                let x = random.positive(format);
                (x, format.round(x * random.between(0.999_999, 1.000_001)).max(x / 2.0))
            }
            // At the boundaries of any table with steps of a power of two.
            3 | 4 => {
                let slope = random.below(256) as f64 / 256.0 + 2f64.powi(-9);
                let x = format.round(random.between(1.0, 2.0));
                (random.sign() * format.round(x * slope), random.sign() * x)
            }
            _ => (1.0 + random.below(3) as f64, random.sign() * random.positive(format)),
        },
        Function::Logaddexp => match case {
            0 => {
                let x = random.between(-3.0, 3.0);
                (format.round(x), format.round(x))
            }
            // The smaller operand adds about half a unit in the last place.
            1 | 2 => {
                let x = format.round(random.between(1.0, 100.0));
                let place = f64::from(format.bits) * std::f64::consts::LN_2;
                (x, format.round(x - place + x.ln() + random.between(-1.0, 1.0)))
            }
            // The result is near 0.
            3 | 4 => {
                let x = random.between(-2.0, -0.01);
                (format.round(x), format.round((-x.exp_m1()).ln()))
            }
            _ => (random.sign() * random.positive(format), random.sign() * random.positive(format)),
        },
    }
}

/// Returns whether the exact function is defined for these arguments and they are not a special case.
pub fn is_ordinary(function: Function, x: f64, y: f64) -> bool {
    let both = x.is_finite() && y.is_finite();
    match function {
        Function::Exp => x.is_finite(),
        Function::Log | Function::Log2 | Function::Log10 => x.is_finite() && x > 0.0 && x != 1.0,
        Function::Exp2 | Function::Cosh => x.is_finite(),
        Function::Expm1 | Function::Sinh | Function::Tanh | Function::Asinh => {
            x.is_finite() && x != 0.0
        }
        Function::Log1p => x.is_finite() && x > -1.0 && x != 0.0,
        Function::Acosh => x.is_finite() && x > 1.0,
        Function::Atanh => x.abs() < 1.0 && x != 0.0,
        Function::Pow => both && x > 0.0 && x != 1.0 && y != 0.0,
        Function::Atan2 => both && x != 0.0 && y != 0.0,
        Function::Logaddexp => both,
    }
}
