//! Sharing the parts of an operation among threads.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::threads::{count, threads};

/// Parts per thread: threads take them as they come, so one that wakes late or runs slowly holds nobody up.
const PARTS_PER_THREAD: usize = 8;

/// Into how many parts an operation is best cut; 1 if there is nobody to share it with.
pub(super) fn parts() -> usize {
    // A worker of somebody's pool would do other work of that pool while it waits here, and
    // that work may want the locks that are held.
    if rayon::current_thread_index().is_some() || count() == 1 {
        return 1;
    }
    threads().map_or(1, |_| count() * PARTS_PER_THREAD)
}

/// Does all parts of some work, on this thread and on others.
pub(super) fn share(parts: usize, work: &(dyn Fn(usize) + Sync)) {
    let alone = parts <= 1 || rayon::current_thread_index().is_some();
    let Some(threads) = (!alone).then(threads).flatten() else {
        return (0..parts).for_each(work);
    };
    let next = AtomicUsize::new(0);
    let run = || {
        loop {
            let part = next.fetch_add(1, Ordering::Relaxed);
            if part >= parts {
                return;
            }
            work(part);
        }
    };
    threads.in_place_scope(|scope| {
        for _ in 1..count() {
            scope.spawn(|_| run());
        }
        run();
    });
}
