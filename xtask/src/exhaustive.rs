//! `cargo xtask exhaustive`: every pair of 16-bit operands, and the errors of the mathematical functions.

use crate::arguments::Arguments;
use crate::run::{cargo, finish};
use crate::{Command, Outcome};

pub const COMMAND: Command = Command {
    name: "exhaustive",
    usage: "",
    about: "Runs every operation on every pair of 16-bit operands, which takes hours.",
    run,
};

/// Runs the tests `exhaustive16` and `math` over all that they have.
fn run(arguments: Arguments) -> Outcome {
    arguments.finish()?;
    for test in ["--test exhaustive16", "--test math -- --nocapture"] {
        finish(cargo(&format!("test --release {test}")).env("BITLANE_EXHAUSTIVE", "1"))?;
    }
    Ok(())
}
