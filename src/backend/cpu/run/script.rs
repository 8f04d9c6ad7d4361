//! Translates a program to instructions: which loop runs on which values, and which registers hold them.
//!
//! A register is a piece of a block of memory that stays in the L1 cache. It holds as many elements as are
//! computed at a time, or one if the value is the same for all of them. Values that are contiguous in memory are read
//! from there, others are copied into a register.

mod registers;

use smallvec::SmallVec;

use crate::DType;
use crate::backend::cpu::loops::convert::route;
use crate::backend::cpu::loops::table::{Recipe, recipe};
use crate::backend::cpu::loops::vector::{Kernel, Kernels, Versions};
use crate::backend::cpu::settings::Level;
use crate::program::{Action, Input, Program, Step, Value};

/// The access pattern of a slot in a block: along the innermost loop, or along the two loops of a rectangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// Contiguous.
    Dense,
    /// The same element everywhere.
    Still,
    /// The same row in every row of a rectangle.
    Row,
    /// Any other pattern.
    Strided,
}

/// Where an instruction finds elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// In the memory of a slot.
    Slot(u16),
    /// In a register.
    Register(u32),
    /// A number, by its index among the inputs of the program.
    Number(u16),
    /// The number 0 of every dtype.
    Zero,
}

/// When an instruction runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Once: it depends on numbers alone.
    Once,
    /// At every iteration of an outer loop: it depends on what is constant along the inner one.
    Span,
    /// Likewise, but for all elements of a block: it depends on what is the same in every row, too.
    Rows,
    /// For every block.
    Block,
}

impl Phase {
    /// Whether there is a value for every element of a block; in earlier phases, there is one for all.
    fn has_blocks(self) -> bool {
        self >= Phase::Rows
    }
}

/// What an instruction does.
#[derive(Clone, Copy)]
pub(crate) enum Work {
    /// Runs a loop.
    Apply(Kernel, [Location; 3]),
    /// Copies elements of a slot.
    Gather(u16),
    /// Repeats one element.
    Splat(Location),
}

/// Where an instruction writes its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    Register(u32),
    Destination,
}

#[derive(Clone, Copy)]
pub(crate) struct Instruction {
    pub(crate) work: Work,
    pub(crate) output: Output,
    /// The size of an element of the result in bytes.
    pub(crate) size: usize,
    pub(crate) phase: Phase,
}

/// The instructions of a program, in an order in which they can run.
pub(crate) struct Script {
    instructions: SmallVec<[Instruction; 4]>,
    /// Where the instructions of the later phases start.
    starts: [usize; 3],
    /// Where the results are, unless the last instruction writes them to the destination.
    pub(crate) result: Option<Location>,
    pub(crate) mask: Option<Location>,
    pub(crate) registers: usize,
    /// The size of the largest element in a register.
    pub(crate) widest: usize,
    /// The instructions of the loops.
    pub(crate) level: Level,
}

/// What a script needs to know of the memory.
pub(crate) struct SlotUse<'a> {
    /// The access pattern of each slot.
    pub(crate) patterns: &'a [Pattern],
    /// Whether a slot is the destination itself.
    pub(crate) is_written: &'a [bool],
    /// The slot of a mask.
    pub(crate) mask: Option<usize>,
    /// Whether the last loop may write to the destination.
    pub(crate) writes_directly: bool,
}

impl Script {
    /// Translates a program; its result is converted to another dtype if one is given. Returns `None` if a step is not
    /// defined for its dtype.
    pub(crate) fn new(
        program: &Program,
        convert_to: Option<DType>,
        memory: &SlotUse<'_>,
        level: Level,
    ) -> Option<Script> {
        let mut builder = Builder::new(memory, level);
        for (index, input) in program.inputs().iter().enumerate() {
            builder.input(index as u16, input);
        }
        let mut steps = SmallVec::<[usize; 8]>::new();
        for step in program.steps() {
            let place = |&value: &Value| match value {
                Value::Input(index) => usize::from(index),
                Value::Step(index) => steps[usize::from(index)],
            };
            let arguments: SmallVec<[usize; 3]> = step.arguments().iter().map(place).collect();
            let result = builder.step(step, &arguments)?;
            steps.push(result);
        }
        let mut result = match program.result() {
            Value::Input(index) => usize::from(index),
            Value::Step(index) => steps[usize::from(index)],
        };
        if let Some(dtype) = convert_to {
            result = builder.cast(result, program.dtype(program.result()), dtype);
        }
        let mask = memory.mask.map(|slot| builder.memory(slot, 1));
        Some(builder.finish(result, mask))
    }

