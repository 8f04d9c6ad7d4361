//! Small blocks: each thread keeps its own, so that a small call takes no lock of the pool.

use std::cell::RefCell;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use super::class::SizeClass;
use super::counters::{self, Counters, Tally};
use super::{limit, system};

/// The largest block that threads keep for themselves.
pub(super) const MAX_BYTES: usize = 32 << 10;

/// How much one thread keeps.
pub(super) const THREAD_BYTES: usize = 256 << 10;

const CLASSES: usize = SizeClass::of(MAX_BYTES).index() + 1;

thread_local! {
    static CACHE: RefCell<Cache> = const { RefCell::new(Cache::new()) };
}

/// A free block, whose first bytes point to the next one of its class.
struct Free {
    next: *mut Free,
}

/// The free blocks of one thread.
struct Cache {
    /// The [`limit::epoch`] at the last use; 0 before the first.
    epoch: usize,
    enabled: bool,
    kept_bytes: usize,
    /// The block of each class that was freed last.
    heads: [*mut Free; CLASSES],
    counters: Option<Arc<Counters>>,
}

/// Takes a block of a class, if this thread keeps one.
#[inline]
pub(super) fn take(class: SizeClass, bytes: usize) -> Option<NonNull<u8>> {
    with_cache(|cache| cache.take(class, bytes)).flatten()
}

/// Keeps a block, or returns it to the system.
///
/// # Safety
///
/// The block must have been handed out with this class, and must not be used any more.
pub(super) unsafe fn give(block: NonNull<u8>, class: SizeClass, bytes: usize) {
    // SAFETY: the caller's promise.
    let kept = with_cache(|cache| unsafe { cache.give(block, class, bytes) });
    let kept = kept.unwrap_or_else(|| {
        Tally::Shared.came_back(bytes);
        false
    });
    if !kept {
        // SAFETY: blocks of a class have its size and come from the system, and this one is not in use.
        unsafe { system::free(block, bytes) }
    }
}

/// Counts a block that comes from the system and is handed out.
pub(super) fn count_new(bytes: usize) {
    if with_cache(|cache| cache.tally().handed_out_new(bytes)).is_none() {
        Tally::Shared.handed_out_new(bytes);
    }
}

/// Frees everything that this thread keeps.
pub(super) fn trim_own() {
    with_cache(Cache::clear);
}

/// Runs a function on this thread's cache. Returns `None` if the thread is ending and has none any more.
#[inline]
fn with_cache<R>(run: impl FnOnce(&mut Cache) -> R) -> Option<R> {
    CACHE.try_with(|cache| cache.try_borrow_mut().ok().map(|mut cache| run(&mut cache))).ok()?
}

impl Cache {
    const fn new() -> Cache {
        Cache {
            epoch: 0,
            enabled: false,
            kept_bytes: 0,
            heads: [ptr::null_mut(); CLASSES],
            counters: None,
        }
    }

    #[inline]
    fn take(&mut self, class: SizeClass, bytes: usize) -> Option<NonNull<u8>> {
        self.catch_up();
        let head = self.heads[class.index()];
        let block = NonNull::new(head)?;
        // SAFETY: the lists hold free blocks that belong to this thread alone, whose first bytes
        // `give` has written.
        self.heads[class.index()] = unsafe { head.read() }.next;
        self.kept_bytes -= bytes;
        self.tally().handed_out_again(bytes);
        Some(block.cast())
    }

    /// Keeps a block if keeping is enabled, and returns whether it does.
    ///
    /// # Safety
    ///
    /// As for the function [`give`].
    #[inline]
    unsafe fn give(&mut self, block: NonNull<u8>, class: SizeClass, bytes: usize) -> bool {
        self.catch_up();
        self.tally().came_back(bytes);
        if !self.enabled {
            return false;
        }
        if self.kept_bytes + bytes > THREAD_BYTES {
            // What the thread frees now is what it will want next; the rest may be of sizes that
            // it does not use any more.
            self.clear();
        }
        let head = block.cast::<Free>().as_ptr();
        // SAFETY: the block is this thread's now, has room for a pointer and is aligned for it.
        unsafe { head.write(Free { next: self.heads[class.index()] }) };
        self.heads[class.index()] = head;
        self.kept_bytes += bytes;
        self.tally().kept(bytes);
        true
    }

    /// Applies a trim or a new limit, which other threads cannot do for this one.
    #[inline]
    fn catch_up(&mut self) {
        let epoch = limit::epoch();
        if self.epoch != epoch {
            self.start(epoch);
        }
    }

    #[cold]
    fn start(&mut self, epoch: usize) {
        self.clear();
        self.epoch = epoch;
        self.enabled = limit::get() > 0;
        if self.counters.is_none() {
            self.counters = counters::register();
        }
    }

    /// Returns the counters that this thread uses.
    #[inline]
    fn tally(&self) -> Tally<'_> {
        self.counters.as_deref().map_or(Tally::Shared, Tally::Own)
    }

    fn clear(&mut self) {
        if self.kept_bytes == 0 {
            return;
        }
        for index in 0..CLASSES {
            let Some(bytes) = SizeClass::numbered(index).bytes() else { continue };
            while let Some(block) = NonNull::new(self.heads[index]) {
                // SAFETY: as in `take`; the block leaves its list before it is freed.
                unsafe {
                    self.heads[index] = block.as_ptr().read().next;
                    system::free(block.cast(), bytes);
                }
                self.tally().given_back(bytes);
            }
        }
        self.kept_bytes = 0;
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        self.clear();
        if let Some(counters) = self.counters.take() {
            counters::retire(&counters);
        }
    }
}
