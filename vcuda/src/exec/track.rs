//! Who touched a byte last: races between the threads of a launch, and writes under read-only loads.
//!
//! A thread has a number, and gets a fresh one when it synchronises. A byte's cell keeps the number of its last
//! writer, plain or atomic, and of its last reader; special numbers mean "several". Numbers only grow, so cells
//! of earlier launches look old and need no clearing.
//!
//! What is ordered: the accesses of one thread; those before a barrier of the whole block with those after it;
//! those of the lanes that meet at a warp barrier. A fence, or coming to a barrier of some threads, *gives up*
//! what a thread has done; an atomic or volatile load in a kernel with fences, or leaving such a barrier, *takes
//! over* all that was given up in the block so far. A clock per block tells which came first. The last rule is
//! generous (the flag may have been another one), so it never alarms falsely.

use super::access::Way;
use super::program::Program;
use crate::isa::lane::{LANES, lanes};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

static NEXT: AtomicU32 = AtomicU32::new(1);
/// Numbers have 31 bits.
const LIMIT: u32 = 1 << 31;
/// The last bit of a reader: through the read-only path.
const READONLY: u32 = LIMIT;
/// The last bit of a writer: by an atomic or a volatile store.
const ATOMIC: u32 = LIMIT;
/// The numbers of a draw: one per lane, and one for "several lanes of this warp".
const DRAW: u32 = LANES as u32 + 1;

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
    /// The first number of this launch; in a cell it means "several blocks".
    base: u32,
    /// Conflicts between blocks count.
    across_blocks: bool,
    /// There are fences: a plain access beside atomics may well be in order, in ways not tracked here.
    fences: bool,
    /// There are compare-and-swap loops, which begin with a plain load of a word that others change.
    compares: bool,
}

impl Tracker {
    /// Starts a launch; `None` if the numbers are used up.
    pub fn start(program: &Program) -> Option<Tracker> {
        draw(1).map(|base| Tracker {
            base,
            across_blocks: !program.fenced,
            fences: program.fences,
            compares: program.compares,
        })
    }
}

/// Numbers drawn together.
#[derive(Debug, Clone, Copy)]
struct Draw {
    first: u32,
    warp: u32,
    phase: u32,
    /// When its lanes gave up what they had done.
    ended: u32,
}

impl Draw {
    fn count(&self) -> u32 {
        if self.warp == NO_WARP { 1 } else { DRAW }
    }
}

/// A conflict found in a cell. The thread is named by its warp and lane, if there was only one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conflict {
    /// The other access was a write.
    Write(Option<(u32, u32)>),
    /// The other access was a read.
    Read(Option<(u32, u32)>),
    /// The other access was an atomic or a volatile write, and this one is plain.
    Atomic(Option<(u32, u32)>),
    /// A read-only load and a write in one launch.
    ReadOnly,
}

/// A thread of the block with its number of the moment.
#[derive(Debug, Clone, Copy)]
pub struct Me {
    number: u32,
    thread: usize,
}

/// What all lanes of an access have in common.
#[derive(Debug, Clone, Copy)]
pub struct Touch {
    pub way: Way,
    /// Volatile or ordered; atomics are anyway.
    pub strong: bool,
    pub readonly: bool,
    /// In shared memory, where cells of other blocks are leftovers.
    pub shared: bool,
}

/// The tracking of a block: the numbers it drew.
#[derive(Debug)]
pub struct BlockTrack {
    tracker: Tracker,
    draws: Vec<Draw>,
    /// Barriers of the whole block so far.
    phase: u32,
    /// Times at which anything was given up so far.
    clock: u32,
    /// The number that means "several threads of this block".
    several: u32,
    threads: Vec<Thread>,
    /// The latest draw of each warp that was for all its lanes, and the number for several of them.
    whole: Vec<(usize, u32)>,
    /// When numbers were given up by some lanes of a draw only.
    ended: HashMap<u32, u32>,
}

/// A thread of the block.
#[derive(Debug, Clone, Copy, Default)]
struct Thread {
    number: u32,
    /// Up to when it has taken over what the block gave up,
    taken: u32,
    /// and what its warp gave up.
    met: u32,
}

const NO_WARP: u32 = u32::MAX;
/// Not given up yet.
const NEVER: u32 = u32::MAX;

impl BlockTrack {
    /// Starts a block.
    pub fn start(tracker: Tracker, warps: usize) -> Option<BlockTrack> {
        let mut track = BlockTrack {
            tracker,
            draws: Vec::with_capacity(warps + 1),
            phase: 0,
            clock: 0,
            several: 0,
            threads: vec![Thread::default(); warps * LANES],
            whole: vec![(0, 0); warps],
            ended: HashMap::new(),
        };
        track.renew_several()?;
        (0..warps).try_for_each(|warp| track.renew(warp, u32::MAX))?;
        Some(track)
    }

    fn renew_several(&mut self) -> Option<()> {
        self.several = draw(1)?;
        let phase = self.phase;
        self.draws.push(Draw { first: self.several, warp: NO_WARP, phase, ended: NEVER });
        Some(())
    }

    /// Gives lanes of a warp fresh numbers.
    fn renew(&mut self, warp: usize, mask: u32) -> Option<()> {
        let first = draw(DRAW)?;
        let at = self.draws.len();
        self.draws.push(Draw { first, warp: warp as u32, phase: self.phase, ended: NEVER });
        let threads = &mut self.threads[warp * LANES..][..LANES];
        lanes(mask).for_each(|lane| threads[lane].number = first + lane as u32);
        let whole = if mask == u32::MAX { at } else { self.whole[warp].0 };
        self.whole[warp] = (whole, first + LANES as u32);
        Some(())
    }

