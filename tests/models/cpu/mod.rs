//! The threads that share an operation.

#[path = "../../../src/backend/cpu/threads/crew.rs"]
mod crew;
#[path = "../../../src/backend/cpu/threads/sharing.rs"]
mod sharing;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::thread::{self, JoinHandle};

use self::settings::Settings;
use self::sharing::{Job, Team};
use self::threads::{Patience, are_awake, count, crew};

/// What the two files know of cores: nothing here depends on them.
mod placement {
    pub(super) fn current_core() -> Option<usize> {
        None
    }

    pub(super) fn leave(_core: Option<usize>) {}
}

/// What the two files know of the settings.
mod settings {
    pub(super) struct Settings {
        pub(super) parallel_bytes: usize,
        pub(super) threads: Option<usize>,
    }
}

/// What the two files know of the process's threads. The crew is new in every run of a model.
mod threads {
    use std::cell::Cell;

    use super::crew::Crew;
    use crate::sync::{AtomicUsize, Condvar, Mutex};

    loom::lazy_static! {
        static ref CREW: Crew = Crew {
            offers: Mutex::new(Vec::new()),
            vacancies: AtomicUsize::new(0),
            awake: AtomicUsize::new(0),
            offered: Condvar::new(),
        };
    }

    pub(super) fn crew() -> Option<&'static Crew> {
        Some(&CREW)
    }

    pub(super) fn are_awake() -> bool {
        CREW.is_awake()
    }

    pub(super) fn count() -> usize {
        3
    }

    thread_local! {
        /// How many turns a thread spins. Loom runs all threads of a model on one.
        pub(super) static TURNS: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) struct Patience(usize);

    impl Patience {
        pub(super) fn new() -> Patience {
            Patience(TURNS.get())
        }

        pub(super) fn is_over(&mut self) -> bool {
            let is_over = self.0 == 0;
            self.0 = self.0.saturating_sub(1);
            is_over
        }
    }
}

/// Runs a model in every order: once with threads that sleep at once, and once with threads that spin for a turn.
/// (While a thread spins, loom runs all others for as long as they can, so it does not find its way from there to every
/// way of sleeping.)
fn in_every_order(preemptions: usize, model: impl Fn() + Clone + Send + Sync + 'static) {
    for turns in [0, 1] {
        threads::TURNS.set(turns);
        crate::in_every_order(preemptions, model.clone());
    }
}

/// Numbers, of which loom notices if a thread touches one while another writes it.
struct Cells(Vec<UnsafeCell<usize>>);

// SAFETY: loom fails the test if the cells are not used in turn.
unsafe impl Sync for Cells {}
// SAFETY: as above.
unsafe impl Send for Cells {}

impl Cells {
    fn new(count: usize) -> Cells {
        Cells((0..count).map(|_| UnsafeCell::new(0)).collect())
    }

    fn add(&self, index: usize, number: usize) {
        // SAFETY: loom fails the test if another thread reads or writes meanwhile.
        self.0[index].with_mut(|cell| unsafe { *cell += number });
    }

    fn get(&self, index: usize) -> usize {
        // SAFETY: loom fails the test if another thread writes meanwhile.
        self.0[index].with(|cell| unsafe { *cell })
    }
}

/// Threads that serve the crew, as those of the process do, until they are dismissed.
struct Helpers {
    threads: Vec<JoinHandle<()>>,
    /// The last job of each. It is made before the threads start: loom sees only its own atomics, so nothing else may
    /// tell them when to end.
    last: Arc<Job>,
}

impl Helpers {
    fn start(count: usize) -> Helpers {
        let last = Arc::new(Job::new(0, 2, &|_| {}));
        let start = |index| {
            let last = Arc::clone(&last);
            thread::spawn(move || {
                let crew = threads::crew().unwrap();
                loop {
                    let job = crew.next();
                    job.help(index);
                    if Arc::ptr_eq(&job, &last) {
                        break;
                    }
                }
            })
        };
        Helpers { threads: (0..count).map(start).collect(), last }
    }

    /// Offers the last job to all of them. One that is not woken by it sleeps forever, which loom reports as a deadlock.
    fn dismiss(self) {
        threads::crew().unwrap().offer(&self.last, self.threads.len());
        self.threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}

/// Shares an operation among this thread and so many helpers.
fn share(helpers: usize, parts: usize, work: &(dyn Fn(usize) + Sync)) {
    let settings = Settings { parallel_bytes: 1, threads: Some(1 + helpers) };
    Team::new(1, &settings).share(parts, work);
}

/// Shares an operation that counts how often each part is done, and checks that the caller sees each done once.
fn share_counting(helpers: usize, parts: usize) {
    let done = Cells::new(parts);
    share(helpers, parts, &|part| done.add(part, 1));
    (0..parts).for_each(|part| assert_eq!(done.get(part), 1));
}

pub fn every_part_is_done_once_and_seen() {
    for (preemptions, helpers, parts) in [(3, 1, 2), (3, 1, 3), (2, 2, 3)] {
        in_every_order(preemptions, move || {
            let threads = Helpers::start(helpers);
            share_counting(helpers, parts);
            threads.dismiss();
        });
    }
}

/// What the work borrows is the caller's again once the call has returned.
pub fn nobody_uses_the_work_after_its_owner_returned() {
    in_every_order(3, || {
        let threads = Helpers::start(1);
        let borrowed = Cells::new(1);
        share(1, 2, &|_| assert_eq!(borrowed.get(0), 0));
        borrowed.add(0, 1);
        threads.dismiss();
    });
}

pub fn operations_in_a_row() {
    in_every_order(2, || {
        let threads = Helpers::start(1);
        share_counting(1, 2);
        share_counting(1, 2);
        threads.dismiss();
    });
}

pub fn two_callers_share_the_threads() {
    in_every_order(2, || {
        let threads = Helpers::start(1);
        let other = thread::spawn(|| share_counting(1, 2));
        share_counting(1, 2);
        other.join().unwrap();
        threads.dismiss();
    });
}

/// If a helper's part panics, the caller gets the panic, and nobody uses the work any more. (Loom cannot follow a thread
/// that lets others run while it unwinds, as the caller does if its own part panics.)
pub fn a_panic_of_a_helper_reaches_the_caller() {
    in_every_order(3, || {
        let threads = Helpers::start(1);
        let caller = thread::current().id();
        let panics = Cells::new(1);
        let work = |_| {
            if thread::current().id() != caller {
                panics.add(0, 1);
                resume_unwind(Box::new("deliberate"));
            }
        };
        let caught = catch_unwind(AssertUnwindSafe(|| share(1, 2, &work)));
        let message = caught.err().and_then(|panic| panic.downcast_ref().copied());
        assert_eq!(message, (panics.get(0) > 0).then_some("deliberate"));
        threads.dismiss();
    });
}
