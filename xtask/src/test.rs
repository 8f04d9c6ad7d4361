//! `cargo xtask test`: everything that has to pass, in one command.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs, process};

use crate::aside::Aside;
use crate::bench::small_call;
use crate::run::{self, Program, cargo, command, executables, finish, root};
use crate::steps::Steps;
use crate::suite::{
    CHECKED, CHECKED_LIBRARIES, FEATURES, OPTIMISED, PROGRAMS, SEEDS, all_features, cpu_settings,
};
use crate::{Failure, Outcome, overhead, package, python, sanitize, toolkit, virtual_cuda, wheels};

/// Runs everything that has to pass, and says how long each step took.
///
/// That is formatting, lints of every feature, documentation, the suite with debug assertions, on the CPU and on a virtual
/// CUDA device, and optimised, with every kind of vector instructions and with tiny blocks, and checks of the kernels.
/// What it needs is fetched into target/, the first time.
#[derive(clap::Args)]
pub struct Options {
    /// Add the suite for five architectures, two versions of NVRTC and two kinds of memory, with random seeds and kernels
    /// compiled anew, longer fuzzing, sanitizers, PyTorch and the cost of a build. This takes hours, and goes on after a
    /// step that fails. Mutation testing is a command of its own, `cargo xtask mutants`.
    #[arg(long)]
    full: bool,
    /// Go on after a step that fails, and list all that failed at the end.
    #[arg(long)]
    keep_going: bool,
    /// Only the steps with these words in their names.
    #[arg(long, value_name = "WORDS")]
    only: Option<String>,
}

/// The compute capabilities that the virtual driver is told to have, each with memory pools and without.
const CAPABILITIES: [u32; 5] = [75, 80, 90, 100, 120];

/// Runs every step, and says at the end how long each took.
pub fn run(Options { full, keep_going, only }: Options) -> Outcome {
    // Incremental compilation makes the next build faster but this one slower.
    let mut variables = vec![("CARGO_INCREMENTAL", "0".into())];
    if full {
        variables.push(("XTASK_COLD", "1".into()));
    }
    // A change cannot fail for what it has not touched: only the long run draws anew each time.
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
    let seed = if full { now } else { 1 };
    for name in SEEDS.into_iter().filter(|name| env::var_os(name).is_none()) {
        println!("{name}={seed}");
        variables.push((name, seed.to_string()));
    }
    run::set_environment(variables);
    // PyTorch is fetched for the long run only.
    let may_be_ignored = (!full).then_some("_of_torch");
    let mut steps = Steps::new(full || keep_going, only, may_be_ignored);
    let cuda = VirtualCuda::new(full)?;
    // None needs cargo, which waits for itself at times: compiling what the tests on the virtual device will load, and
    // measuring machine code. A warning is an error.
    let quickly = if full { "" } else { " --quickly --part 4" };
    let mut aside = vec![
        cuda.task("kernels --nvrtc 12 --arch sm_80 --written --out target/kernels --cache")?,
        cuda.task(&format!("kernels --nvrtc 13 --arch sm_120 --out target/kernels{quickly}"))?,
        cuda.task(if full { "sass" } else { "sass --arch sm_80" })?,
    ];
    aside.retain(|(name, _)| steps.wants(name));
    let aside = Aside::start(aside);
    check(&mut steps, full)?;
    let programs = step_of("programs", &root());
    steps.run_for("Python packages", [programs], || python::prepare(full))?;
    steps.task("bindings --check")?;
    // All is built before anything runs, since cargo keeps every core busy, and tests do not.
    let mut tests = on_virtual_device(&mut steps, &cuda, full)?;
    tests.extend(sanitized(&mut steps)?);
    tests.extend(optimised(&mut steps, full)?);
    tests.extend(counted(&mut steps, full)?);
    steps.task(if full { "python --full" } else { "python" })?;
    if full && env::var_os(package::SUITE).is_none() {
        let reason = format!("{} names no checkout of it", package::SUITE);
        steps.not_run("the array API's own suite on the Python package", reason);
    }
    steps.cargo("quickstart", "run --release --example quickstart")?;
    // They serve the tests on the virtual device.
    steps.join(aside)?;
    tests.extend(documented(&cuda, full)?);
    steps.side_by_side(tests)?;
    // It builds the program anew, which the tests above start with CUDA.
    steps.cargo("tests of the command line without CUDA", "test -p bitlane-cli")?;
    if full {
        everything(&mut steps, &cuda)?;
    }
    println!(
        "\nThe virtual device ran the real kernels through the real host code: their logic is tested. It says \
         nothing of speed, nor of NVIDIA's driver and assembler."
    );
    steps.report()
}

/// Commands that run side by side, with the names of their steps.
type Tests = Vec<(String, process::Command)>;

