//! Samples of the kernels that the crate generates.

use bitlane::introspect::{Draft, Function, Kernel, Term, functions};
use bitlane::{DType, ReduceOp, Result};

use crate::Failure;
use crate::sass::functions::{FUNCTIONS, OF_TWO, title};
use crate::sass::measure::Counted;
use crate::sass::reductions::{ROWS_OF_TERMS, Row, Terms, rows};
use crate::sass::tiles;

/// A generated kernel with a title.
#[derive(Clone, Debug)]
pub struct Sample {
    /// What the kernel computes.
    pub title: String,
    /// If it is a reduction whose cost is bounded: its terms.
    pub terms: Option<Counted>,
    /// The kernel.
    pub kernel: Kernel,
}

/// The shape of most samples: enough elements for full blocks, in rows of whole groups.
const ROWS: usize = 1 << 10;
const COLUMNS: usize = 1 << 12;

/// The strides of a matrix of this shape that is stored by columns.
const TURNED: [isize; 2] = [1, ROWS as isize];

/// Creates a draft with a contiguous one-dimensional destination.
fn run() -> Draft {
    Draft::new(&[ROWS * COLUMNS])
}

/// Returns the function of this name.
fn function(name: &str) -> std::result::Result<Function, Failure> {
    let found = functions().into_iter().find(|function| function.name() == name);
    found.ok_or_else(|| format!("the crate has no function {name}").into())
}

/// The samples so far.
#[derive(Default)]
struct Samples(Vec<Sample>);

impl Samples {
    /// Adds the kernels of a draft.
    fn add(&mut self, title: impl Into<String>, kernels: Result<Vec<Kernel>>) -> crate::Outcome {
        let title = title.into();
        self.0.extend(kernels?.into_iter().map(|kernel| Sample {
            title: title.clone(),
            terms: None,
            kernel,
        }));
        Ok(())
    }
}

/// Returns the kernels whose cost is bounded, with the titles under which the bounds are listed.
pub fn bounded() -> std::result::Result<Vec<Sample>, Failure> {
    use DType::{BF16, Bool, F16, F32, I8, I32, U8};
    let (add, multiply) = (function("add")?, function("multiply")?);
    let (shift, and) = (function("bitwise_right_shift")?, function("bitwise_and")?);
    let mut samples = Samples::default();
    for (narrow, wide) in [(F16, F32), (BF16, F32), (U8, I32), (I8, I32)] {
        let mut draft = run();
        let (x, y) = (draft.dense(narrow), draft.dense(wide));
        let x = draft.cast(x, wide);
        draft.apply(add, &[x, y])?;
        samples.add(format!("{narrow} + {wide}"), draft.kernels())?;
    }
    for (from, to) in [(F16, F32), (BF16, F32), (U8, F32), (F32, F16), (F32, BF16)] {
        let mut draft = run();
        let x = draft.dense(from);
        draft.cast(x, to);
        samples.add(format!("cast {from} to {to}"), draft.kernels())?;
    }
    let mut draft = run();
    let (x, y) = (draft.dense(F32), draft.dense(F32));
    draft.apply(add, &[x, y])?;
    draft.mask();
    samples.add("masked f32 + f32", draft.kernels())?;

    let mut draft = run();
    let (x, y, mask) = (draft.dense(I32), draft.dense(I32), draft.number(I32));
    let shifted = draft.apply(shift, &[x, y])?;
    draft.apply(and, &[shifted, mask])?;
    samples.add("(x >> y) & m, i32", draft.kernels())?;

    let words = ROWS * COLUMNS / 8;
    let mut draft = Draft::new(&[words, 8]);
    let (w, amounts) = (draft.broadcast(I32, &[words, 1])?, draft.broadcast(I32, &[8])?);
    let (mask, scale) = (draft.number(I32), draft.number(F16));
    let shifted = draft.apply(shift, &[w, amounts])?;
    let bits = draft.apply(and, &[shifted, mask])?;
    let value = draft.cast(bits, F16);
    draft.apply(multiply, &[value, scale])?;
    samples.add("int4 to f16 times a number", draft.kernels())?;

    for (title, kernels) in packings()? {
        samples.add(title, Ok(kernels))?;
    }
    for dtype in [U8, F16, F32, DType::F64, Bool] {
        let mut draft = run();
        draft.number(dtype);
        samples.add(format!("fill of {dtype}"), draft.kernels())?;
    }
    // Broadcast operands, with one step more than the hand-written kernels cover.
    for (title, shape) in [("row", [1, COLUMNS]), ("column", [ROWS, 1])] {
        let mut draft = Draft::new(&[ROWS, COLUMNS]);
        let (x, y, z) = (draft.dense(F32), draft.broadcast(F32, &shape)?, draft.number(F32));
        let sum = draft.apply(add, &[x, y])?;
        draft.apply(multiply, &[sum, z])?;
        samples.add(format!("{title}, (f32 + f32) * number"), draft.kernels())?;
    }
    for (name, _) in FUNCTIONS.iter().chain(OF_TWO) {
        let function = function(name)?;
        for dtype in [F32, F16] {
            let mut draft = run();
            let operands: Vec<Term> = (0..function.arity()).map(|_| draft.dense(dtype)).collect();
            draft.apply(function, &operands)?;
            samples.add(title(name, dtype.name()), draft.kernels())?;
        }
    }
    let mut draft = run();
    let (x, y) = (draft.view(F32, &[2])?, draft.number(F32));
    draft.apply(add, &[x, y])?;
    samples.add("every second f32 + number", draft.kernels())?;
    for row in tiles::rows() {
        let mut draft = Draft::new(&[ROWS, COLUMNS]);
        let x = draft.view(row.dtype, &TURNED)?;
        if row.adds {
            let y = draft.dense(row.dtype);
            draft.apply(add, &[x, y])?;
        }
        samples.add(row.title(), draft.kernels())?;
    }
    for row in rows() {
        // Those after the first launch have few terms.
        let kernel = launches(&row)?.into_iter().next();
        let kernel = kernel.ok_or("a reduction without a kernel")?;
        let terms = Some(row.counted(kernel.blocks));
        samples.0.push(Sample { title: row.title(), terms, kernel });
    }
    Ok(samples.0)
}

