//! Libraries and their kernels, which are not bound to a context.

use super::function::{attribute, check_attribute};
use super::jit::Options;
use super::module::{file_bytes, global, image_bytes, loaded};
use super::{api, put, text, wanted, working};
use crate::error::{Code, ERROR_INVALID_HANDLE, ERROR_INVALID_VALUE, ERROR_NOT_FOUND};
use crate::exec::Program;
use crate::runtime::{Guard, LibraryKernel, enter, run_all};
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::sync::Arc;

fn load(library: *mut u64, image: &[u8], options: &Options) -> Result<(), Code> {
    let mut s = enter();
    wanted(library)?;
    s.check_capture_mode()?;
    loaded(library, s.load_library(image), options)
}

fn kernel(s: &Guard, kernel: u64) -> Result<&LibraryKernel, Code> {
    s.library_kernels.get(&kernel).ok_or(ERROR_INVALID_HANDLE)
}

/// Returns the program of a kernel handle or a function handle.
fn program(s: &Guard, handle: u64) -> Result<Arc<Program>, Code> {
    let function = || s.kernels.get(&handle).map(|f| f.program.clone());
    let kernel = s.library_kernels.get(&handle).map(|k| k.program.clone());
    kernel.or_else(function).ok_or(ERROR_INVALID_HANDLE)
}

fn name(to: *mut *const c_char, handle: u64) -> Result<(), Code> {
    let mut s = enter();
    let program = program(&s, handle)?;
    let text = CString::new(program.name.as_str()).map_err(|_| ERROR_INVALID_VALUE)?;
    put(to, s.names.entry(handle).or_insert(text).as_ptr())
}

fn param(handle: u64, index: usize, offset: *mut usize, size: *mut usize) -> Result<(), Code> {
    let program = program(&enter(), handle)?;
    let param = program.params.get(index).ok_or(ERROR_INVALID_VALUE)?;
    put(offset, param.offset as usize)?;
    // The size is optional.
    if size.is_null() { Ok(()) } else { put(size, param.size as usize) }
}

api! {
    fn cuLibraryLoadData(library: *mut u64, image: *const c_void, options: *mut c_int, values: *mut *mut c_void, count: c_uint, _lo: *mut c_int, _lv: *mut *mut c_void, _ln: c_uint) {
        load(library, &image_bytes(image)?, &Options::read(count, options, values)?)
    }

    fn cuLibraryLoadFromFile(library: *mut u64, path: *const c_char, options: *mut c_int, values: *mut *mut c_void, count: c_uint, _lo: *mut c_int, _lv: *mut *mut c_void, _ln: c_uint) {
        load(library, &file_bytes(path)?, &Options::read(count, options, values)?)
    }

    fn cuLibraryUnload(library: u64) {
        let mut s = enter();
        s.check_capture_mode()?;
        // Queued kernels still need their code.
        run_all(s).unload_library(library)
    }

    fn cuLibraryGetKernel(to: *mut u64, library: u64, name: *const c_char) {
        let s = enter();
        wanted(to)?;
        put(to, s.kernel_of(library, &text(name)?)?)
    }

    fn cuLibraryGetKernelCount(count: *mut c_uint, library: u64) {
        let s = enter();
        put(count, s.libraries.get(&library).ok_or(ERROR_INVALID_HANDLE)?.kernels.len() as c_uint)
    }

    fn cuLibraryEnumerateKernels(to: *mut u64, count: c_uint, library: u64) {
        let s = enter();
        wanted(to)?;
        let kernels = &s.libraries.get(&library).ok_or(ERROR_INVALID_HANDLE)?.kernels;
        kernels.iter().take(count as usize).enumerate().try_for_each(|(k, &kernel)| put(to.wrapping_add(k), kernel))
    }

    fn cuLibraryGetModule(module: *mut u64, library: u64) {
        let (mut s, cx) = working()?;
        wanted(module)?;
        put(module, s.module_in(cx, library)?)
    }

    fn cuLibraryGetGlobal(addr: *mut u64, size: *mut usize, library: u64, name: *const c_char) {
        let (mut s, cx) = working()?;
        let module = s.module_in(cx, library)?;
        global(&s, module, &text(name)?, addr, size)
    }

    fn cuLibraryGetManaged(addr: *mut u64, size: *mut usize, library: u64, name: *const c_char) {
        let (mut s, cx) = working()?;
        let (module, name) = (s.module_in(cx, library)?, text(name)?);
        if !s.is_managed(library, &name) {
            return Err(ERROR_NOT_FOUND);
        }
        global(&s, module, &name, addr, size)
    }

    // There are no unified functions.
    fn cuLibraryGetUnifiedFunction(_to: *mut *mut c_void, library: u64, name: *const c_char) {
        let s = enter();
        text(name)?;
        Err(if s.libraries.contains_key(&library) { ERROR_NOT_FOUND } else { ERROR_INVALID_HANDLE })
    }

    fn cuKernelGetFunction(to: *mut u64, kernel: u64) {
        let (mut s, cx) = working()?;
        wanted(to)?;
        put(to, s.function_in(cx, kernel)?)
    }

    fn cuKernelGetLibrary(library: *mut u64, which: u64) {
        let s = enter();
        put(library, kernel(&s, which)?.library)
    }

    fn cuKernelGetAttribute(value: *mut c_int, which: c_int, k: u64, device: c_int) {
        let mut s = enter();
        s.device(device)?;
        put(value, attribute(&kernel(&s, k)?.on(device as usize), which)?)
    }

    fn cuKernelSetAttribute(which: c_int, value: c_int, k: u64, device: c_int) {
        let mut s = enter();
        s.device(device)?;
        let shared = check_attribute(&kernel(&s, k)?.on(device as usize), which, value)?;
        if let (Some(kernel), true) = (s.library_kernels.get_mut(&k), shared) {
            kernel.max_dynamic_shared.insert(device as usize, value);
        }
        Ok(())
    }

    fn cuKernelSetCacheConfig(k: u64, _config: c_int, device: c_int) {
        let mut s = enter();
        s.device(device)?;
        kernel(&s, k).map(drop)
    }

    fn cuKernelGetName(to: *mut *const c_char, kernel: u64) {
        name(to, kernel)
    }

    fn cuKernelGetParamInfo(kernel: u64, index: usize, offset: *mut usize, size: *mut usize) {
        param(kernel, index, offset, size)
    }

    fn cuKernelGetParamCount(kernel: u64, count: *mut usize) {
        put(count, program(&enter(), kernel)?.params.len())
    }

    fn cuFuncGetName(to: *mut *const c_char, f: u64) {
        name(to, f)
    }

    fn cuFuncGetParamInfo(f: u64, index: usize, offset: *mut usize, size: *mut usize) {
        param(f, index, offset, size)
    }

    fn cuFuncGetParamCount(f: u64, count: *mut usize) {
        put(count, program(&enter(), f)?.params.len())
    }

    // There is no lazy loading: functions are loaded with their module.
    fn cuFuncIsLoaded(state: *mut c_int, f: u64) {
        program(&enter(), f)?;
        put(state, 1)
    }

    fn cuFuncLoad(f: u64) {
        program(&enter(), f).map(drop)
    }
}
