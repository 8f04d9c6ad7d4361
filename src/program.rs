//! Programs: what is computed for one element.
//!
//! A [`Program`] is a list of steps that compute one element of the result from the inputs. Shapes and memory are not
//! part of it; they are in the [`Plan`](crate::plan::Plan). All decisions have been made: the dtype of each step, the conversions, and the
//! value of every number. An ordinary call is a program of one or two steps, an expression one of many. Programs can be
//! printed:
//!
//! ```text
//! x0: f16, x1: f32
//! t0: f32 = cast(x0)
//! t1: f32 = add(t0, x1)
//! -> t1
//! ```

use std::fmt;

use smallvec::SmallVec;

use crate::DType;
use crate::op::ElementOp;
use crate::scalar::ElementBytes;

/// An argument of a step, or the result of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Value {
    /// An input, by its index in [`Program::inputs`].
    Input(u16),
    /// The result of an earlier step, by its index in [`Program::steps`].
    Step(u16),
}

/// The source of an input's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// Elements of this dtype in the memory of a slot of the plan and the access.
    Memory(DType, usize),
    /// A number, which is the same for all elements, as an element of this dtype.
    Number(DType, ElementBytes),
}

/// The operation of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Action {
    /// Converts its argument, as [`Tensor::cast`](crate::Tensor::cast) does, to another dtype.
    Cast,
    /// Reads the bits of its argument as another dtype of the same size.
    Bitcast,
    /// Applies an element function.
    Apply(ElementOp),
}

/// One step of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Step {
    pub(crate) action: Action,
    /// The dtype of the arguments, except for the condition of a `Select`, which is bool.
    pub(crate) dtype: DType,
    /// The dtype of the result.
    pub(crate) result: DType,
    /// The arguments. Those beyond the arity repeat the first.
    arguments: [Value; 3],
}

impl Step {
    /// Returns the number of arguments.
    pub(crate) const fn arity(&self) -> usize {
        match self.action {
            Action::Cast | Action::Bitcast => 1,
            Action::Apply(op) => op.arity(),
        }
    }

    /// Returns the arguments.
    pub(crate) fn arguments(&self) -> &[Value] {
        &self.arguments[..self.arity()]
    }

    /// Returns the same step of other values of the same dtypes.
    pub(crate) fn with_arguments(&self, value: impl Fn(Value) -> Value) -> Step {
        Step { arguments: self.arguments.map(value), ..*self }
    }

    /// Returns the dtype of an argument.
    pub(crate) fn argument_dtype(&self, index: usize) -> DType {
        match self.action {
            Action::Apply(ElementOp::Select) if index == 0 => DType::Bool,
            _ => self.dtype,
        }
    }
}

/// The steps that compute a result from inputs. The result has the dtype of the destination, or that of the terms of a
/// [`Reduction`](crate::request::Reduction). A program without steps copies an input, or fills with a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    inputs: SmallVec<[Input; 4]>,
    steps: SmallVec<[Step; 4]>,
    result: Value,
    /// The slot of the next input in memory; slot 0 is the destination.
    next_slot: usize,
}

impl Program {
    /// Creates a program without inputs and steps. It is valid once an input has been added.
    pub(crate) fn new() -> Program {
        Program {
            inputs: SmallVec::new(),
            steps: SmallVec::new(),
            result: Value::Input(0),
            next_slot: 1,
        }
    }

    /// Adds an input in memory, in the next slot.
    pub(crate) fn memory(&mut self, dtype: DType) -> Value {
        let input = Input::Memory(dtype, self.next_slot);
        self.next_slot += 1;
        self.input(input)
    }

    /// Adds a number as an input.
    pub(crate) fn number(&mut self, dtype: DType, bytes: ElementBytes) -> Value {
        self.input(Input::Number(dtype, bytes))
    }

    fn input(&mut self, input: Input) -> Value {
        debug_assert!(self.inputs.len() < usize::from(u16::MAX), "callers limit the inputs");
        self.inputs.push(input);
        self.result = Value::Input(self.inputs.len() as u16 - 1);
        self.result
    }

