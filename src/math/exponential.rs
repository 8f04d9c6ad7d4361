//! exp, exp2 and expm1.
//!
//! The argument is reduced to a multiple of ln 2 / 128, whose power is in a table, and a rest r of at most 2^-8.5. The
//! terms beyond r^6 of the series of e^r are below 2^-71.

use super::parts::{ROUND, limited, select, upper};
use super::sums::Sum;
use super::tables::{EXP, LN2, LN2_REST, STEP_HI, STEP_LO, STEPS};

/// e^x overflows above this number, and underflows to 0 below its negative.
const LIMIT: f64 = 800.0;

/// 2^x overflows above this number, and underflows to 0 below its negative.
const LIMIT2: f64 = 1200.0;

/// 2 to the power of this number is beyond the range of every narrow format, but within that of f64.
const NARROW_LIMIT: f64 = 512.0;

/// e^x.
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    Power::of(x, 0.0).rounded()
}

/// 2^x.
#[inline(always)]
pub(crate) fn exp2(x: f64) -> f64 {
    Power::of_two(x).rounded()
}

/// e^x - 1.
#[inline(always)]
pub(crate) fn expm1(x: f64) -> f64 {
    // The sum is halved, since twice it may be the largest number and the power in it beyond.
    let sum = half_expm1(select(x < -60.0, -60.0, select(x > 709.9, 709.9, x)));
    let tiny = x.abs() < 5e-17;
    select(tiny, x, sum.rounded() * 2.0)
}

/// e^x, for rounding to a narrow format.
#[inline(always)]
pub(crate) fn narrow_exp(x: f64) -> f64 {
    Narrow::of(x).sum().odd()
}

/// 2^x, for rounding to a narrow format.
#[inline(always)]
pub(crate) fn narrow_exp2(x: f64) -> f64 {
    Narrow::of_two(x).sum().odd()
}

/// e^x - 1, for rounding to a narrow format.
#[inline(always)]
pub(crate) fn narrow_expm1(x: f64) -> f64 {
    select(x == 0.0, x, narrow_expm1_sum(x).odd())
}

/// e^x - 1 as a sum of two, for an x that an f32 can represent, or twice that.
#[inline(always)]
pub(super) fn narrow_expm1_sum(x: f64) -> Sum {
    let Narrow { table, table_error, r } = Narrow::of(x);
    let start = Sum::add(table, -1.0);
    let linear = start.plus(table * r);
    Sum::quick(linear.value, linear.rest + table * (r * r * series(r) + table_error))
}

/// (e^x - 1 - x) / x^2.
#[inline(always)]
fn series(r: f64) -> f64 {
    0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0))))
}

/// A power as `table` * (1 + `table_error`) * e^`r`, where the first factor includes the power of two.
struct Narrow {
    table: f64,
    table_error: f64,
    r: f64,
}

impl Narrow {
    /// Reduces e^x. NaN stays NaN.
    #[inline(always)]
    fn of(x: f64) -> Narrow {
        let x = limited(x, NARROW_LIMIT * LN2);
        let shifted = x * STEPS + ROUND;
        let steps = shifted - ROUND;
        // The first difference is exact.
        Narrow::at(shifted.to_bits(), (x - steps * STEP_HI) - steps * STEP_LO)
    }

    /// Reduces 2^x. NaN stays NaN.
    #[inline(always)]
    fn of_two(x: f64) -> Narrow {
        let x = limited(x, NARROW_LIMIT);
        let shifted = x * 128.0 + ROUND;
        Narrow::at(shifted.to_bits(), (x - (shifted - ROUND) * (1.0 / 128.0)) * LN2)
    }

    /// Looks up a power of 2^(1/128). The lowest 7 bits of the count index the table, and the others are the exponent.
    #[inline(always)]
    fn at(count: u64, r: f64) -> Narrow {
        let row = &EXP[count as usize & 127];
        let table = f64::from_bits(row[0].wrapping_add((count & !127) << 45));
        Narrow { table, table_error: f64::from_bits(row[1]), r }
    }

    #[inline(always)]
    fn sum(self) -> Sum {
        let Narrow { table, table_error, r } = self;
        Sum { value: table, rest: table * (r + (r * r * series(r) + table_error)) }
    }
}

/// A reduced power of e: `table` * (1 + `table_error`) * e^(`r` + `r_rest`) * 2^(`exponent` - 8192).
struct Reduced {
    table: f64,
    table_error: f64,
    r: f64,
    r_rest: f64,
    exponent: u64,
}

