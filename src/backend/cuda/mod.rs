//! The CUDA backend: kernels compiled by NVRTC at their first use, run through cudarc.
//!
//! | File | What it knows |
//! |---|---|
//! | `probe` | which libraries, functions and devices are there |
//! | `driver` | how a call of the driver fails |
//! | `context`, `stream`, `memory` | what a device owns, and in which order it is used |
//! | `reclaim` | how memory is freed, also by a driver that refuses |
//! | `foreign` | how memory changes hands with cudarc's users |
//! | `nvrtc`, `cache`, `kernels`, `statistics` | how kernels are compiled, kept, found and counted |
//! | `shapes`, `launch`, `params` | the hand-written kernels: which there are, when, with which parameters |
//! | `generate` | the kernels for everything else, made on demand |
//! | `force` | how tests reach a kernel that would not be taken |

mod cache;
mod context;
mod driver;
mod force;
pub(crate) mod foreign;
mod generate;
mod kernels;
mod launch;
mod memory;
mod nvrtc;
#[allow(non_camel_case_types, dead_code, missing_docs, reason = "generated, as the header has it")]
mod params;
mod probe;
mod reclaim;
mod run;
mod shapes;
mod statistics;
mod stream;
mod trace;

use std::sync::Arc;

use cudarc::driver::CudaStream;

pub(crate) use self::cache::{folder as cache_folder, keep};
use self::context::Context;
pub use self::force::Force;
pub(crate) use self::force::set as force;
pub(crate) use self::kernels::Module;
pub(crate) use self::memory::CudaMemory;
pub(crate) use self::nvrtc::{SOURCE, Target, options, version as nvrtc_version};
pub(crate) use self::run::{generate_for, kernels_for, record, recorded};
pub(crate) use self::shapes::Shape;
pub use self::statistics::CacheStatistics;
pub(crate) use self::statistics::read as cache_statistics;
use self::stream::Stream;
use crate::Result;

/// A device as seen through one of its streams.
#[derive(Clone)]
pub(crate) struct CudaDevice {
    stream: Arc<Stream>,
}

/// Devices are equal if memory and kernels are shared, whichever the stream.
impl PartialEq for CudaDevice {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(self.stream.context(), other.stream.context())
    }
}

/// How many devices there are; none where CUDA cannot be used.
pub(crate) fn device_count() -> usize {
    if nvrtc::library().is_err() { 0 } else { probe::device_count().unwrap_or(0) }
}

/// The PTX of a source for an architecture such as 80.
pub(crate) fn ptx(
    name: &str,
    source: &str,
    defines: &[String],
    architecture: u32,
) -> Result<String> {
    let target = Target::Ptx(architecture);
    let code = nvrtc::library()?.compile(name, source, &options(target, defines), target)?;
    Ok(String::from_utf8_lossy(&code).trim_end_matches('\0').to_owned())
}

/// Whether there is no device to speak of: no driver, or one that finds none.
#[cfg(feature = "cpu")]
pub(crate) fn is_absent() -> bool {
    probe::is_absent()
}

impl CudaDevice {
    /// The device of this number, on a stream of its own.
    pub(crate) fn new(ordinal: usize) -> Result<CudaDevice> {
        Ok(CudaDevice { stream: context::open(ordinal)? })
    }

    pub(crate) fn ordinal(&self) -> usize {
        self.stream.context().ordinal()
    }

    /// The device of a stream that somebody else has made.
    pub(crate) fn on_stream(stream: &Arc<CudaStream>) -> Result<CudaDevice> {
        Ok(CudaDevice { stream: Context::of(stream.context())?.stream(stream)? })
    }

    /// The same device with a new stream.
    pub(crate) fn with_new_stream(&self) -> Result<CudaDevice> {
        Ok(CudaDevice { stream: self.stream.context().new_stream()? })
    }

    /// The stream for cudarc's users, which may have to be made.
    pub(crate) fn stream(&self) -> Result<&Arc<CudaStream>> {
        self.stream.cudarc()
    }

    /// Blocks until all work on the device is done, on whatever stream.
    pub(crate) fn synchronize(&self) -> Result<()> {
        self.stream.context().synchronize()
    }

    /// Makes the device's context the calling thread's current one.
    fn bind(&self) -> Result<()> {
        self.stream.context().bind()
    }

    /// Loads every hand-written kernel.
    pub(crate) fn load_all(&self) -> Result<()> {
        let context = self.stream.context();
        context.bind()?;
        for module in Module::all() {
            context.kernels().shape(context, module, Shape::Contig)?;
        }
        Ok(())
    }

    /// Memory with undefined contents.
    pub(crate) fn allocate(&self, bytes: usize) -> Result<CudaMemory> {
        CudaMemory::allocate(&self.stream, bytes)
    }
}
