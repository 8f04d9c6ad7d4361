//! The CUDA backend: kernels are compiled by NVRTC on first use and launched through the driver API.
//!
//! | File | Responsibility |
//! |---|---|
//! | `probe` | finds the driver library, its functions and the devices |
//! | `driver` | declares the driver functions and converts their error codes |
//! | `context`, `stream`, `memory` | own the resources of a device |
//! | `usage`, `capture` | order the work of different streams, and leave the user's captures alone |
//! | `graph` | captures calls into graphs of this crate |
//! | `pool` | allocates memory, and keeps what is freed |
//! | `staging` | copies from and to the host through pinned memory |
//! | `download` | copies to the host that are waited for later |
//! | `reclaim` | frees memory, and retries later when the driver refuses |
//! | `foreign` | transfers memory to and from cudarc |
//! | `run`, `scan`, `gather` | turn requests into launches |
//! | `executable` | runs programs on contiguous operands, for which no plan has to be made |
//! | `nvrtc`, `loading`, `cache`, `kernels`, `statistics` | compile, load, store, look up and count kernels |
//! | `shapes`, `launch`, `params` | hand-written kernels: when each applies, and its parameters |
//! | `generate` | generates the kernels for all other requests on demand |
//! | `force` | overrides kernel selection in tests |
//! | `trace` | events for `tracing` |

mod cache;
mod capture;
mod context;
mod download;
mod driver;
mod executable;
mod force;
pub(crate) mod foreign;
mod gather;
mod generate;
mod graph;
mod kernels;
mod launch;
mod loading;
mod memory;
mod nvrtc;
#[allow(non_camel_case_types, dead_code, missing_docs, reason = "generated from the C header")]
mod params;
mod pool;
mod probe;
mod reclaim;
mod run;
mod scan;
mod shapes;
mod staging;
mod statistics;
mod stream;
mod trace;
mod tuning;
mod usage;

/// The locks and atomics of [`usage`], which a model of it replaces with others.
mod sync {
    pub(super) use std::sync::atomic::AtomicPtr;
    pub(super) use std::sync::{Mutex, MutexGuard};
}

use std::sync::Arc;

use cudarc::driver::CudaStream;
use cudarc::driver::sys::CUstream;

pub(crate) use self::cache::folder as cache_folder;
use self::context::{Bound, Context};
pub(crate) use self::download::Download;
pub(crate) use self::executable::Executable;
pub use self::force::Force;
pub(crate) use self::force::set as force;
pub(crate) use self::graph::{Graph, forbid_operation, note};
pub(crate) use self::kernels::Module;
pub(crate) use self::loading::{Code, Needs};
pub(crate) use self::memory::CudaMemory;
pub(crate) use self::nvrtc::{Compiler, SOURCE, Target, library as nvrtc_library, options};
pub(crate) use self::pool::Statistics as PoolStatistics;
pub(crate) use self::probe::{driver_version, is_virtual};
pub(crate) use self::run::{generate_for, kernels_for, record, recorded};
pub(crate) use self::shapes::KernelShape;
pub use self::statistics::CacheStatistics;
pub(crate) use self::statistics::read as cache_statistics;
use self::stream::Stream;
use crate::Result;

/// A device together with the stream on which its work is queued.
#[derive(Clone)]
pub(crate) struct CudaDevice {
    stream: Arc<Stream>,
}

/// Devices are equal if they share a context, and so memory and kernels, even if their streams differ.
impl PartialEq for CudaDevice {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(self.stream.context(), other.stream.context())
    }
}

/// Returns the number of devices, or 0 if CUDA cannot be used.
pub(crate) fn device_count() -> usize {
    if nvrtc::library().is_err() { 0 } else { probe::device_count().unwrap_or(0) }
}

/// Compiles a source to PTX for an architecture such as 80.
pub(crate) fn ptx(
    name: &str,
    source: &str,
    defines: &[String],
    architecture: u32,
) -> Result<String> {
    let target = Target::Ptx(architecture);
    let compiler = nvrtc::library()?;
    let options = options(target, compiler.version, defines);
    let code = compiler.compile(name, source, &options, target)?;
    Ok(String::from_utf8_lossy(&code).trim_end_matches('\0').to_owned())
}

