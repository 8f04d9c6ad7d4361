//! Reductions, in the order that [`Reduction`] fixes.
//!
//! The program is run on blocks of terms, which the loops of `fold` combine to totals. There are two orders of iteration:
//! along the terms of one result, a run of them at a time, or across many results, eight terms of each at a time. Both
//! give the same bits, since any aligned run of 2^k terms is a subtree. "Sum" stands for every reduction here, and "add"
//! for the operation that combines two totals.

mod across;
mod place;
pub(crate) mod scan;
mod terms;
mod totals;
mod tree;

use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use smallvec::SmallVec;

use self::terms::Terms;
use self::totals::Totals;
use self::tree::{RUN_BYTES, Room, Tree};
use super::blocks::{Frame, Scratch};
use super::nest::{Nest, Slots};
use super::script::{Pattern, Phase, Script, SlotUse};
use super::transfer::{Extent, Steps, scatter};
use crate::DType;
use crate::backend::cpu::Located;
use crate::backend::cpu::loops::convert::route;
use crate::backend::cpu::loops::vector::Kernel;
use crate::backend::cpu::settings::Settings;
use crate::backend::cpu::threads::sharing::Team;
use crate::op::Finish;
use crate::plan::{OUT, Plan};
use crate::request::Reduction;

/// The smallest part of a reduction that is given to a thread: an aligned run of this many terms, or of a power of two times
/// that.
const SHARE: usize = 64 * 1024;

/// The most results that are written together.
const RESULTS: usize = 64;

/// Fewer terms than this are combined across results.
const FEW_TERMS: usize = 64;

/// Runs a request with a reduction; returns `None` if a step is not defined for its dtype.
pub(crate) fn run(
    located: &Located<'_>,
    reduction: &Reduction<'_>,
    settings: &Settings,
) -> Option<()> {
    let terms = located.request.program.dtype(located.request.program.result());
    let combine = reduction.op.combine();
    let totals = Totals::new(combine, terms, settings.level)?;
    match totals.dtype.size() {
        1 => Reducer::<u8>::new(located, reduction, totals, settings)?.run_or_find(),
        2 => Reducer::<u16>::new(located, reduction, totals, settings)?.run_or_find(),
        4 => Reducer::<u32>::new(located, reduction, totals, settings)?.run_or_find(),
        8 => Reducer::<u64>::new(located, reduction, totals, settings)?.run_or_find(),
        // Complex numbers of 128 bits are aligned to 64. They have no order, and so no places.
        _ => Reducer::<[u64; 2]>::new(located, reduction, totals, settings)?.run(),
    }
    Some(())
}

/// A loop nest along which the program is run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Iteration {
    /// Along the terms of one result.
    Along,
    /// Across results.
    Across,
}

/// Reductions with totals of the size of `A`.
struct Reducer<'a, A> {
    located: &'a Located<'a>,
    settings: &'a Settings,
    /// What becomes of a total.
    finish: Finish,
    /// What a mean, a variance or a deviation is divided by.
    divisor: f64,
    /// The loops over the results.
    kept: &'a Plan,
    /// The loops over the terms of one result.
    terms: &'a Plan,
    iteration: Iteration,
    /// Whether blocks may span rows of terms.
    has_short_rows: bool,
    script: Script,
    /// The slot of terms that need no program and have one loop.
    in_memory: Option<usize>,
    totals: Totals,
    /// The loops that convert terms to totals.
    widening: SmallVec<[Kernel; 2]>,
    /// The loops that convert a total to the dtype of the destination.
    rounding: SmallVec<[Kernel; 2]>,
    total: PhantomData<A>,
}

