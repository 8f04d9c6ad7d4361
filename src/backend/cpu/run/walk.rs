//! Elementwise requests: every element of the destination is computed from the elements with the same index.

use smallvec::SmallVec;

use super::blocks::{Frame, Place, Scratch};
use super::nest::{Nest, Slots};
use super::script::{Pattern, Phase, Script, SlotUse};
use super::transfer::{
    Extent, LINE, Steps, finish_streams, prefetch, scatter, scatter_masked, stream,
};
use crate::backend::cpu::Located;
use crate::backend::cpu::executable::DenseRow;
use crate::backend::cpu::settings::{MAX_BLOCK_BYTES, MAX_SQUARE_BYTES, Settings};
use crate::backend::cpu::threads::sharing::Team;
use crate::plan::{OUT, Plan};

/// Rows shorter than this are not computed on their own.
const SHORT_ROW: usize = 64;

/// The shortest sides of a loop nest that is worth cutting into squares.
const SQUARE: usize = 8;

/// Rows below this many bytes are not written past the caches.
const STREAMED_ROW: usize = 4096;

/// How many bytes of each register are computed at a time where operands come from memory, and all registers together
/// at least. SlotUse is idle while a block is computed, so blocks are as small as the calls of loops allow.
const FAR_REGISTER: usize = 1024;
const FAR_BLOCK: usize = 4 * FAR_REGISTER;

/// How many bytes are streamed between prefetches of what is read next.
const STREAMED_PIECE: usize = 512;

/// Runs a request without a reduction; returns `None` if a step is not defined for its dtype.
pub(crate) fn run(located: &Located<'_>, settings: &Settings) -> Option<()> {
    let plan = located.request.plan;
    let across = across(plan);
    let is_square = across.is_some_and(|(_, is_square)| is_square);
    let mut block_bytes = if is_square { settings.square_bytes } else { settings.block_bytes };
    // Short rows are taken whole, several at a time, if there is room for one.
    let mut access = UnitAccess::new(located, settings, across, across.is_some() && !is_square);
    let mut script = access.script(settings)?;
    if access.has_whole_rows && script.block_len(block_bytes) < plan.sizes[0] {
        access = UnitAccess::new(located, settings, across, false);
        script = access.script(settings)?;
    }
    // With few steps, most of the time is spent on reading and writing.
    let waits_for_memory = across.is_none()
        && access.traffic >= settings.stream_bytes / 2
        && script.phase(Phase::Block).len() <= located.sizes.len();
    if waits_for_memory {
        block_bytes = block_bytes.min(FAR_BLOCK.max(script.registers * FAR_REGISTER));
    }

    let bytes = plan.len.saturating_mul(located.sizes.iter().sum());
    let team = Team::new(bytes, settings);
    if access.is_row() && !waits_for_memory {
        let steps = access.steps();
        let inputs = located.request.program.inputs();
        let row =
            DenseRow { script: &script, inputs, slots: &located.bases, steps: &steps, block_bytes };
        // SAFETY: as for `units` below; the elements of every slot are contiguous, or one.
        unsafe { row.share(plan.len, team) };
        return Some(());
    }
    let block_len = script.block_len(block_bytes);
    let mut unit = Extent::row(1);
    let nest = match across {
        None => {
            let unit = block_len.min(1024);
            let share = plan.len.div_ceil(team.parts).next_multiple_of(unit);
            Nest::new(plan, &located.sizes, share, None)
        }
        Some((level, is_square)) => {
            let side = if is_square { square_side(block_len) } else { plan.sizes[0] };
            let inner = side.min(plan.sizes[0]).min(block_len);
            // A power of two, so that the pieces of a row in memory begin and end with a cache line.
            let outer = previous_power_of_two(block_len / inner).min(plan.sizes[level]);
            unit = Extent { inner, outer };
            Nest::new(plan, &located.sizes, inner, Some((level, outer)))
        }
    };
    let followed = (0..located.sizes.len()).map(|slot| access.is_followed(slot)).collect();
    let UnitAccess { is_fixed, out_is_dense, streams, .. } = access;
    let steps = nest.steps();
    let walk = Walk {
        located,
        block_bytes,
        script,
        steps,
        nest,
        unit,
        is_fixed,
        out_is_dense,
        streams,
        followed,
    };
    let share = walk.nest.units.div_ceil(team.parts);
    let work = |part: usize| {
        let start = part * share;
        let end = walk.nest.units.min(start + share);
        if start < end {
            // SAFETY: the plan was made from layouts inside their storages, whose locks are held; storages are
            // written in full before they are shared, and hold elements of the dtypes that the program names; the
            // destination's elements were checked to be distinct, and inputs that share its storage are the same view
            // or do not overlap it; parts write disjoint elements.
            unsafe { walk.units(start, end) };
        }
    };
    team.share(team.parts, &work);
    Some(())
}

