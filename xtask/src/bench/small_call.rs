//! `cargo xtask small-call`: counts the instructions of a call on one element on the CPU.
//!
//! Times of such a call are noisy; instruction counts are not, and do not depend on other load on the machine. They are
//! counted by valgrind and checked against a limit.

use std::path::Path;
use std::process::Command as Program;

use super::peers::build;
use crate::arguments::Arguments;
use crate::overhead::instructions;
use crate::{Command, Failure, Outcome};

pub const COMMAND: Command = Command {
    name: "small-call",
    usage: "",
    about: "Counts the instructions of a small call on the CPU, and fails if there are too many.",
    run,
};

/// The modes of a shift that are counted, and their limits. The counts were 856 and 1,127 when the limits were set;
/// lower the limits whenever a call gets cheaper.
const CALLS: &[(&str, u64)] = &[("out", 900), ("fresh", 1_200)];

/// The limit for an expression of three operations, built and run on one element. The count was 2,172, 1.9 times that
/// of a fresh shift.
const EXPRESSION: u64 = 2_280;

fn run(arguments: Arguments) -> Outcome {
    arguments.finish()?;
    let benchmark = build("small_call")?;
    let mut too_many = Vec::new();
    let mut ordinary = 0;
    for &(mode, limit) in CALLS {
        let count = per_call(&benchmark, mode)?;
        println!(
            "a shift of one element, {mode}: {count} instructions, at most {limit} are allowed"
        );
        if count > limit {
            too_many.push(mode);
        }
        ordinary = count;
    }
    let mode = "expression";
    let count = per_call(&benchmark, mode)?;
    println!(
        "three operations on one element, {mode}: {count} instructions, at most {EXPRESSION} are allowed; {:.2} times a \
         fresh shift",
        count as f64 / ordinary as f64
    );
    if count > EXPRESSION {
        too_many.push(mode);
    }
    if too_many.is_empty() {
        return Ok(());
    }
    Err(format!("a small call has become more expensive: {}", too_many.join(", ")).into())
}

/// Returns the instructions of one call.
fn per_call(benchmark: &Path, mode: &str) -> Result<u64, Failure> {
    let (few, many) = (1_000, 3_000);
    let mut counts = [0; 2];
    for (count, calls) in counts.iter_mut().zip([few, many]) {
        let mut command = Program::new("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(benchmark);
        let Some(total) = instructions(command.args(["--calls", mode, &calls.to_string()]))? else {
            return Err("instructions cannot be counted: there is no valgrind".into());
        };
        *count = total;
    }
    // The difference cancels the start and the end of the program.
    Ok((counts[1] - counts[0]) / (many - few))
}
