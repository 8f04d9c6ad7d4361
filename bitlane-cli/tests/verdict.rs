//! `bitlane verdict` on the virtual device. The driver and NVRTC are those that `cargo xtask cuda-env` builds and fetches;
//! without them, the test is reported as ignored.

#[cfg(all(feature = "cuda", target_os = "linux"))]
mod device {
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use serde_json::Value;

    const PROGRAM: &str = env!("CARGO_BIN_EXE_bitlane");

    /// The folder in which cargo builds everything.
    fn target() -> &'static Path {
        Path::new(PROGRAM).parent().and_then(Path::parent).unwrap()
    }

    /// Returns the virtual driver and NVRTC, if they are there.
    pub fn libraries() -> Option<(PathBuf, PathBuf)> {
        let driver = Path::new(PROGRAM).with_file_name("libvcuda.so");
        let wheels = target().join("cuda-wheels").read_dir().ok()?.flatten();
        let mut nvrtc = wheels.map(|wheel| wheel.path().join("nvidia/cu13/lib/libnvrtc.so.13"));
        Some((Some(driver).filter(|file| file.exists())?, nvrtc.find(|file| file.exists())?))
    }

    pub fn judged(driver: &Path, nvrtc: &Path) {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(driver, folder.path().join("libcuda.so")).unwrap();
        let output = Command::new(PROGRAM)
            .current_dir(folder.path())
            .args(["verdict", "--quick", "--json"])
            .env("LD_LIBRARY_PATH", folder.path())
            .env("BITLANE_NVRTC", nvrtc)
            .env("BITLANE_CACHE", target().join("tmp/verdict-kernels"))
            .env("VCUDA_QUIET", "1")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&report["verdict"], &report["virtual"]), (&"same bits".into(), &true.into()));
        assert!(report["environment"]["device"].as_str().unwrap().contains("VIRTUAL"));
        let compared = &report["comparisons"];
        assert_eq!(compared["shapes"].as_array().unwrap().len(), 13, "{compared}");
        assert!(compared["same"].as_u64().unwrap() > 40, "{compared}");
        assert_eq!(report["scenes"].as_object().unwrap().len(), 6);
        assert!(report["speed"].as_array().unwrap().is_empty(), "a virtual device has no speed");
        let written = std::fs::read(folder.path().join("bitlane-verdict.json")).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&written).unwrap(), report);
    }
}

#[cfg(all(feature = "cuda", target_os = "linux"))]
fn main() {
    let libraries = device::libraries();
    let is_missing = libraries.is_none();
    let test = libtest_mimic::Trial::test("the_verdict_of_a_virtual_device", || {
        let (driver, nvrtc) = libraries.ok_or("`cargo xtask cuda-env` has not been run")?;
        device::judged(&driver, &nvrtc);
        Ok(())
    });
    let arguments = libtest_mimic::Arguments::from_args();
    libtest_mimic::run(&arguments, vec![test.with_ignored_flag(is_missing)]).exit();
}

/// Verdicts need the feature `cuda`, and the virtual driver Linux.
#[cfg(not(all(feature = "cuda", target_os = "linux")))]
fn main() {}
