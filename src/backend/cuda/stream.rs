//! Streams, and the order of work on different streams.
//!
//! Work on one stream runs in order. For memory used on several streams, [`Usage`] tracks the streams on which it was
//! last written and read, and makes a stream wait for the others where necessary. As long as only one stream uses a
//! block, no event, wait or lock is needed.
//!
//! The tracked state changes only after the last driver call that can fail. A call that fails leaves behind at most
//! some additional waits, which are harmless.

use std::iter;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::CudaStream;
use cudarc::driver::sys::{self, CUevent_flags, CUevent_wait_flags, CUstream_flags};
use once_cell::sync::OnceCell;

use super::context::Context;
use super::driver::driver;
use super::trace::trace_warning;
use crate::Result;

/// A stream of a context. There is one value per driver stream, so streams are compared by address.
pub(crate) struct Stream {
    context: Arc<Context>,
    raw: sys::CUstream,
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
        context.bind()?;
        let mut raw = ptr::null_mut();
        let flags = CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: the driver writes one handle.
        unsafe { driver!(cuStreamCreate(&mut raw, flags)) }?;
        Ok(Stream { context, raw, owned: true, cudarc: OnceCell::new() })
    }

    /// Wraps a stream that a user of cudarc created.
    pub(super) fn of(context: Arc<Context>, stream: &Arc<CudaStream>) -> Stream {
        let raw = stream.cu_stream();
        Stream { context, raw, owned: false, cudarc: OnceCell::with_value(Arc::clone(stream)) }
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

    /// Blocks until the work on this stream is done, and reports errors of that work.
    pub(super) fn synchronize(&self) -> Result<()> {
        self.context.bind()?;
        // SAFETY: the stream lives as long as `self`, and its context is current.
        unsafe { driver!(cuStreamSynchronize(self.raw())) }
    }

    /// Makes later work on this stream wait for all earlier work on another, without blocking.
    pub(super) fn wait_for(&self, other: &Stream) -> Result<()> {
        other.context.bind()?;
        let mut event = ptr::null_mut();
        // SAFETY: the driver writes one handle.
        unsafe {
            driver!(cuEventCreate(&mut event, CUevent_flags::CU_EVENT_DISABLE_TIMING as u32))
        }?;
        // SAFETY: event and stream belong to the current context.
        let recorded = unsafe { driver!(cuEventRecord(event, other.raw())) };
        let waiting = recorded.and_then(|()| {
            self.context.bind()?;
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
        if let Err(error) = self.context.bind().and_then(|()| destroy()) {
            trace_warning!(%error, "a stream was not destroyed");
            let _ = error;
        }
    }
}

/// Upper bound on tracked reader streams, which tracking keeps alive. Beyond it they are merged into the newest reader,
/// which waits for the others.
const MAX_READERS: usize = 32;

/// The streams on which a block of memory was last written, and read since.
pub(super) struct Usage {
    /// The stream of the last write if no other stream has used the memory since, else null. Only compared, never
    /// dereferenced.
    sole: AtomicPtr<Stream>,
    users: Mutex<Users>,
}

struct Users {
    /// The stream on which the memory was last written, or allocated.
    writer: Arc<Stream>,
    /// The other streams that have read it since; each of them has waited for the writer.
    readers: Vec<Arc<Stream>>,
}

impl Usage {
    /// Tracks memory that was last written, or allocated, on this stream.
    pub(super) fn new(stream: &Arc<Stream>) -> Usage {
        Usage {
            sole: AtomicPtr::new(Arc::as_ptr(stream).cast_mut()),
            users: Mutex::new(Users { writer: Arc::clone(stream), readers: Vec::new() }),
        }
    }

    /// Makes a read that is about to be queued on a stream wait for the last write.
    ///
    /// The caller must hold the storage's lock, for reading at least, until the read is queued.
    #[inline]
    pub(super) fn before_read(&self, stream: &Arc<Stream>) -> Result<()> {
        // The storage's lock orders this load after the last write. A concurrent read on another thread does not affect
        // this one: both come after the same write.
        if ptr::eq(self.sole.load(Ordering::Relaxed), Arc::as_ptr(stream)) {
            return Ok(());
        }
        let mut users = self.lock();
        let known = |other: &Arc<Stream>| Arc::ptr_eq(other, stream);
        if known(&users.writer) || users.readers.iter().any(known) {
            return Ok(());
        }
        stream.wait_for(&users.writer)?;
        if users.readers.len() >= MAX_READERS {
            users.wait_for_readers(stream)?;
            users.readers.clear();
        }
        users.readers.push(Arc::clone(stream));
        self.sole.store(ptr::null_mut(), Ordering::Relaxed);
        Ok(())
    }

    /// Makes a write that is about to be queued on a stream wait for the last write and all reads since.
    ///
    /// The caller must hold the storage's lock for writing until the write is queued.
    #[inline]
    pub(super) fn before_write(&self, stream: &Arc<Stream>) -> Result<()> {
        if ptr::eq(self.sole.load(Ordering::Relaxed), Arc::as_ptr(stream)) {
            return Ok(());
        }
        let mut users = self.lock();
        users.wait_for_readers(stream)?;
        if !Arc::ptr_eq(&users.writer, stream) {
            stream.wait_for(&users.writer)?;
        }
        // Nothing below can fail. A stream that waits for this one now also waits for all the others.
        users.readers.clear();
        users.writer = Arc::clone(stream);
        self.sole.store(Arc::as_ptr(stream).cast_mut(), Ordering::Relaxed);
        Ok(())
    }

    /// Returns the stream of the last write, on which a read needs no event.
    pub(super) fn writer(&self) -> Arc<Stream> {
        Arc::clone(&self.lock().writer)
    }

    /// Blocks until all work on the memory is done, on every stream. Used where ordering by events has failed.
    pub(super) fn wait(&self) -> Result<()> {
        let users = self.lock();
        iter::once(&users.writer).chain(&users.readers).try_for_each(|stream| stream.synchronize())
    }

    fn lock(&self) -> MutexGuard<'_, Users> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Users {
    /// Makes a stream wait for the readers, so that a wait for the stream includes them.
    fn wait_for_readers(&self, stream: &Arc<Stream>) -> Result<()> {
        let others = self.readers.iter().filter(|reader| !Arc::ptr_eq(reader, stream));
        others.into_iter().try_for_each(|reader| stream.wait_for(reader))
    }
}
