//! Stream capture and graphs: the work of the captured streams in the order it was given, which is one order
//! that respects every dependency.

use super::queues::Work;
use super::state::State;
use crate::error::{
    Code, ERROR_ILLEGAL_STATE, ERROR_INVALID_VALUE, ERROR_STREAM_CAPTURE_INVALIDATED,
    ERROR_STREAM_CAPTURE_MERGE, ERROR_STREAM_CAPTURE_UNJOINED, ERROR_STREAM_CAPTURE_UNMATCHED,
    ERROR_STREAM_CAPTURE_UNSUPPORTED,
};

/// A stream's part in a capture.
#[derive(Debug, Clone)]
pub struct Capture {
    /// The graph being made.
    pub id: u64,
    /// 0 global, 1 thread-local, 2 relaxed.
    pub mode: u32,
    pub invalid: bool,
    /// The capture began here.
    pub origin: bool,
    /// Pieces of work so far, and up to which another stream has waited for them.
    pub count: u64,
    pub joined: u64,
}

/// A graph.
#[derive(Debug, Default)]
pub struct Graph {
    pub works: Vec<Work>,
    /// Its capture has not ended.
    pub open: bool,
}

/// A graph that can be launched.
#[derive(Debug)]
pub struct Exec {
    pub works: Vec<Work>,
}

impl State {
    /// Begins a capture.
    pub fn begin_capture(&mut self, stream: u64, mode: u32) -> Result<(), Code> {
        if mode > 2 {
            return Err(ERROR_INVALID_VALUE);
        }
        let s = self.streams.get(&stream).ok_or(ERROR_INVALID_VALUE)?;
        if !s.user && s.blocking {
            return Err(ERROR_STREAM_CAPTURE_UNSUPPORTED);
        }
        if s.capture.is_some() {
            return Err(ERROR_ILLEGAL_STATE);
        }
        let id = self.handle();
        self.graphs.insert(id, Graph { works: Vec::new(), open: true });
        if let Some(s) = self.streams.get_mut(&stream) {
            s.capture =
                Some(Capture { id, mode, invalid: false, origin: true, count: 0, joined: 0 });
        }
        Ok(())
    }

    /// Ends a capture and gives the graph.
    pub fn end_capture(&mut self, stream: u64) -> Result<u64, Code> {
        let capture =
            self.streams.get(&stream).and_then(|s| s.capture.clone()).ok_or(ERROR_ILLEGAL_STATE)?;
        if !capture.origin {
            return Err(ERROR_STREAM_CAPTURE_UNMATCHED);
        }
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
            self.graphs.remove(&capture.id);
            return Err(failed);
        }
        if let Some(graph) = self.graphs.get_mut(&capture.id) {
            graph.open = false;
        }
        Ok(capture.id)
    }

    /// Spoils the capture that a stream takes part in.
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

    /// Adds work of a captured stream to its graph.
    pub fn record_into(&mut self, id: u64, stream: u64, work: Work) {
        if let Some(graph) = self.graphs.get_mut(&id) {
            graph.works.push(work);
        }
        if let Some(c) = self.streams.get_mut(&stream).and_then(|s| s.capture.as_mut()) {
            c.count += 1;
        }
    }

    /// A stream waits for an event that was recorded in a capture: it joins the capture.
    pub fn join_capture(
        &mut self,
        stream: u64,
        (id, from, count): (u64, u64, u64),
    ) -> Result<(), Code> {
        let mode = self.streams.get(&from).and_then(|s| s.capture.as_ref()).map_or(0, |c| c.mode);
        let s = self.streams.get_mut(&stream).ok_or(ERROR_INVALID_VALUE)?;
        match &s.capture {
            Some(c) if c.id != id => return Err(ERROR_STREAM_CAPTURE_MERGE),
            Some(_) => {}
            None => {
                s.capture =
                    Some(Capture { id, mode, invalid: false, origin: false, count: 1, joined: 0 })
            }
        }
        if stream != from
            && let Some(c) = self.streams.get_mut(&from).and_then(|s| s.capture.as_mut())
        {
            c.joined = c.joined.max(count);
        }
        Ok(())
    }
}
