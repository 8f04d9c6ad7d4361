//! Running work items: when one runs, what runs before it, and what it does.

use super::copies::Source;
use super::host;
use super::order::At;
use super::queues::{KernelLaunch, Work};
use super::state::{Guard, State, enter};
use crate::config::{self, Async};
use crate::exec::{self, Launch, Region, Tolerance};
use crate::memory::{Block, DATA, NONE, Owner, RAW};
use crate::sanitizer::{self, lock};
use std::time::{Duration, Instant};

/// The number of work items that a stream holds before some of them must run.
const QUEUE: usize = 1024;
/// How long a thread that waits for a host function sleeps between checks.
const LOOK: Duration = Duration::from_micros(50);

/// What a thread does when it reaches a host function that has not returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AtHostFunction {
    /// It waits for it.
    Wait,
    /// It stops: the API call that it is in must return even if the function blocks.
    Return,
}

/// Runs what the settings want to have run now, after work was appended to a stream.
pub fn run_by_policy(mut s: Guard, stream: u64) -> Guard {
    // The queue of a real stream is bounded too: a full one blocks the caller.
    if let Some(x) = s.streams.get(&stream).filter(|x| x.queue.len() > QUEUE) {
        let number = x.done + QUEUE as u64 / 2;
        s = run_until(s, stream, number);
    }
    let (when, strict) = config::with(|c| (c.when, c.strict));
    let goals = std::mem::take(&mut s.host_functions);
    if !strict {
        goals.into_iter().for_each(host::run_in_background);
    }
    match when {
        Async::Lazy => s,
        Async::Eager => {
            let number = s.streams.get(&stream).map_or(0, |x| x.pushed);
            let s = run(s, stream, number, AtHostFunction::Return);
            if s.streams.get(&stream).is_some_and(|x| x.done < number) {
                host::run_in_background((stream, number));
            }
            s
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
            run(s, pick, number, AtHostFunction::Return)
        }
    }
}

/// Runs a stream up to a number, including what it waits for on other streams.
pub fn run_until(s: Guard, stream: u64, number: u64) -> Guard {
    run(s, stream, number, AtHostFunction::Wait)
}

/// Runs one work item of a stream whose completion is queried: a program that polls must get to the end, but a query
/// never waits for a host function.
pub fn poll(s: Guard, stream: u64) -> Guard {
    let next = s.streams.get(&stream).map_or(0, |x| x.done + 1);
    run(s, stream, next, AtHostFunction::Return)
}

fn run(mut s: Guard, stream: u64, number: u64, at_host_function: AtHostFunction) -> Guard {
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
            // A host function of this stream is running.
            if at_host_function == AtHostFunction::Return {
                return s;
            }
            drop(s);
            std::thread::sleep(LOOK);
            s = enter();
            continue;
        }
        if let Some((Work::Wait { stream: other, number }, _)) = x.queue.front() {
            let (other, number) = (*other, *number);
            if s.streams.get(&other).is_some_and(|o| o.done < number) {
                goals.push((other, number));
                continue;
            }
        }
        let Some(x) = s.streams.get_mut(&stream) else { continue };
        let context = x.context;
        let Some((work, clock)) = x.queue.pop_front() else {
            x.done = x.pushed;
            continue;
        };
        let failed = s.contexts.get(&context).is_none_or(|c| c.sticky != 0);
        let Some(x) = s.streams.get_mut(&stream) else { continue };
        if let Work::Host { function, data } = work
            && !failed
        {
            x.busy = true;
            host::call(stream, function, data);
            continue;
        }
        let at = At { stream, number: x.done + 1, clock };
        s.execute(context, &at, work);
        if let Some(x) = s.streams.get_mut(&stream) {
            x.done += 1;
        }
    }
    s
}

/// Runs a stream to its end.
pub fn run_stream(s: Guard, stream: u64) -> Guard {
    let number = s.streams.get(&stream).map_or(0, |x| x.pushed);
    let clock = s.reached(stream);
    let mut s = run_until(s, stream, number);
    s.host_waited(&clock);
    s
}

/// Runs the pending copies to pageable memory.
///
/// A real driver completes such copies before the call returns. Here they may be deferred, so that a missing
/// synchronisation shows; but after a failed call a program may free the buffer.
pub fn finish_pageable_copies() {
    let mut s = enter();
    let waiting = |(w, _): &(Work, _)| matches!(w, Work::Copy { pageable: true, .. });
    let mut streams: Vec<u64> =
        s.streams.iter().filter(|(_, x)| x.queue.iter().any(waiting)).map(|(&k, _)| k).collect();
    streams.sort_unstable();
    for stream in streams {
        s = run_stream(s, stream);
    }
}

/// Runs every stream of a context to its end.
pub fn run_context(s: Guard, cx: u64) -> Guard {
    run_where(s, |context| context == cx)
}

/// Runs every stream of the given devices to its end.
pub fn run_devices(s: Guard, devices: &[Option<usize>]) -> Guard {
    let chosen = s.contexts.iter().filter(|(_, c)| devices.contains(&Some(c.device)));
    let contexts: Vec<u64> = chosen.map(|(&cx, _)| cx).collect();
    run_where(s, |cx| contexts.contains(&cx))
}

/// Runs every stream to its end.
pub fn run_all(s: Guard) -> Guard {
    run_where(s, |_| true)
}

