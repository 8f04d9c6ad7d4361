//! Freeing memory and returning borrowed memory, immediately or later.
//!
//! `Drop` cannot report that the driver refused a call, and must neither leak the memory because of it nor release
//! memory that queued work still uses. What could not be released is queued here, and releasing it is retried: a block
//! on the next allocation or context synchronisation, borrowed memory on the next import or `Device::synchronize`.

use std::collections::VecDeque;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::pool::Piece;
use super::stream::Stream;
use super::trace::trace_warning;
use super::usage::Usage;
use crate::Result;
use crate::exclusive::Exclusive;

/// A block of device memory and the work that uses it.
pub(super) struct Block {
    /// The stream on which the block was allocated.
    pub(super) home: Arc<Stream>,
    pub(super) piece: Piece,
    /// The streams whose work on the block may be unfinished.
    pub(super) usage: Usage,
}

/// Keeps memory of another library alive; dropping it releases the memory.
pub(super) type Owner = Box<dyn Send + Sync>;

/// Memory of another library and the work that uses it.
struct Borrowed {
    usage: Usage,
    owner: Owner,
}

/// What could not be released yet.
struct Queue<T> {
    items: Mutex<VecDeque<T>>,
    /// The number of items, so that the usual empty queue is detected without taking the lock.
    count: AtomicUsize,
}

/// The blocks that could not be freed yet.
static BLOCKS: Queue<Block> = Queue::new();

/// The borrowed memory that could not be returned yet.
static BORROWED: Queue<Borrowed> = Queue::new();

impl<T> Queue<T> {
    const fn new() -> Queue<T> {
        Queue { items: Mutex::new(VecDeque::new()), count: AtomicUsize::new(0) }
    }

    fn push(&self, item: T) {
        self.items().push_back(item);
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// Tries again to release the items, up to the first one that fails; `release` returns an item that it has not
    /// released.
    #[cold]
    fn retry(&self, release: impl Fn(T) -> Option<T>) {
        // The lock is not held while an item is released, so other threads may push items meanwhile; `left` bounds the
        // loop to those present at its start. An item that fails again goes to the back of the queue.
        let mut left = self.items().len();
        while left > 0
            && let Some(item) = { self.items().pop_front() }
        {
            left -= 1;
            if let Some(item) = release(item) {
                self.items().push_back(item);
                return;
            }
            self.count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    fn items(&self) -> MutexGuard<'_, VecDeque<T>> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Block {
    /// Frees the block, or queues it to be freed later if the driver refuses. The caller must not use the block again.
    pub(super) fn free(&mut self) {
        if let Err(error) = self.try_to_free() {
            trace_warning!(%error, "memory could not be freed yet");
            let _ = error;
            BLOCKS.push(self.take());
        }
    }

    /// Drops the owner of a borrowed block once the work on the block is done, or queues it to be dropped later if the
    /// driver refuses to wait. The caller must not use the block again.
    pub(super) fn return_to(&mut self, owner: Owner) {
        if let Some(kept) = (Borrowed { usage: self.take().usage, owner }).release() {
            BORROWED.push(kept);
        }
    }

    /// Moves the block out of a value that is being dropped.
    pub(super) fn take(&mut self) -> Block {
        let usage = mem::replace(&mut self.usage, Usage::new(&self.home));
        Block { home: Arc::clone(&self.home), piece: mem::take(&mut self.piece), usage }
    }

    /// Frees the block after all work on it. On an error the block is still allocated.
    fn try_to_free(&mut self) -> Result<()> {
        if self.home.is_out_of_reach() {
            self.usage.wait()?;
        } else {
            Usage::settle(Exclusive::new(&mut self.usage), &self.home)?;
        }
        let context = self.home.context();
        let _bound = context.bind()?;
        // All work on the block is finished, or ordered before later work on the home stream.
        context.pool().free(&self.home, self.piece)
    }
}

impl Borrowed {
    /// Drops the owner if the work on the memory is done; otherwise returns itself.
    fn release(self) -> Option<Borrowed> {
        // A wait that failed proves nothing: the context may be healthy, and the work still queued.
        if let Err(error) = self.usage.wait() {
            trace_warning!(%error, "borrowed memory could not be returned yet");
            let _ = error;
            return Some(self);
        }
        drop(self.owner);
        None
    }
}

/// Retries freeing the queued blocks.
#[inline]
pub(super) fn retry() {
    if !BLOCKS.is_empty() {
        BLOCKS.retry(|mut block| block.try_to_free().is_err().then_some(block));
    }
}

/// Retries returning borrowed memory. The caller must hold no lock, because the owner's deleter is foreign code.
pub(super) fn retry_returning() {
    if !BORROWED.is_empty() {
        BORROWED.retry(Borrowed::release);
    }
}
