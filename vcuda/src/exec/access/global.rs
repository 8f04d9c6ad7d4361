//! Global memory: checked against the shadow, tracked byte by byte.

use super::{Fault, Way};
use crate::error::ERROR_ILLEGAL_ADDRESS;
use crate::exec::block::BlockState;
use crate::exec::program::{Access, Change, Inst};
use crate::exec::warp::Warp;
use crate::isa::lane::{LANES, lanes};
use crate::ptx::ast::Space;
use crate::sanitizer::Kind;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

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

impl Warp {
    pub(super) fn global_load(
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

    pub(super) fn global_store(
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

    pub(super) fn global_atomic(
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
}
