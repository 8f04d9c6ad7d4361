//! Initialisation, driver version, error texts and entry points.

use super::{api, bad_call, put, text, wanted, working};
use crate::config;
use crate::error::{self, Code, ERROR_INVALID_VALUE, ERROR_NO_DEVICE, ERROR_NOT_FOUND};
use crate::runtime::{enter, report_at_exit};
use std::ffi::{c_char, c_int, c_uint, c_void};

fn message(
    code: Code,
    to: *mut *const c_char,
    find: fn(Code) -> Option<&'static std::ffi::CStr>,
) -> Result<(), Code> {
    match find(code) {
        Some(found) => put(to, found.as_ptr()),
        None => put(to, std::ptr::null()).and(Err(ERROR_INVALID_VALUE)),
    }
}

/// Functions whose parameters changed, with the API version since which a form applies. All other functions have only
/// their newest form.
const CHANGED: &[(&str, c_int, &str)] = &[
    ("cuCtxCreate", 12050, "cuCtxCreate_v4"),
    ("cuCtxCreate", 11040, "cuCtxCreate_v3"),
    ("cuGetProcAddress", 12000, "cuGetProcAddress_v2"),
    ("cuGetProcAddress", 0, "cuGetProcAddress"),
    ("cuGraphAddDependencies", 12030, "cuGraphAddDependencies_v2"),
    ("cuGraphAddDependencies", 0, "cuGraphAddDependencies"),
    ("cuGraphInstantiate", 12000, "cuGraphInstantiateWithFlags"),
    ("cuMemAdvise", 12020, "cuMemAdvise_v2"),
    ("cuMemAdvise", 0, "cuMemAdvise"),
    ("cuMemPrefetchAsync", 12020, "cuMemPrefetchAsync_v2"),
    ("cuMemPrefetchAsync", 0, "cuMemPrefetchAsync"),
    ("cuStreamGetCaptureInfo", 12030, "cuStreamGetCaptureInfo_v3"),
];

/// The identifier of the table without which the CUDA runtime does not start.
const RUNTIME: [u8; 16] = [
    0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9,
];

/// Returns the address of the form that a function has in a version of the API: `cuMemAlloc` means `cuMemAlloc_v2`.
fn address(name: &str, version: c_int) -> Option<usize> {
    let all = || super::functions().chain(super::absent::shared_between_processes());
    let find = |wanted: &str| all().find(|f| f.0 == wanted).map(|f| f.1);
    match CHANGED.iter().find(|c| c.0 == name && version >= c.1) {
        Some((.., exact)) => find(exact),
        None => find(&format!("{name}_v2")).or_else(|| find(name)),
    }
}

/// Looks up a function for `cuGetProcAddress`; returns whether it was found.
fn look_up(
    symbol: *const c_char,
    to: *mut *mut c_void,
    version: c_int,
    flags: u64,
) -> Result<bool, Code> {
    let name = text(symbol)?;
    wanted(to)?;
    if flags > 2 {
        return Err(ERROR_INVALID_VALUE);
    }
    let found = address(&name, version);
    put(to, found.unwrap_or(0) as *mut c_void)?;
    Ok(found.is_some())
}

api! {
    fn cuInit(flags: c_uint) {
        if flags != 0 {
            return Err(ERROR_INVALID_VALUE);
        }
        if config::with(|c| c.devices) == 0 {
            return Err(ERROR_NO_DEVICE);
        }
        enter().initialise();
        report_at_exit();
        Ok(())
    }

    fn cuDriverGetVersion(version: *mut c_int) {
        put(version, config::with(|c| c.driver) as c_int)
    }

    fn cuGetErrorName(code: Code, name: *mut *const c_char) {
        message(code, name, error::name)
    }

    fn cuGetErrorString(code: Code, name: *mut *const c_char) {
        message(code, name, error::text)
    }

    fn cuGetProcAddress(symbol: *const c_char, to: *mut *mut c_void, version: c_int, flags: u64) {
        if look_up(symbol, to, version, flags)? { Ok(()) } else { Err(ERROR_NOT_FOUND) }
    }

    fn cuGetProcAddress_v2(symbol: *const c_char, to: *mut *mut c_void, version: c_int, flags: u64, status: *mut c_int) {
        let found = look_up(symbol, to, version, flags)?;
        if !status.is_null() {
            put(status, c_int::from(!found))?;
        }
        if found { Ok(()) } else { Err(ERROR_NOT_FOUND) }
    }

    // NVRTC asks for undocumented tables and accepts that there are none; the CUDA runtime does not.
    fn cuGetExportTable(table: *mut *const c_void, id: *const c_void) {
        // SAFETY: by the API's contract the identifier, if there is one, has 16 bytes.
        if !id.is_null() && unsafe { id.cast::<[u8; 16]>().read_unaligned() } == RUNTIME {
            let text = "the CUDA runtime (libcudart) asks for its private tables: programs on the CUDA runtime are not \
                supported, only those on the driver API";
            bad_call(ERROR_NOT_FOUND, text.into());
        }
        put(table, std::ptr::null()).and(Err(ERROR_NOT_FOUND))
    }

    fn cuProfilerStart() {
        working().map(drop)
    }

    fn cuProfilerStop() {
        working().map(drop)
    }
}
