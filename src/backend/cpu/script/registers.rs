//! Sharing registers among values that are not needed at the same time.

use smallvec::SmallVec;

use super::{Builder, Phase, Source, Target, Work};

impl Builder<'_> {
    /// Lets registers whose values are not needed at the same time be one; gives their number.
    pub(super) fn share_registers(
        &mut self,
        result: &mut Option<Source>,
        mask: &mut Option<Source>,
    ) -> usize {
        let count = usize::from(self.registers);
        // The last instruction that reads a register, or the one that writes it if none does.
        let mut last_use: SmallVec<[usize; 8]> = SmallVec::from_elem(0, count);
        for (index, instruction) in self.instructions.iter_mut().enumerate() {
            if let Target::Register(register) = instruction.target {
                // What is computed before the blocks is kept for all of them.
                let is_kept = instruction.phase != Phase::Block;
                last_use[usize::from(register)] = if is_kept { usize::MAX } else { index };
            }
            for register in instruction.work.registers() {
                let last = &mut last_use[usize::from(*register)];
                *last = index.max(*last);
            }
        }
        for source in [&*result, &*mask] {
            if let Some(Source::Register(register)) = source {
                last_use[usize::from(*register)] = usize::MAX;
            }
        }
        let mut places: SmallVec<[u16; 8]> = SmallVec::from_elem(0, count);
        let mut free: SmallVec<[u16; 8]> = SmallVec::new();
        let mut used = 0;
        for (index, instruction) in self.instructions.iter_mut().enumerate() {
            let target = match &mut instruction.target {
                Target::Destination => None,
                Target::Register(register) => {
                    let place = free.pop().unwrap_or_else(|| {
                        used += 1;
                        used - 1
                    });
                    places[usize::from(*register)] = place;
                    Some((std::mem::replace(register, place), place))
                }
            };
            // Registers are free again after the result has its place, which must be apart from the arguments.
            let mut end = |register: u16, place: u16| {
                if last_use[usize::from(register)] == index && !free.contains(&place) {
                    free.push(place);
                }
            };
            for register in instruction.work.registers() {
                let place = places[usize::from(*register)];
                end(std::mem::replace(register, place), place);
            }
            if let Some((register, place)) = target {
                end(register, place);
            }
        }
        for source in [result, mask] {
            if let Some(Source::Register(register)) = source {
                *register = places[usize::from(*register)];
            }
        }
        usize::from(used)
    }
}

impl Work {
    /// The registers that are read.
    fn registers(&mut self) -> impl Iterator<Item = &mut u16> {
        let sources = match self {
            Work::Apply(_, sources) => &mut sources[..],
            Work::Gather(_) => &mut [],
            Work::Splat(source) => std::slice::from_mut(source),
        };
        sources.iter_mut().filter_map(|source| match source {
            Source::Register(register) => Some(register),
            _ => None,
        })
    }
}