/// Formatting, lints and documentation.
fn check(steps: &mut Steps, full: bool) -> Outcome {
    steps.cargo("format", "fmt --all --check")?;
    for features in CHECKED {
        let name = format!("clippy {features}");
        steps.cargo(&name, &format!("clippy --all-targets {features} -- -D warnings"))?;
    }
    for features in CHECKED_LIBRARIES {
        let words = format!("--no-default-features --features {features} -- -D warnings");
        steps.cargo(&format!("clippy {features}"), &format!("clippy --lib {words}"))?;
    }
    // It takes a minute to check candle, and its tests compile the same code.
    let but_candle = if full { "" } else { "--exclude bitlane-candle" };
    let all = format!("clippy --workspace {but_candle} --all-targets {}", all_features());
    steps.cargo("clippy, all features", &format!("{all} -- -D warnings"))?;
    let without_cuda = "clippy -p bitlane-cli --all-targets -- -D warnings";
    steps.cargo("clippy, the command line without CUDA", without_cuda)?;
    steps.run("documentation", || {
        let words =
            "doc --no-deps -p bitlane -p bitlane-quant -p vcuda -p vcuda-control --features";
        // As docs.rs does, without compiling what only tests link.
        let mut doc = cargo(words);
        finish(doc.arg(FEATURES).env("RUSTDOCFLAGS", "-D warnings").env("DOCS_RS", "1"))
    })
}

/// Builds the tests of results with default features, optimised, or there would be no vector instructions, and those
/// that default features could change.
fn optimised(steps: &mut Steps, full: bool) -> Result<Tests, Failure> {
    let named: String = OPTIMISED.iter().map(|test| format!(" --test {test}")).collect();
    let words = format!("test --release --no-run --test results{named}");
    let tests = OPTIMISED.into_iter().chain(["results"]);
    let tests = tests.map(|test| format!("{test}, optimised, BITLANE_CPU="));
    let mut programs = Vec::new();
    steps.run_for("optimised tests: build", tests, || {
        programs = executables(&mut cargo(&words))?;
        Ok(())
    })?;
    let (possible, impossible) = cpu_settings();
    for settings in impossible {
        println!("== tests with BITLANE_CPU={settings} are NOT run: this machine does not have it");
    }
    let mut tests = Vec::new();
    for program in &programs {
        let settings: &[&str] = if program.name == "results" { &possible } else { &[""] };
        for (index, settings) in settings.iter().enumerate() {
            let count = match (full, index) {
                (true, 0) => "100000",
                (true, _) | (false, 0) => "20000",
                (false, _) => "5000",
            };
            let mut test = started(program);
            test.env("BITLANE_CPU", settings);
            test.env("BITLANE_GRAPHS", count).env("BITLANE_CASES", count);
            let name = format!("{}, optimised, BITLANE_CPU={settings}", program.name);
            tests.push((name, test));
        }
    }
    Ok(tests)
}

/// Builds the unit tests of the longest expressions with AddressSanitizer: they have the most intermediate values, whose
/// memory is laid out by hand. The long run does that with the whole suite.
fn sanitized(steps: &mut Steps) -> Result<Tests, Failure> {
    let name = "AddressSanitizer, the longest expressions";
    let mut programs = Vec::new();
    steps.run_for(&format!("{name}: build"), [name.to_owned()], || {
        programs = executables(&mut sanitize::address_tests("--no-run --lib"))?;
        Ok(())
    })?;
    let deep = |program| {
        let mut test = started(program);
        test.arg("tests::deep");
        (name.to_owned(), test)
    };
    Ok(programs.iter().map(deep).collect())
}

/// Builds what valgrind counts the instructions of.
fn counted(steps: &mut Steps, full: bool) -> Result<Tests, Failure> {
    // The calls on CUDA take a build of their own.
    let names: &[&str] = if full { &["small-call", "overhead --count"] } else { &["small-call"] };
    if !overhead::can_count() {
        for words in names {
            steps.not_run(&format!("cargo xtask {words}"), "valgrind is not installed".into());
        }
        return Ok(Tests::new());
    }
    steps.run_for(
        "counted calls: build",
        names.iter().map(|words| format!("cargo xtask {words}")),
        || {
            small_call::build_calls()?;
            if full {
                overhead::build_calls()?;
            }
            Ok(())
        },
    )?;
    names.iter().map(|words| task(words)).collect()
}

/// The examples in the documentation, with all features, on the virtual device; in the long run with default features,
/// too. The packages are those of the tests, so that no dependency is built with other features.
fn documented(cuda: &VirtualCuda, full: bool) -> Result<Tests, Failure> {
    let all = cargo(&format!("test --doc --workspace {}", all_features()));
    let all = cuda.on_device(all, Nvrtc::Twelve, (80, true))?;
    let mut tests = vec![("examples in the documentation, all features".into(), all)];
    if full {
        let default = cargo("test --release --doc");
        tests.push(("examples in the documentation, default features".into(), default));
    }
    Ok(tests)
}

