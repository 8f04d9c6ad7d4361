//! Finds the CUDA driver, its functions and the devices. This comes before the first driver call, because cudarc panics
//! if a library or function is missing. Every driver function that cudarc calls on this crate's behalf is one that this
//! crate calls too, and so has looked up.

use std::error::Error as _;
use std::ffi::OsStr;

use cudarc::driver::sys::CUresult;
use libloading::Library;
use once_cell::sync::OnceCell;

use super::driver::{API, Api, code_of, driver};
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

/// Opens the first of several libraries that the loader finds. The error is the loader's reason for the last one.
pub(super) fn open_any(names: &[&str]) -> std::result::Result<Library, String> {
    let mut reason = String::new();
    for name in names {
        match open(name) {
            Ok(library) => return Ok(library),
            Err(error) => reason = error,
        }
    }
    Err(reason)
}

/// The file names of the driver library, a subset of those that cudarc tries.
const DRIVER: [&str; 2] =
    if cfg!(windows) { ["nvcuda.dll"; 2] } else { ["libcuda.so", "libcuda.so.1"] };

/// Whether the machine has no driver, or one that finds no device. A driver that is too old or broken is not absent.
#[cfg(feature = "cpu")]
pub(super) fn is_absent() -> bool {
    match device_count() {
        Ok(count) => count == 0,
        Err(Error::CudaUnavailable { reason, .. }) => {
            reason == NO_DEVICE || open_any(&DRIVER).is_err()
        }
        Err(_) => false,
    }
}

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
        let none = code_of(&error) == Some(CUresult::CUDA_ERROR_NO_DEVICE as u32);
        if none {
            unavailable(NO_DEVICE, "use Device::cpu()")
        } else {
            unavailable(
                error.to_string(),
                "check with nvidia-smi that the driver and its kernel module work together",
            )
        }
    })
}

/// Opens the driver library and looks up its functions.
fn load_driver() -> Result<Api> {
    let library = open_any(&DRIVER).map_err(|error| {
        unavailable(
            format!("the driver's library cannot be loaded ({error})"),
            "install NVIDIA's driver, or use Device::cpu()",
        )
    })?;
    let api = Api::of(&library).map_err(|symbol| {
        unavailable(
            format!("the driver is too old, it has no {symbol}"),
            "update NVIDIA's driver to one for CUDA 11.4 or later",
        )
    })?;
    // The functions may be called until the process exits, so the library is never unloaded.
    std::mem::forget(library);
    Ok(api)
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
        let error = open_any(&["bitlane_no_such_library"]).unwrap_err();
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
