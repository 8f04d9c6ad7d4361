//! The virtual driver and a real NVRTC, for the tests and for any other CUDA program.
//!
//! `cargo xtask cuda-env` prints shell commands that make both take precedence over what is installed. After
//! `eval "$(cargo xtask cuda-env)"`, every CUDA program started from that shell runs on the virtual device, including
//! programs that compile their own kernels, with CUDA's headers. cuBLAS and cuRAND are replaced by stand-ins.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::run::{cargo, finish, root};
use crate::{Failure, Outcome, toolkit, wheels};

/// Prints the shell commands that make CUDA programs run on the virtual driver: eval "$(cargo xtask cuda-env)".
#[derive(clap::Args)]
pub struct Options {
    /// The version of NVRTC. CUDA's headers come with 13 only.
    #[arg(long, default_value = "13", value_parser = ["12", "13"])]
    nvrtc: String,
    /// Add nvcc, with which candle can be built. Kernels that would be machine code, of which candle has some for
    /// quantised products, are left out.
    #[arg(long, conflicts_with = "nvrtc")]
    candle: bool,
}

pub fn run(options: Options) -> Outcome {
    let driver = build()?;
    let (folder, nvrtc) = match (&*options.nvrtc, options.candle) {
        ("12", _) => (target().join("virtual-cuda-12"), wheels::NVRTC_12.path()?),
        (_, false) => (target().join("virtual-cuda-13"), wheels::NVRTC_13.path()?),
        (_, true) => (target().join("virtual-cuda-candle"), wheels::NVRTC_13.path()?),
    };
    furnish(&folder, &driver, &nvrtc)?;
    for (name, value) in [("LD_LIBRARY_PATH", folder.join("lib64")), ("PATH", folder.join("bin"))] {
        if name == "LD_LIBRARY_PATH" || options.candle {
            println!("export {name}=\"{}${{{name}:+:${name}}}\"", value.display());
        }
    }
    for (name, value) in variables(&driver, &nvrtc) {
        println!("export {name}=\"{value}\"");
    }
    if options.nvrtc == "13" {
        toolkit::add_headers(&folder)?;
        println!("export CUDA_PATH=\"{}\"", folder.display());
    }
    if options.candle {
        toolkit::add_nvcc(&folder)?;
        for (name, value) in toolkit::VARIABLES {
            println!("export {name}=\"{value}\"");
        }
    }
    Ok(())
}

/// Puts links to the libraries into the folder `lib64` of another, under every name by which programs and the libraries
/// themselves look for them. The folder is searched only if `LD_LIBRARY_PATH` names it, so the links do not hide a real
/// driver by accident.
pub fn furnish(folder: &Path, driver: &Path, nvrtc: &Path) -> Outcome {
    let folder = folder.join("lib64");
    fs::create_dir_all(&folder)?;
    for name in ["libcuda.so", "libcuda.so.1"] {
        link(driver, &folder.join(name))?;
    }
    let stand_ins = build_stand_ins()?;
    for (library, versions) in
        [("cublas", ["12", "13"]), ("cublasLt", ["12", "13"]), ("curand", ["10", "11"])]
    {
        link(&stand_ins, &folder.join(format!("lib{library}.so")))?;
        for version in versions {
            link(&stand_ins, &folder.join(format!("lib{library}.so.{version}")))?;
        }
    }
    link(nvrtc, &folder.join("libnvrtc.so"))?;
    // NVRTC opens its library of built-in functions by name when it compiles.
    let home = nvrtc.parent().ok_or("NVRTC lies in no folder")?;
    for entry in fs::read_dir(home)? {
        let name = entry?.file_name();
        if name.to_string_lossy().starts_with("libnvrtc") {
            link(&home.join(&name), &folder.join(&name))?;
        }
    }
    Ok(())
}

/// Builds the virtual driver and returns its path.
pub fn build() -> Result<PathBuf, Failure> {
    finish(&mut cargo("build --quiet -p vcuda"))?;
    Ok(target().join("debug/libvcuda.so").canonicalize()?)
}

/// Builds the stand-ins for cuBLAS and cuRAND and returns their path.
fn build_stand_ins() -> Result<PathBuf, Failure> {
    finish(&mut cargo("build --quiet -p vcuda-stand-ins"))?;
    Ok(target().join("debug/libvcuda_stand_ins.so").canonicalize()?)
}

/// Returns cargo's target folder.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), |path| root().join(path))
}

/// Returns the environment variables by which the test suite and the crate find both libraries.
pub fn variables(driver: &Path, nvrtc: &Path) -> [(&'static str, String); 3] {
    [
        ("BITLANE_TEST_DRIVER", "virtual".into()),
        ("BITLANE_VCUDA", driver.display().to_string()),
        ("BITLANE_NVRTC", nvrtc.display().to_string()),
    ]
}

pub fn link(file: &Path, name: &Path) -> Outcome {
    if name.is_symlink() {
        fs::remove_file(name)?;
    }
    symlink(file, name).map_err(|error| format!("cannot link {}: {error}", name.display()).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process;

    /// A program independent of this project finds both libraries and compiles its kernel, with nothing but the folder
    /// in its environment.
    #[test]
    fn a_foreign_program_runs_in_the_environment() -> Outcome {
        let driver = build()?;
        finish(&mut cargo("build --quiet -p vcuda --example foreign"))?;
        for (version, wheel) in [("12", wheels::NVRTC_12), ("13", wheels::NVRTC_13)] {
            let folder = target().join(format!("virtual-cuda-test-{version}"));
            furnish(&folder, &driver, &wheel.path()?)?;
            let output = process::Command::new(target().join("debug/examples/foreign"))
                .env_clear()
                .env("LD_LIBRARY_PATH", folder.join("lib64"))
                .output()?;
            let said = [output.stdout, output.stderr].concat();
            let said = String::from_utf8_lossy(&said);
            assert!(output.status.success() && said.contains("5050"), "NVRTC {version}: {said}");
            assert!(!said.contains("vcuda: "), "{said}");
            fs::remove_dir_all(&folder)?;
        }
        Ok(())
    }
}
