//! `cargo xtask test`: everything that has to pass, in one command.

use std::path::PathBuf;
use std::process;
use std::time::Instant;

use crate::arguments::Arguments;
use crate::run::{cargo, finish, root};
use crate::{
    Command, Failure, Outcome, bindings, kernels, mutants, overhead, python, sass, virtual_cuda,
    wheels,
};

pub const COMMAND: Command = Command { name: "test", usage: "[--full]", run };

/// Feature sets that must build alone: each backend, every other feature on top of either, and all.
const FEATURES: &[&str] = &[
    "--no-default-features --features cpu",
    "--no-default-features --features cuda",
    "--no-default-features --features cpu,ndarray",
    "--no-default-features --features cuda,ndarray",
    "--no-default-features --features cuda,tracing",
    "--no-default-features --features cpu,npy,safetensors,dlpack",
    "--no-default-features --features cuda,npy,safetensors,dlpack",
    "--no-default-features --features cpu,cli",
    "--all-features",
];

/// The compute capabilities that the virtual driver is told to have, each with memory pools and without.
const CAPABILITIES: [u32; 5] = [75, 80, 90, 100, 120];

/// Runs every step, and says at the end how long each took.
fn run(mut arguments: Arguments) -> Outcome {
    let full = arguments.flag("--full");
    arguments.finish()?;
    let mut steps = Steps { keep_going: full, ..Steps::default() };
    steps.cargo("format", "fmt --all --check")?;
    for features in FEATURES {
        let name = format!("clippy {features}");
        steps.cargo(&name, &format!("clippy --all-targets {features} -- -D warnings"))?;
    }
    steps.cargo("clippy, the rest", "clippy -p vcuda -p xtask --all-targets -- -D warnings")?;
    steps.run("documentation", || {
        finish(cargo("doc --no-deps --all-features").env("RUSTDOCFLAGS", "-D warnings"))
    })?;
    steps.cargo("tests, default features", "test")?;
    steps.run("tests without CUDA, but with its feature", || {
        finish(cargo("test --features cuda --test errors").env("BITLANE_TEST_DRIVER", "none"))
    })?;
    steps.cargo("tests of the virtual driver and the tasks", "test -p vcuda -p xtask")?;
    steps.cargo("quickstart", "run --release --example quickstart")?;

    steps.run("Python with NumPy and PyTorch", python::prepare)?;
    let cuda = VirtualCuda::new()?;
    steps.run("tests, all features, CPU and virtual CUDA, NVRTC 12", || {
        finish(&mut cuda.suite("test --all-features", Nvrtc::Twelve, (80, true))?)
    })?;
    // All kernels have now run as NVRTC 12 makes them for one device; a slice of the others follows.
    steps.run("recorded answers, NVRTC 13, capability 12.0, no pools", || {
        finish(&mut cuda.suite(
            "test --all-features --test goldens",
            Nvrtc::Thirteen,
            (120, false),
        )?)
    })?;
    let out = root().join("target/kernels");
    steps.task(&kernels::COMMAND, &format!("--nvrtc 13 --arch sm_120 --out {}", out.display()))?;
    steps.task(&sass::COMMAND, "")?;
    steps.task(&bindings::COMMAND, "--check")?;
    steps.task(&overhead::COMMAND, "--count")?;
    if full {
        everything(&mut steps, &cuda)?;
    }
    steps.report()
}

