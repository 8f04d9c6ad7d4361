//! Freeing memory, immediately or later.
//!
//! `Drop` cannot report that the driver refused a call, and must not leak the memory because of it. A block that could
//! not be freed is queued here, and freeing it is retried on the next allocation or context synchronisation.

use std::collections::VecDeque;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::CUdeviceptr;

use super::driver::driver;
use super::stream::{Stream, Usage};
use super::trace::trace_warning;
use crate::Result;

/// A block of device memory and the work that uses it.
pub(super) struct Block {
    /// The stream on which the block was allocated.
    pub(super) home: Arc<Stream>,
    pub(super) address: CUdeviceptr,
    /// The streams whose work on the block may be unfinished.
    pub(super) usage: Usage,
}

/// The blocks that could not be freed yet.
static WAITING: Mutex<VecDeque<Block>> = Mutex::new(VecDeque::new());

/// The length of [`WAITING`], so that the usual empty queue is detected without taking the lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);

impl Block {
    /// Frees the block, or queues it to be freed later if the driver refuses. The caller must not use the block again.
    pub(super) fn free(&mut self) {
        if let Err(error) = self.try_to_free() {
            trace_warning!(%error, "memory could not be freed yet");
            let _ = error;
            let usage = mem::replace(&mut self.usage, Usage::new(&self.home));
            let address = mem::take(&mut self.address);
            waiting().push_back(Block { home: Arc::clone(&self.home), address, usage });
            COUNT.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Frees the block after all work on it. On an error the block is still allocated.
    fn try_to_free(&self) -> Result<()> {
        // Ordering by events does not block the host; if it fails, wait for the work instead.
        self.usage.before_write(&self.home).or_else(|_| self.usage.wait())?;
        let context = self.home.context();
        context.bind()?;
        if context.has_pools() {
            // SAFETY: the block was allocated from a pool and is freed once, ordered after all work on it.
            return unsafe { driver!(cuMemFreeAsync(self.address, self.home.raw())) };
        }
        self.home.synchronize()?;
        // SAFETY: the block was allocated without a pool and is freed once; all work on it is done.
        unsafe { driver!(cuMemFree_v2(self.address)) }
    }
}

/// Retries freeing the queued blocks, up to the first one that fails again.
#[inline]
pub(super) fn retry() {
    if COUNT.load(Ordering::Relaxed) != 0 {
        retry_all();
    }
}

#[cold]
fn retry_all() {
    // The lock is not held while the driver is called, so other threads may push blocks meanwhile; `left` bounds the
    // loop to those present at its start. A block that fails again goes to the back of the queue.
    let mut left = waiting().len();
    while left > 0
        && let Some(block) = { waiting().pop_front() }
    {
        left -= 1;
        if block.try_to_free().is_err() {
            waiting().push_back(block);
            return;
        }
        COUNT.fetch_sub(1, Ordering::Relaxed);
    }
}

fn waiting() -> MutexGuard<'static, VecDeque<Block>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}
