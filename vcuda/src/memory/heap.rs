//! The allocations in an arena, with red zones between them and a quarantine for freed ones.

use super::{Arena, NONE};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The smallest red zone on either side of an allocation, in bytes; also the alignment of every allocation.
const RED_ZONE: u64 = 256;
/// The largest red zone. Larger allocations have larger ones, so that a wrong stride ends in a red zone, not in another
/// allocation.
const MAX_RED_ZONE: u64 = 1 << 20;
/// How many bytes of freed memory are kept from reuse.
const QUARANTINE: u64 = 64 << 20;
/// Allocations of at least this size are sparse: their shadow is filled in piece by piece, when a piece is first
/// touched.
const SPARSE: u64 = 64 << 20;
/// The size of such a piece, in bytes.
const PIECE: u64 = 1 << 16;

/// The owner of an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// The context's handle.
    pub context: u64,
    /// The API function that made it.
    pub call: &'static str,
    /// The pool it belongs to; zero means none.
    pub pool: u64,
}

impl Owner {
    /// The owner of a cooperative launch's workspace.
    pub const LAUNCH: Owner = Owner { context: 0, call: "a cooperative launch", pool: 0 };
    /// The owner of a module's variables, which no API function may free.
    pub const MODULE: Owner = Owner { context: 0, call: "a module variable", pool: 0 };

    /// Returns whether it is managed memory.
    pub fn managed(&self) -> bool {
        self.call == "cuMemAllocManaged"
    }
}

/// A live allocation.
#[derive(Debug, Clone)]
pub struct Block {
    pub addr: u64,
    pub size: u64,
    pub owner: Owner,
    /// A serial number in order of creation, which names it in reports.
    pub serial: u64,
    /// The state of the pieces whose shadow has not been written yet; `None` if the allocation is not sparse.
    lazy: Option<u8>,
    /// The pieces whose shadow has been written, in ascending order.
    touched: Vec<u64>,
}

/// The allocation nearest to an invalid address.
#[derive(Debug, Clone)]
pub enum Neighbour {
    /// A live allocation, and the address as an offset from its start: negative before it, at least its size behind it.
    Live(Block, i64),
    /// A freed allocation that contained the address, and the offset from its start.
    Freed(Block, i64),
    /// No allocation is near.
    Nothing,
}

/// The allocations of one arena.
#[derive(Debug)]
pub struct Heap {
    arena: Arc<Arena>,
    live: BTreeMap<u64, Block>,
    freed: VecDeque<(Block, u64)>,
    reusable: BTreeMap<u64, Vec<u64>>,
    quarantined: u64,
    top: u64,
    used: u64,
    serial: u64,
}

fn footprint(size: u64) -> u64 {
    let zone = (size / 8).clamp(RED_ZONE, MAX_RED_ZONE);
    let total = size + 2 * zone;
    // With a few size classes per power of two, freed ranges fit later requests.
    total.next_multiple_of((total.next_power_of_two() / 8).max(RED_ZONE))
}

impl Heap {
    /// Creates an empty heap in an arena.
    pub fn new(arena: Arena) -> Heap {
        let top = arena.base() + 4096;
        Heap {
            arena: Arc::new(arena),
            live: BTreeMap::new(),
            freed: VecDeque::new(),
            reusable: BTreeMap::new(),
            quarantined: 0,
            top,
            used: 0,
            serial: 0,
        }
    }

    /// Returns the arena.
    pub fn arena(&self) -> &Arc<Arena> {
        &self.arena
    }

    /// Returns the bytes in live allocations.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Allocates a range. Its bytes stay inaccessible until [`open`](Heap::open).
    pub fn allocate(&mut self, size: u64, owner: Owner) -> Option<u64> {
        if !self.arena.contains(self.arena.base(), size) {
            return None;
        }
        let total = footprint(size);
        let start = match self.reusable.get_mut(&total).and_then(Vec::pop) {
            Some(start) => start,
            None => {
                let start = self.top;
                if !self.arena.contains(start, total) {
                    return None;
                }
                self.top += total;
                start
            }
        };
        let addr = start + (total - size) / 2 / RED_ZONE * RED_ZONE;
        self.serial += 1;
        self.used += size;
        self.live.insert(
            addr,
            Block { addr, size, owner, serial: self.serial, lazy: None, touched: Vec::new() },
        );
        Some(addr)
    }

