//! Which work happens before which: vector clocks, and races between work items that nothing orders.
//!
//! A clock says, per stream, up to which number its work is known to be complete. Every work item has the clock of its
//! stream at the call that submitted it, whenever it runs; waiting for an event adds the event's clock, and the host's
//! clock grows with everything that the host waits for. All host threads share one clock, because the driver cannot
//! see how they wait for each other: this can miss a race but never reports a false one.
//!
//! Kernels leave their thread numbers in the race cells of the bytes that they access. Copies, fills, allocations and
//! frees are kept as ranges; they are written to the cells only when a kernel that they are not ordered with may reach
//! them, so that programs without such work pay nothing.

use super::state::State;
use crate::config;
use crate::error::ERROR_LAUNCH_FAILED;
use crate::exec::{Earlier, number};
use crate::memory::Block;
use crate::sanitizer::{self, Finding, Kind, describe, lock};
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, LazyLock};

/// The number of operations that are remembered. Races with older ones are not found.
const REMEMBERED: usize = 4096;
/// The largest range whose race cells are searched or written, in bytes.
const SEARCHED: u64 = 64 << 20;
/// The bits of a cell's half that hold a thread number.
const NUMBER: u32 = u32::MAX >> 1;

/// For each stream, the number of the last work item that is known to be complete.
#[derive(Debug, Clone, Default)]
pub struct Clock(Vec<(u64, u64)>);

impl Clock {
    fn covers(&self, stream: u64, number: u64) -> bool {
        self.0.binary_search_by_key(&stream, |e| e.0).is_ok_and(|k| self.0[k].1 >= number)
    }

    fn advance(&mut self, stream: u64, number: u64) {
        match self.0.binary_search_by_key(&stream, |e| e.0) {
            Ok(k) => self.0[k].1 = self.0[k].1.max(number),
            Err(k) => self.0.insert(k, (stream, number)),
        }
    }

    /// Adds what another clock knows. A clock that knows nothing more stays shared.
    fn join(self: &mut Arc<Clock>, other: &Arc<Clock>) {
        if !Arc::ptr_eq(self, other) && !other.0.iter().all(|&(s, n)| self.covers(s, n)) {
            let mine = Arc::make_mut(self);
            other.0.iter().for_each(|&(s, n)| mine.advance(s, n));
        }
    }
}

/// Where a work item is: its stream, its number there, and its clock.
#[derive(Debug, Clone)]
pub struct At {
    pub stream: u64,
    pub number: u64,
    pub clock: Arc<Clock>,
}

impl At {
    fn is_after(&self, op: &Op) -> bool {
        op.stream == self.stream || self.clock.covers(op.stream, op.number)
    }
}

/// A range of bytes that an operation other than a kernel accesses.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Access {
    bytes: Range<u64>,
    writes: bool,
}

/// An operation that has run.
#[derive(Debug)]
struct Op {
    /// Its first thread number; those up to the next operation are its own.
    first: u32,
    stream: u64,
    number: u64,
    what: String,
    /// `None` for a kernel, whose accesses are in the race cells.
    access: Option<Access>,
}

impl Op {
    fn describe(&self) -> String {
        format!("{} on stream {:#x}", self.what, self.stream)
    }
}

/// The clocks and operations of the driver.
#[derive(Debug, Default)]
pub struct Order {
    host: Arc<Clock>,
    ops: Vec<Op>,
}

/// The clock that knows nothing.
static EMPTY: LazyLock<Arc<Clock>> = LazyLock::new(Arc::default);

fn checked() -> bool {
    config::with(|c| c.order && c.races && !c.stub)
}

impl State {
    /// Returns what is complete once a stream has reached the end of its work.
    pub fn reached(&self, stream: u64) -> Arc<Clock> {
        let Some(x) = self.streams.get(&stream).filter(|_| checked()) else {
            return EMPTY.clone();
        };
        let mut clock = x.clock.clone();
        Arc::make_mut(&mut clock).advance(stream, x.pushed);
        clock
    }

