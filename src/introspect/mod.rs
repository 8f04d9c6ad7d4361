//! What the CUDA backend is made of, for the project's own tests and tools: which kernels there are, which one a call has
//! taken, and how to make calls take another. Not part of the API.

mod samples;

use crate::Result;
use crate::backend::cuda;

pub use self::samples::{Sample, bounded, samples};
pub use crate::backend::cuda::Force;

/// A module: the hand-written kernels of one operation in one dtype, which are compiled together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Module(cuda::Module);

/// Every hand-written module that the crate can ever load.
pub fn modules() -> Vec<Module> {
    cuda::Module::all().map(Module).collect()
}

/// The one source of all hand-written modules.
pub fn source() -> &'static str {
    cuda::SOURCE
}

impl Module {
    /// The operation, as the source calls it.
    pub fn op(&self) -> &'static str {
        self.0.op.name()
    }

    /// The dtype of the computation, as the source calls it.
    pub fn dtype(&self) -> &'static str {
        self.0.dtype.name()
    }

    /// The PTX of the kernels, for an architecture such as 80.
    ///
    /// # Errors
    ///
    /// [`Error::CudaUnavailable`](crate::Error::CudaUnavailable) without NVRTC, and what it says of the source.
    pub fn ptx(&self, architecture: u32) -> Result<String> {
        let name = format!("{}_{}", self.op(), self.dtype());
        cuda::ptx(&name, source(), &self.defines(), architecture)
    }

    /// The names of the kernels.
    pub fn kernels(&self) -> Vec<String> {
        cuda::Shape::ALL.iter().map(|&shape| self.0.kernel(shape)).collect()
    }

    /// What the compiler has to define.
    pub fn defines(&self) -> [String; 2] {
        self.0.defines()
    }
}

/// The options for NVRTC, for PTX of an architecture such as 80.
pub fn ptx_options(architecture: u32, defines: &[String]) -> Vec<String> {
    cuda::options(cuda::Target::Ptx(architecture), defines)
}

/// The options for NVRTC, for machine code of an architecture such as 80.
pub fn cubin_options(architecture: u32, defines: &[String]) -> Vec<String> {
    cuda::options(cuda::Target::Cubin(architecture), defines)
}

/// A generated kernel: its name, and the source that NVRTC is given.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The name of the kernel.
    pub name: String,
    /// The whole source.
    pub source: String,
    /// The part of it that is this kernel's own.
    pub kernel: String,
}

impl Generated {
    /// The PTX of the kernel, for an architecture such as 80.
    ///
    /// # Errors
    ///
    /// [`Error::CudaUnavailable`](crate::Error::CudaUnavailable) without NVRTC, and what it says of the source.
    pub fn ptx(&self, architecture: u32) -> Result<String> {
        cuda::ptx(&self.name, &self.source, &[], architecture)
    }
}

/// The kernels that an expression would launch on CUDA if all memory began at aligned addresses, wherever its operands
/// are. One that is written by hand has no source of its own.
///
/// # Errors
///
/// What [`Expr::run`](crate::Expr::run) would say of the operands.
pub fn kernels(expression: &crate::Expr<'_>) -> Result<Vec<Generated>> {
    expression.kernels()
}

/// Begins to note the kernels that the calling thread launches, or makes ready, and the sources of those that are
/// generated.
pub fn record() {
    cuda::record();
}

/// The names of the kernels that were launched since [`record`], which ends here.
pub fn recorded() -> Vec<String> {
    cuda::recorded().into_iter().map(|kernel| kernel.name).collect()
}

/// The generated kernels that were launched since [`record`], which ends here.
pub fn recorded_sources() -> Vec<Generated> {
    cuda::recorded().into_iter().filter(|kernel| !kernel.source.is_empty()).collect()
}

/// The version of NVRTC, which needs no driver.
///
/// # Errors
///
/// What is missing.
pub fn nvrtc_version() -> Result<(i32, i32)> {
    cuda::nvrtc_version()
}

/// Where compiled kernels are kept, if they are.
pub fn cache_folder() -> Option<&'static std::path::Path> {
    cuda::cache_folder()
}

/// Puts PTX that NVRTC of this version has made of a source into that folder, so that a first call finds it there.
///
/// # Errors
///
/// What keeps it from being written.
pub fn keep(
    source: &str,
    defines: &[String],
    architecture: u32,
    version: (i32, i32),
    ptx: &str,
) -> std::io::Result<()> {
    cuda::keep(source, &ptx_options(architecture, defines), architecture, version, ptx)
}

/// Makes calls take other kernels than they would, on every thread.
pub fn force(force: Force) {
    cuda::force(force);
}

/// Compiles and loads every hand-written kernel on a device, which takes a while.
///
/// # Errors
///
/// What NVRTC or the driver says of the first module that fails.
pub fn load_all(device: &crate::Device) -> Result<()> {
    match device.kind() {
        crate::device::Kind::Cuda(device) => device.load_all(),
        #[cfg(feature = "cpu")]
        crate::device::Kind::Cpu => Ok(()),
    }
}
