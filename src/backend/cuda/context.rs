//! Contexts: what all streams of a device share.

use std::fmt;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use cudarc::driver::sys::{self, CUdevice_attribute, CUmemPool_attribute};
use cudarc::driver::{CudaContext, CudaStream, DriverError};

use super::driver::{driver, failed};
use super::kernels::Kernels;
use super::nvrtc;
use super::probe::{self, OLDEST, unavailable};
use super::stream::Lane;
use super::trace::trace_warning;
use crate::{Error, Result};

/// A context with its kernels. There is one per driver context, however it came to us.
pub(crate) struct Context {
    cuda: Arc<CudaContext>,
    /// The compute capability, as 80 for 8.0.
    capability: u32,
    kernels: Kernels,
    lanes: Mutex<Vec<Weak<Lane>>>,
}

/// Every context in use.
static CONTEXTS: Mutex<Vec<Weak<Context>>> = Mutex::new(Vec::new());

/// The lanes of [`Device::cuda`](crate::Device::cuda) by ordinal, kept for the process' lifetime:
/// whoever asks for a device again finds its kernels loaded.
static DEVICES: Mutex<Vec<Option<Arc<Lane>>>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What the locks guard is changed in single steps: a panic cannot leave it half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The lane of a device, by its number, opened at the first call.
pub(super) fn open(ordinal: usize) -> Result<Arc<Lane>> {
    let mut devices = lock(&DEVICES);
    if let Some(Some(lane)) = devices.get(ordinal) {
        return Ok(Arc::clone(lane));
    }
    let count = probe::device_count()?;
    if ordinal >= count {
        return Err(unavailable(
            format!("there is no device {ordinal}, the driver has {count}"),
            if count == 0 { "use Device::cpu()".into() } else { format!("use 0 to {}", count - 1) },
        ));
    }
    // Refuses what cannot compute before anything is set up on it.
    nvrtc::library()?;
    capability_of(device_of(ordinal)?, ordinal)?;
    let cuda =
        CudaContext::new(ordinal).map_err(|error| failed("cuDevicePrimaryCtxRetain", error.0))?;
    let context = Context::of(&cuda)?;
    if let Err(error) = context.keep_freed_memory() {
        trace_warning!(%error, "the pool's release threshold could not be set");
        let _ = error;
    }
    let lane = context.lane(&context.new_stream()?)?;
    if devices.len() <= ordinal {
        devices.resize(ordinal + 1, None);
    }
    devices[ordinal] = Some(Arc::clone(&lane));
    Ok(lane)
}

/// Calls a function of cudarc that may give the error of an earlier drop, which it keeps until
/// somebody asks: the second answer is the function's own.
pub(super) fn twice<T>(
    function: impl Fn() -> std::result::Result<T, DriverError>,
) -> std::result::Result<T, DriverError> {
    function().or_else(|_| function())
}

fn device_of(ordinal: usize) -> Result<sys::CUdevice> {
    let mut device = 0;
    let number = i32::try_from(ordinal).unwrap_or(i32::MAX);
    // SAFETY: the driver is initialised, and writes one handle.
    unsafe { driver!(cuDeviceGet(&mut device, number)) }?;
    Ok(device)
}

fn capability_of(device: sys::CUdevice, ordinal: usize) -> Result<u32> {
    let attribute = |attribute: CUdevice_attribute| {
        let mut value = 0;
        // SAFETY: the driver is initialised, the device is one of its own, and it writes one int.
        unsafe { driver!(cuDeviceGetAttribute(&mut value, attribute, device)) }?;
        Ok::<u32, Error>(u32::try_from(value).unwrap_or(0))
    };
    let major = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    let capability = major * 10 + minor;
    if capability >= OLDEST {
        return Ok(capability);
    }
    Err(unavailable(
        format!("cuda:{ordinal} has compute capability {major}.{minor}"),
        format!("use a device of {}.{} or later (Turing)", OLDEST / 10, OLDEST % 10),
    ))
}

