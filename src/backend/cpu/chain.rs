//! Runs a few steps over contiguous elements: their loops one after another, from register to register.
//!
//! `walk` would run the same loops, but on few elements translating the program to a script and planning the iteration
//! takes longer than the loops do.

use smallvec::SmallVec;

use super::blocks::Scratch;
use super::convert::{Hop, hop};
use super::direct::version;
use super::kernels::{Recipe, recipe};
use super::loops::{Kernel, Kernels};
use super::settings::{MAX_BLOCK_BYTES, Settings};
use super::transfer::splat;
use super::{sharing, start};
use crate::DType;
use crate::backend::Memory;
use crate::op::ElementOp;
use crate::plan::OUT;
use crate::program::{Action, Input, Value};
use crate::request::Request;
use crate::scalar::ElementBytes;
use crate::storage::Access;

/// The most tensors, numbers and loops of a chain.
const MAX: usize = 8;

/// How many values a chain can have: tensors first, then numbers, then the results of loops.
const VALUES: usize = 3 * MAX;

/// The set of the values that are numbers.
const NUMBERS: u32 = ((1 << MAX) - 1) << MAX;

/// Registers start at multiples of a cache line, which is also the widest vector.
const LINE: usize = 64;

/// Room for all registers, each of which is rounded up to whole lines.
const ROOM: usize = MAX_BLOCK_BYTES + VALUES * LINE;

/// A few loops, each over the results of earlier ones, over tensors and over numbers.
///
/// The lists are arrays, not vectors: a chain never outgrows them, and reaching an element takes fewer instructions.
#[derive(Clone)]
pub(crate) struct Chain {
    tensors: usize,
    numbers: usize,
    steps: usize,
    constants: [ElementBytes; MAX],
    loops: [Loop; MAX],
    /// The size of an element of each value; 0 for a reserved number that has no dtype yet.
    sizes: [u8; VALUES],
    /// The set of the values that are one element for the whole loop.
    still: u32,
    /// The subset of `still` that has to be repeated in a register, because a loop has no version for it.
    spread: u32,
    /// The bytes of memory read per element.
    bytes: usize,
    /// The size of the largest element that may be kept in a register.
    widest: usize,
}

/// A value of a chain: its index among all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link(u8);

impl Link {
    /// The tensor that was added as number `index`, from 0.
    #[inline]
    pub(crate) const fn tensor(index: usize) -> Link {
        Link(index as u8)
    }

    /// The number that was added or reserved as number `index`, from 0.
    #[inline]
    pub(crate) const fn number(index: usize) -> Link {
        Link((MAX + index) as u8)
    }

    /// The result of loop `index`.
    const fn result(index: usize) -> Link {
        Link((2 * MAX + index) as u8)
    }

    /// The index among all values. The remainder changes nothing, but spares a bounds check.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize % (4 * MAX)
    }
}

#[derive(Clone, Copy)]
struct Loop {
    kernel: Kernel,
    /// Those beyond the arity repeat another.
    arguments: [Link; 3],
}

/// Runs a request if it is elementwise, contiguous and short enough, and returns whether it has. If not, nothing has
/// been written.
pub(super) fn run(request: &Request<'_>, access: &Access<'_>) -> bool {
    let (plan, program) = (request.plan, request.program);
    let is_one = plan.len == 1;
    let is_simple = plan.rank <= 1
        && !request.masked
        && request.reduction.is_none()
        && (is_one || plan.slots[OUT].strides[0] == 1)
        && (1..program.slots()).all(|slot| {
            (is_one || matches!(plan.slots[slot].strides[0], 0 | 1)) && !access.is_written(slot)
        });
    if !is_simple {
        return false;
    }
    let mut chain = Chain::new();
    let Some(result) = chain.program(request, |slot| plan.slots[slot].strides[0] == 0) else {
        return false;
    };
    if !chain.is_ready(result, plan.len) {
        return false;
    }
    let slot = |slot: usize| (access.memory(slot), plan.slots[slot].offset);
    // The tensors of a program are in the slots that follow the destination.
    // SAFETY: the chain is ready. The plan was made from layouts inside their storages, whose locks are held; these hold
    // elements of the dtypes that the program names, and were written in full before they were shared. The destination
    // is contiguous, as are the other slots or they are one element, and none of them shares its storage.
    unsafe { chain.run(plan.len, |tensor| slot(tensor + 1), slot(OUT)) };
    true
}

