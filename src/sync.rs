//! The locks and atomics of the files that `tests/models` checks, which are the standard library's. The models compile
//! the same files with another module of this name, whose locks and atomics take every order that is possible.

pub(crate) use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

#[cfg(feature = "cpu")]
pub(crate) use std::hint::spin_loop;
#[cfg(feature = "cpu")]
pub(crate) use std::sync::atomic::{AtomicUsize, Ordering};
#[cfg(feature = "cpu")]
pub(crate) use std::sync::{Condvar, Mutex, MutexGuard};
