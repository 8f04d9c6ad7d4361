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
        ("reduce.cuh", join::REDUCE),
        ("scan.cuh", join::SCAN),
        ("gather.cuh", join::GATHER),
    ] {
        fs::write(Path::new(&out).join(name), join::join(folder, parts)?)?;
    }

    // docs.rs builds with all features but does not need the host kernels.
    #[cfg(feature = "host-kernels")]
    if env::var_os("DOCS_RS").is_some() {
        return Ok(());
    }
    #[cfg(feature = "host-kernels")]
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .file(folder.join("host.cpp"))
        .file(folder.join("host_math.cpp"))
        .opt_level(1) // three hundred instantiations: compile time matters more than run time
        .flag_if_supported("-ffp-contract=off")
        .flag_if_supported("-Wno-unknown-pragmas")
        .try_compile("bitlane_host_kernels")?;
    Ok(())
}
