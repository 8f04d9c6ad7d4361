//! A block: its shared memory, its barriers and the turns of its warps.

use super::access::Fault;
use super::launch::Launch;
use super::program::{Barrier, Op};
use super::track::BlockTrack;
use super::warp::{Stop, Wait, Warp};
use crate::isa::lane::{LANES, Lane, lanes};
use crate::sanitizer::Kind;
use std::collections::BTreeMap;

/// The address of dynamic shared memory, above any static one.
pub const DYNAMIC_SHARED: u64 = 1 << 24;
/// Instructions a warp runs before the next has its turn, where turns matter.
const TURN: u64 = 1 << 16;

/// The shared memory of a block.
#[derive(Debug, Default)]
pub struct Shared {
    pub bytes: Vec<u8>,
    pub holds: Vec<bool>,
    pub cells: Vec<u64>,
    /// Bytes of the static part, rounded up.
    fixed: u64,
    /// Bytes of the static part.
    exact: u64,
}

impl Shared {
    fn new(launch: &Launch<'_>) -> Shared {
        let exact = launch.program.shared_bytes;
        let fixed = exact.next_multiple_of(16);
        let size = (fixed + u64::from(launch.dynamic_shared)) as usize;
        Shared {
            bytes: vec![0xcd; size],
            holds: vec![false; size],
            cells: vec![0; size],
            fixed,
            exact,
        }
    }

    /// The place of an address.
    pub fn index(&self, addr: u64, size: u64) -> Option<usize> {
        let (start, end) = if addr >= DYNAMIC_SHARED {
            (addr - DYNAMIC_SHARED + self.fixed, self.bytes.len() as u64)
        } else {
            (addr, self.exact)
        };
        (start.checked_add(size)? <= end).then_some(start as usize)
    }
}

#[derive(Debug, Default, Clone, Copy)]
struct Arrived {
    threads: u32,
    expected: u32,
    votes: u32,
}

/// What the warps of a block share.
pub struct BlockState<'a> {
    pub launch: &'a Launch<'a>,
    pub at: [u32; 3],
    pub threads: u32,
    /// Threads that have ended.
    pub ended: u32,
    pub shared: Shared,
    pub track: Option<BlockTrack>,
    barriers: BTreeMap<u32, Arrived>,
}

impl BlockState<'_> {
    /// The coordinates of a thread by its number in the block.
    pub fn thread(&self, number: u32) -> [u32; 3] {
        let [x, y, _] = self.launch.block;
        [number % x, number / x % y, number / x / y]
    }

    /// Threads come to a barrier.
    pub fn arrive(&mut self, number: u32, expected: u32, mask: u32, votes: u32) {
        let barrier = self.barriers.entry(number).or_default();
        barrier.threads += mask.count_ones();
        barrier.votes += votes.count_ones();
        barrier.expected = expected;
    }

    /// The lanes of a warp have met.
    pub fn warp_met(&mut self, warp: usize) {
        if let Some(track) = &mut self.track
            && track.renew(warp).is_none()
        {
            self.track = None;
        }
    }

    /// Opens the barriers that everyone has reached. True if there was one.
    fn open_barriers(&mut self, warps: &mut [Warp]) -> bool {
        let alive = self.threads - self.ended;
        let full: Vec<(u32, Arrived)> = self
            .barriers
            .iter()
            .map(|(&k, &v)| (k, v))
            .filter(|(_, b)| b.threads >= if b.expected == 0 { alive } else { b.expected })
            .collect();
        for &(number, arrived) in &full {
            self.barriers.remove(&number);
            for warp in warps.iter_mut() {
                for k in 0..warp.groups.len() {
                    let group = warp.groups[k];
                    if group.wait != Wait::Barrier(number) {
                        continue;
                    }
                    warp.groups[k].wait = Wait::Ready;
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
            if let Some(track) = &mut self.track
                && track.barrier().is_none()
            {
                self.track = None;
            }
        }
        !full.is_empty()
    }
}

/// One host thread's workshop: warps and shared memory that are used again for the next block.
pub struct Worker<'a> {
    warps: Vec<Warp>,
    state: BlockState<'a>,
}

impl<'a> Worker<'a> {
    /// A workshop for blocks of a launch.
    pub fn new(launch: &'a Launch<'a>) -> Worker<'a> {
        let threads = launch.block.iter().product();
        let warps = if launch.program.takes_turns {
            usize::try_from(threads).unwrap_or(1).div_ceil(LANES)
        } else {
            1
        };
        Worker {
            warps: (0..warps).map(|_| Warp::new(launch.program)).collect(),
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

    /// Instructions run so far.
    pub fn executed(&self) -> u64 {
        self.warps.iter().map(|w| w.executed).sum()
    }

    /// Runs one block.
    pub fn run(&mut self, at: [u32; 3]) -> Result<(), Fault> {
        let count = self.state.threads.div_ceil(LANES as u32) as usize;
        let state = &mut self.state;
        state.at = at;
        state.ended = 0;
        state.barriers.clear();
        state.shared.holds.fill(false);
        state.track = state.launch.tracker.and_then(|t| BlockTrack::start(t, count));
        if self.warps.len() < count {
            return self.one_by_one(count);
        }
        for (k, warp) in self.warps.iter_mut().enumerate() {
            self.state.warp_met(k);
            warp.start(k, &self.state);
        }
        self.in_turns()
    }

    /// No warp waits for another: each runs to its end.
    fn one_by_one(&mut self, count: usize) -> Result<(), Fault> {
        let warp = &mut self.warps[0];
        for k in 0..count {
            self.state.warp_met(k);
            warp.start(k, &self.state);
            let patience = self.state.launch.patience;
            match warp.run(&mut self.state, patience)? {
                Stop::Ended => {}
                Stop::Waiting => {
                    return Err(warp.stuck(
                        &self.state,
                        Kind::Deadlock,
                        "threads of a warp wait for each other at different places",
                    ));
                }
                Stop::Turn if self.state.launch.stopped() => return Ok(()),
                Stop::Turn => {
                    return Err(warp.stuck(
                        &self.state,
                        Kind::Timeout,
                        "the kernel runs for too long",
                    ));
                }
            }
        }
        Ok(())
    }

    fn in_turns(&mut self) -> Result<(), Fault> {
        let mut patience = self.state.launch.patience;
        loop {
            let (mut ended, mut moved) = (true, false);
            for warp in &mut self.warps {
                if warp.groups.is_empty() {
                    continue;
                }
                let before = warp.executed;
                let stop = warp.run(&mut self.state, TURN)?;
                moved |= warp.executed != before || stop == Stop::Ended;
                ended &= stop == Stop::Ended;
            }
            if ended || self.state.launch.stopped() {
                return Ok(());
            }
            let opened = self.state.open_barriers(&mut self.warps);
            patience = patience.saturating_sub(TURN / 16);
            if let Some(warp) = self.warps.iter().find(|w| !w.groups.is_empty()) {
                if !moved && !opened {
                    return Err(warp.stuck(
                        &self.state,
                        Kind::Deadlock,
                        "threads wait at a barrier that others never reach",
                    ));
                }
                if patience == 0 {
                    return Err(warp.stuck(
                        &self.state,
                        Kind::Timeout,
                        "the kernel runs for too long",
                    ));
                }
            }
        }
    }
}
