//! NVRTC with faults: a library that hands every call on to the real one, which `FAULTY_NVRTC` names, and makes the one
//! fail that it is told to. What a program makes of a compiler that fails can be tested with it.

#![allow(non_snake_case, clippy::missing_safety_doc, reason = "the functions are NVRTC's")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::SeqCst};

/// `NVRTC_ERROR_INTERNAL_ERROR`.
const INTERNAL_ERROR: c_int = 11;

/// How many calls there were.
static CALLS: AtomicU64 = AtomicU64::new(0);
/// How many calls are left until the one that fails; none does from zero on.
static LEFT: AtomicI64 = AtomicI64::new(0);

/// Makes the k-th call from now on fail; zero: none.
#[unsafe(no_mangle)]
pub extern "C" fn faulty_nvrtc_fail(call: i64) {
    LEFT.store(call, SeqCst);
}

/// How many calls there were that could have failed.
#[unsafe(no_mangle)]
pub extern "C" fn faulty_nvrtc_calls() -> u64 {
    CALLS.load(SeqCst)
}

/// Whether this call is the one.
fn fails() -> bool {
    CALLS.fetch_add(1, SeqCst);
    LEFT.fetch_sub(1, SeqCst) == 1
}

/// A function of the real library.
fn real(name: &CStr) -> *mut c_void {
    let path = std::env::var("FAULTY_NVRTC").expect("FAULTY_NVRTC names the real library");
    let path = CString::new(path).expect("a path has no NUL");
    // SAFETY: both strings end with a NUL; the library stays, so that the function does.
    unsafe {
        let library = libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
        assert!(!library.is_null(), "{path:?} cannot be loaded");
        let function = libc::dlsym(library, name.as_ptr());
        assert!(!function.is_null(), "{path:?} has no {name:?}");
        function
    }
}

macro_rules! hand_on {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => { $(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            if fails() {
                return INTERNAL_ERROR;
            }
            let name = CString::new(stringify!($name)).expect("a name has no NUL");
            // SAFETY: the function has this type in nvrtc.h, and the caller keeps what that asks for.
            unsafe {
                let function: unsafe extern "C" fn($($type),*) -> c_int =
                    std::mem::transmute(real(&name));
                function($($argument),*)
            }
        }
    )* };
}

type Program = *mut c_void;

hand_on! {
    nvrtcVersion(major: *mut c_int, minor: *mut c_int);
    nvrtcGetNumSupportedArchs(count: *mut c_int);
    nvrtcGetSupportedArchs(archs: *mut c_int);
    nvrtcCreateProgram(
        program: *mut Program, source: *const c_char, name: *const c_char, count: c_int,
        headers: *const *const c_char, names: *const *const c_char
    );
    nvrtcCompileProgram(program: Program, count: c_int, options: *const *const c_char);
    nvrtcGetProgramLogSize(program: Program, size: *mut usize);
    nvrtcGetProgramLog(program: Program, log: *mut c_char);
    nvrtcGetPTXSize(program: Program, size: *mut usize);
    nvrtcGetPTX(program: Program, ptx: *mut c_char);
    nvrtcGetCUBINSize(program: Program, size: *mut usize);
    nvrtcGetCUBIN(program: Program, cubin: *mut c_char);
    nvrtcDestroyProgram(program: *mut Program);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvrtcGetErrorString(code: c_int) -> *const c_char {
    // SAFETY: the function has this type in nvrtc.h.
    unsafe {
        let function: unsafe extern "C" fn(c_int) -> *const c_char =
            std::mem::transmute(real(c"nvrtcGetErrorString"));
        function(code)
    }
}