impl<'a, A: Copy + Send + Sync> Reducer<'a, A> {
    fn new(
        located: &'a Located<'a>,
        reduction: &Reduction<'a>,
        totals: Totals,
        settings: &'a Settings,
    ) -> Option<Self> {
        let (kept, terms) = (located.request.plan, reduction.terms);
        let iteration = iteration(kept, terms);
        let inner = if iteration == Iteration::Along { terms } else { kept };
        let has_short_rows =
            iteration == Iteration::Along && terms.rank > 1 && terms.sizes[0] < FEW_TERMS;
        let pattern = |slot: usize| {
            let strides = &inner.slots[slot].strides;
            if strides[0] == 0 && !(has_short_rows && strides[1] != 0) {
                Pattern::Still
            } else if strides[0] == 1 && !has_short_rows {
                Pattern::Dense
            } else {
                Pattern::Strided
            }
        };
        let never_written: SmallVec<[bool; 4]> = SmallVec::from_elem(false, located.sizes.len());
        let patterns: SmallVec<[Pattern; 4]> = (0..located.sizes.len()).map(pattern).collect();
        let memory = SlotUse {
            patterns: &patterns,
            // The destination is written when all terms have been read.
            is_written: &never_written,
            mask: None,
            writes_directly: true,
        };
        let level = settings.level;
        let finish = reduction.op.finish();
        let loops = |from, to| -> SmallVec<[Kernel; 2]> {
            route(from, to).iter().map(|(loops, _)| loops.all[level as usize]).collect()
        };
        let stored = if finish == Finish::Place { DType::I64 } else { totals.dtype };
        let script = Script::new(located.request.program, Some(totals.terms), &memory, level)?;
        Some(Reducer {
            located,
            settings,
            finish,
            divisor: reduction.divisor,
            kept,
            terms,
            iteration,
            has_short_rows,
            in_memory: script.slot().filter(|_| terms.rank <= 1),
            script,
            totals,
            widening: loops(totals.terms, totals.dtype),
            rounding: loops(stored, located.request.out),
            total: PhantomData,
        })
    }

