//! A folder like that of a CUDA toolkit, from NVIDIA's wheels: headers, and nvcc for candle.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::run::{cargo, finish, root};
use crate::virtual_cuda::{self, link, target, variables};
use crate::{Outcome, wheels};

/// What candle's build asks for beside `CUDA_PATH`.
pub const VARIABLES: [(&str, &str); 1] = [("CUDA_COMPUTE_CAP", "80")];

/// Stands before nvcc on candle's build. PTX is compiled. Kernels in machine code, which the virtual driver cannot run,
/// take most of the time of that build; instead of them, functions of their names are compiled that report that they are
/// left out.
const NVCC: &str = r#"#!/bin/sh
case " $* " in
*" --lib "*)
    while [ "$1" != -o ]; do shift; done
    { echo '#include <stdio.h>'
      sed -n 's/^ *pub fn \([A-Za-z_0-9]*\)(.*/int \1(void) { fputs("\1 is left out\\n", stderr); return 1; }/p' src/ffi.rs
    } | cc -x c -fPIC -c - -o "$2.o" && rm -f "$2" && ar cr "$2" "$2.o" ;;
*" -c "*)
    while [ "$1" != -o ]; do shift; done
    : > "$2" ;;
*) exec "$(dirname "$0")/nvcc-itself" "$@" ;;
esac
"#;

/// Adds CUDA's headers.
pub fn add_headers(folder: &Path) -> Outcome {
    for wheel in &wheels::HEADERS_13 {
        mirror(&wheel.home()?.join("nvidia/cu13/include"), &folder.join("include"))?;
    }
    Ok(())
}

/// Adds nvcc, behind [`NVCC`], and the library of the runtime, with which candle is linked but which it does not call.
pub fn add_nvcc(folder: &Path) -> Outcome {
    for wheel in &wheels::NVCC_13 {
        mirror(&wheel.home()?.join("nvidia/cu13"), folder)?;
    }
    let bin = folder.join("bin");
    let itself = bin.join("nvcc-itself");
    if !itself.exists() {
        fs::rename(bin.join("nvcc"), &itself)?;
    }
    // Not written through: the name may still be a link to nvcc.
    let nvcc = bin.join("nvcc");
    if nvcc.exists() {
        fs::remove_file(&nvcc)?;
    }
    fs::write(&nvcc, NVCC)?;
    fs::set_permissions(&nvcc, fs::Permissions::from_mode(0o755))?;
    let runtime = wheels::HEADERS_13[0].home()?.join("nvidia/cu13/lib/libcudart.so.13");
    for name in ["libcudart.so", "libcudart.so.13"] {
        link(&runtime, &folder.join("lib64").join(name))?;
    }
    Ok(())
}

/// Links every file of a folder under the same name in another. nvcc finds what it needs beside its own file, so these are
/// no symbolic links.
fn mirror(from: &Path, to: &Path) -> Outcome {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let (file, name) = {
            let entry = entry?;
            (entry.path(), entry.file_name())
        };
        let copy = to.join(name);
        if file.is_dir() {
            mirror(&file, &copy)?;
        } else if !copy.exists() && fs::hard_link(&file, &copy).is_err() {
            fs::copy(&file, &copy)?;
        }
    }
    Ok(())
}

/// Checks and tests `bitlane-candle` with its feature `cuda`, and candle itself, on the virtual driver.
pub fn test_candle(driver: &Path, cache: &Path) -> Outcome {
    let folder = target().join("virtual-cuda-candle");
    let nvrtc = wheels::NVRTC_13.path()?;
    virtual_cuda::furnish(&folder, driver, &nvrtc)?;
    add_headers(&folder)?;
    add_nvcc(&folder)?;
    let path = std::env::var("PATH").unwrap_or_default();
    for words in [
        "clippy -p bitlane-candle --features cuda --all-targets -- -D warnings",
        "test -p bitlane-candle --features cuda",
    ] {
        let mut candle = cargo(words);
        // Where the library is built for dynamic linking, and for this toolkit.
        candle.env("CARGO_TARGET_DIR", root().join("target/candle-cuda"));
        candle.env("CUDA_PATH", &folder).envs(VARIABLES).envs(variables(driver, &nvrtc));
        candle.env("PATH", format!("{}:{path}", folder.join("bin").display()));
        candle.env("LD_LIBRARY_PATH", folder.join("lib64")).env("BITLANE_CACHE", cache);
        finish(&mut candle)?;
    }
    Ok(())
}
