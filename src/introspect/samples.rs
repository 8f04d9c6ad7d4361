//! Sample requests without memory, for inspecting the kernels that are generated for them.

use super::Kernel;
use crate::backend::cuda::generate_for;
use crate::layout::Layout;
use crate::op::ElementOp;
use crate::plan::Plan;
use crate::program::{Fold, Program, Reduction, Request, Value};
use crate::scalar::ElementBytes;
use crate::{DType, Result};

/// A generated kernel with a title.
#[derive(Clone, Debug)]
pub struct Sample {
    /// What the kernel computes.
    pub title: String,
    /// The kernel.
    pub kernel: Kernel,
}

/// The shape of most samples: enough elements for full blocks, in rows of whole groups.
const ROWS: usize = 1 << 10;
const COLUMNS: usize = 1 << 12;

/// A request under construction.
struct Draft {
    program: Program,
    /// The layouts of the destination and of the inputs in memory.
    layouts: Vec<Layout>,
    masked: bool,
    shape: Vec<usize>,
}

impl Draft {
    fn new(shape: &[usize]) -> Draft {
        let layouts = vec![Layout::row_major(shape)];
        Draft { program: Program::new(), layouts, masked: false, shape: shape.into() }
    }

    /// A draft with a contiguous one-dimensional destination.
    fn run() -> Draft {
        Draft::new(&[ROWS * COLUMNS])
    }

    /// Adds an operand that is contiguous in its own shape and broadcast to the destination's.
    fn memory(&mut self, dtype: DType, shape: &[usize]) -> Value {
        self.view(dtype, Layout::row_major(shape))
    }

    fn dense(&mut self, dtype: DType) -> Value {
        let shape = self.shape.clone();
        self.memory(dtype, &shape)
    }

    fn view(&mut self, dtype: DType, layout: Layout) -> Value {
        let layout = layout.broadcast_to("sample", &self.shape);
        self.layouts.extend(layout);
        self.program.memory(dtype)
    }

    fn number(&mut self, dtype: DType) -> Value {
        self.program.number(dtype, ElementBytes([0; 16]))
    }

    /// Returns the kernels of the request, elementwise.
    fn map(mut self, title: impl Into<String>) -> Result<Vec<Sample>> {
        if self.masked {
            self.layouts.push(Layout::row_major(&self.shape));
        }
        let plan = Plan::new(&self.shape, &self.layouts);
        self.samples(title.into(), &plan, None)
    }

    /// Returns the kernels of a reduction over the last dimension of a matrix, or over the first.
    fn sum(mut self, title: impl Into<String>, fold: Fold, last: bool) -> Result<Vec<Sample>> {
        let [rows, columns] = [self.shape[0], self.shape[1]];
        let (kept, summed) = if last { (0, 1) } else { (1, 0) };
        let out = Layout::row_major(&[[rows, columns][kept]]);
        self.layouts[0] = out;
        let first = |layout: &Layout, axis: usize| match layout.rank() {
            1 => Ok(*layout),
            _ => layout.narrow(axis, 0, 1).and_then(|layout| layout.squeeze(axis)),
        };
        let kept_layouts: Vec<_> =
            self.layouts.iter().map(|layout| first(layout, summed)).collect::<Result<_>>()?;
        let still = Layout::row_major(&[]).broadcast_to("sample", &[[rows, columns][summed]])?;
        let inputs = self.layouts[1..].iter().map(|layout| first(layout, kept));
        let term_layouts: Vec<_> =
            std::iter::once(Ok(still)).chain(inputs).collect::<Result<_>>()?;
        let plan = Plan::new(&[[rows, columns][kept]], &kept_layouts);
        let terms = Plan::in_order(&[[rows, columns][summed]], &term_layouts);
        self.samples(title.into(), &plan, Some(Reduction { fold, terms: &terms }))
    }

    fn samples(
        &self,
        title: String,
        plan: &Plan,
        reduction: Option<Reduction<'_>>,
    ) -> Result<Vec<Sample>> {
        let result = self.program.dtype(self.program.result());
        let out = match reduction {
            Some(_) if result == DType::Bool || result.is_signed_int() => DType::I64,
            Some(_) if result.is_int() => DType::U64,
            _ => result,
        };
        let request = Request {
            op: "sample",
            program: &self.program,
            plan,
            out,
            masked: self.masked,
            reduction,
        };
        let kernels = generate_for(&request)?.into_iter();
        Ok(kernels.map(|kernel| Sample { title: title.clone(), kernel }).collect())
    }
}

