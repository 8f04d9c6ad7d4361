//! `bitlane verdict`: tests a GPU. One page says what it is, whether it computes the same bits as the CPU, and how fast it is.

#[cfg(feature = "cuda")]
mod cases;
#[cfg(feature = "cuda")]
mod classes;
#[cfg(feature = "cuda")]
mod compare;
#[cfg(feature = "cuda")]
mod environment;
#[cfg(feature = "cuda")]
mod process;
#[cfg(feature = "cuda")]
mod report;
#[cfg(feature = "cuda")]
mod scenes;
#[cfg(feature = "cuda")]
mod speed;

use std::path::PathBuf;

use clap::Args;

use crate::answer::Outcome;

/// The arguments of `verdict`.
#[derive(Args)]
pub struct Options {
    /// The device to test: cuda or cuda:NUMBER
    #[arg(long, default_value = "cuda")]
    device: String,
    /// A sample of the comparisons, and no measurements
    #[arg(long)]
    quick: bool,
    /// Where the whole report is written, in JSON
    #[arg(long, default_value = "bitlane-verdict.json", value_name = "FILE")]
    report: PathBuf,
    /// Where to write the digests of all comparisons, to be recorded
    #[arg(long, hide = true, value_name = "FILE")]
    record: Option<PathBuf>,
    /// How the command asks a process of its own for a part
    #[arg(long, hide = true)]
    part: Option<String>,
    /// The first step of the part
    #[arg(long, hide = true, default_value_t = 0)]
    from: usize,
}

/// Runs the command.
#[cfg(not(feature = "cuda"))]
pub fn run(options: &Options) -> Outcome {
    let Options { device, quick, report, record, part, from } = options;
    let _ = (device, quick, report, record, part, from);
    Err(crate::failure::NO_CUDA.into())
}

/// Runs the command. The exit code is 1 if anything differs or fails.
#[cfg(feature = "cuda")]
pub fn run(options: &Options) -> Outcome {
    match &options.part {
        Some(part) => tell_part(part, options),
        None => report::run(options),
    }
}

/// Runs the steps of a part, and tells of them on standard output.
#[cfg(feature = "cuda")]
fn tell_part(part: &str, options: &Options) -> Outcome {
    use serde_json::{Value, json};

    let device = crate::operands::device(&options.device)?;
    match part {
        "environment" => {
            let facts = environment::read(&device)?;
            let is_virtual = bitlane::introspect::is_virtual();
            process::tell("facts", json!({ "virtual": is_virtual, "facts": facts }))?;
            process::tell("end", Value::Bool(true))?;
        }
        "scenes" => scenes::tell_scenes(&device, options.from)?,
        "speed" => speed::tell_speed(&device, options.from)?,
        _ => {
            let cases = cases::chosen(match (options.quick, part) {
                (true, _) => cases::Extent::Quick,
                (false, "other code") => cases::Extent::Some,
                (false, _) => cases::Extent::All,
            });
            compare::tell_cases(&device, &cases, options.from)?;
        }
    }
    Ok(crate::answer::Answer::new("", json!({ "over": true })))
}
