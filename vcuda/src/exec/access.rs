//! Loads, stores and atomics of a warp, each byte checked on the way.

use super::block::BlockState;
use super::launch::Region;
use super::program::{Access, Change, Inst, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
use super::track::Conflict;
use super::warp::Warp;
use crate::error::{ERROR_ILLEGAL_ADDRESS, ERROR_LAUNCH_FAILED, ERROR_MISALIGNED_ADDRESS};
use crate::isa::lane::{LANES, lanes};
use crate::memory::Neighbour;
use crate::ptx::ast::{Class, Space};
use crate::sanitizer::{Finding, Kind, describe, lock};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// What went wrong in which lane.
pub type Fault = Box<Finding>;

/// What an access does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Read,
    Write,
    Both,
}

impl Way {
    fn word(self) -> &'static str {
        match self {
            Way::Read => "read",
            Way::Write => "write",
            Way::Both => "atomic access",
        }
    }
}

/// Reads `bytes` at a checked address of device memory.
#[inline(always)]
fn get(addr: u64, bytes: u8) -> u64 {
    // SAFETY: the caller found all bytes allocated in an arena and the address aligned; arenas stay mapped
    // during a launch, and kernels access them with atomics only.
    unsafe {
        match bytes {
            1 => AtomicU8::from_ptr(addr as *mut u8).load(Relaxed).into(),
            2 => AtomicU16::from_ptr(addr as *mut u16).load(Relaxed).into(),
            4 => AtomicU32::from_ptr(addr as *mut u32).load(Relaxed).into(),
            _ => AtomicU64::from_ptr(addr as *mut u64).load(Relaxed),
        }
    }
}

/// Writes `bytes` at a checked address of device memory.
#[inline(always)]
fn set(addr: u64, bytes: u8, value: u64) {
    // SAFETY: as in `get`.
    unsafe {
        match bytes {
            1 => AtomicU8::from_ptr(addr as *mut u8).store(value as u8, Relaxed),
            2 => AtomicU16::from_ptr(addr as *mut u16).store(value as u16, Relaxed),
            4 => AtomicU32::from_ptr(addr as *mut u32).store(value as u32, Relaxed),
            _ => AtomicU64::from_ptr(addr as *mut u64).store(value, Relaxed),
        }
    }
}

/// Changes `bytes` at a checked address of device memory in one step and gives the old value.
fn exchange(addr: u64, bytes: u8, f: impl Fn(u64) -> u64) -> u64 {
    macro_rules! update {
        ($atomic:ident, $t:ty) => {{
            // SAFETY: as in `get`.
            let cell = unsafe { $atomic::from_ptr(addr as *mut $t) };
            let mut old = cell.load(Relaxed);
            while let Err(seen) =
                cell.compare_exchange_weak(old, f(old.into()) as $t, Relaxed, Relaxed)
            {
                old = seen;
            }
            old.into()
        }};
    }
    match bytes {
        2 => update!(AtomicU16, u16),
        4 => update!(AtomicU32, u32),
        _ => update!(AtomicU64, u64),
    }
}

fn from_slice(memory: &[u8], at: usize, bytes: u8) -> u64 {
    let mut value = [0; 8];
    value[..usize::from(bytes)].copy_from_slice(&memory[at..at + usize::from(bytes)]);
    u64::from_le_bytes(value)
}

fn to_slice(memory: &mut [u8], at: usize, bytes: u8, value: u64) {
    memory[at..at + usize::from(bytes)].copy_from_slice(&value.to_le_bytes()[..usize::from(bytes)]);
}

impl Warp {
    #[inline(always)]
    fn receive(&mut self, a: &Access, slot: u32, lane: usize, value: u64) {
        if a.class == Class::Wide {
            self.regs.wide[slot as usize][lane] = value;
        } else {
            let value = match (a.signed, a.bytes) {
                (true, 1) => value as u8 as i8 as u32,
                (true, 2) => value as u16 as i16 as u32,
                _ => value as u32,
            };
            self.regs.word[slot as usize][lane] = value;
        }
    }

    #[inline(always)]
    fn send(&self, a: &Access, slot: u32, lane: usize) -> u64 {
        if a.class == Class::Wide {
            self.regs.wide[slot as usize][lane]
        } else {
            self.regs.word[slot as usize][lane].into()
        }
    }