/// The access patterns of the slots in a unit, and what follows for the destination.
struct UnitAccess<'a> {
    located: &'a Located<'a>,
    /// Whether a unit has whole rows.
    has_whole_rows: bool,
    patterns: SmallVec<[Pattern; 4]>,
    /// Which slots may stay where they are from one unit to the next.
    is_fixed: SmallVec<[bool; 4]>,
    /// Whether a unit's results are contiguous.
    out_is_dense: bool,
    streams: bool,
    /// The bytes that are read and written, or 0 if they are few.
    traffic: usize,
}

impl<'a> UnitAccess<'a> {
    fn new(
        located: &'a Located<'a>,
        settings: &Settings,
        across: Option<(usize, bool)>,
        has_whole_rows: bool,
    ) -> UnitAccess<'a> {
        let plan = located.request.plan;
        let pattern = |slot: usize| {
            let inner = plan.slots[slot].strides[0];
            let outer = across.map(|(level, _)| plan.slots[slot].strides[level]);
            // Consecutive rows without a gap are one row.
            let is_one_row =
                outer.is_none() || has_whole_rows && outer == Some(plan.sizes[0] as isize);
            if inner == 0 && outer.is_none_or(|outer| outer == 0) {
                Pattern::Still
            } else if is_one_row
                && inner == 1
                && !(located.mask() == Some(slot) && located.is_written[slot])
            {
                Pattern::Dense
            } else if has_whole_rows && outer == Some(0) {
                Pattern::Row
            } else {
                Pattern::Strided
            }
        };
        let patterns: SmallVec<[Pattern; 4]> = (0..located.sizes.len()).map(pattern).collect();
        let is_fixed = patterns
            .iter()
            .map(|pattern| matches!(pattern, Pattern::Still | Pattern::Row))
            .collect();
        let out_is_dense = plan.rank == 0 || patterns[OUT] == Pattern::Dense;
        let is_square = across.is_some_and(|(_, is_square)| is_square);
        let has_rows = out_is_dense || (is_square && plan.slots[OUT].strides[0] == 1);
        let row = if out_is_dense && across.is_some() { plan.len } else { plan.sizes[0] };
        let bytes = plan.len.saturating_mul(located.sizes.iter().sum());
        // An element takes at most a cache line: if that bound is small, the exact number is not needed.
        let traffic = match bytes.saturating_mul(LINE) < settings.stream_bytes / 2 {
            true => 0,
            false => traffic(plan, &located.sizes),
        };
        // If the destination is read too, it is in the caches already.
        let streams = has_rows
            && !located.request.masked
            && traffic >= settings.stream_bytes
            && row.saturating_mul(located.sizes[OUT]) >= STREAMED_ROW
            && !located.is_written[1..].contains(&true);
        UnitAccess { located, has_whole_rows, patterns, is_fixed, out_is_dense, streams, traffic }
    }

    /// Whether every slot is contiguous or one element, and results need not be written in another way.
    fn is_row(&self) -> bool {
        let is_simple = |pattern: &Pattern| matches!(pattern, Pattern::Dense | Pattern::Still);
        self.out_is_dense
            && self.located.request.plan.rank <= 1
            && !self.streams
            && !self.located.request.masked
            && self.patterns.iter().all(is_simple)
    }

    /// The bytes from one element of a row to the next, by slot.
    fn steps(&self) -> SmallVec<[usize; 4]> {
        let step = |(pattern, &size): (&Pattern, &usize)| match pattern {
            Pattern::Still => 0,
            _ => size,
        };
        let mut steps: SmallVec<[usize; 4]> =
            self.patterns.iter().zip(&self.located.sizes).map(step).collect();
        steps[OUT] = self.located.sizes[OUT];
        steps
    }

    /// Whether a slot is contiguous, rows included, and that matters.
    fn is_followed(&self, slot: usize) -> bool {
        let plan = self.located.request.plan;
        let strides = &plan.slots[slot].strides;
        let joins = plan.rank < 2 || strides[1] == strides[0] * plan.sizes[0] as isize;
        self.streams && self.patterns[slot] == Pattern::Dense && joins
    }

    fn script(&self, settings: &Settings) -> Option<Script> {
        let memory = SlotUse {
            patterns: &self.patterns,
            is_written: &self.located.is_written,
            mask: self.located.mask(),
            writes_directly: self.out_is_dense && !self.located.request.masked && !self.streams,
        };
        Script::new(self.located.request.program, None, &memory, settings.level)
    }
}

