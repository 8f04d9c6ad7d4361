//! NVRTC, the runtime compiler that turns kernel sources into PTX or machine code.
//!
//! The library is loaded here rather than through cudarc, which panics if it is missing and cannot be given its path.

mod build;
mod search;

use std::env;
use std::ffi::{CStr, CString, OsString, c_char, c_int, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::ptr;

use libloading::Library;
use once_cell::sync::OnceCell;

pub(crate) use self::build::Build;
pub(super) use self::build::file_of;
use super::probe::{self, OLDEST, open, unavailable};
use crate::{Error, Result};

/// The single source of all hand-written kernels, concatenated by the build script.
pub(crate) const SOURCE: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.cu"));

/// Returns that source with the kernel of one shape only. The lines of the others are empty, so that the compiler's
/// messages name the right ones.
pub(super) fn source_of(shape: &str) -> String {
    let own = format!("BL_KERNEL({shape},");
    let is_kept = |line: &&str| !line.starts_with("BL_KERNEL(") || line.starts_with(&own);
    SOURCE.lines().flat_map(|line| [Some(line).filter(is_kept).unwrap_or(""), "\n"]).collect()
}

/// The environment variable that names the library to load instead of the one that the loader finds.
const PATH_VARIABLE: &str = "BITLANE_NVRTC";

/// The output format and architecture to compile for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// PTX, which the driver compiles for this or any later architecture.
    Ptx(u32),
    /// Machine code, for this or a later architecture of the same major version.
    Cubin(u32),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Ptx(arch) => write!(f, "compute_{arch}"),
            Target::Cubin(arch) => write!(f, "sm_{arch}"),
        }
    }
}

/// The oldest version whose C++ has `__builtin_bit_cast`, which the kernels use.
const SUPPORTED: (i32, i32) = (12, 3);

/// The first version that can leave out what these kernels never use: textures, launches from device code, and the types
/// of the runtime API. That saves 8 of some 60 ms and changes no PTX.
const MINIMAL: (i32, i32) = (12, 4);

/// Returns the options for compiling a source with this version of NVRTC. Those that affect results are explicit, so that
/// no default can change them.
pub(crate) fn options(target: Target, version: (i32, i32), defines: &[String]) -> Vec<String> {
    let mut options = vec![
        format!("--gpu-architecture={target}"),
        "--std=c++17".into(),
        "--fmad=false".into(),
        "--ftz=false".into(),
        "--prec-div=true".into(),
        "--prec-sqrt=true".into(),
        // Functions without an execution space specifier are `__device__` functions.
        "--device-as-default-execution-space".into(),
    ];
    if version >= MINIMAL {
        options.push("--minimal".into());
    }
    options.extend_from_slice(defines);
    options
}

type Program = *mut c_void;
type Code = c_int;

macro_rules! define_nvrtc {
    ($($name:ident: fn($($argument:ty),*) -> $result:ty;)*) => {
        /// The functions of the loaded library.
        #[allow(non_snake_case, reason = "the fields are named after the C functions")]
        pub(super) struct Nvrtc {
            $($name: unsafe extern "C" fn($($argument),*) -> $result,)*
        }

        impl Nvrtc {
            /// Looks up every function. The error names the first one that is missing.
            #[allow(non_snake_case, reason = "the variables are named after the C functions")]
            fn of(library: Library) -> Result<Nvrtc> {
                $(
                    // SAFETY: the NVRTC function of this name has this signature.
                    let $name = unsafe { library.get(stringify!($name).as_bytes()) };
                    let $name = *$name.map_err(|_| too_old(concat!("has no ", stringify!($name))))?;
                )*
                // The functions may be called until the process exits, so the library is never unloaded.
                std::mem::forget(library);
                Ok(Nvrtc { $($name,)* })
            }
        }
    };
}

define_nvrtc! {
    nvrtcGetErrorString: fn(Code) -> *const c_char;
    nvrtcVersion: fn(*mut c_int, *mut c_int) -> Code;
    nvrtcGetNumSupportedArchs: fn(*mut c_int) -> Code;
    nvrtcGetSupportedArchs: fn(*mut c_int) -> Code;
    nvrtcCreateProgram: fn(
        *mut Program, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char
    ) -> Code;
    nvrtcCompileProgram: fn(Program, c_int, *const *const c_char) -> Code;
    nvrtcDestroyProgram: fn(*mut Program) -> Code;
    nvrtcGetProgramLogSize: fn(Program, *mut usize) -> Code;
    nvrtcGetProgramLog: fn(Program, *mut c_char) -> Code;
    nvrtcGetPTXSize: fn(Program, *mut usize) -> Code;
    nvrtcGetPTX: fn(Program, *mut c_char) -> Code;
    nvrtcGetCUBINSize: fn(Program, *mut usize) -> Code;
    nvrtcGetCUBIN: fn(Program, *mut c_char) -> Code;
}

