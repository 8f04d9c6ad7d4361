//! Requests without memory, for inspecting the kernels that are generated for them.

use super::Kernel;
use crate::backend::cuda::generate_for;
use crate::layout::Layout;
use crate::op::{ElementOp, ReduceOp};
use crate::plan::Plan;
use crate::program::{Program, Value};
use crate::request::{Reduction, Request};
use crate::scalar::ElementBytes;
use crate::{DType, Error, Result};

/// A function of elements: a row of the op table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function(ElementOp);

/// Returns every function, in the order of the table.
pub fn functions() -> Vec<Function> {
    ElementOp::ALL.iter().copied().map(Function).collect()
}

impl Function {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// Returns the number of its operands.
    pub fn arity(self) -> usize {
        self.0.arity()
    }

    /// Returns whether its first operand is a condition, which is bool.
    pub fn has_condition(self) -> bool {
        self.0 == ElementOp::Select
    }

    /// Returns whether it can be computed in a dtype.
    pub fn is_defined(self, dtype: DType) -> bool {
        self.0.domain().contains(dtype)
    }
}

/// An input or the result of a step of a [`Draft`].
#[derive(Clone, Copy, Debug)]
pub struct Term(Value);

/// A request under construction: operands, the steps that are computed from them, a destination and a mask. The last
/// step, or the last input if there is none, is the result.
#[derive(Debug)]
pub struct Draft {
    program: Program,
    /// The layouts of the destination and of the inputs in memory.
    layouts: Vec<Layout>,
    masked: bool,
    shape: Vec<usize>,
}

impl Draft {
    /// Creates a draft with a contiguous destination.
    pub fn new(shape: &[usize]) -> Draft {
        let layouts = vec![Layout::row_major(shape)];
        Draft { program: Program::new(), layouts, masked: false, shape: shape.into() }
    }

    /// Gives the destination other strides.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidShape`] unless there is a stride for each dimension.
    pub fn destination(&mut self, strides: &[isize]) -> Result<()> {
        self.layouts[0] = strided(&self.shape, strides)?;
        Ok(())
    }

    /// Makes the result be written under a contiguous mask.
    pub fn mask(&mut self) {
        self.masked = true;
    }

    /// Adds a contiguous operand of the destination's shape.
    pub fn dense(&mut self, dtype: DType) -> Term {
        self.layouts.push(Layout::row_major(&self.shape));
        Term(self.program.memory(dtype))
    }

    /// Adds an operand that is contiguous in its own shape and broadcast to the destination's.
    ///
    /// # Errors
    ///
    /// [`Error::Broadcast`] if its shape does not broadcast to the destination's.
    pub fn broadcast(&mut self, dtype: DType, shape: &[usize]) -> Result<Term> {
        self.layouts.push(Layout::row_major(shape).broadcast_to("draft", &self.shape)?);
        Ok(Term(self.program.memory(dtype)))
    }

    /// Adds an operand of the destination's shape with these strides.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidShape`] unless there is a stride for each dimension.
    pub fn view(&mut self, dtype: DType, strides: &[isize]) -> Result<Term> {
        self.layouts.push(strided(&self.shape, strides)?);
        Ok(Term(self.program.memory(dtype)))
    }

    /// Adds a number as an operand.
    pub fn number(&mut self, dtype: DType) -> Term {
        Term(self.program.number(dtype, ElementBytes([0; 16])))
    }

    /// Adds a conversion, unless the term has the dtype already.
    pub fn cast(&mut self, term: Term, to: DType) -> Term {
        Term(self.program.cast(term.0, to))
    }

    /// Adds the application of a function to terms that have the dtype of the computation.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the function has another number of operands.
    pub fn apply(&mut self, function: Function, terms: &[Term]) -> Result<Term> {
        let op = function.0;
        let value = match *terms {
            [Term(x)] if op.arity() == 1 => self.program.apply(op, [x]),
            [Term(x), Term(y)] if op.arity() == 2 => self.program.apply(op, [x, y]),
            [Term(x), Term(y), Term(z)] if op.arity() == 3 => self.program.apply(op, [x, y, z]),
            _ => {
                let reason = format!("{} operands were given, not {}", terms.len(), op.arity());
                return Err(Error::InvalidArgument { op: op.name(), reason });
            }
        };
        Ok(Term(value))
    }

