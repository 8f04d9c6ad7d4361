//! Streams as queues of work that happens late, and the order between them.
//!
//! Work is numbered per stream. An event is a number of a stream; waiting for it is work that first runs the
//! other stream up to that number. Nothing runs before somebody synchronises, unless the settings say so.

use super::capture::Capture;
use super::copies::{Fill, Source};
use super::state::{Guard, State};
use crate::config::{self, Async};
use crate::error::{
    Code, ERROR_INVALID_HANDLE, ERROR_STREAM_CAPTURE_IMPLICIT, ERROR_STREAM_CAPTURE_INVALIDATED,
    ERROR_STREAM_CAPTURE_UNSUPPORTED,
};
use crate::exec::{self, Launch, Program, Region};
use crate::sanitizer::{self, lock};
use std::collections::VecDeque;
use std::ffi::c_void;
use std::sync::Arc;
use std::time::Instant;

/// Pieces of work that a stream holds before it must begin.
const QUEUE: usize = 1024;

/// A kernel with its parameters.
#[derive(Debug)]
pub struct KernelLaunch {
    pub program: Arc<Program>,
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
    pub params: Vec<u8>,
}

/// A piece of work on a stream.
#[derive(Debug, Clone)]
pub enum Work {
    Kernel(Arc<KernelLaunch>),
    Copy {
        to: u64,
        from: Source,
        len: u64,
        /// To host memory that the program may give up when a call fails.
        pageable: bool,
    },
    Fill(Fill),
    /// A stream-ordered allocation begins to exist.
    Open {
        addr: u64,
    },
    /// A captured free: the allocation stops being accessible but keeps its place.
    Close {
        addr: u64,
    },
    /// A stream-ordered free.
    Free {
        addr: u64,
        pool: u64,
    },
    /// Another stream must have come to that number.
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
    /// Made by the program, not by the context.
    pub user: bool,
    /// It and the legacy stream wait for each other.
    pub blocking: bool,
    pub destroyed: bool,
    pub priority: i32,
    pub flags: u32,
    pub queue: VecDeque<Work>,
    /// The number of the last piece of work put in.
    pub pushed: u64,
    /// The number of the last piece of work done.
    pub done: u64,
    /// A host function of it is running.
    pub busy: bool,
    pub capture: Option<Capture>,
}

impl Stream {
    /// An empty stream.
    pub fn new(context: u64, user: bool, flags: u32, priority: i32) -> Stream {
        Stream {
            context,
            user,
            blocking: flags & 1 == 0,
            destroyed: false,
            priority,
            flags,
            queue: VecDeque::new(),
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
    /// Where it was recorded last: the stream and the number there.
    pub recorded: Option<(u64, u64)>,
    pub at: Option<Instant>,
    /// Recorded in a stream that is being captured: the capture, the stream and its work so far.
    pub captured: Option<(u64, u64, u64)>,
}

impl State {
    /// The stream behind a handle of the current context.
    pub fn stream(&self, cx: u64, handle: u64) -> Result<u64, Code> {
        let context = self.contexts.get(&cx).ok_or(ERROR_INVALID_HANDLE)?;
        match handle {
            0 | 1 => Ok(context.legacy),
            2 => Ok(context.per_thread),
            _ => self
                .streams
                .get(&handle)
                .filter(|s| s.user && !s.destroyed)
                .map(|_| handle)
                .ok_or(ERROR_INVALID_HANDLE),
        }
    }

    /// Fails if work on this stream, or a call that waits for everything, disturbs a capture.
    pub fn not_capturing(&mut self, stream: u64) -> Result<(), Code> {
        if self.streams.get(&stream).is_some_and(|s| s.capture.is_some()) {
            self.invalidate(stream);
            return Err(ERROR_STREAM_CAPTURE_UNSUPPORTED);
        }
        let legacy = self.streams.get(&stream).is_some_and(|s| !s.user && s.blocking);
        if legacy && self.streams.values().any(|s| s.blocking && s.capture.is_some()) {
            return Err(ERROR_STREAM_CAPTURE_IMPLICIT);
        }
        Ok(())
    }

    /// Fails, and spoils every global capture of the context, if one is under way: for calls that no capture allows.
    pub fn no_capture_in(&mut self, cx: u64) -> Result<(), Code> {
        let open: Vec<u64> = self
            .streams
            .iter()
            .filter(|(_, s)| s.context == cx && s.capture.as_ref().is_some_and(|c| c.mode != 2))
            .map(|(&k, _)| k)
            .collect();
        for &stream in &open {
            self.invalidate(stream);
        }
        if open.is_empty() { Ok(()) } else { Err(ERROR_STREAM_CAPTURE_UNSUPPORTED) }
    }

    /// Puts work on a stream, or into the graph that is being captured from it.
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
        if let Some(s) = self.streams.get_mut(&stream) {
            s.queue.push_back(work);
            s.pushed += 1;
        }
        Ok(())
    }

    /// The legacy stream and the blocking streams of its context wait for each other.
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
            s.queue.extend(waits);
        }
    }
}