impl Chain {
    /// The most tensors, numbers and loops of a chain.
    pub(crate) const MAX: usize = MAX;

    pub(crate) const fn new() -> Chain {
        Chain {
            tensors: 0,
            numbers: 0,
            steps: 0,
            constants: [ElementBytes([0; 16]); MAX],
            loops: [Loop { kernel: nothing, arguments: [Link(0); 3] }; MAX],
            sizes: [0; VALUES],
            still: NUMBERS,
            spread: 0,
            bytes: 0,
            widest: 0,
        }
    }

    /// Adds a whole program; returns `None` if it is too long.
    fn program(&mut self, request: &Request<'_>, is_still: impl Fn(usize) -> bool) -> Option<Link> {
        let program = request.program;
        let mut links: SmallVec<[Link; VALUES]> = SmallVec::new();
        for input in program.inputs() {
            links.push(match input {
                Input::Number(dtype, number) => self.number(*dtype, *number)?,
                Input::Memory(dtype, slot) => {
                    let link = self.tensor(*dtype)?;
                    self.still |= u32::from(is_still(*slot)) << link.0;
                    link
                }
            });
        }
        let inputs = links.len();
        let link = |value: Value, links: &[Link]| match value {
            Value::Input(index) => links[usize::from(index)],
            Value::Step(index) => links[inputs + usize::from(index)],
        };
        for step in program.steps() {
            let mut arguments = [link(step.arguments()[0], &links); 3];
            for (argument, value) in arguments.iter_mut().zip(step.arguments()) {
                *argument = link(*value, &links);
            }
            let result = match step.action {
                Action::Cast => self.cast(arguments[0], step.dtype, step.result)?,
                Action::Apply(op) => self.apply(op, step.dtype, arguments)?,
            };
            links.push(result);
        }
        Some(link(program.result(), &links))
    }

    /// Adds a contiguous tensor; returns `None` if there are too many.
    pub(crate) fn tensor(&mut self, dtype: DType) -> Option<Link> {
        let index = self.tensors;
        if index == MAX {
            return None;
        }
        self.sizes[index] = dtype.size() as u8;
        self.bytes += dtype.size();
        self.tensors += 1;
        Some(Link::tensor(index))
    }

    /// Adds a number; returns `None` if there are too many.
    fn number(&mut self, dtype: DType, number: ElementBytes) -> Option<Link> {
        let index = self.numbers;
        *self.constants.get_mut(index)? = number;
        self.numbers += 1;
        self.reserved_number(index, dtype)
    }

    /// Adds numbers whose dtypes and values are not known yet.
    pub(crate) fn reserve_numbers(&mut self, count: usize) {
        self.numbers = count.min(MAX);
    }

    /// Gives a reserved number its dtype; returns `None` if there is no such number, or it has one.
    pub(crate) fn reserved_number(&mut self, index: usize, dtype: DType) -> Option<Link> {
        let link = Link::number(index);
        if index >= self.numbers || self.sizes[link.index()] != 0 {
            return None;
        }
        self.sizes[link.index()] = dtype.size() as u8;
        Some(link)
    }

    /// Sets the value of a reserved number, which must be an element of its dtype.
    #[inline]
    pub(crate) fn set_number(&mut self, index: usize, number: ElementBytes) {
        self.constants[index] = number;
    }

