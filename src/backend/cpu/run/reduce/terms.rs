//! The terms of one result, in their order.

use smallvec::SmallVec;

use super::Reducer;
use crate::backend::cpu::run::blocks::{Frame, Place};
use crate::backend::cpu::run::nest::Slots;
use crate::backend::cpu::run::script::Phase;
use crate::backend::cpu::run::transfer::{Extent, Steps};
use crate::layout::MAX_RANK;

/// A position among the terms of a result.
pub(super) struct Terms<'s, 'a, A> {
    reducer: &'s Reducer<'a, A>,
    /// The first term of the row.
    row: Slots,
    /// Which turn the outer loops are at.
    turns: [usize; MAX_RANK],
    /// The next term of the row.
    column: usize,
    steps: SmallVec<[Steps; 4]>,
}

impl<'s, 'a, A: Copy + Send + Sync> Terms<'s, 'a, A> {
    pub(super) fn new(reducer: &'s Reducer<'a, A>, slots: &[*mut u8], start: usize) -> Self {
        let plan = reducer.terms;
        let steps = |slot| Steps { inner: step(reducer, slot, 0), outer: step(reducer, slot, 1) };
        let mut terms = Terms {
            reducer,
            row: Slots::from_slice(slots),
            turns: [0; MAX_RANK],
            column: start % plan.sizes[0],
            steps: (0..reducer.located.sizes.len()).map(steps).collect(),
        };
        let mut index = start / plan.sizes[0];
        for level in 1..plan.rank {
            terms.turns[level] = index % plan.sizes[level];
            terms.shift(level, terms.turns[level] as isize);
            index /= plan.sizes[level];
        }
        terms
    }

    fn shift(&mut self, level: usize, turns: isize) {
        for (slot, place) in self.row.iter_mut().enumerate() {
            *place = place.wrapping_offset(step(self.reducer, slot, level) * turns);
        }
    }

    /// Goes on by some rows of the next loop, of which there must be as many left.
    fn advance(&mut self, rows: usize) {
        let plan = self.reducer.terms;
        self.column = 0;
        let mut turns = rows;
        for level in 1..plan.rank {
            self.turns[level] += turns;
            self.shift(level, turns as isize);
            if self.turns[level] < plan.sizes[level] {
                return;
            }
            self.shift(level, -(plan.sizes[level] as isize));
            self.turns[level] = 0;
            turns = 1;
        }
    }

    /// Computes the next `count` terms. Returns where they are: in the room, or where the program reads them.
    ///
    /// # Safety
    ///
    /// There must be as many terms left, as in [`Reducer::total_of`], and as much room.
    pub(super) unsafe fn next(
        &mut self,
        frame: &Frame<'_>,
        room: *mut u8,
        count: usize,
    ) -> *const u8 {
        let plan = self.reducer.terms;
        let size = self.reducer.totals.terms.size();
        let mut filled = 0;
        let mut at = room.cast_const();
        while filled < count {
            let wanted = (count - filled).min(frame.block_len);
            let row = plan.sizes[0];
            let rows = if self.reducer.has_short_rows && self.column == 0 {
                (wanted / row).min(plan.sizes[1] - self.turns[1])
            } else {
                0
            };
            let extent = match rows {
                0 => Extent::row(wanted.min(row - self.column)),
                rows => Extent { inner: row, outer: rows },
            };
            let column = self.column as isize;
            let slots: Slots = self
                .row
                .iter()
                .zip(&self.steps)
                .map(|(slot, steps)| slot.wrapping_offset(column * steps.inner))
                .collect();
            let place = Place { slots: &slots, steps: &self.steps, extent };
            // SAFETY: these are the next terms, inside a row or as whole rows of the next loop, and there is room for
            // them; values that are constant along the inner loop are those of this row.
            unsafe {
                frame.begin(Phase::Span, &slots);
                if extent.count() == count {
                    at = frame.block_at(&place, room, size);
                } else {
                    frame.block_to(&place, room.add(filled * size), size);
                }
            }
            filled += extent.count();
            if rows > 0 {
                self.advance(rows);
            } else {
                self.column += extent.inner;
                if self.column == row {
                    self.advance(1);
                }
            }
        }
        at
    }
}

/// The step of a loop over terms in bytes.
fn step<A>(reducer: &Reducer<'_, A>, slot: usize, level: usize) -> isize {
    reducer.terms.slots[slot].strides[level] * reducer.located.sizes[slot] as isize
}
