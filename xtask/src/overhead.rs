//! `cargo xtask overhead`: the host-side cost of a call, with launches that do nothing.
//!
//! The comparison with plain cudarc is a benchmark. The regression check counts instructions, which do not depend on
//! other load on the machine.

use std::process;

use crate::arguments::Arguments;
use crate::run::{cargo, finish, root};
use crate::{Command, Failure, Outcome, virtual_cuda, wheels};

pub const COMMAND: Command = Command {
    name: "overhead",
    usage: "[--count]",
    about: "Measures the host-side cost of a call, with launches that do nothing. It times calls, then counts \
            their instructions with valgrind and fails if there are too many; --count only does the latter.",
    run,
};

/// The limit for a warm call into an existing destination, in instructions, including about 2,200 of the virtual
/// driver. The count was 7,632 when the limit was set.
const LIMIT: u64 = 7_900;

fn run(mut arguments: Arguments) -> Outcome {
    let only_count = arguments.flag("--count");
    arguments.finish()?;
    let benchmark = build()?;
    let driver = virtual_cuda::build()?;
    let nvrtc = wheels::NVRTC_12.path()?;
    let prepared = |program: &str| {
        let mut command = process::Command::new(program);
        command
            .envs(virtual_cuda::variables(&driver, &nvrtc))
            .env("BITLANE_CACHE", root().join("target/overhead-cache"))
            .envs([("VCUDA_STUB", "1"), ("VCUDA_ASYNC", "eager"), ("VCUDA_QUIET", "1")]);
        command
    };
    if !only_count {
        finish(&mut prepared(&benchmark))?;
    }
    // The first run compiles the kernel; later runs find it in the cache.
    finish(prepared(&benchmark).args(["--calls", "1"]))?;
    let (few, many) = (1_000, 3_000);
    let mut counts = [0; 2];
    for (count, calls) in counts.iter_mut().zip([few, many]) {
        let mut command = prepared("valgrind");
        command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null", &benchmark]);
        let Some(total) = instructions(command.args(["--calls", &calls.to_string()]))? else {
            println!("instructions not counted: there is no valgrind on this machine");
            return Ok(());
        };
        *count = total;
    }
    let per_call = (counts[1] - counts[0]) / (many - few);
    println!("a warm call takes {per_call} instructions, at most {LIMIT} are allowed");
    if per_call <= LIMIT { Ok(()) } else { Err("a warm call has become more expensive".into()) }
}

/// Builds the benchmark and returns its path.
fn build() -> Result<String, Failure> {
    let output = cargo("bench --no-run --features cuda --bench overhead").output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let path = said.lines().find_map(|line| {
        line.trim().strip_prefix("Executable benches/overhead.rs (")?.strip_suffix(')')
    });
    match path {
        Some(path) => Ok(root().join(path).display().to_string()),
        None => Err(format!("the benchmark does not build:\n{said}").into()),
    }
}

/// Runs a command under valgrind and returns the instructions counted, or `None` if valgrind is not installed.
pub fn instructions(command: &mut process::Command) -> Result<Option<u64>, Failure> {
    let output = match command.output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said.lines().find(|line| line.contains("I   refs:"));
    let digits = line.map(|line| {
        let after = line.rsplit(':').next().unwrap_or_default();
        after.chars().filter(char::is_ascii_digit).collect::<String>()
    });
    let count = digits.and_then(|digits| digits.parse().ok());
    count.map(Some).ok_or_else(|| format!("valgrind counted nothing:\n{said}").into())
}
