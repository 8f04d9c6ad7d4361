//! Parts of a computation: a value with the inputs and steps that it is computed from.

use super::{Call, Elements};
use crate::operand::InMemory;
use crate::program::{Input, Value};
use crate::{Result, Tensor};

impl<'a> Call<'a> {
    /// Returns a computation of one value alone, without inputs and steps that it does not need.
    pub(crate) fn part(&self, elements: Elements<'a>) -> Result<(Call<'a>, Elements<'a>)> {
        let mut part = Call::new();
        let value = part.import(self, elements.value, Ok)?;
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

    /// Adds the computation of a view of a value: its steps once more, on views of its inputs. The dtypes have been
    /// decided, so a view that adds or removes dimensions does not change them.
    ///
    /// `view` makes the view of a tensor that has the shape of the value, and `keep` keeps it. Returns `None` if the
    /// value has no input in memory.
    pub(crate) fn viewed(
        &mut self,
        op: &'static str,
        elements: Elements<'a>,
        view: impl Fn(&Tensor) -> Result<Tensor>,
        keep: impl Fn(Tensor) -> &'a Tensor,
    ) -> Result<Option<Elements<'a>>> {
        let from = self.clone();
        let shape = from.shape(elements.shape);
        let mut viewed_shape = None;
        let value = self.import(&from, elements.value, |source| {
            let tensor = match source {
                InMemory::Tensor(tensor) => tensor.clone(),
                #[cfg(feature = "ndarray")]
                InMemory::Array(array) => match elements.device {
                    Some(device) => array.upload(device)?,
                    None => array.upload(&crate::Device::best()?)?,
                },
            };
            let tensor = tensor.with_layout(tensor.layout().broadcast_to(op, shape)?);
            let viewed = keep(view(&tensor)?);
            viewed_shape = Some(viewed.shape());
            Ok(InMemory::Tensor(viewed))
        })?;
        let Some(shape) = viewed_shape else { return Ok(None) };
        Ok(Some(Elements { value, shape: self.add_shape(shape), ..elements }))
    }

    /// Adds the inputs and steps that a value of another computation is computed from; `source` says what to read in
    /// place of each input in memory.
    fn import(
        &mut self,
        from: &Call<'a>,
        value: Value,
        mut source: impl FnMut(InMemory<'a>) -> Result<InMemory<'a>>,
    ) -> Result<Value> {
        let program = &from.program;
        let needed = program.needed_for(value);
        let inputs = program.inputs();
        let mut values: Vec<Value> = Vec::with_capacity(needed.len());
        for (index, &needed) in needed.iter().enumerate() {
            // What is not needed has a place, but is not referred to.
            if !needed {
                values.push(value);
                continue;
            }
            let own = |value: &Value| values[program.place(*value)];
            let added = match inputs.get(index) {
                Some(Input::Number(dtype, bytes)) => self.number(*dtype, *bytes),
                Some(Input::Memory(_, slot)) => self.source(source(from.inputs[slot - 1])?).value,
                None => {
                    let step = &program.steps()[index - inputs.len()];
                    let arguments: Vec<Value> = step.arguments().iter().map(own).collect();
                    self.program.repeat(step, &arguments)
                }
            };
            values.push(added);
        }
        let result = values[program.place(value)];
        self.program.finish(result);
        Ok(result)
    }
}
