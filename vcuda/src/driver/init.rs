//! Initialisation, versions, error texts and entry points.

use super::{api, put, text};
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

/// The newest version of a function: `cuMemAlloc` means `cuMemAlloc_v2`.
fn address(name: &str) -> Option<usize> {
    let find = |wanted: &str| super::functions().find(|f| f.0 == wanted).map(|f| f.1);
    match name {
        "cuGraphInstantiate" => find("cuGraphInstantiateWithFlags"),
        "cuGetProcAddress" => find("cuGetProcAddress_v2"),
        _ => find(&format!("{name}_v2")).or_else(|| find(name)),
    }
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

    fn cuGetProcAddress(symbol: *const c_char, to: *mut *mut c_void, _version: c_int, _flags: u64) {
        match address(&text(symbol)?) {
            Some(at) => put(to, at as *mut c_void),
            None => put(to, std::ptr::null_mut()).and(Err(ERROR_NOT_FOUND)),
        }
    }

    fn cuGetProcAddress_v2(symbol: *const c_char, to: *mut *mut c_void, _version: c_int, _flags: u64, status: *mut c_int) {
        let found = address(&text(symbol)?);
        if !status.is_null() {
            put(status, if found.is_some() { 0 } else { 1 })?;
        }
        match found {
            Some(at) => put(to, at as *mut c_void),
            None => put(to, std::ptr::null_mut()).and(Err(ERROR_NOT_FOUND)),
        }
    }

    // NVRTC asks for tables that are nobody's business, and does not check the answer.
    fn cuGetExportTable(table: *mut *const c_void, _id: *const c_void) {
        put(table, std::ptr::null()).and(Err(ERROR_NOT_FOUND))
    }

    fn cuProfilerStart() {
        Ok(())
    }

    fn cuProfilerStop() {
        Ok(())
    }
}
