//! The order of work on memory that several streams use.
//!
//! [`Usage`] tracks the streams on which a block of memory was last written and read, and makes a stream wait for the
//! others where necessary. As long as only one stream uses a block, no event, wait or lock is needed.
//!
//! The tracked state changes only after the last driver call that can fail. A call that fails leaves behind at most
//! some additional waits, which are harmless.
//!
//! `tests/usage_model` compiles this file with loom's locks and atomics, and with streams that only record what they wait
//! for.

use std::iter;
use std::ptr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use super::stream::Stream;
use super::sync::{AtomicPtr, Mutex, MutexGuard};
use crate::Result;
use crate::exclusive::Exclusive;

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
        if self.is_sole(stream) {
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
    /// This forgets the readers, so none of them may still be about to queue its read. That is why the caller must have
    /// exclusive use of the memory, and must keep it until the write is queued.
    #[inline]
    pub(super) fn before_write(this: Exclusive<'_, Usage>, stream: &Arc<Stream>) -> Result<()> {
        let this = this.get();
        if this.is_sole(stream) {
            return Ok(());
        }
        let mut users = this.lock();
        users.wait_for_readers(stream)?;
        if !Arc::ptr_eq(&users.writer, stream) {
            stream.wait_for(&users.writer)?;
        }
        // Nothing below can fail. A stream that waits for this one now also waits for all the others.
        users.readers.clear();
        users.writer = Arc::clone(stream);
        this.sole.store(Arc::as_ptr(stream).cast_mut(), Ordering::Relaxed);
        Ok(())
    }

    /// Orders all work on the memory before later work on a stream or, where that is not possible, waits for the work.
    /// On an error some of it may be unfinished, and the memory must be kept.
    ///
    /// Memory is dropped at any time, even while a stream that has used it is being captured. An event would then make
    /// `stream` part of the capture, or end the capture, so none is used.
    pub(super) fn settle(this: Exclusive<'_, Usage>, stream: &Arc<Stream>) -> Result<()> {
        let usage = this.get();
        if usage.is_sole(stream) {
            return Ok(());
        }
        let captured = |user: &Arc<Stream>| user.is_captured();
        let captured = usage.lock().all().chain([stream]).map(captured).collect::<Result<Vec<_>>>();
        if captured.is_ok_and(|captured| !captured.contains(&true))
            && Usage::before_write(this, stream).is_ok()
        {
            return Ok(());
        }
        usage.wait()
    }

    /// Returns the stream of the last write, on which a read needs no event.
    pub(super) fn writer(&self) -> Arc<Stream> {
        Arc::clone(&self.lock().writer)
    }

    /// Blocks until all work on the memory is done, on every stream. On an error some of it may be unfinished.
    pub(super) fn wait(&self) -> Result<()> {
        // A wait also fails because of an error of earlier work, and then the work is done; the second one tells.
        self.lock().all().try_for_each(|user| user.synchronize().or_else(|_| user.synchronize()))
    }

    #[inline]
    fn is_sole(&self, stream: &Arc<Stream>) -> bool {
        ptr::eq(self.sole.load(Ordering::Relaxed), Arc::as_ptr(stream))
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

    /// Returns the writer and the readers.
    fn all(&self) -> impl Iterator<Item = &Arc<Stream>> {
        iter::once(&self.writer).chain(&self.readers)
    }
}
