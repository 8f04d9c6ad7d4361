//! `cargo xtask exhaustive`: every pair of 16-bit operands, and the errors of the mathematical functions.

use crate::arguments::Arguments;
use crate::run::{cargo, finish};
use crate::{Command, Outcome};

pub const COMMAND: Command = Command {
    name: "exhaustive",
    usage: "[OPERATION|DTYPE]... [--rows FROM..TO]",
    about: "Runs operations on every pair of 16-bit operands. An operation takes a minute on two cores, a \
            mathematical function up to five. Without arguments, every pass is run, and then the errors of the \
            functions are measured on 10^8 arguments, which takes hours. Arguments such as `pow atan2 f16` \
            select the passes of these operations and dtypes. --rows selects a range of left operands by their \
            bits; 0..65536 is all of them.",
    run,
};

/// Runs the test `exhaustive16` over all pairs and, if nothing in particular is selected, the exhaustive mode of
/// `math`.
fn run(mut arguments: Arguments) -> Outcome {
    let rows = arguments.value("--rows")?;
    let words: Vec<String> = std::iter::from_fn(|| arguments.word()).collect();
    arguments.finish()?;
    let test = |test: &str| {
        let mut command = cargo(&format!("test --release --test {test}"));
        command.env("BITLANE_EXHAUSTIVE", "1");
        command
    };
    let mut pairs = test("exhaustive16");
    // The test runs rows in parallel itself, so the CPU backend needs only one thread.
    pairs.env("BITLANE_CPU", "threads=1").env("BITLANE_PASSES", words.join(" "));
    let whole = words.is_empty() && rows.is_none();
    if let Some(rows) = rows {
        pairs.env("BITLANE_ROWS", rows);
    }
    finish(&mut pairs)?;
    if whole { finish(&mut test("math -- --nocapture")) } else { Ok(()) }
}
