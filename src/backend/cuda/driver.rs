//! Calls of the driver API, and what becomes of their errors.

use std::ffi::CStr;
use std::ptr;

use cudarc::driver::sys::{self, CUresult};

use crate::{Error, Result};

/// Calls a function of the driver; an error names that very function.
///
/// The caller is in an `unsafe` block whose proof covers the call.
macro_rules! driver {
    ($function:ident($($argument:expr),* $(,)?)) => {
        $crate::backend::cuda::driver::check(
            stringify!($function),
            cudarc::driver::sys::$function($($argument),*),
        )
    };
}
pub(super) use driver;

/// Turns a driver's answer into a result.
#[inline]
pub(super) fn check(call: &'static str, code: CUresult) -> Result<()> {
    if code == CUresult::CUDA_SUCCESS { Ok(()) } else { Err(failed(call, code)) }
}

/// The error of a call that failed.
#[cold]
pub(super) fn failed(call: &'static str, code: CUresult) -> Error {
    type Describe = unsafe fn(CUresult, *mut *const std::ffi::c_char) -> CUresult;
    let describe = |function: Describe| {
        let mut text = ptr::null();
        // SAFETY: both functions take any code, and write a pointer to a string that is never
        // freed, or null; neither needs the driver to be initialised.
        unsafe {
            let known = function(code, &mut text) == CUresult::CUDA_SUCCESS && !text.is_null();
            known.then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    };
    Error::Driver {
        call,
        code: code as u32,
        name: describe(sys::cuGetErrorName).unwrap_or_else(|| format!("{code:?}")),
        text: describe(sys::cuGetErrorString).unwrap_or_else(|| "no explanation".into()),
    }
}

/// The driver's code in an error, if it is one of the driver's.
pub(super) fn code_of(error: &Error) -> Option<u32> {
    match error {
        Error::Driver { code, .. } => Some(*code),
        _ => None,
    }
}

/// Whether an error is the driver's, with this code.
pub(super) fn is_code(error: &Error, code: CUresult) -> bool {
    code_of(error) == Some(code as u32)
}
