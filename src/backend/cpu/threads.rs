//! The threads that share large operations.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::{process, thread};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// The process that has started the threads, or is starting them; 0 before that.
static OWNER: AtomicU32 = AtomicU32::new(0);

static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();

/// How many threads share an operation; 0 as long as nobody has said.
static WANTED: AtomicUsize = AtomicUsize::new(0);

/// Sets how many threads share an operation, the calling one included; 0 for as many as there are cores.
pub(crate) fn set_count(count: usize) {
    WANTED.store(count, Ordering::Relaxed);
}

/// How many threads share an operation, the calling one included.
pub(crate) fn count() -> usize {
    let wanted = match WANTED.load(Ordering::Relaxed) {
        0 => cores(),
        wanted => wanted,
    };
    // What has been started cannot grow any more.
    let started = POOL.get().map(|pool| pool.as_ref().map_or(1, ThreadPool::current_num_threads));
    started.map_or(wanted, |started| wanted.min(started))
}

fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

/// The threads of this process, started at the first call; none on a machine with one core, where
/// they cannot be started, while they are being started, and in a process that was forked from the
/// one that has started them.
///
/// A forked process has the pool's memory but not its threads: work given to them would never be
/// done. It therefore runs everything on the calling thread. Nothing here ever waits, because a
/// fork may happen at any time, also while another thread starts the pool.
pub(super) fn threads() -> Option<&'static ThreadPool> {
    let process = process::id();
    match OWNER.compare_exchange(0, process, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => {
            // Only the one call that has changed the owner comes here.
            let _ = POOL.set(start());
            POOL.get()?.as_ref()
        }
        Err(owner) if owner == process => POOL.get()?.as_ref(),
        Err(_) => None,
    }
}

fn start() -> Option<ThreadPool> {
    let name = |index| format!("bitlane-{index}");
    // As many as there are cores even if fewer are wanted now: more may be wanted later.
    let threads = WANTED.load(Ordering::Relaxed).max(cores());
    let pool = ThreadPoolBuilder::new().num_threads(threads).thread_name(name).build().ok()?;
    (pool.current_num_threads() > 1).then_some(pool)
}
