//! `cargo xtask python`: the Python package, built as a wheel, and its tests.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use crate::run::{cargo, finish, root};
use crate::{Failure, Outcome, python, virtual_cuda, wheels};

/// Lints and builds the Python package, and runs its tests.
///
/// The wheel, and what the tests need, are installed into target/python: nothing else of the machine's Python is touched.
#[derive(clap::Args, Default)]
pub struct Options {
    /// Build it with optimisation, as users get it.
    #[arg(long)]
    pub release: bool,
    /// Build it with CUDA, and add the tests on the virtual device, and with PyTorch, JAX, SciPy and Cubed, which are
    /// fetched; and the standard's own suite, if BITLANE_ARRAY_API_TESTS names a checkout of it.
    #[arg(long)]
    pub full: bool,
    /// Arguments for pytest, such as `-k dask`.
    #[arg(last = true)]
    pub arguments: Vec<String>,
}

/// The variable that names a checkout of data-apis/array-api-tests, with its submodule.
pub const SUITE: &str = "BITLANE_ARRAY_API_TESTS";

/// What the standard's own suite needs beside what the tests of the package do.
const SUITE_NEEDS: [&str; 4] = [
    "hypothesis==6.170.15",
    "ndindex==1.10.1",
    "pytest-json-report==1.5.0",
    "pytest-metadata==3.1.1",
];

/// Libraries that take arrays of any library.
const STANDARD: [&str; 4] =
    ["array-api-compat==1.16.0", "array-api-extra==0.11.5", "scipy==1.17.1", "cubed==0.27.0"];

pub fn run(Options { release, full, arguments }: Options) -> Outcome {
    let home = root().join("bitlane-python");
    let built = root().join("target/python-package");
    let tools = python::install("package", &requirements()?)?;
    // Checking takes a part of the time of a build, so the code for CUDA is checked even where it is not built.
    let lints = ["clippy --no-default-features -- -D warnings", "clippy -- -D warnings"];
    for words in ["fmt --check"].into_iter().chain(lints) {
        finish(cargo(words).current_dir(&home).env("CARGO_TARGET_DIR", &built))?;
    }
    let made = root().join("target/python/wheels");
    if made.exists() {
        fs::remove_dir_all(&made)?;
    }
    let mut maturin = Command::new(tools.join("bin/maturin"));
    maturin.args(["build", "--quiet", "--profile", if release { "release" } else { "dev" }]);
    // Without CUDA it takes half the time, and everything else is the same.
    if !full {
        maturin.arg("--no-default-features");
    }
    maturin.arg("--out").arg(&made);
    maturin.current_dir(&home).env("CARGO_TARGET_DIR", &built);
    finish(&mut maturin)?;
    let wheel = fs::read_dir(&made)?.next().ok_or("maturin has made no wheel")??.path();
    let installed = root().join("target/python/bitlane");
    if installed.exists() {
        fs::remove_dir_all(&installed)?;
    }
    finish(python::pip(&installed).args(["--no-deps", "--no-index"]).arg(&wheel))?;
    let mut folders = vec![installed, tools];
    if full {
        folders.push(python::install("torch", &python::TORCH)?);
        folders.push(python::install("jax", &["jax[cpu]==0.10.2"])?);
        folders.push(python::install("standard", &STANDARD)?);
    }
    let path = env::join_paths(folders)?;
    let tests = || {
        let mut tests = Command::new("python3");
        tests.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]).current_dir(&home);
        tests.env("PYTHONPATH", &path).env("PYTHONDONTWRITEBYTECODE", "1");
        tests
    };
    if !full {
        return finish(tests().args(arguments));
    }
    finish(tests().arg("--others").args(arguments))?;
    // PyTorch would find the stand-ins for CUDA's libraries there.
    let folder = virtual_cuda::target().join("virtual-cuda-12");
    virtual_cuda::furnish(&folder, &virtual_cuda::build()?, &wheels::NVRTC_12.path()?)?;
    let on_cuda = |command: &mut Command| {
        command.env("LD_LIBRARY_PATH", folder.join("lib64"));
        finish(command.env("BITLANE_CACHE", root().join("target/kernel-cache")))
    };
    on_cuda(tests().args(["--cuda", "tests/test_cuda.py"]))?;
    let Some(checkout) = env::var_os(SUITE) else {
        println!("== the standard's own suite is NOT run: {SUITE} names no checkout of it");
        return Ok(());
    };
    let needs = python::install("array-api-tests", &SUITE_NEEDS)?;
    let path = env::join_paths(env::split_paths(&path).chain([needs, home.join("tests")]))?;
    let suite = |module, examples| {
        println!("== the standard's own suite on the module {module}");
        suite(Path::new(&checkout), &path, module, examples)
    };
    finish(&mut suite("bitlane", "100"))?;
    // The virtual device takes its time: there the functions matter more than the elements.
    on_cuda(&mut suite("on_cuda", "3"))
}

/// Returns the command that runs the standard's own suite on a module, but for what is known not to pass.
fn suite(checkout: &Path, path: &OsStr, module: &str, examples: &str) -> Command {
    let skips = root().join("bitlane-python/tests/array_api_skips.txt");
    let mut suite = Command::new("python3");
    // The names of the tests are relative to this folder, which pytest would guess from the file of those that are skipped.
    suite.args([
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-c",
        "pytest.ini",
        "--rootdir",
        ".",
    ]);
    suite.args(["--disable-deadline", "--max-examples", examples, "--skips-file"]).arg(skips);
    suite.arg("array_api_tests").current_dir(checkout).env("PYTHONPATH", path);
    suite.env("ARRAY_API_TESTS_MODULE", module).env("ARRAY_API_TESTS_VERSION", "2024.12");
    suite.env("PYTHONDONTWRITEBYTECODE", "1");
    suite
}

/// Returns the pinned packages that the tests need.
fn requirements() -> Result<Vec<String>, Failure> {
    let listed = fs::read_to_string(root().join("bitlane-python/tests/requirements.txt"))?;
    let lines = listed.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    Ok(lines.map(String::from).collect())
}
