//! Host functions of streams, on threads of the driver's own.
//!
//! One thread calls the functions and does nothing else, as a function may wait for whatever it likes. Another one
//! brings streams up to their host functions, so that a program may wait for a function without synchronising.

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

/// Whether this thread is in a host function of a stream, which may not call the API.
pub fn in_host_function() -> bool {
    IN_HOST_FUNCTION.get()
}

/// A function, its argument and the stream that waits for its end.
struct Call {
    stream: u64,
    function: usize,
    data: usize,
}

impl Call {
    fn make(self) {
        IN_HOST_FUNCTION.set(true);
        // SAFETY: the program handed over a function of this type together with its argument, to be called once
        // the work before it is done.
        unsafe {
            let function: extern "C" fn(*mut c_void) = std::mem::transmute(self.function);
            function(self.data as *mut c_void);
        }
        IN_HOST_FUNCTION.set(false);
        if let Some(stream) = enter().streams.get_mut(&self.stream) {
            stream.busy = false;
            stream.done += 1;
        }
    }
}

/// A thread that does what it is sent, in order.
struct Worker<T>(Mutex<Option<Sender<T>>>);

impl<T: Send + 'static> Worker<T> {
    const fn new() -> Worker<T> {
        Worker(Mutex::new(None))
    }

    /// Sends a job to the thread, which begins with the first one.
    fn send(&self, job: T, work: fn(T)) {
        let mut sender = lock(&self.0);
        let sender = sender.get_or_insert_with(|| {
            let (sender, jobs) = channel();
            std::thread::spawn(move || jobs.into_iter().for_each(work));
            sender
        });
        // The thread lives as long as the sender, which is never dropped.
        let _ = sender.send(job);
    }
}

/// Calls a host function of a stream that is marked as busy until the function has ended.
pub fn call(stream: u64, function: usize, data: usize) {
    static CALLS: Worker<Call> = Worker::new();
    CALLS.send(Call { stream, function, data }, Call::make);
}

/// Brings a stream up to a number, some time from now.
pub fn bring_about(goal: (u64, u64)) {
    static GOALS: Worker<(u64, u64)> = Worker::new();
    GOALS.send(goal, |(stream, number)| drop(run_until(enter(), stream, number)));
}
