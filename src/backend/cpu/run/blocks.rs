//! Runs a script on one block of elements after another.

use std::mem::MaybeUninit;

use super::script::{Instruction, Location, Output, Phase, Script, Work};
use super::transfer::{Extent, Steps, gather, scatter, splat};
use crate::backend::cpu::settings::MAX_BLOCK_BYTES;
use crate::program::Input;
use crate::scalar::ElementBytes;

/// One thread's registers.
#[repr(align(64))]
pub(crate) struct Scratch<const BYTES: usize = MAX_BLOCK_BYTES>(MaybeUninit<[u8; BYTES]>);

impl<const BYTES: usize> Scratch<BYTES> {
    pub(crate) const fn new() -> Scratch<BYTES> {
        Scratch(MaybeUninit::uninit())
    }

    /// The first byte.
    pub(crate) const fn start(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

/// A cache line of registers for which the stack has no room.
#[repr(align(64))]
struct Line(
    #[expect(dead_code, reason = "it is room, and reached by address")] [MaybeUninit<u8>; 64],
);

/// The number 0 of every dtype.
static ZERO: ElementBytes = ElementBytes([0; 16]);

/// A script with its registers.
pub(crate) struct Frame<'a> {
    script: &'a Script,
    /// The inputs of the program, among which are the numbers.
    inputs: &'a [Input],
    /// As many registers as the script has, each of `stride` bytes.
    registers: *mut u8,
    /// The memory of the registers if they do not fit the scratch memory.
    _heap: Vec<Line>,
    /// The size of a register in bytes.
    stride: usize,
    /// How many elements a register holds.
    pub(crate) block_len: usize,
}

/// The position of a block: the first element of each slot, and the steps to the others.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) slots: &'a [*mut u8],
    pub(crate) steps: &'a [Steps],
    pub(crate) extent: Extent,
}