/// Returns another command of this program, to be run in a process of its own.
fn task(words: &str) -> Result<(String, process::Command), Failure> {
    let mut task = command(env::current_exe()?);
    task.args(words.split_whitespace()).current_dir(root());
    Ok((format!("cargo xtask {words}"), task))
}

/// The steps on the virtual device that are not named after a program.
const RECORDED: &str = "recorded answers, NVRTC 13, capability 120, no pools";
const WITHOUT_CUDA: &str = "errors without CUDA, but with its feature";

/// Returns the name of a test program's step on the virtual device.
fn step_of(program: &str, package: &Path) -> String {
    let suffix = if has_devices(package) { ", NVRTC 12, capability 80" } else { "" };
    format!("{program} of {}{suffix}", package.display())
}

/// Whether the tests of a package loop over devices, so that they are started on the virtual device; the others load it
/// themselves where they need it.
fn has_devices(package: &Path) -> bool {
    package == root() || package == root().join("bitlane-quant")
}

/// Returns every target of the workspace, which could have tests, with the folder of its package.
fn targets() -> Result<Vec<(String, PathBuf)>, Failure> {
    let output = cargo("metadata --no-deps --format-version 1").output()?;
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let mut found = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let manifest = Path::new(package["manifest_path"].as_str().unwrap_or_default());
        let folder = manifest.parent().unwrap_or(manifest);
        for target in package["targets"].as_array().into_iter().flatten() {
            found.push((target["name"].as_str().unwrap_or_default().into(), folder.into()));
        }
    }
    Ok(found)
}

/// What a normal run tries on the virtual device of the cases that each need a kernel of their own: compiling one takes
/// longer than all else. The turn chooses them; the long run tries all.
const SLICE: [(&str, &str); 4] = [
    ("BITLANE_GOLDENS", "8"),
    ("BITLANE_KERNELS", "3"),
    ("BITLANE_CUDA_GRAPHS", "100"),
    ("PROPTEST_CASES", "64"),
];

/// Builds everything with all features and debug assertions. All kernels run as NVRTC 12 makes them for one device, and
/// some of the recorded answers come from NVRTC 13 and another.
fn on_virtual_device(steps: &mut Steps, cuda: &VirtualCuda, full: bool) -> Result<Tests, Failure> {
    // One build for all packages, so that the library is built once for all of them.
    let words = format!("test --no-run --workspace --lib --bins --tests {}", all_features());
    let tests = targets()?.into_iter().map(|(test, package)| step_of(&test, &package));
    let tests = tests.chain([RECORDED, WITHOUT_CUDA].map(String::from));
    let mut programs = Vec::new();
    steps.run_for("tests, all features: build", tests, || {
        programs = executables(&mut cargo(&words))?;
        // The program `bitlane`, which its tests start, is not one of them.
        programs.retain(|program| program.is_test);
        Ok(())
    })?;
    let place = |program: &Program| match program.package == root() {
        true => PROGRAMS.iter().position(|name| *name == program.name),
        false => None,
    };
    programs.sort_by_key(|program| place(program).unwrap_or(PROGRAMS.len()));
    let mut tests = Vec::new();
    for program in &programs {
        let name = step_of(&program.name, &program.package);
        if !has_devices(&program.package) {
            tests.push((name, started(program)));
            continue;
        }
        let on = |nvrtc, device| -> Result<process::Command, Failure> {
            let mut test = cuda.on_device(started(program), nvrtc, device)?;
            if !full {
                test.env("BITLANE_FUZZ_SECONDS", "5").envs(SLICE);
            }
            Ok(test)
        };
        let mut test = on(Nvrtc::Twelve, (80, true))?;
        match &*program.name {
            "results" => {
                test.args(["--skip", "goldens::"]);
                let mut goldens = on(Nvrtc::Thirteen, (120, false))?;
                goldens.arg("goldens::");
                tests.push((RECORDED.into(), goldens));
            }
            // Nothing may depend on the order of warps, nor of work that streams and events leave open.
            "cuda" | "parity" => {
                test.env("VCUDA_ORDER", "1").env("VCUDA_WARPS", "seed:1");
            }
            "interface" => {
                let mut without = started(program);
                without.arg("errors::").env("BITLANE_TEST_DRIVER", "none");
                tests.push((WITHOUT_CUDA.into(), without));
            }
            _ => {}
        }
        tests.push((name, test));
    }
    Ok(tests)
}

/// Returns the command that starts a test program where cargo would.
fn started(program: &Program) -> process::Command {
    let mut started = command(&program.path);
    started.current_dir(&program.package).env("CARGO_MANIFEST_DIR", &program.package);
    started
}