fn too_old(what: impl fmt::Display) -> Error {
    unavailable(
        format!("NVRTC is too old, it {what}"),
        "install NVRTC 12.3 or later, or name one in BITLANE_NVRTC",
    )
}

/// Returns the compiler. The library is found and loaded by the first call that succeeds; a failure is not remembered.
pub(crate) fn library() -> Result<&'static Compiler> {
    static COMPILER: OnceCell<Compiler> = OnceCell::new();
    COMPILER.get_or_try_init(|| match env::var_os(PATH_VARIABLE).filter(|path| !path.is_empty()) {
        Some(path) => Compiler::load(path),
        None => Compiler::find(probe::driver_major()?),
    })
}

/// The loaded NVRTC, its version and the architectures it supports.
pub(crate) struct Compiler {
    nvrtc: Nvrtc,
    /// The version, as (major, minor).
    pub(crate) version: (c_int, c_int),
    /// The library's file, if the system knows it.
    file: Option<PathBuf>,
    /// Why this library was chosen, for people.
    origin: String,
    /// The version, and which of its patch releases it is.
    build: OnceCell<Build>,
    /// The architectures it compiles for, such as 80 for 8.0.
    architectures: Vec<u32>,
    /// The library of built-in functions, which a compilation needs, once it was loaded if it is there.
    builtins: OnceCell<()>,
}

impl Compiler {
    /// Loads the library at a path.
    pub(crate) fn load(path: OsString) -> Result<Compiler> {
        let library = open(&path).map_err(|error| {
            unavailable(
                format!(
                    "{PATH_VARIABLE} names {}, which cannot be loaded ({error})",
                    path.display()
                ),
                "set it to the absolute path of libnvrtc, or unset it",
            )
        })?;
        Compiler::of(library, Some(path.into()), format!("named by {PATH_VARIABLE}"))
    }

    /// Finds the library that suits a driver of this major version best.
    fn find(driver: Option<u32>) -> Result<Compiler> {
        let mut failure = None;
        for candidate in search::candidates(driver) {
            let found = open(&candidate.name).map_err(|error| {
                unavailable(
                    format!("NVRTC, the library that compiles kernels, cannot be loaded ({error})"),
                    "install it with the CUDA toolkit or as the PyPI package nvidia-cuda-nvrtc \
                     (-cu12 for a driver for CUDA 12), and set BITLANE_NVRTC to the path of \
                     libnvrtc if it is in none of the usual places",
                )
            });
            let path = Some(candidate.name.clone()).filter(|path| path.is_absolute());
            let exists = found.is_ok() || path.is_some();
            match found.and_then(|library| Compiler::of(library, path, candidate.origin)) {
                Ok(compiler) => return Ok(compiler),
                // What is there and fails tells more than what is not there.
                Err(error) if exists || failure.is_none() => failure = Some(error),
                Err(_) => {}
            }
        }
        Err(failure.unwrap_or_else(|| unavailable("NVRTC is not found", "install it")))
    }

    fn of(library: Library, path: Option<PathBuf>, origin: String) -> Result<Compiler> {
        let nvrtc = Nvrtc::of(library)?;
        let expect = |code: Code, call: &str| match code {
            0 => Ok(()),
            _ => Err(unavailable(
                format!("{call} failed: {}", nvrtc.describe(code)),
                "reinstall NVRTC, or name another one in BITLANE_NVRTC",
            )),
        };
        let (mut major, mut minor, mut count) = (0, 0, 0);
        // SAFETY: each function writes only to the ints it is passed; the last one writes as many as the one before it
        // has counted, and the vector has that length.
        let architectures = unsafe {
            expect((nvrtc.nvrtcVersion)(&mut major, &mut minor), "nvrtcVersion")?;
            expect((nvrtc.nvrtcGetNumSupportedArchs)(&mut count), "nvrtcGetNumSupportedArchs")?;
            let mut architectures = vec![0; usize::try_from(count).unwrap_or(0)];
            let code = (nvrtc.nvrtcGetSupportedArchs)(architectures.as_mut_ptr());
            expect(code, "nvrtcGetSupportedArchs")?;
            architectures
        };
        let architectures = architectures.into_iter().filter_map(|arch| u32::try_from(arch).ok());
        let version = (major, minor);
        if version < SUPPORTED {
            return Err(too_old(format_args!("is version {major}.{minor}")));
        }
        let file = file_of(nvrtc.nvrtcVersion as *const ()).or(path);
        let build = file.as_ref().and_then(|file| Build::of_file(version, file).ok());
        let build = build.map_or_else(OnceCell::new, OnceCell::with_value);
        let (architectures, builtins) = (architectures.collect(), OnceCell::new());
        Ok(Compiler { architectures, version, file, origin, build, nvrtc, builtins })
    }