fn run_where(mut s: Guard, wanted: impl Fn(u64) -> bool) -> Guard {
    let streams = s.streams.iter().filter(|(_, x)| wanted(x.context));
    let mut all: Vec<(u64, u64)> = streams.map(|(&k, x)| (k, x.pushed)).collect();
    all.sort_unstable();
    for (stream, number) in all {
        let clock = s.reached(stream);
        s = run_until(s, stream, number);
        s.host_waited(&clock);
    }
    s
}

impl State {
    /// Runs a work item. In a failed context, nothing runs any more.
    fn execute(&mut self, cx: u64, at: &At, work: Work) {
        let stream = at.stream;
        if self.contexts.get(&cx).is_none_or(|c| c.sticky != 0) {
            return;
        }
        match work {
            Work::Kernel(launch) => self.run_kernel(cx, at, &launch),
            Work::Copy { to, from, len, .. } => {
                if let Source::Address(from) = from {
                    self.order_access(cx, at, from, len, false, "a copy from");
                }
                self.order_access(cx, at, to, len, true, "a copy to");
                self.copy(cx, to, from, len);
            }
            Work::Fill(fill) => {
                for row in 0..fill.rows {
                    let (addr, len) = (fill.addr + row * fill.pitch, fill.count * fill.width);
                    self.order_access(cx, at, addr, len, true, "a fill");
                }
                self.fill(cx, fill);
            }
            Work::Open { addr, serial } => {
                let size = self.block(addr).filter(|b| b.serial == serial).map_or(0, |b| b.size);
                self.order_access(cx, at, addr, size, true, "the allocation");
                self.give(addr, serial, RAW);
            }
            Work::Close { addr, serial } => {
                let size = self.block(addr).filter(|b| b.serial == serial).map_or(0, |b| b.size);
                self.order_access(cx, at, addr, size, true, "the free");
                self.give(addr, serial, NONE);
            }
            Work::Free { addr } => {
                let size = self.block(addr).map_or(0, |b| b.size);
                self.order_access(cx, at, addr, size, true, "the free");
                self.free_now(addr);
            }
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

    /// Sets the state of an allocation's bytes, if it still exists.
    fn give(&mut self, addr: u64, serial: u64, state: u8) {
        if let Some((_, region)) = self.region_of(addr) {
            let mut heap = lock(&region.heap);
            if heap.covering(addr, 1).is_some_and(|b| b.serial == serial) {
                heap.open(addr, state);
            }
        }
    }

    /// Frees an allocation and updates its pool.
    pub fn free_now(&mut self, addr: u64) -> Option<Block> {
        self.freeing.remove(&addr);
        let (_, region) = self.region_of(addr)?;
        let block = lock(&region.heap).free(addr)?;
        self.forget_accesses(&block);
        if let Some(pool) = self.pools.get_mut(&block.owner.pool) {
            pool.used = pool.used.saturating_sub(block.size);
            // A device does this at the next synchronisation.
            pool.release(pool.attributes.get(&4).copied().unwrap_or(0));
        }
        Some(block)
    }

    fn run_kernel(&mut self, cx: u64, at: &At, launch: &KernelLaunch) {
        let config = config::get();
        let entry = self.launches.entry(launch.program.name.clone()).or_default();
        entry.0 += 1;
        if config.stub {
            return;
        }
        let device = self.device_of(cx);
        let mut peers = self.contexts.get(&cx).map(|c| c.peers.clone()).unwrap_or_default();
        peers.extend(self.pools.values().filter(|p| p.access.contains(&device)).map(|p| p.device));
        let workspace = if launch.cooperative { self.open_workspace(device) } else { 0 };
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
        let earlier = self.before_kernel(at, &launch.params);
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
            workspace,
            config.races,
            Tolerance::new(config.report, config.ignore),
            config.warps,
            earlier,
        );
        if let Some(first) = run.first_number() {
            self.remember_kernel(at, first, &launch.program.name);
        }
        let workers = if config.workers == 0 {
            std::thread::available_parallelism().map_or(1, |n| n.get())
        } else {
            config.workers
        };
        let began = Instant::now();
        let outcome = exec::run(&run, workers, config.ends);
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
        if workspace != 0 {
            self.free_now(workspace);
        }
        outcome.tolerated.into_iter().for_each(sanitizer::report);
        if let Some(finding) = outcome.finding {
            match self.contexts.get_mut(&cx) {
                Some(context) if finding.kind.is_tolerated() => {
                    context.passing.get_or_insert((at.stream, finding.code));
                    sanitizer::report(finding);
                }
                _ => self.fail(cx, finding),
            }
        }
    }

    /// Allocates the workspace of a cooperative launch's grid barrier: its size, and a word that counts arrivals.
    /// Returns zero if there is no memory.
    fn open_workspace(&mut self, device: usize) -> u64 {
        const SIZE: u32 = 8;
        let Ok(region) = self.region(device) else { return 0 };
        let mut heap = lock(&region.heap);
        let Some(addr) = heap.allocate(SIZE.into(), Owner::LAUNCH) else { return 0 };
        heap.open(addr, DATA);
        region.arena.fill(addr, SIZE.into(), 0);
        region.arena.fill(addr, 1, SIZE as u8);
        addr
    }

    /// Reports a finding and makes its error the sticky error of the context.
    pub fn fail(&mut self, cx: u64, finding: sanitizer::Finding) {
        if let Some(context) = self.contexts.get_mut(&cx)
            && context.sticky == 0
        {
            context.sticky = finding.code;
        }
        sanitizer::report(finding);
    }
}
