//! `cargo xtask exhaustive`: every pair of 16-bit operands.

use crate::arguments::Arguments;
use crate::run::{cargo, finish};
use crate::{Command, Outcome};

pub const COMMAND: Command = Command { name: "exhaustive", usage: "", run };

/// Runs the test `exhaustive16` over all pairs.
fn run(arguments: Arguments) -> Outcome {
    arguments.finish()?;
    finish(cargo("test --release --test exhaustive16").env("BITLANE_EXHAUSTIVE", "1"))
}
