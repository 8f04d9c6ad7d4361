//! Reductions, in the order that [`Reduction`] fixes.
//!
//! The program is run on blocks of terms, which are converted to the dtype of the totals and combined. There are two
//! orders of iteration: along the terms of one result, halving blocks of them, or across many results, adding one term
//! to each of them. Both give the same bits, since any aligned run of 2^k terms is a subtree. "Sum" stands for every
//! reduction here, and "add" for the operation that combines two totals.

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
use self::tree::{Forest, RUN_BYTES, Room, Tree, run as run_len};
use super::blocks::{Frame, Place, Scratch};
use super::nest::Nest;
use super::script::{Memory, Pattern, Phase, Script};
use super::transfer::{Extent, Steps, scatter};
use crate::DType;
use crate::backend::cpu::Call;
use crate::backend::cpu::loops::convert::route;
use crate::backend::cpu::loops::vector::Kernel;
use crate::backend::cpu::settings::Settings;
use crate::backend::cpu::threads::sharing::Team;
use crate::op::Finish;
use crate::plan::{OUT, Plan};
use crate::program::total_dtype;
use crate::request::Reduction;

/// The smallest part of a sum that is given to a thread: an aligned run of this many terms, or of a power of two times
/// that.
const SHARE: usize = 64 * 1024;

/// Fewer terms than this are added across sums.
const FEW_TERMS: usize = 64;

/// Runs a request with a reduction; returns `None` if a step is not defined for its dtype.
pub(crate) fn run(call: &Call<'_>, reduction: &Reduction<'_>, settings: &Settings) -> Option<()> {
    let terms = call.request.program.dtype(call.request.program.result());
    let combine = reduction.op.combine();
    let totals = Totals::new(combine, total_dtype(combine, terms), settings.level)?;
    match totals.dtype.size() {
        1 => Sums::<u8>::new(call, reduction, totals, settings)?.run_or_find(),
        2 => Sums::<u16>::new(call, reduction, totals, settings)?.run_or_find(),
        4 => Sums::<u32>::new(call, reduction, totals, settings)?.run_or_find(),
        8 => Sums::<u64>::new(call, reduction, totals, settings)?.run_or_find(),
        // Complex numbers of 128 bits are aligned to 64. They have no order, and so no places.
        _ => Sums::<[u64; 2]>::new(call, reduction, totals, settings)?.run(),
    }
    Some(())
}

/// A loop nest along which the program is run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Along the terms of one sum.
    Along,
    /// Across sums.
    Across,
}

/// Reductions with totals of the size of `A`.
struct Sums<'a, A> {
    call: &'a Call<'a>,
    settings: &'a Settings,
    /// What becomes of a total.
    finish: Finish,
    /// What a mean, a variance or a deviation is divided by.
    divisor: f64,
    /// The loops over the sums.
    kept: &'a Plan,
    /// The loops over the terms of one sum.
    terms: &'a Plan,
    way: Way,
    /// Whether blocks may span rows of terms.
    has_short_rows: bool,
    script: Script,
    totals: Totals,
    /// The loops that convert a total to the dtype of the destination.
    rounding: SmallVec<[Kernel; 2]>,
    total: PhantomData<A>,
}

impl<'a, A: Copy + Send + Sync> Sums<'a, A> {
    fn new(
        call: &'a Call<'a>,
        reduction: &Reduction<'a>,
        totals: Totals,
        settings: &'a Settings,
    ) -> Option<Self> {
        let (kept, terms) = (call.request.plan, reduction.terms);
        let way = way(kept, terms);
        let inner = if way == Way::Along { terms } else { kept };
        let has_short_rows = way == Way::Along && terms.rank > 1 && terms.sizes[0] < FEW_TERMS;
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
        let never_written: SmallVec<[bool; 4]> = SmallVec::from_elem(false, call.sizes.len());
        let patterns: SmallVec<[Pattern; 4]> = (0..call.sizes.len()).map(pattern).collect();
        let memory = Memory {
            patterns: &patterns,
            // The destination is written when all terms have been read.
            is_written: &never_written,
            mask: None,
            writes_directly: true,
        };
        let level = settings.level;
        let finish = reduction.op.finish();
        let stored = if finish == Finish::Place { DType::I64 } else { totals.dtype };
        Some(Sums {
            call,
            settings,
            finish,
            divisor: reduction.divisor,
            kept,
            terms,
            way,
            has_short_rows,
            script: Script::new(call.request.program, Some(totals.dtype), &memory, level)?,
            totals,
            rounding: route(stored, call.request.out)
                .iter()
                .map(|(loops, _)| loops.all[level as usize])
                .collect(),
            total: PhantomData,
        })
    }

    fn run(&self) {
        let team = self.team();
        if self.way == Way::Across {
            return self.across(team);
        }
        let total = |frame: &Frame<'_>, slots: &[*mut u8], start, len| {
            // SAFETY: `along` promises that the terms are there.
            unsafe { self.sum_of(frame, slots, start, len) }
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
        // SAFETY: `along` promises that this is an element of the destination that nobody else accesses.
        self.along(team, total, total_of_parts, |total, to| unsafe { self.store(&[total], to, 0) });
    }

    /// Lays out the registers of a thread.
    fn frame<'f>(&'f self, scratch: &'f mut Scratch) -> Frame<'f> {
        let inputs = self.call.request.program.inputs();
        Frame::new(&self.script, inputs, scratch, self.settings.block_bytes, usize::MAX)
    }