/// The whole matrix, of which the normal run does a slice.
fn everything(steps: &mut Steps, cuda: &VirtualCuda) -> Outcome {
    let all = "test --all-features --no-fail-fast";
    for nvrtc in [Nvrtc::Twelve, Nvrtc::Thirteen] {
        for device in CAPABILITIES.into_iter().flat_map(|cc| [(cc, true), (cc, false)]) {
            let name = format!("suite, NVRTC {nvrtc:?}, capability and pools {device:?}");
            steps.run(&name, || {
                let mut suite = cuda.on_device(cargo(all), nvrtc, device)?;
                suite.args(["--test", "parity", "--test", "results", "--test", "cuda"]);
                suite.args(["--test", "math", "--test", "interface", "--test", "programs"]);
                finish(suite.env("BITLANE_FUZZ_SECONDS", "5"))
            })?;
        }
    }
    steps.run("random programs whose calls fail, ten minutes each", || {
        let tests = cargo("test --all-features --test cuda fault_fuzz::");
        let mut suite = cuda.on_device(tests, Nvrtc::Twelve, (80, true))?;
        finish(suite.env("BITLANE_FUZZ_SECONDS", "600"))
    })?;
    steps.run("bitlane-candle on CUDA", || toolkit::test_candle(&cuda.driver, &cuda.cache))?;
    // The suite has compiled every kernel for its capabilities; this one is common and not among them.
    for nvrtc in ["12", "13"] {
        steps.task(&format!("kernels --nvrtc {nvrtc} --arch sm_86 --out target/kernels"))?;
    }
    steps.task("bindings --check --generate")?;
    steps.task("sass --all")?;
    steps.task("cost")?;
    for tool in &sanitize::TOOLS {
        let name = format!("cargo xtask sanitize {}", tool.name);
        match (tool.missing)() {
            None => steps.run(&name, tool.run)?,
            Some(reason) => steps.not_run(&name, reason),
        }
    }
    steps.task("fuzz 1200")
}

#[derive(Clone, Copy, Debug)]
enum Nvrtc {
    Twelve,
    Thirteen,
}

/// The virtual driver, ready to be told which device to be.
struct VirtualCuda {
    driver: PathBuf,
    /// Where kernels are kept from one test to the next and, since the name of each is a hash of all that it depends on,
    /// from one run to the next.
    cache: PathBuf,
}

impl VirtualCuda {
    /// Builds the driver. A cold start has no kernels.
    fn new(cold: bool) -> Result<VirtualCuda, Failure> {
        let cache = root().join("target/kernel-cache");
        if cold && cache.exists() {
            fs::remove_dir_all(&cache)?;
        }
        Ok(VirtualCuda { driver: virtual_cuda::build()?, cache })
    }

    /// A task in a process of its own, which has the cache of this run.
    fn task(&self, words: &str) -> Result<(String, process::Command), Failure> {
        let (name, mut task) = task(words)?;
        task.env("BITLANE_CACHE", &self.cache);
        Ok((name, task))
    }

    /// Puts a command on a virtual device.
    fn on_device(
        &self,
        mut command: process::Command,
        nvrtc: Nvrtc,
        (capability, pools): (u32, bool),
    ) -> Result<process::Command, Failure> {
        let nvrtc = match nvrtc {
            Nvrtc::Twelve => wheels::NVRTC_12.path()?,
            Nvrtc::Thirteen => wheels::NVRTC_13.path()?,
        };
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Without the feature, its tests would run on the CPU alone.
    #[test]
    fn packages_on_the_virtual_device_are_built_for_it() {
        for (_, package) in targets().unwrap() {
            let name = package.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let feature =
                if package == root() { "bitlane/cuda".into() } else { format!("{name}/cuda") };
            let features = all_features();
            let is_built = features.split([' ', ',']).any(|word| word == feature);
            assert!(is_built || !has_devices(&package), "{feature}");
        }
    }

    /// With the name of a test program, `--only` builds it first.
    #[test]
    fn every_program_has_a_step_by_its_name() {
        let targets = targets().unwrap();
        let steps: Vec<_> = targets.iter().map(|(test, package)| step_of(test, package)).collect();
        for name in PROGRAMS {
            let own = format!("{name} of {}, NVRTC", root().display());
            assert!(steps.iter().any(|step| step.starts_with(&own)), "{name}");
        }
        assert!(steps.iter().any(|step| step.starts_with("gguf of ")));
        let build = |only: &str| {
            let mut asked = Steps::new(false, Some(only.into()), None);
            asked.run_for("a build", steps.iter().cloned(), || Err("it ran".into())).is_err()
        };
        assert!(build("gguf") && build("results of") && build("a build") && !build("clippy"));
    }
}