/// Returns the kernels whose cost is bounded, with the titles under which the bounds are listed.
///
/// # Errors
///
/// None; a test checks that.
pub fn bounded() -> Result<Vec<Sample>> {
    use DType::{BF16, Bool, F16, F32, I8, I32, U8};
    let mut samples = Vec::new();
    for (narrow, wide) in [(F16, F32), (BF16, F32), (U8, I32), (I8, I32)] {
        let mut draft = Draft::run();
        let (x, y) = (draft.dense(narrow), draft.dense(wide));
        let x = draft.program.cast(x, wide);
        draft.program.apply(ElementOp::Add, [x, y]);
        samples.extend(draft.map(format!("{narrow} + {wide}"))?);
    }
    for (from, to) in [(F16, F32), (BF16, F32), (U8, F32), (F32, F16), (F32, BF16)] {
        let mut draft = Draft::run();
        let x = draft.dense(from);
        draft.program.cast(x, to);
        samples.extend(draft.map(format!("cast {from} to {to}"))?);
    }
    let mut draft = Draft::run();
    let (x, y) = (draft.dense(F32), draft.dense(F32));
    draft.program.apply(ElementOp::Add, [x, y]);
    draft.masked = true;
    samples.extend(draft.map("masked f32 + f32")?);

    let mut draft = Draft::run();
    let (x, y, mask) = (draft.dense(I32), draft.dense(I32), draft.number(I32));
    let shifted = draft.program.apply(ElementOp::ShiftRight, [x, y]);
    draft.program.apply(ElementOp::BitwiseAnd, [shifted, mask]);
    samples.extend(draft.map("(x >> y) & m, i32")?);

    let words = ROWS * COLUMNS / 8;
    let mut draft = Draft::new(&[words, 8]);
    let (w, amounts) = (draft.memory(I32, &[words, 1]), draft.memory(I32, &[8]));
    let (mask, scale) = (draft.number(I32), draft.number(F16));
    let shifted = draft.program.apply(ElementOp::ShiftRight, [w, amounts]);
    let bits = draft.program.apply(ElementOp::BitwiseAnd, [shifted, mask]);
    let value = draft.program.cast(bits, F16);
    draft.program.apply(ElementOp::Multiply, [value, scale]);
    samples.extend(draft.map("int4 to f16 times a number")?);

    for dtype in [U8, F16, F32, DType::F64, Bool] {
        let mut draft = Draft::run();
        draft.number(dtype);
        samples.extend(draft.map(format!("fill of {dtype}"))?);
    }
    // Broadcast operands, with one step more than the hand-written kernels cover.
    for (title, shape) in [("row", [1, COLUMNS]), ("column", [ROWS, 1])] {
        let mut draft = Draft::new(&[ROWS, COLUMNS]);
        let (x, y, z) = (draft.dense(F32), draft.memory(F32, &shape), draft.number(F32));
        let sum = draft.program.apply(ElementOp::Add, [x, y]);
        draft.program.apply(ElementOp::Multiply, [sum, z]);
        samples.extend(draft.map(format!("{title}, (f32 + f32) * number"))?);
    }
    let mut draft = Draft::run();
    let twice = Layout::row_major(&[ROWS * COLUMNS, 2]).narrow(1, 0, 1)?.squeeze(1)?;
    let (x, y) = (draft.view(F32, twice), draft.number(F32));
    draft.program.apply(ElementOp::Add, [x, y]);
    samples.extend(draft.map("every second f32 + number")?);
    Ok(samples)
}

