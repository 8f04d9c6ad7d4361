//! The threads that share large operations.

use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// The process that has started the threads, or is starting them; 0 before that.
static OWNER: AtomicU32 = AtomicU32::new(0);

static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();

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
    let pool = ThreadPoolBuilder::new().thread_name(name).build().ok()?;
    (pool.current_num_threads() > 1).then_some(pool)
}
