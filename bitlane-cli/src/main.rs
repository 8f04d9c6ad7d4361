//! The program `bitlane`: operations on `.npy` files, promotion tables, files of quantised weights, and diagnostics of a
//! machine.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod answer;
mod bench;
mod doctor;
mod evaluate;
mod expression;
mod failure;
mod kernels;
mod names;
mod operands;
mod progress;
mod promotion;
mod quant;
mod run;
mod verdict;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use self::answer::Answer;
use self::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  bitlane doctor
  bitlane run bitwise_right_shift words.npy 4 -o nibbles.npy
  bitlane eval '((w >> s) & 0xf) * scale' w=words.npy s=shifts.npy scale=0.5 -o weights.npy
  bitlane promote add i32 f32
  bitlane promote add --table --rules torch
  bitlane quant convert model/ model-awq/ --to awq

Exit codes: 0 on success, 1 if the command fails or finds a fault, 2 if the command line is wrong.";

/// Tensor operations on files, on CUDA devices and on the CPU, with the same bits on every device.
#[derive(Parser)]
#[command(name = "bitlane", version, after_help = EXAMPLES)]
struct Cli {
    /// Answer in JSON, on one line
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show what this machine has, what is missing and what to do about it
    Doctor,
    /// Run one operation on files and numbers
    Run(run::Options),
    /// Compute an expression over files and numbers in one pass
    Eval(evaluate::Options),
    /// Show which dtype an operation gives
    Promote(promotion::Options),
    /// Show and convert files of quantised weights
    #[command(subcommand)]
    Quant(quant::Command),
    /// List the CUDA kernels of this build
    Kernels(kernels::Options),
    /// Test a GPU: same bits as the CPU? how fast?
    Verdict(verdict::Options),
    /// Measure the CPU for a few seconds
    Bench(bench::Options),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refused(&error),
    };
    let outcome = match &cli.command {
        Command::Doctor => Ok(doctor::run()),
        Command::Run(options) => run::run(options),
        Command::Eval(options) => evaluate::run(options),
        Command::Promote(options) => promotion::run(options),
        Command::Quant(command) => quant::run(command),
        Command::Kernels(options) => kernels::run(options),
        Command::Verdict(options) => verdict::run(options),
        Command::Bench(options) => bench::run(options),
    };
    let answer = outcome.unwrap_or_else(|failure: Failure| {
        eprintln!("bitlane: {failure}");
        Answer::failed(&failure)
    });
    answer.print(cli.json)
}

/// Prints why the command line is wrong, or the help that it asks for.
fn refused(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() || !std::env::args().any(|argument| argument == "--json") {
        error.exit();
    }
    eprint!("{error}");
    let first = error.to_string();
    let first = first.lines().next().unwrap_or("").trim_start_matches("error: ");
    Answer::failed(&Failure::usage(first)).print(true)
}
