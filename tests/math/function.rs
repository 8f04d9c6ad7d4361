//! The functions by name, and the formats that their results are rounded to.

use crate::math;
use crate::reference::{Exact, exponent_of, power_of_two};

/// A function that is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Function {
    Exp,
    Log,
    Pow,
    Atan2,
    Logaddexp,
}

impl Function {
    pub const ALL: [Function; 5] =
        [Function::Exp, Function::Log, Function::Pow, Function::Atan2, Function::Logaddexp];

    pub fn named(name: &str) -> Option<Function> {
        Function::ALL.into_iter().find(|function| format!("{function:?}").to_lowercase() == name)
    }

    /// Returns the result of the crate's function for narrow formats, before it is rounded.
    pub fn narrow(self, x: f64, y: f64) -> f64 {
        match self {
            Function::Exp => math::narrow::exp(x),
            Function::Log => math::narrow::log(x),
            Function::Pow => math::narrow::pow(x, y),
            Function::Atan2 => math::narrow::atan2(x, y),
            Function::Logaddexp => math::narrow::logaddexp(x, y),
        }
    }

    /// Returns the result of the crate's function for f64.
    pub fn wide(self, x: f64, y: f64) -> f64 {
        match self {
            Function::Exp => math::exp_f64(x),
            Function::Log => math::log_f64(x),
            Function::Pow => math::pow_f64(x, y),
            Function::Atan2 => math::atan2_f64(x, y),
            Function::Logaddexp => math::logaddexp_f64(x, y),
        }
    }
}

/// A binary floating-point format whose numbers an f64 can hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Format {
    pub name: &'static str,
    /// Bits of the significand, including the leading one.
    pub bits: i32,
    /// The exponents of the smallest and of the largest normal numbers.
    pub smallest: i32,
    pub largest: i32,
}

pub const F16: Format = Format { name: "f16", bits: 11, smallest: -14, largest: 15 };
pub const BF16: Format = Format { name: "bf16", bits: 8, smallest: -126, largest: 127 };
pub const F32: Format = Format { name: "f32", bits: 24, smallest: -126, largest: 127 };
pub const F64: Format = Format { name: "f64", bits: 53, smallest: -1022, largest: 1023 };

impl Format {
    /// Returns the exponent of the last place of a number.
    fn last_place(&self, exponent: i32) -> i32 {
        exponent.max(self.smallest) - self.bits + 1
    }

    /// Rounds to the nearest number of the format, ties to even.
    pub fn round(&self, x: f64) -> f64 {
        if self.bits == 53 || x == 0.0 || !x.is_finite() {
            return x;
        }
        const ROUND: f64 = 1.5 * (1u64 << 52) as f64;
        let place = self.last_place(exponent_of(x));
        let scaled = power_of_two(x, -place);
        let rounded = power_of_two((scaled + ROUND) - ROUND, place);
        let rounded = rounded.copysign(x);
        if rounded.abs() >= 2f64.powi(self.largest + 1) {
            f64::INFINITY.copysign(x)
        } else {
            rounded
        }
    }

    /// Returns all non-negative finite numbers of a format of 16 bits.
    pub fn magnitudes(&self) -> Vec<f64> {
        let step = 2f64.powi(self.smallest - self.bits + 1);
        let limit = 2f64.powi(self.largest + 1);
        let mut all = vec![0.0];
        let mut last = 0.0;
        loop {
            // The next number is one unit in the last place larger.
            let place =
                if last == 0.0 { step } else { 2f64.powi(self.last_place(exponent_of(last))) };
            last += place;
            if last >= limit {
                return all;
            }
            all.push(last);
        }
    }

    /// Returns the error of a result, in units in the last place of `unit`, or of the exact result if there is none.
    pub fn error(&self, result: f64, exact: Exact, unit: Option<f64>) -> f64 {
        let (distance, rest) = self.distance(result, exact, unit);
        (distance - rest).abs()
    }

    /// Returns by how much the error exceeds half a unit, at the full precision of the exact result.
    pub fn beyond_half(&self, result: f64, exact: Exact, unit: Option<f64>) -> f64 {
        let (distance, rest) = self.distance(result, exact, unit);
        (distance.abs() - 0.5) - rest * distance.signum()
    }

    /// Returns a result minus the exact one, in units in the last place, as two numbers: a difference, and a small rest
    /// that is still to be subtracted from it.
    fn distance(&self, result: f64, exact: Exact, unit: Option<f64>) -> (f64, f64) {
        let Exact { value, exponent } = exact;
        let mut top = exponent_of(value.hi) + exponent;
        // Just below a power of two, `hi` is that power itself.
        if value.hi.abs() == power_of_two(1.0, top - exponent) && value.lo * value.hi.signum() < 0.0
        {
            top -= 1;
        }
        if let Some(unit) = unit {
            top = top.max(exponent_of(unit));
        }
        let overflows = result.is_infinite();
        let result = if overflows { 1f64.copysign(result) } else { result };
        let result_exponent = if overflows { self.largest + 1 } else { 0 };
        // Scale to units in the last place; numbers too far apart for that overflow to infinity, as they should.
        let place = self.last_place(top.min(self.largest));
        let scaled = power_of_two(result, result_exponent - place);
        let (hi, lo) =
            (power_of_two(value.hi, exponent - place), power_of_two(value.lo, exponent - place));
        // Every larger number overflows to infinity too.
        if overflows && hi.abs() > scaled.abs() && hi * scaled > 0.0 {
            (0.0, 0.0)
        } else {
            (scaled - hi, lo)
        }
    }
}
