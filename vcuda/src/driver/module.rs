//! Modules, libraries and what is in them.

use super::jit::Options;
use super::{api, bad_call, put, text, wanted, working};
use crate::error::{
    Code, ERROR_FILE_NOT_FOUND, ERROR_INVALID_HANDLE, ERROR_INVALID_IMAGE, ERROR_INVALID_PTX,
    ERROR_INVALID_VALUE, ERROR_NOT_FOUND,
};
use crate::runtime::{Kernel, enter, run_context};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// The bytes of an image in memory: PTX up to its zero, a cubin by its own length.
fn image_bytes(image: *const c_void) -> Result<Vec<u8>, Code> {
    if image.is_null() {
        return Err(ERROR_INVALID_VALUE);
    }
    let at = image.cast::<u8>();
    // SAFETY: by the API's contract the image is either a string that ends with a zero, or an ELF file whose
    // header (64 bytes) says where its section table ends, which is its last part.
    unsafe {
        if *at != 0x7f {
            return Ok(CStr::from_ptr(image.cast::<c_char>()).to_bytes().to_vec());
        }
        let header = std::slice::from_raw_parts(at, 64);
        if !header.starts_with(b"\x7fELF") {
            return Err(ERROR_INVALID_IMAGE);
        }
        let long = |k: usize| u64::from_le_bytes(std::array::from_fn(|i| header[k + i]));
        let short = |k: usize| u64::from(u16::from_le_bytes([header[k], header[k + 1]]));
        let sections = long(40).saturating_add(short(58) * short(60));
        let programs = long(32).saturating_add(short(54) * short(56));
        Ok(std::slice::from_raw_parts(at, sections.max(programs).min(1 << 30) as usize).to_vec())
    }
}

fn load(module: *mut u64, image: &[u8], library: bool, options: &Options) -> Result<(), Code> {
    let (mut s, cx) = working()?;
    wanted(module)?;
    s.may_disturb()?;
    let loaded = s.load(cx, image, library);
    options.log(loaded.as_ref().err().map_or("", |refusal| &refusal.1));
    match loaded {
        Ok(handle) => put(module, handle),
        Err((code, text)) => {
            // A version or a target that the device is too old for is no fault of the program.
            if matches!(code, ERROR_INVALID_IMAGE | ERROR_INVALID_PTX) {
                bad_call(code, text);
            }
            Err(code)
        }
    }
}

fn function(module: u64, name: &str, to: *mut u64) -> Result<(), Code> {
    let (mut s, _) = working()?;
    wanted(to)?;
    let m = s.modules.get(&module).ok_or(ERROR_INVALID_HANDLE)?;
    let program = m.programs.get(name).ok_or(ERROR_NOT_FOUND)?.clone();
    let version = m.ptx_version;
    let known = m.handles.get(name).copied();
    let handle = match known {
        Some(handle) => handle,
        None => {
            let handle = s.handle();
            s.kernels.insert(
                handle,
                Kernel { module, program, ptx_version: version, max_dynamic_shared: 0 },
            );
            if let Some(m) = s.modules.get_mut(&module) {
                m.handles.insert(name.to_string(), handle);
            }
            handle
        }
    };
    put(to, handle)
}

fn global(module: u64, name: &str, addr: *mut u64, size: *mut usize) -> Result<(), Code> {
    let (s, _) = working()?;
    let &(at, bytes) = s
        .modules
        .get(&module)
        .ok_or(ERROR_INVALID_HANDLE)?
        .globals
        .get(name)
        .ok_or(ERROR_NOT_FOUND)?;
    if !addr.is_null() {
        put(addr, at)?;
    }
    if size.is_null() { Ok(()) } else { put(size, bytes as usize) }
}

fn unload(module: u64, library: bool) -> Result<(), Code> {
    let (mut s, _) = working()?;
    s.may_disturb()?;
    let context = s
        .modules
        .get(&module)
        .filter(|m| m.library == library)
        .ok_or(ERROR_INVALID_HANDLE)?
        .context;
    // Kernels under way need their code.
    let mut s = run_context(s, context);
    if s.unload(module) { Ok(()) } else { Err(ERROR_INVALID_HANDLE) }
}

api! {
    fn cuModuleLoadData(module: *mut u64, image: *const c_void) {
        load(module, &image_bytes(image)?, false, &Options::default())
    }

    fn cuModuleLoadDataEx(module: *mut u64, image: *const c_void, count: c_uint, options: *mut c_int, values: *mut *mut c_void) {
        load(module, &image_bytes(image)?, false, &Options::read(count, options, values)?)
    }

    fn cuModuleLoadFatBinary(module: *mut u64, image: *const c_void) {
        load(module, &image_bytes(image)?, false, &Options::default())
    }

    fn cuModuleLoad(module: *mut u64, path: *const c_char) {
        let bytes = std::fs::read(text(path)?).map_err(|_| ERROR_FILE_NOT_FOUND)?;
        let end = if bytes.starts_with(b"\x7fELF") { bytes.len() } else { bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len()) };
        load(module, &bytes[..end], false, &Options::default())
    }

    fn cuModuleUnload(module: u64) {
        unload(module, false)
    }

    fn cuModuleGetFunction(to: *mut u64, module: u64, name: *const c_char) {
        function(module, &text(name)?, to)
    }

    fn cuModuleGetGlobal_v2(addr: *mut u64, size: *mut usize, module: u64, name: *const c_char) {
        global(module, &text(name)?, addr, size)
    }

    fn cuModuleGetFunctionCount(count: *mut c_uint, module: u64) {
        let (s, _) = working()?;
        put(count, s.modules.get(&module).ok_or(ERROR_INVALID_HANDLE)?.programs.len() as c_uint)
    }

    fn cuModuleGetLoadingMode(mode: *mut c_int) {
        enter().ready()?;
        put(mode, 1)
    }

    fn cuLibraryLoadData(library: *mut u64, image: *const c_void, options: *mut c_int, values: *mut *mut c_void, count: c_uint, _lo: *mut c_int, _lv: *mut *mut c_void, _ln: c_uint) {
        load(library, &image_bytes(image)?, true, &Options::read(count, options, values)?)
    }

    fn cuLibraryUnload(library: u64) {
        unload(library, true)
    }

    fn cuLibraryGetKernel(to: *mut u64, library: u64, name: *const c_char) {
        function(library, &text(name)?, to)
    }

    fn cuLibraryGetModule(module: *mut u64, library: u64) {
        let (s, _) = working()?;
        if s.modules.contains_key(&library) { put(module, library) } else { Err(ERROR_INVALID_HANDLE) }
    }

    fn cuLibraryGetGlobal(addr: *mut u64, size: *mut usize, library: u64, name: *const c_char) {
        global(library, &text(name)?, addr, size)
    }

    fn cuKernelGetFunction(to: *mut u64, kernel: u64) {
        let (s, _) = working()?;
        if s.kernels.contains_key(&kernel) { put(to, kernel) } else { Err(ERROR_INVALID_HANDLE) }
    }
}
