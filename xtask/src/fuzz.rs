//! `cargo xtask fuzz`: runs the fuzz targets, built with coverage and AddressSanitizer as `cargo fuzz` builds them.
//!
//! `cargo fuzz` would add only a few compiler flags. They are set here, so nothing has to be installed and the stable
//! compiler suffices.

use std::path::PathBuf;
use std::process;

use crate::run::{HOST, cargo, finish, root, unstable};
use crate::{Failure, Outcome};

/// Runs the fuzz targets of fuzz/, with coverage and AddressSanitizer.
///
/// Each target runs with the CPU backend's default settings, and again with blocks and thresholds so small that every
/// case crosses them. The inputs found are kept in target/fuzz/found. An input that fails is written to fuzz/artifacts;
/// `target/fuzz/…/release/TARGET FILE` reproduces the failure.
#[derive(clap::Args)]
pub struct Options {
    /// How long, in total.
    #[arg(default_value_t = 60)]
    seconds: u64,
    /// Only this target.
    #[arg(long, value_parser = TARGETS)]
    target: Option<String>,
    /// Merge the new inputs that increase coverage into the corpus in fuzz/corpus.
    #[arg(long)]
    keep: bool,
}

const TARGETS: [&str; 3] = ["calls", "expressions", "files"];

/// The values of `BITLANE_CPU` that each target runs with.
const SETTINGS: [&str; 2] = ["", "baseline,block=64,parallel=1,stream=256,rows=1,threads=3"];

/// The coverage instrumentation that guides libFuzzer, and AddressSanitizer.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Zsanitizer=address";

pub fn run(Options { seconds, target, keep }: Options) -> Outcome {
    let targets = target.as_deref().map_or(TARGETS.to_vec(), |target| vec![target]);
    let each = (seconds / (targets.len() * SETTINGS.len()) as u64).max(1);
    println!("building the fuzz targets with instrumentation");
    build()?;
    for target in targets {
        for settings in SETTINGS {
            println!("fuzzing {target} for {each} s, BITLANE_CPU={settings:?}");
            finish(
                fuzzer(target)?.arg(format!("-max_total_time={each}")).env("BITLANE_CPU", settings),
            )?;
        }
        if keep {
            println!("adding to the corpus of {target} what reaches something new");
            finish(merger(target).args(["-merge=1".into(), corpus(target), found(target)]))?;
        }
    }
    Ok(())
}

fn build() -> Outcome {
    let mut command = unstable(cargo("build --release --quiet"), FLAGS);
    command.arg("--manifest-path").arg(root().join("fuzz/Cargo.toml"));
    command.args(["--target", HOST, "--target-dir"]).arg(root().join("target/fuzz"));
    finish(&mut command)
}

/// Returns the folder of the inputs that are checked in.
fn corpus(target: &str) -> PathBuf {
    root().join("fuzz/corpus").join(target)
}

/// Returns the folder of the inputs that earlier runs have found.
fn found(target: &str) -> PathBuf {
    root().join("target/fuzz/found").join(target)
}

fn merger(target: &str) -> process::Command {
    process::Command::new(root().join("target/fuzz").join(HOST).join("release").join(target))
}

/// Returns the command of a target with its options, except for its time limit.
fn fuzzer(target: &str) -> Result<process::Command, Failure> {
    let artifacts = root().join("fuzz/artifacts").join(target);
    for folder in [&artifacts, &found(target), &corpus(target)] {
        std::fs::create_dir_all(folder)?;
    }
    let mut command = merger(target);
    // libFuzzer writes new inputs to the first folder.
    command.args([found(target), corpus(target)]);
    command.args([
        "-max_len=512",
        "-len_control=0",
        "-timeout=60",
        "-rss_limit_mb=4096",
        // No input needs a larger single allocation.
        "-malloc_limit_mb=64",
        "-print_final_stats=1",
    ]);
    command.arg(format!("-artifact_prefix={}/", artifacts.display()));
    Ok(command)
}
