//! Host functions of streams, which run on threads of the driver.
//!
//! One thread calls the functions and does nothing else, because a function may block. Another one runs streams up to
//! their host functions, so that a program may wait for a function without synchronising.

use super::running::run_until;
use super::state::enter;
use crate::sanitizer::lock;
use std::cell::Cell;
use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};

thread_local! {
    static IN_HOST_FUNCTION: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether this thread is running a host function of a stream, which must not call the API.
pub fn in_host_function() -> bool {
    IN_HOST_FUNCTION.get()
}

/// A host function, its argument and the stream that waits for it.
struct Call {
    stream: u64,
    function: usize,
    data: usize,
}

impl Call {
    fn make(self) {
        IN_HOST_FUNCTION.set(true);
        // SAFETY: by the API's contract the program passed a function of this type with its argument, to be called
        // when the work before it has completed.
        unsafe {
            let function: extern "C" fn(*mut c_void) = std::mem::transmute(self.function);
            function(self.data as *mut c_void);
        }
        IN_HOST_FUNCTION.set(false);
        let mut s = enter();
        // The function may have told another thread that the work before it is complete.
        let clock = s.reached(self.stream);
        s.host_waited(&clock);
        if let Some(stream) = s.streams.get_mut(&self.stream) {
            stream.busy = false;
            stream.done += 1;
        }
    }
}

/// A thread that processes the jobs sent to it, in order.
struct Worker<T>(Mutex<Option<Sender<T>>>);

impl<T: Send + 'static> Worker<T> {
    const fn new() -> Worker<T> {
        Worker(Mutex::new(None))
    }

    /// Sends a job to the thread, which the first job starts.
    fn send(&self, job: T, work: fn(T)) {
        let mut sender = lock(&self.0);
        let sender = sender.get_or_insert_with(|| {
            let (sender, jobs) = channel();
            std::thread::spawn(move || jobs.into_iter().for_each(work));
            sender
        });
        // Cannot fail: the receiver lives as long as this sender, which is never dropped.
        let _ = sender.send(job);
    }
}

/// Calls a host function in the background. The caller has marked its stream as busy until the function returns.
pub fn call(stream: u64, function: usize, data: usize) {
    static CALLS: Worker<Call> = Worker::new();
    CALLS.send(Call { stream, function, data }, Call::make);
}

/// Runs a stream up to a work number in the background.
pub fn run_in_background(goal: (u64, u64)) {
    static GOALS: Worker<(u64, u64)> = Worker::new();
    GOALS.send(goal, |(stream, number)| drop(run_until(enter(), stream, number)));
}