/// Returns the loop that is best combined with the innermost one, and whether in squares: the next one if rows are
/// short, and if a slot has a smaller stride along another loop, that one.
fn across(plan: &Plan) -> Option<(usize, bool)> {
    if plan.rank < 2 {
        return None;
    }
    let runs_elsewhere = |strides: &[isize]| {
        let inner = strides[0].unsigned_abs();
        let closer = |&level: &usize| {
            let stride = strides[level].unsigned_abs();
            stride != 0 && stride < inner && plan.sizes[level] >= SQUARE
        };
        (1..plan.rank).filter(closer).min_by_key(|&level| strides[level].unsigned_abs())
    };
    if plan.sizes[0] >= SQUARE {
        let level = plan.slots.iter().skip(1).find_map(|slot| runs_elsewhere(&slot.strides));
        if let Some(level) = level {
            return Some((level, true));
        }
    }
    (plan.sizes[0] < SHORT_ROW).then_some((1, false))
}

/// Returns the bytes that are read and written: every element of every slot once, and the gaps on the same cache lines.
fn traffic(plan: &Plan, sizes: &[usize]) -> usize {
    let bytes = |(slot, &size): (&crate::plan::Slot, &usize)| {
        let moving = (0..plan.rank).filter(|&level| slot.strides[level] != 0);
        let count = moving.clone().map(|level| plan.sizes[level]).fold(1, usize::saturating_mul);
        let closest = moving.map(|level| slot.strides[level].unsigned_abs()).min().unwrap_or(1);
        count.saturating_mul(closest.saturating_mul(size).min(LINE.max(size)))
    };
    plan.slots.iter().zip(sizes).map(bytes).fold(0, usize::saturating_add)
}

/// Returns the side of the largest square of so many elements, as a power of two.
fn square_side(count: usize) -> usize {
    1 << (count.max(1).ilog2() / 2)
}

fn previous_power_of_two(count: usize) -> usize {
    1 << count.max(1).ilog2()
}

struct Walk<'a> {
    located: &'a Located<'a>,
    /// The bytes of a thread's registers.
    block_bytes: usize,
    script: Script,
    nest: Nest<'a>,
    steps: SmallVec<[Steps; 4]>,
    /// The largest unit of several rows.
    unit: Extent,
    /// Which slots may stay where they are from one unit to the next.
    is_fixed: SmallVec<[bool; 4]>,
    /// Whether a unit's results are contiguous.
    out_is_dense: bool,
    /// Whether results are written past the caches.
    streams: bool,
    /// Whether each slot is contiguous, rows included; false if that does not matter.
    followed: SmallVec<[bool; 4]>,
}

