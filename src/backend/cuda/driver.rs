//! The driver API: its functions, how they are called, and how their result codes become errors.
//!
//! The functions are declared here rather than taken from cudarc's bindings. Those return the result code as a Rust
//! enum, and a code that the enum lacks is undefined behaviour. Here the code is an integer, so a driver that is newer
//! than the bindings may return any value.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;

use cudarc::driver::DriverError;
use cudarc::driver::sys::{
    CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUgraph, CUgraphExec, CUmemoryPool,
    CUmodule, CUresult, CUstream,
};
use libloading::Library;
use once_cell::sync::OnceCell;

use crate::{Error, Result};

/// The result code of a driver call; 0 is success.
pub(super) type Code = c_uint;

const SUCCESS: Code = 0;

macro_rules! define_api {
    ($($name:ident: fn($($argument:ty),*);)*) => {
        /// The driver functions that the backend calls.
        #[allow(non_snake_case, reason = "the fields are named after the C functions")]
        pub(super) struct Api {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) -> Code,)*
        }

        impl Api {
            /// Looks up every function. The error is the name of the first one that is missing.
            #[allow(non_snake_case, reason = "the variables are named after the C functions")]
            pub(super) fn of(library: &Library) -> std::result::Result<Api, &'static str> {
                $(
                    // SAFETY: the driver function of this name has this signature.
                    let $name = unsafe { library.get(stringify!($name).as_bytes()) };
                    let $name = *$name.map_err(|_| stringify!($name))?;
                )*
                Ok(Api { $($name,)* })
            }
        }
    };
}

define_api! {
    cuCtxEnablePeerAccess: fn(CUcontext, c_uint);
    cuCtxGetCurrent: fn(*mut CUcontext);
    cuCtxGetDevice: fn(*mut CUdevice);
    cuCtxSetCurrent: fn(CUcontext);
    cuCtxSynchronize: fn();
    cuDeviceCanAccessPeer: fn(*mut c_int, CUdevice, CUdevice);
    cuDeviceGet: fn(*mut CUdevice, c_int);
    cuDeviceGetAttribute: fn(*mut c_int, c_uint, CUdevice);
    cuDeviceGetCount: fn(*mut c_int);
    cuDeviceGetDefaultMemPool: fn(*mut CUmemoryPool, CUdevice);
    cuDevicePrimaryCtxRelease_v2: fn(CUdevice);
    cuDevicePrimaryCtxRetain: fn(*mut CUcontext, CUdevice);
    cuDriverGetVersion: fn(*mut c_int);
    cuEventCreate: fn(*mut CUevent, c_uint);
    cuEventDestroy_v2: fn(CUevent);
    cuEventQuery: fn(CUevent);
    cuEventRecord: fn(CUevent, CUstream);
    cuEventSynchronize: fn(CUevent);
    cuGetErrorName: fn(Code, *mut *const c_char);
    cuGetErrorString: fn(Code, *mut *const c_char);
    cuGraphDestroy: fn(CUgraph);
    cuGraphExecDestroy: fn(CUgraphExec);
    cuGraphInstantiateWithFlags: fn(*mut CUgraphExec, CUgraph, u64);
    cuGraphLaunch: fn(CUgraphExec, CUstream);
    cuInit: fn(c_uint);
    cuLaunchKernel: fn(
        CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, CUstream,
        *mut *mut c_void, *mut *mut c_void
    );
    cuMemAllocFromPoolAsync: fn(*mut CUdeviceptr, usize, CUmemoryPool, CUstream);
    cuMemAlloc_v2: fn(*mut CUdeviceptr, usize);
    cuMemFreeAsync: fn(CUdeviceptr, CUstream);
    cuMemFreeHost: fn(*mut c_void);
    cuMemFree_v2: fn(CUdeviceptr);
    cuMemHostAlloc: fn(*mut *mut c_void, usize, c_uint);
    cuMemPoolCreate: fn(*mut CUmemoryPool, *const c_void);
    cuMemPoolDestroy: fn(CUmemoryPool);
    cuMemPoolGetAttribute: fn(CUmemoryPool, c_uint, *mut c_void);
    cuMemPoolSetAccess: fn(CUmemoryPool, *const c_void, usize);
    cuMemPoolSetAttribute: fn(CUmemoryPool, c_uint, *mut c_void);
    cuMemPoolTrimTo: fn(CUmemoryPool, usize);
    cuMemcpyDtoHAsync_v2: fn(*mut c_void, CUdeviceptr, usize, CUstream);
    cuMemcpyHtoDAsync_v2: fn(CUdeviceptr, *const c_void, usize, CUstream);
    cuMemcpyPeerAsync: fn(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, usize, CUstream);
    cuMemsetD8Async: fn(CUdeviceptr, u8, usize, CUstream);
    cuModuleGetFunction: fn(*mut CUfunction, CUmodule, *const c_char);
    cuModuleLoadDataEx: fn(*mut CUmodule, *const c_void, c_uint, *mut c_uint, *mut *mut c_void);
    cuModuleUnload: fn(CUmodule);
    cuStreamBeginCapture_v2: fn(CUstream, c_uint);
    cuStreamCreate: fn(*mut CUstream, c_uint);
    cuStreamDestroy_v2: fn(CUstream);
    cuStreamEndCapture: fn(CUstream, *mut CUgraph);
    cuStreamGetCtx: fn(CUstream, *mut CUcontext);
    cuStreamIsCapturing: fn(CUstream, *mut c_int);
    cuStreamSynchronize: fn(CUstream);
    cuStreamWaitEvent: fn(CUstream, CUevent, c_uint);
    cuThreadExchangeStreamCaptureMode: fn(*mut c_uint);
}

