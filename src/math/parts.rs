//! What the functions for narrow formats and those for f64 have in common: tricks with the bits of an
//! f64, and the special cases.
//!
//! Conditions are combined with `&` and `|`, and every choice is between two values already computed:
//! so there is no branch, and a loop over these functions becomes vector code.

/// `a` if so, else `b`, and never by a branch.
pub(super) use std::hint::select_unpredictable as select;

use super::tables::{LOG, LOG_START};

/// Added to a number below 2^50, this rounds it to an integer, which then stands in the lowest bits.
pub(super) const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52

/// The upper 26 bits of the significand. What is left out has 27 bits, so the product of two upper
/// parts is exact, and so is that of an upper part with a number of 26 bits.
#[inline(always)]
pub(super) fn upper(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & !((1 << 27) - 1))
}

/// `x` with the sign of `sign` on top of its own.
#[inline(always)]
pub(super) fn flip(x: f64, sign: f64) -> f64 {
    f64::from_bits(x.to_bits() ^ (sign.to_bits() & (1 << 63)))
}

/// `x` = `significand` * 2^`exponent`, the significand in [0.7044, 1.4088), and the row of [`LOG`] for it.
pub(super) struct Split {
    pub(super) significand: f64,
    pub(super) exponent: f64,
    pub(super) row: &'static [u64; 4],
}

impl Split {
    /// Of a positive normal number; other numbers give something that nobody may use.
    #[inline(always)]
    pub(super) fn of(x: f64) -> Split {
        let offset = x.to_bits().wrapping_sub(LOG_START);
        let row = &LOG[(offset >> 45) as usize & 127];
        let significand = f64::from_bits(x.to_bits().wrapping_sub(offset & (0xfff << 52)));
        // The exponent plus 2048 becomes the end of the significand of 2^52: a conversion without its instruction.
        let biased = offset.wrapping_add(2048 << 52) >> 52;
        let exponent = f64::from_bits(0x4330_0000_0000_0000 | biased) - 4_503_599_627_372_544.0; // 2^52 + 2048
        Split { significand, exponent, row }
    }
}

/// What the exponent of a power is among the integers.
pub(super) struct Parity {
    /// Infinity counts as one, an even one.
    pub(super) integer: bool,
    pub(super) odd: bool,
}

/// x^y, given `power` = |x|^y for finite x other than 0 and any y.
#[inline(always)]
pub(super) fn pow_cases(x: f64, y: f64, parity: Parity, power: f64) -> f64 {
    let Parity { integer, odd } = parity;
    let size = x.abs();
    let at_end = select((size == 0.0) == (y > 0.0), 0.0, f64::INFINITY);
    let power = select((size == 0.0) | (size == f64::INFINITY), at_end, power);
    let power = flip(power, select(odd, x, 0.0));
    let complex = (x < 0.0) & (size < f64::INFINITY) & !integer;
    let power = select(complex | x.is_nan() | y.is_nan(), f64::NAN, power);
    select((y == 0.0) | (x == 1.0), 1.0, power)
}

/// log x, given `log` for positive finite x.
#[inline(always)]
pub(super) fn log_cases(x: f64, log: f64) -> f64 {
    let log = select(x == f64::INFINITY, x, log);
    let log = select(x == 0.0, f64::NEG_INFINITY, log);
    select((x < 0.0) | x.is_nan(), f64::NAN, log)
}

/// log(e^x + e^y), given `sum` for finite x and y, or where just one of them is -inf.
#[inline(always)]
pub(super) fn logaddexp_cases(x: f64, y: f64, sum: f64) -> f64 {
    let sum = select((x == y) & (x == f64::NEG_INFINITY), x, sum);
    let sum = select((x == f64::INFINITY) | (y == f64::INFINITY), f64::INFINITY, sum);
    select(x.is_nan() | y.is_nan(), f64::NAN, sum)
}

/// `x`, but not beyond `limit` on either side. NaN stays.
#[inline(always)]
pub(super) fn limited(x: f64, limit: f64) -> f64 {
    let x = select(x > limit, limit, x);
    select(x < -limit, -limit, x)
}

/// atan2(y, x) as an angle of a triangle with two positive sides, `short` not larger than `long`.
pub(super) struct Triangle {
    pub(super) short: f64,
    pub(super) long: f64,
    /// Whether the point is nearer to the vertical axis, from which the angle is then measured.
    steep: bool,
    /// Whether the point is left of that axis.
    left: bool,
}

impl Triangle {
    /// A NaN is one of the sides then.
    #[inline(always)]
    pub(super) fn of(y: f64, x: f64) -> Triangle {
        let (height, width) = (y.abs(), x.abs());
        let steep = height > width;
        let short = select(steep, width, height);
        let long = select(steep, height, width);
        // Two infinities make the angle that two equal numbers make, two zeros that of 0 over 1.
        let infinite = (short == f64::INFINITY) & (long == f64::INFINITY);
        let short = select(infinite, 1.0, short);
        let long = select(infinite | (long == 0.0), 1.0, long);
        Triangle { short, long, steep, left: x.is_sign_negative() }
    }

    /// The axis that the angle is measured from: 0, `half` or `whole`.
    #[inline(always)]
    pub(super) fn axis(&self, half: f64, whole: f64) -> f64 {
        select(self.steep, half, select(self.left, whole, 0.0))
    }

    /// The angle as it is added to that of the axis.
    #[inline(always)]
    pub(super) fn turn(&self, angle: f64) -> f64 {
        select(self.steep != self.left, -angle, angle)
    }
}