    /// Adds a conversion unless the value already has the dtype.
    pub(crate) fn cast(&mut self, value: Value, to: DType) -> Value {
        let dtype = self.dtype(value);
        if dtype == to {
            self.result = value;
            return value;
        }
        self.step(Action::Cast, dtype, to, [value; 3])
    }

    /// Adds a step that reads a value as a dtype of the same size.
    pub(crate) fn bitcast(&mut self, value: Value, to: DType) -> Value {
        let dtype = self.dtype(value);
        debug_assert_eq!(dtype.size(), to.size());
        self.step(Action::Bitcast, dtype, to, [value; 3])
    }

    /// Adds a step that applies a function to values that already have the dtype of the computation. Floats of 8 bits are
    /// converted to a wider one for it, and the result is rounded.
    pub(crate) fn apply<const N: usize>(&mut self, op: ElementOp, arguments: [Value; N]) -> Value {
        debug_assert_eq!(N, op.arity());
        let dtype = self.dtype(arguments[N - 1]);
        let wide = computed_in(op, dtype);
        if wide != dtype {
            let arguments = arguments.map(|argument| self.cast(argument, wide));
            let result = self.apply(op, arguments);
            let is_wide = self.dtype(result) == wide;
            return if is_wide { self.cast(result, dtype) } else { result };
        }
        let mut all = [arguments[0]; 3];
        all[..N].copy_from_slice(&arguments);
        let step = self.step(Action::Apply(op), dtype, op.result(dtype), all);
        debug_assert!((0..N).all(
            |k| self.dtype(arguments[k]) == self.steps[self.steps.len() - 1].argument_dtype(k)
        ));
        step
    }

    fn step(
        &mut self,
        action: Action,
        dtype: DType,
        result: DType,
        arguments: [Value; 3],
    ) -> Value {
        self.add(Step { action, dtype, result, arguments })
    }

    /// Adds a step whose arguments are values of this program.
    pub(crate) fn add(&mut self, step: Step) -> Value {
        debug_assert!(self.steps.len() < usize::from(u16::MAX), "callers limit the steps");
        self.steps.push(step);
        self.result = Value::Step(self.steps.len() as u16 - 1);
        self.result
    }

    /// Adds steps that compare `u64` with a signed integer exactly, although no integer dtype holds both: a negative
    /// number is less than every `u64`, and any other number is compared as `u64`.
    pub(crate) fn compare_integers(&mut self, op: ElementOp, lhs: Value, rhs: Value) -> Value {
        use ElementOp::{GreaterEqual, GreaterThan, LogicalAnd, LogicalOr, NotEqual};
        let signed_is_left = self.dtype(lhs).is_signed_int();
        let signed = if signed_is_left { lhs } else { rhs };
        let negative = self.apply(ElementOp::Signbit, [signed]);
        let wrapped = self.cast(signed, DType::U64);
        let (lhs, rhs) = if signed_is_left { (wrapped, rhs) } else { (lhs, wrapped) };
        let compared = self.apply(op, [lhs, rhs]);
        // If the signed operand is negative, these comparisons are true and the others are false.
        let is_greater = matches!(op, GreaterThan | GreaterEqual);
        let is_less = matches!(op, ElementOp::LessThan | ElementOp::LessEqual);
        if op == NotEqual || (is_less && signed_is_left) || (is_greater && !signed_is_left) {
            return self.apply(LogicalOr, [negative, compared]);
        }
        let natural = self.apply(ElementOp::LogicalNot, [negative]);
        self.apply(LogicalAnd, [natural, compared])
    }

    /// Returns the place of a value in a list of all inputs and then all steps.
    pub(crate) fn place(&self, value: Value) -> usize {
        match value {
            Value::Input(index) => usize::from(index),
            Value::Step(index) => self.inputs.len() + usize::from(index),
        }
    }

    /// Returns for all inputs and then all steps whether a value is computed from them, itself included.
    pub(crate) fn needed_for(&self, value: Value) -> Vec<bool> {
        let mut needed = vec![false; self.inputs.len() + self.steps.len()];
        needed[self.place(value)] = true;
        for (index, step) in self.steps.iter().enumerate().rev() {
            if needed[self.inputs.len() + index] {
                step.arguments().iter().for_each(|argument| needed[self.place(*argument)] = true);
            }
        }
        needed
    }

