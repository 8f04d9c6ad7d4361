//! Race detection between the threads of a launch, and detection of writes to memory that is read through `.nc` loads.
//!
//! Each thread has a number that identifies it, and gets a fresh one when it synchronises. The cell of a byte holds the
//! number of its last writer, plain or atomic, and of its last reader; special numbers mean "several threads". Numbers
//! only grow, so the cells of earlier launches are recognised as old and need no clearing.
//!
//! The following accesses are ordered: those of one thread; those before a barrier of the whole block with those after
//! it; those of lanes that meet at a warp barrier. A fence, or arriving at a barrier of some threads, *releases* what a
//! thread has done; an atomic or volatile load in a kernel with fences, or leaving such a barrier, *acquires* all that
//! was released in the block so far. A clock per block orders the two. The last rule is lenient, because the load may
//! have read an unrelated flag: it can miss a race but never reports a false one.

use super::access::Way;
use super::program::Program;
use crate::isa::lane::{LANES, lanes};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

static NEXT: AtomicU32 = AtomicU32::new(1);
/// Thread numbers have 31 bits.
const LIMIT: u32 = 1 << 31;
/// The top bit of a reader: the load used the read-only path.
const READONLY: u32 = LIMIT;
/// The top bit of a writer: the write was an atomic or a volatile store.
const ATOMIC: u32 = LIMIT;
/// How many numbers a warp draws at a time: one per lane, and one for "several lanes of this warp".
const DRAW: u32 = LANES as u32 + 1;

/// Returns whether the remaining numbers suffice for a launch of this many threads. If not, clear all cells and call
/// [`restart`].
pub fn next_launch_fits(threads: u64) -> bool {
    u64::from(NEXT.load(Relaxed)) + threads.saturating_mul(2) + (1 << 24) < u64::from(LIMIT)
}

/// Starts the numbers again from one.
pub fn restart() {
    NEXT.store(1, Relaxed);
}

fn draw(count: u32) -> Option<u32> {
    NEXT.fetch_update(Relaxed, Relaxed, |n| n.checked_add(count).filter(|&end| end < LIMIT)).ok()
}

/// Draws the number of an access that no kernel makes.
pub fn number() -> Option<u32> {
    draw(1)
}

/// An earlier operation that nothing orders with a launch.
#[derive(Debug)]
pub struct Earlier {
    /// Its thread numbers.
    pub numbers: Range<u32>,
    /// What it is, for reports.
    pub what: String,
}

/// The race-detection state of a launch.
#[derive(Debug, Clone)]
pub struct Tracker {
    /// The first number of this launch; in a cell it means "several blocks".
    base: u32,
    /// The first number of the earlier operations that are not ordered with this launch; `base` if there are none.
    floor: u32,
    /// These operations, in the order of their numbers.
    earlier: Arc<[Earlier]>,
    /// Whether conflicts between blocks are reported.
    across_blocks: bool,
    /// Whether the kernel has fences: a plain access may then be ordered with atomics in ways not tracked here.
    fences: bool,
    /// Whether the kernel has compare-and-swap loops, which start with a plain load of a word that other threads
    /// change.
    compares: bool,
}

impl Tracker {
    /// Starts tracking a launch; `None` if the numbers are used up.
    pub fn start(program: &Program, earlier: Vec<Earlier>) -> Option<Tracker> {
        draw(1).map(|base| Tracker {
            base,
            floor: earlier.first().map_or(base, |e| e.numbers.start.min(base)),
            earlier: earlier.into(),
            across_blocks: !program.fences_between_blocks,
            fences: program.fences,
            compares: program.compares,
        })
    }

    /// Returns the first number of this launch.
    pub fn base(&self) -> u32 {
        self.base
    }
}

/// A range of numbers drawn together.
#[derive(Debug, Clone, Copy)]
struct Draw {
    first: u32,
    warp: u32,
    phase: u32,
    /// The clock at which its lanes released what they had done, or [`NEVER`].
    released: u32,
}

impl Draw {
    fn count(&self) -> u32 {
        if self.warp == NO_WARP { 1 } else { DRAW }
    }
}

