//! What the CUDA backend is made of, for the project's own tests and tools. Not part of the API.

use crate::Result;
use crate::backend::cuda;

pub use crate::backend::cuda::Force;

/// A module: the kernels of one operation in one dtype, which are compiled together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Module(cuda::Module);

/// Every module that the crate can ever load.
pub fn modules() -> Vec<Module> {
    cuda::Module::all().map(Module).collect()
}

/// The one source of all modules.
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
        self.0.dtype()
    }

    /// The names of the kernels.
    pub fn kernels(&self) -> Vec<String> {
        self.0.shapes().iter().map(|&shape| self.0.kernel(shape)).collect()
    }

    /// The options for NVRTC, for PTX of an architecture such as 80.
    pub fn ptx_options(&self, architecture: u32) -> Vec<String> {
        cuda::options(self.op(), self.dtype(), cuda::Target::Ptx(architecture))
    }

    /// The options for NVRTC, for machine code of an architecture such as 80.
    pub fn cubin_options(&self, architecture: u32) -> Vec<String> {
        cuda::options(self.op(), self.dtype(), cuda::Target::Cubin(architecture))
    }
}

/// The kernel that the calling thread has launched last.
pub fn last_kernel() -> Option<String> {
    cuda::last_kernel()
}

/// Makes calls take other kernels than they would, on every thread.
pub fn force(force: Force) {
    cuda::force(force);
}

/// Compiles and loads every kernel on a device, which takes a while.
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