    /// Adds a function of values that have the dtype of the computation; arguments beyond its arity repeat another.
    pub(crate) fn apply(
        &mut self,
        op: ElementOp,
        dtype: DType,
        mut arguments: [Link; 3],
    ) -> Option<Link> {
        let recipe = recipe(op, dtype)?;
        let (arity, size) = (op.arity(), op.result(dtype).size());
        match recipe {
            Recipe::Loop(kernels) => self.push(kernels, arguments, arity, size),
            Recipe::Swapped(kernels) => {
                arguments.swap(0, 1);
                self.push(kernels, arguments, arity, size)
            }
            Recipe::OfTruths(kernels) => {
                for argument in &mut arguments[..arity] {
                    *argument = self.cast(*argument, dtype, DType::Bool)?;
                }
                self.push(kernels, arguments, arity, size)
            }
            Recipe::Through(wide, kernels) => {
                for argument in &mut arguments[..arity] {
                    *argument = self.cast(*argument, dtype, wide)?;
                }
                let result = self.push(kernels, arguments, arity, wide.size())?;
                self.cast(result, wide, op.result(dtype))
            }
            Recipe::First => Some(arguments[0]),
            Recipe::False => self.number(DType::Bool, ElementBytes([0; 16])),
        }
    }

    /// Adds a conversion, if one is needed.
    pub(crate) fn cast(&mut self, value: Link, from: DType, to: DType) -> Option<Link> {
        match hop(from, to) {
            Hop::Same => Some(value),
            Hop::Loop(kernels) => self.push(kernels, [value; 3], 1, to.size()),
            Hop::Through(middle) => {
                let value = self.cast(value, from, middle)?;
                self.cast(value, middle, to)
            }
        }
    }

    /// Adds a loop with results of some size; returns `None` if there are too many.
    fn push(
        &mut self,
        kernels: &'static Kernels,
        mut arguments: [Link; 3],
        arity: usize,
        size: usize,
    ) -> Option<Link> {
        let step = self.steps;
        if step == MAX || !arguments.iter().all(|argument| self.contains(*argument)) {
            return None;
        }
        let [x, y, z] = arguments.map(|argument| self.still >> argument.0 & 1 != 0);
        let mut versions = &kernels.all;
        if x | y | z {
            if let Some((constant, swapped)) = version(kernels, [x, y, z], arity) {
                versions = constant;
                if swapped {
                    arguments.swap(0, 1);
                }
            } else {
                for argument in &arguments[..arity] {
                    self.spread(*argument);
                }
            }
        }
        self.loops[step] = Loop { kernel: versions[Settings::get().level as usize], arguments };
        let result = Link::result(step);
        self.sizes[result.index()] = size as u8;
        self.widest = self.widest.max(size);
        self.steps += 1;
        Some(result)
    }

    /// Whether the chain has this value.
    fn contains(&self, value: Link) -> bool {
        let index = value.index();
        match index / MAX {
            0 => index < self.tensors,
            1 => index - MAX < self.numbers,
            _ => index - 2 * MAX < self.steps,
        }
    }

    /// Marks a value to be repeated in a register, if it is one element.
    fn spread(&mut self, value: Link) {
        let it = self.still & 1 << value.0;
        if it != 0 {
            self.spread |= it;
            self.widest = self.widest.max(self.sizes[value.index()].into());
        }
    }

    /// Whether the chain can compute `len` elements of a value: the value must be the result of the last loop, and
    /// `len` neither 0 nor so large that the work is shared among threads.
    #[inline]
    pub(crate) fn is_ready(&self, result: Link, len: usize) -> bool {
        let Some(last) = self.steps.checked_sub(1).map(Link::result) else { return false };
        let bytes = self.bytes + usize::from(self.sizes[last.index()]);
        result == last && len > 0 && len.saturating_mul(bytes) < sharing::line(Settings::get())
    }

