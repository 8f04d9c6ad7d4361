//! `cargo xtask test`: everything that has to pass, in one command.

use std::path::PathBuf;
use std::process;

use crate::arguments::Arguments;
use crate::bench::small_call;
use crate::run::{cargo, finish, root};
use crate::steps::Steps;
use crate::{
    Command, Failure, Outcome, bindings, cost, fuzz, kernels, mutants, overhead, python, sanitize,
    sass, suite, virtual_cuda, wheels,
};

pub const COMMAND: Command = Command {
    name: "test",
    usage: "[--full]",
    about: "Runs everything that has to pass, and says how long each step took. That is formatting, lints of every \
            feature, documentation, the suite on the CPU, again with every kind of vector instructions and with tiny \
            blocks, again with a virtual CUDA device, and checks of the kernels; it takes some 30 minutes on two \
            cores. What it needs is fetched into target/, the first time. --full adds the suite for five \
            architectures, two versions of NVRTC and two kinds of memory, longer fuzzing, sanitizers, the cost of a \
            build, and deliberate faults; it takes hours, and goes on after a step that fails.",
    run,
};

/// Feature sets whose every target is checked.
const FEATURES: &[&str] = &[
    "--no-default-features --features cpu",
    "--no-default-features --features cuda",
    "--all-features",
];

/// Features on top of a backend. The library and the programs must build with each alone; tests gain nothing.
const ADDED_FEATURES: &[&str] = &[
    "cpu,ndarray",
    "cuda,ndarray",
    "cpu,npy",
    "cuda,npy",
    "cpu,safetensors",
    "cuda,safetensors",
    "cpu,dlpack",
    "cuda,dlpack",
    "cpu,serde",
    "cpu,cli",
    "cuda,cli",
    "cpu,tracing",
    "cuda,tracing",
];

/// The compute capabilities that the virtual driver is told to have, each with memory pools and without.
const CAPABILITIES: [u32; 5] = [75, 80, 90, 100, 120];

/// Runs every step, and says at the end how long each took.
fn run(mut arguments: Arguments) -> Outcome {
    let full = arguments.flag("--full");
    arguments.finish()?;
    let mut steps = Steps::new(full);
    steps.cargo("format", "fmt --all --check")?;
    for features in FEATURES {
        let name = format!("clippy {features}");
        steps.cargo(&name, &format!("clippy --all-targets {features} -- -D warnings"))?;
    }
    for features in ADDED_FEATURES {
        let words = format!("--no-default-features --features {features} -- -D warnings");
        steps.cargo(&format!("clippy {features}"), &format!("clippy --lib --bins {words}"))?;
    }
    let rest = "clippy -p vcuda -p xtask -p bitlane-candle --all-targets -- -D warnings";
    steps.cargo("clippy, the rest", rest)?;
    steps.run("documentation", || {
        finish(cargo("doc --no-deps --all-features").env("RUSTDOCFLAGS", "-D warnings"))
    })?;
    steps.cargo("tests, default features", "test")?;
    steps.cargo("tests of the virtual driver and the tasks", "test -p vcuda -p xtask")?;
    steps.cargo("tests of the operations in candle", "test -p bitlane-candle")?;
    for (index, settings) in suite::CPU_SETTINGS.into_iter().enumerate() {
        let (graphs, cases) = if index == 0 { ("100000", "100000") } else { ("20000", "20000") };
        steps.run(
            &format!("tests of the CPU backend, optimised, BITLANE_CPU={settings}"),
            || {
                let mut tests = cargo(&suite::on_cpu());
                tests.env("BITLANE_CPU", settings);
                finish(tests.env("BITLANE_GRAPHS", graphs).env("BITLANE_CASES", cases))
            },
        )?;
    }
    steps.cargo("quickstart", "run --release --example quickstart")?;

    let cuda = VirtualCuda::new()?;
    if full {
        // Some 5 GB; without them the tests that need them are shown as ignored.
        steps.run("a Python with NumPy and PyTorch", python::prepare)?;
    }
    steps.run("tests, all features, CPU and virtual CUDA, NVRTC 12", || {
        finish(&mut cuda.suite(&suite::with_all_features(), Nvrtc::Twelve, (80, true))?)
    })?;
    steps.run("examples in the documentation, all features", || {
        finish(&mut cuda.suite("test --all-features --doc", Nvrtc::Twelve, (80, true))?)
    })?;
    steps.run("tests without CUDA, but with its feature", || {
        finish(cargo("test --all-features --test errors").env("BITLANE_TEST_DRIVER", "none"))
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
    steps.task(&small_call::COMMAND, "")?;
    if full {
        everything(&mut steps, &cuda)?;
    }
    println!(
        "\nThe virtual device ran the real kernels through the real host code: their logic is tested. It says \
         nothing of speed, nor of NVIDIA's driver and assembler."
    );
    steps.report()
}

/// The whole matrix, of which the normal run does a slice.
fn everything(steps: &mut Steps, cuda: &VirtualCuda) -> Outcome {
    for nvrtc in [Nvrtc::Twelve, Nvrtc::Thirteen] {
        for device in CAPABILITIES.into_iter().flat_map(|cc| [(cc, true), (cc, false)]) {
            let name = format!("suite, NVRTC {nvrtc:?}, capability and pools {device:?}");
            steps.run(&name, || {
                finish(
                    cuda.suite(&suite::on_devices(), nvrtc, device)?
                        .env("BITLANE_FUZZ_SECONDS", "5"),
                )
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
    steps.task(&cost::COMMAND, "")?;
    steps.task(&sanitize::COMMAND, "")?;
    steps.task(&fuzz::COMMAND, "1200")?;
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
