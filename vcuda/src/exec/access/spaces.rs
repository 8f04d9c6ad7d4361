//! Shared memory, local memory and kernel parameters: plain bytes of the block or the warp.

use super::{Fault, Way};
use crate::error::{ERROR_ILLEGAL_ADDRESS, ERROR_LAUNCH_FAILED};
use crate::exec::block::BlockState;
use crate::exec::program::{Access, Change, Inst, SHARED_WINDOW};
use crate::exec::warp::Warp;
use crate::isa::lane::{LANES, lanes};
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
    #[allow(clippy::too_many_arguments)]
    pub(super) fn shared(
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
    pub(super) fn local(
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

    pub(super) fn parameter(
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
}
