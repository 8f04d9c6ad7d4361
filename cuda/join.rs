//! How the files of this folder become the one source that NVRTC compiles. Shared by the build
//! script and the task runner, so that both see the same kernels.

use std::path::Path;
use std::{fs, io};

/// The parts, in the order in which they build on each other.
pub const PARTS: [&str; 12] = [
    "params.h",
    "prelude.cuh",
    "convert.cuh",
    "tables.cuh",
    "math.cuh",
    "ops.cuh",
    "packed.cuh",
    "index.cuh",
    "elementwise.cu",
    "mixed.cuh",
    "grad.cuh",
    "kernels.cu",
];

/// Joins the parts found in `folder`. Messages of the compiler name the part and its line.
pub fn join(folder: &Path) -> io::Result<String> {
    let mut source = String::new();
    for part in PARTS {
        source.push_str(&format!("#line 1 \"{part}\"\n"));
        source.push_str(&fs::read_to_string(folder.join(part))?);
    }
    Ok(source)
}