    /// Returns the kernels that are generated if the result is written as it is.
    ///
    /// # Errors
    ///
    /// None; a test checks that.
    pub fn kernels(mut self) -> Result<Vec<Kernel>> {
        if self.masked {
            self.layouts.push(Layout::row_major(&self.shape));
        }
        let plan = Plan::new(&self.shape, &self.layouts);
        self.generate(&plan, None)
    }

    /// Returns the kernels that are generated if the rows of a matrix are reduced, or its columns if `axis` is 0.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidShape`] if the shape has not two dimensions or the axis is neither 0 nor 1.
    pub fn reduce(mut self, op: ReduceOp, axis: usize) -> Result<Vec<Kernel>> {
        let (&[rows, columns], 0..=1) = (&self.shape[..], axis) else {
            let reason = format!("axis {axis} of this is not reduced here: give a matrix");
            return Err(Error::InvalidShape { op: "draft", shape: self.shape.into(), reason });
        };
        let result = self.program.result();
        self.program.finish_terms(result);
        let kept = 1 - axis;
        let (results, terms) = ([rows, columns][kept], [rows, columns][axis]);
        self.layouts[0] = Layout::row_major(&[results]);
        let first = |layout: &Layout, axis: usize| match layout.rank() {
            1 => Ok(*layout),
            _ => layout.narrow(axis, 0, 1).and_then(|layout| layout.squeeze(axis)),
        };
        let kept_layouts: Vec<_> =
            self.layouts.iter().map(|layout| first(layout, axis)).collect::<Result<_>>()?;
        let still = Layout::row_major(&[]).broadcast_to("draft", &[terms])?;
        let inputs = self.layouts[1..].iter().map(|layout| first(layout, kept));
        let term_layouts: Vec<_> =
            std::iter::once(Ok(still)).chain(inputs).collect::<Result<_>>()?;
        let plan = Plan::new(&[results], &kept_layouts);
        let divisor = terms as f64;
        let terms = Plan::in_order(&[terms], &term_layouts);
        self.generate(&plan, Some(Reduction { op, terms: &terms, divisor }))
    }

    fn generate(&self, plan: &Plan, reduction: Option<Reduction<'_>>) -> Result<Vec<Kernel>> {
        let result = self.program.dtype(self.program.result());
        let out = match &reduction {
            Some(Reduction { op: ReduceOp::Argmax | ReduceOp::Argmin, .. }) => DType::I64,
            Some(_) if result == DType::Bool || result.is_signed_int() => DType::I64,
            Some(_) if result.is_int() => DType::U64,
            _ => result,
        };
        let (program, masked) = (&self.program, self.masked);
        generate_for(&Request { op: "draft", program, plan, out, masked, reduction })
    }
}

/// Creates a layout with any strides, in a storage as large as it needs.
fn strided(shape: &[usize], strides: &[isize]) -> Result<Layout> {
    Layout::strided("draft", shape, strides, 0, usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_sizes_and_strides_are_not_in_the_source() {
        let source = |rows: usize, number: u8| {
            let mut draft = Draft::new(&[rows, 64]);
            let x = draft.dense(DType::F32);
            let y = draft.broadcast(DType::F32, &[rows, 1]).unwrap();
            let z = Term(draft.program.number(DType::F32, ElementBytes([number; 16])));
            let sum = draft.apply(Function(ElementOp::Add), &[x, y]).unwrap();
            draft.apply(Function(ElementOp::Multiply), &[sum, z]).unwrap();
            draft.kernels().unwrap().remove(0).source
        };
        assert_eq!(source(100, 1), source(1000, 2));
    }

    #[test]
    fn drafts_that_make_no_sense_are_refused() {
        let mut draft = Draft::new(&[2, 3, 4]);
        let x = draft.dense(DType::F32);
        assert!(draft.apply(Function(ElementOp::Add), &[x]).is_err());
        assert!(draft.view(DType::F32, &[1]).is_err());
        assert!(draft.broadcast(DType::F32, &[5]).is_err());
        assert!(draft.reduce(ReduceOp::Sum, 1).is_err());
    }
}
