//! Exchange of files and memory with the real NumPy and PyTorch, and whole jobs compared with them.
//!
//! These tests need a Python with the packages `numpy`, `ml_dtypes` and `safetensors`, and half of the exchanges also `torch`: the
//! one that `BITLANE_PYTHON` names, or else `python3` with the packages that `cargo xtask test` puts into
//! `target/python`, where only `--full` puts PyTorch. Tests whose packages are missing are reported as ignored.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use libtest_mimic::{Failed, Trial};

/// The packages that the tests of a library import.
const IMPORTS: [(&str, &str); 2] =
    [("numpy", "numpy, ml_dtypes, safetensors.numpy"), ("torch", "safetensors.torch")];

pub fn tests() -> Vec<Trial> {
    let built =
        cfg!(all(feature = "npy", feature = "safetensors", feature = "dlpack", feature = "cpu"));
    let mut tests = Vec::new();
    for (library, imports) in IMPORTS {
        let ignored = !built || !has(imports);
        if ignored {
            eprintln!(
                "python::{library} is ignored; it needs the features cpu, npy, safetensors and dlpack, and a Python \
                 with {imports}: run `cargo xtask test`, with --full for PyTorch, or name one in BITLANE_PYTHON"
            );
        }
        for (name, body) in [("files", bodies::files as fn(_) -> _), ("dlpack", bodies::capsules)] {
            let test = Trial::test(format!("python::{name}_of_{library}"), move || body(library));
            tests.push(test.with_ignored_flag(ignored));
        }
    }
    for example in ["08_normalize_and_quantize", "09_search_and_vote"] {
        let test = Trial::test(format!("python::jobs_of_{example}"), move || jobs(example));
        tests.push(test.with_ignored_flag(!has("numpy")));
    }
    tests
}

/// Runs an example in a process of its own and lets NumPy check what it prints.
fn jobs(example: &str) -> Result<(), Failed> {
    let name = format!("examples::{example}");
    let done = Command::new(std::env::current_exe()?).args(["--exact", &name]).output()?;
    if !done.status.success() {
        return Err(String::from_utf8_lossy(&done.stderr).into_owned().into());
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/jobs.py");
    let mut checks = python();
    checks.arg(script).arg(example).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut checks = checks.spawn()?;
    checks.stdin.take().ok_or("no pipe")?.write_all(&done.stdout)?;
    let checked = checks.wait_with_output()?;
    if checked.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&checked.stderr).into_owned().into())
}