    /// Makes an allocation accessible, with its bytes in the given state.
    pub fn open(&mut self, addr: u64, state: u8) {
        let Some(block) = self.live.get_mut(&addr) else { return };
        if block.size < SPARSE {
            self.arena.set_shadow(addr, block.size, state);
        } else {
            block.lazy = Some(state);
            block.touched.clear();
        }
    }

    /// Frees an allocation and returns it, or `None` if the address is not the start of one.
    pub fn free(&mut self, addr: u64) -> Option<Block> {
        let block = self.live.remove(&addr)?;
        self.arena.set_shadow(addr, block.size, NONE);
        if block.size >= 1 << 20 {
            self.arena.release(addr, block.size);
        }
        self.used -= block.size;
        let total = footprint(block.size);
        self.quarantined += total;
        self.freed.push_back((block.clone(), total));
        while self.quarantined > QUARANTINE && self.freed.len() > 1 {
            if let Some((old, total)) = self.freed.pop_front() {
                self.quarantined -= total;
                let start = old.addr - (total - old.size) / 2 / RED_ZONE * RED_ZONE;
                self.reusable.entry(total).or_default().push(start);
            }
        }
        Some(block)
    }

    /// Returns the live allocation that contains a range.
    pub fn covering(&self, addr: u64, len: u64) -> Option<&Block> {
        let block = self.live.range(..=addr).next_back()?.1;
        (addr.checked_add(len)? <= block.addr + block.size).then_some(block)
    }

    /// Returns the allocation nearest to an address.
    pub fn neighbour(&self, addr: u64) -> Neighbour {
        let below = self.live.range(..=addr).next_back().map(|(_, b)| b);
        if let Some(block) = below
            && addr < block.addr + block.size
        {
            return Neighbour::Live(block.clone(), (addr - block.addr) as i64);
        }
        if let Some((block, _)) =
            self.freed.iter().rev().find(|(b, _)| (b.addr..b.addr + b.size).contains(&addr))
        {
            return Neighbour::Freed(block.clone(), (addr - block.addr) as i64);
        }
        let above = self.live.range(addr..).next().map(|(_, b)| b);
        let distance =
            |b: &Block| if addr < b.addr { b.addr - addr } else { addr - b.addr - b.size };
        match [below, above].into_iter().flatten().min_by_key(|b| distance(b)) {
            Some(block) if distance(block) <= 64 << 20 => {
                Neighbour::Live(block.clone(), addr as i64 - block.addr as i64)
            }
            _ => Neighbour::Nothing,
        }
    }

    /// Fills in the shadow of the untouched pieces that a range overlaps. Returns whether there were any.
    pub fn materialise(&mut self, addr: u64, len: u64) -> bool {
        let Some((_, block)) = self.live.range_mut(..=addr).next_back() else { return false };
        let Some(state) = block.lazy else { return false };
        if addr >= block.addr + block.size {
            return false;
        }
        let mut any = false;
        let end = (addr + len).min(block.addr + block.size);
        let mut at = addr;
        while at < end {
            let piece = (at - block.addr) / PIECE;
            let start = block.addr + piece * PIECE;
            if let Err(k) = block.touched.binary_search(&piece) {
                self.arena.set_shadow(start, PIECE.min(block.addr + block.size - start), state);
                block.touched.insert(k, piece);
                any = true;
            }
            at = start + PIECE;
        }
        any
    }

    /// Sets the state of a range. For a whole sparse allocation, untouched pieces stay untouched.
    pub fn mark(&mut self, addr: u64, len: u64, state: u8) {
        if let Some((_, block)) = self.live.range_mut(..=addr).next_back()
            && block.lazy.is_some()
        {
            if addr == block.addr && len == block.size {
                let touched = std::mem::take(&mut block.touched);
                block.lazy = Some(state);
                for piece in touched {
                    let start = block.addr + piece * PIECE;
                    self.arena.set_shadow(start, PIECE.min(block.addr + block.size - start), state);
                    block.touched.push(piece);
                }
                return;
            }
            self.materialise(addr, len);
        }
        self.arena.set_shadow(addr, len, state);
    }

    /// Iterates over the live allocations of a context.
    pub fn owned_by(&self, context: u64) -> impl Iterator<Item = &Block> {
        self.live.values().filter(move |b| b.owner.context == context)
    }

    /// Returns the number of live allocations, not counting variables of modules.
    pub fn count(&self) -> usize {
        self.live.values().filter(|b| b.owner != Owner::MODULE).count()
    }

    /// Clears the race cells of all memory used so far.
    pub fn clear_cells(&self) {
        self.arena.clear_cells(self.top - self.arena.base());
    }
}
