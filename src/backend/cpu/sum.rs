//! Sums and extremes, in the order that [`Reduction`] fixes.
//!
//! The program is run on blocks of terms, which are converted to the dtype of the totals and added up. There are two
//! orders of iteration: along the terms of one sum, halving blocks of them, or across many sums, adding one term to
//! each of them. Both give the same bits, since any aligned run of 2^k terms is a subtree.

mod terms;
mod totals;
mod tree;

use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use smallvec::SmallVec;

use self::terms::Terms;
use self::totals::Total;
use self::tree::{Forest, Tree, Vector};
use super::Call;
use super::blocks::{Frame, Place, Scratch};
use super::convert::route;
use super::kernels::{Recipe, recipe};
use super::loops::Kernel;
use super::nest::Nest;
use super::script::{Memory, Pattern, Phase, Script};
use super::settings::Settings;
use super::sharing::Team;
use super::transfer::{Extent, Steps, scatter};
use crate::op::Finish;
use crate::plan::{OUT, Plan};
use crate::program::total_dtype;
use crate::request::Reduction;

/// Terms that are halved together.
const RUN: usize = 1024;

/// The smallest part of a sum that is given to a thread: an aligned run of this many terms, or of a power of two times
/// that.
const SHARE: usize = 64 * RUN;

/// Fewer terms than this are added across sums.
const FEW_TERMS: usize = 64;

/// Runs a request with a reduction; returns `None` if a step is not defined for its dtype.
pub(super) fn run(call: &Call<'_>, reduction: &Reduction<'_>, settings: &Settings) -> Option<()> {
    let terms = call.request.program.dtype(call.request.program.result());
    totals::run(total_dtype(reduction.op.combine(), terms), call, reduction, settings)
}

fn run_as<A: Total>(call: &Call<'_>, reduction: &Reduction<'_>, settings: &Settings) -> Option<()> {
    Sums::<A>::new(call, reduction, settings)?.run();
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

struct Sums<'a, A> {
    call: &'a Call<'a>,
    settings: &'a Settings,
    /// What becomes of a total.
    finish: Finish,
    /// The loops over the sums.
    kept: &'a Plan,
    /// The loops over the terms of one sum.
    terms: &'a Plan,
    way: Way,
    /// Whether blocks may span rows of terms.
    has_short_rows: bool,
    script: Script,
    halve: Kernel,
    add: Kernel,
    /// The loops that convert a total to the dtype of the destination.
    rounding: SmallVec<[Kernel; 2]>,
    total: PhantomData<A>,
}

impl<'a, A: Total> Sums<'a, A> {
    fn new(call: &'a Call<'a>, reduction: &Reduction<'a>, settings: &'a Settings) -> Option<Self> {
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
        let Recipe::Loop(add) = recipe(A::COMBINE, A::DTYPE)? else { return None };
        Some(Sums {
            call,
            settings,
            finish: reduction.op.finish(),
            kept,
            terms,
            way,
            has_short_rows,
            script: Script::new(call.request.program, Some(A::DTYPE), &memory, level)?,
            halve: A::HALVE[level as usize],
            add: add.all[level as usize],
            rounding: route(A::DTYPE, call.request.out)
                .iter()
                .map(|(loops, _)| loops.all[level as usize])
                .collect(),
            total: PhantomData,
        })
    }

    fn run(&self) {
        let bytes = self
            .terms
            .len
            .saturating_mul(self.kept.len)
            .saturating_mul(self.call.sizes.iter().sum());
        let team = Team::new(bytes, self.settings);
        match self.way {
            Way::Across => self.across(team),
            // Few sums of many terms are shared by their terms.
            Way::Along if self.kept.len < team.parts && self.terms.len > SHARE => {
                self.along_shared(team)
            }
            Way::Along => self.along(team),
        }
    }

    /// Lays out the registers of a thread.
    fn frame<'f>(&'f self, scratch: &'f mut Scratch) -> Frame<'f> {
        let inputs = self.call.request.program.inputs();
        Frame::new(&self.script, inputs, scratch, self.settings.block_bytes, usize::MAX)
    }

    /// Sums one after another, each along its terms.
    fn along(&self, team: Team) {
        let nest = Nest::new(self.kept, &self.call.sizes, 1, None);
        self.share(nest.units, team, &|range| {
            let mut scratch: Scratch = Scratch::new();
            let frame = self.frame(&mut scratch);
            // SAFETY: this phase reads numbers only.
            unsafe { frame.begin(Phase::Once, &self.call.bases) };
            nest.walk(&self.call.bases, range, |slots, _| {
                // SAFETY: as in `walk::run`: the plans are inside their storages, whose locks are held.
                let total = unsafe { self.sum_of(&frame, slots, 0, self.terms.len) };
                // SAFETY: the destination's element is one of the plan's, and no other thread writes it.
                unsafe { self.store(&[total], slots[OUT], 0) };
            });
        });
    }