    fn run(&self) {
        let team = self.team();
        if self.iteration == Iteration::Across {
            return self.across(team);
        }
        let total = |frame: &Frame<'_>, slots: &[*mut u8], start, len| {
            // SAFETY: `along` promises that the terms are there.
            unsafe { self.total_of(frame, slots, start, len) }
        };
        let total_of_parts = |parts: &[A], share: usize| {
            let mut tree = Tree::new();
            // SAFETY: these are totals, at least one.
            unsafe {
                for &total in parts {
                    tree.push(&self.totals, total, share.ilog2());
                }
                tree.total(&self.totals)
            }
        };
        self.along(team, total, total_of_parts, |totals, to, step| {
            // SAFETY: `along` promises that these are elements of the destination that nobody else accesses.
            unsafe { self.store(totals, to, step) }
        });
    }

    /// Lays out the registers of a thread.
    fn frame<'f>(&'f self, scratch: &'f mut Scratch) -> Frame<'f> {
        let inputs = self.located.request.program.inputs();
        Frame::new(&self.script, inputs, scratch, self.settings.block_bytes, usize::MAX)
    }

    /// Chooses the threads.
    fn team(&self) -> Team {
        let terms = self.terms.len.saturating_mul(self.kept.len);
        Team::new(terms.saturating_mul(self.located.sizes.iter().sum()), self.settings)
    }

    /// Computes one result after another, each along its terms: `of_run` that of a run of terms, `of_parts` that of
    /// several runs of equal length, of which the last may be shorter, and `write` writes some to the destination, as many
    /// bytes apart as it is told.
    fn along<B: Copy + Send + Sync>(
        &self,
        team: Team,
        of_run: impl Fn(&Frame<'_>, &[*mut u8], usize, usize) -> B + Sync,
        of_parts: impl Fn(&[B], usize) -> B,
        write: impl Fn(&[B], *mut u8, isize) + Sync,
    ) {
        // Few results of many terms are shared by their terms.
        if self.kept.len >= team.parts || self.terms.len <= SHARE {
            let count = self.kept.sizes[0].div_ceil(team.parts).min(RESULTS);
            let nest = Nest::new(self.kept, &self.located.sizes, count, None);
            let steps = nest.steps();
            return share_units(nest.units, team, &|range| {
                let mut scratch: Scratch = Scratch::new();
                let frame = self.frame(&mut scratch);
                let mut results = SmallVec::<[B; RESULTS]>::new();
                // SAFETY: this phase reads numbers only.
                unsafe { frame.begin(Phase::Once, &self.located.bases) };
                nest.walk(&self.located.bases, range, |first, extent| {
                    let mut slots = Slots::from_slice(first);
                    results.clear();
                    for _ in 0..extent.inner {
                        results.push(of_run(&frame, &slots, 0, self.terms.len));
                        for (slot, steps) in slots.iter_mut().zip(&steps) {
                            *slot = slot.wrapping_offset(steps.inner);
                        }
                    }
                    write(&results, first[OUT], steps[OUT].inner);
                });
            });
        }
        let nest = Nest::new(self.kept, &self.located.sizes, 1, None);
        let share = self.terms.len.div_ceil(team.parts).next_power_of_two().max(SHARE);
        let count = self.terms.len.div_ceil(share);
        nest.walk(&self.located.bases, 0..nest.units, |slots, _| {
            let slots = Shared(slots);
            let parts = Mutex::new(SmallVec::<[Option<B>; 16]>::from_elem(None, count));
            team.share(count, &|part| {
                let slots = slots.get();
                let mut scratch: Scratch = Scratch::new();
                let frame = self.frame(&mut scratch);
                let start = part * share;
                // SAFETY: this phase reads numbers only.
                unsafe { frame.begin(Phase::Once, slots) };
                let result = of_run(&frame, slots, start, share.min(self.terms.len - start));
                parts.lock().unwrap_or_else(PoisonError::into_inner)[part] = Some(result);
            });
            let parts = parts.into_inner().unwrap_or_else(PoisonError::into_inner);
            let parts: SmallVec<[B; 16]> = parts.into_iter().flatten().collect();
            write(&[of_parts(&parts, share)], slots.get()[OUT], 0);
        });
    }

    /// The total of an aligned run of the terms of one result, whose first term is at `slots`.
    ///
    /// # Safety
    ///
    /// From the slots the terms must reach only valid memory, aligned and of the program's dtypes.
    unsafe fn total_of(&self, frame: &Frame<'_>, slots: &[*mut u8], start: usize, len: usize) -> A {
        let mut rooms = [const { Room::new() }; 2];
        let mut tree = Tree::new();
        let run = self.totals.run(self.in_memory.is_some());
        let mut only = None;
        // SAFETY: the caller's promise; every run has a term.
        unsafe {
            self.each_run(frame, slots, start, len, run, |terms, _, count| {
                let total: A = self.totals.folded(terms, &mut rooms, count);
                match count == len {
                    true => only = Some(total),
                    false => tree.push(&self.totals, total, run.ilog2()),
                }
            });
        }
        if let Some(total) = only {
            return total;
        }
        // SAFETY: there is a term.
        unsafe { tree.total(&self.totals) }
    }

    /// Calls a function with one run after another of some terms of one result: where they are, which is the first, and
    /// how many there are.
    ///
    /// # Safety
    ///
    /// As for [`Reducer::total_of`]; a run must not be longer than [`Totals::run`].
    unsafe fn each_run(
        &self,
        frame: &Frame<'_>,
        slots: &[*mut u8],
        start: usize,
        len: usize,
        run: usize,
        mut function: impl FnMut(*const u8, usize, usize),
    ) {
        let end = start + len;
        if let Some(slot) = self.in_memory {
            let size = self.totals.terms.size();
            for first in (start..end).step_by(run) {
                function(slots[slot].wrapping_add(first * size), first, run.min(end - first));
            }
            return;
        }
        let mut room = Room::new();
        let mut terms = Terms::new(self, slots, start);
        for first in (start..end).step_by(run) {
            let count = run.min(end - first);
            // SAFETY: the caller's promise; there is room for a run of terms.
            function(unsafe { terms.next(frame, room.as_ptr(), count) }, first, count);
        }
    }

    /// Rounds totals, or places, and writes them to the destination.
    ///
    /// # Safety
    ///
    /// There must be as many elements of the destination, `step` bytes apart, which no other thread accesses. `B` must
    /// be `A`, or `u64` for places.
    unsafe fn store<B: Copy>(&self, totals: &[B], to: *mut u8, step: isize) {
        let size = self.located.request.out.size();
        let mut rooms = [Room::new(), Room::new()];
        // Elements of the destination may be larger than totals.
        let piece_len = RUN_BYTES / size_of::<[u64; 2]>();
        for (index, piece) in totals.chunks(piece_len).enumerate() {
            let [from, room] = &mut rooms;
            let (mut from, mut room) = (from.as_ptr::<B>(), room.as_ptr::<B>());
            // SAFETY: a piece is not longer than the room.
            unsafe { from.copy_from_nonoverlapping(piece.as_ptr(), piece.len()) };
            if matches!(self.finish, Finish::Mean | Finish::Variance | Finish::Deviation) {
                // SAFETY: these totals are floats of 64 bits, or pairs of them, which have just been written.
                let parts = unsafe {
                    let parts = piece.len() * (size_of::<B>() / size_of::<f64>());
                    std::slice::from_raw_parts_mut(from.cast::<f64>(), parts)
                };
                for part in parts {
                    *part /= self.divisor;
                    if self.finish == Finish::Deviation {
                        *part = part.sqrt();
                    }
                }
            }
            for kernel in &self.rounding {
                // SAFETY: the loops convert from the total's dtype on to the destination's, whose elements
                // fit the room; the buffers do not overlap, and are aligned for every dtype.
                unsafe { kernel(&[from.cast_const().cast(); 3], room.cast(), piece.len()) };
                std::mem::swap(&mut from, &mut room);
            }
            let to = to.wrapping_offset((index * piece_len) as isize * step);
            // SAFETY: the caller's promise for the destination; the elements have been converted.
            unsafe {
                scatter(
                    size,
                    from.cast(),
                    to,
                    Steps { inner: step, outer: 0 },
                    Extent::row(piece.len()),
                );
            }
        }
    }
}

