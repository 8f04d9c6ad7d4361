//! Streams, and the order between them.
//!
//! Work on one stream runs in order. Memory that is touched from several streams is kept in order
//! by [`Usage`]: it remembers on which streams the memory was last written and read, and makes a
//! stream wait for the others where it has to. As long as a single stream is in play there is no
//! event, no wait and no lock.

use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::CudaStream;
use cudarc::driver::sys::{self, CUevent_flags, CUevent_wait_flags};

use super::context::Context;
use super::driver::driver;
use crate::Result;

/// A stream of a context. There is one lane per stream, so lanes are compared by their address.
pub(crate) struct Lane {
    context: Arc<Context>,
    stream: Arc<CudaStream>,
}

impl Lane {
    pub(super) fn new(context: Arc<Context>, stream: Arc<CudaStream>) -> Lane {
        Lane { context, stream }
    }

    pub(crate) fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    pub(super) fn raw(&self) -> sys::CUstream {
        self.stream.cu_stream()
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
    pub(super) fn wait_for(&self, other: &Lane) -> Result<()> {
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

/// As many streams are remembered as readers of one block of memory, and kept alive by that. A
/// program that takes a stream per request and reads the same memory in all of them goes on.
const MOST_READERS: usize = 32;

/// On which streams memory was used since it was last written.
pub(super) struct Usage {
    /// The only lane that has used the memory; null once there are several. Only compared.
    sole: AtomicPtr<Lane>,
    lanes: Mutex<Lanes>,
}

struct Lanes {
    /// Where the memory was last written, or allocated.
    writer: Arc<Lane>,
    /// Where else it has been read since; each of these has waited for the writer.
    readers: Vec<Arc<Lane>>,
}

impl Usage {
    /// Memory that was last written, or allocated, on this lane.
    pub(super) fn new(lane: &Arc<Lane>) -> Usage {
        Usage {
            sole: AtomicPtr::new(Arc::as_ptr(lane).cast_mut()),
            lanes: Mutex::new(Lanes { writer: Arc::clone(lane), readers: Vec::new() }),
        }
    }

    /// Puts a read that is about to be queued on a lane after the last write.
    ///
    /// The caller holds the storage's lock, for reading at least, until the read is queued.
    #[inline]
    pub(super) fn before_read(&self, lane: &Arc<Lane>) -> Result<()> {
        // The storage's lock orders this load; a lane that reads at the same time on another
        // thread changes nothing for this one, which comes after the same write anyway.
        if ptr::eq(self.sole.load(Ordering::Relaxed), Arc::as_ptr(lane)) {
            return Ok(());
        }
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let known = |other: &Arc<Lane>| Arc::ptr_eq(other, lane);
        if known(&lanes.writer) || lanes.readers.iter().any(known) {
            return Ok(());
        }
        lane.wait_for(&lanes.writer)?;
        if lanes.readers.len() >= MOST_READERS {
            lanes.gather_readers_on(lane)?;
        }
        lanes.readers.push(Arc::clone(lane));
        self.sole.store(ptr::null_mut(), Ordering::Relaxed);
        Ok(())
    }

    /// Puts a write that is about to be queued on a lane after everything before it.
    ///
    /// The caller holds the storage's lock for writing until the write is queued.
    #[inline]
    pub(super) fn before_write(&self, lane: &Arc<Lane>) -> Result<()> {
        if ptr::eq(self.sole.load(Ordering::Relaxed), Arc::as_ptr(lane)) {
            return Ok(());
        }
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        lanes.gather_on(lane)?;
        self.sole.store(Arc::as_ptr(lane).cast_mut(), Ordering::Relaxed);
        Ok(())
    }

    /// The lane of the last write, on which the memory can be read without waiting.
    pub(super) fn writer(&self) -> Arc<Lane> {
        Arc::clone(&self.lanes.lock().unwrap_or_else(PoisonError::into_inner).writer)
    }
}

impl Lanes {
    /// Makes a lane wait for all others and take the writer's place.
    fn gather_on(&mut self, lane: &Arc<Lane>) -> Result<()> {
        self.gather_readers_on(lane)?;
        if !Arc::ptr_eq(&self.writer, lane) {
            lane.wait_for(&self.writer)?;
            self.writer = Arc::clone(lane);
        }
        Ok(())
    }

    /// Makes a lane wait for the readers, so that whoever waits for it waits for them.
    fn gather_readers_on(&mut self, lane: &Arc<Lane>) -> Result<()> {
        for reader in self.readers.iter().filter(|reader| !Arc::ptr_eq(reader, lane)) {
            lane.wait_for(reader)?;
        }
        self.readers.clear();
        Ok(())
    }
}