/// The whole matrix, of which the normal run does a slice.
fn everything(steps: &mut Steps, cuda: &VirtualCuda) -> Outcome {
    for nvrtc in [Nvrtc::Twelve, Nvrtc::Thirteen] {
        for device in CAPABILITIES.into_iter().flat_map(|cc| [(cc, true), (cc, false)]) {
            let name = format!("suite, NVRTC {nvrtc:?}, capability and pools {device:?}");
            steps.run(&name, || {
                let tests = "test --all-features --tests --no-fail-fast";
                finish(cuda.suite(tests, nvrtc, device)?.env("BITLANE_FUZZ_SECONDS", "5"))
            })?;
        }
    }
    steps.run("random programs whose calls fail, ten minutes each", || {
        let tests = "test --all-features --test cuda fault_fuzz::";
        let mut suite = cuda.suite(tests, Nvrtc::Twelve, (80, true))?;
        finish(suite.env("BITLANE_FUZZ_SECONDS", "600"))
    })?;
    // The suite has compiled every kernel for its capabilities; this one is common and not among them.
    let out = root().join("target/kernels");
    for nvrtc in ["12", "13"] {
        let words = format!("--nvrtc {nvrtc} --arch sm_86 --out {}", out.display());
        steps.task(&kernels::COMMAND, &words)?;
    }
    steps.task(&sass::COMMAND, "--all")?;
    steps.task(&mutants::COMMAND, "")
}

#[derive(Clone, Copy, Debug)]
enum Nvrtc {
    Twelve,
    Thirteen,
}

/// The virtual driver, ready to be told which device to be.
struct VirtualCuda {
    driver: PathBuf,
    cache: PathBuf,
}

impl VirtualCuda {
    fn new() -> Result<VirtualCuda, Failure> {
        // Kernels are kept from one test to the next in a folder of this run's own, so that what is tested is
        // what was compiled now.
        let cache = root().join(format!("target/kernel-cache-{}", process::id()));
        Ok(VirtualCuda { driver: virtual_cuda::build()?, cache })
    }

    /// Cargo with the environment that puts the suite on a virtual device.
    fn suite(
        &self,
        arguments: &str,
        nvrtc: Nvrtc,
        (capability, pools): (u32, bool),
    ) -> Result<process::Command, Failure> {
        let nvrtc = match nvrtc {
            Nvrtc::Twelve => wheels::NVRTC_12.path()?,
            Nvrtc::Thirteen => wheels::NVRTC_13.path()?,
        };
        let mut command = cargo(arguments);
        command
            .envs(virtual_cuda::variables(&self.driver, &nvrtc))
            .env("BITLANE_CACHE", &self.cache)
            .env("VCUDA_CC", capability.to_string());
        if !pools {
            command.env("VCUDA_NO_POOLS", "1");
        }
        Ok(command)
    }
}

impl Drop for VirtualCuda {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.cache);
    }
}

/// The steps done so far.
#[derive(Default)]
struct Steps {
    /// A step that fails is not the last one: what takes so long should tell all it knows.
    keep_going: bool,
    passed: Vec<(String, f64)>,
    failed: Vec<String>,
}

impl Steps {
    fn cargo(&mut self, name: &str, arguments: &str) -> Outcome {
        self.run(name, || finish(&mut cargo(arguments)))
    }

    fn task(&mut self, task: &Command, words: &str) -> Outcome {
        let arguments = Arguments::new(words.split_whitespace().map(str::to_owned));
        self.run(&format!("cargo xtask {} {words}", task.name), || (task.run)(arguments))
    }

    fn run(&mut self, name: &str, step: impl FnOnce() -> Outcome) -> Outcome {
        println!("== {name}");
        let start = Instant::now();
        match step() {
            Ok(()) => self.passed.push((name.into(), start.elapsed().as_secs_f64())),
            Err(reason) if self.keep_going => {
                eprintln!("{name}: {reason}");
                self.failed.push(name.into());
            }
            Err(reason) => return Err(format!("{name}: {reason}").into()),
        }
        Ok(())
    }

    fn report(&self) -> Outcome {
        println!("\n{} steps passed:", self.passed.len());
        for (name, seconds) in &self.passed {
            println!("  {seconds:6.1} s  {name}");
        }
        println!(
            "The virtual device ran the real kernels through the real host code: their logic is tested. It says \
             nothing of speed, nor of NVIDIA's driver and assembler."
        );
        if self.failed.is_empty() {
            return Ok(());
        }
        Err(format!("{} steps failed: {}", self.failed.len(), self.failed.join("; ")).into())
    }
}
