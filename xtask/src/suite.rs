//! Which tests need which surroundings, so that none is run twice where once says as much.
//!
//! The suite is built twice. With debug assertions and all features, everything is run, on the CPU and on a virtual CUDA
//! device. Optimised and with default features, the tests of results are run again with every kind of vector
//! instructions, and the others that could tell the two builds apart once.

/// Every feature of the library. They are named one by one because `--all-features` would be for xtask, too, and build
/// bindgen.
pub const FEATURES: &str = "bitlane/cuda,bitlane/dlpack,bitlane/host-kernels,bitlane/models,\
                            bitlane/ndarray,bitlane/npy,bitlane/safetensors,bitlane/serde,bitlane/tracing";

/// Returns the arguments with which the workspace has every feature. Lints, tests and examples in the documentation are
/// given the same, since cargo builds a dependency again for every other set of features.
pub fn all_features() -> String {
    format!("--features {FEATURES},bitlane-cli/cuda,bitlane-quant/cuda")
}

/// The feature sets, besides that of all features, of which every target is checked.
pub const CHECKED: [&str; 2] =
    ["--no-default-features --features cpu", "--no-default-features --features cuda"];

/// The feature sets of which the library is checked. For any two features there is a set with only the first and one
/// with only the second, so none needs another without saying so, and all but `serde` and `tracing` meet both backends.
pub const CHECKED_LIBRARIES: [&str; 4] = [
    "cpu,ndarray,npy,serde",
    "cpu,safetensors,dlpack,serde",
    "cuda,ndarray,safetensors,tracing",
    "cuda,npy,dlpack,tracing",
];

/// The library's test programs, those that take longest first.
pub const PROGRAMS: [&str; 10] = [
    "parity",
    "results",
    "cuda",
    "math",
    "interface",
    "programs",
    "models",
    "usage_model",
    "process",
    "bitlane",
];

/// The programs that are run optimised and with default features, in addition to `results`.
pub const OPTIMISED: [&str; 2] = ["interface", "process"];

/// What `BITLANE_CPU` is set to in turn for `results`: every kind of vector instructions, the highest first, then blocks
/// and thresholds so small that small cases cross every boundary and intermediate values move to the heap.
const CPU_SETTINGS: [&str; 4] =
    ["avx512", "avx2", "baseline", "block=64,parallel=1,stream=256,rows=1,threads=7"];

/// Returns the settings of [`CPU_SETTINGS`] that this machine can follow, and those that it cannot. The tests fail if
/// they are run with one of the latter.
pub fn cpu_settings() -> (Vec<&'static str>, Vec<&'static str>) {
    CPU_SETTINGS.into_iter().partition(|&settings| has(settings))
}

/// Whether this machine has the vector instructions of this name; true of all other settings.
fn has(settings: &str) -> bool {
    match settings {
        #[cfg(target_arch = "x86_64")]
        "avx512" => {
            has("avx2")
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512dq")
        }
        #[cfg(target_arch = "x86_64")]
        "avx2" => {
            is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("f16c")
                && is_x86_feature_detected!("fma")
        }
        #[cfg(not(target_arch = "x86_64"))]
        "avx512" | "avx2" => false,
        _ => true,
    }
}

/// The variables that say what random tests draw from.
pub const SEEDS: [&str; 4] =
    ["BITLANE_SEED", "BITLANE_TURN", "BITLANE_FUZZ_SEED", "PROPTEST_RNG_SEED"];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;

    use super::*;
    use crate::run::root;

    #[test]
    fn every_test_program_is_run() {
        let entries = fs::read_dir(root().join("tests")).unwrap();
        let mut there: BTreeSet<String> = entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| {
                path.extension().is_some_and(|e| e == "rs") || path.join("main.rs").exists()
            })
            .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        there.insert("bitlane".into());
        assert_eq!(there, PROGRAMS.map(String::from).into());
        assert!(OPTIMISED.iter().all(|name| PROGRAMS.contains(name)));
    }

    /// The features in the manifest, but for `default` and the backend that is part of it.
    fn features() -> BTreeSet<String> {
        let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
        let (_, table) = manifest.split_once("\n[features]\n").unwrap();
        let table = table.split("\n[").next().unwrap();
        let names = table.lines().filter(|line| !line.starts_with([' ', '#', ']']));
        let names = names.filter_map(|line| Some(line.split_once(" = ")?.0.to_owned()));
        names.filter(|name| !["default", "cpu"].contains(&name.as_str())).collect()
    }

    #[test]
    fn every_feature_is_built() {
        let listed = FEATURES.split(',').map(|name| name.replace("bitlane/", "")).collect();
        assert_eq!(features(), listed);
    }

    #[test]
    fn no_feature_is_checked_only_beside_another() {
        let sets = CHECKED_LIBRARIES.map(|set| set.split(',').collect::<Vec<_>>());
        let mut features = features();
        // The backend is a part of every set, and two are for the tests.
        for name in ["cuda", "host-kernels", "models"] {
            features.remove(name);
        }
        for one in &features {
            for other in features.iter().filter(|other| *other != one) {
                let apart = |set: &Vec<&str>| set.contains(&&**one) && !set.contains(&&**other);
                assert!(sets.iter().any(apart), "{one} without {other}");
            }
        }
    }
}
