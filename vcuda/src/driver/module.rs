//! Modules, their functions and variables.

use super::jit::Options;
use super::{api, bad_call, put, text, wanted, working};
use crate::error::{
    Code, ERROR_FILE_NOT_FOUND, ERROR_INVALID_HANDLE, ERROR_INVALID_IMAGE, ERROR_INVALID_PTX,
    ERROR_INVALID_VALUE, ERROR_NOT_FOUND,
};
use crate::runtime::{FAT_BINARIES, Guard, enter, machine_code, run_context};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// Copies an image in memory: PTX up to its NUL, a cubin up to the length its header gives.
pub(super) fn image_bytes(image: *const c_void) -> Result<Vec<u8>, Code> {
    if image.is_null() {
        return Err(ERROR_INVALID_VALUE);
    }
    let at = image.cast::<u8>();
    // SAFETY: by the API's contract the image is either a NUL-terminated string, or an ELF file whose header (64 bytes)
    // says where its section table, which comes last, ends.
    unsafe {
        // A fat binary is recognised by its magic number. The bytes are compared one by one, since PTX may be shorter.
        let starts_with = |magic: &&[u8; 4]| (0..4).all(|k| *at.add(k) == magic[k]);
        if let Some(magic) = FAT_BINARIES.iter().find(starts_with) {
            return Ok(magic.to_vec());
        }
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

/// Reads an image from a file.
pub(super) fn file_bytes(path: *const c_char) -> Result<Vec<u8>, Code> {
    let mut bytes = std::fs::read(text(path)?).map_err(|_| ERROR_FILE_NOT_FOUND)?;
    if machine_code(&bytes).is_none() {
        let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
        bytes.truncate(end);
    }
    Ok(bytes)
}

fn load(module: *mut u64, image: &[u8], options: &Options) -> Result<(), Code> {
    let (mut s, cx) = working()?;
    wanted(module)?;
    s.check_capture_mode()?;
    loaded(module, s.load(cx, image), options)
}

/// Returns the result of a load to the program and writes the JIT log.
pub(super) fn loaded(
    to: *mut u64,
    loaded: Result<u64, (Code, String)>,
    options: &Options,
) -> Result<(), Code> {
    options.log(loaded.as_ref().err().map_or("", |refusal| &refusal.1));
    match loaded {
        Ok(handle) => put(to, handle),
        Err((code, text)) => {
            // PTX that is too new for the driver or the device is not a misuse of the API.
            if matches!(code, ERROR_INVALID_IMAGE | ERROR_INVALID_PTX) {
                bad_call(code, text);
            }
            Err(code)
        }
    }
}

/// Looks up a function. A module knows its context, so that none need be current.
fn function(module: u64, name: &str, to: *mut u64) -> Result<(), Code> {
    let mut s = enter();
    s.ready()?;
    wanted(to)?;
    put(to, s.function(module, name)?)
}

/// Returns the address and size of a module's variable to the program.
pub(super) fn global(
    s: &Guard,
    module: u64,
    name: &str,
    addr: *mut u64,
    size: *mut usize,
) -> Result<(), Code> {
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

fn unload(module: u64) -> Result<(), Code> {
    let (mut s, _) = working()?;
    s.check_capture_mode()?;
    let context =
        s.modules.get(&module).filter(|m| m.library == 0).ok_or(ERROR_INVALID_HANDLE)?.context;
    // Queued kernels still need their code.
    let mut s = run_context(s, context);
    if s.unload(module) { Ok(()) } else { Err(ERROR_INVALID_HANDLE) }
}

api! {
    fn cuModuleLoadData(module: *mut u64, image: *const c_void) {
        load(module, &image_bytes(image)?, &Options::default())
    }

    fn cuModuleLoadDataEx(module: *mut u64, image: *const c_void, count: c_uint, options: *mut c_int, values: *mut *mut c_void) {
        load(module, &image_bytes(image)?, &Options::read(count, options, values)?)
    }

    fn cuModuleLoadFatBinary(module: *mut u64, image: *const c_void) {
        load(module, &image_bytes(image)?, &Options::default())
    }

    fn cuModuleLoad(module: *mut u64, path: *const c_char) {
        load(module, &file_bytes(path)?, &Options::default())
    }

    fn cuModuleUnload(module: u64) {
        unload(module)
    }

    fn cuModuleGetFunction(to: *mut u64, module: u64, name: *const c_char) {
        function(module, &text(name)?, to)
    }

    fn cuModuleGetGlobal_v2(addr: *mut u64, size: *mut usize, module: u64, name: *const c_char) {
        global(&working()?.0, module, &text(name)?, addr, size)
    }

    fn cuModuleGetFunctionCount(count: *mut c_uint, module: u64) {
        let (s, _) = working()?;
        put(count, s.modules.get(&module).ok_or(ERROR_INVALID_HANDLE)?.programs.len() as c_uint)
    }

    fn cuModuleEnumerateFunctions(to: *mut u64, count: c_uint, module: u64) {
        let (mut s, _) = working()?;
        wanted(to)?;
        let mut names: Vec<String> = s.modules.get(&module).ok_or(ERROR_INVALID_HANDLE)?.programs.keys().cloned().collect();
        names.sort_unstable();
        for (k, name) in names.iter().enumerate().take(count as usize) {
            put(to.wrapping_add(k), s.function(module, name)?)?;
        }
        Ok(())
    }

    fn cuModuleGetLoadingMode(mode: *mut c_int) {
        enter().ready()?;
        put(mode, 1)
    }
}
