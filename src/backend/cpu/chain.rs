//! A few steps over elements that lie side by side: their loops one after another, from register to register.
//!
//! `walk` would come to the same loops; but on few elements, to translate a program to a script and to cut loops that have
//! nothing to cut would take longer than the work.

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
use crate::program::{Action, Input, Request, Value};
use crate::scalar::ElementBytes;
use crate::storage::Access;

/// The most inputs, and the most loops.
const MAX: usize = 8;

/// What the places of registers are multiples of, for the sake of vectors.
const LINE: usize = 64;

/// Room for all registers, each of which may end with a part of a line.
const ROOM: usize = MAX_BLOCK_BYTES + 2 * MAX * LINE;

/// Loops that are put together one by one, and then run.
pub(crate) struct Chain {
    settings: Settings,
    inputs: SmallVec<[Input; MAX]>,
    loops: SmallVec<[Loop; MAX]>,
    /// Which inputs are one element for all.
    still: u32,
    /// Which of these have to be repeated, since a loop wants them side by side.
    spread: u32,
    /// The bytes of memory that an element takes.
    bytes: usize,
    /// The size of the largest element that may have to be in a register.
    widest: usize,
}

/// A value: an input, or from [`MAX`] on the result of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link(u8);

struct Loop {
    kernel: Kernel,
    arguments: [Link; 3],
    /// The size of a result.
    size: usize,
}

/// Runs a request if it is so simple, and says whether it was. If not, nothing has been written.
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
    chain.run(plan.len, slot, slot(OUT));
    true
}

impl Chain {
    #[inline]
    pub(crate) fn new() -> Chain {
        Chain {
            settings: Settings::get(),
            inputs: SmallVec::new(),
            loops: SmallVec::new(),
            still: 0,
            spread: 0,
            bytes: 0,
            widest: 0,
        }
    }

