//! `cargo xtask test`: everything that has to pass, in one command.

use std::path::Path;
use std::process;
use std::time::Instant;

use crate::arguments::Arguments;
use crate::run::{cargo, finish, root};
use crate::{Command, Outcome, virtual_cuda, wheels};

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
    steps.run("tests of the virtual driver", || finish(&mut cargo("test -p vcuda")))?;
    let driver = virtual_cuda::build()?;
    let nvrtc = wheels::NVRTC_12.path()?;
    steps.run("tests, all features, on the CPU and the virtual CUDA device", || {
        finish(on_virtual_cuda(&mut cargo("test --all-features"), &driver, &nvrtc))
    })?;
    steps.run("examples", || finish(&mut cargo("run --release --example quickstart")))?;
    steps.report();
    Ok(())
}

/// Points the suite to the virtual driver and an NVRTC. Kernels are kept from one test to the next in a folder of
/// this run's own, so that what is tested is what was compiled now.
fn on_virtual_cuda<'a>(
    command: &'a mut process::Command,
    driver: &Path,
    nvrtc: &Path,
) -> &'a mut process::Command {
    let cache = root().join(format!("target/kernel-cache-{}", process::id()));
    command.envs(virtual_cuda::variables(driver, nvrtc)).env("BITLANE_CACHE", cache)
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
