//! Python packages in `target/python`, for the interoperability tests and for comparisons.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{finish, root};
use crate::{Failure, Outcome};

/// What every run tests with, some 30 MB.
const NUMPY: [&str; 3] = ["numpy==2.4.6", "ml_dtypes==0.6.0", "safetensors==0.8.0"];

/// What only `--full` tests with. PyTorch comes with its CUDA libraries, some 5 GB.
pub const TORCH: [&str; 1] = ["torch==2.15.0"];

/// Installs NumPy and, if wanted, PyTorch, unless they are there.
pub fn prepare(torch: bool) -> Outcome {
    install("numpy", &NUMPY)?;
    if torch {
        install("torch", &TORCH)?;
    }
    Ok(())
}

/// Installs packages into a folder, unless they are there, and returns the folder.
pub fn install(name: &str, packages: &[impl AsRef<str>]) -> Result<PathBuf, Failure> {
    let home = root().join("target/python").join(name);
    let packages: Vec<&str> = packages.iter().map(AsRef::as_ref).collect();
    let (complete, wanted) = (home.join("complete"), packages.join(" "));
    if fs::read_to_string(&complete).is_ok_and(|found| found == wanted) {
        return Ok(home);
    }
    if home.exists() {
        fs::remove_dir_all(&home)?;
    }
    eprintln!("fetching {wanted}");
    finish(pip(&home).args(packages))?;
    fs::write(complete, wanted)?;
    Ok(home)
}

/// Returns the command that installs packages into a folder.
pub fn pip(folder: &Path) -> Command {
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    pip.args(["--root-user-action", "ignore", "--target"]).arg(folder);
    pip
}
