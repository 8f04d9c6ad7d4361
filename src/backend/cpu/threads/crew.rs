//! How threads find work to help with.
//!
//! `tests/models` checks this file and `sharing` with every order in which threads can take turns.

use std::sync::{Arc, PoisonError};

use super::Patience;
use super::sharing::Job;
use crate::sync::{AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, spin_loop};

/// Threads that help with whatever is offered.
pub(crate) struct Crew {
    pub(crate) offers: Mutex<Vec<Offer>>,
    /// How many helpers are wanted, so that no thread takes the lock for nothing.
    pub(crate) vacancies: AtomicUsize,
    /// How many threads are spinning for work.
    pub(crate) awake: AtomicUsize,
    pub(crate) offered: Condvar,
}

/// Work that some more threads may help with.
pub(crate) struct Offer {
    job: Arc<Job>,
    vacancies: usize,
}

impl Crew {
    /// Whether a thread is spinning for work.
    pub(crate) fn is_awake(&self) -> bool {
        self.awake.load(Ordering::Relaxed) > 0
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Offer>> {
        // Nothing that runs under the lock panics.
        self.offers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks some threads to help with a job, and wakes as many as are not spinning.
    pub(crate) fn offer(&self, job: &Arc<Job>, helpers: usize) {
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
    pub(crate) fn withdraw(&self, job: &Arc<Job>) {
        let mut offers = self.lock();
        if let Some(place) = offers.iter().position(|offer| Arc::ptr_eq(&offer.job, job)) {
            let offer = offers.swap_remove(place);
            self.vacancies.fetch_sub(offer.vacancies, Ordering::Relaxed);
        }
    }

    /// Waits for the next job to help with.
    ///
    /// A thread that was woken too late spins again before it sleeps; otherwise each of several short operations in a
    /// row would wake it for nothing.
    pub(crate) fn next(&self) -> Arc<Job> {
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

    /// Spins for work.
    fn look_out(&self) -> Option<Arc<Job>> {
        let mut patience = Patience::new();
        while !patience.is_over() {
            if self.vacancies.load(Ordering::Acquire) > 0
                && let Some(job) = self.take(&mut self.lock())
            {
                return Some(job);
            }
            spin_loop();
        }
        None
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
