//! Where extremes are found: `argmax` and `argmin`.
//!
//! An extreme is compared with an earlier one by the loop that combines the two: if the result does not have the bits of
//! the earlier one, the later one is better. The loops keep the left one of equals and of NaNs, and tell zeros apart.

use smallvec::SmallVec;

use super::tree::{RUN_BYTES, Room};
use super::{Iteration, RESULTS, Reducer, share_units};
use crate::DType;
use crate::backend::cpu::run::blocks::{Frame, Place, Scratch};
use crate::backend::cpu::run::nest::Nest;
use crate::backend::cpu::run::script::Phase;
use crate::backend::cpu::threads::sharing::Team;
use crate::op::Finish;
use crate::plan::OUT;

/// The bits of an element.
pub(super) trait Word: Copy + Default + PartialEq + Send + Sync {
    fn bits(self) -> u64;
}

macro_rules! words {
    ($($word:ty)*) => {$(
        impl Word for $word {
            fn bits(self) -> u64 {
                self.into()
            }
        }
    )*};
}

words! { u8 u16 u32 u64 }

/// An extreme and its place.
#[derive(Clone, Copy, Default)]
struct Best<A> {
    value: A,
    place: u64,
}

impl<A: Word> Reducer<'_, A> {
    pub(super) fn run_or_find(&self) {
        if self.finish != Finish::Place {
            return self.run();
        }
        let team = self.team();
        if self.iteration == Iteration::Across {
            return self.find_across(team);
        }
        let best_of_run = |frame: &Frame<'_>, slots: &[*mut u8], start, len| {
            // SAFETY: `along` promises that the terms are there.
            unsafe { self.best_of(frame, slots, start, len) }
        };
        let best_of_parts = |parts: &[Best<A>], _: usize| {
            let better = |left: Best<A>, right: Best<A>| {
                if self.is_better(right.value, left.value) { right } else { left }
            };
            parts[1..].iter().copied().fold(parts[0], better)
        };
        self.along(team, best_of_run, best_of_parts, |best, to, step| {
            let places: SmallVec<[u64; RESULTS]> = best.iter().map(|best| best.place).collect();
            // SAFETY: `along` promises that these are elements of the destination that nobody else accesses.
            unsafe { self.store(&places, to, step) }
        });
    }

    /// Whether a later extreme is better than an earlier one.
    fn is_better(&self, later: A, earlier: A) -> bool {
        // SAFETY: both are elements of the dtype, which has the size of `A`.
        unsafe { self.totals.plus(earlier, later) != earlier }
    }

    /// The extreme of a run of the terms of one result.
    ///
    /// # Safety
    ///
    /// As for [`Reducer::total_of`].
    unsafe fn best_of(
        &self,
        frame: &Frame<'_>,
        slots: &[*mut u8],
        start: usize,
        len: usize,
    ) -> Best<A> {
        let mut rooms = [const { Room::new() }; 2];
        let mut best: Option<Best<A>> = None;
        let run = self.totals.run(self.in_memory.is_some());
        // SAFETY: the caller's promise; terms have the dtype of the totals.
        unsafe {
            self.each_run(frame, slots, start, len, run, |terms, first, count| {
                let value: A = self.totals.folded(terms, &mut rooms, count);
                if best.is_none_or(|best| self.is_better(value, best.value)) {
                    let run = std::slice::from_raw_parts(terms.cast::<A>(), count);
                    best = Some(Best { value, place: (first + self.first(run, value)) as u64 });
                }
            });
        }
        // A reduction has a term.
        best.unwrap_or_default()
    }

    /// The place of the first element that is an extreme, or the first NaN if that is one.
    fn first(&self, run: &[A], extreme: A) -> usize {
        match self.infinity() {
            Some(infinity) if is_nan(extreme, infinity) => position(run, |x| is_nan(x, infinity)),
            _ => position(run, |x| x == extreme),
        }
    }

    /// The bits of infinity, if the terms are floats.
    fn infinity(&self) -> Option<u64> {
        match self.totals.dtype {
            DType::F16 => Some(0x7c00),
            DType::BF16 => Some(0x7f80),
            DType::F32 => Some(0x7f80_0000),
            DType::F64 => Some(0x7ff0_0000_0000_0000),
            DType::Bool | DType::U8 | DType::U16 | DType::U32 | DType::U64 => None,
            DType::I8 | DType::I16 | DType::I32 | DType::I64 => None,
            // Terms of 8 bits are converted before.
            DType::F8E4M3FN | DType::F8E5M2 | DType::C64 | DType::C128 => None,
        }
    }

    /// Finds the extremes of many results at a time, looking at a term of each after another.
    fn find_across(&self, team: Team) {
        let width = (RUN_BYTES / size_of::<u64>())
            .min(self.kept.sizes[0].div_ceil(team.parts))
            .min(self.script.block_len(self.settings.block_bytes))
            .max(1);
        let nest = Nest::new(self.kept, &self.located.sizes, width, None);
        let each_term = Nest::new(self.terms, &self.located.sizes, 1, None);
        let steps = nest.steps();
        share_units(nest.units, team, &|range| {
            let mut scratch: Scratch = Scratch::new();
            let frame = self.frame(&mut scratch);
            let [mut next, mut best, mut better] = [const { Room::new() }; 3];
            let (next, mut best, mut better) =
                (next.as_ptr::<A>(), best.as_ptr::<A>(), better.as_ptr::<A>());
            let mut places = [0u64; RUN_BYTES / size_of::<u64>()];
            // SAFETY: this phase looks at numbers alone.
            unsafe { frame.begin(Phase::Once, &self.located.bases) };
            nest.walk(&self.located.bases, range, |first, extent| {
                let count = extent.inner;
                let places = &mut places[..count];
                places.fill(0);
                let mut term = 0;
                each_term.walk(first, 0..each_term.units, |slots, _| {
                    let place = Place { slots, steps: &steps, extent };
                    let to = if term == 0 { best } else { next };
                    // SAFETY: as in `walk::run`; the rooms have the length of a row of terms at least, and are apart.
                    unsafe {
                        frame.begin(Phase::Span, slots);
                        frame.block_to(&place, to.cast(), size_of::<A>());
                        if term > 0 {
                            let arguments = [best.cast_const().cast(), next.cast_const().cast()];
                            let arguments = [arguments[0], arguments[1], arguments[1]];
                            (self.totals.rows)(&arguments, better.cast(), count);
                            let old = std::slice::from_raw_parts(best, count);
                            let new = std::slice::from_raw_parts(better, count);
                            for ((place, old), new) in places.iter_mut().zip(old).zip(new) {
                                *place = if old == new { *place } else { term };
                            }
                            std::mem::swap(&mut best, &mut better);
                        }
                    }
                    term += 1;
                });
                // SAFETY: the destination's elements are those of this unit.
                unsafe { self.store(places, first[OUT], steps[OUT].inner) };
            });
        });
    }
}

/// The place of the first element that is searched for, which must be there. A whole piece is looked at before its elements
/// are, so that this is vector code.
fn position<A: Word>(run: &[A], is_it: impl Fn(A) -> bool) -> usize {
    const PIECE: usize = 64;
    let mut before = 0;
    for piece in run.chunks(PIECE) {
        let mut is_here = false;
        for &x in piece {
            is_here |= is_it(x);
        }
        if is_here {
            return before + piece.iter().position(|&x| is_it(x)).unwrap_or(0);
        }
        before += piece.len();
    }
    0
}

fn is_nan<A: Word>(x: A, infinity: u64) -> bool {
    // The bits of a float without its sign, which is the highest bit, order its magnitude.
    let sign = 1 << (8 * size_of::<A>() - 1);
    x.bits() & !sign > infinity
}
