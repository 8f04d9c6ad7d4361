//! Compiles sources, or finds them compiled on the disk, and loads them.
//!
//! Kernels are compiled to machine code where NVRTC knows the device's architecture: that is what runs then, and no
//! process but the first waits for an assembler. Otherwise, and where the driver refuses machine code, they are PTX.

use std::env;
use std::ffi::{CString, c_uint, c_void};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use cudarc::driver::sys::{self, CUfunction_attribute, CUjit_option, CUresult};

use super::cache;
use super::context::Context;
use super::driver::{code_of, driver, is_code};
use super::nvrtc::{self, Target};
use super::probe;
use super::statistics::{self, Event};
use super::trace::{trace_debug, trace_warning};
use crate::{Error, Result};

/// What kernels are compiled to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// Machine code of one architecture.
    Cubin,
    /// PTX, which the driver assembles.
    Ptx,
}

impl Code {
    fn other(self) -> Code {
        match self {
            Code::Cubin => Code::Ptx,
            Code::Ptx => Code::Cubin,
        }
    }
}

/// The environment variable that says what to try first: `cubin` or `ptx`.
const VARIABLE: &str = "BITLANE_CODE";

/// Returns what the environment asks for. Anything else than a known word asks for nothing.
fn asked_for() -> Option<Code> {
    static ASKED: OnceLock<Option<Code>> = OnceLock::new();
    *ASKED.get_or_init(|| match env::var(VARIABLE).as_deref() {
        Ok("cubin") => Some(Code::Cubin),
        Ok("ptx") => Some(Code::Ptx),
        _ => None,
    })
}

/// What the driver has taken on a device, once it has refused something.
#[derive(Default)]
pub(super) struct Taken(AtomicU8);

impl Taken {
    /// Returns what to try first on a device.
    pub(super) fn first(&self, context: &Context) -> Result<Code> {
        Ok(match (self.0.load(Ordering::Relaxed), asked_for()) {
            (1, _) => Code::Cubin,
            (2, _) => Code::Ptx,
            (_, Some(asked)) => asked,
            // The virtual driver interprets PTX, and has no use for machine code.
            _ if probe::is_virtual() => Code::Ptx,
            _ if nvrtc::library()?.knows(context.capability()) => Code::Cubin,
            _ => Code::Ptx,
        })
    }

    /// Calls a function that compiles and loads kernels, first with what the device is known or likely to take and, if
    /// the driver refuses that, with the other. What it took in the end is remembered, so that a device refuses once.
    pub(super) fn either<T>(
        &self,
        context: &Context,
        load: impl Fn(Code) -> Result<T>,
    ) -> Result<T> {
        let load = |code| context.with_room(0, || load(code));
        let first = self.first(context)?;
        let error = match load(first) {
            Err(error) if is_refused(&error) => error,
            loaded => return loaded,
        };
        trace_warning!(%error, refused = ?first, "the driver does not take what kernels were compiled to");
        match load(first.other()) {
            Ok(loaded) => {
                let taken = if first == Code::Cubin { 2 } else { 1 };
                self.0.store(taken, Ordering::Relaxed);
                Ok(loaded)
            }
            Err(second) => Err(both(error, &second)),
        }
    }
}

/// Whether the driver has refused an image in a way that may not apply to the other kind of image.
fn is_refused(error: &Error) -> bool {
    // Invalid image; no binary for this device; no JIT compiler; PTX too new; JIT compilation disabled.
    matches!(code_of(error), Some(200 | 209 | 221 | 222 | 223))
}

/// Returns the first error, with the second added to its text.
fn both(first: Error, second: &Error) -> Error {
    match first {
        Error::Driver { call, code, name, text } => {
            Error::Driver { call, code, name, text: format!("{text}; then {second}") }
        }
        other => other,
    }
}

/// A loaded module. It is unloaded by [`Image::unload`], since that takes a current context.
pub(super) struct Image(sys::CUmodule);

// SAFETY: a module is a driver handle, which may be used on any thread.
unsafe impl Send for Image {}
// SAFETY: as above; driver calls are thread-safe.
unsafe impl Sync for Image {}

/// A kernel of a loaded module.
#[derive(Clone, Copy)]
pub(super) struct Function(sys::CUfunction);

// SAFETY: a function is a driver handle, which may be used on any thread.
unsafe impl Send for Function {}
// SAFETY: as above; driver calls are thread-safe.
unsafe impl Sync for Function {}

/// What a kernel needs of a multiprocessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Needs {
    pub(crate) registers: i32,
    /// Bytes of local memory per thread: 0 unless registers are spilled.
    pub(crate) local_bytes: i32,
    /// How many blocks of `threads` threads fit on a multiprocessor.
    pub(crate) blocks: i32,
}

impl Function {
    /// Returns what the kernel needs, in blocks of this many threads. Its context must be current.
    pub(super) fn needs(self, threads: u32) -> Result<Needs> {
        let read = |attribute: CUfunction_attribute| {
            let mut value = 0;
            // SAFETY: the function is loaded, and the driver writes one int.
            unsafe { driver!(cuFuncGetAttribute(&mut value, attribute as c_uint, self.0)) }?;
            Ok(value)
        };
        let (mut blocks, threads) = (0, threads as i32);
        // SAFETY: as above.
        unsafe {
            let blocks = &mut blocks;
            driver!(cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, self.0, threads, 0))
        }?;
        Ok(Needs {
            registers: read(CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            local_bytes: read(CUfunction_attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            blocks,
        })
    }

    pub(super) fn raw(self) -> sys::CUfunction {
        self.0
    }
}

impl Image {
    /// Looks up a kernel. Only then does a driver with lazy loading load it.
    pub(super) fn function(&self, kernel: &str) -> Result<Function> {
        let name = CString::new(kernel).map_err(|_| Error::Compile {
            kernel: kernel.into(),
            options: String::new(),
            log: "a NUL byte in a kernel's name".into(),
        })?;
        let mut function = ptr::null_mut();
        // SAFETY: the module is loaded, the name is NUL-terminated, and the driver writes one handle.
        unsafe { driver!(cuModuleGetFunction(&mut function, self.0, name.as_ptr())) }?;
        Ok(Function(function))
    }

