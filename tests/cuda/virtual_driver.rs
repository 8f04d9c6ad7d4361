//! The virtual driver, in a separate process for every test, because the loaded driver, its settings, faults and counts
//! are per process.

#![allow(dead_code, reason = "each test program uses a part")]

use std::env;
use std::ffi::{CString, c_char, c_int};
use std::path::Path;
use std::process::Command;

use libloading::os::unix::Library;

use crate::devices::libraries::{libraries, load};

/// The variable that is set to a test's name in the process that runs the test's body.
const MARK: &str = "BITLANE_ISOLATED_TEST";

/// Whether this process was started to run the body of one test.
pub fn is_isolated() -> bool {
    env::var_os(MARK).is_some()
}

/// The loaded driver.
pub struct Driver(Library);

/// Runs the body of a test in a new process, with these environment variables. Afterwards the virtual driver must have
/// reported nothing.
pub fn isolated(module: &str, name: &str, variables: &[(&str, &str)], body: impl FnOnce(&Driver)) {
    let test = format!("{module}::{name}");
    // The harness names tests by their path without the crate's name.
    let test = test.split_once("::").map_or(&*test, |(_, path)| path);
    // Without the libraries, this runs only if `main` was told to run ignored tests.
    let found = libraries().unwrap_or_else(|reason| panic!("{reason}"));
    if env::var(MARK).as_deref() == Ok(test) {
        let driver = Driver::load(&found.driver);
        body(&driver);
        let findings = driver.report();
        assert_eq!(findings, "[]", "the virtual driver has found something");
        return;
    }
    let kernels = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels");
    let output = Command::new(env::current_exe().expect("a test knows its own path"))
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(MARK, test)
        .env("BITLANE_VCUDA", &found.driver)
        .envs(found.nvrtc.iter().map(|path| ("BITLANE_NVRTC", path)))
        .env("BITLANE_CACHE", kernels)
        .env("VCUDA_QUIET", "1")
        .envs(variables.iter().copied())
        .output()
        .expect("the test's own program starts");
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(output.status.success(), "{}\n{text}", output.status);
    // A name that matches no test would succeed, too.
    assert!(text.contains("ok. 1 passed"), "the body of {test} was not run\n{text}");
}

impl Driver {
    fn load(path: &Path) -> Driver {
        load(path).unwrap();
        Driver(Library::this())
    }

    /// Returns the driver that the process already uses, if it is the virtual one.
    pub fn in_use() -> Option<Driver> {
        let library = Library::this();
        // SAFETY: the symbol is looked up but not used.
        unsafe { library.get::<*const ()>(b"vcuda_stats\0") }.ok()?;
        Some(Driver(library))
    }

    /// Changes a setting, like the environment variable `VCUDA_…`.
    pub fn set(&self, key: &str, value: &str) {
        let (key, value) = (CString::new(key).unwrap(), CString::new(value).unwrap());
        type Configure = unsafe extern "C" fn(*const c_char, *const c_char) -> c_int;
        // SAFETY: the function has this type, and both strings end with a NUL.
        let code = unsafe {
            let configure = self.0.get::<Configure>(b"vcuda_configure\0").unwrap();
            configure(key.as_ptr(), value.as_ptr())
        };
        assert_eq!(code, 0, "{key:?} = {value:?}");
    }

    fn text(&self, function: &[u8]) -> String {
        type Text = unsafe extern "C" fn(*mut c_char, usize) -> usize;
        let mut buffer = vec![0u8; 1 << 20];
        // SAFETY: the function has this type, and writes no more than the length it is given.
        let len = unsafe {
            let text = self.0.get::<Text>(function).unwrap();
            text(buffer.as_mut_ptr().cast(), buffer.len())
        };
        buffer.truncate(len);
        String::from_utf8(buffer).unwrap()
    }

    /// Returns the errors that the driver has detected, as JSON.
    pub fn report(&self) -> String {
        self.text(b"vcuda_report\0")
    }

    fn stats(&self) -> serde_json::Value {
        serde_json::from_str(&self.text(b"vcuda_stats\0")).unwrap()
    }

    /// Returns the number of calls of each function so far.
    pub fn calls(&self) -> Vec<(String, u64)> {
        let stats = self.stats();
        let calls = stats["calls"].as_object().unwrap();
        calls.iter().map(|(name, count)| (name.clone(), count.as_u64().unwrap())).collect()
    }

    /// Returns the kernels that have run so far, with the instructions they executed, summed over all threads.
    pub fn kernels(&self) -> Vec<(String, u64)> {
        let stats = self.stats();
        let kernels = stats["kernels"].as_object().unwrap();
        let instructions = |kernel: &serde_json::Value| kernel["instructions"].as_u64().unwrap();
        kernels.iter().map(|(name, kernel)| (name.clone(), instructions(kernel))).collect()
    }

    /// Returns the number of calls of one function so far.
    pub fn calls_of(&self, function: &str) -> u64 {
        self.calls().iter().find(|(name, _)| name == function).map_or(0, |(_, count)| *count)
    }

    /// Returns the number of allocated blocks of memory, without those that the crate keeps for reuse.
    pub fn allocations(&self) -> u64 {
        for ordinal in 0..bitlane::Device::cuda_count() {
            let device = bitlane::Device::cuda(ordinal).unwrap();
            bitlane::cuda::trim_pool(&device).unwrap();
        }
        let mut live = [0u64; 7];
        // SAFETY: the function has this type, and writes no more than the length it is given.
        unsafe {
            let count =
                self.0.get::<unsafe extern "C" fn(*mut u64, usize) -> usize>(b"vcuda_live\0");
            count.unwrap()(live.as_mut_ptr(), live.len());
        }
        live[0]
    }
}
