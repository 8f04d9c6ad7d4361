//! Which tests need which surroundings, so that none is run twice where once says as much.

/// Every test that runs on the devices there are, the CPU and a virtual CUDA device. The recorded answers are not among
/// them, because they have a step of their own.
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

/// Tests that need neither a device nor a feature.
const PLAIN: &[&str] =
    &["cpu_pool", "fork", "goldens", "math", "printing", "promotion", "promotion_page"];

/// Tests whose loops the CPU backend runs: these meet every kind of vector instructions.
const ON_CPU: &[&str] =
    &["destinations", "elements", "expressions", "fuzz_cases", "operations", "sums", "views"];

/// Tests that take a virtual device more than ten seconds.
const LONGEST: &[&str] = &[
    "parity",
    "destinations",
    "sums",
    "expressions",
    "views",
    "operations",
    "cuda",
    "fuzz_cases",
    "result_types",
    "exhaustive16",
    "elements",
    "host_kernels",
];

/// What `BITLANE_CPU` is set to in turn for [`ON_CPU`]: every kind of vector instructions, the machine's own choice
/// first, then blocks and thresholds so small that small cases cross every boundary.
pub const CPU_SETTINGS: [&str; 4] =
    ["avx512", "avx2", "baseline", "block=64,parallel=1,stream=256,threads=7"];

/// Arguments for cargo that name these tests.
fn named(tests: &[&str]) -> String {
    tests.iter().map(|test| format!(" --test {test}")).collect()
}

/// What runs with default features and debug assertions: everything but what [`on_cpu`] runs with default features and
/// [`with_all_features`] with debug assertions.
pub fn with_default_features() -> String {
    let needs_cuda = |test: &&str| ["cuda", "parity"].contains(test);
    let others: Vec<&str> = ON_DEVICES
        .iter()
        .copied()
        .filter(|test| !ON_CPU.contains(test) && !needs_cuda(test))
        .collect();
    format!("test --lib --bins --examples{}{}", named(PLAIN), named(&others))
}

/// Arguments of cargo for everything that a virtual CUDA device changes, and everything behind a feature: for all at
/// once, and for one test after the other, those that take longest first.
pub fn with_all_features() -> (String, Vec<String>) {
    let mut tests = [ON_DEVICES, OF_FEATURES].concat();
    tests.sort_by_key(|test| LONGEST.iter().position(|long| long == test).unwrap_or(LONGEST.len()));
    let all = format!("--all-features --lib{}", named(&tests));
    let one_by_one = tests.iter().map(|test| format!("--all-features --test {test}"));
    (all, one_by_one.chain(["--all-features --lib".into()]).collect())
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

    /// Whatever a step leaves out, another one runs.
    #[test]
    fn every_test_is_run() {
        let (all, one_by_one) = with_all_features();
        assert_eq!(one_by_one.len(), all.matches("--test ").count() + 1);
        for test in [ON_DEVICES, OF_FEATURES].concat() {
            assert!(one_by_one.contains(&format!("--all-features --test {test}")), "{test}");
        }
        let with_default_features = format!("{} {} ", with_default_features(), on_cpu());
        for test in [ON_DEVICES, PLAIN].concat() {
            let named = with_default_features.contains(&format!("--test {test} "));
            assert!(named || ["cuda", "parity"].contains(&test), "{test}");
        }
    }

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
        assert!(LONGEST.iter().all(|test| [ON_DEVICES, OF_FEATURES].concat().contains(test)));
    }
}