    /// Unloads the module. Its context must be current, and none of its kernels may be running or used again.
    pub(super) fn unload(&self) {
        // SAFETY: the module was loaded in the current context and is unloaded once.
        if let Err(error) = unsafe { driver!(cuModuleUnload(self.0)) } {
            trace_warning!(%error, "a module was not unloaded");
            let _ = error;
        }
    }
}

/// A source to compile.
pub(super) struct Source<'a> {
    /// Its name in error messages.
    pub(super) name: &'a str,
    pub(super) text: &'a str,
    pub(super) defines: &'a [String],
}

impl Source<'_> {
    /// Loads the compiled source, from the on-disk cache if it is there. The context must be current.
    pub(super) fn load(&self, context: &Context, code: Code) -> Result<Image> {
        let compiler = nvrtc::library()?;
        let target = compiler.target(context.capability(), code == Code::Cubin)?;
        let options = nvrtc::options(target, compiler.version, self.defines);
        let cache = cache::cache();
        // Whether machine code runs depends on the driver, too.
        let driver = match code {
            Code::Cubin => probe::driver_major()?,
            Code::Ptx => None,
        };
        let key = cache::key(self.text, &options, target, compiler.build()?, driver);
        if let Some(code) = cache.and_then(|cache| cache.load(&key)) {
            match load_code(code, target) {
                // The file is intact, but the driver rejects the code; compiling it again may help.
                Err(error)
                    if is_code(&error, CUresult::CUDA_ERROR_INVALID_PTX)
                        || is_code(&error, CUresult::CUDA_ERROR_INVALID_IMAGE) => {}
                loaded => {
                    trace_debug!(name = self.name, %target, "kernels found on the disk");
                    statistics::count(Event::DiskHit);
                    return loaded;
                }
            }
        }
        #[cfg(feature = "tracing")]
        let started = std::time::Instant::now();
        statistics::count(Event::Compilation);
        let code = compiler.compile(self.name, self.text, &options, target)?;
        trace_debug!(
            name = self.name, %target, bytes = code.len(), elapsed = ?started.elapsed(), "kernels compiled"
        );
        if let Some(Err(error)) = cache.map(|cache| cache.store(&key, &code)) {
            trace_warning!(%error, "compiled kernels could not be written to the disk");
            let _ = error;
        }
        load_code(code, target)
    }
}

/// The room for the driver's explanation of a refusal, in bytes.
const LOG: usize = 8192;

fn load_code(mut code: Vec<u8>, target: Target) -> Result<Image> {
    if let Target::Ptx(_) = target {
        // The driver reads PTX up to a NUL, which a file in the cache may lack.
        code.push(0);
    }
    let mut log = vec![0u8; LOG];
    let mut options: [c_uint; 2] = [
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER as c_uint,
        CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES as c_uint,
    ];
    let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), ptr::without_provenance_mut(LOG)];
    let mut raw = ptr::null_mut();
    // SAFETY: PTX ends with a NUL, and machine code contains its own length; the driver copies either, and writes one
    // handle. There are two options with their values: the buffer for the log, and its size, in place of which the
    // driver writes that of the log.
    let loaded = unsafe {
        let (image, count) = (code.as_ptr().cast(), options.len() as c_uint);
        let (options, values) = (options.as_mut_ptr(), values.as_mut_ptr());
        driver!(cuModuleLoadDataEx(&mut raw, image, count, options, values))
    };
    loaded.map(|()| Image(raw)).map_err(|error| explained(error, &log))
}

/// Adds the driver's log to an error.
fn explained(error: Error, log: &[u8]) -> Error {
    let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
    let log = String::from_utf8_lossy(&log[..end]);
    let log: Vec<&str> = log.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match error {
        Error::Driver { call, code, name, text } if !log.is_empty() => {
            Error::Driver { call, code, name, text: format!("{text}: {}", log.join("; ")) }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: u32) -> Error {
        Error::Driver { call: "cuModuleLoadDataEx", code, name: "NAME".into(), text: "text".into() }
    }

    #[test]
    fn refusals_of_an_image_are_told_from_other_errors() {
        let codes: Vec<u32> = (0..1000).filter(|&code| is_refused(&refused(code))).collect();
        assert_eq!(codes, [200, 209, 221, 222, 223]);
    }

    #[test]
    fn the_log_and_both_refusals_are_in_the_error() {
        let first = explained(refused(209), b"ptxas error: one\n\n  ptxas fatal: two\n\0rest");
        assert_eq!(explained(refused(209), b"\0").to_string(), refused(209).to_string());
        let text = both(first, &refused(222)).to_string();
        assert!(text.contains("text: ptxas error: one; ptxas fatal: two; then "), "{text}");
        assert!(text.contains("(209)") && text.contains("(222)"), "{text}");
    }
}