/// Cuts a number of units into parts and shares them.
pub(crate) fn share_units(
    units: usize,
    team: Team,
    work: &(dyn Fn(std::ops::Range<usize>) + Sync),
) {
    let share = units.div_ceil(team.parts);
    let part = |part: usize| {
        let start = part * share;
        let end = units.min(start + share);
        if start < end {
            work(start..end);
        }
    };
    team.share(team.parts, &part);
}

/// Slots that several threads read.
#[derive(Clone, Copy)]
struct Shared<'a>(&'a [*mut u8]);

// SAFETY: the pointers are into memory whose locks are held, and through these only inputs are read.
unsafe impl Sync for Shared<'_> {}

impl<'a> Shared<'a> {
    fn get(&self) -> &'a [*mut u8] {
        self.0
    }
}

/// Chooses the iteration in which inputs are read with smaller strides.
fn iteration(kept: &Plan, terms: &Plan) -> Iteration {
    let results = kept.sizes[0];
    if results == 1 {
        return Iteration::Along;
    }
    let stride = |plan: &Plan| -> usize {
        plan.slots
            .iter()
            .skip(1)
            .map(|slot| slot.strides[0].unsigned_abs())
            .fold(0, usize::saturating_add)
    };
    let closer = stride(kept) < stride(terms) && results >= 32;
    if closer || (terms.len < FEW_TERMS && results >= 8) {
        Iteration::Across
    } else {
        Iteration::Along
    }
}
