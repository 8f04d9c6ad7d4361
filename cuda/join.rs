//! How the files of this folder become the one source that NVRTC compiles. Shared by the build
//! script and the task runner, so that both see the same kernels.

use std::path::Path;
use std::{fs, io};

/// The parts of the hand-written kernels, in the order in which they build on each other.
pub const SHAPES: &[&str] = &[
    "params.h",
    "prelude.cuh",
    "convert.cuh",
    "ops.cuh",
    "vectors.cuh",
    "packed.cuh",
    "index.cuh",
    "elementwise.cu",
    "kernels.cu",
];

/// What generated kernels build on, whatever they compute.
pub const GENERATED: &[&str] = &[
    "params.h",
    "prelude.cuh",
    "convert.cuh",
    "ops.cuh",
    "vectors.cuh",
    "index.cuh",
    "groups.cuh",
];

/// What generated kernels need besides if they call one of the larger functions.
pub const FUNCTIONS: &[&str] = &["tables.cuh", "math.cuh", "functions.cuh"];

/// The skeletons of the two sorts of generated kernels.
pub const MAP: &[&str] = &["map.cuh"];
pub const REDUCE: &[&str] = &["reduce.cuh"];

/// Joins the parts found in `folder`. Messages of the compiler name the part and its line.
pub fn join(folder: &Path, parts: &[&str]) -> io::Result<String> {
    let mut source = String::new();
    for part in parts {
        source.push_str(&format!("#line 1 \"{part}\"\n"));
        source.push_str(&fs::read_to_string(folder.join(part))?);
    }
    Ok(source)
}
