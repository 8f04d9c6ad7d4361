//! A thread block: its shared memory, its barriers and the scheduling of its warps.

use super::access::Fault;
use super::launch::Launch;
use super::program::{Barrier, Op, SharedVariable};
use super::track::BlockTrack;
use super::warp::{Stop, Wait, Warp};
use crate::isa::lane::{LANES, Lane, lanes};
use crate::memory::{NONE, RAW};
use crate::sanitizer::Kind;
use std::collections::BTreeMap;

/// The address of dynamic shared memory, above all static variables.
pub const DYNAMIC_SHARED: u64 = 1 << 24;
/// Instructions that a warp runs before the next one is scheduled, in programs whose warps take turns.
const TURN: u64 = 1 << 16;

/// The shared memory of a block: the static variables, separated by gaps, then the dynamic part.
#[derive(Debug, Default)]
pub struct Shared {
    pub bytes: Vec<u8>,
    /// The state of each byte, encoded as in the shadow of device memory.
    pub states: Vec<u8>,
    pub cells: Vec<u64>,
    /// The states at the start of a block.
    fresh: Vec<u8>,
    /// Where the dynamic part begins.
    dynamic: u64,
}

impl Shared {
    fn new(launch: &Launch<'_>) -> Shared {
        let variables = &launch.program.shared;
        let dynamic = variables.last().map_or(0, |v| (v.offset + v.size).next_multiple_of(16));
        let size = dynamic as usize + launch.dynamic_shared as usize;
        let mut fresh = vec![RAW; size];
        fresh[..dynamic as usize].fill(NONE);
        for v in variables {
            fresh[v.offset as usize..(v.offset + v.size) as usize].fill(RAW);
        }
        Shared {
            bytes: vec![0xcd; size],
            states: fresh.clone(),
            cells: vec![0; size],
            fresh,
            dynamic,
        }
    }

    /// Returns the index of an address, or `None` if not all of its `size` bytes exist.
    #[inline(always)]
    pub fn index(&self, addr: u64, size: u64) -> Option<usize> {
        let (start, end) = if addr >= DYNAMIC_SHARED {
            (addr - DYNAMIC_SHARED + self.dynamic, self.bytes.len() as u64)
        } else {
            (addr, self.dynamic)
        };
        let inside = start.checked_add(size)? <= end;
        (inside && !self.states[start as usize..(start + size) as usize].contains(&NONE))
            .then_some(start as usize)
    }

    /// Describes an address by the variable nearest to it.
    pub fn describe(&self, variables: &[SharedVariable], addr: u64) -> String {
        if addr >= DYNAMIC_SHARED {
            let size = self.bytes.len() as u64 - self.dynamic;
            let at = addr as u32 as i32 - DYNAMIC_SHARED as i32;
            return format!("at byte {at} of the {size} bytes of dynamic shared memory");
        }
        match variables.iter().rev().find(|v| v.offset <= addr) {
            Some(v) if addr < v.offset + v.size => {
                format!("at byte {} of {} ({} bytes)", addr - v.offset, v.name, v.size)
            }
            Some(v) => {
                let past = addr - v.offset - v.size;
                format!("{past} bytes past the end of {} ({} bytes)", v.name, v.size)
            }
            None => "which has no variables".into(),
        }
    }
}

#[derive(Debug, Default, Clone, Copy)]
struct Arrived {
    threads: u32,
    /// How many of the threads that arrived wait.
    waiting: u32,
    expected: u32,
    votes: u32,
    /// The race check's clock when the last thread arrived.
    time: u32,
}

/// The state that the warps of a block share.
pub struct BlockState<'a> {
    pub launch: &'a Launch<'a>,
    pub at: [u32; 3],
    pub threads: u32,
    /// Threads that have exited.
    pub ended: u32,
    pub shared: Shared,
    pub track: Option<BlockTrack>,
    barriers: BTreeMap<u32, Arrived>,
}

impl BlockState<'_> {
    /// Returns the coordinates of a thread, given its linear index in the block.
    pub fn thread(&self, number: u32) -> [u32; 3] {
        let [x, y, _] = self.launch.block;
        [number % x, number / x % y, number / x / y]
    }

    /// Records that the threads of a mask arrive at a barrier.
    pub fn arrive(&mut self, number: u32, expected: u32, mask: u32, votes: u32, wait: bool) {
        let barrier = self.barriers.entry(number).or_default();
        barrier.time = self.track.as_ref().map_or(0, BlockTrack::now);
        barrier.threads += mask.count_ones();
        barrier.waiting += if wait { mask.count_ones() } else { 0 };
        barrier.votes += votes.count_ones();
        barrier.expected = expected;
    }

    /// Tells the race check that threads have synchronised. Race checking stops when thread numbers run out.
    pub fn order(&mut self, event: impl FnOnce(&mut BlockTrack) -> Option<()>) {
        if self.track.as_mut().is_some_and(|track| event(track).is_none()) {
            self.track = None;
        }
    }

    /// Releases the barriers at which all expected threads have arrived. Returns whether there was one.
    fn open_barriers(&mut self, warps: &mut [Warp]) -> Result<bool, Fault> {
        let alive = self.threads - self.ended;
        let full: Vec<(u32, Arrived)> = self
            .barriers
            .iter()
            .map(|(&k, &v)| (k, v))
            .filter(|(_, b)| b.threads >= if b.expected == 0 { alive } else { b.expected })
            .collect();
        for &(number, arrived) in &full {
            self.barriers.remove(&number);
            let all = if arrived.expected == 0 { alive } else { self.threads };
            let for_all = arrived.waiting >= all;
            for warp in warps.iter_mut() {
                warp.is_together_at(self, number)?;
                for k in 0..warp.groups.len() {
                    let group = warp.groups[k];
                    if group.wait != Wait::Barrier(number) {
                        continue;
                    }
                    warp.groups[k].wait = Wait::Ready;
                    if !for_all {
                        self.order(|track| track.acquire(warp.index, group.mask, arrived.time));
                    }
                    let inst = &self.launch.program.code[group.pc as usize - 1];
                    if let Op::Barrier(kind) = inst.op {
                        for lane in lanes(group.mask) {
                            match kind {
                                Barrier::Count => {
                                    arrived.votes.write(&mut warp.regs, inst.o.d[0], lane)
                                }
                                Barrier::All => (arrived.votes == arrived.threads).write(
                                    &mut warp.regs,
                                    inst.o.d[0],
                                    lane,
                                ),
                                Barrier::Any => {
                                    (arrived.votes > 0).write(&mut warp.regs, inst.o.d[0], lane)
                                }
                                Barrier::Sync | Barrier::Arrive => {}
                            }
                        }
                    }
                }
            }
            if for_all {
                self.order(BlockTrack::barrier);
            }
        }
        Ok(!full.is_empty())
    }
}

