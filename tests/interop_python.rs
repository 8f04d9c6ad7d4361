//! Exchange of files and memory with the real NumPy and PyTorch.
//!
//! These tests need a Python with the packages `numpy`, `ml_dtypes`, `torch` and `safetensors`: the one that
//! `BITLANE_PYTHON` names, or the one in `target/python`, which `cargo xtask test --full` creates. Without it they are
//! reported as ignored.

use std::path::{Path, PathBuf};
use std::process::Command;

use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let python = python();
    let ignored = !(python.is_some()
        && cfg!(all(
            feature = "npy",
            feature = "safetensors",
            feature = "dlpack",
            feature = "cpu"
        )));
    if ignored {
        eprintln!(
            "interop_python: ignored; needs the features cpu, npy, safetensors and dlpack, and a Python \
             with NumPy and PyTorch: run `cargo xtask test --full`, or name one in BITLANE_PYTHON"
        );
    }
    let python = python.unwrap_or_default();
    let files = python.clone();
    let tests = vec![
        Trial::test("files_of_numpy_and_safetensors", move || tests::files(&files))
            .with_ignored_flag(ignored),
        Trial::test("dlpack_with_numpy_and_torch", move || tests::capsules(&python))
            .with_ignored_flag(ignored),
    ];
    libtest_mimic::run(&Arguments::from_args(), tests).exit();
}

/// Finds a Python that has these packages.
fn python() -> Option<PathBuf> {
    let named = std::env::var_os("BITLANE_PYTHON").map(PathBuf::from);
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/python/bin/python");
    let python = named.unwrap_or(own);
    let imports = "import numpy, ml_dtypes, torch, safetensors";
    let works = Command::new(&python)
        .args(["-c", imports])
        .output()
        .is_ok_and(|done| done.status.success());
    works.then_some(python)
}

#[allow(dead_code, reason = "without the features nothing is run")]
fn script(python: &Path, name: &str, arguments: &[&Path], verb: &str) -> Result<(), Failed> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python").join(name);
    let mut command = Command::new(python);
    command.arg(script);
    if !verb.is_empty() {
        command.arg(verb);
    }
    let done = command.args(arguments).output()?;
    if done.status.success() {
        return Ok(());
    }
    let output = [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    Err(format!("{name} {verb}: {}: {}", done.status, output.concat()).into())
}

#[cfg(not(all(feature = "npy", feature = "safetensors", feature = "dlpack", feature = "cpu")))]
mod tests {
    use super::*;

    pub fn files(_: &Path) -> Result<(), Failed> {
        Err("a feature is missing".into())
    }

    pub fn capsules(_: &Path) -> Result<(), Failed> {
        Err("a feature is missing".into())
    }
}

#[cfg(all(feature = "npy", feature = "safetensors", feature = "dlpack", feature = "cpu"))]
mod tests {
    use bitlane::{DType, Device, Tensor, npy, safetensors};

    use super::*;

    /// Returns the numbers 0 to 5 in a dtype.
    fn sample(dtype: DType) -> Tensor {
        Tensor::arange(6, dtype, &Device::cpu()).unwrap().reshape((2, 3)).unwrap()
    }

    #[track_caller]
    fn same(found: &Tensor, dtype: DType, place: &str) {
        assert!(found.bits_equal(&sample(dtype)).unwrap(), "{place}: {found:?}");
    }

    pub fn files(python: &Path) -> Result<(), Failed> {
        let folder = tempfile::tempdir()?;
        let device = Device::cpu();
        script(python, "files.py", &[folder.path()], "write")?;
        for &dtype in DType::ALL {
            let load =
                |kind: &str| npy::load(folder.path().join(format!("{dtype}{kind}.npy")), &device);
            same(&load("")?, dtype, "plain");
            same(&load("_big")?, dtype, "big-endian");
            let fortran = load("_fortran")?;
            same(&fortran, dtype, "Fortran order");
            assert_eq!(fortran.strides(), [1, 2]);
        }
        for name in ["plain.npz", "compressed.npz"] {
            let arrays = npy::load_npz(folder.path().join(name), &device)?;
            assert_eq!(arrays.len(), DType::ALL.len());
            for (array, tensor) in arrays {
                same(&tensor, array.parse()?, name);
            }
        }
        let tensors = safetensors::load(folder.path().join("torch.safetensors"), &device)?;
        assert_eq!(tensors.len(), DType::ALL.len() - 1);
        for (name, tensor) in tensors {
            same(&tensor, name.parse()?, "torch.safetensors");
        }

        let folder = tempfile::tempdir()?;
        for &dtype in DType::ALL {
            let x = sample(dtype);
            npy::save(folder.path().join(format!("{dtype}.npy")), &x)?;
            let columns = x.transpose(0, 1)?.contiguous()?.transpose(0, 1)?;
            npy::save(folder.path().join(format!("{dtype}_fortran.npy")), &columns)?;
        }
        let named = || DType::ALL.iter().map(|&dtype| (dtype.name(), sample(dtype)));
        npy::save_npz(folder.path().join("ours.npz"), named())?;
        let known = named().filter(|(_, tensor)| tensor.dtype() != DType::C128);
        safetensors::save(folder.path().join("ours.safetensors"), known)?;
        script(python, "files.py", &[folder.path()], "check")
    }

    pub fn capsules(python: &Path) -> Result<(), Failed> {
        script(python, "dlpack_capsules.py", &[&bridge()?], "")
    }

    /// Builds the shared library that Python calls.
    fn bridge() -> Result<PathBuf, Failed> {
        let exe = std::env::current_exe()?;
        let target = exe.ancestors().nth(3).ok_or("the test does not know its own path")?;
        let done = Command::new(env!("CARGO"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(["build", "--quiet", "--example", "python_bridge", "--features", "dlpack"])
            .arg("--target-dir")
            .arg(target)
            .output()?;
        if !done.status.success() {
            return Err(String::from_utf8_lossy(&done.stderr).into_owned().into());
        }
        let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
        Ok(target.join(format!("debug/examples/{prefix}python_bridge{suffix}")))
    }
}
