//! Statistics of the pool, counted per thread so that threads do not contend for them.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use super::lock_briefly;

/// The counters of one thread, or the shared ones. A thread that frees the blocks of another has negative numbers
/// here, which wrap; the sum over all threads is right.
#[derive(Default)]
pub(super) struct Counters {
    pub(super) used_bytes: AtomicUsize,
    pub(super) kept_bytes: AtomicUsize,
    pub(super) kept_blocks: AtomicUsize,
    pub(super) reused: AtomicUsize,
    pub(super) allocated: AtomicUsize,
}

/// Counts large blocks, small blocks of threads that have no counters, and what threads have counted that have ended.
static SHARED: Counters = Counters {
    used_bytes: AtomicUsize::new(0),
    kept_bytes: AtomicUsize::new(0),
    kept_blocks: AtomicUsize::new(0),
    reused: AtomicUsize::new(0),
    allocated: AtomicUsize::new(0),
};

/// The counters of the threads that run.
static THREADS: Mutex<Vec<Arc<Counters>>> = Mutex::new(Vec::new());

/// Registers counters for this thread; returns `None` if the list stays locked.
pub(super) fn register() -> Option<Arc<Counters>> {
    let counters = Arc::<Counters>::default();
    lock_briefly(&THREADS)?.push(counters.clone());
    Some(counters)
}

/// Adds the counters of a thread that ends to the shared ones.
pub(super) fn retire(counters: &Arc<Counters>) {
    // If the list stays locked, the counters remain in it, and nothing is lost.
    if let Some(mut threads) = lock_briefly(&THREADS)
        && let Some(place) = threads.iter().position(|other| Arc::ptr_eq(other, counters))
    {
        threads.swap_remove(place);
        for (own, shared) in counters.cells().into_iter().zip(SHARED.cells()) {
            shared.fetch_add(own.load(Relaxed), Relaxed);
        }
    }
}

/// Returns the sums over all threads, in the order of the fields.
pub(super) fn sums() -> [usize; 5] {
    let mut sums = SHARED.cells().map(|cell| cell.load(Relaxed));
    if let Some(threads) = lock_briefly(&THREADS) {
        // Read again under the lock, so that a thread that ends is counted once.
        sums = SHARED.cells().map(|cell| cell.load(Relaxed));
        for counters in threads.iter() {
            for (sum, cell) in sums.iter_mut().zip(counters.cells()) {
                *sum = sum.wrapping_add(cell.load(Relaxed));
            }
        }
    }
    // Threads keep counting meanwhile: a block may be seen as freed before it is seen as used.
    sums.map(|sum| if sum > isize::MAX as usize { 0 } else { sum })
}

impl Counters {
    fn cells(&self) -> [&AtomicUsize; 5] {
        [&self.used_bytes, &self.kept_bytes, &self.kept_blocks, &self.reused, &self.allocated]
    }
}

/// The counters to use.
#[derive(Clone, Copy)]
pub(super) enum Tally<'a> {
    /// Those of the calling thread, which no other thread writes.
    Own(&'a Counters),
    /// The shared ones.
    Shared,
}

impl Tally<'_> {
    /// Counts a block from the system that is handed out.
    pub(super) fn handed_out_new(self, bytes: usize) {
        let counters = self.counters();
        self.add(&counters.used_bytes, bytes);
        self.add(&counters.allocated, 1);
    }

    /// Counts a kept block that is handed out.
    #[inline]
    pub(super) fn handed_out_again(self, bytes: usize) {
        let counters = self.counters();
        self.add(&counters.used_bytes, bytes);
        self.add(&counters.reused, 1);
        self.given_back(bytes);
    }

    /// Counts a block that is not used any more.
    #[inline]
    pub(super) fn came_back(self, bytes: usize) {
        self.add(&self.counters().used_bytes, bytes.wrapping_neg());
    }

    /// Counts a block that is kept from now on.
    #[inline]
    pub(super) fn kept(self, bytes: usize) {
        let counters = self.counters();
        self.add(&counters.kept_bytes, bytes);
        self.add(&counters.kept_blocks, 1);
    }

    /// Counts a block that is not kept any more.
    #[inline]
    pub(super) fn given_back(self, bytes: usize) {
        let counters = self.counters();
        self.add(&counters.kept_bytes, bytes.wrapping_neg());
        self.add(&counters.kept_blocks, 1usize.wrapping_neg());
    }

    #[inline]
    fn counters(&self) -> &Counters {
        match self {
            Tally::Own(own) => own,
            Tally::Shared => &SHARED,
        }
    }

    #[inline]
    fn add(self, cell: &AtomicUsize, number: usize) {
        match self {
            // Only this thread writes, so a load and a store suffice.
            Tally::Own(_) => cell.store(cell.load(Relaxed).wrapping_add(number), Relaxed),
            Tally::Shared => {
                cell.fetch_add(number, Relaxed);
            }
        }
    }
}
