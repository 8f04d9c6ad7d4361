//! `cargo xtask test`: everything that has to pass, in one command.

use std::time::Instant;

use crate::arguments::Arguments;
use crate::run::{cargo, finish};
use crate::{Command, Outcome};

pub const COMMAND: Command = Command { name: "test", usage: "", run };

/// Feature sets that must build alone: each backend, every other feature on top of either, and all.
const FEATURES: &[&str] = &[
    "--no-default-features --features cpu",
    "--no-default-features --features cuda",
    "--no-default-features --features cpu,ndarray",
    "--no-default-features --features cuda,ndarray",
    "--all-features",
];

/// Runs every step, and says at the end how long each took.
fn run(arguments: Arguments) -> Outcome {
    arguments.finish()?;
    let mut steps = Steps::default();
    steps.run("format", || finish(&mut cargo("fmt --all --check")))?;
    for features in FEATURES {
        steps.run(&format!("clippy {features}"), || {
            finish(&mut cargo(&format!("clippy --all-targets {features} -- -D warnings")))
        })?;
    }
    steps.run("clippy of the other members", || {
        finish(&mut cargo("clippy -p vcuda -p xtask --all-targets -- -D warnings"))
    })?;
    steps.run("documentation", || {
        finish(cargo("doc --no-deps --all-features").env("RUSTDOCFLAGS", "-D warnings"))
    })?;
    steps.run("tests, default features", || finish(&mut cargo("test")))?;
    steps.run("tests, all features", || finish(&mut cargo("test --all-features")))?;
    steps.run("tests of the virtual driver", || finish(&mut cargo("test -p vcuda")))?;
    steps.run("examples", || finish(&mut cargo("run --release --example quickstart")))?;
    steps.report();
    Ok(())
}

/// The steps done so far, with their times.
#[derive(Default)]
struct Steps(Vec<(String, f64)>);

impl Steps {
    fn run(&mut self, name: &str, step: impl FnOnce() -> Outcome) -> Outcome {
        println!("== {name}");
        let start = Instant::now();
        step().map_err(|reason| format!("{name}: {reason}"))?;
        self.0.push((name.into(), start.elapsed().as_secs_f64()));
        Ok(())
    }

    fn report(&self) {
        println!("\nall of {} steps passed:", self.0.len());
        for (name, seconds) in &self.0 {
            println!("  {seconds:6.1} s  {name}");
        }
    }
}
