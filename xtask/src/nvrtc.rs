//! Bindings to NVRTC, loaded from a given path.

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr;

use libloading::Library;

use crate::Failure;

type Program = *mut c_void;
type Create = unsafe extern "C" fn(
    *mut Program,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> c_int;
type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type Text = unsafe extern "C" fn(Program, *mut c_char) -> c_int;

/// The library and its functions.
pub struct Nvrtc {
    create: Create,
    compile: Compile,
    destroy: unsafe extern "C" fn(*mut Program) -> c_int,
    log: (Size, Text),
    ptx: (Size, Text),
    cubin: (Size, Text),
    version: (c_int, c_int),
    _library: Library,
}

impl Nvrtc {
    /// Opens the library and resolves all functions.
    pub fn open(path: &Path) -> Result<Nvrtc, Failure> {
        // SAFETY: NVRTC's initialisers have no requirements on this program.
        let library = unsafe { Library::new(path) }?;
        // SAFETY: the types are those of nvrtc.h, unchanged since CUDA 11; the function pointers are kept no longer
        // than `_library`.
        unsafe {
            let version: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int =
                *library.get(b"nvrtcVersion\0")?;
            let mut numbers = (0, 0);
            version(&mut numbers.0, &mut numbers.1);
            Ok(Nvrtc {
                create: *library.get(b"nvrtcCreateProgram\0")?,
                compile: *library.get(b"nvrtcCompileProgram\0")?,
                destroy: *library.get(b"nvrtcDestroyProgram\0")?,
                log: (
                    *library.get(b"nvrtcGetProgramLogSize\0")?,
                    *library.get(b"nvrtcGetProgramLog\0")?,
                ),
                ptx: (*library.get(b"nvrtcGetPTXSize\0")?, *library.get(b"nvrtcGetPTX\0")?),
                cubin: (*library.get(b"nvrtcGetCUBINSize\0")?, *library.get(b"nvrtcGetCUBIN\0")?),
                version: numbers,
                _library: library,
            })
        }
    }

    /// Returns the major and minor version.
    pub fn version(&self) -> (i32, i32) {
        self.version
    }

    /// Compiles to PTX text, or to a cubin if the options name a real architecture (`sm_XX`). Warnings are errors.
    pub fn compile(&self, source: &str, options: &[String]) -> Result<Vec<u8>, Failure> {
        let source = CString::new(source)?;
        let options: Vec<CString> =
            options.iter().map(|option| CString::new(option.as_str())).collect::<Result<_, _>>()?;
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let mut program = ptr::null_mut();
        // SAFETY: all strings outlive the calls; the program is created here and destroyed once, after its last use.
        unsafe {
            let status = (self.create)(
                &mut program,
                source.as_ptr(),
                c"kernels.cu".as_ptr(),
                0,
                ptr::null(),
                ptr::null(),
            );
            if status != 0 {
                return Err(format!("nvrtcCreateProgram failed with {status}").into());
            }
            let status = (self.compile)(program, pointers.len() as c_int, pointers.as_ptr());
            let log = self.output(program, self.log);
            let is_cubin = options
                .iter()
                .any(|option| option.to_bytes().starts_with(b"--gpu-architecture=sm_"));
            let output = self.output(program, if is_cubin { self.cubin } else { self.ptx });
            (self.destroy)(&mut program);
            let log = String::from_utf8_lossy(&log).trim_matches(['\0', '\n', ' ']).to_owned();
            if status != 0 || !log.is_empty() {
                return Err(format!("NVRTC says ({status}):\n{log}").into());
            }
            Ok(output)
        }
    }

    /// Reads an output of a program; empty if there is none.
    ///
    /// # Safety
    ///
    /// The program is alive, and the two functions return the size and the bytes of the same output.
    unsafe fn output(&self, program: Program, (size, text): (Size, Text)) -> Vec<u8> {
        let mut bytes = 0;
        // SAFETY: as the caller guarantees; the buffer has the size that the library returned.
        unsafe {
            if size(program, &mut bytes) != 0 {
                return Vec::new();
            }
            let mut buffer = vec![0u8; bytes];
            if text(program, buffer.as_mut_ptr().cast()) != 0 {
                return Vec::new();
            }
            buffer
        }
    }
}