/// A conflict found in a cell. The other thread is given by its warp and lane, if there was only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conflict {
    /// The other access was a write.
    Write(Option<(u32, u32)>),
    /// The other access was a read.
    Read(Option<(u32, u32)>),
    /// The other access was an atomic or a volatile store, and this one is plain.
    Atomic(Option<(u32, u32)>),
    /// The other access, under this number, was that of an earlier operation.
    Earlier(u32),
    /// A read-only load and a write in the same launch.
    ReadOnly,
}

/// A thread of the block with its current number.
#[derive(Debug, Clone, Copy)]
pub struct Me {
    number: u32,
    thread: usize,
}

/// What all lanes of an access have in common.
#[derive(Debug, Clone, Copy)]
pub struct Touch {
    pub way: Way,
    /// Whether it is volatile or ordered; atomics always count as such.
    pub strong: bool,
    pub readonly: bool,
    /// Whether it is in shared memory, where numbers of other blocks in the cells are left over and meaningless.
    pub shared: bool,
}

/// The race-detection state of a block: the numbers it has drawn.
#[derive(Debug)]
pub struct BlockTrack {
    tracker: Tracker,
    draws: Vec<Draw>,
    /// The number of barriers of the whole block so far.
    phase: u32,
    /// The number of releases so far.
    clock: u32,
    /// The number that means "several threads of this block".
    several: u32,
    threads: Vec<Thread>,
    /// For each warp, the index of its latest draw for all lanes, and the current number for "several lanes".
    whole: Vec<(usize, u32)>,
    /// The clock at which a number was released, for draws that were not released as a whole.
    released: HashMap<u32, u32>,
}

/// A thread of the block.
#[derive(Debug, Clone, Copy, Default)]
struct Thread {
    number: u32,
    /// The clock up to which it has acquired the releases of its block.
    acquired: u32,
    /// The clock up to which it has acquired the releases of its warp.
    met: u32,
}

const NO_WARP: u32 = u32::MAX;
/// Not released yet.
const NEVER: u32 = u32::MAX;

impl BlockTrack {
    /// Starts tracking a block.
    pub fn start(tracker: Tracker, warps: usize) -> Option<BlockTrack> {
        let mut track = BlockTrack {
            tracker,
            draws: Vec::with_capacity(warps + 1),
            phase: 0,
            clock: 0,
            several: 0,
            threads: vec![Thread::default(); warps * LANES],
            whole: vec![(0, 0); warps],
            released: HashMap::new(),
        };
        track.renew_several()?;
        (0..warps).try_for_each(|warp| track.renew(warp, u32::MAX))?;
        Some(track)
    }

    fn renew_several(&mut self) -> Option<()> {
        self.several = draw(1)?;
        let phase = self.phase;
        self.draws.push(Draw { first: self.several, warp: NO_WARP, phase, released: NEVER });
        Some(())
    }

    /// Assigns fresh numbers to lanes of a warp.
    fn renew(&mut self, warp: usize, mask: u32) -> Option<()> {
        let first = draw(DRAW)?;
        let at = self.draws.len();
        self.draws.push(Draw { first, warp: warp as u32, phase: self.phase, released: NEVER });
        let threads = &mut self.threads[warp * LANES..][..LANES];
        lanes(mask).for_each(|lane| threads[lane].number = first + lane as u32);
        let whole = if mask == u32::MAX { at } else { self.whole[warp].0 };
        self.whole[warp] = (whole, first + LANES as u32);
        Some(())
    }

    /// Releases what lanes of a warp have done so far.
    fn release(&mut self, warp: usize, mask: u32) -> Option<()> {
        self.clock += 1;
        let (whole, several) = self.whole[warp];
        let first = self.draws[whole].first;
        if mask == u32::MAX {
            self.draws[whole].released = self.clock;
        }
        for lane in lanes(mask) {
            let number = self.threads[warp * LANES + lane].number;
            if mask != u32::MAX || number != first + lane as u32 {
                self.released.insert(number, self.clock);
            }
        }
        if mask != u32::MAX || several != first + LANES as u32 {
            self.released.insert(several, self.clock);
        }
        self.renew(warp, mask)
    }

    /// Orders all threads of the block, which have met at a barrier.
    pub fn barrier(&mut self) -> Option<()> {
        self.phase += 1;
        self.renew_several()?;
        (0..self.whole.len()).try_for_each(|warp| self.renew(warp, u32::MAX))
    }