impl Context {
    /// The context behind cudarc's, the same one every time.
    pub(super) fn of(cuda: &Arc<CudaContext>) -> Result<Arc<Context>> {
        probe::driver_ready()?;
        let mut contexts = lock(&CONTEXTS);
        contexts.retain(|context| context.strong_count() > 0);
        let known = contexts.iter().filter_map(Weak::upgrade);
        if let Some(context) = known.into_iter().find(|context| context.raw() == cuda.cu_ctx()) {
            return Ok(context);
        }
        let context = Arc::new(Context {
            cuda: Arc::clone(cuda),
            capability: capability_of(cuda.cu_device(), cuda.ordinal())?,
            kernels: Kernels::new(),
            lanes: Mutex::new(Vec::new()),
        });
        contexts.push(Arc::downgrade(&context));
        Ok(context)
    }

    /// The lane of a stream of this context, the same one every time.
    pub(super) fn lane(self: &Arc<Self>, stream: &Arc<CudaStream>) -> Result<Arc<Lane>> {
        let op = "stream";
        if stream.context().cu_ctx() != self.raw() {
            let reason = format!("the stream belongs to another context than {self}");
            return Err(Error::InvalidArgument { op, reason });
        }
        // CU_STREAM_PER_THREAD: one handle for as many streams as there are threads.
        if stream.cu_stream().addr() == 2 {
            let reason = "the per-thread default stream is another stream on every thread; \
                          make one with CudaContext::new_stream";
            return Err(Error::InvalidArgument { op, reason: reason.into() });
        }
        let mut lanes = lock(&self.lanes);
        lanes.retain(|lane| lane.strong_count() > 0);
        let known = lanes.iter().filter_map(Weak::upgrade);
        if let Some(lane) = known.into_iter().find(|lane| lane.raw() == stream.cu_stream()) {
            return Ok(lane);
        }
        let lane = Arc::new(Lane::new(Arc::clone(self), Arc::clone(stream)));
        lanes.push(Arc::downgrade(&lane));
        Ok(lane)
    }

    pub(super) fn new_stream(&self) -> Result<Arc<CudaStream>> {
        // cudarc does this again, and does not say which of its calls has failed.
        self.bind()?;
        twice(|| self.cuda.new_stream()).map_err(|error| failed("cuStreamCreate", error.0))
    }

    /// Tells the device's default pool to keep what is freed, instead of giving it back to the
    /// driver at every synchronisation.
    fn keep_freed_memory(&self) -> Result<()> {
        if !self.has_pools() {
            return Ok(());
        }
        let mut pool = ptr::null_mut();
        let mut threshold = u64::MAX;
        let attribute = CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        // SAFETY: the driver writes one handle, and then reads the 64 bits that this attribute has.
        unsafe {
            driver!(cuDeviceGetDefaultMemPool(&mut pool, self.cuda.cu_device()))?;
            driver!(cuMemPoolSetAttribute(pool, attribute, (&raw mut threshold).cast()))
        }
    }

    pub(super) fn raw(&self) -> sys::CUcontext {
        self.cuda.cu_ctx()
    }

    pub(super) fn ordinal(&self) -> usize {
        self.cuda.ordinal()
    }

    pub(super) fn capability(&self) -> u32 {
        self.capability
    }

    pub(super) fn kernels(&self) -> &Kernels {
        &self.kernels
    }

    /// Whether memory comes from stream-ordered pools. cudarc decides by the same question, so
    /// memory can change hands.
    pub(super) fn has_pools(&self) -> bool {
        self.cuda.has_async_alloc()
    }

    /// Makes this the calling thread's current context. Every call of the driver needs it.
    #[inline]
    pub(super) fn bind(&self) -> Result<()> {
        let mut current = ptr::null_mut();
        // SAFETY: the driver writes one handle; the context lives as long as `self`.
        unsafe {
            driver!(cuCtxGetCurrent(&mut current))?;
            if current == self.raw() { Ok(()) } else { driver!(cuCtxSetCurrent(self.raw())) }
        }
    }

    /// Blocks until all work in the context is done, and reports what failed.
    pub(super) fn synchronize(&self) -> Result<()> {
        self.bind()?;
        // SAFETY: takes no pointers; the context is current.
        unsafe { driver!(cuCtxSynchronize()) }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // Kernels of the modules may still be running.
        if !self.kernels.is_empty() && self.synchronize().is_ok() {
            self.kernels.unload();
        }
    }
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cuda:{}", self.ordinal())
    }
}
