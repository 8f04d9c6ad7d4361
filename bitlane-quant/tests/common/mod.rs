//! What the tests have in common.

use std::env;
use std::path::{Path, PathBuf};

use bitlane::Device;

/// The path of a recorded file: in `tests/goldens`, or in the folder that BITLANE_QUANT_GOLDENS names.
pub fn golden_path(name: &str) -> PathBuf {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens");
    env::var_os("BITLANE_QUANT_GOLDENS").map_or_else(own, PathBuf::from).join(name)
}

/// The CPU and, where there is one, a CUDA device.
pub fn devices() -> Vec<Device> {
    let mut devices = vec![Device::cpu()];
    devices.extend(Device::cuda(0));
    devices
}