    /// Records that a stream waits for what a clock knows.
    pub fn stream_waits_for(&mut self, stream: u64, clock: &Arc<Clock>) {
        if let Some(x) = self.streams.get_mut(&stream) {
            x.clock.join(clock);
        }
    }

    /// Records that the host has waited for what a clock knows.
    pub fn host_waited(&mut self, clock: &Arc<Clock>) {
        self.order.host.join(clock);
    }

    /// Advances the clock of a stream to which the host appends work: it comes after all that the host has waited for
    /// and, on the legacy stream and the streams that block on it, after each other.
    pub fn advance_clock(&mut self, stream: u64) {
        let Some(me) = self.streams.get(&stream).filter(|_| checked()) else { return };
        let mut clocks = vec![self.order.host.clone()];
        if me.blocking {
            let (context, legacy) =
                (me.context, self.contexts.get(&me.context).map_or(0, |c| c.legacy));
            let others = self.streams.iter().filter(|(k, s)| {
                **k != stream
                    && s.context == context
                    && s.blocking
                    && (stream == legacy || **k == legacy)
            });
            let others: Vec<u64> = others.map(|(&k, _)| k).collect();
            clocks.extend(others.into_iter().map(|k| self.reached(k)));
        }
        clocks.iter().for_each(|clock| self.stream_waits_for(stream, clock));
    }

    /// Returns the operations that a work item is not ordered with, by their thread numbers.
    fn not_before(&self, at: &At) -> Vec<(usize, Range<u32>)> {
        let ops = &self.order.ops;
        let end = |k: usize| ops.get(k + 1).map_or(u32::MAX, |next| next.first);
        let unordered = ops.iter().enumerate().filter(|(_, op)| !at.is_after(op));
        unordered.map(|(k, op)| (k, op.first..end(k))).collect()
    }

    /// Returns the operations that a kernel is not ordered with, with their accesses in the race cells of the memory
    /// that its parameters point to.
    pub fn before_kernel(&mut self, at: &At, params: &[u8]) -> Vec<Earlier> {
        if !checked() {
            return Vec::new();
        }
        let unordered = self.not_before(at);
        if unordered.is_empty() {
            return Vec::new();
        }
        let words =
            params.chunks_exact(8).map(|w| u64::from_le_bytes(w.try_into().unwrap_or_default()));
        let blocks: Vec<Block> = words.filter_map(|addr| self.block(addr)).collect();
        for (k, numbers) in &unordered {
            let Some(access) = self.order.ops[*k].access.clone() else { continue };
            let reached =
                |b: &Block| b.addr < access.bytes.end && access.bytes.start < b.addr + b.size;
            if access.bytes.end - access.bytes.start <= SEARCHED && blocks.iter().any(reached) {
                self.write_to_cells(&access, numbers.start);
            }
        }
        let ops = &self.order.ops;
        unordered
            .into_iter()
            .map(|(k, numbers)| Earlier { numbers, what: ops[k].describe() })
            .collect()
    }

    /// Remembers a kernel by the first of its thread numbers.
    pub fn remember_kernel(&mut self, at: &At, first: u32, name: &str) {
        if checked() {
            self.remember(at, first, format!("kernel {name}"), None);
        }
    }

    fn remember(&mut self, at: &At, first: u32, what: String, access: Option<Access>) {
        let ops = &mut self.order.ops;
        // The numbers have started again, and the cells are clear.
        if ops.last().is_some_and(|last| last.first >= first) {
            ops.clear();
        }
        if ops.len() >= REMEMBERED {
            ops.drain(..REMEMBERED / 2);
        }
        ops.push(Op { first, stream: at.stream, number: at.number, what, access });
    }

