//! Concatenates the files of this folder into the sources that NVRTC compiles. Shared by the build script and the task
//! runner, so that both see the same kernels.

use std::path::Path;
use std::{fs, io};

/// The parts of the hand-written kernels, in dependency order.
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

/// The parts that every generated kernel includes, in dependency order.
pub const GENERATED: &[&str] = &[
    "params.h",
    "prelude.cuh",
    "convert.cuh",
    "ops.cuh",
    "vectors.cuh",
    "index.cuh",
    "groups.cuh",
];

/// Further parts of the generated kernels that call one of the large functions.
pub const FUNCTIONS: &[&str] = &[
    "f32_pairs.cuh",
    "tables.cuh",
    "math.cuh",
    "exponential.cuh",
    "logarithm.cuh",
    "hyperbolic.cuh",
    "fixed.cuh",
    "pairs.cuh",
    "pair_angles.cuh",
    "narrow.cuh",
    "trigonometry.cuh",
    "angles.cuh",
    "of_one.cuh",
    "of_two.cuh",
    "functions.cuh",
];

/// The skeleton of generated elementwise kernels.
pub const MAP: &[&str] = &["map.cuh"];
/// The skeleton of those with turned operands, after the former.
pub const TILES: &[&str] = &["tiles.cuh"];
/// The skeletons of generated reductions.
pub const REDUCE: &[&str] = &["totals.cuh", "reduce.cuh"];
/// The kernels of look-ups by index.
pub const GATHER: &[&str] = &["gather.cuh"];
/// The kernels of scans, after the parts of reductions.
pub const SCAN: &[&str] = &["scan.cuh"];

/// Concatenates the parts in `folder`, with `#line` directives so that compiler messages name the part and its line.
pub fn join(folder: &Path, parts: &[&str]) -> io::Result<String> {
    let mut source = String::new();
    for part in parts {
        source.push_str(&format!("#line 1 \"{part}\"\n"));
        source.push_str(&fs::read_to_string(folder.join(part))?);
    }
    Ok(source)
}
