//! Stream capture and graphs. A graph holds the work of the captured streams in the order in which it was submitted,
//! which respects every dependency.

use super::queues::{Stream, Work};
use super::state::{State, thread};
use crate::error::{
    Code, ERROR_ILLEGAL_STATE, ERROR_INVALID_VALUE, ERROR_STREAM_CAPTURE_IMPLICIT,
    ERROR_STREAM_CAPTURE_INVALIDATED, ERROR_STREAM_CAPTURE_MERGE, ERROR_STREAM_CAPTURE_UNJOINED,
    ERROR_STREAM_CAPTURE_UNMATCHED, ERROR_STREAM_CAPTURE_UNSUPPORTED,
    ERROR_STREAM_CAPTURE_WRONG_THREAD,
};
use std::cell::Cell;

// Capture modes. While a capture is active, potentially unsafe API calls are forbidden to every thread (0, global), to
// the thread that began it (1, thread-local) or to none (2, relaxed).
const GLOBAL: u32 = 0;
const RELAXED: u32 = 2;

thread_local! {
    /// The thread's own mode: whether it respects the captures of all threads, only its own, or none.
    static MODE: Cell<u32> = const { Cell::new(GLOBAL) };
}

/// Sets the thread's mode and returns the old one.
pub fn exchange_mode(mode: u32) -> Result<u32, Code> {
    if mode > RELAXED { Err(ERROR_INVALID_VALUE) } else { Ok(MODE.replace(mode)) }
}

/// The participation of a stream in a capture.
#[derive(Debug, Clone)]
pub struct Capture {
    /// The graph being captured.
    pub id: u64,
    /// 0 global, 1 thread-local, 2 relaxed.
    pub mode: u32,
    /// The thread that began it.
    pub thread: u64,
    pub invalid: bool,
    /// Whether the capture began on this stream.
    pub origin: bool,
    /// The number of work items so far.
    pub count: u64,
    /// How many of them another stream has waited for.
    pub joined: u64,
}

impl Capture {
    /// Creates the participation of an internal stream, in a graph that the program is not capturing.
    pub fn into(graph: u64) -> Capture {
        let (mode, thread) = (RELAXED, thread());
        Capture { id: graph, mode, thread, invalid: false, origin: false, count: 0, joined: 0 }
    }
}

/// A graph.
#[derive(Debug, Default)]
pub struct Graph {
    pub works: Vec<Work>,
    /// Whether it is still being captured.
    pub open: bool,
}

/// An executable graph.
#[derive(Debug)]
pub struct Exec {
    pub works: Vec<Work>,
}

impl State {
    /// Begins a capture on a stream.
    pub fn begin_capture(&mut self, stream: u64, mode: u32) -> Result<(), Code> {
        if mode > RELAXED {
            return Err(ERROR_INVALID_VALUE);
        }
        if self.is_legacy(stream) {
            return Err(ERROR_STREAM_CAPTURE_UNSUPPORTED);
        }
        let s = self.streams.get(&stream).ok_or(ERROR_INVALID_VALUE)?;
        if s.capture.is_some() {
            return Err(ERROR_ILLEGAL_STATE);
        }
        let id = self.handle();
        self.graphs.insert(id, Graph { works: Vec::new(), open: true });
        if let Some(s) = self.streams.get_mut(&stream) {
            s.capture = Some(Capture { mode, origin: true, ..Capture::into(id) });
        }
        Ok(())
    }

    /// Ends a capture and returns the graph.
    pub fn end_capture(&mut self, stream: u64) -> Result<u64, Code> {
        let capture =
            self.streams.get(&stream).and_then(|s| s.capture.clone()).ok_or(ERROR_ILLEGAL_STATE)?;
        if !capture.origin {
            return Err(ERROR_STREAM_CAPTURE_UNMATCHED);
        }
        if capture.mode != RELAXED && capture.thread != thread() {
            return Err(ERROR_STREAM_CAPTURE_WRONG_THREAD);
        }
        self.close_capture(&capture)
    }

    /// Ends the capture of a stream that is being destroyed, whichever thread began it.
    pub fn abandon_capture(&mut self, stream: u64) {
        self.invalidate(stream);
        if let Some(capture) = self.streams.get(&stream).and_then(|s| s.capture.clone())
            && capture.origin
        {
            let _ = self.close_capture(&capture);
        }
    }

    fn close_capture(&mut self, capture: &Capture) -> Result<u64, Code> {
        let mut unjoined = false;
        for s in self.streams.values_mut() {
            if let Some(c) = s.capture.take_if(|c| c.id == capture.id) {
                unjoined |= !c.origin && c.joined < c.count;
            }
        }
        for event in self.events.values_mut() {
            event.captured.take_if(|c| c.0 == capture.id);
        }
        let failed = if capture.invalid {
            ERROR_STREAM_CAPTURE_INVALIDATED
        } else {
            ERROR_STREAM_CAPTURE_UNJOINED
        };
        if capture.invalid || unjoined {
            if let Some(graph) = self.graphs.remove(&capture.id) {
                self.free_memory_of(&graph.works);
            }
            return Err(failed);
        }
        if let Some(graph) = self.graphs.get_mut(&capture.id) {
            graph.open = false;
        }
        Ok(capture.id)
    }