    /// Adds all of a program; none if it is too long.
    fn program(&mut self, request: &Request<'_>, is_still: impl Fn(usize) -> bool) -> Option<Link> {
        let program = request.program;
        let mut links: SmallVec<[Link; 2 * MAX]> = SmallVec::new();
        for input in program.inputs() {
            let link = self.input(*input)?;
            if let Input::Memory(_, slot) = input
                && is_still(*slot)
            {
                self.still |= 1 << link.0;
            }
            links.push(link);
        }
        let inputs = links.len();
        let link = |value: Value, links: &[Link]| match value {
            Value::Input(index) => links[usize::from(index)],
            Value::Step(index) => links[inputs + usize::from(index)],
        };
        for step in program.steps() {
            let mut arguments = [Link(0); 3];
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

    /// Adds an input that lies side by side, or a number; none if there are too many.
    #[inline]
    pub(crate) fn input(&mut self, input: Input) -> Option<Link> {
        let index = self.inputs.len();
        if index == MAX {
            return None;
        }
        match input {
            Input::Number(..) => self.still |= 1 << index,
            Input::Memory(dtype, _) => self.bytes += dtype.size(),
        }
        self.inputs.push(input);
        Some(Link(index as u8))
    }

    /// Adds a function of values that have the dtype of the computation already; arguments beyond its arity mean nothing.
    #[inline]
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
            Recipe::False => self.input(Input::Number(DType::Bool, ElementBytes([0; 16]))),
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

    fn push(
        &mut self,
        kernels: &'static Kernels,
        mut arguments: [Link; 3],
        arity: usize,
        size: usize,
    ) -> Option<Link> {
        let index = self.loops.len();
        if index == MAX {
            return None;
        }
        let mut versions = &kernels.all;
        let mut still = [false; 3];
        for place in 0..arity {
            still[place] = self.still >> arguments[place].0 & 1 != 0;
        }
        if still != [false; 3] {
            if let Some((constant, swapped)) = version(kernels, still, arity) {
                versions = constant;
                if swapped {
                    arguments.swap(0, 1);
                }
            } else {
                for place in (0..arity).filter(|&place| still[place]) {
                    let input = arguments[place].0;
                    self.spread |= 1 << input;
                    self.widest = self.widest.max(self.inputs[usize::from(input)].dtype().size());
                }
            }
        }
        let kernel = versions[self.settings.level as usize];
        self.widest = self.widest.max(size);
        self.loops.push(Loop { kernel, arguments, size });
        Some(Link((MAX + index) as u8))
    }

    /// Whether the chain can run over so many elements: a value is the result of the last loop, and there is something to
    /// do, but not so much that it is shared.
    pub(crate) fn is_ready(&self, result: Link, len: usize) -> bool {
        let Some(last) = self.loops.last() else { return false };
        usize::from(result.0) == MAX + self.loops.len() - 1
            && len > 0
            && len.saturating_mul(self.bytes + last.size) < sharing::line(&self.settings)
    }

    /// Runs the chain, which must be ready for so many elements. Those of each input lie side by side in the memory of its
    /// slot from an offset on, or it stands still there, and they must be of its dtype; so does the result. The
    /// destination must be another memory than those. The caller holds their locks, or is the only one who knows them.
    pub(crate) fn run<'m>(
        &self,
        len: usize,
        slot: impl Fn(usize) -> (&'m Memory, usize),
        out: (&Memory, usize),
    ) {
        let Some((last, others)) = self.loops.split_last() else { return };
        let place = |(memory, offset): (&Memory, usize), size: usize| {
            start(memory).wrapping_add(offset * size)
        };
        let spread = if len == 1 { 0 } else { self.spread };
        let (block_len, size) = self.blocks(len, spread);
        let mut scratch = Scratch::<ROOM>::new();
        let mut next = scratch.start();
        let mut register = || {
            let register = next;
            next = next.wrapping_add(size);
            register.cast_const()
        };
        let mut places = [std::ptr::null::<u8>(); 2 * MAX];
        for (index, input) in self.inputs.iter().enumerate() {
            let is_in = |set: u32| set >> index & 1 != 0;
            let size = input.dtype().size();
            let first = match input {
                Input::Number(_, number) => number.0.as_ptr(),
                Input::Memory(_, input) => place(slot(*input), size).cast_const(),
            };
            places[index] = first;
            if is_in(spread) {
                places[index] = register();
                // SAFETY: there is an element at the place, and a register holds as many as are computed at a time.
                unsafe { splat(size, first, block_len, places[index].cast_mut()) };
            }
        }
        for place in &mut places[MAX..MAX + others.len()] {
            *place = register();
        }
        let mut target = place(out, last.size);
        let mut left = len;
        loop {
            let len = left.min(block_len);
            for (index, it) in self.loops.iter().enumerate() {
                let arguments = it.arguments.map(|argument| places[usize::from(argument.0)]);
                let is_last = index == others.len();
                let to = if is_last { target } else { places[MAX + index].cast_mut() };
                // SAFETY: tensors lie inside their storages, and were written in full before they were shared; the caller
                // vouches for the rest of what is read and written. Arguments lie side by side, or stand still where the
                // loop was chosen for it; loops have the results of earlier ones for arguments, and leave their own
                // in a register that nobody else has, or at the destination.
                unsafe { (it.kernel)(&arguments, to, len) };
            }
            left -= len;
            if left == 0 {
                return;
            }
            target = target.wrapping_add(len * last.size);
            for (index, input) in self.inputs.iter().enumerate() {
                if self.still >> index & 1 == 0 {
                    places[index] = places[index].wrapping_add(len * input.dtype().size());
                }
            }
        }
    }

    /// How many elements are computed at a time, and how many bytes a register has then.
    fn blocks(&self, len: usize, spread: u32) -> (usize, usize) {
        let widest = self.widest;
        let registers = self.loops.len() - 1 + spread.count_ones() as usize;
        let mut block_len = len;
        if len.saturating_mul(registers * widest) > self.settings.block_bytes {
            block_len = self.settings.block_bytes / (registers * widest);
            block_len = if block_len > LINE { block_len / LINE * LINE } else { block_len.max(1) };
        }
        let bytes = if registers == 0 { 0 } else { block_len * widest };
        (block_len, bytes.next_multiple_of(LINE))
    }
}