/// Puts work on a stream and lets the settings decide what happens now.
pub fn submit(mut s: Guard, stream: u64, work: Work) -> Result<Guard, Code> {
    s.push(stream, work)?;
    // A real queue has an end too: whoever fills it waits for room.
    if let Some(x) = s.streams.get(&stream).filter(|x| x.queue.len() > QUEUE) {
        let number = x.done + QUEUE as u64 / 2;
        s = run_until(s, stream, number);
    }
    Ok(stir(s, stream))
}

/// Runs what the settings want to have run at this moment.
pub fn stir(mut s: Guard, stream: u64) -> Guard {
    match config::with(|c| c.when) {
        Async::Lazy => s,
        Async::Eager => {
            let number = s.streams.get(&stream).map_or(0, |x| x.pushed);
            run_until(s, stream, number)
        }
        Async::Seed(seed) => {
            if s.random == 0 {
                s.random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            }
            let mut waiting: Vec<u64> =
                s.streams.iter().filter(|(_, x)| x.done < x.pushed).map(|(&k, _)| k).collect();
            waiting.sort_unstable();
            if waiting.is_empty() || s.draw().is_multiple_of(2) {
                return s;
            }
            let pick = waiting[s.draw() as usize % waiting.len()];
            let (done, pushed) = s.streams.get(&pick).map_or((0, 0), |x| (x.done, x.pushed));
            let number = done + 1 + s.draw() % (pushed - done);
            run_until(s, pick, number)
        }
    }
}

/// Runs a stream up to a number, and before it what it waits for.
pub fn run_until(mut s: Guard, stream: u64, number: u64) -> Guard {
    let mut goals = vec![(stream, number)];
    while let Some(&(stream, number)) = goals.last() {
        let Some(x) = s.streams.get_mut(&stream) else {
            goals.pop();
            continue;
        };
        if x.done >= number {
            if x.destroyed && x.queue.is_empty() {
                s.streams.remove(&stream);
            }
            goals.pop();
            continue;
        }
        if x.busy {
            // Another thread is in a host function of this stream.
            drop(s);
            std::thread::yield_now();
            s = super::state::enter();
            continue;
        }
        if let Some(Work::Wait { stream: other, number }) = x.queue.front() {
            let (other, number) = (*other, *number);
            if s.streams.get(&other).is_some_and(|o| o.done < number) {
                goals.push((other, number));
                continue;
            }
        }
        let Some(x) = s.streams.get_mut(&stream) else { continue };
        let context = x.context;
        let Some(work) = x.queue.pop_front() else {
            x.done = x.pushed;
            continue;
        };
        x.busy = true;
        if let Work::Host { function, data } = work {
            drop(s);
            // SAFETY: the program handed over a function of this type together with its argument, to be
            // called once the work before it is done.
            unsafe {
                let function: extern "C" fn(*mut c_void) = std::mem::transmute(function);
                function(data as *mut c_void);
            }
            s = super::state::enter();
        } else {
            s.execute(context, stream, work);
        }
        if let Some(x) = s.streams.get_mut(&stream) {
            x.busy = false;
            x.done += 1;
        }
    }
    s
}

/// Runs a stream to its end.
pub fn run_stream(s: Guard, stream: u64) -> Guard {
    let number = s.streams.get(&stream).map_or(0, |x| x.pushed);
    run_until(s, stream, number)
}

/// Does the copies to pageable memory that are still waiting.
///
/// A real driver finishes such copies before it returns from the call that asks for them. Here they come late,
/// to make a missing synchronisation show; but a program that is told of an error may give the buffer up.
pub fn settle() {
    let mut s = super::state::enter();
    let waiting = |w: &Work| matches!(w, Work::Copy { pageable: true, .. });
    let mut streams: Vec<u64> =
        s.streams.iter().filter(|(_, x)| x.queue.iter().any(waiting)).map(|(&k, _)| k).collect();
    streams.sort_unstable();
    for stream in streams {
        s = run_stream(s, stream);
    }
}

