//! `cargo xtask exhaustive`: every pair of 16-bit operands, every f32 operand of a function, and the errors of the
//! mathematical functions.

use crate::Outcome;
use crate::run::{cargo, finish};

/// Runs operations on every pair of 16-bit operands, or functions of one operand on every f32.
///
/// An operation takes a minute on two cores, a mathematical function up to five. Without arguments, every pass is run,
/// and then the errors of the functions are measured on 10^8 arguments, which takes hours.
#[derive(clap::Args)]
pub struct Options {
    /// The operations and dtypes to run, such as `pow atan2 f16`, or `sin cos f32`.
    passes: Vec<String>,
    /// A range of left operands by their bits; 0..65536 is all of them.
    #[arg(long)]
    rows: Option<String>,
}

/// Runs `exhaustive16` over all pairs and, if nothing in particular is selected, the exhaustive mode of the other
/// tests of functions. With the dtype f32, runs the tests of every f32, of the functions of the CPU and of CUDA's on the host.
pub fn run(Options { passes, rows }: Options) -> Outcome {
    let test = |test: &str| {
        let mut command = cargo(&format!("test --release --test {test}"));
        command.env("BITLANE_EXHAUSTIVE", "1");
        command
    };
    if passes.iter().any(|word| word == "f32") {
        let names: Vec<_> = passes.into_iter().filter(|word| word != "f32").collect();
        let mut inputs = test("math --features host-kernels -- every_f32 --nocapture");
        return finish(inputs.env("BITLANE_PASSES", names.join(" ")));
    }
    let mut pairs = test("math -- exhaustive16:: --nocapture");
    // The test runs rows in parallel itself, so the CPU backend needs only one thread.
    pairs.env("BITLANE_CPU", "threads=1").env("BITLANE_PASSES", passes.join(" "));
    let whole = passes.is_empty() && rows.is_none();
    if let Some(rows) = rows {
        pairs.env("BITLANE_ROWS", rows);
    }
    finish(&mut pairs)?;
    if !whole {
        return Ok(());
    }
    finish(&mut test("math --features host-kernels -- --nocapture --skip exhaustive16::"))
}
