//! Counting what the pool does, without threads getting into each other's way.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use super::lock_briefly;

/// What one thread, or all of them together, have done. A thread that frees the blocks of another has negative
/// numbers here, which wrap; the sum of all is right.
#[derive(Default)]
pub(super) struct Counters {
    pub(super) used_bytes: AtomicUsize,
    pub(super) kept_bytes: AtomicUsize,
    pub(super) kept_blocks: AtomicUsize,
    pub(super) reused: AtomicUsize,
    pub(super) allocated: AtomicUsize,
}

/// What large blocks are counted in, small ones of threads that have no counters, and those of threads
/// that have ended.
static SHARED: Counters = Counters {
    used_bytes: AtomicUsize::new(0),
    kept_bytes: AtomicUsize::new(0),
    kept_blocks: AtomicUsize::new(0),
    reused: AtomicUsize::new(0),
    allocated: AtomicUsize::new(0),
};

/// The counters of the threads that run.
static THREADS: Mutex<Vec<Arc<Counters>>> = Mutex::new(Vec::new());

/// Counters for this thread, unless the list cannot be had just now.
pub(super) fn register() -> Option<Arc<Counters>> {
    let counters = Arc::<Counters>::default();
    lock_briefly(&THREADS)?.push(counters.clone());
    Some(counters)
}

/// Adds what a thread has counted to the shared counters, when it ends.
pub(super) fn retire(counters: &Arc<Counters>) {
    // Where the list cannot be had, the counters stay in it, and nothing is lost.
    if let Some(mut threads) = lock_briefly(&THREADS)
        && let Some(place) = threads.iter().position(|other| Arc::ptr_eq(other, counters))
    {
        threads.swap_remove(place);
        for (own, shared) in counters.cells().into_iter().zip(SHARED.cells()) {
            shared.fetch_add(own.load(Relaxed), Relaxed);
        }
    }
}

/// The sums over all threads, in the order of the fields.
pub(super) fn sums() -> [usize; 5] {
    let mut sums = SHARED.cells().map(|cell| cell.load(Relaxed));
    if let Some(threads) = lock_briefly(&THREADS) {
        // Again under the lock: a thread that ends must be seen in one place.
        sums = SHARED.cells().map(|cell| cell.load(Relaxed));
        for counters in threads.iter() {
            for (sum, cell) in sums.iter_mut().zip(counters.cells()) {
                *sum = sum.wrapping_add(cell.load(Relaxed));
            }
        }
    }
    // Threads go on counting meanwhile: what another thread frees may be seen before it is used.
    sums.map(|sum| if sum > isize::MAX as usize { 0 } else { sum })
}

impl Counters {
    fn cells(&self) -> [&AtomicUsize; 5] {
        [&self.used_bytes, &self.kept_bytes, &self.kept_blocks, &self.reused, &self.allocated]
    }
}

/// Who counts.
#[derive(Clone, Copy)]
pub(super) enum Tally<'a> {
    /// The thread that these belong to, and only that one.
    Own(&'a Counters),
    /// Anyone.
    Shared,
}

impl Tally<'_> {
    /// A block from the system is handed out.
    pub(super) fn handed_out_new(self, bytes: usize) {
        let counters = self.counters();
        self.add(&counters.used_bytes, bytes);
        self.add(&counters.allocated, 1);
    }

    /// A block that was kept is handed out.
    #[inline]
    pub(super) fn handed_out_again(self, bytes: usize) {
        let counters = self.counters();
        self.add(&counters.used_bytes, bytes);
        self.add(&counters.reused, 1);
        self.given_back(bytes);
    }

    /// A block is not used any more.
    #[inline]
    pub(super) fn came_back(self, bytes: usize) {
        self.add(&self.counters().used_bytes, bytes.wrapping_neg());
    }

    /// A block is kept from now on.
    #[inline]
    pub(super) fn kept(self, bytes: usize) {
        let counters = self.counters();
        self.add(&counters.kept_bytes, bytes);
        self.add(&counters.kept_blocks, 1);
    }

    /// A block is not kept any more.
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
            // Only this thread writes, so that two plain accesses do.
            Tally::Own(_) => cell.store(cell.load(Relaxed).wrapping_add(number), Relaxed),
            Tally::Shared => {
                cell.fetch_add(number, Relaxed);
            }
        }
    }
}