/// Returns a command that starts Python with the packages.
fn python() -> Command {
    if let Some(named) = std::env::var_os("BITLANE_PYTHON") {
        return Command::new(named);
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/python");
    let mut command = Command::new("python3");
    let folders = ["torch", "numpy"].map(|name| folder.join(name));
    command.env("PYTHONPATH", std::env::join_paths(folders).unwrap_or_default());
    command
}

/// Returns whether these packages can be imported.
fn has(imports: &str) -> bool {
    let done = python().args(["-c", &format!("import {imports}")]).output();
    done.is_ok_and(|done| done.status.success())
}

#[cfg(not(all(feature = "npy", feature = "safetensors", feature = "dlpack", feature = "cpu")))]
mod bodies {
    use super::*;

    pub fn files(_: &str) -> Result<(), Failed> {
        Err("a feature is missing".into())
    }

    pub fn capsules(_: &str) -> Result<(), Failed> {
        Err("a feature is missing".into())
    }
}

#[cfg(all(feature = "npy", feature = "safetensors", feature = "dlpack", feature = "cpu"))]
mod bodies {
    use std::path::PathBuf;

    use bitlane::{DType, Device, Tensor, npy, safetensors};

    use super::*;

    fn script(name: &str, words: &[&str], path: &Path) -> Result<(), Failed> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python").join(name);
        let done = python().arg(script).args(words).arg(path).output()?;
        if done.status.success() {
            return Ok(());
        }
        let said = [done.stdout, done.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        Err(format!("{name} {}: {}: {said}", words.join(" "), done.status).into())
    }

    /// Returns the dtypes that NumPy's files have.
    fn known() -> impl Iterator<Item = DType> {
        let float8 = [DType::F8E4M3FN, DType::F8E5M2];
        DType::ALL.iter().copied().filter(move |dtype| !float8.contains(dtype))
    }

    /// Returns the numbers 0 to 5 in a dtype.
    fn sample(dtype: DType) -> Tensor {
        Tensor::arange(6, dtype, &Device::cpu()).unwrap().reshape((2, 3)).unwrap()
    }

    #[track_caller]
    fn same(found: &Tensor, dtype: DType, place: &str) {
        assert!(found.bits_equal(&sample(dtype)).unwrap(), "{place}: {found:?}");
    }

    pub fn files(library: &str) -> Result<(), Failed> {
        let folder = tempfile::tempdir()?;
        let device = Device::cpu();
        script("files.py", &[library, "write"], folder.path())?;
        if library == "numpy" {
            read_numpy(folder.path(), &device)?;
        }
        let file = folder.path().join(format!("{library}.safetensors"));
        let tensors = safetensors::load(file, &device)?;
        assert_eq!(tensors.len(), known().count() - 1);
        for (name, tensor) in tensors {
            same(&tensor, name.parse()?, "a safetensors file");
        }

        let folder = tempfile::tempdir()?;
        for dtype in known() {
            let x = sample(dtype);
            npy::save(folder.path().join(format!("{dtype}.npy")), &x)?;
            let columns = x.transpose(0, 1)?.contiguous()?.transpose(0, 1)?;
            npy::save(folder.path().join(format!("{dtype}_fortran.npy")), &columns)?;
        }
        let named = || known().map(|dtype| (dtype.name(), sample(dtype)));
        npy::save_npz(folder.path().join("ours.npz"), named())?;
        let tensors = named().filter(|(_, tensor)| tensor.dtype() != DType::C128);
        safetensors::save(folder.path().join("ours.safetensors"), tensors)?;
        script("files.py", &[library, "check"], folder.path())
    }

    fn read_numpy(folder: &Path, device: &Device) -> Result<(), Failed> {
        for dtype in known() {
            let load = |kind: &str| npy::load(folder.join(format!("{dtype}{kind}.npy")), device);
            same(&load("")?, dtype, "plain");
            same(&load("_big")?, dtype, "big-endian");
            let fortran = load("_fortran")?;
            same(&fortran, dtype, "Fortran order");
            assert_eq!(fortran.strides(), [1, 2]);
        }
        for name in ["plain.npz", "compressed.npz"] {
            let arrays = npy::load_npz(folder.join(name), device)?;
            assert_eq!(arrays.len(), known().count());
            for (array, tensor) in arrays {
                same(&tensor, array.parse()?, name);
            }
        }
        Ok(())
    }

    pub fn capsules(library: &str) -> Result<(), Failed> {
        script("dlpack_capsules.py", &[library], &bridge()?)
    }

    /// Builds the shared library that Python calls, with the features of this program, so that the crate is not built
    /// again for it.
    fn bridge() -> Result<PathBuf, Failed> {
        let exe = std::env::current_exe()?;
        let target = exe.ancestors().nth(3).ok_or("the test does not know its own path")?;
        let all = cfg!(feature = "host-kernels");
        let features = if all { "--all-features" } else { "--features=dlpack" };
        let done = Command::new(env!("CARGO"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(["build", "--quiet", "--example", "python_bridge", features, "--target-dir"])
            .arg(target)
            .output()?;
        if !done.status.success() {
            return Err(String::from_utf8_lossy(&done.stderr).into_owned().into());
        }
        let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
        Ok(target.join(format!("debug/examples/{prefix}python_bridge{suffix}")))
    }
}
