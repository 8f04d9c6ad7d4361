//! `cargo xtask overhead`: the host-side cost of a call, with launches that do nothing.
//!
//! The comparison with plain cudarc is a benchmark. The regression check counts instructions, which do not depend on
//! other load on the machine.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process;

use crate::run::{cargo, executables, finish, root};
use crate::{Failure, Outcome, virtual_cuda, wheels};

/// Measures the host-side cost of a call, with launches that do nothing.
///
/// It times calls, then counts their instructions with valgrind and fails if there are too many.
#[derive(clap::Args)]
pub struct Options {
    /// Only count.
    #[arg(long)]
    count: bool,
}

/// The limit for a warm call into an existing destination, in instructions, including about 2,450 of the virtual
/// driver. The count was 4,070 when the limit was set.
const LIMIT: u64 = 4_300;

pub fn run(options: Options) -> Outcome {
    let benchmark = build_calls()?;
    let driver = virtual_cuda::build()?;
    let nvrtc = wheels::NVRTC_12.path()?;
    let prepared = |program: &OsStr| {
        let mut command = process::Command::new(program);
        command
            .envs(virtual_cuda::variables(&driver, &nvrtc))
            .env("BITLANE_CACHE", root().join("target/overhead-cache"))
            .envs([("VCUDA_STUB", "1"), ("VCUDA_ASYNC", "eager"), ("VCUDA_QUIET", "1")]);
        command
    };
    if !options.count {
        finish(&mut prepared(benchmark.as_ref()))?;
    }
    // The first run compiles the kernel; later runs find it in the cache.
    finish(prepared(benchmark.as_ref()).args(["--calls", "1"]))?;
    let count = per_call(|calls| {
        let mut command = prepared("valgrind".as_ref());
        command.args(CALLGRIND).arg(&benchmark).args(["--calls", calls]);
        command
    })?;
    println!("a warm call takes {count} instructions, at most {LIMIT} are allowed");
    if count <= LIMIT { Ok(()) } else { Err("a warm call has become more expensive".into()) }
}

/// Builds the benchmark and returns its path.
pub fn build_calls() -> Result<PathBuf, Failure> {
    build("overhead", "--features cuda")
}

/// Builds one of the crate's benchmarks and returns its path.
pub fn build(benchmark: &str, features: &str) -> Result<PathBuf, Failure> {
    let words = format!("build --release --bench {benchmark} {features}");
    let built = executables(&mut cargo(&words))?;
    let found = built.into_iter().find(|program| program.name == benchmark);
    Ok(found.ok_or_else(|| format!("cargo built no benchmark {benchmark}"))?.path)
}

/// The arguments of valgrind that make it count instructions.
pub const CALLGRIND: [&str; 2] = ["--tool=callgrind", "--callgrind-out-file=/dev/null"];

/// Whether this machine has valgrind, which not every one has.
pub fn can_count() -> bool {
    process::Command::new("valgrind").arg("--version").output().is_ok()
}

/// Returns the instructions of one call. The program is run with two numbers of calls; the difference cancels its start
/// and its end.
pub fn per_call(command: impl Fn(&str) -> process::Command) -> Result<u64, Failure> {
    let (few, many) = (1_000, 3_000);
    let mut counts = [0; 2];
    for (count, calls) in counts.iter_mut().zip([few, many]) {
        let output = command(&calls.to_string()).output();
        let output = output.map_err(|error| format!("valgrind did not start: {error}"))?;
        *count = instructions(&String::from_utf8_lossy(&output.stderr))?;
    }
    Ok((counts[1] - counts[0]) / (many - few))
}

/// Returns the number of instructions in what callgrind printed.
fn instructions(said: &str) -> Result<u64, Failure> {
    let line = said.lines().find_map(|line| line.split_once("I   refs:"));
    let digits =
        line.map(|(_, count)| count.chars().filter(char::is_ascii_digit).collect::<String>());
    let count = digits.and_then(|digits| digits.parse().ok());
    count.ok_or_else(|| format!("valgrind counted nothing:\n{said}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read() {
        assert_eq!(instructions("==1== \n==1== I   refs:      12,345,678\n").unwrap(), 12_345_678);
        assert!(instructions("==1== Segmentation fault").is_err());
    }

    #[test]
    fn without_valgrind_a_check_fails() {
        let missing = |_: &str| process::Command::new("no-such-program");
        assert!(per_call(missing).is_err());
    }
}
