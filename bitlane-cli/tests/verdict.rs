//! `bitlane verdict` on the virtual device. The driver and NVRTC are those that `cargo xtask cuda-env` builds and fetches;
//! without them, the tests are reported as ignored.

#[cfg(all(feature = "cuda", target_os = "linux"))]
mod device {
    use std::path::{Path, PathBuf};
    use std::process::{Command, Output};

    use serde_json::{Value, json};

    const PROGRAM: &str = env!("CARGO_BIN_EXE_bitlane");

    /// The folder in which cargo builds everything.
    fn target() -> &'static Path {
        Path::new(PROGRAM).parent().and_then(Path::parent).unwrap()
    }

    /// The virtual driver and NVRTC.
    #[derive(Clone)]
    pub struct Libraries {
        driver: PathBuf,
        nvrtc: PathBuf,
    }

    impl Libraries {
        /// Returns them, if they are there.
        pub fn found() -> Option<Libraries> {
            let driver = Path::new(PROGRAM).with_file_name("libvcuda.so");
            let wheels = target().join("cuda-wheels").read_dir().ok()?.flatten();
            let mut nvrtc = wheels.map(|wheel| wheel.path().join("nvidia/cu13/lib/libnvrtc.so.13"));
            let driver = Some(driver).filter(|file| file.exists())?;
            Some(Libraries { driver, nvrtc: nvrtc.find(|file| file.exists())? })
        }

        /// Runs a quick verdict with these settings: its output, and the file that it has written.
        fn verdict(&self, arguments: &[&str], settings: &[(&str, &str)]) -> (Output, Value) {
            let folder = tempfile::tempdir().unwrap();
            std::os::unix::fs::symlink(&self.driver, folder.path().join("libcuda.so")).unwrap();
            let output = Command::new(PROGRAM)
                .current_dir(folder.path())
                .args([&["verdict", "--quick"], arguments].concat())
                .env("LD_LIBRARY_PATH", folder.path())
                .env("BITLANE_NVRTC", &self.nvrtc)
                .env("BITLANE_CACHE", target().join("tmp/verdict-kernels"))
                .env("VCUDA_QUIET", "1")
                .envs(settings.iter().copied())
                .output()
                .unwrap();
            let written = std::fs::read(folder.path().join("bitlane-verdict.json"));
            let written = written.unwrap_or_else(|error| panic!("{error}: {}", said(&output)));
            let report = serde_json::from_slice(&written).unwrap();
            (output, report)
        }
    }

    fn said(output: &Output) -> &str {
        std::str::from_utf8(&output.stderr).unwrap()
    }

    fn page(output: &Output) -> &str {
        std::str::from_utf8(&output.stdout).unwrap()
    }

    pub fn the_verdict_of_a_virtual_device(libraries: &Libraries) {
        let (output, report) = libraries.verdict(&["--json"], &[]);
        assert!(output.status.success(), "{report:#}");
        assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), report);
        assert_eq!((&report["verdict"], &report["virtual"]), (&"same bits".into(), &true.into()));
        assert_eq!(report["compared_as"], json!(["ptx"]));
        assert!(report["environment"]["device"].as_str().unwrap().contains("VIRTUAL"));
        let compared = &report["comparisons"];
        assert_eq!(compared["shapes"].as_array().unwrap().len(), 13, "{compared}");
        assert!(compared["same"].as_u64().unwrap() > 50, "{compared}");
        // The virtual device computes what it has computed when the digests were recorded.
        assert_eq!(compared["recorded"], compared["cases"]);
        assert_eq!(compared["other_digests"].as_array().unwrap().len(), 0);
        let scenes = report["scenes"].as_object().unwrap();
        assert!(
            scenes.len() == 7 && scenes.values().all(|scene| scene["ok"].is_string()),
            "{scenes:?}"
        );
        assert!(!report["kernels"].as_array().unwrap().is_empty());
        assert!(report["speed"].as_array().unwrap().is_empty(), "a virtual device has no speed");
    }

    /// A kernel that runs for too long ends all work of its process, and is noticed by a later call that waits.
    pub fn a_verdict_survives_faults_of_kernels(libraries: &Libraries) {
        let (output, report) = libraries.verdict(&[], &[("VCUDA_TIMEOUT", "2000")]);
        assert_eq!(output.status.code(), Some(1), "{report:#}");
        let page = page(&output);
        assert!(page.contains("capability ") && page.contains("LAUNCH_TIMEOUT"), "{page}");
        assert!(page.contains("does NOT pass") && page.contains("eight threads"), "{page}");
        assert_eq!(report["verdict"], "not passed");
        assert_eq!(report["environment"]["capability"], "8.0");
        let compared = &report["comparisons"];
        let number = |key: &str| compared[key].as_u64().unwrap();
        let differences = compared["differences"].as_array().unwrap();
        assert!(!differences.is_empty(), "{compared}");
        for words in differences {
            assert!(words.as_str().unwrap().contains("(702)"), "{words}");
        }
        // Those after each fault are compared, too.
        assert!(number("same") > 30 && compared["incomplete"].is_null(), "{compared}");
        assert_eq!(number("same") + number("refused") + differences.len() as u64, number("cases"));
    }

    /// If nothing works, that is what the report says.
    pub fn a_verdict_without_a_single_launch(libraries: &Libraries) {
        let (output, report) = libraries.verdict(&[], &[("VCUDA_FAIL", "cuLaunchKernel:*:719")]);
        assert_eq!(output.status.code(), Some(1), "{report:#}");
        let page = page(&output);
        assert!(
            page.contains("not all of it was run: given up") && page.contains("NOT pass"),
            "{page}"
        );
        assert!(report["comparisons"]["incomplete"].is_string(), "{report:#}");
        assert!(report["scenes"]["streams"]["failed"].as_str().unwrap().contains("(719)"));
        assert_eq!(report["scenes"].as_object().unwrap().len(), 7);
    }
}

#[cfg(all(feature = "cuda", target_os = "linux"))]
fn main() {
    use device::Libraries;

    type Test = fn(&Libraries);
    let tests: [(&str, Test); 3] = [
        ("the_verdict_of_a_virtual_device", device::the_verdict_of_a_virtual_device),
        ("a_verdict_survives_faults_of_kernels", device::a_verdict_survives_faults_of_kernels),
        ("a_verdict_without_a_single_launch", device::a_verdict_without_a_single_launch),
    ];
    let libraries = Libraries::found();
    let is_missing = libraries.is_none();
    let trials = tests.map(|(name, test)| {
        let libraries = libraries.clone();
        let run = move || {
            test(&libraries.ok_or("`cargo xtask cuda-env` has not been run")?);
            Ok(())
        };
        libtest_mimic::Trial::test(name, run).with_ignored_flag(is_missing)
    });
    let arguments = libtest_mimic::Arguments::from_args();
    libtest_mimic::run(&arguments, trials.into()).exit();
}

/// Verdicts need the feature `cuda`, and the virtual driver Linux.
#[cfg(not(all(feature = "cuda", target_os = "linux")))]
fn main() {}