/// The interpreter state of one host thread: warps and shared memory, reused from block to block.
pub struct Worker<'a> {
    warps: Vec<Warp>,
    /// The order in which the warps run.
    order: Vec<usize>,
    state: BlockState<'a>,
}

/// Puts warps into an order that depends on the seed and the block alone.
fn shuffle(order: &mut [usize], seed: u64, at: [u32; 3]) {
    order.sort_unstable();
    let mut random =
        at.iter().fold(seed, |x, &n| (x ^ u64::from(n)).wrapping_mul(0x9e37_79b9_7f4a_7c15)) | 1;
    for k in (1..order.len()).rev() {
        // xorshift64
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        order.swap(k, (random >> 32) as usize % (k + 1));
    }
}

impl<'a> Worker<'a> {
    /// Creates the state for running blocks of a launch.
    pub fn new(launch: &'a Launch<'a>) -> Worker<'a> {
        let threads = launch.block.iter().product();
        let warps = if launch.program.takes_turns {
            usize::try_from(threads).unwrap_or(1).div_ceil(LANES)
        } else {
            1
        };
        Worker {
            warps: (0..warps).map(|_| Warp::new(launch.program)).collect(),
            order: (0..usize::try_from(threads).unwrap_or(1).div_ceil(LANES)).collect(),
            state: BlockState {
                launch,
                at: [0; 3],
                threads,
                ended: 0,
                shared: Shared::new(launch),
                track: None,
                barriers: BTreeMap::new(),
            },
        }
    }

    /// Returns the number of instructions run so far.
    pub fn executed(&self) -> u64 {
        self.warps.iter().map(|w| w.executed).sum()
    }

    /// Runs one block.
    pub fn run(&mut self, at: [u32; 3]) -> Result<(), Fault> {
        self.start(at);
        let count = self.state.threads.div_ceil(LANES as u32) as usize;
        if self.warps.len() < count {
            return self.one_by_one();
        }
        while !self.round(TURN)? {}
        Ok(())
    }

    /// Puts all warps at the start of the program, for the block at these coordinates.
    pub fn start(&mut self, at: [u32; 3]) {
        let count = self.state.threads.div_ceil(LANES as u32) as usize;
        let state = &mut self.state;
        state.at = at;
        state.ended = 0;
        state.barriers.clear();
        state.shared.states.copy_from_slice(&state.shared.fresh);
        state.track =
            state.launch.tracker.as_ref().and_then(|t| BlockTrack::start(t.clone(), count));
        if state.launch.warps != 0 {
            shuffle(&mut self.order, state.launch.warps, at);
        }
        for (k, warp) in self.warps.iter_mut().enumerate() {
            warp.start(k, &self.state);
        }
    }

    /// Runs each warp to its end, for programs in which no warp waits for another.
    fn one_by_one(&mut self) -> Result<(), Fault> {
        let warp = &mut self.warps[0];
        for &k in &self.order {
            warp.start(k, &self.state);
            let max_steps = self.state.launch.max_steps;
            match warp.run(&mut self.state, max_steps)? {
                Stop::Ended => {}
                Stop::Waiting => return Err(warp.stuck(&self.state, Kind::Deadlock)),
                Stop::Turn if self.state.launch.stopped() => return Ok(()),
                Stop::Turn => return Err(warp.stuck(&self.state, Kind::Timeout)),
            }
        }
        Ok(())
    }

    /// Schedules every warp once. Returns `true` when all have exited or another block has failed.
    pub fn round(&mut self, turn: u64) -> Result<bool, Fault> {
        let max_steps = self.state.launch.max_steps;
        let (mut ended, mut moved) = (true, false);
        for &k in &self.order {
            let warp = &mut self.warps[k];
            if warp.groups.is_empty() {
                continue;
            }
            let before = warp.steps;
            let stop = warp.run(&mut self.state, turn.min(max_steps - before))?;
            moved |= warp.steps != before || stop == Stop::Ended;
            ended &= stop == Stop::Ended;
        }
        if ended || self.state.launch.stopped() {
            return Ok(true);
        }
        let opened = self.state.open_barriers(&mut self.warps)?;
        let mut waiting = self.warps.iter().filter(|w| !w.groups.is_empty());
        if let Some(warp) = waiting.clone().find(|w| w.steps >= max_steps) {
            return Err(warp.stuck(&self.state, Kind::Timeout));
        }
        match waiting.next().filter(|_| !moved && !opened) {
            Some(warp) => Err(warp.stuck(&self.state, Kind::Deadlock)),
            None => Ok(false),
        }
    }
}
