//! The threads that help with large operations.
//!
//! The crate has threads of its own because latency matters most: an operation of some microseconds is over before a
//! sleeping thread has woken. A thread that has just helped therefore spins for [`PATIENCE`] before it sleeps.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

mod crew;
mod placement;
pub(crate) mod sharing;

use self::crew::Crew;
use super::settings::Settings;

/// How long a thread spins for work before it sleeps. Long enough for the next of several operations in a row, and no
/// longer than waking up takes.
const PATIENCE: Duration = Duration::from_micros(50);

/// The time for which a thread spins.
pub(crate) struct Patience {
    start: Instant,
    turns: u32,
}

impl Patience {
    pub(crate) fn new() -> Patience {
        Patience { start: Instant::now(), turns: 0 }
    }

    /// Whether the thread has spun for [`PATIENCE`]; to be asked in every turn. Most turns do without the clock, which
    /// takes longer than the rest of a turn.
    pub(crate) fn is_over(&mut self) -> bool {
        self.turns += 1;
        self.turns.is_multiple_of(16) && self.start.elapsed() >= PATIENCE
    }
}

/// How many threads share an operation; 0 until it is set.
static WANTED: AtomicUsize = AtomicUsize::new(0);

/// More threads than this are not started, unless there are more cores.
pub(crate) const MAX_THREADS: usize = 256;

/// Whether a call has begun to start the threads, in this process or in one that it was forked from.
static IS_STARTED: AtomicBool = AtomicBool::new(false);

/// Whether this process was forked after a call had begun to start the threads.
static IS_FORKED: AtomicBool = AtomicBool::new(false);

/// How many threads have been started.
static STARTED: OnceLock<usize> = OnceLock::new();

static CREW: Crew = Crew {
    offers: Mutex::new(Vec::new()),
    vacancies: AtomicUsize::new(0),
    awake: AtomicUsize::new(0),
    offered: Condvar::new(),
};

/// Sets how many threads share an operation, the calling one included; 0 for as many as there are cores. At most
/// [`MAX_THREADS`] or as many as there are cores.
pub(crate) fn set_count(count: usize) {
    WANTED.store(count.min(cores().max(MAX_THREADS)), Ordering::Relaxed);
}

/// How many threads share an operation, the calling one included.
pub(crate) fn count() -> usize {
    let wanted = match WANTED.load(Ordering::Relaxed) {
        0 => cores(),
        wanted => wanted,
    };
    if IS_FORKED.load(Ordering::Relaxed) {
        return 1;
    }
    // Threads are started once; their number does not grow.
    STARTED.get().map_or(wanted, |started| wanted.min(started + 1))
}

fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

/// Whether a thread is spinning for work, and would help at once.
pub(crate) fn are_awake() -> bool {
    CREW.is_awake()
}

/// Returns the threads of this process, and starts them at the first call. Returns `None` on a machine with one core,
/// if they cannot be started, while they are being started, and in a process that was forked from the one that has
/// started them.
///
/// A forked process has the memory of the threads but not the threads: work given to them would never be done, and a
/// lock that one of them held is never released. It therefore runs everything on the calling thread. Nothing here ever
/// waits, because a fork may happen at any time, even while another thread starts the others: a process that was forked
/// before `STARTED` was set finds it empty for ever.
pub(crate) fn crew() -> Option<&'static Crew> {
    if !IS_STARTED.load(Ordering::Relaxed) && !IS_STARTED.swap(true, Ordering::Relaxed) {
        // Only one call gets here, once. Without knowing of forks there can be no threads.
        let _ = STARTED.set(if notices_forks() { start() } else { 0 });
    }
    if IS_FORKED.load(Ordering::Relaxed) {
        return None;
    }
    (*STARTED.get()? > 0).then_some(&CREW)
}

/// Has [`IS_FORKED`] set in every process that is forked from now on. Returns whether the system agrees.
///
/// A comparison of process ids would not do: the id of a process that has ended is given to a later one, which may be
/// its descendant.
fn notices_forks() -> bool {
    // Miri knows no forks.
    #[cfg(all(unix, not(miri)))]
    {
        extern "C" fn in_child() {
            IS_FORKED.store(true, Ordering::Relaxed);
        }
        // SAFETY: the function lives as long as the program, and does what is allowed between a fork and the return
        // from it: it stores to an atomic variable.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) == 0 }
    }
    #[cfg(not(all(unix, not(miri))))]
    true
}

/// Starts the threads, and returns how many there are.
fn start() -> usize {
    // As many as there are cores even if fewer are wanted now: more may be wanted later.
    let helpers = WANTED.load(Ordering::Relaxed).max(cores()) - 1;
    let begins = |&index: &usize| {
        let thread = thread::Builder::new().name(format!("bitlane-{index}"));
        thread
            .spawn(move || {
                loop {
                    CREW.next().help(index);
                }
            })
            .is_ok()
    };
    (0..helpers).take_while(begins).count()
}
