//! The devices under test. Every test loops over [`devices`], so that the same suite tests every backend.
//!
//! With the feature `cuda`, an environment variable chooses the driver:
//!
//! - `BITLANE_TEST_DRIVER=system` uses the machine's own driver, and fails if there is none;
//! - `BITLANE_TEST_DRIVER=virtual` uses the virtual driver, which is built unless `BITLANE_VCUDA` names one, and fails
//!   if that is not possible;
//! - `BITLANE_TEST_DRIVER=none` uses no driver: the suite runs on the CPU only;
//! - if it is not set, the machine's driver is used if it has a device, else the virtual driver if NVRTC is found, else
//!   none, and the suite says so.

#![allow(dead_code, reason = "each test file uses a part of it")]

#[cfg(all(feature = "cuda", unix))]
pub mod libraries;

use std::sync::OnceLock;

use bitlane::Device;

/// Returns every device that is available to the suite, the CPU first.
pub fn devices() -> Vec<Device> {
    static DEVICES: OnceLock<Vec<Device>> = OnceLock::new();
    DEVICES.get_or_init(find).clone()
}

/// Whether a case is tried on a device. On CUDA, where nearly every case needs a kernel compiled, `BITLANE_KERNELS=N`
/// takes one in N, and `BITLANE_TURN` chooses which.
pub fn is_tried(device: &Device, case: usize) -> bool {
    let number = |name: &str| std::env::var(name).ok()?.parse::<usize>().ok();
    let step = number("BITLANE_KERNELS").unwrap_or(1).max(1);
    let turn = number("BITLANE_TURN").unwrap_or(0);
    device.to_string() == "cpu" || (case + turn).is_multiple_of(step)
}

fn find() -> Vec<Device> {
    let devices: Vec<_> = cpu().into_iter().chain(cuda()).collect();
    let names: Vec<_> = devices.iter().map(Device::to_string).collect();
    eprintln!("bitlane tests: under test: {}", names.join(", "));
    assert!(!devices.is_empty(), "no device to test: give a driver or the feature `cpu`");
    devices
}

#[cfg(feature = "cpu")]
fn cpu() -> Option<Device> {
    Some(Device::cpu())
}

#[cfg(not(feature = "cpu"))]
fn cpu() -> Option<Device> {
    eprintln!("bitlane tests: cpu skipped, this build is without the feature `cpu`");
    None
}

#[cfg(feature = "cuda")]
fn cuda() -> Option<Device> {
    match driver::choose() {
        Ok(driver) => {
            // A driver that was found or requested must work: nothing is skipped silently.
            let device = Device::cuda(0)
                .unwrap_or_else(|error| panic!("the {driver} driver was chosen, but: {error}"));
            eprintln!("bitlane tests: {device} runs on the {driver} driver");
            Some(device)
        }
        Err(reason) => {
            eprintln!("bitlane tests: cuda skipped, {reason}");
            None
        }
    }
}

#[cfg(not(feature = "cuda"))]
fn cuda() -> Option<Device> {
    eprintln!("bitlane tests: cuda skipped, this build is without the feature `cuda`");
    None
}

#[cfg(feature = "cuda")]
mod driver {
    use std::env;
    use std::ffi::{c_int, c_uint};

    use libloading::Library;

    /// Chooses a driver, before the crate's first call to one, and returns its name.
    pub fn choose() -> Result<&'static str, String> {
        let wish = env::var("BITLANE_TEST_DRIVER").ok();
        match wish.as_deref() {
            Some("system") => Ok("system"),
            Some("virtual") => match load_virtual() {
                Ok(()) => Ok("virtual"),
                Err(reason) => panic!("BITLANE_TEST_DRIVER=virtual, but {reason}"),
            },
            Some("none") => Err("BITLANE_TEST_DRIVER=none".into()),
            Some(other) => {
                panic!("BITLANE_TEST_DRIVER={other}; it can be system, virtual or none")
            }
            None if system_devices() > 0 => Ok("system"),
            None => load_virtual()
                .map(|()| "virtual")
                .map_err(|reason| format!("the machine's driver has no device, and {reason}")),
        }
    }

    /// Returns the number of devices of the machine's own driver; 0 if there is no driver.
    fn system_devices() -> c_int {
        let names = if cfg!(windows) { ["nvcuda.dll"; 2] } else { ["libcuda.so.1", "libcuda.so"] };
        // SAFETY: the initialisers of NVIDIA's driver have no requirements on the program.
        let library = names.iter().find_map(|name| unsafe { Library::new(*name) }.ok());
        let Some(library) = library else { return 0 };
        let mut count = 0;
        // SAFETY: the names and signatures are those of the driver API, and `count` outlives the call; `cuInit` is
        // called first, as the API requires.
        let result = unsafe {
            let init = library.get::<unsafe extern "C" fn(c_uint) -> c_int>(b"cuInit\0");
            let devices =
                library.get::<unsafe extern "C" fn(*mut c_int) -> c_int>(b"cuDeviceGetCount\0");
            match (init, devices) {
                (Ok(init), Ok(devices)) if init(0) == 0 => devices(&mut count),
                _ => 1,
            }
        };
        if result == 0 { count } else { 0 }
    }

    /// Loads the virtual driver into the process, and NVRTC if the crate would not find it.
    #[cfg(unix)]
    fn load_virtual() -> Result<(), String> {
        use super::libraries::{libraries, load};
        let found = libraries()?;
        found.nvrtc.as_deref().map_or(Ok(()), load)?;
        load(&found.driver)
    }

    #[cfg(not(unix))]
    fn load_virtual() -> Result<(), String> {
        Err("the virtual driver is for Unix".into())
    }
}