/// Returns the name and the contents of the file in the kernel cache that holds PTX which a compiler has made of a source.
pub(crate) fn cache_file(
    source: &str,
    defines: &[String],
    architecture: u32,
    compiler: &Compiler,
    ptx: &str,
) -> Result<(String, Vec<u8>)> {
    let target = Target::Ptx(architecture);
    let options = options(target, compiler.version, defines);
    let key = cache::key(source, &options, target, compiler.build()?, None);
    let contents = cache::contents(&key, ptx.as_bytes());
    Ok((key, contents))
}

/// Whether the machine has no driver, or a driver that finds no device.
#[cfg(feature = "cpu")]
pub(crate) fn is_absent() -> bool {
    probe::is_absent()
}

impl CudaDevice {
    /// Opens the device with this ordinal. Every call for an ordinal returns the same stream.
    pub(crate) fn new(ordinal: usize) -> Result<CudaDevice> {
        Ok(CudaDevice { stream: context::open(ordinal)? })
    }

    pub(crate) fn ordinal(&self) -> usize {
        self.stream.context().ordinal()
    }

    /// Whether work on another device is queued on the same stream.
    #[inline]
    pub(crate) fn has_stream_of(&self, other: &CudaDevice) -> bool {
        Arc::ptr_eq(&self.stream, &other.stream)
    }

    /// Returns the device of a stream that a user of cudarc created.
    pub(crate) fn on_stream(stream: &Arc<CudaStream>) -> Result<CudaDevice> {
        Ok(CudaDevice { stream: Context::of(stream.context())?.stream(stream)? })
    }

    /// Returns the device of a stream of another library.
    ///
    /// # Safety
    ///
    /// The stream and its context must live for as long as the device, clones of it, and the memory and work on it.
    pub(crate) unsafe fn on_raw_stream(raw: CUstream) -> Result<CudaDevice> {
        // SAFETY: guaranteed by the caller.
        Ok(CudaDevice { stream: unsafe { Context::of_stream(raw) }?.stream_of(raw, None)? })
    }

    /// Returns the same device on a new stream.
    pub(crate) fn with_new_stream(&self) -> Result<CudaDevice> {
        Ok(CudaDevice { stream: self.stream.context().new_stream()? })
    }

    /// Returns cudarc's wrapper of the stream, creating it on the first call.
    pub(crate) fn stream(&self) -> Result<&Arc<CudaStream>> {
        self.stream.cudarc()
    }

    /// Blocks until all work in the device's context is done, on every stream.
    pub(crate) fn synchronize(&self) -> Result<()> {
        graph::forbid("a wait for the device")?;
        reclaim::retry_returning();
        self.stream.context().synchronize()
    }

    /// Returns the contents of the device's memory pool.
    pub(crate) fn pool_statistics(&self) -> Result<PoolStatistics> {
        self.stream.context().pool().statistics()
    }

    /// Sets how many bytes the device's memory pool keeps, and returns what is in excess of that to the driver.
    pub(crate) fn set_pool_limit(&self, bytes: usize) -> Result<()> {
        let context = self.stream.context();
        context.pool().set_limit(bytes)?;
        context.trim(bytes)
    }

    /// Returns all memory that the pool keeps to the driver.
    pub(crate) fn trim_pool(&self) -> Result<()> {
        self.stream.context().trim(0)
    }

    /// Makes the device's context the calling thread's current one until the returned value is dropped.
    fn bind(&self) -> Result<Bound> {
        self.stream.context().bind()
    }

    /// Loads every hand-written kernel.
    pub(crate) fn load_all(&self) -> Result<()> {
        let context = self.stream.context();
        let _bound = context.bind()?;
        for module in Module::all() {
            for &shape in KernelShape::ALL {
                context.kernels().shape(&self.stream, module, shape)?;
            }
        }
        Ok(())
    }

    /// Returns the names of the kernels that are loaded, with what they need of a multiprocessor.
    pub(crate) fn loaded_kernels(&self) -> Result<Vec<(Box<str>, Needs)>> {
        let context = self.stream.context();
        let _bound = context.bind()?;
        let loaded = context.kernels().loaded().into_iter();
        loaded.map(|(name, kernel)| Ok((name, kernel.needs(params::BL_THREADS)?))).collect()
    }

    /// Returns what the device's next kernel is compiled to.
    pub(crate) fn code(&self) -> Result<Code> {
        let context = self.stream.context();
        context.kernels().code(context)
    }

    /// Allocates memory with undefined contents.
    pub(crate) fn allocate(&self, bytes: usize) -> Result<CudaMemory> {
        CudaMemory::allocate(&self.stream, bytes)
    }
}
