//! Introspection of the CUDA backend for the project's own tests and tools: which kernels exist, which ones a call has
//! launched, and overrides of kernel selection. Not part of the public API.

mod draft;
mod nvrtc;

use std::path::Path;

use crate::Result;
use crate::backend::cuda;

pub use self::draft::{Draft, Function, Term, functions};
pub use self::nvrtc::Nvrtc;
pub use crate::backend::cuda::Force;

/// The hand-written kernels of one operation in one dtype, which are compiled together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Module(cuda::Module);

/// Returns every hand-written module that the crate can load.
pub fn modules() -> Vec<Module> {
    cuda::Module::all().map(Module).collect()
}

/// Returns the single source of all hand-written modules.
pub fn source() -> &'static str {
    cuda::SOURCE
}

impl Module {
    /// Returns the name of the operation in the source.
    pub fn op(&self) -> &'static str {
        self.0.op.name()
    }

    /// Returns the name of the compute dtype in the source.
    pub fn dtype(&self) -> &'static str {
        self.0.dtype.name()
    }

    /// Compiles the kernels to PTX for an architecture such as 80.
    ///
    /// # Errors
    ///
    /// [`Error::CudaUnavailable`](crate::Error::CudaUnavailable) without NVRTC, and
    /// [`Error::Compile`](crate::Error::Compile) if it rejects the source.
    pub fn ptx(&self, architecture: u32) -> Result<String> {
        let name = format!("{}_{}", self.op(), self.dtype());
        cuda::ptx(&name, source(), &self.defines(), architecture)
    }

    /// Returns the names of the kernels.
    pub fn kernels(&self) -> Vec<String> {
        cuda::KernelShape::ALL.iter().map(|&shape| self.0.kernel(shape)).collect()
    }

    /// Returns the macro definitions with which the module is compiled.
    pub fn defines(&self) -> [String; 2] {
        self.0.defines()
    }
}

/// Returns the options for PTX of an architecture such as 80, for NVRTC of this version.
pub fn ptx_options(architecture: u32, version: (i32, i32), defines: &[String]) -> Vec<String> {
    cuda::options(cuda::Target::Ptx(architecture), version, defines)
}

/// A kernel: its name and, if it is generated, its source. Both sources are empty for a hand-written kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The name of the kernel.
    pub name: String,
    /// The complete source that NVRTC compiles.
    pub source: String,
    /// The part of the source that is specific to this kernel.
    pub kernel: String,
    /// The number of blocks of its launch, or 0 for a hand-written kernel.
    pub blocks: usize,
}

impl Kernel {
    /// Compiles the kernel to PTX for an architecture such as 80.
    ///
    /// # Errors
    ///
    /// [`Error::CudaUnavailable`](crate::Error::CudaUnavailable) without NVRTC, and
    /// [`Error::Compile`](crate::Error::Compile) if it rejects the source.
    pub fn ptx(&self, architecture: u32) -> Result<String> {
        cuda::ptx(&self.name, &self.source, &[], architecture)
    }
}

/// Returns the kernels that an expression would launch on CUDA if all memory began at aligned addresses, on whichever
/// device its operands are.
///
/// # Errors
///
/// Those that [`Expr::run`](crate::Expr::run) returns for the operands.
pub fn kernels(expression: &crate::Expr<'_>) -> Result<Vec<Kernel>> {
    expression.kernels()
}

/// Starts recording the kernels that the calling thread launches or prepares.
pub fn record() {
    cuda::record();
}

/// Stops recording, and returns the names of the kernels that were launched or prepared since [`record`].
pub fn recorded() -> Vec<String> {
    cuda::recorded().into_iter().map(|kernel| kernel.name).collect()
}

/// Stops recording, and returns the generated kernels that were launched or prepared since [`record`].
pub fn recorded_sources() -> Vec<Kernel> {
    cuda::recorded().into_iter().filter(|kernel| !kernel.source.is_empty()).collect()
}

