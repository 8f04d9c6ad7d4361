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
    Exp2,
    Expm1,
    Log2,
    Log10,
    Log1p,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
}

impl Function {
    pub const ALL: [Function; 16] = [
        Function::Exp,
        Function::Log,
        Function::Pow,
        Function::Atan2,
        Function::Logaddexp,
        Function::Exp2,
        Function::Expm1,
        Function::Log2,
        Function::Log10,
        Function::Log1p,
        Function::Sinh,
        Function::Cosh,
        Function::Tanh,
        Function::Asinh,
        Function::Acosh,
        Function::Atanh,
    ];

    /// Returns the functions of one argument.
    #[cfg(feature = "host-kernels")]
    pub fn of_one() -> impl Iterator<Item = Function> {
        let of_two = [Function::Pow, Function::Atan2, Function::Logaddexp];
        Function::ALL.into_iter().filter(move |function| !of_two.contains(function))
    }

    /// Returns the functions of one argument that `BITLANE_PASSES` names, or all.
    #[cfg(feature = "host-kernels")]
    pub fn wished() -> impl Iterator<Item = Function> {
        let words = std::env::var("BITLANE_PASSES").unwrap_or_default();
        let is_wished = move |function: &Function| {
            let named = |word: &str| Function::named(word) == Some(*function);
            words.is_empty() || words.split_whitespace().any(named)
        };
        Function::of_one().filter(is_wished)
    }

    /// Returns the correctly rounded result of a function of one f32, by core-math.
    #[cfg(feature = "host-kernels")]
    pub fn rounded_f32(self) -> fn(f32) -> f32 {
        match self {
            Function::Exp => core_math::expf,
            Function::Exp2 => core_math::exp2f,
            Function::Expm1 => core_math::expm1f,
            Function::Log => core_math::logf,
            Function::Log2 => core_math::log2f,
            Function::Log10 => core_math::log10f,
            Function::Log1p => core_math::log1pf,
            Function::Sinh => core_math::sinhf,
            Function::Cosh => core_math::coshf,
            Function::Tanh => core_math::tanhf,
            Function::Asinh => core_math::asinhf,
            Function::Acosh => core_math::acoshf,
            Function::Atanh => core_math::atanhf,
            other => panic!("{other:?} has two arguments"),
        }
    }

    /// Returns the correctly rounded result of a function of one f64, by core-math.
    #[cfg(feature = "host-kernels")]
    pub fn rounded_f64(self) -> fn(f64) -> f64 {
        match self {
            Function::Exp => core_math::exp,
            Function::Exp2 => core_math::exp2,
            Function::Expm1 => core_math::expm1,
            Function::Log => core_math::log,
            Function::Log2 => core_math::log2,
            Function::Log10 => core_math::log10,
            Function::Log1p => core_math::log1p,
            Function::Sinh => core_math::sinh,
            Function::Cosh => core_math::cosh,
            Function::Tanh => core_math::tanh,
            Function::Asinh => core_math::asinh,
            Function::Acosh => core_math::acosh,
            Function::Atanh => core_math::atanh,
            other => panic!("{other:?} has two arguments"),
        }
    }

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
            Function::Exp2 => math::narrow::exp2(x),
            Function::Expm1 => math::narrow::expm1(x),
            Function::Log2 => math::narrow::log2(x),
            Function::Log10 => math::narrow::log10(x),
            Function::Log1p => math::narrow::log1p(x),
            Function::Sinh => math::narrow::sinh(x),
            Function::Cosh => math::narrow::cosh(x),
            Function::Tanh => math::narrow::tanh(x),
            Function::Asinh => math::narrow::asinh(x),
            Function::Acosh => math::narrow::acosh(x),
            Function::Atanh => math::narrow::atanh(x),
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
            Function::Exp2 => math::exp2_f64(x),
            Function::Expm1 => math::expm1_f64(x),
            Function::Log2 => math::log2_f64(x),
            Function::Log10 => math::log10_f64(x),
            Function::Log1p => math::log1p_f64(x),
            Function::Sinh => math::sinh_f64(x),
            Function::Cosh => math::cosh_f64(x),
            Function::Tanh => math::tanh_f64(x),
            Function::Asinh => math::asinh_f64(x),
            Function::Acosh => math::acosh_f64(x),
            Function::Atanh => math::atanh_f64(x),
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
