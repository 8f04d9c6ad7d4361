//! Streams, and the order between them.
//!
//! Work on one stream runs in order. Memory that is touched from several streams is kept in order
//! by [`Usage`]: it remembers on which streams the memory was last written and read, and makes a
//! stream wait for the others where it has to. As long as a single stream is in play there is no
//! event, no wait and no lock.
//!
//! What is remembered changes only after every call of the driver that it takes has succeeded. A
//! call that fails leaves at most some waits behind, which are never wrong.

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

/// A stream of a context. There is one value per stream of the driver, so streams are compared by
/// their address.
pub(crate) struct Stream {
    context: Arc<Context>,
    raw: sys::CUstream,
    /// Whether the driver's stream was made here, to be destroyed with this value.
    owned: bool,
    /// The same stream for cudarc's users: theirs, or one that is made when they ask.
    cudarc: OnceCell<Arc<CudaStream>>,
}

// SAFETY: a stream is a handle of the driver, which may be used on any thread.
unsafe impl Send for Stream {}
// SAFETY: as above; the driver's calls are thread-safe.
unsafe impl Sync for Stream {}

impl Stream {
    /// A new stream that does not wait for the default one.
    pub(super) fn new(context: Arc<Context>) -> Result<Stream> {
        context.bind()?;
        let mut raw = ptr::null_mut();
        let flags = CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: the driver writes one handle.
        unsafe { driver!(cuStreamCreate(&mut raw, flags)) }?;
        Ok(Stream { context, raw, owned: true, cudarc: OnceCell::new() })
    }

    /// A stream that cudarc's user has made.
    pub(super) fn of(context: Arc<Context>, stream: &Arc<CudaStream>) -> Stream {
        let raw = stream.cu_stream();
        Stream { context, raw, owned: false, cudarc: OnceCell::with_value(Arc::clone(stream)) }
    }

    /// This stream as cudarc's.
    pub(super) fn cudarc(&self) -> Result<&Arc<CudaStream>> {
        self.cudarc.get_or_try_init(|| {
            let context = self.context.cudarc()?;
            // SAFETY: the stream belongs to this context, and is kept for as long as anybody has
            // the wrapper (see `drop`); this crate orders its own work on it.
            Ok(unsafe { context.wrap_borrowed_stream(self.raw) })
        })
    }

    pub(super) fn raw(&self) -> sys::CUstream {
        self.raw
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Blocks until the work on this stream is done, and reports what failed.
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
        // SAFETY: event and stream belong to the context that is current.
        let recorded = unsafe { driver!(cuEventRecord(event, other.raw())) };
        let waiting = recorded.and_then(|()| {
            self.context.bind()?;
            let flags = CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT as u32;
            // SAFETY: a stream may wait for an event of another context; both are alive.
            unsafe { driver!(cuStreamWaitEvent(self.raw(), event, flags)) }
        });
        // SAFETY: the event was made above and is given up here; what waits for it goes on waiting.
        let destroyed = unsafe { driver!(cuEventDestroy_v2(event)) };
        waiting.and(destroyed)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if !self.owned {
            return;
        }
        // A user of cudarc who still has the stream keeps it, for good: cudarc does not destroy
        // what it has not made.
        if self.cudarc.take().is_some_and(|stream| Arc::try_unwrap(stream).is_err()) {
            return;
        }
        // SAFETY: the stream was made here, nobody else has it, and it is destroyed once; the driver
        // finishes the work on it first.
        let destroy = || unsafe { driver!(cuStreamDestroy_v2(self.raw)) };
        if let Err(error) = self.context.bind().and_then(|()| destroy()) {
            trace_warning!(%error, "a stream was not destroyed");
            let _ = error;
        }
    }
}

/// Upper bound on tracked reader streams, which are kept alive by that; beyond it they are merged
/// into the newest one, which waits for them.
const MOST_READERS: usize = 32;

/// On which streams memory was used since it was last written.
pub(super) struct Usage {
    /// The only stream that has used the memory; null once there are several. Only compared.
    sole: AtomicPtr<Stream>,
    users: Mutex<Users>,
}

struct Users {
    /// Where the memory was last written, or allocated.
    writer: Arc<Stream>,
    /// Where else it has been read since; each of these has waited for the writer.
    readers: Vec<Arc<Stream>>,
}

impl Usage {
    /// Memory that was last written, or allocated, on this stream.
    pub(super) fn new(stream: &Arc<Stream>) -> Usage {
        Usage {
            sole: AtomicPtr::new(Arc::as_ptr(stream).cast_mut()),
            users: Mutex::new(Users { writer: Arc::clone(stream), readers: Vec::new() }),
        }
    }

    /// Puts a read that is about to be queued on a stream after the last write.
    ///
    /// The caller holds the storage's lock, for reading at least, until the read is queued.
    #[inline]
    pub(super) fn before_read(&self, stream: &Arc<Stream>) -> Result<()> {
        // The storage's lock orders this load; a stream that reads at the same time on another
        // thread changes nothing for this one, which comes after the same write anyway.
        if ptr::eq(self.sole.load(Ordering::Relaxed), Arc::as_ptr(stream)) {
            return Ok(());
        }
        let mut users = self.lock();
        let known = |other: &Arc<Stream>| Arc::ptr_eq(other, stream);
        if known(&users.writer) || users.readers.iter().any(known) {
            return Ok(());
        }
        stream.wait_for(&users.writer)?;
        if users.readers.len() >= MOST_READERS {
            users.wait_for_readers(stream)?;
            users.readers.clear();
        }
        users.readers.push(Arc::clone(stream));
        self.sole.store(ptr::null_mut(), Ordering::Relaxed);
        Ok(())
    }

    /// Puts a write that is about to be queued on a stream after everything before it.
    ///
    /// The caller holds the storage's lock for writing until the write is queued.
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
        // From here on nothing fails. Whoever waits for this stream now waits for all of them.
        users.readers.clear();
        users.writer = Arc::clone(stream);
        self.sole.store(Arc::as_ptr(stream).cast_mut(), Ordering::Relaxed);
        Ok(())
    }

    /// The stream of the last write, on which the memory can be read without waiting.
    pub(super) fn writer(&self) -> Arc<Stream> {
        Arc::clone(&self.lock().writer)
    }

    /// Blocks until all work on the memory is done, on whatever stream: for callers that could not
    /// have it in order.
    pub(super) fn wait(&self) -> Result<()> {
        let users = self.lock();
        iter::once(&users.writer).chain(&users.readers).try_for_each(|stream| stream.synchronize())
    }

    fn lock(&self) -> MutexGuard<'_, Users> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Users {
    /// Makes a stream wait for the readers, so that whoever waits for it waits for them.
    fn wait_for_readers(&self, stream: &Arc<Stream>) -> Result<()> {
        let others = self.readers.iter().filter(|reader| !Arc::ptr_eq(reader, stream));
        others.into_iter().try_for_each(|reader| stream.wait_for(reader))
    }
}
