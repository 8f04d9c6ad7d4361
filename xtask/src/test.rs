//! `cargo xtask test`: everything that has to pass, in one command.

use std::path::PathBuf;
use std::sync::OnceLock;
use std::{env, iter, process};

use crate::arguments::Arguments;
use crate::aside::Aside;
use crate::bench::small_call;
use crate::run::{build_once, cargo, finish, root};
use crate::steps::Steps;
use crate::{
    Command, Failure, Outcome, bindings, cost, fuzz, kernels, mutants, overhead, python, sanitize,
    sass, suite, virtual_cuda, wheels,
};

pub const COMMAND: Command = Command {
    name: "test",
    usage: "[--full] [--only WORDS]",
    about: "Runs everything that has to pass, and says how long each step took. That is formatting, lints of every \
            feature, documentation, the suite on the CPU, again with every kind of vector instructions and with tiny \
            blocks, again with a virtual CUDA device, and checks of the kernels; it takes some 20 minutes on two \
            cores. What it needs is fetched into target/, the first time. --full adds features beside the other backend, the suite for five \
            architectures, two versions of NVRTC and two kinds of memory, longer fuzzing, sanitizers, the cost of a \
            build, and mutation testing; it takes hours, and goes on after a step that fails. \
            --only takes the steps with these words in their names.",
    run,
};

/// Feature sets whose every target is checked.
const FEATURES: &[&str] = &[
    "--no-default-features --features cpu",
    "--no-default-features --features cuda",
    "--all-features",
];

/// Features on top of a backend. The library and the programs must build with each alone; tests gain nothing.
/// Those with `false` are left to `--full`.
const ADDED_FEATURES: &[(&str, bool)] = &[
    ("cpu,ndarray", true),
    ("cuda,ndarray", false),
    ("cpu,npy", false),
    ("cuda,npy", true),
    ("cpu,safetensors", true),
    ("cuda,safetensors", false),
    ("cpu,dlpack", false),
    ("cuda,dlpack", true),
    ("cpu,serde", true),
    ("cpu,cli", true),
    ("cuda,cli", false),
    ("cpu,tracing", false),
    ("cuda,tracing", true),
];

/// Where the kernels go, beside the cache.
const KERNELS: &str = "--out target/kernels --cache";

/// The compute capabilities that the virtual driver is told to have, each with memory pools and without.
const CAPABILITIES: [u32; 5] = [75, 80, 90, 100, 120];

/// Runs every step, and says at the end how long each took.
fn run(mut arguments: Arguments) -> Outcome {
    let full = arguments.flag("--full");
    let only = arguments.value("--only")?;
    arguments.finish()?;
    build_once();
    let mut steps = Steps::new(full, only);
    let cuda = VirtualCuda::new();
    // Neither needs cargo, which waits for itself at times: compiling, with warnings as errors, what the tests on the
    // virtual device will load, and measuring machine code.
    let mut aside = vec![
        cuda.task(&kernels::COMMAND, &format!("--nvrtc 12 --arch sm_80 --written {KERNELS}"))?,
        cuda.task(&kernels::COMMAND, &format!("--nvrtc 13 --arch sm_120 {KERNELS}"))?,
        cuda.task(&sass::COMMAND, "")?,
    ];
    aside.retain(|(name, _)| steps.wants(name));
    let aside = Aside::start(aside);
    steps.cargo("format", "fmt --all --check")?;
    for features in FEATURES {
        let name = format!("clippy {features}");
        steps.cargo(&name, &format!("clippy --all-targets {features} -- -D warnings"))?;
    }
    // Every feature meets one of the two backends here.
    for features in ADDED_FEATURES.iter().filter(|pair| full || pair.1).map(|pair| pair.0) {
        let words = format!("--no-default-features --features {features} -- -D warnings");
        steps.cargo(&format!("clippy {features}"), &format!("clippy --lib --bins {words}"))?;
    }
    let rest = "clippy -p vcuda -p xtask --all-targets -- -D warnings";
    steps.cargo("clippy, the rest", rest)?;
    if full {
        // It takes a minute to check candle, and its tests compile the same code.
        let candle = "clippy -p bitlane-candle --all-targets -- -D warnings";
        steps.cargo("clippy, bitlane-candle", candle)?;
    }
    steps.run("documentation", || {
        finish(cargo("doc --no-deps --all-features").env("RUSTDOCFLAGS", "-D warnings"))
    })?;
    steps.cargo("tests, default features", &suite::with_default_features())?;
    steps.cargo("examples in the documentation", "test --doc")?;
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

    if full {
        // Some 5 GB; without them the tests that need them are shown as ignored.
        steps.run("a Python with NumPy and PyTorch", python::prepare)?;
    }
    steps.join(aside)?;
    on_virtual_device(&mut steps, &cuda, full)?;
    steps.run("examples in the documentation, all features", || {
        finish(&mut cuda.suite("test --all-features --doc", Nvrtc::Twelve, (80, true))?)
    })?;
    steps.run("tests without CUDA, but with its feature", || {
        finish(cargo("test --all-features --test errors").env("BITLANE_TEST_DRIVER", "none"))
    })?;
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

/// The suite with all features. All kernels run as NVRTC 12 makes them for one device, and a third of the recorded
/// answers, which take most of them, come from NVRTC 13 and another: nearly all their time is NVRTC's.
fn on_virtual_device(steps: &mut Steps, cuda: &VirtualCuda, full: bool) -> Outcome {
    let (all, one_by_one) = suite::with_all_features();
    steps.cargo("tests, all features: build", &format!("test --no-run --test goldens {all}"))?;
    let mut tests = Vec::new();
    for (nvrtc, device, words) in
        iter::once((Nvrtc::Thirteen, (120, false), "--all-features --test goldens"))
            .chain(one_by_one.iter().map(|words| (Nvrtc::Twelve, (80, true), &**words)))
    {
        let mut test = cuda.suite(&format!("test {words}"), nvrtc, device)?;
        if !full {
            test.env("BITLANE_FUZZ_SECONDS", "5").env("BITLANE_GOLDENS", "3");
        }
        let (capability, pools) = device;
        let pools = if pools { "" } else { ", no pools" };
        tests
            .push((format!("test {words}, NVRTC {nvrtc:?}, capability {capability}{pools}"), test));
    }
    steps.side_by_side(tests)
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
    steps.task(&bindings::COMMAND, "--check --generate")?;
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
    driver: OnceLock<PathBuf>,
    cache: PathBuf,
}

impl VirtualCuda {
    fn new() -> VirtualCuda {
        // Kernels are kept from one test to the next in a folder of this run's own, so that what is tested is
        // what was compiled now.
        let cache = root().join(format!("target/kernel-cache-{}", process::id()));
        VirtualCuda { driver: OnceLock::new(), cache }
    }

    /// A task in a process of its own, which has the cache of this run.
    fn task(&self, task: &Command, words: &str) -> Result<(String, process::Command), Failure> {
        let mut command = process::Command::new(env::current_exe()?);
        command.arg(task.name).args(words.split_whitespace());
        command.current_dir(root()).env("BITLANE_CACHE", &self.cache);
        Ok((format!("cargo xtask {} {words}", task.name), command))
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
        let driver = match self.driver.get() {
            Some(driver) => driver,
            None => self.driver.get_or_init({
                let driver = virtual_cuda::build()?;
                || driver
            }),
        };
        let mut command = cargo(arguments);
        command
            .envs(virtual_cuda::variables(driver, &nvrtc))
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