    /// Chooses the threads.
    fn team(&self) -> Team {
        let terms = self.terms.len.saturating_mul(self.kept.len);
        Team::new(terms.saturating_mul(self.call.sizes.iter().sum()), self.settings)
    }

    /// Computes one result after another, each along its terms: `of_run` that of a run of terms, `of_parts` that of
    /// several runs of equal length, of which the last may be shorter, and `write` writes it to the destination.
    fn along<B: Copy + Send + Sync>(
        &self,
        team: Team,
        of_run: impl Fn(&Frame<'_>, &[*mut u8], usize, usize) -> B + Sync,
        of_parts: impl Fn(&[B], usize) -> B,
        write: impl Fn(B, *mut u8) + Sync,
    ) {
        let nest = Nest::new(self.kept, &self.call.sizes, 1, None);
        // Few results of many terms are shared by their terms.
        if self.kept.len >= team.parts || self.terms.len <= SHARE {
            return share_units(nest.units, team, &|range| {
                let mut scratch: Scratch = Scratch::new();
                let frame = self.frame(&mut scratch);
                // SAFETY: this phase reads numbers only.
                unsafe { frame.begin(Phase::Once, &self.call.bases) };
                nest.walk(&self.call.bases, range, |slots, _| {
                    write(of_run(&frame, slots, 0, self.terms.len), slots[OUT]);
                });
            });
        }
        let share = self.terms.len.div_ceil(team.parts).next_power_of_two().max(SHARE);
        let count = self.terms.len.div_ceil(share);
        nest.walk(&self.call.bases, 0..nest.units, |slots, _| {
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
            write(of_parts(&parts, share), slots.get()[OUT]);
        });
    }

    /// The sum of an aligned run of the terms of one sum, whose first term is at `slots`.
    ///
    /// # Safety
    ///
    /// From the slots the terms must reach only valid memory, aligned and of the program's dtypes.
    unsafe fn sum_of(&self, frame: &Frame<'_>, slots: &[*mut u8], start: usize, len: usize) -> A {
        let [mut room, mut spare, mut other] = [const { Room::new() }; 3];
        let mut tree = Tree::new();
        let mut terms = Terms::new(self, slots, start);
        let mut left = len;
        while left > 0 {
            let count = left.min(run_len::<A>());
            // SAFETY: the caller's promise; there is room for as many totals, which are all written.
            unsafe {
                terms.fill(frame, room.as_ptr::<A>(), count);
                let total: A = self.totals.folded(&mut room, [&mut spare, &mut other], count);
                tree.push(&self.totals, total, run_len::<A>().ilog2());
            }
            left -= count;
        }
        // SAFETY: there is a term.
        unsafe { tree.total(&self.totals) }
    }

    /// Many sums at a time, a term of each after another.
    fn across(&self, team: Team) {
        let width =
            tree::width::<A>(self.terms.len).min(self.kept.sizes[0].div_ceil(team.parts)).max(1);
        let width = width.min(self.script.block_len(self.settings.block_bytes));
        let nest = Nest::new(self.kept, &self.call.sizes, width, None);
        let each_term = Nest::new(self.terms, &self.call.sizes, 1, None);
        let steps = nest.steps();
        share_units(nest.units, team, &|range| {
            let mut scratch: Scratch = Scratch::new();
            let frame = self.frame(&mut scratch);
            let mut forest = Forest::<A>::new(self.totals.rows, self.terms.len, width);
            // SAFETY: this phase looks at numbers alone.
            unsafe { frame.begin(Phase::Once, &self.call.bases) };
            nest.walk(&self.call.bases, range, |first, extent| {
                forest.clear();
                each_term.walk(first, 0..each_term.units, |slots, _| {
                    let place = Place { slots, steps: &steps, extent };
                    // SAFETY: as in `walk::run`; a row of the forest has room for a total of each sum.
                    unsafe {
                        frame.begin(Phase::Span, slots);
                        frame.block_to(&place, forest.next().cast(), size_of::<A>());
                        forest.push(extent.inner);
                    }
                });
                // SAFETY: every sum has a term; the destination's elements are those of this unit.
                unsafe { self.store(forest.totals(extent.inner), first[OUT], steps[OUT].inner) };
            });
        });
    }

    /// Rounds totals, or places, and writes them to the destination.
    ///
    /// # Safety
    ///
    /// There must be as many elements of the destination, `step` bytes apart, which no other thread accesses. `B` must
    /// be `A`, or `u64` for places.
    unsafe fn store<B: Copy>(&self, totals: &[B], to: *mut u8, step: isize) {
        let size = self.call.request.out.size();
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

/// Chooses the order of iteration in which inputs are read with smaller strides.
fn way(kept: &Plan, terms: &Plan) -> Way {
    let sums = kept.sizes[0];
    if sums == 1 {
        return Way::Along;
    }
    let stride = |plan: &Plan| -> usize {
        plan.slots
            .iter()
            .skip(1)
            .map(|slot| slot.strides[0].unsigned_abs())
            .fold(0, usize::saturating_add)
    };
    let closer = stride(kept) < stride(terms) && sums >= 32;
    if closer || (terms.len < FEW_TERMS && sums >= 8) { Way::Across } else { Way::Along }
}