    /// Returns the library's file, if the system knows it.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Returns why this library was chosen rather than another, for people.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// Loads the library of built-in functions from beside the compiler, which looks for it by name: not every build of
    /// NVRTC looks in its own folder, and on Windows none does.
    fn load_builtins(&self) {
        self.builtins.get_or_init(|| {
            let (major, minor) = self.version;
            let name = if cfg!(windows) {
                format!("nvrtc-builtins64_{major}{minor}.dll")
            } else {
                format!("libnvrtc-builtins.so.{major}.{minor}")
            };
            let path = self.file().and_then(Path::parent).map(|folder| folder.join(name));
            if let Some(path) = path.filter(|path| path.is_file())
                && let Ok(library) = open(path)
            {
                // NVRTC uses it until the process exits.
                std::mem::forget(library);
            }
        });
    }

    /// Returns the version together with the patch release.
    pub(crate) fn build(&self) -> Result<&Build> {
        self.build.get_or_try_init(|| {
            let target =
                self.architectures.iter().copied().max().map_or(Target::Ptx(OLDEST), Target::Ptx);
            let ptx = self.compile("build", "", &options(target, self.version, &[]), target)?;
            Ok(Build::of_ptx(self.version, &ptx))
        })
    }

    /// Whether it compiles for exactly this architecture.
    pub(super) fn knows(&self, capability: u32) -> bool {
        self.architectures.contains(&capability)
    }

    /// Returns the best target for a device of this compute capability.
    pub(super) fn target(&self, capability: u32, cubin: bool) -> Result<Target> {
        choose_target(&self.architectures, capability, cubin).ok_or_else(|| {
            let (major, minor) = self.version;
            let form = if cubin { "machine code" } else { "PTX" };
            unavailable(
                format!(
                    "NVRTC {major}.{minor} compiles no {form} for compute capability {}.{}",
                    capability / 10,
                    capability % 10
                ),
                if cubin { "update NVIDIA's driver, or NVRTC" } else { "update NVRTC" },
            )
        })
    }

    /// Compiles a source. `module` is its name in error messages.
    pub(super) fn compile(
        &self,
        module: &str,
        source: &str,
        options: &[String],
        target: Target,
    ) -> Result<Vec<u8>> {
        self.compile_and_log(module, source, options, target).map(|(code, _)| code)
    }

    /// Compiles a source. Returns the code, and the compiler's warnings.
    pub(crate) fn compile_and_log(
        &self,
        module: &str,
        source: &str,
        options: &[String],
        target: Target,
    ) -> Result<(Vec<u8>, String)> {
        let nvrtc = &self.nvrtc;
        self.load_builtins();
        let failed =
            |log: String| Error::Compile { kernel: module.into(), options: options.join(" "), log };
        let nul = |_| failed("a NUL byte in the source or in an option".into());
        let source = CString::new(source).map_err(nul)?;
        let name = CString::new(format!("{module}.cu")).map_err(nul)?;
        let arguments: Vec<CString> = options
            .iter()
            .map(|option| CString::new(option.as_str()).map_err(nul))
            .collect::<Result<_>>()?;
        let pointers: Vec<*const c_char> = arguments.iter().map(|option| option.as_ptr()).collect();
        let count = c_int::try_from(pointers.len()).unwrap_or(0);

        let mut program = Handle { nvrtc, raw: ptr::null_mut() };
        let expect = |code: Code| match code {
            0 => Ok(()),
            _ => Err(failed(nvrtc.describe(code))),
        };
        // SAFETY: source, name and options are NUL-terminated strings that outlive the program, which is destroyed with
        // its handle; `count` is the number of options, and there are no headers.
        let compiled = unsafe {
            let (raw, source, name) = (&mut program.raw, source.as_ptr(), name.as_ptr());
            expect((nvrtc.nvrtcCreateProgram)(raw, source, name, 0, ptr::null(), ptr::null()))?;
            (nvrtc.nvrtcCompileProgram)(program.raw, count, pointers.as_ptr())
        };
        let log = program.read(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog);
        let log = log.unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let log = log.trim_end_matches('\0').trim();
        if compiled != 0 {
            return Err(failed(format!("{}: {log}", nvrtc.describe(compiled))));
        }
        let code = match target {
            Target::Ptx(_) => program.read(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX),
            Target::Cubin(_) => program.read(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN),
        };
        match code {
            Ok(code) if !code.is_empty() => Ok((code, log.into())),
            Ok(_) => Err(failed(format!("NVRTC gave no code for {target}"))),
            Err(code) => expect(code).map(|()| (Vec::new(), log.into())),
        }
    }
}

/// The architectures of systems on a chip (Orin, Thor and such). They and the others do not run each other's machine code,
/// even with the same major version.
const ON_CHIPS: [u32; 4] = [87, 88, 101, 110];

