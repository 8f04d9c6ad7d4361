//! A compiler of the caller's choice.

use std::path::Path;

use crate::backend::cuda::{self, Compiler, Target};
use crate::{Error, Result};

/// NVRTC, loaded from a given path rather than found as a device would find it.
pub struct Nvrtc(Compiler);

impl Nvrtc {
    /// Loads the library.
    ///
    /// # Errors
    ///
    /// [`Error::CudaUnavailable`] if the file cannot be loaded or is no NVRTC.
    pub fn open(path: &Path) -> Result<Nvrtc> {
        Compiler::load(path.into()).map(Nvrtc)
    }

    /// Returns the version as (major, minor).
    pub fn version(&self) -> (i32, i32) {
        self.0.version
    }

    /// Returns the version together with what tells its patch releases apart.
    ///
    /// # Errors
    ///
    /// [`Error::Compile`] if the library's file cannot be found and the compiler does not say which release it is.
    pub fn build(&self) -> Result<String> {
        Ok(format!("{:?}", self.0.build()?))
    }

    /// Compiles a source to PTX, or to machine code if the options ask for a real architecture (`sm_80`).
    ///
    /// # Errors
    ///
    /// [`Error::Compile`] for everything that the compiler has to say, warnings included.
    pub fn compile(&self, name: &str, source: &str, options: &[String]) -> Result<Vec<u8>> {
        let is_real = |option: &String| option.starts_with("--gpu-architecture=sm_");
        // Which architecture it is, the options say.
        let target = if options.iter().any(is_real) { Target::Cubin(0) } else { Target::Ptx(0) };
        match self.0.compile_and_log(name, source, options, target)? {
            (code, log) if log.is_empty() => Ok(code),
            (_, log) => {
                Err(Error::Compile { kernel: name.into(), options: options.join(" "), log })
            }
        }
    }

    /// Returns the name and the contents of the file in the kernel cache in which a first call would find this PTX, if
    /// this NVRTC compiled it from this source. Nothing is written: what is in the cache runs on the device, so only
    /// whoever may write to its folder may put something there.
    ///
    /// # Errors
    ///
    /// As for [`build`](Nvrtc::build).
    pub fn cache_file(
        &self,
        source: &str,
        defines: &[String],
        architecture: u32,
        ptx: &str,
    ) -> Result<(String, Vec<u8>)> {
        cuda::cache_file(source, defines, architecture, &self.0, ptx)
    }
}