    /// Orders lanes of a warp that have met. Lanes that have exited count as present.
    pub fn lanes_met(&mut self, warp: usize, mask: u32) -> Option<()> {
        self.release(warp, mask)?;
        let threads = &mut self.threads[warp * LANES..][..LANES];
        let acquired = lanes(mask).map(|lane| threads[lane].acquired).max().unwrap_or(0);
        for lane in lanes(mask) {
            threads[lane] = Thread { acquired, met: self.clock, ..threads[lane] };
        }
        Some(())
    }

    /// Releases what lanes of a warp have done, to the whole block: they passed a fence, or arrived at a barrier of
    /// some threads.
    pub fn publish(&mut self, warp: usize, mask: u32) -> Option<()> {
        self.release(warp, mask)?;
        self.released.insert(self.several, self.clock);
        self.renew_several()
    }

    /// Returns the clock: the number of releases so far.
    pub fn now(&self) -> u32 {
        self.clock
    }

    /// Acquires all releases up to a clock for lanes of a warp that leave a barrier of some threads, or read what may
    /// be a flag.
    pub fn acquire(&mut self, warp: usize, mask: u32, until: u32) -> Option<()> {
        for lane in lanes(mask) {
            let thread = &mut self.threads[warp * LANES + lane];
            thread.acquired = thread.acquired.max(until);
        }
        Some(())
    }

    /// Returns a thread with its current number.
    #[inline(always)]
    pub fn me(&self, warp: usize, lane: usize) -> Me {
        let thread = warp * LANES + lane;
        Me { number: self.threads[thread].number, thread }
    }

    fn find(&self, number: u32) -> Option<&Draw> {
        let k = self.draws.partition_point(|d| d.first <= number).checked_sub(1)?;
        self.draws.get(k).filter(|d| number < d.first + d.count())
    }

    /// Returns whether an access under that number happened before whatever this thread does now.
    fn ordered(&self, number: u32, me: Me, shared: bool) -> bool {
        let Some(draw) = self.find(number) else {
            // Another block: a leftover in shared memory; in global memory a conflict, if those between blocks count.
            return shared || !self.tracker.across_blocks;
        };
        let released = || self.released.get(&number).copied().unwrap_or(draw.released);
        // A thread is always ordered with itself, whichever number it had then.
        let own = draw.warp as usize == me.thread / LANES
            && number - draw.first == (me.thread % LANES) as u32;
        own || draw.phase < self.phase
            || released() <= self.threads[me.thread].acquired
            || draw.warp as usize == me.thread / LANES && released() <= self.threads[me.thread].met
    }

    fn who(&self, number: u32) -> Option<(u32, u32)> {
        let draw = self.find(number).filter(|d| d.warp != NO_WARP)?;
        let lane = number - draw.first;
        (lane < LANES as u32).then_some((draw.warp, lane))
    }

    /// Checks an access to a byte and returns the cell's new value, or the conflict.
    #[inline(always)]
    pub fn touch(&self, touch: &Touch, cell: u64, me: Me) -> Result<u64, Conflict> {
        match (touch.way, touch.strong) {
            (Way::Read, false) => self.read(cell, me, touch.readonly, touch.shared),
            (Way::Write, false) => self.write(cell, me, touch.shared),
            (Way::Read, true) => self.look(cell, me, touch.shared),
            (way, _) => self.atomic(cell, me, way == Way::Both, touch.shared),
        }
    }

    #[inline(always)]
    fn read(&self, cell: u64, me: Me, readonly: bool, shared: bool) -> Result<u64, Conflict> {
        let (writer, reader) = (cell as u32, (cell >> 32) as u32);
        if writer & !ATOMIC >= self.tracker.floor {
            if readonly && writer & !ATOMIC >= self.tracker.base {
                return Err(Conflict::ReadOnly);
            }
            if writer != me.number {
                self.after_write(writer, me, true, shared)?;
            }
        }
        let last = reader & !READONLY;
        let flag = if readonly { READONLY } else { 0 };
        let reader = if last < self.tracker.base {
            me.number | flag
        } else if last == me.number {
            reader | flag
        } else {
            self.joined(last, me, shared) | reader & READONLY | flag
        };
        Ok(u64::from(writer) | u64::from(reader) << 32)
    }