    /// Sums one after another, each shared among threads.
    fn along_shared(&self, team: Team) {
        let share = self.terms.len.div_ceil(team.parts).next_power_of_two().max(SHARE);
        let count = self.terms.len.div_ceil(share);
        let nest = Nest::new(self.kept, &self.call.sizes, 1, None);
        nest.walk(&self.call.bases, 0..nest.units, |slots, _| {
            let slots = Shared(slots);
            let totals = Mutex::new(SmallVec::<[A; 16]>::from_elem(A::NOTHING, count));
            team.share(count, &|part| {
                let slots = slots.get();
                let mut scratch: Scratch = Scratch::new();
                let frame = self.frame(&mut scratch);
                let start = part * share;
                // SAFETY: as in `along`, for a run of the terms.
                let total = unsafe {
                    frame.begin(Phase::Once, slots);
                    self.sum_of(&frame, slots, start, share.min(self.terms.len - start))
                };
                totals.lock().unwrap_or_else(PoisonError::into_inner)[part] = total;
            });
            let mut tree = Tree::new();
            for &total in &totals.into_inner().unwrap_or_else(PoisonError::into_inner) {
                tree.push(total, share.ilog2());
            }
            // SAFETY: as in `along`.
            unsafe { self.store(&[tree.total()], slots.get()[OUT], 0) };
        });
    }

    /// Cuts a number of units into parts and shares them.
    fn share(&self, units: usize, team: Team, work: &(dyn Fn(std::ops::Range<usize>) + Sync)) {
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

    /// The sum of an aligned run of the terms of one sum, whose first term is at `slots`.
    ///
    /// # Safety
    ///
    /// From the slots the terms must reach only valid memory, aligned and of the program's dtypes.
    unsafe fn sum_of(&self, frame: &Frame<'_>, slots: &[*mut u8], start: usize, len: usize) -> A {
        let mut room = Vector::<A, RUN>::new();
        let mut spare = Vector::<A, { RUN / 2 }>::new();
        let mut tree = Tree::new();
        let mut terms = Terms::new(self, slots, start);
        let mut left = len;
        while left > 0 {
            let count = left.min(RUN);
            // SAFETY: the caller's promise; there is room for as many totals, which are all written.
            unsafe {
                terms.fill(frame, room.as_ptr(), count);
                tree.push(tree::halved(self.halve, &mut room, &mut spare, count), RUN.ilog2());
            }
            left -= count;
        }
        tree.total()
    }

    /// Many sums at a time, a term of each after another.
    fn across(&self, team: Team) {
        let width =
            tree::width::<A>(self.terms.len).min(self.kept.sizes[0].div_ceil(team.parts)).max(1);
        let width = width.min(self.script.block_len(self.settings.block_bytes));
        let nest = Nest::new(self.kept, &self.call.sizes, width, None);
        let each_term = Nest::new(self.terms, &self.call.sizes, 1, None);
        let steps = nest.steps();
        self.share(nest.units, team, &|range| {
            let mut scratch: Scratch = Scratch::new();
            let frame = self.frame(&mut scratch);
            let mut forest = Forest::<A>::new(self.add, self.terms.len, width);
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

    /// Rounds totals and writes them to the destination.
    ///
    /// # Safety
    ///
    /// There must be as many elements of the destination, `step` bytes apart, which no other thread accesses.
    unsafe fn store(&self, totals: &[A], to: *mut u8, step: isize) {
        const PIECE: usize = 128;
        let size = self.call.request.out.size();
        let count = self.terms.len as f64;
        let mut rooms = [Vector::<A, PIECE>::new(), Vector::<A, PIECE>::new()];
        for (index, piece) in totals.chunks(PIECE).enumerate() {
            let [from, room] = &mut rooms;
            let (mut from, mut room) = (from.as_ptr(), room.as_ptr());
            for (place, &total) in piece.iter().enumerate() {
                let total = match self.finish {
                    Finish::Total => total,
                    Finish::Mean => total.over(count),
                };
                // SAFETY: a piece is not longer than the room.
                unsafe { from.add(place).write(total) };
            }
            for kernel in &self.rounding {
                // SAFETY: the loops convert from the total's dtype on to the destination's, whose elements
                // are not larger than a total; the buffers do not overlap, and are aligned for totals.
                unsafe { kernel(&[from.cast_const().cast(); 3], room.cast(), piece.len()) };
                std::mem::swap(&mut from, &mut room);
            }
            let to = to.wrapping_offset((index * PIECE) as isize * step);
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
