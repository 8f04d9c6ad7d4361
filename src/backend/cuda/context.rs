//! Contexts: the state that all streams of a device share.

use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use cudarc::driver::sys::{self, CUdevice_attribute, CUresult};
use cudarc::driver::{CudaContext, CudaStream, DriverError};
use once_cell::sync::OnceCell;

use super::capture::Relaxed;
use super::driver::{driver, failed_in_cudarc, is_code};
use super::kernels::Kernels;
use super::nvrtc;
use super::pool::Pool;
use super::probe::{self, OLDEST, unavailable};
use super::reclaim;
use super::staging::Staging;
use super::stream::Stream;
use super::trace::{trace_debug, trace_warning};
use super::tuning::Tuning;
use crate::{Error, Result};

/// A context with its kernels. There is exactly one value per driver context, whether this crate or a user of cudarc
/// opened it.
pub(crate) struct Context {
    raw: sys::CUcontext,
    device: sys::CUdevice,
    ordinal: usize,
    /// The compute capability, such as 80 for 8.0.
    capability: u32,
    tuning: Tuning,
    pool: Pool,
    staging: Staging,
    /// The contexts whose devices have been given access to this one's memory, or cannot have it.
    peers: Mutex<Vec<usize>>,
    kernels: Kernels,
    streams: Mutex<Vec<Weak<Stream>>>,
    cudarc: CudarcContext,
    /// Keeps the driver's context alive, unless the context in `cudarc` or whoever passed a stream of it in does.
    primary: OnceCell<Primary>,
}

// SAFETY: contexts and devices are driver handles, which may be used on any thread.
unsafe impl Send for Context {}
// SAFETY: as above; driver calls are thread-safe, and all other fields are `Sync` themselves.
unsafe impl Sync for Context {}

/// cudarc's view of a context: the one that its user passed in, or one created on request. No operation needs it, so
/// cudarc's interpretation of result codes affects only its own users.
struct CudarcContext {
    context: OnceCell<Arc<CudaContext>>,
    /// Makes cudarc synchronise between its streams, which it does only while a stream that it created exists.
    stream: OnceCell<Arc<CudaStream>>,
}

/// All contexts in use.
static CONTEXTS: Mutex<Vec<Weak<Context>>> = Mutex::new(Vec::new());

/// The streams of [`Device::cuda`](crate::Device::cuda) by ordinal, kept for the lifetime of the process so that a
/// device that is opened again still has its kernels loaded.
static DEVICES: Mutex<Vec<Option<Arc<Stream>>>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No update of the guarded data can be interrupted by a panic half-way, so poisoning is ignored.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the stream of the device with this ordinal, opening the device on the first call.
pub(super) fn open(ordinal: usize) -> Result<Arc<Stream>> {
    let mut devices = lock(&DEVICES);
    if let Some(Some(stream)) = devices.get(ordinal) {
        return Ok(Arc::clone(stream));
    }
    let count = probe::device_count()?;
    if ordinal >= count {
        return Err(unavailable(
            format!("there is no device {ordinal}, the driver has {count}"),
            match count {
                0 => "use Device::cpu()".into(),
                1 => "use 0".into(),
                _ => format!("use 0 to {}", count - 1),
            },
        ));
    }
    // Reports an unusable NVRTC or device before a context is created.
    nvrtc::library()?;
    let device = device_of(ordinal)?;
    capability_of(device, ordinal)?;
    let (primary, raw) = Primary::retain(device)?;
    let context = Context::find_or_make(raw, device, ordinal, Keeper::Primary(primary))?;
    let stream = context.new_stream()?;
    if devices.len() <= ordinal {
        devices.resize(ordinal + 1, None);
    }
    devices[ordinal] = Some(Arc::clone(&stream));
    Ok(stream)
}