    /// Returns the dtype of a value.
    pub(crate) fn dtype(&self, value: Value) -> DType {
        match value {
            Value::Input(index) => self.inputs[usize::from(index)].dtype(),
            Value::Step(index) => self.steps[usize::from(index)].result,
        }
    }

    pub(crate) fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// Gives a number another value of its dtype. An input in memory stays as it is.
    #[inline]
    pub(crate) fn set_number(&mut self, input: u16, value: ElementBytes) {
        if let Some(Input::Number(_, number)) = self.inputs.get_mut(usize::from(input)) {
            *number = value;
        }
    }

    /// Returns the size of an element of each input in memory, in the order of the slots.
    pub(crate) fn input_sizes(&self) -> impl Iterator<Item = usize> {
        self.inputs.iter().filter_map(|input| match input {
            Input::Memory(dtype, _) => Some(dtype.size()),
            Input::Number(..) => None,
        })
    }

    /// Returns the steps, each after those whose results it takes.
    pub(crate) fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns the result of the program: the value added last, unless [`finish`](Program::finish) has chosen another.
    pub(crate) fn result(&self) -> Value {
        self.result
    }

    /// Chooses the result of the program.
    pub(crate) fn finish(&mut self, result: Value) {
        self.result = result;
    }

    /// Chooses the terms of a reduction as the result of the program, in the dtype in which they are reduced.
    pub(crate) fn finish_terms(&mut self, terms: Value) {
        self.finish(terms);
        self.cast(terms, self.dtype(terms).reduced_as());
    }

    /// Returns the input in a slot.
    pub(crate) fn input_in_slot(&self, slot: usize) -> Option<Value> {
        let is_there = |input: &Input| matches!(input, Input::Memory(_, other) if *other == slot);
        self.inputs.iter().position(is_there).map(|index| Value::Input(index as u16))
    }

    /// Returns the number of slots that the program uses: one for the destination, and one per input in memory.
    pub(crate) fn slots(&self) -> usize {
        self.next_slot
    }
}

impl Input {
    pub(crate) const fn dtype(&self) -> DType {
        match self {
            Input::Memory(dtype, _) | Input::Number(dtype, _) => *dtype,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Input(index) => write!(f, "x{index}"),
            Value::Step(index) => write!(f, "t{index}"),
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, input) in self.inputs.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            let number = if matches!(input, Input::Number(..)) { " number" } else { "" };
            write!(f, "{separator}x{index}: {}{number}", input.dtype())?;
        }
        writeln!(f)?;
        for (index, step) in self.steps.iter().enumerate() {
            let name = match step.action {
                Action::Cast => "cast",
                Action::Bitcast => "bitcast",
                Action::Apply(op) => op.name(),
            };
            write!(f, "t{index}: {} = {name}(", step.result)?;
            for (place, argument) in step.arguments().iter().enumerate() {
                write!(f, "{}{argument}", if place == 0 { "" } else { ", " })?;
            }
            writeln!(f, ")")?;
        }
        write!(f, "-> {}", self.result)
    }
}

/// Returns the dtype in which the backends apply a function to elements of a dtype. Floats of 8 bits are computed in `f32`,
/// except that the sum of a product may need more bits, and that some functions read and write bits.
pub(crate) const fn computed_in(op: ElementOp, dtype: DType) -> DType {
    use ElementOp::{Abs, Copysign, Fma, Negative, NextAfter, Select, Signbit};
    match op {
        _ if !dtype.is_float8() => dtype,
        Abs | Negative | Signbit | Copysign | NextAfter | Select => dtype,
        Fma => DType::F64,
        _ => DType::F32,
    }
}

