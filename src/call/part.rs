//! Parts of a computation: a value with the inputs and steps that it is computed from.

use std::collections::HashMap;

use super::{Call, Elements};
use crate::operand::InMemory;
use crate::program::{Input, Step, Value};
use crate::{Device, Result, Tensor};

impl<'a> Call<'a> {
    /// Returns a computation of one value alone, without inputs and steps that it does not need.
    pub(crate) fn part(&self, elements: Elements<'a>) -> Result<(Call<'a>, Elements<'a>)> {
        let program = &self.program;
        let needed = program.needed_for(elements.value);
        let (inputs, steps) = needed.split_at(program.inputs().len());
        let mut part = Call::new();
        // What is not needed has a place, but is not referred to.
        let nothing = elements.value;
        let mut values = Replaced::default();
        for (input, &is_needed) in program.inputs().iter().zip(inputs) {
            values.inputs.push(match input {
                _ if !is_needed => nothing,
                Input::Number(dtype, bytes) => part.number(*dtype, *bytes),
                Input::Memory(_, slot) => part.source(self.inputs[slot - 1]).value,
            });
        }
        for (step, &is_needed) in program.steps().iter().zip(steps) {
            values.steps.push(match is_needed {
                false => nothing,
                true => part.program.add(values.moved(step)),
            });
        }
        let value = values.of(elements.value);
        part.program.finish(value);
        let shape = part.add_shape(self.shape(elements.shape));
        Ok((part, Elements { value, shape, ..elements }))
    }

    /// Returns the tensor that a value is read from, if it is one.
    pub(crate) fn memory(&self, elements: Elements<'a>) -> Option<&'a Tensor> {
        let place = self.program.place(elements.value);
        match self.program.inputs().get(place)? {
            Input::Memory(_, slot) => match self.inputs[slot - 1] {
                InMemory::Tensor(tensor) => Some(tensor),
                #[cfg(feature = "ndarray")]
                InMemory::Array(_) => None,
            },
            Input::Number(..) => None,
        }
    }

    /// Returns how many steps a value is computed in.
    pub(crate) fn steps_for(&self, elements: Elements<'a>) -> usize {
        let needed = self.program.needed_for(elements.value);
        needed[self.program.inputs().len()..].iter().filter(|&&needed| needed).count()
    }

    /// Adds the computation of a view of a value: its steps once more, on views of its inputs. The dtypes have been
    /// decided, so a view that adds or removes dimensions does not change them. What the program has already is not added
    /// again, so that views of views do not multiply the steps.
    ///
    /// `read` makes a tensor of an input, `view` makes the view of a tensor that has the shape of the value, and `keep` keeps
    /// it. Returns `None` if the value has no input in memory.
    pub(crate) fn viewed(
        &mut self,
        op: &'static str,
        elements: Elements<'a>,
        read: impl Fn(InMemory<'a>, Option<&Device>) -> Result<Tensor>,
        view: impl Fn(&Tensor) -> Result<Tensor>,
        keep: impl Fn(Tensor) -> &'a Tensor,
    ) -> Result<Option<Elements<'a>>> {
        let shape = *self.shape(elements.shape);
        let needed = self.program.needed_for(elements.value);
        let inputs = self.program.inputs().to_vec();
        let steps = self.program.steps().to_vec();
        let (needed_inputs, needed_steps) = needed.split_at(inputs.len());
        let mut values = Replaced::default();
        let mut viewed_shape = None;
        for (index, (input, &is_needed)) in inputs.iter().zip(needed_inputs).enumerate() {
            let own = Value::Input(index as u16);
            values.inputs.push(match input {
                Input::Memory(_, slot) if is_needed => {
                    let source = &mut self.inputs[slot - 1];
                    let tensor = read(*source, elements.device)?;
                    // An array is uploaded once, however many views there are of it.
                    #[cfg(feature = "ndarray")]
                    if let InMemory::Array(_) = source {
                        *source = InMemory::Tensor(keep(tensor.clone()));
                    }
                    let tensor = tensor.with_layout(tensor.layout().broadcast_to(op, &shape)?);
                    let viewed = view(&tensor)?;
                    viewed_shape = Some(self.add_shape(viewed.shape()));
                    match self.input_like(&InMemory::Tensor(&viewed)) {
                        Some(value) => value,
                        None => self.source(InMemory::Tensor(keep(viewed))).value,
                    }
                }
                // A number is the same for all elements.
                _ => own,
            });
        }
        let Some(shape) = viewed_shape else { return Ok(None) };
        let places = (0..).map(Value::Step);
        let mut known: HashMap<Step, Value> = steps.iter().copied().zip(places).collect();
        for (index, (step, &is_needed)) in steps.iter().zip(needed_steps).enumerate() {
            values.steps.push(match is_needed {
                false => Value::Step(index as u16),
                true => {
                    let step = values.moved(step);
                    *known.entry(step).or_insert_with(|| self.program.add(step))
                }
            });
        }
        Ok(Some(Elements { value: values.of(elements.value), shape, ..elements }))
    }
}

/// The values of another computation in place of those of a program.
#[derive(Default)]
struct Replaced {
    inputs: Vec<Value>,
    steps: Vec<Value>,
}

impl Replaced {
    fn of(&self, value: Value) -> Value {
        match value {
            Value::Input(index) => self.inputs[usize::from(index)],
            Value::Step(index) => self.steps[usize::from(index)],
        }
    }

    /// Returns the same step of the other values.
    fn moved(&self, step: &Step) -> Step {
        step.with_arguments(|value| self.of(value))
    }
}
