//! Accesses to shared memory, local memory and kernel parameters, which are plain bytes of the block or the warp.

use super::{Fault, Job, Way};
use crate::exec::block::BlockState;
use crate::exec::warp::Warp;
use crate::isa::lane::{LANES, lanes};
use crate::memory::{DATA, RAW};
use crate::sanitizer::Kind;

fn from_slice(memory: &[u8], at: usize, bytes: u8) -> u64 {
    let mut value = [0; 8];
    value[..usize::from(bytes)].copy_from_slice(&memory[at..at + usize::from(bytes)]);
    u64::from_le_bytes(value)
}

fn to_slice(memory: &mut [u8], at: usize, bytes: u8, value: u64) {
    memory[at..at + usize::from(bytes)].copy_from_slice(&value.to_le_bytes()[..usize::from(bytes)]);
}

impl Warp {
    pub(super) fn shared(
        &mut self,
        block: &mut BlockState<'_>,
        job: &Job<'_>,
        mask: u32,
        addresses: &[u64; LANES],
    ) -> Result<(), Fault> {
        let size = job.size as usize;
        let touch = job.touch(job.way, job.a.strong, true);
        for lane in lanes(mask) {
            let addr = addresses[lane];
            let Some(at) = block.shared.index(addr, job.size) else {
                let near = block.shared.describe(&block.launch.program.shared, addr);
                let text = format!("{} of shared memory, {near}", job.words(addr));
                return Err(self.fault(block, job.inst, lane, Kind::OutOfBounds, text));
            };
            let states = &block.shared.states;
            if job.way != Way::Write
                && states[at..at + size].contains(&RAW)
                && !job.moves_padding(states, at)
            {
                let near = block.shared.describe(&block.launch.program.shared, addr);
                let text =
                    format!("{} of shared memory that nobody wrote, {near}", job.words(addr));
                let found = self.fault(block, job.inst, lane, Kind::Uninitialised, text);
                block.launch.tolerance.judge(found)?;
            }
            if let Some(track) = &block.track {
                let me = track.me(self.index, lane);
                for k in 0..size {
                    match track.touch(&touch, block.shared.cells[at + k], me) {
                        Ok(new) => block.shared.cells[at + k] = new,
                        Err(conflict) => {
                            let addr = addr + k as u64;
                            self.conflict_in_shared(block, job, lane, addr, conflict)?;
                            if job.way == Way::Write {
                                block.shared.cells[at + k] = track.overwritten(me);
                            }
                        }
                    }
                }
            }
            if job.way != Way::Read {
                block.shared.states[at..at + size].fill(DATA);
            }
            self.plain(&mut block.shared.bytes, at, job, lane);
        }
        Ok(())
    }

    pub(super) fn local(
        &mut self,
        block: &BlockState<'_>,
        job: &Job<'_>,
        mask: u32,
        addresses: &[u64; LANES],
    ) -> Result<(), Fault> {
        let (size, frame) = (job.size as usize, block.launch.program.local_bytes);
        let mut memory = std::mem::take(&mut self.local);
        for lane in lanes(mask) {
            let offset = addresses[lane];
            if offset.checked_add(job.size).is_none_or(|end| end > frame) {
                let text = format!("{} of the {frame} bytes of local memory", job.words(offset));
                return Err(self.fault(block, job.inst, lane, Kind::OutOfBounds, text));
            }
            let at = (lane as u64 * frame + offset) as usize;
            // Copies of structures include their padding, so one written byte is enough. No written byte is needed for
            // a value that is only stored again: unoptimised code sets bit fields this way.
            let looked_at = job.a.moved.count_ones() < u32::from(job.a.count);
            if job.way != Way::Write && looked_at && memory.holds[at..at + size].iter().all(|h| !h)
            {
                let text = format!("{} of local memory that nobody wrote", job.words(offset));
                let found = self.fault(block, job.inst, lane, Kind::Uninitialised, text);
                if let Err(found) = block.launch.tolerance.judge(found) {
                    self.local = memory;
                    return Err(found);
                }
            }
            memory.holds[at..at + size].fill(true);
            self.plain(&mut memory.bytes, at, job, lane);
        }
        self.local = memory;
        Ok(())
    }

    /// Performs the access, on bytes already checked.
    fn plain(&mut self, memory: &mut [u8], at: usize, job: &Job<'_>, lane: usize) {
        let (a, o) = (job.a, &job.inst.o);
        for k in 0..usize::from(a.count) {
            let here = at + k * usize::from(a.bytes);
            match (job.way, job.change) {
                (Way::Both, Some(change)) => {
                    let old = from_slice(memory, here, a.bytes);
                    let (b, c) = (self.send(a, o.s[1], lane), self.send(a, o.s[2], lane));
                    to_slice(memory, here, a.bytes, change(old, b, c));
                    self.receive(a, o.d[0], lane, old);
                }
                (Way::Write, _) => {
                    to_slice(memory, here, a.bytes, self.send(a, o.d[k], lane));
                }
                _ => self.receive(a, o.d[k], lane, from_slice(memory, here, a.bytes)),
            }
        }
    }

    pub(super) fn parameter(
        &mut self,
        block: &BlockState<'_>,
        job: &Job<'_>,
        mask: u32,
        addresses: &[u64; LANES],
    ) -> Result<(), Fault> {
        let (a, params) = (job.a, block.launch.params);
        for lane in lanes(mask) {
            let addr = addresses[lane];
            let end = addr.checked_add(job.size);
            if job.way != Way::Read || end.is_none_or(|end| end > params.len() as u64) {
                let text =
                    format!("{} of the {} bytes of parameters", job.words(addr), params.len());
                return Err(self.fault(block, job.inst, lane, Kind::OutOfBounds, text));
            }
            for k in 0..usize::from(a.count) {
                let at = addr as usize + k * usize::from(a.bytes);
                self.receive(a, job.inst.o.d[k], lane, from_slice(params, at, a.bytes));
            }
        }
        Ok(())
    }
}