    /// Lanes of a warp give up what they have done so far.
    fn give_up(&mut self, warp: usize, mask: u32) -> Option<()> {
        self.clock += 1;
        let (whole, several) = self.whole[warp];
        let first = self.draws[whole].first;
        if mask == u32::MAX {
            self.draws[whole].ended = self.clock;
        }
        for lane in lanes(mask) {
            let number = self.threads[warp * LANES + lane].number;
            if mask != u32::MAX || number != first + lane as u32 {
                self.ended.insert(number, self.clock);
            }
        }
        if mask != u32::MAX || several != first + LANES as u32 {
            self.ended.insert(several, self.clock);
        }
        self.renew(warp, mask)
    }

    /// All threads of the block have met.
    pub fn barrier(&mut self) -> Option<()> {
        self.phase += 1;
        self.renew_several()?;
        (0..self.whole.len()).try_for_each(|warp| self.renew(warp, u32::MAX))
    }

    /// These lanes of a warp have met; ones that have ended count as being there.
    pub fn lanes_met(&mut self, warp: usize, mask: u32) -> Option<()> {
        self.give_up(warp, mask)?;
        let threads = &mut self.threads[warp * LANES..][..LANES];
        let taken = lanes(mask).map(|lane| threads[lane].taken).max().unwrap_or(0);
        for lane in lanes(mask) {
            threads[lane] = Thread { taken, met: self.clock, ..threads[lane] };
        }
        Some(())
    }

    /// Lanes of a warp passed a fence, or came to a barrier of some threads.
    pub fn publish(&mut self, warp: usize, mask: u32) -> Option<()> {
        self.give_up(warp, mask)?;
        self.ended.insert(self.several, self.clock);
        self.renew_several()
    }

    /// The time: how often anything was given up.
    pub fn now(&self) -> u32 {
        self.clock
    }

    /// Lanes of a warp leave a barrier of some threads, or look at what may be a flag: what was given up until
    /// then happened before what they do now.
    pub fn take_over(&mut self, warp: usize, mask: u32, until: u32) -> Option<()> {
        for lane in lanes(mask) {
            let thread = &mut self.threads[warp * LANES + lane];
            thread.taken = thread.taken.max(until);
        }
        Some(())
    }

    /// A thread.
    #[inline(always)]
    pub fn me(&self, warp: usize, lane: usize) -> Me {
        let thread = warp * LANES + lane;
        Me { number: self.threads[thread].number, thread }
    }

    fn find(&self, number: u32) -> Option<&Draw> {
        let k = self.draws.partition_point(|d| d.first <= number).checked_sub(1)?;
        self.draws.get(k).filter(|d| number < d.first + d.count())
    }

    /// Whether an access by that number happened before anything this thread does now.
    fn ordered(&self, number: u32, me: Me, shared: bool) -> bool {
        let Some(draw) = self.find(number) else {
            // Another block: in shared memory a leftover, in global memory a conflict unless exempt.
            return shared || !self.tracker.across_blocks;
        };
        let ended = || self.ended.get(&number).copied().unwrap_or(draw.ended);
        // A thread is always in order with itself, whatever number it had before.
        let own = draw.warp as usize == me.thread / LANES
            && number - draw.first == (me.thread % LANES) as u32;
        own || draw.phase < self.phase
            || ended() <= self.threads[me.thread].taken
            || draw.warp as usize == me.thread / LANES && ended() <= self.threads[me.thread].met
    }

    fn who(&self, number: u32) -> Option<(u32, u32)> {
        let draw = self.find(number).filter(|d| d.warp != NO_WARP)?;
        let lane = number - draw.first;
        (lane < LANES as u32).then_some((draw.warp, lane))
    }

    /// An access to a byte: the cell's new value, or the conflict.
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
        if writer & !ATOMIC >= self.tracker.base {
            if readonly {
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
        if writer & !ATOMIC >= self.tracker.base && writer != me.number {
            self.after_write(writer, me, false, shared)?;
        }
        if reader & !READONLY >= self.tracker.base && reader != me.number {
            self.after_read(reader, me, shared)?;
        }
        Ok(me.number.into())
    }

    /// A volatile load leaves no mark.
    fn look(&self, cell: u64, me: Me, shared: bool) -> Result<u64, Conflict> {
        let writer = cell as u32;
        if !self.tracker.fences && writer & ATOMIC == 0 && writer >= self.tracker.base {
            self.after_write(writer, me, true, shared)?;
        }
        Ok(cell)
    }

    /// An atomic or a volatile store: others are no conflict, plain accesses are.
    fn atomic(&self, cell: u64, me: Me, atomic: bool, shared: bool) -> Result<u64, Conflict> {
        let (writer, reader) = (cell as u32, (cell >> 32) as u32);
        let (last, plain) = (writer & !ATOMIC, writer & ATOMIC == 0);
        if plain && last >= self.tracker.base {
            if atomic || !self.tracker.fences {
                self.after_write(writer, me, false, shared)?;
            }
            // The thread's own plain write is what others must not miss.
            if last == me.number {
                return Ok(cell);
            }
        }
        if reader & !READONLY >= self.tracker.base
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
        if reader & READONLY != 0 {
            Err(Conflict::ReadOnly)
        } else if last == me.number || self.ordered(last, me, shared) {
            Ok(())
        } else {
            Err(Conflict::Read(self.who(last)))
        }
    }

    /// The cell of a byte that this thread writes in spite of a conflict.
    pub fn overwritten(&self, me: Me) -> u64 {
        me.number.into()
    }

    /// The number for an earlier access of the same kind and this one.
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
