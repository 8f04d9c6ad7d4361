//! `cargo xtask python`: the Python package, built as a wheel, and its tests.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

use crate::run::{cargo, finish, root};
use crate::{Failure, Outcome, python};

/// Lints and builds the Python package, and runs its tests.
///
/// The wheel, and what the tests need, are installed into target/python: nothing else of the machine's Python is touched.
#[derive(clap::Args, Default)]
pub struct Options {
    /// Build it with optimisation, as users get it.
    #[arg(long)]
    pub release: bool,
    /// Add the tests with PyTorch and JAX, which are fetched, and with all examples of the properties.
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
    let wheels = root().join("target/python/wheels");
    if wheels.exists() {
        fs::remove_dir_all(&wheels)?;
    }
    let mut maturin = Command::new(tools.join("bin/maturin"));
    maturin.args(["build", "--quiet", "--no-default-features", "--profile"]);
    maturin.arg(if release { "release" } else { "dev" }).arg("--out").arg(&wheels);
    maturin.current_dir(&home).env("CARGO_TARGET_DIR", &built);
    finish(&mut maturin)?;
    let wheel = fs::read_dir(&wheels)?.next().ok_or("maturin has made no wheel")??.path();
    let installed = root().join("target/python/bitlane");
    if installed.exists() {
        fs::remove_dir_all(&installed)?;
    }
    finish(
        Command::new("python3")
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .args(["--root-user-action", "ignore", "--no-deps", "--no-index", "--target"])
            .args([&installed, &wheel]),
    )?;
    let mut folders = vec![installed, tools];
    if full {
        folders.push(python::install("torch", &python::TORCH)?);
        folders.push(python::install("jax", &["jax[cpu]==0.10.2"])?);
    }
    let mut tests = Command::new("python3");
    tests.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]);
    if full {
        tests.arg("--full");
    }
    tests.args(arguments).current_dir(&home).env("PYTHONPATH", joined(folders)?);
    finish(tests.env("PYTHONDONTWRITEBYTECODE", "1"))
}

fn joined(folders: Vec<PathBuf>) -> Result<OsString, Failure> {
    Ok(env::join_paths(folders)?)
}

/// Returns the pinned packages that the tests need.
fn requirements() -> Result<Vec<String>, Failure> {
    let listed = fs::read_to_string(root().join("bitlane-python/tests/requirements.txt"))?;
    let lines = listed.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    Ok(lines.map(String::from).collect())
}