    /// The number of instructions.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.instructions.len()
    }

    /// Returns the slot that the result is in, if it is contiguous there and there is nothing to compute.
    pub(crate) fn slot(&self) -> Option<usize> {
        match self.result {
            Some(Location::Slot(slot)) if self.instructions.is_empty() => Some(usize::from(slot)),
            _ => None,
        }
    }

    /// Whether there are instructions that do not run for every block.
    #[inline]
    pub(crate) fn has_prelude(&self) -> bool {
        self.starts[2] > 0
    }

    /// The instructions of a phase.
    #[inline]
    pub(crate) fn phase(&self, phase: Phase) -> &[Instruction] {
        match phase {
            Phase::Once => &self.instructions[..self.starts[0]],
            Phase::Span => &self.instructions[self.starts[0]..self.starts[1]],
            Phase::Rows => &self.instructions[self.starts[1]..self.starts[2]],
            Phase::Block => &self.instructions[self.starts[2]..],
        }
    }

    /// Returns how many elements every register can hold if all registers together take `bytes`; unlimited without
    /// registers.
    pub(crate) fn block_len(&self, bytes: usize) -> usize {
        if self.registers == 0 {
            return usize::MAX;
        }
        // Registers start at multiples of the widest element and of a vector, as far as there is room.
        let len = bytes / (self.registers * self.widest.max(1));
        let unit = if len >= 64 { 64 } else { 16 };
        (len / unit * unit).max(1)
    }

    /// Returns how many elements, at most `most`, every register holds in `bytes` bytes, and the bytes from one register
    /// to the next. All registers together fit if each holds several elements; with one element each, they may not.
    pub(crate) fn registers_in(&self, bytes: usize, most: usize) -> (usize, usize) {
        let len = self.block_len(bytes).min(most);
        // Every register is aligned to a vector and to any element.
        (len, len.saturating_mul(self.widest).next_multiple_of(16))
    }
}

/// A value while the script is built.
#[derive(Clone, Copy)]
struct Known {
    source: Location,
    size: usize,
    phase: Phase,
    /// Whether it must be copied to a register before use.
    is_strided: bool,
    /// The register in which one element has been repeated.
    spread: Option<u32>,
}

struct Builder<'a> {
    memory: &'a SlotUse<'a>,
    level: Level,
    values: SmallVec<[Known; 8]>,
    instructions: SmallVec<[Instruction; 4]>,
    /// Registers, one per result, before they are shared: at most some dozens per step, of which a program has fewer
    /// than 2^16.
    registers: u32,
}

