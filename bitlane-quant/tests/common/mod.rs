//! What the tests have in common.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::env;
use std::path::{Path, PathBuf};

/// The devices under test, found as in the tests of bitlane.
#[path = "../../../tests/devices/mod.rs"]
mod search;

pub use search::devices;

/// The path of a recorded file: in `tests/goldens`, or in the folder that BITLANE_QUANT_GOLDENS names.
pub fn golden_path(name: &str) -> PathBuf {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens");
    env::var_os("BITLANE_QUANT_GOLDENS").map_or_else(own, PathBuf::from).join(name)
}