/// Returns the highest architecture whose code a device of this capability can run. PTX runs on every later
/// architecture, machine code only on later ones with the same major version that are of the same kind.
fn choose_target(architectures: &[u32], capability: u32, cubin: bool) -> Option<Target> {
    let is_alone = |arch: u32| ON_CHIPS.contains(&arch);
    let runs_machine_code = |arch: u32| {
        let is_akin = !is_alone(arch) && !is_alone(capability) && arch / 10 == capability / 10;
        arch == capability || is_akin
    };
    let runs =
        |&arch: &u32| (OLDEST..=capability).contains(&arch) && (!cubin || runs_machine_code(arch));
    let best = architectures.iter().copied().filter(runs).max()?;
    Some(if cubin { Target::Cubin(best) } else { Target::Ptx(best) })
}

impl Nvrtc {
    fn describe(&self, code: Code) -> String {
        // SAFETY: the function accepts any code, and returns null or a NUL-terminated string that is never freed.
        unsafe {
            let text = (self.nvrtcGetErrorString)(code);
            if text.is_null() {
                return format!("NVRTC error {code}");
            }
            // NVRTC returns the same text for all codes that it does not know, so the number is added.
            format!("{} ({code})", CStr::from_ptr(text).to_string_lossy())
        }
    }
}

/// An NVRTC program, destroyed on drop.
struct Handle<'a> {
    nvrtc: &'a Nvrtc,
    raw: Program,
}

impl Handle<'_> {
    /// Reads one of the program's outputs (log, PTX or machine code): first its size, then its bytes.
    fn read(
        &self,
        size: unsafe extern "C" fn(Program, *mut usize) -> Code,
        bytes: unsafe extern "C" fn(Program, *mut c_char) -> Code,
    ) -> std::result::Result<Vec<u8>, Code> {
        let mut len = 0;
        // SAFETY: the program is alive, and the function writes one size.
        match unsafe { size(self.raw, &mut len) } {
            0 => {}
            code => return Err(code),
        }
        let mut product = vec![0; len];
        // SAFETY: the program is alive, and the buffer has the size that NVRTC has just returned.
        match unsafe { bytes(self.raw, product.as_mut_ptr().cast()) } {
            0 => Ok(product),
            code => Err(code),
        }
    }
}

impl Drop for Handle<'_> {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: the program was created by this library and is destroyed once.
            unsafe { (self.nvrtc.nvrtcDestroyProgram)(&mut self.raw) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_architecture_that_runs_is_chosen() {
        let known = [50, 75, 80, 86, 90, 100, 120];
        assert_eq!(choose_target(&known, 75, false), Some(Target::Ptx(75)));
        assert_eq!(choose_target(&known, 89, false), Some(Target::Ptx(86)));
        assert_eq!(choose_target(&known, 103, false), Some(Target::Ptx(100)));
        assert_eq!(choose_target(&known, 150, false), Some(Target::Ptx(120)));
        assert_eq!(choose_target(&known, 70, false), None);
    }

    #[test]
    fn a_source_of_one_kernel_has_one() {
        for &shape in super::super::KernelShape::ALL {
            let one = source_of(shape.name());
            assert_eq!(one.lines().count(), SOURCE.lines().count());
            let kernels: Vec<_> =
                one.lines().filter(|line| line.starts_with("BL_KERNEL(")).collect();
            assert_eq!(kernels.len(), 1, "{kernels:?}");
            assert!(kernels[0].starts_with(&format!("BL_KERNEL({},", shape.name())));
        }
    }

    #[test]
    fn machine_code_stays_within_a_generation() {
        let known = [75, 80, 86, 90];
        assert_eq!(choose_target(&known, 89, true), Some(Target::Cubin(86)));
        assert_eq!(choose_target(&known, 100, true), None);
    }

    #[test]
    fn machine_code_of_systems_on_a_chip_is_theirs_alone() {
        let known = [80, 86, 87, 88, 90, 100, 101, 110];
        assert_eq!(choose_target(&known, 87, true), Some(Target::Cubin(87)));
        assert_eq!(choose_target(&known, 89, true), Some(Target::Cubin(86)));
        assert_eq!(choose_target(&known, 103, true), Some(Target::Cubin(100)));
        assert_eq!(choose_target(&known[..2], 87, true), None);
        // PTX runs on either.
        assert_eq!(choose_target(&known, 89, false), Some(Target::Ptx(88)));
    }

    #[test]
    fn a_path_that_is_no_library_is_named() {
        let error = Compiler::load("/no/such/libnvrtc.so".into()).err().unwrap();
        assert_eq!(error.kind(), crate::ErrorKind::CudaUnavailable);
        assert!(error.to_string().contains("/no/such/libnvrtc.so"), "{error}");
    }
}
