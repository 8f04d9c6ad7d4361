//! `cargo xtask exhaustive`: every pair of 16-bit operands, and the errors of the mathematical functions.

use crate::Outcome;
use crate::run::{cargo, finish};

/// Runs operations on every pair of 16-bit operands.
///
/// An operation takes a minute on two cores, a mathematical function up to five. Without arguments, every pass is run,
/// and then the errors of the functions are measured on 10^8 arguments, which takes hours.
#[derive(clap::Args)]
pub struct Options {
    /// The operations and dtypes to run, such as `pow atan2 f16`.
    passes: Vec<String>,
    /// A range of left operands by their bits; 0..65536 is all of them.
    #[arg(long)]
    rows: Option<String>,
}

/// Runs `exhaustive16` over all pairs and, if nothing in particular is selected, the exhaustive mode of the other
/// tests of functions.
pub fn run(Options { passes, rows }: Options) -> Outcome {
    let test = |test: &str| {
        let mut command = cargo(&format!("test --release --test {test}"));
        command.env("BITLANE_EXHAUSTIVE", "1");
        command
    };
    let mut pairs = test("math -- exhaustive16:: --nocapture");
    // The test runs rows in parallel itself, so the CPU backend needs only one thread.
    pairs.env("BITLANE_CPU", "threads=1").env("BITLANE_PASSES", passes.join(" "));
    let whole = passes.is_empty() && rows.is_none();
    if let Some(rows) = rows {
        pairs.env("BITLANE_ROWS", rows);
    }
    finish(&mut pairs)?;
    if whole { finish(&mut test("math -- --nocapture --skip exhaustive16::")) } else { Ok(()) }
}
