//! A Python environment with NumPy and PyTorch in `target/python`, for the interoperability tests.

use std::fs;
use std::process::Command;

use crate::Outcome;
use crate::run::{finish, root};

/// The packages that the tests import. PyTorch comes with its CUDA libraries, some 5 GB.
const PACKAGES: [&str; 4] =
    ["numpy==2.4.6", "ml_dtypes==0.6.0", "safetensors==0.8.0", "torch==2.15.0"];

/// Creates the environment, unless it exists and is complete.
pub fn prepare() -> Outcome {
    let home = root().join("target/python");
    let complete = home.join("complete");
    let wanted = PACKAGES.join(" ");
    if fs::read_to_string(&complete).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    eprintln!("fetching {wanted}: some 5 GB, once");
    finish(Command::new("python3").args(["-m", "venv"]).arg(&home))?;
    finish(
        Command::new(home.join("bin/python"))
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .args(PACKAGES),
    )?;
    fs::write(complete, wanted)?;
    Ok(())
}
