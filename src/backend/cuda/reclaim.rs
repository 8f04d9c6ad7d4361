//! Freeing memory, now or later.
//!
//! A drop cannot report that the driver has refused a call, and must not lose the memory over it. A
//! block that could not be freed waits here, and is tried again when memory is next allocated or a
//! device is waited for.

use std::collections::VecDeque;
use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::CUdeviceptr;

use super::driver::driver;
use super::stream::{Stream, Usage};
use super::trace::trace_warning;
use crate::Result;

/// A block of memory that nobody uses any more.
pub(super) struct Block {
    /// The stream on which the block was allocated.
    pub(super) home: Arc<Stream>,
    pub(super) address: CUdeviceptr,
    /// The work on the block that may not be done yet.
    pub(super) usage: Usage,
}

/// The blocks that are still to be freed.
static WAITING: Mutex<VecDeque<Block>> = Mutex::new(VecDeque::new());

/// How many they are, so that there is no lock to take while there are none.
static COUNT: AtomicUsize = AtomicUsize::new(0);

impl Block {
    /// Frees the block now, or later if the driver refuses. The block is gone for the caller.
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

    /// Frees the block after all work on it. If this fails the block is as it was.
    fn try_to_free(&self) -> Result<()> {
        // The order costs no time; where it cannot be had, the wait takes its place.
        self.usage.before_write(&self.home).or_else(|_| self.usage.wait())?;
        let context = self.home.context();
        context.bind()?;
        if context.has_pools() {
            // SAFETY: the block was allocated from a pool and is freed once, after all work on it.
            return unsafe { driver!(cuMemFreeAsync(self.address, self.home.raw())) };
        }
        self.home.synchronize()?;
        // SAFETY: the block was allocated without a pool and is freed once; all work on it is done.
        unsafe { driver!(cuMemFree_v2(self.address)) }
    }
}

/// Tries again to free what could not be freed, up to the first block that still cannot be.
#[inline]
pub(super) fn retry() {
    if COUNT.load(Ordering::Relaxed) != 0 {
        retry_all();
    }
}

#[cold]
fn retry_all() {
    // The lock is not held while the driver is called. Each block is tried once: those that fail
    // again go to the end, behind all that were there when this began.
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