/// Calls a cudarc function, and calls it again if it fails: cudarc stores errors that occur in `Drop` and returns them
/// from a later call. The second result is the function's own.
pub(super) fn retry_after_deferred_error<T>(
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

fn attribute_of(device: sys::CUdevice, attribute: CUdevice_attribute) -> Result<i32> {
    let mut value = 0;
    // SAFETY: the driver is initialised, the device handle comes from it, and it writes one int.
    unsafe { driver!(cuDeviceGetAttribute(&mut value, attribute as u32, device)) }?;
    Ok(value)
}

fn capability_of(device: sys::CUdevice, ordinal: usize) -> Result<u32> {
    use CUdevice_attribute::{
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR as MAJOR,
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR as MINOR,
    };
    let (major, minor) = (attribute_of(device, MAJOR)?, attribute_of(device, MINOR)?);
    capability(major, minor).ok_or_else(|| {
        unavailable(
            format!("cuda:{ordinal} has compute capability {major}.{minor}"),
            format!("use a device of {}.{} or later (Turing)", OLDEST / 10, OLDEST % 10),
        )
    })
}

/// Returns a compute capability as one number, such as 80 for 8.0, or `None` if kernels cannot be compiled for it.
/// NVRTC names architectures by such numbers, so a minor version above 9 cannot be expressed.
fn capability(major: i32, minor: i32) -> Option<u32> {
    let (major, minor) = (u32::try_from(major).ok()?, u32::try_from(minor).ok()?);
    let capability = major.checked_mul(10)?.checked_add(minor)?;
    (capability >= OLDEST && minor < 10).then_some(capability)
}

/// A context that is current until this is dropped. It then makes the one before it current again, which may belong to
/// another library.
#[must_use]
pub(super) struct Bound {
    /// The context to return to, which may be none; `None` if there is nothing to do.
    previous: Option<sys::CUcontext>,
    /// The current context is the thread's, so the value must be dropped on it.
    _on_this_thread: PhantomData<*const ()>,
}

impl Bound {
    const NOTHING: Bound = Bound { previous: None, _on_this_thread: PhantomData };

    #[cold]
    fn restore(previous: sys::CUcontext) {
        // SAFETY: the context was current before, and whoever made it so keeps it alive.
        let set = || unsafe { driver!(cuCtxSetCurrent(previous)) };
        // It may be a context of this crate, on which the calls that follow depend.
        if let Err(error) = set().or_else(|_| set()) {
            trace_warning!(%error, "a thread's context was not restored");
            let _ = error;
        }
    }
}

impl Drop for Bound {
    #[inline]
    fn drop(&mut self) {
        if let Some(previous) = self.previous {
            Bound::restore(previous);
        }
    }
}

/// The reference that keeps a driver context alive.
enum Keeper {
    Primary(Primary),
    Cudarc(Arc<CudaContext>),
    /// The caller keeps it alive.
    Caller,
}

/// A reference to a device's primary context, released on drop.
struct Primary(sys::CUdevice);

impl Primary {
    fn retain(device: sys::CUdevice) -> Result<(Primary, sys::CUcontext)> {
        let mut raw = ptr::null_mut();
        // SAFETY: the driver is initialised, the device handle comes from it, and it writes one handle.
        unsafe { driver!(cuDevicePrimaryCtxRetain(&mut raw, device)) }?;
        Ok((Primary(device), raw))
    }
}

impl Drop for Primary {
    fn drop(&mut self) {
        // SAFETY: this value owns one reference, from one successful call that retained the context.
        if let Err(error) = unsafe { driver!(cuDevicePrimaryCtxRelease_v2(self.0)) } {
            trace_warning!(%error, "a context was not released");
            let _ = error;
        }
    }
}

impl Context {
    /// Returns the value for a context of cudarc, always the same one.
    pub(super) fn of(cuda: &Arc<CudaContext>) -> Result<Arc<Context>> {
        probe::driver_ready()?;
        let keeper = Keeper::Cudarc(Arc::clone(cuda));
        Context::find_or_make(cuda.cu_ctx(), cuda.cu_device(), cuda.ordinal(), keeper)
    }

    /// Returns the value for the context of a stream.
    ///
    /// # Safety
    ///
    /// The stream must exist, and its context must live for as long as the returned value.
    pub(super) unsafe fn of_stream(stream: sys::CUstream) -> Result<Arc<Context>> {
        probe::driver_ready()?;
        let (mut raw, mut before, mut device) = (ptr::null_mut(), ptr::null_mut(), 0);
        // SAFETY: the driver writes one handle each; the stream exists, and so does its context, which is current only
        // while its device is asked for.
        unsafe {
            driver!(cuStreamGetCtx(stream, &mut raw))?;
            driver!(cuCtxGetCurrent(&mut before))?;
            driver!(cuCtxSetCurrent(raw))?;
            let asked = driver!(cuCtxGetDevice(&mut device));
            driver!(cuCtxSetCurrent(before)).and(asked)?;
        }
        let is_its = |ordinal: &usize| device_of(*ordinal).is_ok_and(|other| other == device);
        let ordinal = (0..probe::device_count()?).find(is_its).unwrap_or(0);
        Context::find_or_make(raw, device, ordinal, Keeper::Caller)
    }

    /// Lets another context's device read this one's memory directly, if the two devices can do that. Otherwise the driver
    /// copies through the host.
    pub(super) fn share_with(&self, other: &Context) {
        let mut peers = lock(&self.peers);
        if peers.contains(&other.raw.addr()) {
            return;
        }
        peers.push(other.raw.addr());
        let shared = || -> Result<()> {
            let mut can = 0;
            // SAFETY: the driver writes one int.
            unsafe { driver!(cuDeviceCanAccessPeer(&mut can, other.device, self.device)) }?;
            if can == 0 {
                return Ok(());
            }
            self.pool.share_with(other.device)?;
            let _bound = other.bind()?;
            // SAFETY: both contexts are alive, and the other one is current.
            unsafe { driver!(cuCtxEnablePeerAccess(self.raw, 0)) }
        };
        if let Err(error) = shared() {
            trace_debug!(%error, "no access between devices, or it was there already");
            let _ = error;
        }
    }

    /// Returns the existing value for a driver context, or creates it.
    fn find_or_make(
        raw: sys::CUcontext,
        device: sys::CUdevice,
        ordinal: usize,
        keeper: Keeper,
    ) -> Result<Arc<Context>> {
        let mut contexts = lock(&CONTEXTS);
        contexts.retain(|context| context.strong_count() > 0);
        let known = contexts.iter().filter_map(Weak::upgrade);
        if let Some(context) = known.into_iter().find(|context| context.raw == raw) {
            context.keep_with(keeper);
            return Ok(context);
        }
        let pools = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED;
        let multiprocessors = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
        let multiprocessors = attribute_of(device, multiprocessors)?.unsigned_abs() as usize;
        let capability = capability_of(device, ordinal)?;
        let context = Arc::new(Context {
            raw,
            device,
            ordinal,
            capability,
            tuning: Tuning::of(capability, multiprocessors),
            pool: Pool::new(device, attribute_of(device, pools)? > 0)?,
            staging: Staging::default(),
            peers: Mutex::default(),
            kernels: Kernels::new(),
            streams: Mutex::new(Vec::new()),
            cudarc: CudarcContext { context: OnceCell::new(), stream: OnceCell::new() },
            primary: OnceCell::new(),
        });
        context.keep_with(keeper);
        contexts.push(Arc::downgrade(&context));
        Ok(context)
    }

    /// Takes over what keeps the driver's context alive, unless there is something already. A context that a caller had to
    /// keep alive so far may be opened as a device, which must not depend on that caller.
    fn keep_with(&self, keeper: Keeper) {
        if self.primary.get().is_some() || self.cudarc.context.get().is_some() {
            return;
        }
        // If another thread has set either meanwhile, the context is kept alive, too.
        match keeper {
            Keeper::Primary(primary) => drop(self.primary.set(primary)),
            Keeper::Cudarc(context) => drop(self.cudarc.context.set(context)),
            Keeper::Caller => {}
        }
    }

    /// Returns the value for a stream of cudarc in this context, always the same one.
    pub(super) fn stream(self: &Arc<Self>, stream: &Arc<CudaStream>) -> Result<Arc<Stream>> {
        let op = "stream";
        if stream.context().cu_ctx() != self.raw {
            let reason = format!("the stream belongs to another context than {self}");
            return Err(Error::InvalidArgument { op, reason });
        }
        self.stream_of(stream.cu_stream(), Some(stream))
    }

    /// Returns the value for a stream in this context, always the same one.
    pub(super) fn stream_of(
        self: &Arc<Self>,
        raw: sys::CUstream,
        cudarc: Option<&Arc<CudaStream>>,
    ) -> Result<Arc<Stream>> {
        let mut streams = lock(&self.streams);
        streams.retain(|known| known.strong_count() > 0);
        let known = streams.iter().filter_map(Weak::upgrade);
        if let Some(known) = known.into_iter().find(|known| known.is_denoted_by(raw)) {
            return Ok(known);
        }
        let made = Arc::new(Stream::of(Arc::clone(self), raw, cudarc));
        streams.push(Arc::downgrade(&made));
        Ok(made)
    }

    /// Creates a stream in this context.
    pub(super) fn new_stream(self: &Arc<Self>) -> Result<Arc<Stream>> {
        let made = Arc::new(Stream::new(Arc::clone(self))?);
        let mut streams = lock(&self.streams);
        streams.retain(|known| known.strong_count() > 0);
        streams.push(Arc::downgrade(&made));
        Ok(made)
    }

    /// Returns cudarc's view of this context. From then on cudarc synchronises between its own streams.
    pub(super) fn cudarc(&self) -> Result<&Arc<CudaContext>> {
        // cudarc makes its context the current one.
        let _bound = self.bind()?;
        let context = self.cudarc.context.get_or_try_init(|| {
            let made = CudaContext::new(self.ordinal);
            made.map_err(|error| failed_in_cudarc("cuDevicePrimaryCtxRetain", &error))
        })?;
        if context.cu_ctx() != self.raw {
            return Err(unavailable(
                format!("the primary context of {self} was reset behind the library's back"),
                "do not reset a device that is in use",
            ));
        }
        self.cudarc.stream.get_or_try_init(|| {
            let made = retry_after_deferred_error(|| context.new_stream());
            made.map_err(|error| failed_in_cudarc("cuStreamCreate", &error))
        })?;
        Ok(context)
    }

    pub(super) fn raw(&self) -> sys::CUcontext {
        self.raw
    }

    pub(super) fn ordinal(&self) -> usize {
        self.ordinal
    }

    pub(super) fn capability(&self) -> u32 {
        self.capability
    }

    /// Returns the sizes of launches on the device.
    pub(super) fn tuning(&self) -> Tuning {
        self.tuning
    }

    pub(super) fn kernels(&self) -> &Kernels {
        &self.kernels
    }

    /// Returns where memory comes from. If it is a pool of the driver's depends on the same attribute of the device by which
    /// cudarc decides, so either side can free what the other allocated.
    pub(super) fn pool(&self) -> &Pool {
        &self.pool
    }

    pub(super) fn staging(&self) -> &Staging {
        &self.staging
    }

    /// Returns memory that is not in use to the driver, until at most `keep` bytes are left, after a wait for the work on
    /// every stream that is not being captured.
    pub(super) fn trim(&self, keep: usize) -> Result<()> {
        reclaim::retry();
        let (done, all) = self.drain();
        let _bound = self.bind()?;
        // Captures of other streams forbid queries of events and the release of memory.
        let _relaxed = Relaxed::enter()?;
        if keep == 0 {
            self.staging.release();
        }
        self.pool.trim(keep, &done, all)
    }

    /// Waits for the work on every stream that is not being captured. Returns the streams whose work is done, and whether
    /// that is so for all work in the context.
    fn drain(&self) -> (Vec<usize>, bool) {
        // Upgraded first: the last reference to a stream may be dropped here, and must not be under the lock.
        let streams: Vec<_> = lock(&self.streams).iter().filter_map(Weak::upgrade).collect();
        let is_done = |stream: &&Arc<Stream>| stream.synchronize().is_ok();
        let done: Vec<_> = streams.iter().filter(is_done).map(|one| one.key()).collect();
        // To wait for a context ends the captures of its streams, so it is left for the rare case that needs it.
        let all = done.len() == streams.len() && self.pool.has_stuck() && {
            // SAFETY: takes no pointers; the context is made current before.
            self.bind().and_then(|_bound| unsafe { driver!(cuCtxSynchronize()) }).is_ok()
        };
        (done, all)
    }

    /// Calls a function that needs memory of the device. If that has run out, what is not in use is returned to the driver,
    /// what is still to be freed is waited for, and the function is called once more. `bytes` is how much it needs, or 0 if
    /// only the driver knows.
    #[inline]
    pub(super) fn with_room<T>(&self, bytes: usize, call: impl Fn() -> Result<T>) -> Result<T> {
        match call() {
            Err(error) if is_short(&error) => self.call_again(bytes, &call),
            outcome => outcome,
        }
    }

    #[cold]
    fn call_again<T>(&self, bytes: usize, call: &dyn Fn() -> Result<T>) -> Result<T> {
        self.trim(0).and_then(|()| call()).map_err(|error| match is_short(&error) {
            true => Error::OutOfMemory { device: self.to_string(), bytes },
            false => error,
        })
    }

    /// Blocks until all work in the context is done, and reports errors of that work. Fails if a stream of it is being
    /// captured, which such a wait would end.
    pub(super) fn wait_for_everything(&self) -> Result<()> {
        let streams: Vec<_> = lock(&self.streams).iter().filter_map(Weak::upgrade).collect();
        let _bound = self.bind()?;
        let within_reach = streams.iter().filter(|stream| !stream.is_out_of_reach());
        within_reach.into_iter().try_for_each(|stream| stream.check_not_captured())?;
        // SAFETY: takes no pointers; the context is current.
        unsafe { driver!(cuCtxSynchronize()) }
    }

    /// Makes this the calling thread's current context, as most driver calls require, until the returned value is dropped.
    ///
    /// A thread that had no context keeps the first device's: without one, programs that use the runtime API would get
    /// the same, and the next call need not set it.
    #[inline]
    pub(super) fn bind(&self) -> Result<Bound> {
        let mut current = ptr::null_mut();
        // SAFETY: the driver writes one handle.
        unsafe { driver!(cuCtxGetCurrent(&mut current)) }?;
        if current == self.raw { Ok(Bound::NOTHING) } else { self.replace(current) }
    }

    #[cold]
    fn replace(&self, current: sys::CUcontext) -> Result<Bound> {
        // SAFETY: the context lives as long as `self`.
        unsafe { driver!(cuCtxSetCurrent(self.raw)) }?;
        let keeps = current.is_null() && self.ordinal == 0;
        Ok(if keeps { Bound::NOTHING } else { Bound { previous: Some(current), ..Bound::NOTHING } })
    }

    /// As [`wait_for_everything`](Context::wait_for_everything), and frees what could not be freed before.
    pub(super) fn synchronize(&self) -> Result<()> {
        reclaim::retry();
        self.wait_for_everything()
    }
}

/// Whether a call has failed because the device has no memory left.
fn is_short(error: &Error) -> bool {
    is_code(error, CUresult::CUDA_ERROR_OUT_OF_MEMORY)
}

impl Drop for Context {
    fn drop(&mut self) {
        // A module must not be unloaded while one of its kernels is running.
        if let Ok(_bound) = self.bind()
            && self.synchronize().is_ok()
            && let Ok(_relaxed) = Relaxed::enter()
        {
            self.kernels.unload();
            self.staging.release();
            self.pool.destroy();
        }
    }
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cuda:{}", self.ordinal())
    }
}

#[cfg(test)]
mod tests {
    use super::capability;

    #[test]
    fn capabilities_are_one_number_or_refused() {
        assert_eq!(capability(7, 5), Some(75));
        assert_eq!(capability(12, 1), Some(121));
        // Too old, and 7.15, which is not 8.5.
        assert_eq!(capability(7, 0), None);
        assert_eq!(capability(7, 15), None);
        let odd = [i32::MIN, -1, 0, i32::MAX / 10, i32::MAX];
        for (major, minor) in odd.into_iter().flat_map(|major| odd.map(|minor| (major, minor))) {
            let expected =
                if (major, minor) == (i32::MAX / 10, 0) { Some(2_147_483_640) } else { None };
            assert_eq!(capability(major, minor), expected, "{major}.{minor}");
        }
    }
}