/// Which NVRTC compiles the kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The version as (major, minor).
    pub version: (i32, i32),
    /// The library's file, if the system knows it.
    pub path: Option<std::path::PathBuf>,
    /// Why this library was chosen rather than another, for people.
    pub reason: String,
}

/// Returns the NVRTC that compiles the kernels. This needs no driver.
///
/// # Errors
///
/// [`Error::CudaUnavailable`](crate::Error::CudaUnavailable) if NVRTC is missing or too old.
pub fn nvrtc() -> Result<Chosen> {
    let compiler = cuda::nvrtc_library()?;
    let (path, reason) = (compiler.file().map(Path::to_owned), compiler.origin().to_owned());
    Ok(Chosen { version: compiler.version, path, reason })
}

/// Returns what the next kernel of a device is compiled to: `"cubin"` or `"ptx"`, and `""` for the CPU.
///
/// # Errors
///
/// [`Error::CudaUnavailable`](crate::Error::CudaUnavailable) if NVRTC is missing or too old.
pub fn code(device: &crate::Device) -> Result<&'static str> {
    match device.kind() {
        crate::device::DeviceKind::Cuda(device) => Ok(match device.code()? {
            cuda::Code::Cubin => "cubin",
            cuda::Code::Ptx => "ptx",
        }),
        #[cfg(feature = "cpu")]
        crate::device::DeviceKind::Cpu => Ok(""),
    }
}

/// A loaded kernel, and what it needs of a multiprocessor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedKernel {
    /// The name of the kernel.
    pub name: Box<str>,
    /// Registers per thread.
    pub registers: i32,
    /// Bytes of local memory per thread: 0 unless registers are spilled.
    pub local_bytes: i32,
    /// How many blocks fit on a multiprocessor.
    pub blocks: i32,
}

/// Returns the kernels that are loaded on a device; none for the CPU.
///
/// # Errors
///
/// [`Error::Driver`](crate::Error::Driver) if the driver does not tell.
pub fn loaded_kernels(device: &crate::Device) -> Result<Vec<LoadedKernel>> {
    let loaded = match device.kind() {
        crate::device::DeviceKind::Cuda(device) => device.loaded_kernels()?,
        #[cfg(feature = "cpu")]
        crate::device::DeviceKind::Cpu => Vec::new(),
    };
    let kernel = |(name, needs): (Box<str>, cuda::Needs)| {
        let cuda::Needs { registers, local_bytes, blocks } = needs;
        LoadedKernel { name, registers, local_bytes, blocks }
    };
    Ok(loaded.into_iter().map(kernel).collect())
}

/// Returns the version of CUDA that the driver is for, such as 12090 for 12.9. A device must have been opened.
///
/// # Errors
///
/// [`Error::CudaUnavailable`](crate::Error::CudaUnavailable) if the driver is not loaded.
pub fn driver_version() -> Result<i32> {
    cuda::driver_version()
}

/// Returns whether the CUDA driver in use is the virtual one.
pub fn is_virtual() -> bool {
    cuda::is_virtual()
}

/// Returns the folder of the on-disk kernel cache, or the reason why there is no cache.
///
/// # Errors
///
/// `"off"` if the cache is disabled, or why its folder is not used.
pub fn cache_folder() -> std::result::Result<&'static Path, &'static str> {
    cuda::cache_folder()
}

/// Overrides kernel selection for all later calls, on every thread.
pub fn force(force: Force) {
    cuda::force(force);
}

/// Compiles and loads every hand-written kernel on a device, which takes a while. Does nothing for the CPU.
///
/// # Errors
///
/// The error of NVRTC or the driver for the first module that fails.
pub fn load_all(device: &crate::Device) -> Result<()> {
    match device.kind() {
        crate::device::DeviceKind::Cuda(device) => device.load_all(),
        #[cfg(feature = "cpu")]
        crate::device::DeviceKind::Cpu => Ok(()),
    }
}
