//! Loom's locks and atomics, under the names that the files of the crate import.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::{LockResult, PoisonError};

pub(crate) use loom::hint::spin_loop;
pub(crate) use loom::sync::atomic::{AtomicUsize, Ordering};
pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};

/// A lock that lets nobody read while somebody waits to write, which the standard library's lock may do. Loom's own lets
/// them, and so would not notice that a thread reads twice, or that two threads read in different orders.
pub(crate) struct RwLock<T> {
    state: Mutex<State>,
    changed: Condvar,
    value: UnsafeCell<T>,
}

#[derive(Default)]
struct State {
    readers: usize,
    is_written: bool,
    waiting_to_write: usize,
}

// SAFETY: guards give out shared references while nobody writes, and a unique one while nobody else has any.
unsafe impl<T: Send + Sync> Sync for RwLock<T> {}

impl<T> RwLock<T> {
    pub(crate) fn new(value: T) -> RwLock<T> {
        let (state, changed) = (Mutex::new(State::default()), Condvar::new());
        RwLock { state, changed, value: UnsafeCell::new(value) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        let mut state = self.state();
        while state.is_written || state.waiting_to_write > 0 {
            state = self.wait(state);
        }
        state.readers += 1;
        Ok(RwLockReadGuard(self))
    }

    pub(crate) fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        let mut state = self.state();
        state.waiting_to_write += 1;
        while state.is_written || state.readers > 0 {
            state = self.wait(state);
        }
        state.waiting_to_write -= 1;
        state.is_written = true;
        Ok(RwLockWriteGuard(self))
    }

    pub(crate) fn into_inner(self) -> LockResult<T> {
        Ok(self.value.into_inner())
    }
}

pub(crate) struct RwLockReadGuard<'a, T>(&'a RwLock<T>);

impl<T> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: as long as the guard lives, nobody writes.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        self.0.state().readers -= 1;
        self.0.changed.notify_all();
    }
}

pub(crate) struct RwLockWriteGuard<'a, T>(&'a RwLock<T>);

impl<T> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: as long as the guard lives, nobody else reads or writes.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        self.0.state().is_written = false;
        self.0.changed.notify_all();
    }
}
