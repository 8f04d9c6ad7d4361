//! Building blocks shared by the functions for narrow formats and those for f64: bit manipulation of an f64, and the
//! special cases.
//!
//! Conditions are combined with `&` and `|`, and [`select`] chooses between two values that have both been computed.
//! There are therefore no branches, and loops over these functions are vectorised.

/// Chooses between two values without a branch.
pub(super) use std::hint::select_unpredictable as select;

use super::tables::{LOG, LOG_START};

/// Adding this to a number of magnitude below 2^50 rounds the number to an integer, which ends up in the lowest bits of
/// the sum.
pub(super) const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52

/// Returns `x` with only the upper 26 bits of its significand; the remainder has 27 bits. The product of two upper
/// parts is exact, and so is that of an upper part and a number of at most 27 bits.
#[inline(always)]
pub(super) fn upper(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & !((1 << 27) - 1))
}

/// Returns `x`, negated if the sign bit of `sign` is set.
#[inline(always)]
pub(super) fn flip(x: f64, sign: f64) -> f64 {
    f64::from_bits(x.to_bits() ^ (sign.to_bits() & (1 << 63)))
}

/// The decomposition `x` = `significand` * 2^`exponent`, with the significand in [0.7044, 1.4088), and its row of
/// [`LOG`].
pub(super) struct Split {
    pub(super) significand: f64,
    pub(super) exponent: f64,
    pub(super) row: &'static [u64; 4],
}

impl Split {
    /// Decomposes a positive normal number. The result for any other number is meaningless and must not be used.
    #[inline(always)]
    pub(super) fn of(x: f64) -> Split {
        let offset = x.to_bits().wrapping_sub(LOG_START);
        let row = &LOG[(offset >> 45) as usize & 127];
        let significand = f64::from_bits(x.to_bits().wrapping_sub(offset & (0xfff << 52)));
        // The exponent plus 2048 becomes the low bits of the significand of 2^52, which converts it to a float without
        // a conversion instruction.
        let biased = offset.wrapping_add(2048 << 52) >> 52;
        let exponent = f64::from_bits(0x4330_0000_0000_0000 | biased) - 4_503_599_627_372_544.0; // 2^52 + 2048
        Split { significand, exponent, row }
    }
}

/// Whether the exponent of a power is an integer, and whether it is odd.
pub(super) struct Parity {
    /// Infinity counts as an even integer.
    pub(super) integer: bool,
    pub(super) odd: bool,
}

/// Handles the special cases of x^y. `power` is |x|^y, correct for finite x other than 0 and any y.
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

/// Handles the special cases of log x. `log` is correct for positive finite x.
#[inline(always)]
pub(super) fn log_cases(x: f64, log: f64) -> f64 {
    let log = select(x == f64::INFINITY, x, log);
    let log = select(x == 0.0, f64::NEG_INFINITY, log);
    select((x < 0.0) | x.is_nan(), f64::NAN, log)
}

/// Handles the special cases of log(e^x + e^y). `sum` is correct for finite x and y, and if exactly one of them is
/// -inf.
#[inline(always)]
pub(super) fn logaddexp_cases(x: f64, y: f64, sum: f64) -> f64 {
    let sum = select((x == y) & (x == f64::NEG_INFINITY), x, sum);
    let sum = select((x == f64::INFINITY) | (y == f64::INFINITY), f64::INFINITY, sum);
    select(x.is_nan() | y.is_nan(), f64::NAN, sum)
}

/// Clamps `x` to [-`limit`, `limit`]. NaN stays NaN.
#[inline(always)]
pub(super) fn limited(x: f64, limit: f64) -> f64 {
    let x = select(x > limit, limit, x);
    select(x < -limit, -limit, x)
}

/// The reduction of atan2(y, x) to an angle of a right triangle with positive legs, `short` ≤ `long`.
pub(super) struct Triangle {
    pub(super) short: f64,
    pub(super) long: f64,
    /// Whether the point is closer to the vertical axis, from which the angle is then measured.
    steep: bool,
    /// Whether the point is to the left of the vertical axis.
    left: bool,
}

impl Triangle {
    /// Creates the triangle of the point (x, y). If a coordinate is NaN, so is one of the legs.
    #[inline(always)]
    pub(super) fn of(y: f64, x: f64) -> Triangle {
        let (height, width) = (y.abs(), x.abs());
        let steep = height > width;
        let short = select(steep, width, height);
        let long = select(steep, height, width);
        // Two infinities have the angle of two equal numbers, and two zeros that of 0 over 1.
        let infinite = (short == f64::INFINITY) & (long == f64::INFINITY);
        let short = select(infinite, 1.0, short);
        let long = select(infinite | (long == 0.0), 1.0, long);
        Triangle { short, long, steep, left: x.is_sign_negative() }
    }

    /// Returns the angle of the axis from which the angle is measured: 0, `half` or `whole`.
    #[inline(always)]
    pub(super) fn axis(&self, half: f64, whole: f64) -> f64 {
        select(self.steep, half, select(self.left, whole, 0.0))
    }

    /// Returns the angle with the sign with which it is added to that of the axis.
    #[inline(always)]
    pub(super) fn turn(&self, angle: f64) -> f64 {
        select(self.steep != self.left, -angle, angle)
    }
}
