//! Sharing the parts of an operation among threads.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::threads::{count, threads};

/// Parts per thread: threads take them as they come, so one that wakes late or runs slowly holds nobody up.
const PARTS_PER_THREAD: usize = 8;

/// Into how many parts an operation is best cut; 1 if there is nobody to share it with.
pub(super) fn parts() -> usize {
    if count() == 1 {
        return 1;
    }
    threads().map_or(1, |_| count() * PARTS_PER_THREAD)
}

/// Does all parts of some work, on this thread and on others.
///
/// This thread waits without doing anything else: a worker of somebody's pool would else do other work of
/// that pool, which may want the locks that are held here. It waits only for threads that have come in time
/// to do a part.
pub(super) fn share(parts: usize, work: &(dyn Fn(usize) + Sync)) {
    let threads = if parts > 1 { threads() } else { None };
    let Some(threads) = threads else {
        return (0..parts).for_each(work);
    };
    let job = Arc::new(Job::new(parts, work));
    for _ in 1..count().min(parts) {
        let job = Arc::clone(&job);
        threads.spawn(move || job.help());
    }
    {
        // Also if the work panics, nobody must be left who looks at it.
        let _closed = CloseOnDrop(&job);
        job.run();
    }
    if let Some(panic) = job.helpers().panic.take() {
        resume_unwind(panic);
    }
}

/// Work that others may help with until it is closed.
struct Job {
    work: *const (dyn Fn(usize) + Sync),
    parts: usize,
    /// The next part that nobody has taken.
    next: AtomicUsize,
    helpers: Mutex<Helpers>,
    gone: Condvar,
}

struct Helpers {
    count: usize,
    is_closed: bool,
    /// What a helper has died of.
    panic: Option<Box<dyn Any + Send>>,
}

// SAFETY: the work may be called by any thread, and is only looked at before the job is closed, until when
// its owner waits.
unsafe impl Send for Job {}
// SAFETY: as above.
unsafe impl Sync for Job {}

impl Job {
    fn new(parts: usize, work: &(dyn Fn(usize) + Sync)) -> Job {
        let work: *const (dyn Fn(usize) + Sync + '_) = work;
        // SAFETY: only the lifetime changes; the pointer is not followed after the job is closed.
        let work: *const (dyn Fn(usize) + Sync + 'static) = unsafe { std::mem::transmute(work) };
        let helpers = Mutex::new(Helpers { count: 0, is_closed: false, panic: None });
        Job { work, parts, next: AtomicUsize::new(0), helpers, gone: Condvar::new() }
    }

    fn helpers(&self) -> MutexGuard<'_, Helpers> {
        self.helpers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does parts until none is left. The job must not be closed meanwhile.
    fn run(&self) {
        // SAFETY: the owner of the work waits for all who run it, and keeps it until then.
        let work = unsafe { &*self.work };
        loop {
            let part = self.next.fetch_add(1, Ordering::Relaxed);
            if part >= self.parts {
                return;
            }
            work(part);
        }
    }

    /// What another thread does: it comes too late if the job is closed.
    fn help(&self) {
        {
            let mut helpers = self.helpers();
            if helpers.is_closed {
                return;
            }
            helpers.count += 1;
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| self.run()));
        let mut helpers = self.helpers();
        helpers.count -= 1;
        helpers.panic = outcome.err().or(helpers.panic.take());
        self.gone.notify_one();
    }
}

struct CloseOnDrop<'a>(&'a Job);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        let mut helpers = self.0.helpers();
        helpers.is_closed = true;
        while helpers.count > 0 {
            helpers = self.0.gone.wait(helpers).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_done_once() {
        for parts in [0, 1, 2, 7, 64, 1000] {
            let done: Vec<AtomicUsize> = (0..parts).map(|_| AtomicUsize::new(0)).collect();
            share(parts, &|part| {
                done[part].fetch_add(1, Ordering::Relaxed);
            });
            assert!(done.iter().all(|count| count.load(Ordering::Relaxed) == 1));
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_and_leaves_the_threads_usable() {
        for _ in 0..20 {
            let caught = std::panic::catch_unwind(|| {
                share(100, &|part| assert_ne!(part, 0, "deliberate"));
            });
            assert!(caught.is_err());
            let count = AtomicUsize::new(0);
            share(10, &|_| {
                count.fetch_add(1, Ordering::Relaxed);
            });
            assert_eq!(count.into_inner(), 10);
        }
    }
}