/// Returns kernels that pack and unpack, as `src/expr/packing.rs` has them made.
fn packings() -> std::result::Result<Vec<(&'static str, Vec<Kernel>)>, Failure> {
    use DType::{F16, U8, U32, U64};
    let (and, or) = (function("bitwise_and")?, function("bitwise_or")?);
    let right = function("bitwise_right_shift_logical")?;
    let mut found = Vec::new();
    let words = COLUMNS / 8;
    let mut draft = Draft::new(&[ROWS, words, 8]);
    let (w, places) = (draft.broadcast(U32, &[ROWS, words, 1])?, draft.broadcast(U32, &[8])?);
    let (mask, scale) = (draft.number(U8), draft.broadcast(F16, &[ROWS, 1, 1])?);
    let shifted = draft.apply(right, &[w, places])?;
    let byte = draft.cast(shifted, U8);
    let value = draft.apply(and, &[byte, mask])?;
    let value = draft.cast(value, F16);
    draft.apply(function("multiply")?, &[value, scale])?;
    found.push(("4 bits of u32 to f16 times a scale", draft.kernels()?));

    // Eight bytes at a time.
    let mut draft = Draft::new(&[ROWS * words]);
    let (mut x, mask) = (draft.dense(U64), draft.number(U64));
    x = draft.apply(and, &[x, mask])?;
    for is_last in [false, false, true] {
        let (amount, mask) = (draft.number(U64), draft.number(U64));
        let moved = draft.apply(right, &[x, amount])?;
        x = draft.apply(or, &[x, moved])?;
        if !is_last {
            x = draft.apply(and, &[x, mask])?;
        }
    }
    draft.cast(x, U32);
    found.push(("words of eight u8 in 4 bits", draft.kernels()?));

    let groups = COLUMNS / 32;
    let mut draft = Draft::new(&[ROWS * groups, 32]);
    let mut fields = None;
    for _ in 0..3 {
        let word = draft.view(U32, &[3, 0])?;
        let own = draft.broadcast(U32, &[32])?;
        let own = draft.apply(and, &[word, own])?;
        fields = Some(match fields {
            None => own,
            Some(others) => draft.apply(or, &[others, own])?,
        });
    }
    let places = draft.broadcast(U32, &[32])?;
    let turned = draft.apply(function("rotate_right")?, &[fields.ok_or("no words")?, places])?;
    draft.cast(turned, U8);
    found.push(("3 bits of u32 to u8", draft.kernels()?));
    Ok(found)
}