impl<'a> Builder<'a> {
    fn new(memory: &'a SlotUse<'a>, level: Level) -> Builder<'a> {
        Builder {
            memory,
            level,
            values: SmallVec::new(),
            instructions: SmallVec::new(),
            registers: 0,
        }
    }

    fn push(&mut self, source: Location, size: usize, phase: Phase) -> usize {
        self.values.push(Known { source, size, phase, is_strided: false, spread: None });
        self.values.len() - 1
    }

    fn input(&mut self, index: u16, input: &Input) -> usize {
        match input {
            Input::Memory(dtype, slot) => self.memory(*slot, dtype.size()),
            Input::Number(dtype, _) => {
                self.push(Location::Number(index), dtype.size(), Phase::Once)
            }
        }
    }

    fn memory(&mut self, slot: usize, size: usize) -> usize {
        let pattern = self.memory.patterns[slot];
        let phase = match pattern {
            Pattern::Still => Phase::Span,
            Pattern::Row => Phase::Rows,
            Pattern::Dense | Pattern::Strided => Phase::Block,
        };
        let value = self.push(Location::Slot(slot as u16), size, phase);
        self.values[value].is_strided = matches!(pattern, Pattern::Row | Pattern::Strided);
        value
    }

    /// Adds the instructions of a step, and returns the place of its result.
    fn step(&mut self, step: &Step, arguments: &[usize]) -> Option<usize> {
        let op = match step.action {
            Action::Cast => return Some(self.cast(arguments[0], step.dtype, step.result)),
            Action::Bitcast => return Some(arguments[0]),
            Action::Apply(op) => op,
        };
        let size = step.result.size();
        Some(match recipe(op, step.dtype)? {
            Recipe::Loop(kernels) => self.apply(kernels, arguments, size),
            Recipe::Swapped(kernels) => self.apply(kernels, &[arguments[1], arguments[0]], size),
            Recipe::OfTruths(kernels) => {
                let truth = |&value: &usize| self.cast(value, step.dtype, DType::Bool);
                let truths: SmallVec<[usize; 3]> = arguments.iter().map(truth).collect();
                self.apply(kernels, &truths, size)
            }
            Recipe::Through(dtype, kernels) => {
                let widened = |&value: &usize| self.cast(value, step.dtype, dtype);
                let widened: SmallVec<[usize; 3]> = arguments.iter().map(widened).collect();
                let result = self.apply(kernels, &widened, dtype.size());
                self.cast(result, dtype, step.result)
            }
            Recipe::First => arguments[0],
            Recipe::False => self.push(Location::Zero, size, Phase::Once),
        })
    }

    fn cast(&mut self, value: usize, from: DType, to: DType) -> usize {
        let next = |value, (kernels, dtype): (&Kernels, DType)| {
            self.apply(kernels, &[value], dtype.size())
        };
        route(from, to).into_iter().fold(value, next)
    }

    fn emit(&mut self, work: Work, size: usize, phase: Phase) -> u32 {
        let register = self.registers;
        self.registers += 1;
        self.instructions.push(Instruction {
            work,
            output: Output::Register(register),
            size,
            phase,
        });
        register
    }

    fn apply(&mut self, kernels: &Kernels, arguments: &[usize], size: usize) -> usize {
        let phase = arguments.iter().map(|&value| self.values[value].phase).max();
        let phase = phase.unwrap_or(Phase::Once);
        let (versions, sources) = if phase.has_blocks() {
            self.over_blocks(kernels, arguments)
        } else {
            // The value is one element for all.
            let sources = arguments.iter().map(|&value| self.values[value].source).collect();
            (&kernels.all, sources)
        };
        // Arguments beyond the arity repeat the first, as those of a step do.
        let argument = |index: usize| sources.get(index).unwrap_or(&sources[0]);
        let sources = [0, 1, 2].map(|index| *argument(index));
        let register = self.emit(Work::Apply(versions[self.level as usize], sources), size, phase);
        self.push(Location::Register(register), size, phase)
    }

    /// Chooses the version of a loop by which arguments are one element, and makes the others contiguous.
    fn over_blocks<'k>(
        &mut self,
        kernels: &'k Kernels,
        arguments: &[usize],
    ) -> (&'k Versions, SmallVec<[Location; 3]>) {
        let still = |value: usize| !self.values[value].phase.has_blocks();
        if let &[x, y] = arguments {
            let (x_is_still, y_is_still) = (still(x), still(y));
            if let Some(versions) = kernels.constant_rhs.as_ref() {
                if y_is_still {
                    let sources = [self.side_by_side(x), self.values[y].source];
                    return (versions, SmallVec::from_slice(&sources));
                }
                if x_is_still && kernels.commutes {
                    let sources = [self.side_by_side(y), self.values[x].source];
                    return (versions, SmallVec::from_slice(&sources));
                }
            }
            if x_is_still && let Some(versions) = kernels.constant_lhs.as_ref() {
                let sources = [self.values[x].source, self.side_by_side(y)];
                return (versions, SmallVec::from_slice(&sources));
            }
        }
        (&kernels.all, arguments.iter().map(|&value| self.side_by_side(value)).collect())
    }

    /// Returns where a value's elements are contiguous.
    fn side_by_side(&mut self, value: usize) -> Location {
        let known = self.values[value];
        if !known.phase.has_blocks() {
            let register = known
                .spread
                .unwrap_or_else(|| self.emit(Work::Splat(known.source), known.size, known.phase));
            self.values[value].spread = Some(register);
            return Location::Register(register);
        }
        if let (true, Location::Slot(slot)) = (known.is_strided, known.source) {
            let register = self.emit(Work::Gather(slot), known.size, known.phase);
            self.values[value].source = Location::Register(register);
            self.values[value].is_strided = false;
        }
        self.values[value].source
    }

    fn finish(mut self, result: usize, mask: Option<usize>) -> Script {
        let mut mask = mask.map(|mask| self.side_by_side(mask));
        let mut result = Some(self.side_by_side(result));
        self.instructions.sort_by_key(|instruction| instruction.phase);
        let start =
            |phase| self.instructions.partition_point(|instruction| instruction.phase < phase);
        let starts = [start(Phase::Span), start(Phase::Rows), start(Phase::Block)];
        let is_written = self.memory.is_written;
        let written = |source: &Location| matches!(source, Location::Slot(slot) if is_written[usize::from(*slot)]);
        if self.memory.writes_directly
            && let Some(last) = self.instructions.last_mut()
            && let (Work::Apply(_, sources), Output::Register(register), Phase::Block) =
                (last.work, last.output, last.phase)
            && result == Some(Location::Register(register))
            && !sources.iter().any(written)
        {
            last.output = Output::Destination;
            result = None;
        }
        let registers = self.share_registers(&mut result, &mut mask);
        let in_register = |instruction: &&Instruction| instruction.output != Output::Destination;
        let sizes =
            self.instructions.iter().filter(in_register).map(|instruction| instruction.size);
        let widest = sizes.max().unwrap_or(0);
        let level = self.level;
        Script { instructions: self.instructions, starts, result, mask, registers, widest, level }
    }
}
