//! `pow`, `atan2` and `logaddexp` of pairs of 16 bits, compared with the crate's own f64 functions.
//!
//! Those have a relative error of about 2^-52, so they determine the correctly rounded result of 16 bits unless they
//! are near a tie. There the double-double reference of `tests/math` decides.

use bitlane::{BinaryOp, Device, Tensor, binary};

use super::rounding::Table;
use crate::function::Function;
use crate::reference::exact;

/// The largest error allowed, in units in the last place: the bound of docs/semantics.md.
const BOUND: f64 = 0.501;

/// Closer to a tie than this, the reference cannot tell on which side the result is, and it counts as a tie.
const TIE: f64 = 1.0 / (1u128 << 76) as f64;

/// The findings in a number of pairs.
#[derive(Clone, Copy)]
pub struct Tally {
    /// Pairs whose results are near a tie, so that the reference had to decide.
    pub near: u64,
    /// Of these, results that are ties as far as the reference can see.
    pub ties: u64,
    /// Results that are not the nearest number, or not the even one at a tie.
    pub misrounded: u64,
    /// By how much the largest error exceeds half a unit in the last place, and where.
    pub worst: f64,
    pub at: (f64, f64),
}

impl Default for Tally {
    fn default() -> Tally {
        Tally { near: 0, ties: 0, misrounded: 0, worst: f64::NEG_INFINITY, at: (0.0, 0.0) }
    }
}

impl Tally {
    pub fn add(&mut self, other: Tally) {
        self.near += other.near;
        self.ties += other.ties;
        self.misrounded += other.misrounded;
        self.raise(other.worst, other.at);
    }

    fn raise(&mut self, excess: f64, at: (f64, f64)) {
        if excess > self.worst {
            (self.worst, self.at) = (excess, at);
        }
    }
}

fn function(op: BinaryOp) -> Function {
    match op {
        BinaryOp::Pow => Function::Pow,
        BinaryOp::Atan2 => Function::Atan2,
        BinaryOp::LogAddExp => Function::Logaddexp,
        other => panic!("{other} is no such function"),
    }
}

/// Returns the f64 function of one number and every number of the format.
pub fn wide(op: BinaryOp, x: f64, rights: &[f64], device: &Device) -> Result<Vec<f64>, String> {
    let tensor = |numbers: &[f64]| Tensor::from_slice(numbers, [numbers.len()], device);
    let run = || binary(op, &tensor(&[x])?, &tensor(rights)?).run()?.to_vec();
    run().map_err(|error: bitlane::Error| error.to_string())
}

/// Checks the results of one left operand with every right operand.
pub fn check(
    op: BinaryOp,
    table: &Table,
    x: u16,
    results: &[u16],
    wide: &[f64],
) -> Result<Tally, String> {
    let mut tally = Tally::default();
    for ((&result, &wide), y) in results.iter().zip(wide).zip(0..=u16::MAX) {
        // Nearly all results pass here.
        if !table.clearly[usize::from(result)].contains(wide) {
            decide(op, table, (x, y), result, wide, &mut tally)?;
        }
    }
    Ok(tally)
}

/// Checks a result that is near a tie, or NaN, or wrong.
#[cold]
fn decide(
    op: BinaryOp,
    table: &Table,
    (x, y): (u16, u16),
    result: u16,
    wide: f64,
    tally: &mut Tally,
) -> Result<(), String> {
    let number = |bits: u16| table.values[usize::from(bits)];
    if wide.is_nan() && table.is_nan(result) {
        return Ok(());
    }
    let wrong = |reason: &str| {
        Err(format!(
            "{x:#06x} and {y:#06x} ({:e} and {:e}) give {result:#06x} ({:e}), the function of f64 {wide:e}: {reason}",
            number(x),
            number(y),
            number(result),
        ))
    };
    let (mut left, right, mut given) = (number(x), number(y), number(result));
    if wide.is_nan() || given.is_nan() || given.is_sign_negative() != wide.is_sign_negative() {
        return wrong("another sign, or one of them NaN");
    }
    // The sign of a power has been checked; its magnitude is the power of the magnitude.
    if op == BinaryOp::Pow {
        (left, given) = (left.abs(), given.abs());
    }
    let special = !left.is_finite() || !right.is_finite() || left == 0.0 || right == 0.0;
    if special && op != BinaryOp::LogAddExp || !left.is_finite() || !right.is_finite() {
        return wrong("a special case");
    }
    let truth = exact(function(op), left, right);
    // `logaddexp` is no more precise than its operands.
    let unit = (op == BinaryOp::LogAddExp).then(|| left.abs().max(right.abs()));
    let excess = table.format.beyond_half(given, truth, unit);
    tally.near += 1;
    tally.raise(excess, (number(x), number(y)));
    let tie = excess.abs() < TIE;
    tally.ties += u64::from(tie);
    tally.misrounded += u64::from(excess >= TIE || tie && result % 2 == 1);
    // Written so that NaN fails.
    if excess <= BOUND - 0.5 { Ok(()) } else { wrong(&format!("0.5 + {excess} ulp off")) }
}
