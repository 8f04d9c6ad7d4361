//! Runs every example in this process: on a GPU or the virtual device if there is one, else on the CPU. Examples that
//! need CUDA are reported as ignored without it. That of `bitlane-candle` is tested there.

use libtest_mimic::{Failed, Trial};

use crate::devices;

/// Declares a module for each example, with a function that runs it.
macro_rules! examples {
    ($($(#[$condition:meta])* $name:ident $file:literal;)*) => {
        $($(#[$condition])*
        mod $name {
            include!(concat!("../../examples/", $file, ".rs"));

            pub fn run() -> Result<(), libtest_mimic::Failed> {
                main().map_err(|error| error.to_string().into())
            }
        })*

        /// The examples that are part of this build.
        fn there() -> Vec<(&'static str, fn() -> Result<(), Failed>)> {
            vec![$($(#[$condition])* ($file, $name::run),)*]
        }

        /// The files of all examples.
        const FILES: &[&str] = &[$($file),*];
    };
}

examples! {
    quickstart "quickstart";
    int4_weights "01_int4_weights";
    hash_and_gray "02_hash_and_gray";
    signs "03_signs";
    rulebooks "04_rulebooks";
    several_devices "05_several_devices";
    #[cfg(feature = "cuda")]
    streams_and_graphs "06_streams_and_graphs";
    #[cfg(feature = "cpu")]
    parity "07_parity";
    normalize_and_quantize "08_normalize_and_quantize";
    search_and_vote "09_search_and_vote";
}

/// Fails if an example is not in the list.
fn every_example_is_run() -> Result<(), Failed> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        found.push(path.file_stem().unwrap_or_default().to_string_lossy().into_owned());
    }
    found.sort();
    let mut listed = FILES.to_vec();
    listed.sort_unstable();
    if found != listed {
        return Err(format!("examples/ has {found:?}, and {listed:?} are run").into());
    }
    Ok(())
}

pub fn tests() -> Vec<Trial> {
    // Loads the driver into the process.
    let has_cuda = devices::devices().iter().any(|device| device.to_string() != "cpu");
    let mut tests = vec![Trial::test("examples::every_example_is_run", every_example_is_run)];
    for &file in FILES {
        let run = there().into_iter().find(|(name, _)| *name == file).map(|(_, run)| run);
        let needs_cuda = file == "06_streams_and_graphs" && !has_cuda;
        let test =
            Trial::test(format!("examples::{file}"), move || run.map_or(Ok(()), |run| run()));
        tests.push(test.with_ignored_flag(run.is_none() || needs_cuda));
    }
    tests
}