impl Walk<'_> {
    /// Runs over a range of units.
    ///
    /// # Safety
    ///
    /// From the bases the plan must reach only valid memory, aligned for the dtypes there, the
    /// destination's elements distinct and every input's initialised; an input must be apart from the
    /// destination or element for element the same; all this until the call returns.
    unsafe fn units(&self, start: usize, end: usize) {
        // SAFETY: the caller's promise.
        unsafe {
            match self.block_bytes > MAX_BLOCK_BYTES {
                true => self.units_in::<MAX_SQUARE_BYTES>(start, end),
                false => self.units_in::<MAX_BLOCK_BYTES>(start, end),
            }
        }
    }

    /// # Safety
    ///
    /// As for [`Walk::units`].
    #[inline(never)] // so that the room is taken from the stack only where it is needed
    unsafe fn units_in<const BYTES: usize>(&self, start: usize, end: usize) {
        let mut scratch = Scratch::<BYTES>::new();
        let inputs = self.located.request.program.inputs();
        let frame = Frame::new(
            &self.script,
            inputs,
            &mut scratch,
            self.block_bytes,
            self.located.request.plan.len,
        );
        // SAFETY: the bases are first elements; this phase reads numbers only.
        unsafe { frame.begin(Phase::Once, &self.located.bases) };
        let mut before = Slots::new();
        self.nest.walk(&self.located.bases, start..end, |slots, extent| {
            // SAFETY: the caller's promise, for the elements of this unit.
            unsafe {
                self.begin(&frame, slots, &mut before);
                self.unit(&frame, slots, extent);
            }
        });
        if self.streams {
            finish_streams();
        }
    }

    /// Computes what is the same for all blocks of a unit, unless it is what it was in the unit before.
    ///
    /// # Safety
    ///
    /// As for [`Walk::units`], for the elements of a unit.
    unsafe fn begin(&self, frame: &Frame<'_>, slots: &[*mut u8], before: &mut Slots) {
        let moved = |slot: usize| self.is_fixed[slot] && slots[slot] != before[slot];
        if before.len() == slots.len() && !(0..slots.len()).any(moved) {
            return;
        }
        before.clear();
        before.extend_from_slice(slots);
        // SAFETY: the caller's promise; rows that are all the same are there for as many as there may be in a unit.
        unsafe {
            frame.begin(Phase::Span, slots);
            frame.rows(&Place { slots, steps: &self.steps, extent: self.unit });
        }
    }

    /// # Safety
    ///
    /// As for [`Walk::units`], for the elements of a unit.
    unsafe fn unit(&self, frame: &Frame<'_>, slots: &[*mut u8], extent: Extent) {
        if extent.count() <= frame.block_len {
            // SAFETY: the caller's promise.
            return unsafe { self.block(frame, &Place { slots, steps: &self.steps, extent }) };
        }
        let mut slots = Slots::from_slice(slots);
        let mut left = extent.inner;
        while left > 0 {
            let extent = Extent::row(left.min(frame.block_len));
            // SAFETY: the caller's promise, for the next elements of the row.
            unsafe { self.block(frame, &Place { slots: &slots, steps: &self.steps, extent }) };
            left -= extent.inner;
            for (slot, steps) in slots.iter_mut().zip(&self.steps) {
                *slot = slot.wrapping_offset(steps.inner * extent.inner as isize);
            }
        }
    }

    /// Computes a block and stores it.
    ///
    /// # Safety
    ///
    /// As for [`Walk::units`], for the elements of the block, which must be at most as many as a register holds.
    unsafe fn block(&self, frame: &Frame<'_>, place: &Place<'_>) {
        let (to, size) = (place.slots[OUT], self.located.sizes[OUT]);
        let (mut steps, mut extent) = (self.steps[OUT], place.extent);
        if self.out_is_dense {
            (steps.inner, extent) = (size as isize, Extent::row(extent.count()));
        }
        // SAFETY: the caller's promise; the script writes to the destination only where it is dense, and by a loop
        // that does not read from it.
        unsafe { frame.block(place, to) };
        let Some(source) = self.script.result else { return };
        let from = frame.resolve(source, place.slots);
        // SAFETY: results and mask are contiguous, either in registers or in slots that are the destination itself
        // or do not overlap it.
        unsafe {
            match self.script.mask {
                None if self.streams && place.extent.outer == 1 => {
                    self.stream_row(from, place);
                }
                None if self.streams => {
                    let bytes = extent.inner * size;
                    for row in 0..extent.outer {
                        let to = to.offset(row as isize * steps.outer);
                        stream(from.add(row * bytes), to, bytes);
                    }
                }
                None => scatter(size, from, to, steps, extent),
                Some(mask) => {
                    let mask = frame.resolve(mask, place.slots);
                    scatter_masked(size, from, mask, to, steps, extent);
                }
            }
        }
    }

    /// Writes a row past the caches, and prefetches what is read after it; otherwise nothing would be read from memory
    /// while it is written.
    ///
    /// # Safety
    ///
    /// As for [`stream`], from contiguous results to the destination of the place.
    unsafe fn stream_row(&self, from: *const u8, place: &Place<'_>) {
        let (to, size) = (place.slots[OUT], self.located.sizes[OUT]);
        let bytes = place.extent.inner * size;
        let mut start = 0;
        while start < bytes {
            // Pieces end where lines do.
            let to = to.wrapping_add(start);
            let piece = (to.align_offset(LINE) + STREAMED_PIECE).min(bytes - start);
            let next = (place.extent.inner + start / size) as isize;
            // Slots with other access patterns are prefetched where they are gathered, or are read repeatedly.
            for (slot, _) in self.followed.iter().enumerate().skip(1).filter(|(_, is)| **is) {
                let step = self.steps[slot].inner;
                let next = place.slots[slot].wrapping_offset(next * step);
                prefetch(next, step, piece / size);
            }
            // SAFETY: the piece is part of what the caller vouches for.
            unsafe { stream(from.add(start), to, piece) };
            start += piece;
        }
    }
}