    /// Computes `len` elements and writes them to `out`. `tensor` returns the memory of each tensor and the offset of
    /// its first element.
    ///
    /// # Safety
    ///
    /// The chain must be ready for `len` elements of the last loop's result. From the offset of a tensor on, the memory
    /// must be that of the CPU and hold `len` contiguous, aligned and initialised elements of the tensor's dtype, or one
    /// if the tensor is one element for the whole loop; likewise for `out`, which need not be initialised and must be
    /// memory of its own. Every reserved number must be set, as an element of its dtype. The caller must hold the locks
    /// of the memory, or be the only one who can reach it.
    pub(crate) unsafe fn run<'m>(
        &self,
        len: usize,
        tensor: impl Fn(usize) -> (&'m Memory, usize),
        out: (&Memory, usize),
    ) {
        let size = |value: usize| usize::from(self.sizes[value]);
        let first = |(memory, offset): (&Memory, usize), size: usize| {
            start(memory).wrapping_add(offset * size)
        };
        let loops = &self.loops[..self.steps];
        let last = 2 * MAX + loops.len() - 1;
        let mut spread = if len == 1 { 0 } else { self.spread };
        let (block_len, register_bytes) = self.blocks(len, spread);
        let mut scratch = Scratch::<ROOM>::new();
        let registers = scratch.start();
        let register = |index: usize| registers.wrapping_add(index * register_bytes);
        // Unused numbers and registers get a place too: a loop without a condition takes fewer instructions.
        let mut places = [std::ptr::null_mut::<u8>(); 4 * MAX];
        for index in 0..MAX {
            places[MAX + index] = self.constants[index].0.as_ptr().cast_mut();
            places[2 * MAX + index] = register(index);
        }
        for (index, place) in places[..self.tensors].iter_mut().enumerate() {
            *place = first(tensor(index), size(index));
        }
        let mut used = loops.len() - 1;
        while spread != 0 {
            let index = spread.trailing_zeros() as usize;
            // SAFETY: there is an element at the place, and a register has room for `block_len` elements.
            unsafe { splat(size(index), places[index], block_len, register(used)) };
            places[index] = register(used);
            used += 1;
            spread &= spread - 1;
        }
        places[last] = first(out, size(last));
        let mut left = len;
        loop {
            let len = left.min(block_len);
            for (it, to) in loops.iter().zip(&places[2 * MAX..]) {
                let arguments = it.arguments.map(|argument| places[argument.index()].cast_const());
                // SAFETY: `push` has checked that every argument is a tensor, a number or the result of an earlier
                // loop. The caller vouches for the tensors and the destination. Arguments are contiguous, or one
                // element where the loop was chosen for that. Each loop writes to a register of its own, or the last
                // one to the destination; `blocks` has laid the registers out so that all fit `ROOM`. The settings'
                // level is one that the machine has.
                unsafe { (it.kernel)(&arguments, *to, len) };
            }
            left -= len;
            if left == 0 {
                return;
            }
            for index in
                (0..self.tensors).filter(|&index| self.still >> index & 1 == 0).chain([last])
            {
                places[index] = places[index].wrapping_add(len * size(index));
            }
        }
    }

    /// Returns how many elements are computed at a time, and the bytes of a register.
    #[inline]
    fn blocks(&self, len: usize, spread: u32) -> (usize, usize) {
        let block_bytes = Settings::get().block_bytes;
        let repeated = if spread == 0 { 0 } else { spread.count_ones() as usize };
        let registers = self.steps - 1 + repeated;
        let bytes = registers * self.widest;
        let mut block_len = len;
        if len.saturating_mul(bytes) > block_bytes {
            block_len = block_bytes / bytes;
            block_len = if block_len > LINE { block_len / LINE * LINE } else { block_len.max(1) };
        }
        (block_len, (block_len * self.widest).next_multiple_of(LINE))
    }
}

/// Stands where a chain has no loop.
///
/// # Safety
///
/// No requirements: it reads and writes nothing.
unsafe fn nothing(_: &[*const u8; 3], _: *mut u8, _: usize) {}
