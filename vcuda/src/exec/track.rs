//! Who touched a byte last: races between the threads of a launch, and writes under read-only loads.
//!
//! Each warp draws 32 fresh numbers, one per thread, and draws again at every barrier. A byte's cell keeps the
//! number of its last writer and of its last reader (or a number that means "several"). Numbers only grow, so
//! cells of earlier launches look old and need no clearing. Two accesses are in order if both come from one
//! thread, or from one block with a barrier in between; a list per block of the numbers it drew tells.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

static NEXT: AtomicU32 = AtomicU32::new(1);
/// Numbers have 31 bits; the last bit of a reader says "through the read-only path".
const LIMIT: u32 = 1 << 31;
const READONLY: u32 = LIMIT;

/// Whether the numbers that are left suffice for a launch of so many threads. If not, [`restart`] after
/// clearing all cells.
pub fn next_launch_fits(threads: u64) -> bool {
    u64::from(NEXT.load(Relaxed)) + threads.saturating_mul(2) + (1 << 24) < u64::from(LIMIT)
}

/// Starts the numbers again.
pub fn restart() {
    NEXT.store(1, Relaxed);
}

fn draw(count: u32) -> Option<u32> {
    NEXT.fetch_update(Relaxed, Relaxed, |n| n.checked_add(count).filter(|&end| end < LIMIT)).ok()
}

/// The tracking of a launch.
#[derive(Debug, Clone, Copy)]
pub struct Tracker {
    /// The first number of this launch; as a reader it means "several blocks".
    base: u32,
    /// Conflicts between blocks count.
    across_blocks: bool,
}

impl Tracker {
    /// Starts a launch; `None` if the numbers are used up.
    pub fn start(across_blocks: bool) -> Option<Tracker> {
        draw(1).map(|base| Tracker { base, across_blocks })
    }
}

#[derive(Debug, Clone, Copy)]
struct Draw {
    first: u32,
    count: u32,
    warp: u32,
    phase: u32,
}

/// A conflict found in a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conflict {
    /// The other access was a write by thread `lane` of a warp, if it is known.
    Write(Option<(u32, u32)>),
    /// The other access was a read.
    Read(Option<(u32, u32)>),
    /// A read-only load and a write in one launch.
    ReadOnly,
}

/// The tracking of a block: the numbers it drew.
#[derive(Debug)]
pub struct BlockTrack {
    tracker: Tracker,
    draws: Vec<Draw>,
    phase: u32,
    /// The reader that means "several threads of this block in this phase".
    several: u32,
    /// Numbers of the current phase per warp.
    current: Vec<u32>,
}

const NO_WARP: u32 = u32::MAX;

impl BlockTrack {
    /// Starts a block.
    pub fn start(tracker: Tracker, warps: usize) -> Option<BlockTrack> {
        let several = draw(1)?;
        let mut track = BlockTrack {
            tracker,
            draws: Vec::with_capacity(warps + 1),
            phase: 0,
            several,
            current: vec![0; warps],
        };
        track.draws.push(Draw { first: several, count: 1, warp: NO_WARP, phase: 0 });
        Some(track)
    }

    /// Gives a warp fresh numbers: at its start, and when its lanes have synchronised.
    pub fn renew(&mut self, warp: usize) -> Option<()> {
        let first = draw(32)?;
        self.draws.push(Draw { first, count: 32, warp: warp as u32, phase: self.phase });
        self.current[warp] = first;
        Some(())
    }

    /// All threads of the block have met.
    pub fn barrier(&mut self) -> Option<()> {
        self.phase += 1;
        self.several = draw(1)?;
        self.draws.push(Draw { first: self.several, count: 1, warp: NO_WARP, phase: self.phase });
        (0..self.current.len()).try_for_each(|warp| self.renew(warp))
    }

    /// The number of a thread now.
    #[inline(always)]
    pub fn number(&self, warp: usize, lane: usize) -> u32 {
        self.current[warp] + lane as u32
    }

    fn find(&self, number: u32) -> Option<&Draw> {
        let k = self.draws.partition_point(|d| d.first <= number).checked_sub(1)?;
        self.draws.get(k).filter(|d| number < d.first + d.count)
    }

    /// Whether an access by that number happened before anything `warp` does now.
    fn ordered(&self, number: u32, warp: usize, shared: bool) -> bool {
        match self.find(number) {
            Some(d) if d.warp == warp as u32 => d.first != self.current[warp],
            Some(d) => d.phase < self.phase,
            // Another block: in shared memory a leftover, in global memory a conflict unless exempt.
            None => shared || !self.tracker.across_blocks,
        }
    }

    fn who(&self, number: u32) -> Option<(u32, u32)> {
        self.find(number).filter(|d| d.warp != NO_WARP).map(|d| (d.warp, number - d.first))
    }

    /// A read by thread `me` of `warp`: the cell's new value, or the conflict.
    #[inline(always)]
    pub fn read(
        &self,
        cell: u64,
        me: u32,
        warp: usize,
        readonly: bool,
        shared: bool,
    ) -> Result<u64, Conflict> {
        let (writer, reader) = (cell as u32, (cell >> 32) as u32);
        if writer >= self.tracker.base {
            if readonly {
                return Err(Conflict::ReadOnly);
            }
            if writer != me && !self.ordered(writer, warp, shared) {
                return Err(Conflict::Write(self.who(writer)));
            }
        }
        let last = reader & !READONLY;
        let flag = if readonly { READONLY } else { 0 };
        let reader = if last < self.tracker.base {
            me | flag
        } else if last == me {
            reader | flag
        } else {
            self.joined(last, me, warp, shared) | reader & READONLY | flag
        };
        Ok(u64::from(writer) | u64::from(reader) << 32)
    }

    #[cold]
    fn joined(&self, last: u32, me: u32, warp: usize, shared: bool) -> u32 {
        if last == self.several {
            return last;
        }
        match self.find(last) {
            Some(_) if self.ordered(last, warp, shared) => me,
            Some(_) => self.several,
            None if shared => me,
            None => self.tracker.base,
        }
    }

    /// A write by thread `me` of `warp`: the cell's new value, or the conflict.
    #[inline(always)]
    pub fn write(&self, cell: u64, me: u32, warp: usize, shared: bool) -> Result<u64, Conflict> {
        let (writer, reader) = (cell as u32, (cell >> 32) as u32);
        if writer >= self.tracker.base && writer != me && !self.ordered(writer, warp, shared) {
            return Err(Conflict::Write(self.who(writer)));
        }
        let last = reader & !READONLY;
        if last >= self.tracker.base {
            if reader & READONLY != 0 {
                return Err(Conflict::ReadOnly);
            }
            if last != me && !self.ordered(last, warp, shared) {
                return Err(Conflict::Read(self.who(last)));
            }
        }
        Ok(me.into())
    }

    /// An atomic: other atomics are no conflict, so only plain writes are looked at.
    pub fn atomic(&self, cell: u64, me: u32, warp: usize, shared: bool) -> Result<(), Conflict> {
        let writer = cell as u32;
        if writer >= self.tracker.base && writer != me && !self.ordered(writer, warp, shared) {
            return Err(Conflict::Write(self.who(writer)));
        }
        Ok(())
    }
}
