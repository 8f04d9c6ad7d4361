//! Streams as queues of deferred work, and the order between them.
//!
//! Work items are numbered per stream. An event is a number on a stream; waiting for it is a work item that first runs
//! the other stream up to that number. Unless the settings say otherwise, nothing runs before the program synchronises.

use super::capture::Capture;
use super::copies::{Fill, Source};
use super::order::Clock;
use super::running::run_by_policy;
use super::state::{Guard, State, thread};
use crate::error::{Code, ERROR_INVALID_HANDLE, ERROR_STREAM_CAPTURE_INVALIDATED};
use crate::exec::Program;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

/// A kernel with its parameters.
#[derive(Debug)]
pub struct KernelLaunch {
    pub program: Arc<Program>,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
    pub params: Vec<u8>,
    /// Whether all blocks are resident at the same time and may wait for each other.
    pub cooperative: bool,
}

/// A work item on a stream.
#[derive(Debug, Clone)]
pub enum Work {
    Kernel(Arc<KernelLaunch>),
    Copy {
        to: u64,
        from: Source,
        len: u64,
        /// Whether the destination is pageable host memory, which the program may free when a call fails.
        pageable: bool,
    },
    Fill(Fill),
    /// Makes a stream-ordered allocation accessible.
    Open {
        addr: u64,
        serial: u64,
    },
    /// Frees an allocation of a graph, which becomes inaccessible but keeps its address.
    Close {
        addr: u64,
        serial: u64,
    },
    /// A stream-ordered free.
    Free {
        addr: u64,
    },
    /// Waits until another stream has reached a number.
    Wait {
        stream: u64,
        number: u64,
    },
    Record {
        event: u64,
    },
    /// A host function and its argument.
    Host {
        function: usize,
        data: usize,
    },
    Nothing,
}

/// A stream.
#[derive(Debug)]
pub struct Stream {
    pub context: u64,
    /// Whether it was created by the program, not by the driver.
    pub user: bool,
    /// Whether it and the legacy stream wait for each other.
    pub blocking: bool,
    pub destroyed: bool,
    pub priority: i32,
    pub flags: u32,
    /// Pending work, each item with its clock.
    pub queue: VecDeque<(Work, Arc<Clock>)>,
    /// What is complete before the next work item that is submitted.
    pub clock: Arc<Clock>,
    /// The number of the work item submitted last.
    pub pushed: u64,
    /// The number of the work item completed last.
    pub done: u64,
    /// Whether one of its host functions is running.
    pub busy: bool,
    pub capture: Option<Capture>,
}

impl Stream {
    /// Creates an empty stream.
    pub fn new(context: u64, user: bool, flags: u32, priority: i32) -> Stream {
        Stream {
            context,
            user,
            blocking: flags & 1 == 0,
            destroyed: false,
            priority,
            flags,
            queue: VecDeque::new(),
            clock: Arc::default(),
            pushed: 0,
            done: 0,
            busy: false,
            capture: None,
        }
    }
}

/// An event.
#[derive(Debug, Default, Clone)]
pub struct Event {
    pub context: u64,
    pub flags: u32,
    /// Where it was recorded last: the stream, and the number on it.
    pub recorded: Option<(u64, u64)>,
    pub at: Option<Instant>,
    /// What is complete when it is.
    pub clock: Arc<Clock>,
    /// For an event recorded on a stream that is being captured: the capture, the stream, and its work items so far.
    pub captured: Option<(u64, u64, u64)>,
}

impl State {
    /// Returns the stream behind a handle, in a context.
    pub fn stream(&mut self, cx: u64, handle: u64) -> Result<u64, Code> {
        let context = self.contexts.get(&cx).ok_or(ERROR_INVALID_HANDLE)?;
        match handle {
            0 | 1 => Ok(context.legacy),
            2 => match context.per_thread.get(&thread()) {
                Some(&stream) => Ok(stream),
                None => {
                    let stream = self.handle();
                    self.streams.insert(stream, Stream::new(cx, false, 0, 0));
                    if let Some(context) = self.contexts.get_mut(&cx) {
                        context.per_thread.insert(thread(), stream);
                    }
                    Ok(stream)
                }
            },
            _ => self
                .streams
                .get(&handle)
                .filter(|s| s.user && !s.destroyed)
                .map(|_| handle)
                .ok_or(ERROR_INVALID_HANDLE),
        }
    }

    /// Returns whether a stream is the legacy default stream of its context.
    pub fn is_legacy(&self, stream: u64) -> bool {
        let context = self.streams.get(&stream).and_then(|s| self.contexts.get(&s.context));
        context.is_some_and(|c| c.legacy == stream)
    }

    /// Appends work to a stream, or to the graph if the stream is being captured.
    pub fn push(&mut self, stream: u64, work: Work) -> Result<(), Code> {
        if let Some(capture) = self.streams.get(&stream).and_then(|s| s.capture.as_ref()) {
            let id = capture.id;
            if capture.invalid {
                return Err(ERROR_STREAM_CAPTURE_INVALIDATED);
            }
            self.record_into(id, stream, work);
            return Ok(());
        }
        self.not_capturing(stream)?;
        self.order_with_legacy(stream);
        self.advance_clock(stream);
        if let Some(s) = self.streams.get_mut(&stream) {
            let calls = matches!(work, Work::Host { .. });
            s.queue.push_back((work, s.clock.clone()));
            s.pushed += 1;
            if calls {
                self.host_functions.push((stream, s.pushed));
            }
        }
        Ok(())
    }

    /// Makes the legacy stream and the blocking streams of its context wait for each other.
    fn order_with_legacy(&mut self, stream: u64) {
        let Some(me) = self.streams.get(&stream) else { return };
        if !me.blocking {
            return;
        }
        let legacy = self.contexts.get(&me.context).map_or(0, |c| c.legacy);
        let context = me.context;
        let waits: Vec<Work> = if legacy == stream {
            self.streams
                .iter()
                .filter(|(k, s)| {
                    **k != stream && s.context == context && s.blocking && s.done < s.pushed
                })
                .map(|(&k, s)| Work::Wait { stream: k, number: s.pushed })
                .collect()
        } else {
            self.streams
                .get(&legacy)
                .filter(|s| s.done < s.pushed)
                .map(|s| Work::Wait { stream: legacy, number: s.pushed })
                .into_iter()
                .collect()
        };
        if let Some(s) = self.streams.get_mut(&stream) {
            s.pushed += waits.len() as u64;
            let clock = s.clock.clone();
            s.queue.extend(waits.into_iter().map(|wait| (wait, clock.clone())));
        }
    }
}

/// Appends work to a stream, then runs what the settings want to have run now.
pub fn submit(mut s: Guard, stream: u64, work: Work) -> Result<Guard, Code> {
    s.push(stream, work)?;
    Ok(run_by_policy(s, stream))
}
