//! Tables of the 16-bit formats: the value of each bit pattern, and the range of numbers that round to it.
//!
//! With them, a result is checked without rounding anything: it is right if the exact number lies between the ties on
//! either side.

use crate::function::{BF16, F16, Format};
use bitlane::DType;

/// Numbers closer than this to a tie, in units in the last place, are left to the reference. About one in 2^13 is.
const NEAR: f64 = 1.0 / 16_384.0;

/// A range of numbers by their [`key`]s, including both ends.
#[derive(Clone, Copy)]
pub struct Span {
    low: i64,
    high: i64,
}

impl Span {
    #[inline(always)]
    pub fn contains(self, number: f64) -> bool {
        let key = key(number);
        self.low <= key && key <= self.high
    }
}

/// Returns an integer that is ordered like the number, with -0 below +0 and NaN beyond both infinities.
#[inline(always)]
fn key(number: f64) -> i64 {
    let bits = number.to_bits() as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

/// The tables of a format, with one entry per bit pattern.
pub struct Table {
    pub format: Format,
    pub values: Vec<f64>,
    /// The numbers that round to this pattern, including ties if it is even.
    pub exactly: Vec<Span>,
    /// The numbers that round to this pattern and are not near a tie.
    pub clearly: Vec<Span>,
}

impl Table {
    /// Creates the tables of a 16-bit float dtype.
    pub fn of(dtype: DType) -> Table {
        let format = if dtype == DType::F16 { F16 } else { BF16 };
        let mut magnitudes = format.magnitudes();
        let finite = magnitudes.len();
        // The number after the largest one: above the tie between the two, numbers round to infinity.
        magnitudes.push(2f64.powi(format.largest + 1));
        let value = |bits: usize| match bits.cmp(&finite) {
            std::cmp::Ordering::Less => magnitudes[bits],
            std::cmp::Ordering::Equal => f64::INFINITY,
            std::cmp::Ordering::Greater => f64::NAN,
        };
        // The ties below and above, each with its unit in the last place.
        let below = |bits: usize| {
            let unit = magnitudes[bits] - magnitudes[bits - 1];
            (magnitudes[bits] - unit / 2.0, unit)
        };
        let span = |bits: usize, clear: bool| {
            if bits > finite {
                return Span { low: 0, high: -1 }; // no number rounds to NaN
            }
            let open = i64::from(bits % 2 == 1);
            let low = match bits {
                0 => key(0.0),
                _ if clear => key(below(bits).0 + NEAR * below(bits).1),
                _ => key(below(bits).0) + open,
            };
            let high = match bits {
                _ if bits == finite => key(f64::INFINITY),
                _ if clear => key(below(bits + 1).0 - NEAR * below(bits + 1).1),
                _ => key(below(bits + 1).0) - open,
            };
            Span { low, high }
        };
        // The other half is the same with the opposite sign, which reverses the order.
        let negative = |span: Span| Span { low: !span.high, high: !span.low };
        let both = |clear| -> Vec<Span> {
            let half = (0..1 << 15).map(|bits| span(bits, clear));
            half.clone().chain(half.map(negative)).collect()
        };
        Table {
            format,
            values: (0..1 << 15).map(value).chain((0..1 << 15).map(|bits| -value(bits))).collect(),
            exactly: both(false),
            clearly: both(true),
        }
    }

    pub fn is_nan(&self, bits: u16) -> bool {
        self.values[usize::from(bits)].is_nan()
    }
}

/// Checks the tables on cases that can be verified by hand.
pub fn check_tables() {
    let table = Table::of(DType::F16);
    let holds = |bits: usize, number| {
        (table.exactly[bits].contains(number), table.clearly[bits].contains(number))
    };
    assert_eq!(table.values[0xc000], -2.0);
    for (bits, number, expected) in [
        (0x3c00, 1.0, (true, true)),
        (0x3c00, 1.0 + 2f64.powi(-11), (true, false)), // a tie, and this number is even
        (0x3c01, 1.0 + 2f64.powi(-11), (false, false)),
        (0x3c01, 1.0 + 2f64.powi(-10), (true, true)),
        (0x3c00, 1.0 - 2f64.powi(-12), (true, false)), // below a power of two, the spacing is half as wide
        (0x3bff, 1.0 - 2f64.powi(-12), (false, false)),
        (0x0000, 0.0, (true, true)),
        (0x0000, -0.0, (false, false)),
        (0x8000, -0.0, (true, true)),
        (0x8000, -2f64.powi(-25), (true, false)),
        (0x7bff, 65_519.0, (true, true)),
        (0x7c00, 65_520.0, (true, false)),
        (0xfc00, f64::NEG_INFINITY, (true, true)),
        (0x7c00, f64::NEG_INFINITY, (false, false)),
        (0x7e00, f64::NAN, (false, false)),
        (0x7c00, f64::NAN, (false, false)),
        (0xbc01, -1.0 - 2f64.powi(-10), (true, true)),
    ] {
        assert_eq!(holds(bits, number), expected, "{bits:#06x} and {number}");
    }
}
