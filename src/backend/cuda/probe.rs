//! Finds the CUDA driver, its functions and the devices. This comes before the first driver call, because cudarc panics
//! if a library or function is missing. Every driver function that cudarc calls on this crate's behalf is one that this
//! crate calls too, and so has looked up.

use std::error::Error as _;
use std::ffi::OsStr;
use std::sync::atomic::{AtomicBool, Ordering};

use cudarc::driver::sys::CUresult;
use libloading::Library;
use once_cell::sync::OnceCell;

use super::driver::{API, Api, driver, is_code};
use super::nvrtc::file_of;
use crate::{Error, Result};

/// The oldest compute capability that the kernels are written for.
pub(super) const OLDEST: u32 = 75;

pub(super) fn unavailable(reason: impl Into<String>, remedy: impl Into<String>) -> Error {
    Error::CudaUnavailable { reason: reason.into(), remedy: remedy.into() }
}

/// Opens a library. The error is the loader's reason.
pub(super) fn open(name: impl AsRef<OsStr>) -> std::result::Result<Library, String> {
    // SAFETY: the libraries are NVIDIA's, whose initialisers run in every CUDA program.
    unsafe { Library::new(name.as_ref()) }.map_err(|error| match error.source() {
        Some(cause) => cause.to_string(),
        None => error.to_string(),
    })
}

/// The file names of the driver library. The driver installs the first one. The second is for whoever links programs, and
/// may be the toolkit's stub, which has no device.
const DRIVER: &[&str] =
    if cfg!(windows) { &["nvcuda.dll"] } else { &["libcuda.so.1", "libcuda.so"] };

/// Opens the driver library: the one that the process has already loaded, as the virtual driver may be, else the first
/// that the loader finds. The error is the loader's reason for the first one.
fn open_driver() -> std::result::Result<Library, String> {
    // Under the second name the process has what it asked for itself; NVRTC loads the first one for reasons of its own.
    if let Some(library) = DRIVER.iter().rev().find_map(|name| loaded(name)) {
        return Ok(library);
    }
    let mut reason = None;
    for name in DRIVER {
        match open(name) {
            Ok(library) => return Ok(library),
            Err(error) => reason = reason.or(Some(error)),
        }
    }
    Err(reason.unwrap_or_default())
}

/// Returns a library that the process has already loaded under this name.
#[cfg(unix)]
fn loaded(name: &str) -> Option<Library> {
    use libloading::os::unix;
    // SAFETY: nothing is loaded, so no initialiser runs.
    unsafe { unix::Library::open(Some(name), unix::RTLD_NOW | libc::RTLD_NOLOAD) }
        .ok()
        .map(Library::from)
}

#[cfg(not(unix))]
fn loaded(_name: &str) -> Option<Library> {
    None
}

/// Whether the machine has no driver, or one that finds no device. A driver that is too old or broken is not absent.
#[cfg(feature = "cpu")]
pub(super) fn is_absent() -> bool {
    match device_count() {
        Ok(count) => count == 0,
        Err(Error::CudaUnavailable { reason, .. }) => {
            reason == NO_DEVICE || reason.starts_with(STUB) || open_driver().is_err()
        }
        Err(_) => false,
    }
}

const STUB: &str = "the driver's library is the stub of a CUDA toolkit";

const NO_DEVICE: &str = "the driver finds no CUDA device";

/// Loads and initialises the driver. Success is remembered; after a failure the next call tries again.
pub(super) fn driver_ready() -> Result<()> {
    static READY: OnceCell<()> = OnceCell::new();
    READY.get_or_try_init(find_driver).copied()
}

fn find_driver() -> Result<()> {
    API.get_or_try_init(load_driver)?;
    // SAFETY: the function takes no pointers.
    unsafe { driver!(cuInit(0)) }.map_err(|error| {
        if is_code(&error, CUresult::CUDA_ERROR_NO_DEVICE) {
            unavailable(NO_DEVICE, "use Device::cpu()")
        } else if is_code(&error, CUresult::CUDA_ERROR_STUB_LIBRARY) {
            let file = API.get().and_then(|api| file_of(api.cuInit as *const ()));
            let file = file.map_or(String::new(), |file| format!(" ({})", file.display()));
            unavailable(
                format!("{STUB}{file}, which only programs are linked with"),
                "install NVIDIA's driver, and take the folder of stubs out of LD_LIBRARY_PATH",
            )
        } else {
            unavailable(
                error.to_string(),
                "check with nvidia-smi that the driver and its kernel module work together",
            )
        }
    })
}

/// Returns the major version of CUDA that the driver is for, or `None` if there is no driver.
pub(super) fn driver_major() -> Result<Option<u32>> {
    if driver_ready().is_err() && API.get().is_none() {
        return Ok(None);
    }
    let mut version = 0;
    // SAFETY: the driver writes one int; the function may be called before the driver is initialised.
    unsafe { driver!(cuDriverGetVersion(&mut version)) }?;
    Ok(u32::try_from(version / 1000).ok())
}

/// Opens the driver library and looks up its functions.
fn load_driver() -> Result<Api> {
    let library = open_driver().map_err(|error| {
        unavailable(
            format!("the driver's library cannot be loaded ({error})"),
            "install NVIDIA's driver, or use Device::cpu()",
        )
    })?;
    let api = Api::of(&library).map_err(|symbol| {
        unavailable(
            format!("the driver is too old, it has no {symbol}"),
            "update NVIDIA's driver to one for CUDA 12 or later",
        )
    })?;
    // SAFETY: the symbol is looked up but not used.
    let is_virtual = unsafe { library.get::<*const ()>(b"vcuda_stats") }.is_ok();
    VIRTUAL.store(is_virtual, Ordering::Relaxed);
    // The functions may be called until the process exits, so the library is never unloaded.
    std::mem::forget(library);
    Ok(api)
}

static VIRTUAL: AtomicBool = AtomicBool::new(false);

/// Whether the loaded driver is the virtual one, which has a function that no other has.
pub(crate) fn is_virtual() -> bool {
    VIRTUAL.load(Ordering::Relaxed)
}

/// Returns the number of devices that the driver finds.
pub(super) fn device_count() -> Result<usize> {
    driver_ready()?;
    let mut count = 0;
    // SAFETY: the driver is initialised, and writes one int.
    unsafe { driver!(cuDeviceGetCount(&mut count)) }?;
    Ok(usize::try_from(count).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_an_error_with_its_name() {
        let error = open("bitlane_no_such_library").unwrap_err();
        if cfg!(unix) {
            assert!(error.contains("bitlane_no_such_library"), "{error}");
        }
    }

    #[test]
    fn no_call_panics_whatever_is_installed() {
        match device_count() {
            Ok(count) => println!("{count} devices"),
            Err(error) => assert_eq!(error.kind(), crate::ErrorKind::CudaUnavailable),
        }
    }
}
