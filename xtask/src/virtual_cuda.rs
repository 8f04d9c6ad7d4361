//! The virtual driver and a real NVRTC, for the tests and for any program that asks for CUDA.
//!
//! `cargo xtask cuda-env` prints the lines that put both in front of whatever the machine has:
//! `eval "$(cargo xtask cuda-env)"`, and every CUDA program started from that shell runs on the virtual device.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::arguments::Arguments;
use crate::run::{cargo, finish, root};
use crate::{Command, Failure, Outcome, wheels};

pub const COMMAND: Command = Command { name: "cuda-env", usage: "[--nvrtc 12|13]", run };

fn run(mut arguments: Arguments) -> Outcome {
    let version = arguments.value("--nvrtc")?.unwrap_or("12".into());
    let nvrtc = match &*version {
        "12" => wheels::NVRTC_12.path()?,
        "13" => wheels::NVRTC_13.path()?,
        other => return Err(format!("--nvrtc {other}: there are 12 and 13").into()),
    };
    arguments.finish()?;
    let driver = build()?;
    let folder = target().join(format!("virtual-cuda-{version}"));
    fs::create_dir_all(&folder)?;
    // Programs look for the libraries by these names. The folder is on nobody's way unless it is asked for, so
    // the names cannot come between a program and a real driver.
    for name in ["libcuda.so", "libcuda.so.1"] {
        link(&driver, &folder.join(name))?;
    }
    link(&nvrtc, &folder.join("libnvrtc.so"))?;
    println!(
        "export LD_LIBRARY_PATH=\"{}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}\"",
        folder.display()
    );
    for (name, value) in variables(&driver, &nvrtc) {
        println!("export {name}=\"{value}\"");
    }
    Ok(())
}

/// Builds the virtual driver, and says where it is.
pub fn build() -> Result<PathBuf, Failure> {
    finish(&mut cargo("build --quiet -p vcuda"))?;
    Ok(target().join("debug/libvcuda.so").canonicalize()?)
}

/// Where cargo builds.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), |path| root().join(path))
}

/// What the test suite and the crate read from the environment.
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
