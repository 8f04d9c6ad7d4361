//! Streams. Work on one stream runs in order; [`usage`](super::usage) orders the work on different streams.

use std::ptr;
use std::sync::Arc;
use std::thread::{self, ThreadId};

use cudarc::driver::CudaStream;
use cudarc::driver::sys::{self, CUevent_flags, CUevent_wait_flags, CUstream_flags};
use once_cell::sync::OnceCell;

use super::capture::Relaxed;
use super::context::Context;
use super::driver::driver;
use super::trace::trace_warning;
use crate::{Error, Result};

/// A stream of a context. There is one value per driver stream, so streams are compared by address.
pub(crate) struct Stream {
    context: Arc<Context>,
    raw: sys::CUstream,
    /// The thread whose default stream this is, if the handle denotes another stream on every thread.
    thread: Option<ThreadId>,
    /// Whether this value created the driver's stream and destroys it on drop.
    owned: bool,
    /// cudarc's wrapper of the stream: the one that its user passed in, or one created on request.
    cudarc: OnceCell<Arc<CudaStream>>,
}

// SAFETY: a stream is a driver handle, which may be used on any thread.
unsafe impl Send for Stream {}
// SAFETY: as above; driver calls are thread-safe.
unsafe impl Sync for Stream {}

impl Stream {
    /// Creates a stream that does not synchronise with the default stream.
    pub(super) fn new(context: Arc<Context>) -> Result<Stream> {
        let bound = context.bind()?;
        let raw = context.with_room(0, || {
            let mut raw = ptr::null_mut();
            let flags = CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
            // SAFETY: the driver writes one handle.
            unsafe { driver!(cuStreamCreate(&mut raw, flags)) }?;
            Ok(raw)
        })?;
        drop(bound);
        Ok(Stream { context, raw, thread: None, owned: true, cudarc: OnceCell::new() })
    }

    /// Wraps a stream that somebody else created, with cudarc's wrapper of it if there is one.
    pub(super) fn of(
        context: Arc<Context>,
        raw: sys::CUstream,
        cudarc: Option<&Arc<CudaStream>>,
    ) -> Stream {
        let cudarc = cudarc.cloned().map_or_else(OnceCell::new, OnceCell::with_value);
        Stream { context, raw, thread: Stream::thread_of(raw), owned: false, cudarc }
    }

    /// Returns the calling thread if a handle denotes another stream on every thread.
    fn thread_of(raw: sys::CUstream) -> Option<ThreadId> {
        // CU_STREAM_PER_THREAD
        (raw.addr() == 2).then(|| thread::current().id())
    }

    /// Whether this is what a handle denotes on the calling thread.
    pub(super) fn is_denoted_by(&self, raw: sys::CUstream) -> bool {
        self.raw == raw && self.thread == Stream::thread_of(raw)
    }

    /// Whether the handle denotes this stream on another thread only. Nothing can then be queued on it, and it can be waited
    /// for only with all others.
    pub(super) fn is_out_of_reach(&self) -> bool {
        self.thread.is_some_and(|thread| thread != thread::current().id())
    }

    /// Fails if nothing can be queued on this stream.
    #[inline]
    pub(super) fn check_reach(&self) -> Result<()> {
        if self.thread.is_none() || !self.is_out_of_reach() {
            return Ok(());
        }
        let reason = "the tensor is on the per-thread default stream of another thread; \
                      use it on that thread, or make a stream with CudaContext::new_stream";
        Err(Error::InvalidArgument { op: "stream", reason: reason.into() })
    }

    /// Returns a number that no other stream has at the same time.
    pub(super) fn key(&self) -> usize {
        if self.thread.is_some() { ptr::from_ref(self).addr() } else { self.raw.addr() }
    }

    /// Returns cudarc's wrapper of this stream, creating it on the first call.
    pub(super) fn cudarc(&self) -> Result<&Arc<CudaStream>> {
        self.cudarc.get_or_try_init(|| {
            let context = self.context.cudarc()?;
            // SAFETY: the stream belongs to this context, and is not destroyed while any clone of the wrapper exists
            // (see `drop`); this crate orders its own work on it.
            Ok(unsafe { context.wrap_borrowed_stream(self.raw) })
        })
    }

