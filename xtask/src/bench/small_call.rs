//! `cargo xtask small-call`: counts the instructions of a call on one element on the CPU.
//!
//! Times of such a call are noisy; instruction counts are not, and do not depend on other load on the machine. They are
//! counted by valgrind and checked against a limit.

use std::path::PathBuf;
use std::process::Command;

use crate::overhead::{CALLGRIND, build, per_call};
use crate::{Failure, Outcome};

/// The modes that are counted, and their limits. The counts were 1,069, 1,383 and 2,497 when the limits were set, and differ by
/// some twenty with how the compiler divides the crate into units; lower the limits whenever a call gets cheaper.
const CALLS: &[(&str, &str, u64)] = &[
    ("out", "a shift of one element", 1_090),
    ("fresh", "a shift of one element", 1_400),
    ("expression", "three operations on one element", 2_550),
];

/// Builds the benchmark and returns its path.
pub fn build_calls() -> Result<PathBuf, Failure> {
    build("small_call", "")
}

/// Counts the instructions of a small call on the CPU, and fails if there are too many.
pub fn run() -> Outcome {
    let benchmark = build_calls()?;
    let mut too_many = Vec::new();
    let mut ordinary = 0;
    for &(mode, what, limit) in CALLS {
        let count = per_call(|calls| {
            let mut command = Command::new("valgrind");
            command.args(CALLGRIND).arg(&benchmark).args(["--calls", mode, calls]);
            command
        })?;
        print!("{what}, {mode}: {count} instructions, at most {limit} are allowed");
        match mode {
            "fresh" => ordinary = count,
            "expression" => print!("; {:.2} times a fresh shift", count as f64 / ordinary as f64),
            _ => {}
        }
        println!();
        if count > limit {
            too_many.push(mode);
        }
    }
    if too_many.is_empty() {
        return Ok(());
    }
    Err(format!("a small call has become more expensive: {}", too_many.join(", ")).into())
}
