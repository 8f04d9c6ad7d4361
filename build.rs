//! Concatenates the kernel sources that the CUDA backend passes to NVRTC and, for tests, compiles the same sources for
//! the host.

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;

#[path = "cuda/join.rs"]
mod join;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new("cuda");
    println!("cargo::rerun-if-changed=cuda");
    let out = env::var("OUT_DIR")?;
    for (name, parts) in [
        ("kernels.cu", join::SHAPES),
        ("generated.cuh", join::GENERATED),
        ("functions.cuh", join::FUNCTIONS),
        ("map.cuh", join::MAP),
        ("tiles.cuh", join::TILES),
        ("reduce.cuh", join::REDUCE),
        ("scan.cuh", join::SCAN),
        ("gather.cuh", join::GATHER),
    ] {
        fs::write(Path::new(&out).join(name), join::join(folder, parts)?)?;
    }

    // Documentation and lints are made with all features but link nothing.
    #[cfg(feature = "host-kernels")]
    for name in ["DOCS_RS", "CLIPPY_ARGS"] {
        println!("cargo::rerun-if-env-changed={name}");
        if env::var_os(name).is_some() {
            return Ok(());
        }
    }
    #[cfg(feature = "host-kernels")]
    {
        // Three hundred instantiations, whose compile time matters more than their run time; and functions that are run
        // on 2^32 operands.
        compile(&folder.join("host.cpp"), "bitlane_host_kernels", 1)?;
        compile(&folder.join("host_math.cpp"), "bitlane_host_math", 2)?;
    }
    Ok(())
}

/// Compiles device functions for the host.
#[cfg(feature = "host-kernels")]
fn compile(file: &Path, library: &str, opt_level: u32) -> Result<(), Box<dyn Error>> {
    let mut build = cc::Build::new();
    build.cpp(true).std("c++17").file(file).opt_level(opt_level);
    build.flag_if_supported("-ffp-contract=off").flag_if_supported("-Wno-unknown-pragmas");
    // The tests run where they are built, so that a fused multiply-add need not be a call of the C library.
    #[cfg(target_arch = "x86_64")]
    if env::var("TARGET")? == env::var("HOST")? && std::is_x86_feature_detected!("fma") {
        build.flag_if_supported("-mfma");
    }
    Ok(build.try_compile(library)?)
}
