//! What the functions for narrow formats and those for f64 have in common: tricks with the bits of an
//! f64, and the special cases.
//!
//! Conditions are combined with `&` and `|`, and every choice is between two values already computed:
//! so there is no branch, and a loop over these functions becomes vector code.

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

/// Whether a number that is not negative is an integer. From 2^52 on all are, and infinity counts.
#[inline(always)]
fn is_integer(x: f64) -> bool {
    const LARGE: f64 = 4_503_599_627_370_496.0; // 2^52
    (x >= LARGE) | ((x + LARGE) - LARGE == x)
}

/// x^y, given `power` = |x|^y for finite x other than 0 and any y.
#[inline(always)]
pub(super) fn pow_cases(x: f64, y: f64, power: f64) -> f64 {
    let size = x.abs();
    let integer = is_integer(y.abs());
    let odd = integer & !is_integer(y.abs() * 0.5);
    let at_end = if (size == 0.0) == (y > 0.0) { 0.0 } else { f64::INFINITY };
    let power = if (size == 0.0) | (size == f64::INFINITY) { at_end } else { power };
    let power = flip(power, if odd { x } else { 0.0 });
    let complex = (x < 0.0) & (size < f64::INFINITY) & !integer;
    let power = if complex | x.is_nan() | y.is_nan() { f64::NAN } else { power };
    if (y == 0.0) | (x == 1.0) { 1.0 } else { power }
}

/// log x, given `log` for positive finite x.
#[inline(always)]
pub(super) fn log_cases(x: f64, log: f64) -> f64 {
    let log = if x == f64::INFINITY { x } else { log };
    let log = if x == 0.0 { f64::NEG_INFINITY } else { log };
    if (x < 0.0) | x.is_nan() { f64::NAN } else { log }
}

/// log(e^x + e^y), given `sum` for finite x and y, or where just one of them is -inf.
#[inline(always)]
pub(super) fn logaddexp_cases(x: f64, y: f64, sum: f64) -> f64 {
    let sum = if (x == y) & (x == f64::NEG_INFINITY) { x } else { sum };
    let sum = if (x == f64::INFINITY) | (y == f64::INFINITY) { f64::INFINITY } else { sum };
    if x.is_nan() | y.is_nan() { f64::NAN } else { sum }
}

/// atan2(y, x) as an angle of a triangle whose sides are positive, the first not larger than the second.
pub(super) struct Triangle {
    pub(super) short: f64,
    pub(super) long: f64,
    /// What the angle is added to, in multiples of pi/2: 0, 1 or 2.
    quarters: u64,
    /// Whether the angle counts against the sense of rotation.
    backwards: bool,
}

impl Triangle {
    #[inline(always)]
    pub(super) fn of(y: f64, x: f64) -> Triangle {
        let (height, width) = (y.abs(), x.abs());
        let steep = height > width;
        let (short, long) = if steep { (width, height) } else { (height, width) };
        // Two infinities make the angle that two equal numbers make, two zeros that of 0 over 1.
        let (short, long) = if short == f64::INFINITY { (1.0, 1.0) } else { (short, long) };
        let long = if long == 0.0 { 1.0 } else { long };
        let left = x.is_sign_negative();
        let quarters = if steep {
            1
        } else if left {
            2
        } else {
            0
        };
        Triangle { short, long, quarters, backwards: steep != left }
    }

    /// What the angle is added to, one of 0, `half` and `whole`.
    #[inline(always)]
    pub(super) fn start(&self, half: f64, whole: f64) -> f64 {
        if self.quarters == 0 {
            0.0
        } else if self.quarters == 1 {
            half
        } else {
            whole
        }
    }

    /// The angle as it is added.
    #[inline(always)]
    pub(super) fn turn(&self, angle: f64) -> f64 {
        if self.backwards { -angle } else { angle }
    }
}

/// atan2(y, x), given the angle for positive y.
#[inline(always)]
pub(super) fn atan2_cases(y: f64, x: f64, angle: f64) -> f64 {
    if x.is_nan() | y.is_nan() { f64::NAN } else { flip(angle, y) }
}