    #[inline(always)]
    fn write(&self, cell: u64, me: Me, shared: bool) -> Result<u64, Conflict> {
        let (writer, reader) = (cell as u32, (cell >> 32) as u32);
        if writer & !ATOMIC >= self.tracker.floor && writer != me.number {
            self.after_write(writer, me, false, shared)?;
        }
        if reader & !READONLY >= self.tracker.floor && reader != me.number {
            self.after_read(reader, me, shared)?;
        }
        Ok(me.number.into())
    }

    /// Checks a volatile load, which leaves the cell unchanged.
    fn look(&self, cell: u64, me: Me, shared: bool) -> Result<u64, Conflict> {
        let writer = cell as u32;
        if !self.tracker.fences && writer & ATOMIC == 0 && writer >= self.tracker.base {
            self.after_write(writer, me, true, shared)?;
        }
        Ok(cell)
    }

    /// Checks an atomic or a volatile store, which conflicts with plain accesses but not with others of its kind.
    fn atomic(&self, cell: u64, me: Me, atomic: bool, shared: bool) -> Result<u64, Conflict> {
        let (writer, reader) = (cell as u32, (cell >> 32) as u32);
        let (last, plain) = (writer & !ATOMIC, writer & ATOMIC == 0);
        if plain && last >= self.tracker.floor {
            if atomic || !self.tracker.fences {
                self.after_write(writer, me, false, shared)?;
            }
            // Keep the thread's own plain write in the cell: other threads must be checked against it.
            if last == me.number {
                return Ok(cell);
            }
        }
        if reader & !READONLY >= self.tracker.floor
            && (reader & READONLY != 0 || !self.tracker.fences && !self.tracker.compares)
        {
            self.after_read(reader, me, shared)?;
        }
        let writer = if plain || last < self.tracker.base || last == me.number {
            me.number
        } else {
            self.joined(last, me, shared)
        };
        Ok(u64::from(writer | ATOMIC) | u64::from(reader) << 32)
    }

    #[cold]
    fn after_write(&self, writer: u32, me: Me, read: bool, shared: bool) -> Result<(), Conflict> {
        let (last, plain) = (writer & !ATOMIC, writer & ATOMIC == 0);
        if last < self.tracker.base {
            return self.after_earlier(last);
        }
        if last == me.number || self.ordered(last, me, shared) {
            Ok(())
        } else if plain {
            Err(Conflict::Write(self.who(last)))
        } else if self.tracker.fences || read && self.tracker.compares {
            Ok(())
        } else {
            Err(Conflict::Atomic(self.who(last)))
        }
    }

    #[cold]
    fn after_read(&self, reader: u32, me: Me, shared: bool) -> Result<(), Conflict> {
        let last = reader & !READONLY;
        if last < self.tracker.base {
            return self.after_earlier(last);
        }
        if reader & READONLY != 0 {
            Err(Conflict::ReadOnly)
        } else if last == me.number || self.ordered(last, me, shared) {
            Ok(())
        } else {
            Err(Conflict::Read(self.who(last)))
        }
    }

    /// Returns the earlier operation to which a number belongs, if nothing orders it with this launch.
    pub fn earlier(&self, number: u32) -> Option<&Earlier> {
        let earlier = &self.tracker.earlier;
        let k = earlier.partition_point(|e| e.numbers.start <= number).checked_sub(1)?;
        earlier.get(k).filter(|e| e.numbers.contains(&number))
    }

    fn after_earlier(&self, number: u32) -> Result<(), Conflict> {
        if self.earlier(number).is_none() { Ok(()) } else { Err(Conflict::Earlier(number)) }
    }

    /// Returns the cell of a byte that this thread writes despite a tolerated conflict.
    pub fn overwritten(&self, me: Me) -> u64 {
        me.number.into()
    }

    /// Returns the number that stands for both an earlier access of the same kind and this one.
    #[cold]
    fn joined(&self, last: u32, me: Me, shared: bool) -> u32 {
        let several = self.whole[me.thread / LANES].1;
        if last == self.several || last == several {
            return last;
        }
        match self.find(last) {
            Some(_) if self.ordered(last, me, shared) => me.number,
            Some(d) if d.warp as usize == me.thread / LANES => several,
            Some(_) => self.several,
            None if shared => me.number,
            None => self.tracker.base,
        }
    }
}
