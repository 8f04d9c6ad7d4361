//! Programs translated once for contiguous operands, and run on them without a plan.
//!
//! `walk` would run the same script; on few elements, planning the iteration takes longer than the loops do, and so does
//! translating the program each time.

use smallvec::SmallVec;

use super::start;
use crate::backend::Memory;
use crate::backend::cpu::run::blocks::{Frame, Place, Scratch};
use crate::backend::cpu::run::nest::Slots;
use crate::backend::cpu::run::script::{self, Pattern, Phase, Script};
use crate::backend::cpu::run::transfer::{Extent, LINE};
use crate::backend::cpu::settings::{MAX_BLOCK_BYTES, Settings};
use crate::backend::cpu::threads::sharing::Team;
use crate::plan::OUT;
use crate::program::{Input, Program};
use crate::scalar::ElementBytes;

/// The most slots of an executable.
const MAX_SLOTS: usize = 9;

/// Half of the room for the registers of a few elements; the other half is for rounding them up.
const HALF: usize = 512;

/// A program with its script for contiguous operands, or ones of one element, and a contiguous destination of its own.
pub(crate) struct Executable {
    program: Program,
    script: Script,
    /// The size of an element of each slot in bytes.
    sizes: Box<[usize]>,
    /// The bytes from one element of a slot to the next.
    steps: Box<[usize]>,
    /// The bytes that are read and written per element.
    bytes: usize,
    /// From so many elements on, they wait for memory.
    too_many: usize,
    settings: &'static Settings,
}

impl Executable {
    /// Translates a program, given which of its inputs in memory are one element for all. Returns `None` if there are too
    /// many of them, or if a step is not defined for its dtype.
    pub(crate) fn new(program: Program, is_one: impl Fn(usize) -> bool) -> Option<Executable> {
        if program.slots() > MAX_SLOTS {
            return None;
        }
        let settings = Settings::get();
        let out = program.dtype(program.result()).size();
        let sizes: Box<[usize]> = std::iter::once(out).chain(program.input_sizes()).collect();
        let pattern = |slot: usize| match slot != OUT && is_one(slot - 1) {
            true => Pattern::Still,
            false => Pattern::Dense,
        };
        let patterns: SmallVec<[Pattern; 4]> = (0..sizes.len()).map(pattern).collect();
        let step = |(&size, pattern): (&usize, &Pattern)| match pattern {
            Pattern::Still => 0,
            _ => size,
        };
        let steps: Box<[usize]> = sizes.iter().zip(&patterns).map(step).collect();
        let memory = script::SlotUse {
            patterns: &patterns,
            is_written: &[false; MAX_SLOTS],
            mask: None,
            writes_directly: true,
        };
        let script = Script::new(&program, None, &memory, settings.level)?;
        let bytes: usize = steps.iter().sum();
        let too_many = (settings.stream_bytes / 2).div_ceil(bytes.max(1));
        Some(Executable { program, script, sizes, steps, bytes, too_many, settings })
    }

    /// Whether so many elements are best computed without a plan: there is one, and not so many that they wait for memory,
    /// against which `walk` has the means.
    #[inline]
    pub(crate) fn takes(&self, len: usize) -> bool {
        len > 0 && len < self.too_many
    }

    /// Gives one of the program's inputs, a number, another value.
    #[inline]
    pub(crate) fn set_number(&mut self, input: u16, number: ElementBytes) {
        self.program.set_number(input, number);
    }

    /// Computes `len` elements, at least one, from those of the other slots to those of the destination, the first slot,
    /// each from its offset on.
    ///
    /// The memory is that of the CPU and holds so many elements, or one, of the program's dtypes, in the order of its
    /// slots. The caller holds the locks: that of the destination, whose memory is no other slot's, for writing.
    #[inline]
    pub(crate) fn run(&self, len: usize, memories: &[&Memory], offsets: &[usize]) {
        let mut slots = [std::ptr::null_mut(); MAX_SLOTS];
        debug_assert_eq!(memories.len(), self.sizes.len());
        debug_assert!(memories[1..].iter().all(|memory| !std::ptr::eq(*memory, memories[OUT])));
        let count = self.sizes.len();
        // Each length is checked once; an iterator over all of these would take longer than the loop.
        let (memories, offsets, first) =
            (&memories[..count], &offsets[..count], &mut slots[..count]);
        for index in 0..count {
            first[index] = start(memories[index]).wrapping_add(offsets[index] * self.sizes[index]);
        }
        let row = DenseRow {
            script: &self.script,
            inputs: self.program.inputs(),
            slots: &slots[..count],
            steps: &self.steps,
            block_bytes: self.settings.block_bytes,
        };
        let team = Team::new(len.saturating_mul(self.bytes), self.settings);
        // SAFETY: every slot holds `len` elements, contiguous as the script expects, all of which were written before they
        // were shared; storages align them. Those of the destination are in memory of its own, and the locks are held. The
        // settings' level is one that the machine has.
        unsafe { row.share(len, team) };
    }
}

