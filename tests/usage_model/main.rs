//! A model of `backend/cuda/usage.rs`: that file itself, with loom's locks and atomics, on streams that only record which
//! work waits for which. loom runs each model in every order that the threads' locks and atomics allow, and in each of
//! them any two conflicting pieces of work on the memory must be ordered.

#[path = "../../src/exclusive.rs"]
#[allow(dead_code, reason = "the model uses a part")]
mod exclusive;
#[path = "../../src/backend/cuda/usage.rs"]
#[allow(dead_code, reason = "the model uses a part")]
mod usage;

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use loom::sync::RwLock;
use loom::thread;

use crate::exclusive::Exclusive;
use crate::stream::{Queue, Queued, Stream, Work};
use crate::usage::Usage;

/// The error of the driver, which the model's streams never return.
pub type Result<T> = std::result::Result<T, ()>;

/// The locks and atomics that the file uses in place of those of `std`.
mod sync {
    pub use loom::sync::atomic::AtomicPtr;
    pub use loom::sync::{Mutex, MutexGuard, RwLockWriteGuard};
}

mod stream {
    use std::sync::{Arc, Mutex};

    use loom::sync::atomic::{AtomicU32, Ordering};

    /// Work on the memory.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Work {
        Read,
        Write,
    }

    /// A piece of work: its own bit, and the bits of the pieces that it waits for.
    #[derive(Clone, Copy, Debug)]
    pub struct Queued {
        pub work: Work,
        pub bit: u32,
        pub after: u32,
    }

    /// All work that was queued, on any stream.
    #[derive(Default)]
    pub struct Queue {
        count: AtomicU32,
        pub works: Mutex<Vec<Queued>>,
    }

    /// A stream. Later work on it waits for the pieces whose bits are set here.
    ///
    /// loom sees every access, so that it explores all orders of them. Being relaxed they order nothing else, and as they
    /// read and write in one step they always see the latest value, as a driver does.
    pub struct Stream {
        queue: Arc<Queue>,
        waits_for: AtomicU32,
    }

    impl Stream {
        pub fn new(queue: &Arc<Queue>) -> Arc<Stream> {
            Arc::new(Stream { queue: Arc::clone(queue), waits_for: AtomicU32::new(0) })
        }

        /// Queues work.
        pub fn launch(&self, work: Work) {
            let bit = 1 << self.queue.count.fetch_add(1, Ordering::Relaxed);
            let after = self.waits_for.fetch_or(bit, Ordering::Relaxed);
            self.queue.works.lock().unwrap().push(Queued { work, bit, after });
        }

        pub fn wait_for(&self, other: &Stream) -> crate::Result<()> {
            let theirs = other.waits_for.fetch_or(0, Ordering::Relaxed);
            self.waits_for.fetch_or(theirs, Ordering::Relaxed);
            Ok(())
        }

        pub fn is_captured(&self) -> crate::Result<bool> {
            Ok(false)
        }

        pub fn synchronize(&self) -> crate::Result<()> {
            Ok(())
        }
    }
}

/// Memory with its storage's lock, and two streams.
struct Memory {
    usage: RwLock<Usage>,
    streams: [Arc<Stream>; 2],
    queue: Arc<Queue>,
}

impl Memory {
    fn new() -> Arc<Memory> {
        let queue = Arc::new(Queue::default());
        let streams = [(); 2].map(|()| Stream::new(&queue));
        let usage = RwLock::new(Usage::new(&streams[0]));
        Arc::new(Memory { usage, streams, queue })
    }

    /// Reads the memory on a stream, as an operation does: ordered and queued under the lock for reading.
    fn read(&self, stream: usize) {
        let usage = self.usage.read().unwrap();
        usage.before_read(&self.streams[stream]).unwrap();
        self.streams[stream].launch(Work::Read);
    }

    /// Writes the memory on a stream, as an operation does: ordered and queued under the lock for writing.
    fn write(&self, stream: usize) {
        let mut usage = self.usage.write().unwrap();
        Usage::before_write(Exclusive::new(&mut usage), &self.streams[stream]).unwrap();
        self.streams[stream].launch(Work::Write);
    }

    /// Hands the address to a consumer on a stream, as an export does: ordered under the lock for writing, with nothing
    /// queued.
    fn export(&self, stream: usize) {
        let mut usage = self.usage.write().unwrap();
        Usage::before_write(Exclusive::new(&mut usage), &self.streams[stream]).unwrap();
    }

    /// Fails if a write and another piece of work do not wait for each other in either direction.
    fn check(&self) {
        let works: Vec<Queued> = self.queue.works.lock().unwrap().clone();
        for (number, one) in works.iter().enumerate() {
            for other in &works[..number] {
                let conflict = [one.work, other.work].contains(&Work::Write);
                let ordered = one.after & other.bit != 0 || other.after & one.bit != 0;
                assert!(!conflict || ordered, "unordered: {works:?}");
            }
        }
    }
}

/// Runs threads on the same memory, in every order.
fn explore(threads: &'static [fn(&Memory)]) {
    loom::model(move || {
        let memory = Memory::new();
        memory.write(0);
        let started: Vec<_> = threads
            .iter()
            .map(|&run| {
                let memory = Arc::clone(&memory);
                thread::spawn(move || run(&memory))
            })
            .collect();
        started.into_iter().for_each(|thread| thread.join().unwrap());
        // Whatever came before, a write on the first stream comes after it.
        memory.write(0);
        memory.check();
    });
}

#[test]
fn readers_and_writers_of_different_streams_are_ordered() {
    explore(&[
        |memory| {
            memory.read(1);
            memory.write(1);
        },
        |memory| memory.read(0),
    ]);
    explore(&[|memory| memory.write(1), |memory| memory.write(0)]);
    explore(&[|memory| memory.read(1), |memory| memory.read(1)]);
}

#[test]
fn an_export_does_not_forget_a_reader() {
    explore(&[|memory| memory.read(1), |memory| memory.export(0)]);
    explore(&[|memory| memory.read(1), |memory| memory.export(1)]);
    explore(&[
        |memory| memory.write(1),
        |memory| {
            memory.export(0);
            memory.read(0);
        },
    ]);
}

/// The model finds the mistake: a reader that can be forgotten because it does not keep the lock until it has queued its
/// read. `Exclusive` keeps an export from forgetting one that does.
#[test]
fn a_reader_that_does_not_keep_the_lock_is_found() {
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
        explore(&[
            |memory| {
                memory.usage.read().unwrap().before_read(&memory.streams[1]).unwrap();
                memory.streams[1].launch(Work::Read);
            },
            |memory| memory.export(0),
        ]);
    }));
    let message = *outcome.unwrap_err().downcast::<String>().unwrap();
    assert!(message.starts_with("unordered"), "{message}");
}