/// Returns kernels of every kind: each operation in each dtype, with converted operands; each conversion; copies, fills
/// and masks of various layouts, and reductions, of each dtype; and those of [`bounded`].
///
/// # Errors
///
/// None; a test checks that.
pub fn samples() -> Result<Vec<Sample>> {
    let mut samples = bounded()?;
    let dtypes = DType::ALL;
    for (place, &op) in ElementOp::ALL.iter().enumerate() {
        for &dtype in dtypes.iter().filter(|&&dtype| op.domain().contains(dtype)) {
            let mut draft = Draft::run();
            // The operands' dtypes differ from each other, and vary with the operation.
            let operand = |draft: &mut Draft, to: DType, turn: usize| {
                let value = draft.dense(dtypes[(place + 4 * turn + dtype as usize) % dtypes.len()]);
                draft.program.cast(value, to)
            };
            match op.arity() {
                1 => {
                    let x = operand(&mut draft, dtype, 0);
                    draft.program.apply(op, [x]);
                }
                2 => {
                    let (x, y) = (operand(&mut draft, dtype, 0), operand(&mut draft, dtype, 1));
                    draft.program.apply(op, [x, y]);
                }
                _ => {
                    let condition = operand(&mut draft, DType::Bool, 0);
                    let (x, y) = (operand(&mut draft, dtype, 1), operand(&mut draft, dtype, 2));
                    draft.program.apply(op, [condition, x, y]);
                }
            }
            samples.extend(draft.map(format!("{} in {dtype}", op.name()))?);
        }
    }
    for &from in dtypes {
        for &to in dtypes.iter().filter(|&&to| to != from) {
            let mut draft = Draft::run();
            let x = draft.dense(from);
            draft.program.cast(x, to);
            samples.extend(draft.map(format!("cast {from} to {to}"))?);
        }
        samples.extend(layouts(from)?);
        samples.extend(sums(from)?);
    }
    Ok(samples)
}

/// Returns copies, fills and masked operations in one dtype, with transposed and odd-sized layouts.
fn layouts(dtype: DType) -> Result<Vec<Sample>> {
    let mut samples = Vec::new();
    let turned = Layout::row_major(&[COLUMNS, ROWS]).transpose(0, 1)?;
    let odd = Layout::row_major(&[ROWS, 5, 9]);
    for (title, masked) in [("", false), ("masked ", true)] {
        let mut draft = Draft::new(&[ROWS, COLUMNS]);
        draft.view(dtype, turned);
        draft.masked = masked;
        samples.extend(draft.map(format!("{title}copy of {dtype}, turned"))?);
        let mut draft = Draft::new(&[ROWS, COLUMNS]);
        draft.layouts[0] = turned;
        draft.number(dtype);
        draft.masked = masked;
        samples.extend(draft.map(format!("{title}fill of {dtype}, turned"))?);
        let mut draft = Draft::new(&[ROWS, 5, 7]);
        let (x, y) = (draft.view(dtype, odd.narrow(2, 1, 7)?), draft.memory(dtype, &[5, 1]));
        draft.program.apply(ElementOp::LogicalOr, [x, y]);
        draft.masked = masked;
        samples.extend(draft.map(format!("{title}logic of {dtype}, odd"))?);
    }
    Ok(samples)
}

/// Returns sums of one dtype by blocks, by lanes and by threads.
fn sums(dtype: DType) -> Result<Vec<Sample>> {
    let mut samples = Vec::new();
    let fold = if dtype.is_float() || dtype.is_complex() { Fold::Mean } else { Fold::Sum };
    for (shape, last) in [([2, ROWS * COLUMNS], true), ([ROWS, 64], true), ([ROWS, COLUMNS], false)]
    {
        let mut draft = Draft::new(&shape);
        draft.dense(dtype);
        samples.extend(draft.sum(format!("{fold:?} of {dtype}"), fold, last)?);
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_has_a_kernel() {
        let samples = samples().unwrap();
        assert!(samples.len() > 600, "{}", samples.len());
        for Sample { title, kernel } in samples {
            assert!(
                kernel.source.contains(&kernel.kernel) && kernel.kernel.contains(&kernel.name),
                "{title}"
            );
        }
    }

    #[test]
    fn numbers_sizes_and_strides_are_not_in_the_source() {
        let source = |rows: usize, number: u8| {
            let mut draft = Draft::new(&[rows, 64]);
            let (x, y) = (draft.dense(DType::F32), draft.memory(DType::F32, &[rows, 1]));
            let z = draft.program.number(DType::F32, ElementBytes([number; 16]));
            let sum = draft.program.apply(ElementOp::Add, [x, y]);
            draft.program.apply(ElementOp::Multiply, [sum, z]);
            draft.map("").unwrap().remove(0).kernel.source
        };
        assert_eq!(source(100, 1), source(1000, 2));
    }
}