/// Added to a number, this rounds it as [`ROUND`] does, and makes it positive, so that exponents from -8192 up can be
/// handled as unsigned integers.
const ROUND_UP: f64 = ROUND + 1_048_576.0; // 2^20

impl Reduced {
    /// Reduces e^(x + rest), where the rest is below a millionth of x, and |x| below 1000.
    #[inline(always)]
    fn of(x: f64, rest: f64) -> Reduced {
        let shifted = x * STEPS + ROUND_UP;
        let steps = shifted - ROUND_UP;
        let upper = x - steps * STEP_HI; // exact
        let lower = rest - steps * STEP_LO;
        let r = upper + lower;
        Reduced::at(shifted.to_bits(), r, (upper - r) + lower)
    }

    #[inline(always)]
    fn at(count: u64, r: f64, r_rest: f64) -> Reduced {
        let [table, table_error] = EXP[count as usize & 127].map(f64::from_bits);
        Reduced { table, table_error, r, r_rest, exponent: (count & ((1 << 22) - 1)) >> 7 }
    }

    /// Returns the terms of the power beyond 1 + `r`, relative to the value of the table.
    #[inline(always)]
    fn terms(&self) -> f64 {
        self.r * self.r * series(self.r) + (self.r_rest + self.table_error)
    }
}

/// Half of e^x - 1 as a sum of two, for x in [-60, 709.9].
#[inline(always)]
pub(super) fn half_expm1(x: f64) -> Sum {
    let reduced = Reduced::of(x, 0.0);
    let Reduced { table, table_error, r, exponent, .. } = reduced;
    let (table_upper, r_upper) = (upper(table), upper(r));
    let product_rest = (table_upper * (r - r_upper) + (table - table_upper) * r)
        + table * (reduced.terms() + r * table_error);
    let half = f64::from_bits(exponent.wrapping_sub(8193 - 1023) << 52);
    let start = Sum::add(table * half, -0.5);
    let linear = start.plus(table_upper * r_upper * half); // the product is exact
    Sum::quick(linear.value, linear.rest + product_rest * half)
}

/// A power of e: (`near` + `rest`) * 2^(`exponent` - 8192), with `near` in or close to [1, 2).
pub(super) struct Power {
    pub(super) near: f64,
    pub(super) rest: f64,
    exponent: u64,
}

impl Power {
    /// Computes e^(x + rest), where the rest is below a millionth of x. NaN stays NaN.
    #[inline(always)]
    pub(super) fn of(x: f64, rest: f64) -> Power {
        let rest = select(x.abs() > LIMIT, 0.0, rest);
        Power::from(Reduced::of(limited(x, LIMIT), rest))
    }

    /// Computes 2^x. NaN stays NaN.
    #[inline(always)]
    fn of_two(x: f64) -> Power {
        let x = limited(x, LIMIT2);
        let shifted = x * 128.0 + ROUND_UP;
        let part = x - (shifted - ROUND_UP) * (1.0 / 128.0);
        let r = Sum::product(part, LN2);
        Power::from(Reduced::at(shifted.to_bits(), r.value, r.rest + part * LN2_REST))
    }

    #[inline(always)]
    fn from(reduced: Reduced) -> Power {
        let Reduced { table, exponent, .. } = reduced;
        let added = table * (reduced.r + reduced.terms());
        let near = table + added;
        Power { near, rest: (table - near) + added, exponent }
    }

    /// Returns half of the power.
    #[inline(always)]
    pub(super) fn half(self) -> Power {
        Power { exponent: self.exponent.wrapping_sub(1), ..self }
    }

    /// Returns the power, rounded once even if it is subnormal.
    #[inline(always)]
    pub(super) fn rounded(&self) -> f64 {
        const SMALLEST: u64 = 8192 - 1022;
        let subnormal =
            (self.exponent < SMALLEST) | ((self.exponent == SMALLEST) & (self.near < 1.0));
        // Added to this power of two, a number is rounded at the last place that the scaled subnormal result has.
        let ruler = f64::from_bits(8193u64.wrapping_sub(self.exponent) << 52);
        let ruler = select(subnormal, ruler, 0.0);
        let sum = ruler + self.near;
        let sum_rest = ((ruler - sum) + self.near) + self.rest;
        self.scale((sum + sum_rest) - ruler)
    }

    /// Returns `x` times the power of two, in two steps, because the power itself may be out of range.
    #[inline(always)]
    pub(super) fn scale(&self, x: f64) -> f64 {
        let half = self.exponent >> 1;
        let power = |exponent: u64| f64::from_bits(exponent.wrapping_sub(4096 - 1023) << 52);
        x * power(half) * power(self.exponent - half)
    }
}