/// One row of elements, contiguous in every slot that does not have one element for all.
pub(crate) struct DenseRow<'a> {
    pub(crate) script: &'a Script,
    /// The inputs of the program that the script was made from.
    pub(crate) inputs: &'a [Input],
    /// The first element of each slot.
    pub(crate) slots: &'a [*mut u8],
    /// The bytes from one element of a slot to the next.
    pub(crate) steps: &'a [usize],
    /// The bytes of a thread's registers.
    pub(crate) block_bytes: usize,
}

// SAFETY: the pointers are followed by `share` alone, whose caller vouches for them until it returns.
unsafe impl Sync for DenseRow<'_> {}

impl DenseRow<'_> {
    /// Computes the first `len` elements, on as many threads as the team has.
    ///
    /// # Safety
    ///
    /// From its first element on, every slot must have `len` valid, aligned and initialised elements of the dtype that the
    /// script was made for, `steps` apart: contiguous, or one element where the script was made for that. Those of the
    /// destination are contiguous and need not be initialised; nobody else may access them, and another slot must be
    /// apart from them or, where the script was told so, be the same elements.
    #[inline(always)]
    pub(crate) unsafe fn share(&self, len: usize, team: Team) {
        // SAFETY: the caller's promise.
        unsafe {
            match team.parts {
                1 => self.run(self.slots, len),
                _ => self.share_among(len, team),
            }
        }
    }

    /// [`DenseRow::share`] among several threads.
    ///
    /// # Safety
    ///
    /// As for [`DenseRow::share`].
    #[inline(never)]
    unsafe fn share_among(&self, len: usize, team: Team) {
        let share = len.div_ceil(team.parts).next_multiple_of(LINE);
        team.share(team.parts, &|part| {
            let first = part * share;
            if first < len {
                let slots = self.moved(self.slots, first);
                // SAFETY: the caller's promise; parts write disjoint elements.
                unsafe { self.run(&slots, share.min(len - first)) };
            }
        });
    }

    /// Returns the first elements after some others.
    fn moved(&self, slots: &[*mut u8], elements: usize) -> Slots {
        let next = |(slot, step): (&*mut u8, &usize)| slot.wrapping_add(elements * step);
        slots.iter().zip(self.steps).map(next).collect()
    }

    /// Computes `len` elements from these on, at least one.
    ///
    /// # Safety
    ///
    /// As for [`DenseRow::share`].
    #[inline(always)]
    unsafe fn run(&self, slots: &[*mut u8], len: usize) {
        let bytes = self.script.registers * self.script.widest;
        // SAFETY: the caller's promise.
        unsafe {
            match len.saturating_mul(bytes) {
                0 => self.run_in(&mut Scratch::<0>::new(), slots, len),
                1..=HALF => self.run_in_room::<{ 2 * HALF }>(slots, len),
                _ => self.run_in_room::<MAX_BLOCK_BYTES>(slots, len),
            }
        }
    }

    /// [`DenseRow::run`] with room for registers, which is taken from the stack only where it is needed.
    ///
    /// # Safety
    ///
    /// As for [`DenseRow::share`].
    #[inline(never)]
    unsafe fn run_in_room<const BYTES: usize>(&self, slots: &[*mut u8], len: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.run_in(&mut Scratch::<BYTES>::new(), slots, len) };
    }

    /// [`DenseRow::run`] with these registers.
    ///
    /// # Safety
    ///
    /// As for [`DenseRow::share`].
    #[inline(always)]
    unsafe fn run_in<const BYTES: usize>(
        &self,
        scratch: &mut Scratch<BYTES>,
        slots: &[*mut u8],
        len: usize,
    ) {
        let frame = Frame::new(self.script, self.inputs, scratch, self.block_bytes, len);
        if self.script.has_prelude() {
            // SAFETY: the caller's promise, for the first elements.
            unsafe {
                frame.begin(Phase::Once, slots);
                frame.begin(Phase::Span, slots);
            }
        }
        if len <= frame.block_len {
            // SAFETY: the caller's promise.
            return unsafe { self.block(&frame, slots, len) };
        }
        // SAFETY: the caller's promise.
        unsafe { self.blocks(&frame, slots, len) };
    }

    /// Computes more elements than a block has.
    ///
    /// # Safety
    ///
    /// As for [`DenseRow::share`].
    #[inline(never)]
    unsafe fn blocks(&self, frame: &Frame<'_>, slots: &[*mut u8], len: usize) {
        let mut slots = Slots::from_slice(slots);
        let mut left = len;
        while left > 0 {
            let count = left.min(frame.block_len);
            // SAFETY: the caller's promise, for the next elements.
            unsafe { self.block(frame, &slots, count) };
            slots = self.moved(&slots, count);
            left -= count;
        }
    }

    /// Computes the elements of a block.
    ///
    /// # Safety
    ///
    /// As for [`DenseRow::share`]; there must be at most as many as a register holds.
    #[inline(always)]
    unsafe fn block(&self, frame: &Frame<'_>, slots: &[*mut u8], len: usize) {
        // Nothing is gathered, so no steps are needed.
        let place = Place { slots, steps: &[], extent: Extent::row(len) };
        // SAFETY: the caller's promise.
        unsafe { frame.block_to(&place, slots[OUT], self.steps[OUT]) };
    }
}