impl<'a> Frame<'a> {
    /// Lays out the registers in `bytes` bytes, or in the whole scratch memory if it is smaller, for blocks of at most
    /// `len` elements. If they are so many that they do not fit even with one element each, they are on the heap. The
    /// inputs are those of the program that the script was made from.
    #[inline]
    pub(crate) fn new<const BYTES: usize>(
        script: &'a Script,
        inputs: &'a [Input],
        scratch: &'a mut Scratch<BYTES>,
        bytes: usize,
        len: usize,
    ) -> Frame<'a> {
        let room = bytes.min(BYTES);
        let (block_len, stride) = script.registers_in(room, len);
        // A program has a bounded number of values, each of at most 16 bytes, so this is far from overflowing where
        // registers hold one element; where they hold more, it is at most `room`.
        let needed = script.registers * stride;
        let mut heap = Vec::<Line>::new();
        let registers = if needed <= room {
            scratch.start()
        } else {
            heap.reserve_exact(needed.div_ceil(size_of::<Line>()));
            heap.as_mut_ptr().cast()
        };
        Frame { script, inputs, registers, _heap: heap, stride, block_len }
    }

    /// Returns the address of the elements, or of the one element, of a source.
    #[inline(always)]
    pub(crate) fn resolve(&self, source: Location, slots: &[*mut u8]) -> *const u8 {
        match source {
            Location::Slot(slot) => slots[usize::from(slot)],
            Location::Register(register) => self.register(register),
            _ => self.number(source),
        }
    }

    /// Returns the address of a number.
    #[inline(never)] // so that the code for slots and registers, which most sources are, stays small
    fn number(&self, source: Location) -> *const u8 {
        let Location::Number(index) = source else { return ZERO.0.as_ptr() };
        match &self.inputs[usize::from(index)] {
            Input::Number(_, number) => number.0.as_ptr(),
            Input::Memory(..) => ZERO.0.as_ptr(),
        }
    }

    #[inline]
    fn register(&self, register: u32) -> *mut u8 {
        let register = register as usize;
        debug_assert!(register < self.script.registers);
        self.registers.wrapping_add(register * self.stride)
    }

    /// Runs the instructions of a phase before the blocks of a span, given its first elements.
    ///
    /// # Safety
    ///
    /// The slots' first elements must be valid, of the dtypes that the script was made for; before `Phase::Span`,
    /// `Phase::Once` must have run, and after it [`Frame::rows`] must run before the next block, because phases share
    /// registers.
    #[inline(never)]
    pub(crate) unsafe fn begin(&self, phase: Phase, slots: &[*mut u8]) {
        let place = Place { slots, steps: &[], extent: Extent::row(1) };
        for instruction in self.script.phase(phase) {
            // SAFETY: the caller's promise: nothing is read but first elements, numbers and registers, and
            // nothing written but registers, of which these instructions fill one element, or all where they
            // repeat one.
            unsafe { self.execute(instruction, &place, std::ptr::null_mut()) };
        }
    }

    /// Runs what is the same in all rows of a block, for as many rows as there may be.
    ///
    /// # Safety
    ///
    /// As for [`Frame::block`], for the slots that are the same in every row; the earlier phases must have run.
    pub(crate) unsafe fn rows(&self, place: &Place<'_>) {
        for instruction in self.script.phase(Phase::Rows) {
            // SAFETY: the caller's promise; these instructions write registers alone.
            unsafe { self.execute(instruction, place, std::ptr::null_mut()) };
        }
    }

    /// Runs the instructions of a block; the last loop writes to `destination` if the script lets it.
    ///
    /// # Safety
    ///
    /// The extent must have at most `block_len` elements. All elements of the place must be valid and aligned for
    /// their dtypes, in the layout that the script was built for. `destination` must have room for as many contiguous
    /// elements, and must not overlap any slot that the last loop reads. The earlier phases must have run.
    #[inline(always)]
    pub(crate) unsafe fn block(&self, place: &Place<'_>, destination: *mut u8) {
        for instruction in self.script.phase(Phase::Block) {
            // SAFETY: the caller's promise.
            unsafe { self.execute(instruction, place, destination) };
        }
    }

    /// As [`Frame::block`], and leaves the results at `destination` in any case.
    ///
    /// # Safety
    ///
    /// As for [`Frame::block`]; `size` must be the size of an element of the result.
    #[inline(always)]
    pub(crate) unsafe fn block_to(&self, place: &Place<'_>, destination: *mut u8, size: usize) {
        // SAFETY: the caller's promise.
        unsafe { self.block(place, destination) };
        if let Some(source) = self.script.result {
            // SAFETY: the caller's promise; the results are contiguous at the source.
            unsafe { self.copy(source, place, destination, size) };
        }
    }

    /// As [`Frame::block_to`], but leaves results that are in memory already where they are. Returns where they are:
    /// in a slot, or at `destination`.
    ///
    /// # Safety
    ///
    /// As for [`Frame::block_to`].
    #[inline(always)]
    pub(crate) unsafe fn block_at(
        &self,
        place: &Place<'_>,
        destination: *mut u8,
        size: usize,
    ) -> *const u8 {
        if let Some(Location::Slot(slot)) = self.script.result {
            return place.slots[usize::from(slot)];
        }
        // SAFETY: the caller's promise.
        unsafe { self.block_to(place, destination, size) };
        destination
    }

    /// Copies contiguous elements from a source to a destination.
    ///
    /// # Safety
    ///
    /// As for [`Frame::block_to`]; the elements must be at the source.
    #[inline(never)]
    unsafe fn copy(&self, source: Location, place: &Place<'_>, destination: *mut u8, size: usize) {
        let from = self.resolve(source, place.slots);
        let steps = Steps { inner: size as isize, outer: 0 };
        // SAFETY: the caller's promise.
        unsafe { scatter(size, from, destination, steps, Extent::row(place.extent.count())) };
    }

    /// # Safety
    ///
    /// As for [`Frame::block`] or [`Frame::begin`], by the instruction's phase.
    #[inline(always)]
    unsafe fn execute(&self, instruction: &Instruction, place: &Place<'_>, destination: *mut u8) {
        let output = match instruction.output {
            Output::Register(register) => self.register(register),
            Output::Destination => destination,
        };
        match instruction.work {
            Work::Apply(kernel, sources) => {
                let [x, y, z] = sources;
                let resolve = |source: Location| self.resolve(source, place.slots);
                let args = [resolve(x), resolve(y), resolve(z)];
                // SAFETY: the script's level is one that the machine has, and the loop was chosen for the dtypes of the
                // arguments and for which of them are one element; before the blocks, all are, and so is the extent.
                // Arguments in slots are contiguous or one element, and the caller vouches for them. Arguments in
                // registers were written by an earlier instruction, in this phase or in one that the caller has run,
                // for as many elements or for as many as a block may have. A register is aligned to 16 bytes and has
                // room for `block_len` elements, which the extent does not exceed. The output is not an argument:
                // `share_registers` frees registers only after the output has its own, and a loop that reads a slot
                // of the destination's memory is not given the destination (`Builder::finish`). For what the other
                // slots have in common with the destination, the caller vouches.
                unsafe { kernel(&args, output, place.extent.count()) };
            }
            // SAFETY: the caller's promise.
            _ => unsafe { self.fill(instruction, place, output) },
        }
    }

    /// Fills a register from memory or with copies of an element. It is apart from [`Frame::execute`], most of whose
    /// instructions are loops, so that their code stays small.
    ///
    /// # Safety
    ///
    /// As for [`Frame::execute`]; the output must be the instruction's.
    #[inline(never)]
    unsafe fn fill(&self, instruction: &Instruction, place: &Place<'_>, output: *mut u8) {
        match instruction.work {
            Work::Apply(..) => {}
            Work::Gather(slot) => {
                let slot = usize::from(slot);
                // SAFETY: the caller vouches for the elements and their alignment; a register holds `block_len`
                // elements, which the extent does not exceed, is aligned to 16 bytes, and is no memory of a slot. The
                // script's level is one that the machine has.
                unsafe {
                    gather(
                        self.script.level,
                        instruction.size,
                        place.slots[slot],
                        place.steps[slot],
                        place.extent,
                        output,
                    );
                }
            }
            Work::Splat(source) => {
                let from = self.resolve(source, place.slots);
                // SAFETY: there is one element, in a slot that the caller vouches for, in the program, or in another
                // register that has been written; a register holds `block_len` elements and is aligned to 16 bytes.
                unsafe { splat(instruction.size, from, self.block_len, output) };
            }
        }
    }
}
