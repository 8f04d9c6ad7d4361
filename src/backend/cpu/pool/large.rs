//! Large blocks: all threads share them, behind one lock that is held for some nanoseconds.

use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::class::SizeClass;
use super::counters::Tally;
use super::{limit, lock_briefly, small, system};

/// A block that has been free for this long is returned to the system.
pub(super) const IDLE: Duration = Duration::from_secs(5);

/// How late the thread that returns idle blocks may be before it counts as lost, as it is in a forked process.
const GRACE: Duration = Duration::from_secs(2);

const FIRST: usize = SizeClass::of(small::MAX_BYTES + 1).index();

static SHELF: Mutex<Shelf> = Mutex::new(Shelf::new());

/// Free blocks of every class.
struct Shelf {
    /// By class, from [`FIRST`] on, those freed last at the back.
    classes: [VecDeque<Free>; SizeClass::COUNT - FIRST],
    kept_bytes: usize,
    /// When the thread that returns idle blocks looks for them next, if there is one.
    next_look: Option<Instant>,
    /// The number of that thread. One that was only late but taken for lost finds another number here.
    reaper: u64,
}

/// A free block, owned by this value.
struct Free {
    start: NonNull<u8>,
    since: Instant,
}

// SAFETY: a free block is plain memory that is not in use and not tied to a thread.
unsafe impl Send for Free {}

/// Free blocks that are returned to the system when this is dropped, which is done outside the lock.
#[derive(Default)]
struct Leaving(Vec<(Free, usize)>);

impl Drop for Leaving {
    fn drop(&mut self) {
        for (block, bytes) in self.0.drain(..) {
            Tally::Shared.given_back(bytes);
            // SAFETY: the block was free, was taken off the shelf, and has its class' size.
            unsafe { system::free(block.start, bytes) }
        }
    }
}

/// Takes a block of a class, if one is kept.
pub(super) fn take(class: SizeClass, bytes: usize) -> Option<NonNull<u8>> {
    let block = lock_briefly(&SHELF)?.take(class, bytes)?;
    Tally::Shared.handed_out_again(bytes);
    Some(block.start)
}

/// Keeps a block, or returns it to the system.
///
/// # Safety
///
/// The block must have been handed out with this class, and must not be used any more.
pub(super) unsafe fn give(start: NonNull<u8>, class: SizeClass, bytes: usize) {
    Tally::Shared.came_back(bytes);
    Tally::Shared.kept(bytes); // if only for a moment
    let now = Instant::now();
    let block = Free { start, since: now };
    let mut leaving = Leaving::default();
    let Some(mut shelf) = lock_briefly(&SHELF) else {
        leaving.0.push((block, bytes));
        return;
    };
    shelf.keep(block, class, bytes, limit::get(), &mut leaving);
    let reaper = shelf.needs_reaper(now);
    drop(shelf);
    if let Some(reaper) = reaper {
        start_reaper(reaper);
    }
}

/// Returns blocks to the system, those kept longest first, until no more than this many bytes are kept.
pub(super) fn shrink(to: usize) {
    let mut leaving = Leaving::default();
    if let Some(mut shelf) = lock_briefly(&SHELF) {
        shelf.shrink(to, &mut leaving);
    }
}

/// Starts the thread that returns idle blocks; it ends when no blocks are kept.
fn start_reaper(reaper: u64) {
    // Miri requires every thread to end before the program does.
    if cfg!(miri) {
        return;
    }
    let started = thread::Builder::new().name("bitlane-pool".into()).spawn(move || {
        while let Some(wait) = reap(reaper) {
            thread::sleep(wait);
        }
    });
    if started.is_err() {
        // It is tried again when the next block is kept.
        if let Some(mut shelf) = lock_briefly(&SHELF) {
            shelf.next_look = None;
        }
    }
}

/// Returns idle blocks to the system. Gives the time to wait until the next look, or `None` if none is needed.
fn reap(reaper: u64) -> Option<Duration> {
    let mut leaving = Leaving::default();
    let now = Instant::now();
    let mut shelf = lock(&SHELF);
    if shelf.reaper != reaper {
        return None;
    }
    shelf.remove_idle(now, &mut leaving);
    shelf.next_look = shelf.oldest().map(|(_, since)| since + IDLE);
    shelf.next_look.map(|at| at.saturating_duration_since(now))
}

