//! Many results at a time, eight terms of each after another.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::tree::{Forest, RUN_BYTES, Room, width};
use super::{Reducer, Shared, share_units};
use crate::backend::cpu::loops::fold::ROWS;
use crate::backend::cpu::run::blocks::{Frame, Place, Scratch};
use crate::backend::cpu::run::nest::Nest;
use crate::backend::cpu::run::script::Phase;
use crate::backend::cpu::threads::sharing::Team;
use crate::plan::OUT;

/// The room for a row of terms.
const ROW_BYTES: usize = 4096;

/// The fewest terms of every result that are given to a thread: a power of two.
const SHARE: usize = 256;

/// The level of the total of some rows in the tree.
const LEVEL: usize = ROWS.ilog2() as usize;

/// Rows of terms that are not in the forest yet.
struct OpenRows {
    rows: [*const u8; ROWS],
    count: usize,
}

impl<A: Copy + Send + Sync> Reducer<'_, A> {
    pub(super) fn across(&self, team: Team) {
        let width = width::<A>(self.terms.len)
            .min(ROW_BYTES / self.totals.terms.size())
            .min(self.script.block_len(self.settings.block_bytes))
            .clamp(1, self.kept.sizes[0]);
        // Few results of many terms are shared by their terms: rows that are not cut are read faster.
        let share = self.terms.len.div_ceil(team.parts).next_power_of_two();
        let shares_terms = self.kept.len.div_ceil(width) < team.parts && share >= SHARE;
        let width = match shares_terms {
            true => width,
            false => width.min(self.kept.sizes[0].div_ceil(team.parts)),
        };
        let nest = Nest::new(self.kept, &self.located.sizes, width, None);
        let steps = nest.steps();
        if !shares_terms {
            return share_units(nest.units, team, &|range| {
                let mut scratch: Scratch = Scratch::new();
                let frame = self.frame(&mut scratch);
                let mut forest = Forest::<A>::new(self.totals.rows, self.terms.len, width);
                nest.walk(&self.located.bases, range, |first, extent| {
                    // SAFETY: every result has a term; the destination's elements are those of this unit.
                    unsafe {
                        let place = Place { slots: first, steps: &steps, extent };
                        self.grow(&frame, &mut forest, &place, 0..self.terms.len);
                        self.store(forest.totals(extent.inner), first[OUT], steps[OUT].inner);
                    }
                });
            });
        }
        let count = self.terms.len.div_ceil(share);
        nest.walk(&self.located.bases, 0..nest.units, |first, extent| {
            let (first, parts) = (Shared(first), Mutex::new(vec![Vec::new(); count]));
            team.share(count, &|part| {
                let mut scratch: Scratch = Scratch::new();
                let frame = self.frame(&mut scratch);
                let mut forest = Forest::<A>::new(self.totals.rows, share, width);
                let terms = part * share..self.terms.len.min((part + 1) * share);
                let place = Place { slots: first.get(), steps: &steps, extent };
                // SAFETY: every part has a term.
                let totals = unsafe {
                    self.grow(&frame, &mut forest, &place, terms);
                    forest.totals(extent.inner).to_vec()
                };
                parts.lock().unwrap_or_else(PoisonError::into_inner)[part] = totals;
            });
            let parts = parts.into_inner().unwrap_or_else(PoisonError::into_inner);
            let mut forest = Forest::<A>::new(self.totals.rows, count, width);
            for totals in &parts {
                // SAFETY: there is a total of each result, as many as in every part.
                unsafe {
                    forest.next(0).copy_from_nonoverlapping(totals.as_ptr(), totals.len());
                    forest.push(0, totals.len());
                }
            }
            // SAFETY: there are two parts at least; the destination's elements are those of this unit.
            unsafe {
                self.store(forest.totals(extent.inner), first.get()[OUT], steps[OUT].inner);
            }
        });
    }

    /// Fills a forest with some terms of the results of a place.
    ///
    /// # Safety
    ///
    /// The terms must be there, and begin at a multiple of the forest's, which has room for as many and for the results.
    unsafe fn grow(
        &self,
        frame: &Frame<'_>,
        forest: &mut Forest<A>,
        place: &Place<'_>,
        terms: Range<usize>,
    ) {
        let Place { slots: first, steps, extent } = *place;
        let each_term = Nest::new(self.terms, &self.located.sizes, 1, None);
        let mut rooms = [const { Room::new() }; ROWS * ROW_BYTES / RUN_BYTES];
        let (room, size) = (rooms.as_mut_ptr().cast::<u8>(), self.totals.terms.size());
        let mut rows = OpenRows { rows: [std::ptr::null(); ROWS], count: 0 };
        forest.clear();
        if let Some(slot) = self.in_memory {
            let step = each_term.steps()[slot].inner;
            for term in terms {
                let row = first[slot].wrapping_offset(term as isize * step);
                // SAFETY: this is the row of a term.
                unsafe { self.push(&mut rows, forest, row, extent.inner) };
            }
        } else {
            // SAFETY: this phase looks at numbers alone.
            unsafe { frame.begin(Phase::Once, first) };
            each_term.walk(first, terms, |slots, _| {
                let place = Place { slots, steps, extent };
                // SAFETY: as in `walk::run`; there is room for a row of terms each.
                unsafe {
                    frame.begin(Phase::Span, slots);
                    let room = room.add(rows.count * ROW_BYTES);
                    let row = frame.block_at(&place, room, size);
                    self.push(&mut rows, forest, row, extent.inner);
                }
            });
        }
        for row in &rows.rows[..rows.count] {
            // SAFETY: these are terms, and a row of the forest has room for a total of each result.
            unsafe {
                self.widen(*row, forest.next(0).cast(), extent.inner);
                forest.push(0, extent.inner);
            }
        }
    }

    /// Adds the next term of `width` results, and combines the rows if they are enough.
    ///
    /// # Safety
    ///
    /// There must be so many terms, of as many results as in every row since the forest was empty.
    unsafe fn push(
        &self,
        rows: &mut OpenRows,
        forest: &mut Forest<A>,
        row: *const u8,
        width: usize,
    ) {
        rows.rows[rows.count] = row;
        rows.count += 1;
        if rows.count == ROWS {
            rows.count = 0;
            let total = forest.next(LEVEL);
            // SAFETY: these are terms, and a row of the forest has room for a total of each result. Single rows are pushed
            // last, so that no lower level is waiting.
            unsafe {
                (self.totals.rows_of_terms)(&rows.rows, total.cast(), width);
                forest.push(LEVEL, width);
            }
        }
    }

    /// Converts a row of terms to totals.
    ///
    /// # Safety
    ///
    /// There must be as many terms, of at most [`ROW_BYTES`], and as much room.
    unsafe fn widen(&self, terms: *const u8, to: *mut u8, count: usize) {
        let Some((last, loops)) = self.widening.split_last() else {
            // SAFETY: the caller's promise; the terms are totals.
            return unsafe { to.copy_from_nonoverlapping(terms, count * size_of::<A>()) };
        };
        let [mut a, mut b] = [const { Room::new() }; 2];
        // SAFETY: the caller's promise; the loops lead from terms to totals, of which no room needs more than 8 KB.
        unsafe {
            let from = super::scan::converted(loops, terms, [a.as_ptr(), b.as_ptr()], count);
            last(&[from; 3], to, count);
        }
    }
}