/// Returns the dtype in which terms of a dtype are combined: their own if the operation rounds and overflows nothing, and
/// else 64 bits of the same kind. Integers wrap, so that signed ones are combined as unsigned ones.
pub(crate) const fn total_dtype(combine: ElementOp, terms: DType) -> DType {
    if !matches!(combine, ElementOp::Add | ElementOp::Multiply) {
        terms
    } else if terms.is_complex() {
        DType::C128
    } else if terms.is_float() {
        DType::F64
    } else {
        DType::U64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scalar;

    #[test]
    fn programs_print_their_steps() {
        let mut program = Program::new();
        let (x, y) = (program.memory(DType::F16), program.memory(DType::F32));
        let x = program.cast(x, DType::F32);
        program.apply(ElementOp::Add, [x, y]);
        let text = "x0: f16, x1: f32\nt0: f32 = cast(x0)\nt1: f32 = add(t0, x1)\n-> t1";
        assert_eq!(program.to_string(), text);
        assert_eq!(program.slots(), 3);
    }

    #[test]
    fn conversions_to_the_same_dtype_are_left_out() {
        let mut program = Program::new();
        let x = program.memory(DType::I8);
        assert_eq!(program.cast(x, DType::I8), x);
        assert!(program.steps().is_empty());
    }

    /// Evaluates a program of integers for one element.
    fn evaluate(program: &Program, inputs: [i128; 2]) -> i128 {
        let mut values = Vec::new();
        let wrap = |value: i128, dtype: DType| match dtype {
            DType::U64 => i128::from(value as u64),
            _ => value,
        };
        for step in program.steps() {
            let argument = |k: usize| match step.arguments()[k] {
                Value::Input(index) => inputs[usize::from(index)],
                Value::Step(index) => values[usize::from(index)],
            };
            values.push(match step.action {
                Action::Cast => wrap(argument(0), step.result),
                Action::Bitcast => panic!("no comparison reads bits"),
                Action::Apply(ElementOp::Signbit) => (argument(0) < 0).into(),
                Action::Apply(ElementOp::LogicalNot) => (argument(0) == 0).into(),
                Action::Apply(ElementOp::LogicalAnd) => argument(0) & argument(1),
                Action::Apply(ElementOp::LogicalOr) => argument(0) | argument(1),
                Action::Apply(op) => compare(op, argument(0), argument(1)).into(),
            });
        }
        values[values.len() - 1]
    }

    fn compare(op: ElementOp, x: i128, y: i128) -> bool {
        match op {
            ElementOp::Equal => x == y,
            ElementOp::NotEqual => x != y,
            ElementOp::LessThan => x < y,
            ElementOp::LessEqual => x <= y,
            ElementOp::GreaterThan => x > y,
            ElementOp::GreaterEqual => x >= y,
            other => panic!("{other:?} is no comparison"),
        }
    }

    #[test]
    fn integers_without_a_common_dtype_compare_exactly() {
        use ElementOp::{Equal, GreaterEqual, GreaterThan, LessEqual, LessThan, NotEqual};
        let signed = [i64::MIN, -2, -1, 0, 1, i64::MAX].map(i128::from);
        let unsigned = [0, 1, 1 << 63, u64::MAX - 1, u64::MAX].map(i128::from);
        for op in [Equal, NotEqual, LessThan, LessEqual, GreaterThan, GreaterEqual] {
            for (s, u) in signed.iter().flat_map(|&s| unsigned.map(|u| (s, u))) {
                for (dtypes, inputs) in
                    [([DType::I64, DType::U64], [s, u]), ([DType::U64, DType::I64], [u, s])]
                {
                    let mut program = Program::new();
                    let [x, y] = dtypes.map(|dtype| program.memory(dtype));
                    program.compare_integers(op, x, y);
                    let expected = compare(op, inputs[0], inputs[1]).into();
                    assert_eq!(evaluate(&program, inputs), expected, "{op:?} {inputs:?}");
                }
            }
        }
    }

    #[test]
    fn numbers_are_inputs_without_a_slot() {
        let mut program = Program::new();
        let x = program.memory(DType::I32);
        let two = program.number(DType::I32, Scalar::Int(2).wrap_to_element(DType::I32));
        program.apply(ElementOp::Multiply, [x, two]);
        assert_eq!(program.slots(), 2);
        assert!(program.to_string().starts_with("x0: i32, x1: i32 number\n"));
    }
}