/// Returns the kernels of a reduction whose cost is bounded, in the order of their launches.
pub fn launches(row: &Row) -> Result<Vec<Kernel>> {
    let (shape, axis) = match row.terms {
        Terms::All => ([1, 1 << 20], 1),
        Terms::Row(len) => ([ROWS_OF_TERMS, len], 1),
        Terms::Column => ([ROWS, COLUMNS], 0),
    };
    let mut draft = Draft::new(&shape);
    draft.dense(row.dtype);
    draft.reduce(row.op, axis)
}

/// Returns kernels of every kind: each operation in each dtype, with converted operands; each conversion; copies, fills
/// and masks of various layouts, and reductions, of each dtype; and those of [`bounded`], which come first.
pub fn all() -> std::result::Result<Vec<Sample>, Failure> {
    let mut samples = Samples(bounded()?);
    let dtypes = DType::ALL;
    for (place, op) in functions().into_iter().enumerate() {
        for &dtype in dtypes.iter().filter(|&&dtype| op.is_defined(dtype)) {
            let mut draft = run();
            // The operands' dtypes differ from each other, and vary with the operation.
            let terms: Vec<Term> = (0..op.arity())
                .map(|turn| {
                    let from = dtypes[(place + 4 * turn + dtype as usize) % dtypes.len()];
                    let value = draft.dense(from);
                    let is_condition = op.has_condition() && turn == 0;
                    draft.cast(value, if is_condition { DType::Bool } else { dtype })
                })
                .collect();
            draft.apply(op, &terms)?;
            samples.add(format!("{} in {dtype}", op.name()), draft.kernels())?;
        }
    }
    for &from in dtypes {
        for &to in dtypes.iter().filter(|&&to| to != from) {
            let mut draft = run();
            let x = draft.dense(from);
            draft.cast(x, to);
            samples.add(format!("cast {from} to {to}"), draft.kernels())?;
        }
        layouts(from, &mut samples)?;
        sums(from, &mut samples)?;
    }
    Ok(samples.0)
}

/// Adds copies, fills and masked operations in one dtype, with transposed and odd-sized layouts.
fn layouts(dtype: DType, samples: &mut Samples) -> crate::Outcome {
    for (title, masked) in [("", false), ("masked ", true)] {
        let mut copy = Draft::new(&[ROWS, COLUMNS]);
        copy.view(dtype, &TURNED)?;
        let mut fill = Draft::new(&[ROWS, COLUMNS]);
        fill.destination(&TURNED)?;
        fill.number(dtype);
        let mut logic = Draft::new(&[ROWS, 5, 7]);
        // Seven of the nine elements of each row.
        let (x, y) = (logic.view(dtype, &[45, 9, 1])?, logic.broadcast(dtype, &[5, 1])?);
        logic.apply(function("logical_or")?, &[x, y])?;
        for (what, mut draft) in [
            (format!("copy of {dtype}, turned"), copy),
            (format!("fill of {dtype}, turned"), fill),
            (format!("logic of {dtype}, odd"), logic),
        ] {
            if masked {
                draft.mask();
            }
            samples.add(format!("{title}{what}"), draft.kernels())?;
        }
    }
    Ok(())
}

/// Adds sums of one dtype by blocks, by lanes and by threads, or means of floats.
fn sums(dtype: DType, samples: &mut Samples) -> crate::Outcome {
    let is_mean = dtype.is_float() || dtype.is_complex();
    let op = if is_mean { ReduceOp::Mean } else { ReduceOp::Sum };
    for (shape, axis) in [([2, ROWS * COLUMNS], 1), ([ROWS, 64], 1), ([ROWS, COLUMNS], 0)] {
        let mut draft = Draft::new(&shape);
        draft.dense(dtype);
        samples.add(format!("{op} of {dtype}"), draft.reduce(op, axis))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_terms_take_two_launches_and_rows_one() {
        for row in rows() {
            let most = if matches!(row.terms, Terms::Row(_)) { 1 } else { 2 };
            let found = launches(&row).unwrap().len();
            assert!(found <= most, "{}: {found} launches", row.title());
        }
    }

    #[test]
    fn every_sample_has_a_kernel() {
        let samples = all().unwrap();
        assert!(samples.len() > 600, "{}", samples.len());
        for Sample { title, kernel, .. } in samples {
            assert!(
                kernel.source.contains(&kernel.kernel) && kernel.kernel.contains(&kernel.name),
                "{title}"
            );
        }
    }
}
