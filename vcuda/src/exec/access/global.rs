//! Accesses to global memory, checked against the shadow and for races, byte by byte.

use super::{Fault, Job, Way};
use crate::exec::block::BlockState;
use crate::exec::launch::Region;
use crate::exec::track::{BlockTrack, Touch};
use crate::exec::warp::Warp;
use crate::isa::lane::{LANES, lanes};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Reads `bytes` at a checked address of device memory.
#[inline(always)]
fn get(addr: u64, bytes: u8) -> u64 {
    // SAFETY: the caller has checked that all bytes are allocated in an arena and that the address is aligned; arenas
    // stay mapped during a launch, and kernels access them with atomics only.
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

/// Atomically updates `bytes` at a checked address of device memory and returns the old value.
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
    /// Checks the bytes that a lane accesses, and records the access. `way` is that of the job, passed so that it is a
    /// constant after inlining.
    #[inline(always)]
    fn check(
        &self,
        block: &BlockState<'_>,
        job: &Job<'_>,
        way: Way,
        lane: usize,
        addr: u64,
    ) -> Result<(), Fault> {
        let own = &block.launch.regions[0];
        let fine = own.arena.contains(addr, job.size)
            && match way {
                Way::Write => own.arena.claim(addr, job.size),
                Way::Read | Way::Both => own.arena.all_data(addr, job.size),
            };
        let region = if fine { Some(own) } else { self.allow(block, job, lane, addr)? };
        match (region, &block.track) {
            (Some(region), Some(track)) if job.a.strong => {
                self.note(block, job, job.touch(way, true, false), lane, addr, (region, track))
            }
            (Some(region), Some(track)) => {
                self.note(block, job, job.touch(way, false, false), lane, addr, (region, track))
            }
            _ => Ok(()),
        }
    }

    /// Records in the race cells that a lane accesses these bytes.
    #[inline(always)]
    fn note(
        &self,
        block: &BlockState<'_>,
        job: &Job<'_>,
        touch: Touch,
        lane: usize,
        addr: u64,
        (region, track): (&Region, &BlockTrack),
    ) -> Result<(), Fault> {
        let me = track.me(self.index, lane);
        for at in addr..addr + job.size {
            let cell = region.arena.cell(at);
            let old = cell.load(Relaxed);
            match track.touch(&touch, old, me) {
                Ok(new) if touch.way == Way::Write || new != old => cell.store(new, Relaxed),
                Ok(_) => {}
                Err(conflict) => {
                    self.conflict(block, job, lane, at, conflict)?;
                    if touch.way == Way::Write {
                        cell.store(track.overwritten(me), Relaxed);
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) fn global_load(
        &mut self,
        block: &BlockState<'_>,
        job: &Job<'_>,
        mask: u32,
        addresses: &[u64; LANES],
    ) -> Result<(), Fault> {
        let a = job.a;
        for lane in lanes(mask) {
            let addr = addresses[lane];
            self.check(block, job, Way::Read, lane, addr)?;
            for k in 0..usize::from(a.count) {
                let value = get(addr + k as u64 * u64::from(a.bytes), a.bytes);
                self.receive(a, job.inst.o.d[k], lane, value);
            }
        }
        Ok(())
    }

    pub(super) fn global_store(
        &mut self,
        block: &BlockState<'_>,
        job: &Job<'_>,
        mask: u32,
        addresses: &[u64; LANES],
    ) -> Result<(), Fault> {
        let a = job.a;
        for lane in lanes(mask) {
            let addr = addresses[lane];
            self.check(block, job, Way::Write, lane, addr)?;
            for k in 0..usize::from(a.count) {
                let value = self.send(a, job.inst.o.d[k], lane);
                set(addr + k as u64 * u64::from(a.bytes), a.bytes, value);
            }
        }
        Ok(())
    }

    pub(super) fn global_atomic(
        &mut self,
        block: &BlockState<'_>,
        job: &Job<'_>,
        mask: u32,
        addresses: &[u64; LANES],
    ) -> Result<(), Fault> {
        let (a, o) = (job.a, &job.inst.o);
        let Some(change) = job.change else { return Ok(()) };
        for lane in lanes(mask) {
            let addr = addresses[lane];
            self.check(block, job, Way::Both, lane, addr)?;
            let (b, c) = (self.send(a, o.s[1], lane), self.send(a, o.s[2], lane));
            let old = exchange(addr, a.bytes, |old| change(old, b, c));
            self.receive(a, o.d[0], lane, old);
        }
        Ok(())
    }
}