    /// Writes an access to the race cells, except where a later one has left its number.
    fn write_to_cells(&self, access: &Access, number: u32) {
        let Some((_, region)) = self.region_of(access.bytes.start) else { return };
        for addr in access.bytes.clone() {
            let cell = region.arena.cell(addr);
            let old = cell.load(Relaxed);
            let (writer, reader) = (old as u32, (old >> 32) as u32);
            let new = match access.writes {
                true if writer & NUMBER < number => {
                    u64::from(number) | if reader & NUMBER < number { 0 } else { old >> 32 << 32 }
                }
                false if reader & NUMBER < number => u64::from(writer) | u64::from(number) << 32,
                _ => old,
            };
            cell.store(new, Relaxed);
        }
    }

    /// Checks a copy, fill, allocation or free against everything it is not ordered with, and remembers it.
    pub fn order_access(
        &mut self,
        cx: u64,
        at: &At,
        addr: u64,
        len: u64,
        writes: bool,
        what: &str,
    ) {
        if len == 0 || !checked() {
            return;
        }
        let bytes = addr..addr + len;
        let unordered = self.not_before(at);
        let by_range = unordered.iter().find(|(k, _)| {
            self.order.ops[*k].access.as_ref().is_some_and(|a| {
                (a.writes || writes) && a.bytes.start < bytes.end && bytes.start < a.bytes.end
            })
        });
        let found =
            by_range.map(|(k, _)| *k).or_else(|| self.search_cells(&unordered, &bytes, writes));
        if let Some(k) = found {
            let near = self.region_of(addr).map(|(_, r)| describe(&lock(&r.heap).neighbour(addr)));
            let text = format!(
                "{what} of {len} bytes at {addr:#x}, {}, on stream {:#x}, not ordered with {}",
                near.as_deref().unwrap_or("host memory"),
                at.stream,
                self.order.ops[k].describe()
            );
            let tolerated = config::with(|c| c.report.has(Kind::Race) || c.ignore.has(Kind::Race));
            let code = if tolerated { 0 } else { ERROR_LAUNCH_FAILED };
            if let Some(context) = self.contexts.get_mut(&cx).filter(|_| !tolerated) {
                context.passing.get_or_insert((at.stream, code));
            }
            sanitizer::report(Finding { kind: Kind::Race, code, place: None, text });
        }
        if let Some(first) = number() {
            self.remember(at, first, what.into(), Some(Access { bytes, writes }));
        }
    }

    /// Finds an access of an unordered kernel in the race cells of a range.
    fn search_cells(
        &self,
        unordered: &[(usize, Range<u32>)],
        bytes: &Range<u64>,
        writes: bool,
    ) -> Option<usize> {
        let is_kernel = |(k, _): &&(usize, Range<u32>)| self.order.ops[*k].access.is_none();
        let kernels: Vec<_> = unordered.iter().filter(is_kernel).collect();
        let (_, region) = self.region_of(bytes.start)?;
        if kernels.is_empty() || bytes.end - bytes.start > SEARCHED {
            return None;
        }
        let hit = |number: u32| kernels.iter().find(|(_, own)| own.contains(&(number & NUMBER)));
        bytes.clone().find_map(|addr| {
            let cell = region.arena.cell(addr).load(Relaxed);
            let by_reader = || hit((cell >> 32) as u32).filter(|_| writes);
            hit(cell as u32).or_else(by_reader).map(|(k, _)| *k)
        })
    }

    /// Forgets the accesses to a freed allocation, whose address will be used again.
    pub fn forget_accesses(&mut self, block: &Block) {
        if !checked() {
            return;
        }
        let bytes = block.addr..block.addr + block.size;
        if let Some((_, region)) = self.region_of(block.addr).filter(|_| block.size < 1 << 20) {
            bytes.clone().for_each(|addr| region.arena.cell(addr).store(0, Relaxed));
        }
        for op in &mut self.order.ops {
            if let Some(access) = &mut op.access
                && bytes.contains(&access.bytes.start)
            {
                // An empty range: the operation keeps its numbers.
                access.bytes = 0..0;
            }
        }
    }
}
