//! Sharing the parts of an operation among threads.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, PoisonError};

use smallvec::SmallVec;

use super::crew::Crew;
use super::placement::{current_core, leave};
use super::{Patience, Settings, are_awake, count, crew};
use crate::sync::{AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, spin_loop};

/// Parts per thread. A thread that has done its own parts takes those of others, so that one that wakes late or runs
/// slowly delays nobody.
const PARTS_PER_THREAD: usize = 8;

/// Returns the bytes from which an operation is shared.
pub(crate) fn parallel_threshold(settings: &Settings) -> usize {
    if are_awake() { settings.parallel_bytes / AWAKE } else { settings.parallel_bytes }
}

/// By how much the threshold is lower if a thread need not be woken: calls in a row gain from 256 KiB (8 bits) or
/// 400 KiB (32 bits) on, measured as `PARALLEL_BYTES` was.
const AWAKE: usize = 2;

/// How an operation is shared.
#[derive(Clone, Copy)]
pub(crate) struct Team {
    /// How many threads there are, the calling one included.
    threads: usize,
    /// Into how many parts the operation is best cut; 1 if it is not shared.
    pub(crate) parts: usize,
    crew: Option<&'static Crew>,
}

impl Team {
    /// The calling thread alone.
    const ALONE: Team = Team { threads: 1, parts: 1, crew: None };

    /// Chooses the threads for an operation over so many bytes.
    #[inline]
    pub(crate) fn new(bytes: usize, settings: &Settings) -> Team {
        if bytes < settings.parallel_bytes / AWAKE {
            Team::ALONE
        } else {
            Team::of(bytes, settings)
        }
    }

    /// [`Team::new`] for an operation that may be shared.
    #[cold]
    fn of(bytes: usize, settings: &Settings) -> Team {
        let threshold = parallel_threshold(settings);
        let threads = match settings.threads {
            _ if bytes < threshold => 1,
            Some(threads) => threads,
            // Each has at least half of the threshold.
            None => count().min(bytes / (threshold / 2).max(1)),
        };
        // Looking for the crew is a system call.
        let crew = if threads > 1 { crew() } else { None };
        if threads == 1 || (settings.threads.is_none() && crew.is_none()) {
            return Team::ALONE;
        }
        Team { threads, parts: threads * PARTS_PER_THREAD, crew }
    }

    /// Returns into how many parts an operation has to be cut for each thread to have so many of them.
    pub(crate) fn parts_of(&self, per_thread: usize) -> usize {
        if self.parts == 1 { 1 } else { self.threads * per_thread }
    }

    /// Does all parts of some work on this thread and on others; their number may differ from `self.parts`.
    ///
    /// This thread waits without doing anything else: a worker of a thread pool would otherwise do other work of
    /// that pool, which may want the locks that are held here. It waits only for threads that have started a part.
    pub(crate) fn share(self, parts: usize, work: &(dyn Fn(usize) + Sync)) {
        let threads = self.threads.min(count()).min(parts);
        let Some(crew) = self.crew.filter(|_| threads > 1) else {
            return (0..parts).for_each(work);
        };
        let job = Arc::new(Job::new(parts, threads, work));
        crew.offer(&job, threads - 1);
        {
            // Even if the work panics, no other thread may still use it.
            let _closed = CloseOnDrop { crew, job: &job };
            job.run(0);
        }
        // The lock is released before the panic goes on, so that it is not poisoned.
        let panic = job.panic().take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }
}

/// Work that other threads may help with until it is closed.
pub(crate) struct Job {
    work: *const (dyn Fn(usize) + Sync),
    /// The core on which the caller began it.
    core: Option<usize>,
    lanes: SmallVec<[Lane; 4]>,
    /// The number of helpers, plus [`CLOSED`] once the job is closed.
    helpers: AtomicUsize,
    /// The panic of a helper.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    gone: Condvar,
}

/// Added to the number of helpers when no more may join.
const CLOSED: usize = 1 << (usize::BITS - 1);

/// The parts that one thread begins with, in its own cache line. The same thread has the same ones in the next
/// operation of the same size, whose elements its cache may still hold.
#[repr(align(64))]
struct Lane {
    /// The next part that has not been taken.
    next: AtomicUsize,
    end: usize,
}

// SAFETY: the work may be called by any thread, and is only used before the job is closed, which its owner waits for.
unsafe impl Send for Job {}
// SAFETY: as above.
unsafe impl Sync for Job {}

impl Job {
    pub(crate) fn new(parts: usize, threads: usize, work: &(dyn Fn(usize) + Sync)) -> Job {
        let work: *const (dyn Fn(usize) + Sync + '_) = work;
        // SAFETY: only the lifetime changes; the pointer is not dereferenced after the job is closed.
        let work: *const (dyn Fn(usize) + Sync + 'static) = unsafe { std::mem::transmute(work) };
        let start = |lane: usize| parts * lane / threads;
        let lane = |lane: usize| Lane { next: AtomicUsize::new(start(lane)), end: start(lane + 1) };
        Job {
            work,
            core: current_core(),
            lanes: (0..threads).map(lane).collect(),
            helpers: AtomicUsize::new(0),
            panic: Mutex::new(None),
            gone: Condvar::new(),
        }
    }

    fn panic(&self) -> MutexGuard<'_, Option<Box<dyn Any + Send>>> {
        self.panic.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does parts until none is left, those of a lane first. The job must not be closed meanwhile.
    fn run(&self, lane: usize) {
        // SAFETY: the owner of the work waits for all who run it, and keeps it until then.
        let work = unsafe { &*self.work };
        let (before, own) = self.lanes.split_at(lane);
        for lane in own.iter().chain(before) {
            loop {
                let part = lane.next.fetch_add(1, Ordering::Relaxed);
                if part >= lane.end {
                    break;
                }
                work(part);
            }
        }
    }

    /// Helps from another thread, unless the job is closed already.
    pub(crate) fn help(&self, index: usize) {
        // Before anybody waits for this thread.
        leave(self.core);
        if self.helpers.fetch_add(1, Ordering::Acquire) < CLOSED {
            // The first lane is the owner's.
            let lane = 1 + index % (self.lanes.len() - 1).max(1);
            let outcome = catch_unwind(AssertUnwindSafe(|| self.run(lane)));
            if let Err(panic) = outcome {
                *self.panic() = Some(panic);
            }
        }
        if self.helpers.fetch_sub(1, Ordering::Release) == CLOSED + 1 {
            // Under the lock, so that the owner either sees the number or is waiting already.
            let _panic = self.panic();
            self.gone.notify_one();
        }
    }

    /// Lets no more helpers join, and waits until all have left.
    fn close(&self) {
        if self.helpers.fetch_add(CLOSED, Ordering::Acquire) == 0 {
            return;
        }
        let is_alone = || self.helpers.load(Ordering::Acquire) == CLOSED;
        // The others have at most one part left: that often takes less time than going to sleep.
        let mut patience = Patience::new();
        while !is_alone() {
            if patience.is_over() {
                let mut panic = self.panic();
                while !is_alone() {
                    panic = self.gone.wait(panic).unwrap_or_else(PoisonError::into_inner);
                }
                return;
            }
            spin_loop();
        }
    }
}

struct CloseOnDrop<'a> {
    crew: &'a Crew,
    job: &'a Arc<Job>,
}

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        self.crew.withdraw(self.job);
        self.job.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(parts: usize, work: &(dyn Fn(usize) + Sync)) {
        Team { threads: 4, parts, crew: crew() }.share(parts, work);
    }

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
