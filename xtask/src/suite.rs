//! Which tests need which surroundings, so that none is run twice where once says as much.

/// Every test that runs on the devices there are: on the CPU with default features, and with CUDA once more on both.
/// The recorded answers are not among them, because they have a step of their own.
const ON_DEVICES: &[&str] = &[
    "atleast",
    "concurrency",
    "construction",
    "cuda",
    "destinations",
    "elements",
    "errors",
    "examples",
    "exhaustive",
    "exhaustive16",
    "expressions",
    "fuzz_cases",
    "gradients",
    "interop_dlpack",
    "layouts",
    "operations",
    "parity",
    "refused_destinations",
    "result_types",
    "sizes",
    "special_cases",
    "sums",
    "values",
    "views",
];

/// Tests of features that are not default ones, which know nothing of CUDA.
const OF_FEATURES: &[&str] = &[
    "cli",
    "host_kernels",
    "host_math",
    "interop_files",
    "interop_python",
    "interop_serde",
    "ndarray",
];

/// Tests whose loops the CPU backend runs: these meet every kind of vector instructions.
const ON_CPU: &[&str] =
    &["destinations", "elements", "expressions", "fuzz_cases", "operations", "sums", "views"];

/// What `BITLANE_CPU` is set to in turn for [`ON_CPU`]: every kind of vector instructions, the machine's own choice
/// first, then blocks and thresholds so small that small cases cross every boundary.
pub const CPU_SETTINGS: [&str; 4] =
    ["avx512", "avx2", "baseline", "block=64,parallel=1,stream=256,threads=7"];

/// Arguments for cargo that name these tests.
fn named(tests: &[&str]) -> String {
    tests.iter().map(|test| format!(" --test {test}")).collect()
}

/// Everything that a virtual CUDA device changes, and everything behind a feature.
pub fn with_all_features() -> String {
    format!("test --all-features --lib{}{}", named(ON_DEVICES), named(OF_FEATURES))
}

/// What runs again for every kind of device, with the recorded answers.
pub fn on_devices() -> String {
    format!("test --all-features --no-fail-fast --test goldens{}", named(ON_DEVICES))
}

/// What runs again for every setting of the CPU backend. Optimised, or there would be no vector instructions.
pub fn on_cpu() -> String {
    format!("test --release{}", named(ON_CPU))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::run::root;

    /// Tests that need neither a device nor a feature, and run with default features alone.
    const PLAIN: &[&str] =
        &["cpu_pool", "fork", "goldens", "math", "printing", "promotion", "promotion_page"];

    #[test]
    fn every_test_is_in_one_list() {
        let mut there: Vec<String> = fs::read_dir(root().join("tests"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| {
                path.extension().is_some_and(|e| e == "rs") || path.join("main.rs").exists()
            })
            .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        there.sort();
        let mut listed = [ON_DEVICES, OF_FEATURES, PLAIN].concat();
        listed.sort_unstable();
        assert_eq!(there, listed);
        assert!(ON_CPU.iter().all(|test| ON_DEVICES.contains(test)));
    }
}