    /// Runs a load or store, or an atomic if there is a change to make.
    pub fn access(
        &mut self,
        block: &mut BlockState<'_>,
        inst: &Inst,
        a: &Access,
        mask: u32,
        store: bool,
        change: Option<Change>,
    ) -> Result<(), Fault> {
        let base = self.regs.wide[inst.o.s[0] as usize];
        let addresses: [u64; LANES] =
            std::array::from_fn(|lane| base[lane].wrapping_add(inst.o.imm));
        if a.space != Space::Generic {
            return self.in_space(a.space, block, inst, a, mask, &addresses, store, change);
        }
        // Generic: the window tells the space, lane by lane.
        let mut rest = mask;
        while rest != 0 {
            let window = addresses[rest.trailing_zeros() as usize] >> 32;
            let (space, start) = match window << 32 {
                SHARED_WINDOW => (Space::Shared, SHARED_WINDOW),
                LOCAL_WINDOW => (Space::Local, LOCAL_WINDOW),
                PARAM_WINDOW => (Space::Param, PARAM_WINDOW),
                _ => (Space::Global, 0),
            };
            let same = lanes(rest)
                .filter(|&l| {
                    start == 0 && addresses[l] < SHARED_WINDOW || addresses[l] >> 32 == window
                })
                .fold(0, |m, l| m | 1 << l);
            let offsets = addresses.map(|a| a.wrapping_sub(start));
            self.in_space(space, block, inst, a, same, &offsets, store, change)?;
            rest &= !same;
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    #[inline(always)]
    fn in_space(
        &mut self,
        space: Space,
        block: &mut BlockState<'_>,
        inst: &Inst,
        a: &Access,
        mask: u32,
        addresses: &[u64; LANES],
        store: bool,
        change: Option<Change>,
    ) -> Result<(), Fault> {
        let size = u64::from(a.bytes) * u64::from(a.count);
        let mut bad = 0;
        for (lane, addr) in addresses.iter().enumerate() {
            bad |= u32::from(addr & (size - 1) != 0) << lane;
        }
        if let Some(lane) = lanes(bad & mask).next() {
            let text = format!(
                "{} of {size} bytes at {:#x}, which is not a multiple of {size}",
                if store { "write" } else { "read" },
                addresses[lane]
            );
            return Err(self.fault(
                block,
                inst,
                lane,
                Kind::Misaligned,
                ERROR_MISALIGNED_ADDRESS,
                text,
            ));
        }
        match space {
            Space::Global | Space::Const | Space::Generic => match change {
                Some(change) => self.global_atomic(block, inst, a, mask, addresses, change),
                None if store => self.global_store(block, inst, a, mask, addresses, size),
                None => self.global_load(block, inst, a, mask, addresses, size),
            },
            Space::Shared => self.shared(block, inst, a, mask, addresses, store, change),
            Space::Local => self.local(block, inst, a, mask, addresses, store, change),
            Space::Param => {
                self.parameter(block, inst, a, mask, addresses, store || change.is_some())
            }
        }
    }

    fn global_load(
        &mut self,
        block: &mut BlockState<'_>,
        inst: &Inst,
        a: &Access,
        mask: u32,
        addresses: &[u64; LANES],
        size: u64,
    ) -> Result<(), Fault> {
        for lane in lanes(mask) {
            let addr = addresses[lane];
            let own = &block.launch.regions[0];
            let region = if own.arena.contains(addr, size) && own.arena.all_data(addr, size) {
                Some(own)
            } else {
                self.allow(block, inst, lane, addr, size, Way::Read)?
            };
            if let (Some(region), Some(track)) = (region, &block.track)
                && !a.strong
            {
                let me = track.number(self.index, lane);
                for k in 0..size {
                    let cell = region.arena.cell(addr + k);
                    let old = cell.load(Relaxed);
                    match track.read(old, me, self.index, a.readonly, false) {
                        Ok(new) if new != old => cell.store(new, Relaxed),
                        Ok(_) => {}
                        Err(conflict) => {
                            return Err(self.conflict(
                                block,
                                inst,
                                lane,
                                addr + k,
                                Way::Read,
                                conflict,
                            ));
                        }
                    }
                }
            }
            for k in 0..usize::from(a.count) {
                let value = get(addr + k as u64 * u64::from(a.bytes), a.bytes);
                self.receive(a, inst.o.d[k], lane, value);
            }
        }
        Ok(())
    }

    fn global_store(
        &mut self,
        block: &mut BlockState<'_>,
        inst: &Inst,
        a: &Access,
        mask: u32,
        addresses: &[u64; LANES],
        size: u64,
    ) -> Result<(), Fault> {
        if a.space == Space::Const {
            let lane = mask.trailing_zeros() as usize;
            return Err(self.fault(
                block,
                inst,
                lane,
                Kind::OutOfBounds,
                ERROR_ILLEGAL_ADDRESS,
                "write to constant memory".into(),
            ));
        }
        for lane in lanes(mask) {
            let addr = addresses[lane];
            let own = &block.launch.regions[0];
            let region = if own.arena.contains(addr, size) && own.arena.claim(addr, size) {
                Some(own)
            } else {
                self.allow(block, inst, lane, addr, size, Way::Write)?
            };
            if let (Some(region), Some(track)) = (region, &block.track)
                && !a.strong
            {
                let me = track.number(self.index, lane);
                for k in 0..size {
                    let cell = region.arena.cell(addr + k);
                    match track.write(cell.load(Relaxed), me, self.index, false) {
                        Ok(new) => cell.store(new, Relaxed),
                        Err(conflict) => {
                            return Err(self.conflict(
                                block,
                                inst,
                                lane,
                                addr + k,
                                Way::Write,
                                conflict,
                            ));
                        }
                    }
                }
            }
            for k in 0..usize::from(a.count) {
                set(addr + k as u64 * u64::from(a.bytes), a.bytes, self.send(a, inst.o.d[k], lane));
            }
        }
        Ok(())
    }

    fn global_atomic(
        &mut self,
        block: &mut BlockState<'_>,
        inst: &Inst,
        a: &Access,
        mask: u32,
        addresses: &[u64; LANES],
        change: Change,
    ) -> Result<(), Fault> {
        let size = u64::from(a.bytes);
        for lane in lanes(mask) {
            let addr = addresses[lane];
            let own = &block.launch.regions[0];
            let region = if own.arena.contains(addr, size) && own.arena.all_data(addr, size) {
                Some(own)
            } else {
                self.allow(block, inst, lane, addr, size, Way::Both)?
            };
            if let (Some(region), Some(track)) = (region, &block.track) {
                let me = track.number(self.index, lane);
                if let Err(conflict) =
                    track.atomic(region.arena.cell(addr).load(Relaxed), me, self.index, false)
                {
                    return Err(self.conflict(block, inst, lane, addr, Way::Both, conflict));
                }
            }
            let (b, c) = (self.send(a, inst.o.s[1], lane), self.send(a, inst.o.s[2], lane));
            let old = exchange(addr, a.bytes, |old| change(old, b, c));
            self.receive(a, inst.o.d[0], lane, old);
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn shared(
        &mut self,
        block: &mut BlockState<'_>,
        inst: &Inst,
        a: &Access,
        mask: u32,
        addresses: &[u64; LANES],
        store: bool,
        change: Option<Change>,
    ) -> Result<(), Fault> {
        let size = usize::from(a.bytes) * usize::from(a.count);
        let way = if change.is_some() {
            Way::Both
        } else if store {
            Way::Write
        } else {
            Way::Read
        };
        for lane in lanes(mask) {
            let Some(at) = block.shared.index(addresses[lane], size as u64) else {
                let text = format!(
                    "{} of {size} bytes at {:#x} of the {} bytes of shared memory",
                    way.word(),
                    addresses[lane],
                    block.shared.bytes.len()
                );
                return Err(self.fault(
                    block,
                    inst,
                    lane,
                    Kind::OutOfBounds,
                    ERROR_ILLEGAL_ADDRESS,
                    text,
                ));
            };
            if way != Way::Write && block.shared.holds[at..at + size].contains(&false) {
                let text = format!(
                    "{} of {size} bytes of shared memory at {:#x} that nobody wrote",
                    way.word(),
                    addresses[lane]
                );
                return Err(self.fault(
                    block,
                    inst,
                    lane,
                    Kind::Uninitialised,
                    ERROR_LAUNCH_FAILED,
                    text,
                ));
            }
            if let Some(track) = &block.track
                && !a.strong
            {
                let me = track.number(self.index, lane);
                for cell in at..at + size {
                    let old = block.shared.cells[cell];
                    let new = match way {
                        Way::Read => track.read(old, me, self.index, false, true),
                        Way::Write => track.write(old, me, self.index, true),
                        Way::Both => track.atomic(old, me, self.index, true).map(|()| old),
                    };
                    match new {
                        Ok(new) => block.shared.cells[cell] = new,
                        Err(conflict) => {
                            return Err(self.conflict(
                                block,
                                inst,
                                lane,
                                SHARED_WINDOW + addresses[lane],
                                way,
                                conflict,
                            ));
                        }
                    }
                }
            }
            block.shared.holds[at..at + size].fill(true);
            self.plain(&mut block.shared.bytes, at, inst, a, lane, way, change);
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn local(
        &mut self,
        block: &mut BlockState<'_>,
        inst: &Inst,
        a: &Access,
        mask: u32,
        addresses: &[u64; LANES],
        store: bool,
        change: Option<Change>,
    ) -> Result<(), Fault> {
        let (size, frame) =
            (usize::from(a.bytes) * usize::from(a.count), block.launch.program.local_bytes);
        let way = if change.is_some() {
            Way::Both
        } else if store {
            Way::Write
        } else {
            Way::Read
        };
        let mut memory = std::mem::take(&mut self.local);
        for lane in lanes(mask) {
            let offset = addresses[lane];
            if offset.checked_add(size as u64).is_none_or(|end| end > frame) {
                let text = format!(
                    "{} of {size} bytes at {offset:#x} of the {frame} bytes of local memory",
                    way.word()
                );
                return Err(self.fault(
                    block,
                    inst,
                    lane,
                    Kind::OutOfBounds,
                    ERROR_ILLEGAL_ADDRESS,
                    text,
                ));
            }
            let at = (lane as u64 * frame + offset) as usize;
            // Copies of structures move their padding, so one written byte is enough.
            if way == Way::Read && memory.holds[at..at + size].iter().all(|h| !h) {
                let text = format!(
                    "read of {size} bytes of local memory at {offset:#x} that nobody wrote"
                );
                return Err(self.fault(
                    block,
                    inst,
                    lane,
                    Kind::Uninitialised,
                    ERROR_LAUNCH_FAILED,
                    text,
                ));
            }
            memory.holds[at..at + size].fill(true);
            self.plain(&mut memory.bytes, at, inst, a, lane, way, change);
        }
        self.local = memory;
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn plain(
        &mut self,
        memory: &mut [u8],
        at: usize,
        inst: &Inst,
        a: &Access,
        lane: usize,
        way: Way,
        change: Option<Change>,
    ) {
        for k in 0..usize::from(a.count) {
            let here = at + k * usize::from(a.bytes);
            match (way, change) {
                (Way::Both, Some(change)) => {
                    let old = from_slice(memory, here, a.bytes);
                    let (b, c) = (self.send(a, inst.o.s[1], lane), self.send(a, inst.o.s[2], lane));
                    to_slice(memory, here, a.bytes, change(old, b, c));
                    self.receive(a, inst.o.d[0], lane, old);
                }
                (Way::Write, _) => {
                    let value = self.send(a, inst.o.d[k], lane);
                    to_slice(memory, here, a.bytes, value);
                }
                _ => {
                    let value = from_slice(memory, here, a.bytes);
                    self.receive(a, inst.o.d[k], lane, value);
                }
            }
        }
    }

    fn parameter(
        &mut self,
        block: &mut BlockState<'_>,
        inst: &Inst,
        a: &Access,
        mask: u32,
        addresses: &[u64; LANES],
        write: bool,
    ) -> Result<(), Fault> {
        let size = usize::from(a.bytes) * usize::from(a.count);
        for lane in lanes(mask) {
            let at = addresses[lane] as usize;
            if write || at.checked_add(size).is_none_or(|end| end > block.launch.params.len()) {
                let text = format!(
                    "{} of {size} bytes at {at:#x} of the kernel's parameters",
                    if write { "write" } else { "read" }
                );
                return Err(self.fault(
                    block,
                    inst,
                    lane,
                    Kind::OutOfBounds,
                    ERROR_ILLEGAL_ADDRESS,
                    text,
                ));
            }
            for k in 0..usize::from(a.count) {
                let value = from_slice(block.launch.params, at + k * usize::from(a.bytes), a.bytes);
                self.receive(a, inst.o.d[k], lane, value);
            }
        }
        Ok(())
    }

    /// The slow way for an access that the first look did not allow: other memory, untouched pieces of sparse
    /// allocations, or a fault. `None` is host memory without a shadow.
    #[cold]
    fn allow<'r>(
        &self,
        block: &BlockState<'r>,
        inst: &Inst,
        lane: usize,
        addr: u64,
        size: u64,
        way: Way,
    ) -> Result<Option<&'r Region>, Fault> {
        let launch = block.launch;
        if launch.registered.iter().any(|&(start, end)| addr >= start && addr + size <= end) {
            return Ok(None);
        }
        let Some(region) = launch.regions.iter().find(|r| r.arena.contains(addr, size)) else {
            let foreign = launch.foreign.iter().find(|r| r.arena.contains(addr, size));
            let near = foreign.map_or("near no allocation".to_string(), |r| {
                format!(
                    "{}, in memory of another device without peer access",
                    describe(&lock(&r.heap).neighbour(addr))
                )
            });
            let text = format!("{} of {size} bytes at {addr:#x}, {near}", way.word());
            return Err(self.fault(
                block,
                inst,
                lane,
                Kind::OutOfBounds,
                ERROR_ILLEGAL_ADDRESS,
                text,
            ));
        };
        let mut heap = lock(&region.heap);
        heap.materialise(addr, size);
        let fine = match way {
            Way::Write => region.arena.claim(addr, size),
            Way::Read | Way::Both => region.arena.all_data(addr, size),
        };
        if fine {
            return Ok(Some(region));
        }
        let states = region.arena.shadow_of(addr, size);
        let bad = states.iter().position(|&s| s == crate::memory::NONE);
        let neighbour = heap.neighbour(addr + bad.unwrap_or(0) as u64);
        let near = describe(&neighbour);
        let text = format!("{} of {size} bytes at {addr:#x}, {near}", way.word());
        Err(match (bad, &neighbour) {
            (Some(_), Neighbour::Freed(..)) => {
                self.fault(block, inst, lane, Kind::UseAfterFree, ERROR_ILLEGAL_ADDRESS, text)
            }
            (Some(at), Neighbour::Live(b, off)) if *off >= 0 && (*off as u64) < b.size => {
                let text = format!(
                    "{text} (byte {at}), which its stream has not made or has already freed"
                );
                self.fault(block, inst, lane, Kind::OutOfBounds, ERROR_ILLEGAL_ADDRESS, text)
            }
            (Some(_), _) => {
                self.fault(block, inst, lane, Kind::OutOfBounds, ERROR_ILLEGAL_ADDRESS, text)
            }
            (None, _) => self.fault(
                block,
                inst,
                lane,
                Kind::Uninitialised,
                ERROR_LAUNCH_FAILED,
                format!("{text}, where nothing was written yet"),
            ),
        })
    }

    #[cold]
    fn conflict(
        &self,
        block: &BlockState<'_>,
        inst: &Inst,
        lane: usize,
        addr: u64,
        way: Way,
        conflict: Conflict,
    ) -> Fault {
        let other = |who: Option<(u32, u32)>| match who {
            Some((warp, lane)) => {
                let [x, y, z] = block.thread(warp * LANES as u32 + lane);
                format!("by thread ({x},{y},{z}) of this block")
            }
            None => "by another thread".into(),
        };
        let near = if addr >= SHARED_WINDOW {
            format!("byte {:#x} of shared memory", addr - SHARED_WINDOW)
        } else {
            let region = block.launch.regions.iter().find(|r| r.arena.contains(addr, 1));
            format!(
                "{addr:#x}, {}",
                region.map_or(String::new(), |r| describe(&lock(&r.heap).neighbour(addr)))
            )
        };
        let (kind, text) = match conflict {
            Conflict::Write(who) => (
                Kind::Race,
                format!("{} of {near}, not ordered with a write {}", way.word(), other(who)),
            ),
            Conflict::Read(who) => (
                Kind::Race,
                format!("{} of {near}, not ordered with a read {}", way.word(), other(who)),
            ),
            Conflict::ReadOnly => (
                Kind::ReadOnlyWritten,
                format!(
                    "{} of {near}, which the same launch {}",
                    way.word(),
                    if way == Way::Read {
                        "has written, through the read-only path"
                    } else {
                        "reads through the read-only path"
                    }
                ),
            ),
        };
        self.fault(block, inst, lane, kind, ERROR_LAUNCH_FAILED, text)
    }
}
