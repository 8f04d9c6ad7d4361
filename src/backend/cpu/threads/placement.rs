//! Keeping threads that share an operation on different cores.
//!
//! A scheduler that finds no idle core wakes a thread on the core of the caller, and may leave it there for tens of
//! milliseconds although another core falls idle at once: the two then take turns, and sharing makes an operation slower.
//! A helper that finds itself on the caller's core therefore leaves it.

/// Returns the core on which this thread runs, or `None` where the system does not say. Miri, which has no such call, does
/// not say either.
pub(crate) fn current_core() -> Option<usize> {
    #[cfg(all(target_os = "linux", not(miri)))]
    {
        // SAFETY: the function takes nothing and only returns a number.
        usize::try_from(unsafe { libc::sched_getcpu() }).ok()
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    None
}

/// Moves this thread to another core than the given one, if it runs there and may run elsewhere.
pub(crate) fn leave(core: Option<usize>) {
    #[cfg(all(target_os = "linux", not(miri)))]
    if let Some(core) = core
        && current_core() == Some(core)
    {
        linux::leave(core);
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = core;
}

#[cfg(all(target_os = "linux", not(miri)))]
mod linux {
    use libc::{CPU_CLR, CPU_COUNT, CPU_SETSIZE, cpu_set_t, sched_getaffinity, sched_setaffinity};

    /// Forbids this thread the core, which moves it at once, and then allows it all cores that it had before: where it
    /// runs later is again up to the scheduler.
    pub(crate) fn leave(core: usize) {
        if core >= CPU_SETSIZE as usize {
            return;
        }
        // SAFETY: a set of cores is an array of integers, for which zeros are valid.
        let mut allowed: cpu_set_t = unsafe { std::mem::zeroed() };
        // SAFETY: the set is valid for writes of its size; 0 is the calling thread.
        if unsafe { sched_getaffinity(0, size_of::<cpu_set_t>(), &mut allowed) } != 0 {
            return;
        }
        let mut others = allowed;
        // SAFETY: the core lies within the set.
        let has_others = unsafe {
            CPU_CLR(core, &mut others);
            CPU_COUNT(&others) > 0
        };
        if !has_others {
            return;
        }
        // SAFETY: both sets are valid for reads of their size. A call that fails changes nothing.
        unsafe {
            sched_setaffinity(0, size_of::<cpu_set_t>(), &others);
            sched_setaffinity(0, size_of::<cpu_set_t>(), &allowed);
        }
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_leaves_the_core_and_keeps_its_choice_of_cores() {
        let cores = || std::thread::available_parallelism().unwrap().get();
        let before = cores();
        // The scheduler may move the thread at any time, so what counts is that one of many tries is seen to work.
        let left = (0..100).any(|_| {
            let core = current_core();
            leave(core);
            current_core() != core
        });
        assert!(left || before == 1);
        assert_eq!(cores(), before);
        leave(Some(usize::MAX));
        leave(None);
    }
}
