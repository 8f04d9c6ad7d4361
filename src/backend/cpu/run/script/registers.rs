//! Sharing registers among values that are not needed at the same time.
//!
//! The instructions of a phase run one after another, and those of later phases run again without them. So a value
//! that no later phase reads is gone after its last use, and its register is free for values of this phase and of
//! later ones: whenever an instruction of an earlier phase writes to the register again, all later phases run again,
//! too. A value that a later phase reads keeps its register for good.

use smallvec::SmallVec;

use super::{Builder, Location, Output, Phase, Work};

/// The last use of a value that is never gone.
const KEPT: usize = usize::MAX;

impl Builder<'_> {
    /// Lets registers whose values are not needed at the same time be one; gives their number.
    pub(super) fn share_registers(
        &mut self,
        result: &mut Option<Location>,
        mask: &mut Option<Location>,
    ) -> usize {
        let count = self.registers as usize;
        // The phase that writes a register, and the last instruction that reads it, or the one that writes it if none
        // does.
        let mut last_use: SmallVec<[usize; 8]> = SmallVec::from_elem(0, count);
        let mut phases: SmallVec<[Phase; 8]> = SmallVec::from_elem(Phase::Block, count);
        for (index, instruction) in self.instructions.iter_mut().enumerate() {
            if let Output::Register(register) = instruction.output {
                last_use[register as usize] = index;
                phases[register as usize] = instruction.phase;
            }
            for register in instruction.work.registers() {
                let register = *register as usize;
                let is_kept = phases[register] != instruction.phase;
                last_use[register] = if is_kept { KEPT } else { index.max(last_use[register]) };
            }
        }
        for source in [&*result, &*mask] {
            if let Some(Location::Register(register)) = source {
                last_use[*register as usize] = KEPT;
            }
        }
        let mut places: SmallVec<[u32; 8]> = SmallVec::from_elem(0, count);
        let mut free: SmallVec<[u32; 8]> = SmallVec::new();
        let mut used = 0;
        for (index, instruction) in self.instructions.iter_mut().enumerate() {
            let output = match &mut instruction.output {
                Output::Destination => None,
                Output::Register(register) => {
                    let place = free.pop().unwrap_or_else(|| {
                        used += 1;
                        used - 1
                    });
                    places[*register as usize] = place;
                    Some((std::mem::replace(register, place), place))
                }
            };
            // Registers are free again after the result has its place, which must be apart from the arguments.
            let mut end = |register: u32, place: u32| {
                if last_use[register as usize] == index && !free.contains(&place) {
                    free.push(place);
                }
            };
            for register in instruction.work.registers() {
                let place = places[*register as usize];
                end(std::mem::replace(register, place), place);
            }
            if let Some((register, place)) = output {
                end(register, place);
            }
        }
        for source in [result, mask] {
            if let Some(Location::Register(register)) = source {
                *register = places[*register as usize];
            }
        }
        used as usize
    }
}

impl Work {
    /// The registers that are read.
    fn registers(&mut self) -> impl Iterator<Item = &mut u32> {
        let sources = match self {
            Work::Apply(_, sources) => &mut sources[..],
            Work::Gather(_) => &mut [],
            Work::Splat(source) => std::slice::from_mut(source),
        };
        sources.iter_mut().filter_map(|source| match source {
            Location::Register(register) => Some(register),
            _ => None,
        })
    }
}
