//! What is wrong with an access, in words.

use super::{Fault, Way};
use crate::error::{ERROR_ILLEGAL_ADDRESS, ERROR_LAUNCH_FAILED};
use crate::exec::block::BlockState;
use crate::exec::launch::Region;
use crate::exec::program::{Inst, SHARED_WINDOW};
use crate::exec::track::Conflict;
use crate::exec::warp::Warp;
use crate::isa::lane::LANES;
use crate::memory::Neighbour;
use crate::sanitizer::{Kind, describe, lock};

impl Warp {
    /// The slow way for an access that the first look did not allow: other memory, untouched pieces of sparse
    /// allocations, or a fault. `None` is host memory without a shadow.
    #[cold]
    pub(super) fn allow<'r>(
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
    pub(super) fn conflict(
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
