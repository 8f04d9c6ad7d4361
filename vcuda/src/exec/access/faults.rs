//! The slow path of an access, and the reports of faults.

use super::{Fault, Job, NEARBY, Way};
use crate::exec::block::BlockState;
use crate::exec::launch::Region;
use crate::exec::track::Conflict;
use crate::exec::warp::Warp;
use crate::isa::lane::LANES;
use crate::memory::{NONE, Neighbour, RAW};
use crate::sanitizer::{Kind, describe, lock};

/// A device rounds the size of an allocation up to at least a multiple of this, in bytes.
const PADDING: u64 = 256;

impl Warp {
    /// The slow path of an access that the first check did not allow: to other memory than the device's own, to a piece
    /// of a sparse allocation that has not been touched yet, or invalid. `None` stands for host memory without a
    /// shadow.
    #[cold]
    pub(super) fn allow<'r>(
        &self,
        block: &BlockState<'r>,
        job: &Job<'_>,
        lane: usize,
        addr: u64,
    ) -> Result<Option<&'r Region>, Fault> {
        let (launch, size) = (block.launch, job.size);
        let fault = |kind, near: &str| {
            let text = format!("{}, {near}", job.words(addr));
            Err(self.fault(block, job.inst, lane, kind, text))
        };
        let within = |&(start, end): &(u64, u64)| {
            addr >= start && addr.checked_add(size).is_some_and(|last| last <= end)
        };
        if launch.registered.iter().any(within) {
            return Ok(None);
        }
        let Some(region) = launch.regions.iter().find(|r| r.arena.contains(addr, size)) else {
            return match launch.foreign.iter().find(|r| r.arena.contains(addr, size)) {
                Some(r) => {
                    let near = describe(&lock(&r.heap).neighbour(addr));
                    let why = "in memory of another device without peer access";
                    fault(Kind::OutOfBounds, &format!("{near}, {why}"))
                }
                None if addr < 4096 => {
                    fault(Kind::OutOfBounds, "near no allocation: a null pointer")
                }
                None => fault(Kind::OutOfBounds, "near no allocation"),
            };
        };
        let mut heap = lock(&region.heap);
        heap.materialise(addr, size);
        let fine = match job.way {
            Way::Write => region.arena.claim(addr, size),
            Way::Read | Way::Both => region.arena.all_data(addr, size),
        };
        if fine {
            return Ok(Some(region));
        }
        // Find the first byte that is not allocated, or else the first that was never written.
        let states = region.arena.shadow_of(addr, size);
        let first = |state| states.iter().position(|&s| s == state);
        let missing = first(NONE);
        let after = if region.arena.contains(addr, size + NEARBY) { NEARBY } else { 0 };
        let around = region.arena.shadow_of(addr - NEARBY, NEARBY + size + after);
        if missing.is_none() && job.moves_padding(&around, NEARBY as usize) {
            return Ok(Some(region));
        }
        let at = missing.or(first(RAW)).unwrap_or(0) as u64;
        let neighbour = heap.neighbour(addr + at);
        let near = describe(&neighbour);
        match (missing, &neighbour) {
            (None, _) => {
                let text = format!("{}, {near}, where nothing was written yet", job.words(addr));
                let found = self.fault(block, job.inst, lane, Kind::Uninitialised, text);
                launch.tolerance.judge(found)?;
                // An atomic also writes.
                let _ = job.way == Way::Both && region.arena.claim(addr, size);
                Ok(Some(region))
            }
            (Some(_), Neighbour::Freed(..)) => fault(Kind::UseAfterFree, &near),
            (Some(_), Neighbour::Live(b, off)) if *off >= 0 && (*off as u64) < b.size => {
                let why = "which its stream has not made or has already freed";
                fault(Kind::OutOfBounds, &format!("{near} (byte {at}), {why}"))
            }
            // Without that tolerance it is out of bounds like any other access.
            (Some(_), Neighbour::Live(b, off))
                if job.way == Way::Read
                    && *off >= 0
                    && addr + size <= (b.addr + b.size).next_multiple_of(PADDING)
                    && launch.tolerance.covers(Kind::PaddingRead) =>
            {
                let text = format!("{}, {near}", job.words(addr));
                let found = self.fault(block, job.inst, lane, Kind::PaddingRead, text);
                launch.tolerance.judge(found)?;
                Ok(None)
            }
            (Some(_), _) => fault(Kind::OutOfBounds, &near),
        }
    }

    #[cold]
    pub(super) fn write_to_constants(
        &self,
        block: &BlockState<'_>,
        job: &Job<'_>,
        mask: u32,
        addresses: &[u64; LANES],
    ) -> Fault {
        let lane = mask.trailing_zeros() as usize;
        let text = format!("{} of constant memory", job.words(addresses[lane]));
        self.fault(block, job.inst, lane, Kind::OutOfBounds, text)
    }

    /// Reports a race on a byte of global memory.
    #[cold]
    pub(super) fn conflict(
        &self,
        block: &BlockState<'_>,
        job: &Job<'_>,
        lane: usize,
        addr: u64,
        conflict: Conflict,
    ) -> Result<(), Fault> {
        let region = block.launch.regions.iter().find(|r| r.arena.contains(addr, 1));
        let near = region.map_or(String::new(), |r| describe(&lock(&r.heap).neighbour(addr)));
        self.conflict_at(block, job, lane, &format!("{addr:#x}, {near}"), conflict)
    }

    /// Reports a race on a byte of shared memory.
    #[cold]
    pub(super) fn conflict_in_shared(
        &self,
        block: &BlockState<'_>,
        job: &Job<'_>,
        lane: usize,
        addr: u64,
        conflict: Conflict,
    ) -> Result<(), Fault> {
        let near = block.shared.describe(&block.launch.program.shared, addr);
        let place = format!("byte {addr:#x} of shared memory, {near}");
        self.conflict_at(block, job, lane, &place, conflict)
    }

    fn conflict_at(
        &self,
        block: &BlockState<'_>,
        job: &Job<'_>,
        lane: usize,
        place: &str,
        conflict: Conflict,
    ) -> Result<(), Fault> {
        let word = job.way.word();
        let race = |other: &str, who: Option<(u32, u32)>| {
            let by = match who {
                Some((warp, lane)) => {
                    let [x, y, z] = block.thread(warp * LANES as u32 + lane);
                    format!("thread ({x},{y},{z}) of this block")
                }
                None => "another thread".into(),
            };
            (Kind::Race, format!("{word} of {place}, not ordered with {other} by {by}"))
        };
        let (kind, text) = match conflict {
            Conflict::Write(who) => race("a write", who),
            Conflict::Read(who) => race("a read", who),
            Conflict::Atomic(who) => race("an atomic or volatile write", who),
            Conflict::Earlier(number) => {
                let track = block.track.as_ref();
                let what =
                    track.and_then(|t| t.earlier(number)).map_or("earlier work", |e| &e.what);
                (Kind::Race, format!("{word} of {place}, not ordered with {what}"))
            }
            Conflict::ReadOnly => {
                let does = if job.way == Way::Read {
                    "has written, through the read-only path"
                } else {
                    "reads through the read-only path"
                };
                (Kind::ReadOnlyWritten, format!("{word} of {place}, which the same launch {does}"))
            }
        };
        block.launch.tolerance.judge(self.fault(block, job.inst, lane, kind, text))
    }
}