/// The functions of the loaded driver, set by [`driver_ready`](super::probe::driver_ready).
pub(super) static API: OnceCell<Api> = OnceCell::new();

/// Returns the functions of the loaded driver.
#[inline]
pub(super) fn api() -> Result<&'static Api> {
    API.get().ok_or_else(not_loaded)
}

#[cold]
fn not_loaded() -> Error {
    super::probe::unavailable("the driver is not loaded", "make a device first")
}

/// Calls a driver function and checks its result code; an error carries the function's name.
///
/// Must be used inside an `unsafe` block whose `SAFETY` comment covers the call.
macro_rules! driver {
    ($function:ident($($argument:expr),* $(,)?)) => {
        match $crate::backend::cuda::driver::api() {
            Ok(api) => $crate::backend::cuda::driver::check(
                stringify!($function),
                (api.$function)($($argument),*),
            ),
            Err(error) => Err(error),
        }
    };
}
pub(super) use driver;

/// Converts a result code into a `Result`.
#[inline]
pub(super) fn check(call: &'static str, code: Code) -> Result<()> {
    if code == SUCCESS { Ok(()) } else { Err(failed(call, code)) }
}

/// Builds the error for a failed call. A code that the driver has no name for is named by its number.
#[cold]
pub(super) fn failed(call: &'static str, code: Code) -> Error {
    type Describe = unsafe extern "C" fn(Code, *mut *const c_char) -> Code;
    let describe = |function: Describe| {
        let mut text = ptr::null();
        // SAFETY: both functions accept any code and write either null or a pointer to a NUL-terminated string that is
        // never freed; neither needs the driver to be initialised.
        unsafe {
            let known = function(code, &mut text) == SUCCESS && !text.is_null();
            known.then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    };
    let name = API.get().and_then(|api| describe(api.cuGetErrorName));
    let text = API.get().and_then(|api| describe(api.cuGetErrorString));
    Error::Driver {
        call,
        code,
        name: name.unwrap_or_else(|| format!("error {code}")),
        text: text.unwrap_or_else(|| "the driver does not explain this code".into()),
    }
}

/// Builds the error for a failed call made by cudarc, from the integer value of its code.
#[cold]
pub(super) fn failed_in_cudarc(call: &'static str, error: &DriverError) -> Error {
    failed(call, error.0 as Code)
}

/// Returns the result code of a driver error, or `None` for any other error.
pub(super) fn code_of(error: &Error) -> Option<Code> {
    match error {
        Error::Driver { code, .. } => Some(*code),
        _ => None,
    }
}

/// Whether an error is a driver error with this code.
pub(super) fn is_code(error: &Error, code: CUresult) -> bool {
    code_of(error) == Some(code as Code)
}
