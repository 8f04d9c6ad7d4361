//! `cargo xtask exhaustive`: every pair of 16-bit operands.

use crate::Outcome;
use crate::run::{cargo, finish};

/// Runs the test `exhaustive16` over all pairs.
pub fn run(_: &[String]) -> Outcome {
    finish(cargo("test --release --test exhaustive16").env("BITLANE_EXHAUSTIVE", "1"))
}
