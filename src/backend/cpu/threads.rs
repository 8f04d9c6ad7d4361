//! The threads that help with large operations.
//!
//! The crate has threads of its own because latency matters most: an operation of some microseconds is over before a
//! sleeping thread has woken. A thread that has just helped therefore spins for [`PATIENCE`] before it sleeps.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use std::{hint, process, thread};

use super::sharing::Job;

/// How long a thread spins for work before it sleeps. Long enough for the next of several operations in a row, and no
/// longer than waking up takes.
pub(super) const PATIENCE: Duration = Duration::from_micros(50);

/// How many threads share an operation; 0 until it is set.
static WANTED: AtomicUsize = AtomicUsize::new(0);

/// The id of the process that has started the threads, or is starting them; 0 before that.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// How many threads have been started.
static STARTED: OnceLock<usize> = OnceLock::new();

static CREW: Crew = Crew::new();

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
    // Threads are started once; their number does not grow.
    STARTED.get().map_or(wanted, |started| wanted.min(started + 1))
}

fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

/// Whether a thread is spinning for work, and would help at once.
pub(super) fn are_awake() -> bool {
    CREW.awake.load(Ordering::Relaxed) > 0
}

/// Returns the threads of this process, and starts them at the first call. Returns `None` on a machine with one core,
/// if they cannot be started, while they are being started, and in a process that was forked from the one that has
/// started them.
///
/// A forked process has the memory of the threads but not the threads: work given to them would never be done, and a
/// lock that one of them held is never released. It therefore runs everything on the calling thread. Nothing here ever
/// waits, because a fork may happen at any time, even while another thread starts the others.
pub(super) fn crew() -> Option<&'static Crew> {
    let process = process::id();
    match OWNER.compare_exchange(0, process, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => {
            // Only the one call that has set the owner gets here.
            let _ = STARTED.set(start());
        }
        Err(owner) if owner == process => {}
        Err(_) => return None,
    }
    (*STARTED.get()? > 0).then_some(&CREW)
}

/// Starts the threads, and returns how many there are.
fn start() -> usize {
    // As many as there are cores even if fewer are wanted now: more may be wanted later.
    let helpers = WANTED.load(Ordering::Relaxed).max(cores()) - 1;
    let begins = |&index: &usize| {
        let thread = thread::Builder::new().name(format!("bitlane-{index}"));
        thread.spawn(move || CREW.serve(index)).is_ok()
    };
    (0..helpers).take_while(begins).count()
}

/// Threads that help with whatever is offered.
pub(super) struct Crew {
    offers: Mutex<Vec<Offer>>,
    /// How many helpers are wanted, so that no thread takes the lock for nothing.
    vacancies: AtomicUsize,
    /// How many threads are spinning for work.
    awake: AtomicUsize,
    offered: Condvar,
}

/// Work that some more threads may help with.
struct Offer {
    job: Arc<Job>,
    vacancies: usize,
}

impl Crew {
    const fn new() -> Crew {
        Crew {
            offers: Mutex::new(Vec::new()),
            vacancies: AtomicUsize::new(0),
            awake: AtomicUsize::new(0),
            offered: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Offer>> {
        // Nothing that runs under the lock panics.
        self.offers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks some threads to help with a job, and wakes as many as are not spinning.
    pub(super) fn offer(&self, job: &Arc<Job>, helpers: usize) {
        let mut offers = self.lock();
        offers.push(Offer { job: Arc::clone(job), vacancies: helpers });
        let vacancies = self.vacancies.fetch_add(helpers, Ordering::Release) + helpers;
        // Read under the lock: a thread that stops spinning takes the lock once more before it sleeps.
        let awake = self.awake.load(Ordering::Relaxed);
        drop(offers);
        for _ in awake..vacancies.min(awake + helpers) {
            self.offered.notify_one();
        }
    }

    /// Withdraws what is left of an offer.
    pub(super) fn withdraw(&self, job: &Arc<Job>) {
        let mut offers = self.lock();
        if let Some(place) = offers.iter().position(|offer| Arc::ptr_eq(&offer.job, job)) {
            let offer = offers.swap_remove(place);
            self.vacancies.fetch_sub(offer.vacancies, Ordering::Relaxed);
        }
    }

    /// The main loop of a thread, which runs for as long as the process.
    fn serve(&self, index: usize) {
        loop {
            self.next().help(index);
        }
    }

    /// Waits for the next job to help with.
    ///
    /// A thread that was woken too late spins again before it sleeps; otherwise each of several short operations in a
    /// row would wake it for nothing.
    fn next(&self) -> Arc<Job> {
        loop {
            self.awake.fetch_add(1, Ordering::Relaxed);
            let soon = self.look_out();
            self.awake.fetch_sub(1, Ordering::Relaxed);
            if let Some(job) = soon {
                return job;
            }
            let mut offers = self.lock();
            if let Some(job) = self.take(&mut offers) {
                return job;
            }
            let mut offers = self.offered.wait(offers).unwrap_or_else(PoisonError::into_inner);
            if let Some(job) = self.take(&mut offers) {
                return job;
            }
        }
    }

    fn look_out(&self) -> Option<Arc<Job>> {
        let start = Instant::now();
        loop {
            for _ in 0..16 {
                if self.vacancies.load(Ordering::Acquire) > 0
                    && let Some(job) = self.take(&mut self.lock())
                {
                    return Some(job);
                }
                hint::spin_loop();
            }
            if start.elapsed() >= PATIENCE {
                return None;
            }
        }
    }

    fn take(&self, offers: &mut Vec<Offer>) -> Option<Arc<Job>> {
        let offer = offers.first_mut()?;
        self.vacancies.fetch_sub(1, Ordering::Relaxed);
        offer.vacancies -= 1;
        if offer.vacancies == 0 {
            return Some(offers.remove(0).job);
        }
        Some(Arc::clone(&offer.job))
    }
}