    /// Fails, and invalidates the capture, if the stream is being captured or, for the legacy stream, if a stream that
    /// it waits for is.
    pub fn not_capturing(&mut self, stream: u64) -> Result<(), Code> {
        let Some(s) = self.streams.get(&stream) else { return Ok(()) };
        if s.capture.is_some() {
            self.invalidate(stream);
            return Err(ERROR_STREAM_CAPTURE_UNSUPPORTED);
        }
        let context = s.context;
        if self.is_legacy(stream)
            && self.invalidate_where(|s, _| s.context == context && s.blocking)
        {
            return Err(ERROR_STREAM_CAPTURE_IMPLICIT);
        }
        Ok(())
    }

    /// Fails, and invalidates the capture, if a capture forbids this thread to make an potentially unsafe call.
    pub fn check_capture_mode(&mut self) -> Result<(), Code> {
        let (me, mode) = (thread(), MODE.get());
        let forbids = |c: &Capture| {
            c.mode != RELAXED && (c.thread == me || mode == GLOBAL && c.mode == GLOBAL)
        };
        if mode != RELAXED && self.invalidate_where(|_, c| forbids(c)) {
            return Err(ERROR_STREAM_CAPTURE_UNSUPPORTED);
        }
        Ok(())
    }

    /// Fails, and invalidates the captures, if a stream of the context is being captured: the work of a whole context
    /// includes that of the captured stream. No mode allows to wait for it.
    pub fn no_capture_in(&mut self, context: u64) -> Result<(), Code> {
        if self.invalidate_where(|s, _| s.context == context) {
            return Err(ERROR_STREAM_CAPTURE_UNSUPPORTED);
        }
        Ok(())
    }

    /// Fails, and invalidates nothing, if the stream is the legacy stream and a stream that it waits for is being
    /// captured.
    pub fn can_ask_about_capture(&self, stream: u64) -> Result<(), Code> {
        let Some(context) = self.streams.get(&stream).map(|s| s.context) else { return Ok(()) };
        let waits = |s: &Stream| s.context == context && s.blocking && s.capture.is_some();
        if self.is_legacy(stream) && self.streams.values().any(waits) {
            return Err(ERROR_STREAM_CAPTURE_IMPLICIT);
        }
        Ok(())
    }

    /// Invalidates the captures for which `which` holds. Returns whether there were any.
    fn invalidate_where(&mut self, which: impl Fn(&Stream, &Capture) -> bool) -> bool {
        let hit = |s: &Stream| s.capture.as_ref().is_some_and(|c| which(s, c));
        let streams: Vec<u64> =
            self.streams.iter().filter(|(_, s)| hit(s)).map(|(&k, _)| k).collect();
        streams.iter().for_each(|&stream| self.invalidate(stream));
        !streams.is_empty()
    }

    /// Invalidates the capture that a stream takes part in.
    pub fn invalidate(&mut self, stream: u64) {
        let Some(id) = self.streams.get(&stream).and_then(|s| s.capture.as_ref()).map(|c| c.id)
        else {
            return;
        };
        for s in self.streams.values_mut() {
            if let Some(c) = &mut s.capture
                && c.id == id
            {
                c.invalid = true;
            }
        }
    }

    /// Returns whether an allocation is made by a graph, in which case its address stays reserved until the graph is
    /// destroyed.
    pub fn is_of_a_graph(&self, memory: (u64, u64)) -> bool {
        let opens = |works: &[Work]| {
            works
                .iter()
                .any(|w| matches!(w, Work::Open { addr, serial } if (*addr, *serial) == memory))
        };
        self.graphs.values().any(|g| opens(&g.works))
            || self.execs.values().any(|e| opens(&e.works))
    }

    /// Frees the addresses of a graph's allocations, unless another graph has them too or they are still in use.
    pub fn free_memory_of(&mut self, works: &[Work]) {
        for work in works {
            let Work::Open { addr, serial } = *work else { continue };
            let there = self.block(addr).is_some_and(|b| b.addr == addr && b.serial == serial);
            if there && !self.is_of_a_graph((addr, serial)) && !self.exists(addr, 1) {
                self.free_now(addr);
            }
        }
    }

    /// Adds work of a captured stream to its graph.
    pub fn record_into(&mut self, id: u64, stream: u64, work: Work) {
        if let Some(graph) = self.graphs.get_mut(&id) {
            graph.works.push(work);
        }
        if let Some(c) = self.streams.get_mut(&stream).and_then(|s| s.capture.as_mut()) {
            c.count += 1;
        }
    }

    /// Makes a stream join a capture, because it waits for an event that was recorded there.
    pub fn join_capture(
        &mut self,
        stream: u64,
        (id, from, count): (u64, u64, u64),
    ) -> Result<(), Code> {
        if self.is_legacy(stream) {
            self.invalidate(from);
            return Err(ERROR_STREAM_CAPTURE_IMPLICIT);
        }
        let (mode, thread) = self
            .streams
            .get(&from)
            .and_then(|s| s.capture.as_ref())
            .map_or((GLOBAL, thread()), |c| (c.mode, c.thread));
        let s = self.streams.get_mut(&stream).ok_or(ERROR_INVALID_VALUE)?;
        match &s.capture {
            Some(c) if c.id != id => {
                self.invalidate(stream);
                self.invalidate(from);
                return Err(ERROR_STREAM_CAPTURE_MERGE);
            }
            Some(_) => {}
            None => s.capture = Some(Capture { mode, thread, count: 1, ..Capture::into(id) }),
        }
        if stream != from
            && let Some(c) = self.streams.get_mut(&from).and_then(|s| s.capture.as_mut())
        {
            c.joined = c.joined.max(count);
        }
        Ok(())
    }
}
