//! `cargo xtask sanitize`: runs the tests under tools that check memory accesses.

use std::path::PathBuf;
use std::process;

use crate::Outcome;
use crate::run::{HOST, cargo, finish, root, unstable};

/// Runs the tests of the CPU backend under tools that check memory accesses and the order of threads.
///
/// Without names, every tool that is available on this machine is run and the others are listed as not run; a tool that
/// is named must be available. `models` is loom over the thread crew and the locks, with more orders than `cargo test`
/// tries. `address` is AddressSanitizer over the whole suite. `thread` is ThreadSanitizer over the tests that share work
/// among threads; it needs the component rust-src, because std is rebuilt. `miri` is Miri, with Stacked Borrows and with
/// Tree Borrows, over the unit tests, small random cases and DLPack; it needs a nightly compiler with the components miri
/// and rust-src. `valgrind` is Memcheck over the same cases without vector instructions, for machines without Miri.
#[derive(clap::Args)]
pub struct Options {
    #[arg(value_parser = TOOLS.map(|tool| tool.name))]
    tools: Vec<String>,
}

/// A tool, its requirements, and how to run it.
pub struct Tool {
    pub name: &'static str,
    /// Returns what is missing on this machine, if anything.
    pub missing: fn() -> Option<String>,
    pub run: fn() -> Outcome,
}

pub const TOOLS: [Tool; 5] = [
    Tool { name: "models", missing: || None, run: models },
    Tool { name: "address", missing: || None, run: address },
    Tool { name: "thread", missing: missing_sources, run: thread },
    Tool { name: "miri", missing: missing_miri, run: miri },
    Tool { name: "valgrind", missing: missing_valgrind, run: valgrind },
];

/// Settings with several threads, and with blocks and thresholds so small that small cases cross every boundary.
const SMALL: &str = "block=64,parallel=1,stream=256,rows=1,threads=3";

pub fn run(Options { tools }: Options) -> Outcome {
    let named = !tools.is_empty();
    let (mut passed, mut lacking) = (Vec::new(), Vec::new());
    for tool in TOOLS.iter().filter(|tool| !named || tools.iter().any(|name| name == tool.name)) {
        match (tool.missing)() {
            None => {
                println!("== {}", tool.name);
                (tool.run)().map_err(|failure| format!("{}: {failure}", tool.name))?;
                passed.push(tool.name);
            }
            Some(reason) if named => return Err(format!("{}: {reason}", tool.name).into()),
            Some(reason) => lacking.push(format!("{} was NOT run: {reason}", tool.name)),
        }
    }
    println!("passed: {}", passed.join(", "));
    lacking.iter().for_each(|line| println!("{line}"));
    Ok(())
}

fn models() -> Outcome {
    finish(cargo("test --features models --test models").env("BITLANE_MORE_PREEMPTIONS", "1"))
}

/// Returns a `cargo test` command with extra compiler flags and its own target folder.
fn tests(tool: &str, words: &str, flags: &str) -> process::Command {
    let mut command = unstable(cargo("test"), flags);
    command.args(["--target", HOST, "--target-dir"]);
    command.arg(root().join("target").join(format!("sanitize-{tool}")));
    command.args(words.split_whitespace());
    command
}

fn address() -> Outcome {
    for settings in ["", SMALL] {
        println!("AddressSanitizer, BITLANE_CPU={settings:?}");
        finish(address_tests("--tests").env("BITLANE_CPU", settings))?;
    }
    Ok(())
}

/// Returns a `cargo test` command with AddressSanitizer.
pub fn address_tests(words: &str) -> process::Command {
    tests("address", words, "-Zsanitizer=address")
}

fn thread() -> Outcome {
    for words in [
        "--lib --test process",
        "--test interface -- concurrency::",
        "--test results -- sums:: fuzz_cases::",
    ] {
        let words = format!("-Zbuild-std {words}");
        finish(tests("thread", &words, "-Zsanitizer=thread").env("BITLANE_CPU", SMALL))?;
    }
    Ok(())
}

/// The tests for slow tools: unit tests, and small random calls and expressions.
const SLOW: [&str; 2] = ["--lib", "--test results -- fuzz_cases:: expressions::"];

fn slow(command: &mut process::Command) -> &mut process::Command {
    command
        .env("BITLANE_CPU", format!("baseline,{SMALL}"))
        .env("BITLANE_CASES", "400")
        .env("BITLANE_GRAPHS", "200")
}

/// The two sets of rules for pointers. Neither allows everything that the other does.
const ALIASING: [&str; 2] = ["", "-Zmiri-tree-borrows"];

fn miri() -> Outcome {
    let own = answers(&mut cargo("miri --version"));
    for aliasing in ALIASING {
        println!("Miri, {}", if aliasing.is_empty() { "Stacked Borrows" } else { aliasing });
        // Several cores, so that work is shared, whatever the machine has.
        let flags = format!("{aliasing} -Zmiri-disable-isolation -Zmiri-num-cpus=4");
        for words in SLOW.into_iter().chain(["--test interface -- interop_dlpack::"]) {
            let mut command = if own { cargo("miri") } else { nightly("miri") };
            command.arg("test").arg("--target-dir").arg(root().join("target/sanitize-miri"));
            command.args(["--features", "dlpack"]).args(words.split_whitespace());
            finish(slow(&mut command).env("MIRIFLAGS", &flags))?;
        }
    }
    Ok(())
}

fn valgrind() -> Outcome {
    let runner = format!("CARGO_TARGET_{}_RUNNER", HOST.to_uppercase().replace('-', "_"));
    for words in SLOW {
        let mut command = cargo("test");
        // The flags are those of the ordinary build; the target is explicit because the runner is set per target.
        command.args(["--target", HOST]).args(words.split_whitespace());
        command.env(&runner, "valgrind --quiet --error-exitcode=99 --track-origins=no");
        finish(slow(&mut command))?;
    }
    Ok(())
}

/// Returns whether a command can be started and succeeds; its output is discarded.
fn answers(command: &mut process::Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

fn missing_sources() -> Option<String> {
    let output = process::Command::new("rustc").args(["--print", "sysroot"]).output().ok()?;
    let sysroot = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let there = sysroot.join("lib/rustlib/src/rust/library").is_dir();
    (!there)
        .then(|| "std cannot be rebuilt; `rustup component add rust-src` brings its sources".into())
}

/// Returns a command of rustup's nightly cargo, wherever the present one comes from.
fn nightly(arguments: &str) -> process::Command {
    let mut command = process::Command::new("rustup");
    command.current_dir(root()).args(["run", "nightly", "cargo"]);
    command.args(arguments.split_whitespace());
    // Cargo has set these for the compiler that it belongs to.
    command.env_remove("CARGO").env_remove("RUSTC").env_remove("RUSTUP_TOOLCHAIN");
    command
}

fn missing_miri() -> Option<String> {
    let there = answers(&mut cargo("miri --version")) || answers(&mut nightly("miri --version"));
    (!there).then(|| {
        "neither this compiler nor rustup's nightly one has the component miri; `rustup toolchain install nightly \
         --component miri,rust-src` brings it"
            .into()
    })
}

fn missing_valgrind() -> Option<String> {
    let there = answers(process::Command::new("valgrind").arg("--version"));
    (!there).then(|| "valgrind is not installed".into())
}