/// Runs every stream of a context to its end.
pub fn run_context(mut s: Guard, cx: u64) -> Guard {
    let mut all: Vec<(u64, u64)> =
        s.streams.iter().filter(|(_, x)| x.context == cx).map(|(&k, x)| (k, x.pushed)).collect();
    all.sort_unstable();
    for (stream, number) in all {
        s = run_until(s, stream, number);
    }
    s
}

impl State {
    /// Does a piece of work. A context that has failed does nothing any more.
    fn execute(&mut self, cx: u64, stream: u64, work: Work) {
        if self.contexts.get(&cx).is_none_or(|c| c.sticky != 0) {
            return;
        }
        match work {
            Work::Kernel(launch) => self.run_kernel(cx, &launch),
            Work::Copy { to, from, len, .. } => self.copy(cx, to, from, len),
            Work::Fill(fill) => self.fill(cx, fill),
            Work::Open { addr } => {
                if let Some((device, region)) = self.region_of(addr) {
                    let state =
                        if device.is_none() { crate::memory::DATA } else { crate::memory::RAW };
                    lock(&region.heap).open(addr, state);
                }
            }
            Work::Close { addr } => {
                if let Some((_, region)) = self.region_of(addr) {
                    lock(&region.heap).open(addr, crate::memory::NONE);
                }
            }
            Work::Free { addr, pool } => self.free_now(addr, pool),
            Work::Record { event } => {
                if let Some(e) = self.events.get_mut(&event)
                    && e.recorded.is_some_and(|(k, _)| k == stream)
                {
                    e.at = Some(Instant::now());
                }
            }
            Work::Wait { .. } | Work::Host { .. } | Work::Nothing => {}
        }
    }

    /// Ends an allocation and tells its pool.
    pub fn free_now(&mut self, addr: u64, pool: u64) {
        self.freeing.remove(&addr);
        if let Some((_, region)) = self.region_of(addr)
            && let Some(block) = lock(&region.heap).free(addr)
            && let Some(pool) = self.pools.get_mut(&pool)
        {
            pool.used = pool.used.saturating_sub(block.size);
        }
    }

    fn run_kernel(&mut self, cx: u64, launch: &KernelLaunch) {
        let config = config::get();
        let entry = self.launches.entry(launch.program.name.clone()).or_default();
        entry.0 += 1;
        if config.stub {
            return;
        }
        let device = self.device_of(cx);
        let peers = self.contexts.get(&cx).map(|c| c.peers.clone()).unwrap_or_default();
        let _ = self.region(device);
        let (mut near, mut far): (Vec<_>, Vec<_>) = self
            .regions()
            .into_iter()
            .partition(|(d, _)| d.is_none_or(|d| d == device || peers.contains(&d)));
        near.sort_by_key(|(d, _)| *d != Some(device));
        let regions: Vec<Region> = near.drain(..).map(|(_, r)| r).collect();
        let foreign: Vec<Region> = far.drain(..).map(|(_, r)| r).collect();
        let registered: Vec<(u64, u64)> =
            self.registered.iter().map(|&(start, end, _)| (start, end)).collect();
        let run = Launch::new(
            &launch.program,
            &launch.params,
            launch.grid,
            launch.block,
            launch.shared,
            &regions,
            &foreign,
            &registered,
            config.timeout,
            config.races,
        );
        let workers = if config.workers == 0 {
            std::thread::available_parallelism().map_or(1, |n| n.get())
        } else {
            config.workers
        };
        let began = Instant::now();
        let outcome = exec::run(&run, workers);
        if let Some(entry) = self.launches.get_mut(&launch.program.name) {
            entry.1 += outcome.instructions;
        }
        if config.stats {
            let seconds = began.elapsed().as_secs_f64();
            eprintln!(
                "vcuda: {} {:?}x{:?}: {} instructions, {:.3} ms, {:.0} M/s",
                launch.program.name,
                launch.grid,
                launch.block,
                outcome.instructions,
                seconds * 1e3,
                outcome.instructions as f64 / seconds / 1e6
            );
        }
        if let Some(finding) = outcome.finding {
            self.fail(cx, finding);
        }
    }

    /// Reports a finding and leaves the context with its error.
    pub fn fail(&mut self, cx: u64, finding: sanitizer::Finding) {
        if let Some(context) = self.contexts.get_mut(&cx)
            && context.sticky == 0
        {
            context.sticky = finding.code;
        }
        sanitizer::report(finding, config::with(|c| !c.quiet));
    }
}
