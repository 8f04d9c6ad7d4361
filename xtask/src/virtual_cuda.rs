//! The virtual driver and a real NVRTC, for the tests and for any other CUDA program.
//!
//! `cargo xtask cuda-env` prints shell commands that make both take precedence over what is installed. After
//! `eval "$(cargo xtask cuda-env)"`, every CUDA program started from that shell runs on the virtual device, including
//! programs that compile their own kernels.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::run::{cargo, finish, root};
use crate::{Failure, Outcome, wheels};

/// Prints the shell commands that make CUDA programs run on the virtual driver: eval "$(cargo xtask cuda-env)".
#[derive(clap::Args)]
pub struct Options {
    /// The version of NVRTC.
    #[arg(long, default_value = "12", value_parser = ["12", "13"])]
    nvrtc: String,
}

pub fn run(options: Options) -> Outcome {
    let nvrtc = if options.nvrtc == "12" { wheels::NVRTC_12 } else { wheels::NVRTC_13 }.path()?;
    let driver = build()?;
    let folder = target().join(format!("virtual-cuda-{}", options.nvrtc));
    furnish(&folder, &driver, &nvrtc)?;
    println!(
        "export LD_LIBRARY_PATH=\"{}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}\"",
        folder.display()
    );
    for (name, value) in variables(&driver, &nvrtc) {
        println!("export {name}=\"{value}\"");
    }
    Ok(())
}

/// Puts links to the libraries into a folder, under every name by which programs and the libraries themselves look for
/// them. The folder is searched only if `LD_LIBRARY_PATH` names it, so the links do not hide a real driver by accident.
fn furnish(folder: &Path, driver: &Path, nvrtc: &Path) -> Outcome {
    fs::create_dir_all(folder)?;
    for name in ["libcuda.so", "libcuda.so.1"] {
        link(driver, &folder.join(name))?;
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

/// Returns cargo's target folder.
fn target() -> PathBuf {
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

fn link(file: &Path, name: &Path) -> Outcome {
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
                .env("LD_LIBRARY_PATH", &folder)
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