    pub(super) fn raw(&self) -> sys::CUstream {
        self.raw
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Returns whether work on this stream is being captured into a graph instead of being run.
    pub(super) fn is_captured(&self) -> Result<bool> {
        self.check_reach()?;
        let _bound = self.context.bind()?;
        self.is_captured_here()
    }

    /// As [`is_captured`](Stream::is_captured), on a thread on which the stream's context is current.
    #[inline]
    pub(super) fn is_captured_here(&self) -> Result<bool> {
        let mut status = 0;
        // SAFETY: the stream lives as long as `self`, its context is current, and the driver writes one int. The call is
        // allowed during a capture.
        unsafe { driver!(cuStreamIsCapturing(self.raw(), &mut status)) }?;
        Ok(status != 0)
    }

    /// Fails if the stream is being captured: the host cannot wait for work on it, and trying to ends the capture.
    /// The stream's context must be current.
    #[inline]
    pub(super) fn check_not_captured(&self) -> Result<()> {
        if !self.is_captured_here()? { Ok(()) } else { Err(self.is_being_captured()) }
    }

    #[cold]
    fn is_being_captured(&self) -> Error {
        let reason = format!(
            "a stream of {} is being captured into a graph, so its work cannot be waited for; end the capture first",
            self.context
        );
        Error::InvalidArgument { op: "cuda", reason }
    }

    /// Allows the calling thread to load a kernel until the result is dropped, even while other streams are captured.
    /// Fails if this one is: a driver may wait for the whole context in order to load code, which ends the capture.
    pub(super) fn about_to_load(&self) -> Result<Relaxed> {
        if self.is_captured()? {
            let reason = format!(
                "a stream of {} is being captured into a graph, and a kernel of the call is not loaded yet; \
                 make the call once before the capture, or prepare its expression with Expr::prepare",
                self.context
            );
            return Err(Error::InvalidArgument { op: "cuda", reason });
        }
        Relaxed::enter()
    }

    /// Blocks until the work on this stream is done, and reports errors of that work. Captures of other streams continue.
    ///
    /// An error does not mean that the work is done: other work may have failed, or the driver may have refused to wait.
    pub(super) fn synchronize(&self) -> Result<()> {
        if self.is_out_of_reach() {
            return self.context.wait_for_everything();
        }
        let _bound = self.context.bind()?;
        self.check_not_captured()?;
        let _relaxed = Relaxed::enter()?;
        // SAFETY: the stream lives as long as `self`, and its context is current.
        unsafe { driver!(cuStreamSynchronize(self.raw())) }
    }

    /// Makes later work on this stream wait for all earlier work on another, without blocking.
    ///
    /// Fails if only one of the two is being captured. A capture cannot wait for work outside it; and a stream that waits
    /// for a captured one becomes part of the capture, which then ends with an error unless somebody waits for that
    /// stream, too.
    pub(super) fn wait_for(&self, other: &Stream) -> Result<()> {
        self.check_reach()?;
        if other.is_out_of_reach() {
            return other.synchronize();
        }
        if self.is_captured()? != other.is_captured()? {
            let reason = format!(
                "one of two streams of {} that use the same tensor is being captured into a graph; move the tensor to \
                 the captured stream with Tensor::to_device, and use it there once before the capture",
                self.context
            );
            return Err(Error::InvalidArgument { op: "cuda", reason });
        }
        let _bound = other.context.bind()?;
        let mut event = ptr::null_mut();
        // SAFETY: the driver writes one handle.
        unsafe {
            driver!(cuEventCreate(&mut event, CUevent_flags::CU_EVENT_DISABLE_TIMING as u32))
        }?;
        // SAFETY: event and stream belong to the current context.
        let recorded = unsafe { driver!(cuEventRecord(event, other.raw())) };
        let waiting = recorded.and_then(|()| {
            let _bound = self.context.bind()?;
            let flags = CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT as u32;
            // SAFETY: a stream may wait for an event of another context; stream and event are alive.
            unsafe { driver!(cuStreamWaitEvent(self.raw(), event, flags)) }
        });
        // SAFETY: the event was created above and is destroyed once; waits already queued on it are unaffected.
        let destroyed = unsafe { driver!(cuEventDestroy_v2(event)) };
        waiting.and(destroyed)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.context.pool().retire(self);
        if !self.owned {
            return;
        }
        // If a user of cudarc still holds the wrapper, the driver's stream is leaked: cudarc does not destroy a stream
        // that it did not create, and the stream must stay valid for as long as the wrapper does.
        if self.cudarc.take().is_some_and(|stream| Arc::try_unwrap(stream).is_err()) {
            return;
        }
        // SAFETY: the stream was created here, nothing else refers to it, and it is destroyed once; the driver releases
        // it only after the work on it has finished.
        let destroy = || unsafe { driver!(cuStreamDestroy_v2(self.raw)) };
        if let Err(error) = self.context.bind().and_then(|_bound| destroy()) {
            trace_warning!(%error, "a stream was not destroyed");
            let _ = error;
        }
    }
}