fn lock(shelf: &Mutex<Shelf>) -> MutexGuard<'_, Shelf> {
    shelf.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shelf {
    const fn new() -> Shelf {
        Shelf {
            classes: [const { VecDeque::new() }; SizeClass::COUNT - FIRST],
            kept_bytes: 0,
            next_look: None,
            reaper: 0,
        }
    }

    /// Takes the block of a class that was freed last, which is the likeliest to be in a cache.
    fn take(&mut self, class: SizeClass, bytes: usize) -> Option<Free> {
        let block = self.classes[class.index() - FIRST].pop_back()?;
        self.kept_bytes -= bytes;
        Some(block)
    }

    /// Keeps a block, if necessary in place of those kept longest, which are less likely to be needed again soon.
    fn keep(
        &mut self,
        block: Free,
        class: SizeClass,
        bytes: usize,
        limit: usize,
        leaving: &mut Leaving,
    ) {
        match limit.checked_sub(bytes) {
            Some(rest) => {
                self.shrink(rest, leaving);
                self.classes[class.index() - FIRST].push_back(block);
                self.kept_bytes += bytes;
            }
            None => leaving.0.push((block, bytes)),
        }
    }

    /// Removes the blocks kept longest, until no more than this many bytes are kept.
    fn shrink(&mut self, to: usize, leaving: &mut Leaving) {
        while self.kept_bytes > to
            && let Some((place, _)) = self.oldest()
        {
            self.remove_front(place, leaving);
        }
    }

    /// Removes the blocks that have been idle for too long.
    fn remove_idle(&mut self, now: Instant, leaving: &mut Leaving) {
        while let Some((place, since)) = self.oldest()
            && now.saturating_duration_since(since) >= IDLE
        {
            self.remove_front(place, leaving);
        }
    }

    fn remove_front(&mut self, place: usize, leaving: &mut Leaving) {
        if let Some(block) = self.classes[place].pop_front()
            && let Some(bytes) = SizeClass::numbered(place + FIRST).bytes()
        {
            self.kept_bytes -= bytes;
            leaving.0.push((block, bytes));
        }
    }

    /// Where the block is that has been kept longest, and since when.
    fn oldest(&self) -> Option<(usize, Instant)> {
        let fronts = self.classes.iter().enumerate();
        fronts
            .filter_map(|(place, blocks)| Some((place, blocks.front()?.since)))
            .min_by_key(|&(_, since)| since)
    }

    /// The number of a reaper that has to be started, if one has.
    fn needs_reaper(&mut self, now: Instant) -> Option<u64> {
        let awaited = self.next_look.is_some_and(|at| now <= at + GRACE);
        if awaited || self.kept_bytes == 0 {
            return None;
        }
        self.next_look = Some(now + IDLE);
        self.reaper += 1;
        Some(self.reaper)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLASS: SizeClass = SizeClass::of(64 << 10);
    const BYTES: usize = 64 << 10;

    fn block(since: Instant) -> Free {
        Tally::Shared.kept(BYTES);
        Free { start: system::allocate(BYTES).unwrap(), since }
    }

    #[test]
    fn a_full_shelf_lets_go_of_what_it_has_kept_longest() {
        let (mut shelf, start) = (Shelf::new(), Instant::now());
        let mut leaving = Leaving::default();
        for second in 0..4 {
            let block = block(start + Duration::from_secs(second));
            shelf.keep(block, CLASS, BYTES, 3 * BYTES, &mut leaving);
        }
        assert_eq!((shelf.kept_bytes, leaving.0.len()), (3 * BYTES, 1));
        assert_eq!(leaving.0[0].0.since, start);
        shelf.keep(block(start), CLASS, BYTES, BYTES - 1, &mut leaving);
        assert_eq!((shelf.kept_bytes, leaving.0.len()), (3 * BYTES, 2));
        shelf.shrink(0, &mut leaving);
        assert_eq!((shelf.kept_bytes, leaving.0.len()), (0, 5));
    }

    #[test]
    fn idle_blocks_leave_and_others_stay() {
        let (mut shelf, start) = (Shelf::new(), Instant::now());
        let mut leaving = Leaving::default();
        for millis in [0, 1, 1000] {
            let block = block(start + Duration::from_millis(millis));
            shelf.keep(block, CLASS, BYTES, usize::MAX, &mut leaving);
        }
        shelf.remove_idle(start + IDLE, &mut leaving);
        assert_eq!(leaving.0.len(), 1);
        shelf.remove_idle(start + IDLE + Duration::from_millis(999), &mut leaving);
        assert_eq!(leaving.0.len(), 2);
        assert_eq!(shelf.oldest().unwrap().1, start + Duration::from_secs(1));
        shelf.shrink(0, &mut leaving);
    }

    #[test]
    fn one_looker_is_started_until_it_is_lost() {
        let (mut shelf, start) = (Shelf::new(), Instant::now());
        let mut leaving = Leaving::default();
        assert_eq!(shelf.needs_reaper(start), None, "there is nothing to look for");
        shelf.keep(block(start), CLASS, BYTES, usize::MAX, &mut leaving);
        assert_eq!(shelf.needs_reaper(start), Some(1));
        assert_eq!(shelf.needs_reaper(start + IDLE), None);
        assert_eq!(shelf.needs_reaper(start + IDLE + 2 * GRACE), Some(2));
        shelf.shrink(0, &mut leaving);
    }
}
