//! `cargo xtask python`: the Python package, built as a wheel, and its tests.

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
    /// Build it with CUDA, and add the tests on the virtual device, and with PyTorch and JAX, which are fetched.
    #[arg(long)]
    pub full: bool,
    /// Arguments for pytest, such as `-k dask`.
    #[arg(last = true)]
    pub arguments: Vec<String>,
}

pub fn run(Options { release, full, arguments }: Options) -> Outcome {
    let home = root().join("bitlane-python");
    let built = root().join("target/python-package");
    let tools = python::install("package", &requirements()?)?;
    for words in ["fmt --check", "clippy --no-default-features -- -D warnings"] {
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
    let mut tests = tests();
    tests.args(["--cuda", "tests/test_cuda.py"]).env("LD_LIBRARY_PATH", folder.join("lib64"));
    finish(tests.env("BITLANE_CACHE", root().join("target/kernel-cache")))
}

/// Returns the pinned packages that the tests need.
fn requirements() -> Result<Vec<String>, Failure> {
    let listed = fs::read_to_string(root().join("bitlane-python/tests/requirements.txt"))?;
    let lines = listed.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    Ok(lines.map(String::from).collect())
}
