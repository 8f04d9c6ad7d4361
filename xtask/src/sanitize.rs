//! `cargo xtask sanitize`: runs the tests under tools that check memory accesses.

use std::path::PathBuf;
use std::process;

use crate::arguments::Arguments;
use crate::run::{HOST, cargo, finish, root, unstable};
use crate::{Command, Outcome};

pub const COMMAND: Command = Command {
    name: "sanitize",
    usage: "[address|thread|miri|valgrind]... [--quick]",
    about: "Runs the tests of the CPU backend under tools that check memory accesses. Without names, every tool \
            that is available on this machine is run and the others are listed; a tool that is named must be \
            available. `address` is AddressSanitizer over the whole suite (--quick: over the unit tests and the \
            tests of operations, views, destinations, sums and expressions). `thread` is ThreadSanitizer over \
            the tests that share work among threads; it needs the component rust-src, because std is rebuilt. \
            `miri` is Miri with Tree Borrows over the unit tests and small random cases; its component comes \
            only with nightly compilers. `valgrind` is Memcheck over the same cases without vector instructions, \
            for machines without Miri.",
    run,
};

/// A tool, its requirements, and how to run it.
struct Tool {
    name: &'static str,
    /// Returns what is missing on this machine, if anything.
    missing: fn() -> Option<String>,
    run: fn(quick: bool) -> Outcome,
}

const TOOLS: [Tool; 4] = [
    Tool { name: "address", missing: || None, run: address },
    Tool { name: "thread", missing: missing_sources, run: thread },
    Tool { name: "miri", missing: missing_miri, run: miri },
    Tool { name: "valgrind", missing: missing_valgrind, run: valgrind },
];

/// Settings with several threads, and with blocks and thresholds so small that small cases cross every boundary.
const SMALL: &str = "block=64,parallel=1,stream=256,threads=3";

fn run(mut arguments: Arguments) -> Outcome {
    let quick = arguments.flag("--quick");
    let mut wanted = Vec::new();
    while let Some(name) = arguments.word() {
        let tool = TOOLS.iter().find(|tool| tool.name == name);
        wanted.push(tool.ok_or_else(|| format!("{name:?} is none of the tools"))?);
    }
    arguments.finish()?;
    let named = !wanted.is_empty();
    let mut lacking = Vec::new();
    for tool in if named { wanted } else { TOOLS.iter().collect() } {
        match (tool.missing)() {
            None => {
                println!("== {}", tool.name);
                (tool.run)(quick).map_err(|failure| format!("{}: {failure}", tool.name))?;
            }
            Some(reason) if named => return Err(format!("{}: {reason}", tool.name).into()),
            Some(reason) => lacking.push(format!("{} was NOT run: {reason}", tool.name)),
        }
    }
    lacking.iter().for_each(|line| println!("{line}"));
    Ok(())
}

/// Returns a `cargo test` command with extra compiler flags and its own target folder.
fn tests(tool: &str, words: &str, flags: &str) -> process::Command {
    let mut command = unstable(cargo("test"), flags);
    command.args(["--target", HOST, "--target-dir"]);
    command.arg(root().join("target").join(format!("sanitize-{tool}")));
    command.args(words.split_whitespace());
    command
}

fn address(quick: bool) -> Outcome {
    let chosen = "--lib --test views --test destinations --test sums --test operations \
                  --test fuzz_cases --test expressions";
    let words = if quick { chosen } else { "--lib --tests" };
    for settings in ["", SMALL] {
        println!("AddressSanitizer, BITLANE_CPU={settings:?}");
        finish(tests("address", words, "-Zsanitizer=address").env("BITLANE_CPU", settings))?;
    }
    Ok(())
}

fn thread(_quick: bool) -> Outcome {
    let words =
        "-Zbuild-std --lib --test concurrency --test cpu_pool --test sums --test fuzz_cases";
    finish(tests("thread", words, "-Zsanitizer=thread").env("BITLANE_CPU", SMALL))
}

/// The tests for slow tools: unit tests, and small random calls and expressions.
const SLOW: &str = "--lib --test fuzz_cases --test expressions";

fn slow(command: &mut process::Command) -> &mut process::Command {
    command
        .env("BITLANE_CPU", format!("baseline,{SMALL}"))
        .env("BITLANE_CASES", "400")
        .env("BITLANE_GRAPHS", "200")
}

fn miri(_quick: bool) -> Outcome {
    let mut command = cargo("miri test");
    command.arg("--target-dir").arg(root().join("target/sanitize-miri"));
    command.args(SLOW.split_whitespace());
    command.env("MIRIFLAGS", "-Zmiri-tree-borrows -Zmiri-disable-isolation");
    finish(slow(&mut command))
}

fn valgrind(_quick: bool) -> Outcome {
    let runner = format!("CARGO_TARGET_{}_RUNNER", HOST.to_uppercase().replace('-', "_"));
    let mut command = cargo("test");
    // The flags are those of the ordinary build; the target is explicit because the runner is set per target.
    command.args(["--target", HOST]).args(SLOW.split_whitespace());
    command.env(runner, "valgrind --quiet --error-exitcode=99 --track-origins=no");
    finish(slow(&mut command))
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

fn missing_miri() -> Option<String> {
    let there = answers(&mut cargo("miri --version"));
    (!there).then(|| {
        "this compiler has no component miri; with a nightly one, `rustup component add miri rust-src`. \
         valgrind runs the same cases"
            .into()
    })
}

fn missing_valgrind() -> Option<String> {
    let there = answers(process::Command::new("valgrind").arg("--version"));
    (!there).then(|| "valgrind is not installed".into())
}
