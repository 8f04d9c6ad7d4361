//! Iteration over a plan: spans of the innermost loop, or rectangles of two loops, one after another.

use std::ops::Range;

use smallvec::SmallVec;

use super::transfer::{Extent, Steps};
use crate::layout::MAX_RANK;
use crate::plan::Plan;

/// The first element of each slot.
pub(crate) type Slots = SmallVec<[*mut u8; 4]>;

/// The first element of each slot, which several threads read.
pub(crate) struct SharedSlots(Slots);

// SAFETY: the pointers are into memory whose locks are held, and threads write disjoint parts of the destination.
unsafe impl Sync for SharedSlots {}

impl SharedSlots {
    pub(crate) fn new(slots: Slots) -> SharedSlots {
        SharedSlots(slots)
    }

    pub(crate) fn get(&self) -> &Slots {
        &self.0
    }
}

/// A loop nest cut into units.
pub(crate) struct Nest<'a> {
    plan: &'a Plan,
    /// The size of an element of each slot in bytes.
    sizes: &'a [usize],
    /// The loop across the rows of a unit, if units have several.
    across: Option<usize>,
    loops: SmallVec<[Loop; 4]>,
    pub(crate) units: usize,
}

/// A loop over units.
#[derive(Clone, Copy)]
struct Loop {
    level: usize,
    /// How many iterations of the plan's loop one iteration of this one covers.
    length: usize,
    turns: usize,
}

impl<'a> Nest<'a> {
    /// Cuts the innermost loop into pieces of `inner` elements, and the loop `across` into pieces of `outer`.
    pub(crate) fn new(
        plan: &'a Plan,
        sizes: &'a [usize],
        inner: usize,
        across: Option<(usize, usize)>,
    ) -> Nest<'a> {
        let piece = |level: usize, length: usize| Loop {
            level,
            length,
            turns: plan.sizes[level].div_ceil(length),
        };
        let mut loops = SmallVec::<[Loop; 4]>::new();
        loops.push(piece(0, inner.clamp(1, plan.sizes[0])));
        if let Some((level, outer)) = across {
            loops.push(piece(level, outer));
        }
        let across = across.map(|(level, _)| level);
        for level in 1..plan.rank {
            if across != Some(level) {
                loops.push(piece(level, 1));
            }
        }
        let units = loops.iter().map(|piece| piece.turns).product();
        Nest { plan, sizes, across, loops, units }
    }

    /// The step of a loop in bytes.
    fn step(&self, slot: usize, level: usize) -> isize {
        self.plan.slots[slot].strides[level] * self.sizes[slot] as isize
    }

    /// The steps inside a unit, by slot.
    pub(crate) fn steps(&self) -> SmallVec<[Steps; 4]> {
        let steps = |slot| Steps {
            inner: self.step(slot, 0),
            outer: self.across.map_or(0, |level| self.step(slot, level)),
        };
        (0..self.sizes.len()).map(steps).collect()
    }

    /// Calls a function for each unit of a range with the first elements and the sides of the unit.
    pub(crate) fn walk(
        &self,
        bases: &[*mut u8],
        range: Range<usize>,
        mut unit: impl FnMut(&[*mut u8], Extent),
    ) {
        let mut turns = [0; MAX_RANK + 1];
        let mut slots = Slots::from_slice(bases);
        let mut index = range.start;
        for (piece, turn) in self.loops.iter().zip(&mut turns) {
            *turn = index % piece.turns;
            index /= piece.turns;
            self.shift(&mut slots, piece, *turn as isize);
        }
        let extent = |turns: &[usize]| {
            let side = |piece: &Loop, turn: usize| {
                piece.length.min(self.plan.sizes[piece.level] - turn * piece.length)
            };
            Extent {
                inner: side(&self.loops[0], turns[0]),
                outer: self.across.map_or(1, |_| side(&self.loops[1], turns[1])),
            }
        };
        for _ in range {
            unit(&slots, extent(&turns));
            for (piece, turn) in self.loops.iter().zip(&mut turns) {
                if piece.turns == 1 {
                    continue;
                }
                *turn += 1;
                if *turn < piece.turns {
                    self.shift(&mut slots, piece, 1);
                    break;
                }
                // From the last iteration back to the first.
                self.shift(&mut slots, piece, 1 - *turn as isize);
                *turn = 0;
            }
        }
    }

    fn shift(&self, slots: &mut Slots, piece: &Loop, turns: isize) {
        for (slot, place) in slots.iter_mut().enumerate() {
            let step = self.step(slot, piece.level) * piece.length as isize;
            *place = place.wrapping_offset(step * turns);
        }
    }
}
