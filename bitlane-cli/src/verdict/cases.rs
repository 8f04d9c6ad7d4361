//! The computations that are compared: every kernel shape, every class of generated kernels, every operation.

use std::ops::Range;

use bitlane::{
    BinaryOp, DType, Device, Error, Expr, ReduceOp, ScanOp, Tensor, UnaryOp, introspect,
};

use super::classes;
use super::compare::Plain;

/// The elements of a full block of the kernel with the largest blocks: 256 threads with four vectors of 16 bytes each.
pub const BLOCK: usize = 16_384;

/// Sizes around none, one and several full blocks.
pub const SIZES: [usize; 6] = [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5];

/// One in so many cases is a quick sample, beside one of each layout and class.
const SAMPLE: usize = 61;

/// One in so many cases is compared as the other kind of code, too, beside those of a quick sample.
const OTHER: usize = 4;

/// A comparison to make: some results of one kind, such as those of several sizes.
pub struct Case {
    pub name: String,
    /// Whether it is part of every sample.
    is_chosen: bool,
    run: Computation,
}

/// The computation to run on both devices.
pub type Computation = Box<dyn Fn(&Device) -> Result<Vec<Tensor>, Error>>;

/// Makes an expression of another.
type Build = Box<dyn for<'a> Fn(Expr<'a>) -> Expr<'a>>;

impl Case {
    pub fn new(name: String, is_chosen: bool, run: Computation) -> Case {
        Case { name, is_chosen, run }
    }

    /// Computes it on a device, and copies the results to the host.
    pub fn on(&self, device: &Device) -> Result<Vec<Plain>, Error> {
        (self.run)(device)?.iter().map(Plain::new).collect()
    }
}

/// Which of the cases are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    All,
    /// For the other kind of code.
    Some,
    Quick,
}

/// Returns the cases to compare, with their numbers among all.
pub fn chosen(extent: Extent) -> Vec<(usize, Case)> {
    let every = match extent {
        Extent::All => 1,
        Extent::Some => OTHER,
        Extent::Quick => SAMPLE,
    };
    let numbered = all().into_iter().enumerate();
    numbered.filter(|(number, case)| case.is_chosen || number % every == 0).collect()
}

/// Returns every case.
pub fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for (turn, &dtype) in DType::ALL.iter().enumerate() {
        binary(turn, dtype, &mut cases);
        of_one(dtype, &mut cases);
        casts(dtype, &mut cases);
        classes::add(dtype, &mut cases);
    }
    cases
}

/// Computes something for each of these sizes.
pub fn sized(
    sizes: impl IntoIterator<Item = usize>,
    one: impl Fn(usize) -> Result<Tensor, Error>,
) -> Result<Vec<Tensor>, Error> {
    sizes.into_iter().map(one).collect()
}

/// The layouts of two operands that lead to the shapes of the hand-written kernels.
pub const LAYOUTS: [&str; 13] = [
    "contig", "scalar", "lscalar", "row", "lrow", "col", "lcol", "gen2", "gen4", "gen8", "gath2",
    "gath4", "gath8",
];

/// Every binary operation in every size, and every layout with some operation.
fn binary(turn: usize, dtype: DType, cases: &mut Vec<Case>) {
    let ops: Vec<BinaryOp> =
        BinaryOp::ALL.iter().copied().filter(|op| op.is_defined_for(dtype)).collect();
    for &op in &ops {
        let run = move |device: &Device| {
            sized(SIZES, |len| {
                let x = sample(dtype, 1, &[len], device)?;
                bitlane::binary(op, &x, &sample(dtype, 2, &[len], device)?).run()
            })
        };
        cases.push(Case::new(format!("{op} {dtype}"), false, Box::new(run)));
    }
    let written = introspect::modules().into_iter().filter(|one| one.dtype() == dtype.name());
    let written: Vec<&str> = written.map(|module| module.op()).collect();
    let ops: Vec<_> = ops.into_iter().filter(|op| written.contains(&op.name())).collect();
    // Operands of a symmetric operation are exchanged, so that the left one is never the row or column.
    let one_sided = ["subtract", "bitwise_left_shift", "less_than", "copysign"];
    let one_sided = ops.iter().find(|op| one_sided.contains(&op.name()));
    for (index, layout) in LAYOUTS.into_iter().enumerate() {
        let any = ops.get((turn + 3 * index) % ops.len().max(1));
        let op = if layout.starts_with('l') { one_sided.or(any) } else { any };
        if let Some(&op) = op {
            let run = move |device: &Device| Ok(vec![laid_out(layout, op, dtype, device)?]);
            let name = format!("{op} {dtype} {layout}");
            cases.push(Case::new(name, dtype == DType::I32, Box::new(run)));
        }
    }
}

/// Every operation of one operand, reduction and scan, in every size.
fn of_one(dtype: DType, cases: &mut Vec<Case>) {
    let mut add = |name: String, sizes: Range<usize>, build: Build| {
        let run = move |device: &Device| {
            sized(SIZES[sizes.clone()].iter().copied(), |len| {
                build(sample(dtype, 3, &[len], device)?.expr()).run()
            })
        };
        cases.push(Case::new(format!("{name} {dtype}"), false, Box::new(run)));
    };
    for &op in UnaryOp::ALL.iter().filter(|op| op.is_defined_for(dtype)) {
        add(op.to_string(), 0..6, Box::new(move |x| x.unary(op)));
    }
    add("select".into(), 0..6, Box::new(|x| x.clone().logical_not().select(x, 1)));
    add("a chain".into(), 0..6, Box::new(|x| (x.clone() + 1).multiply(x)));
    for &op in ReduceOp::ALL.iter().filter(|op| op.is_defined_for(dtype)) {
        // A maximum of no elements is an error.
        let first = usize::from(op.to_string().contains("max") || op.to_string().contains("min"));
        add(format!("{op} of all"), first..6, Box::new(move |x| x.reduce(op, ..)));
    }
    for &op in ReduceOp::ALL.iter().filter(|op| op.is_defined_for(dtype)) {
        let run = move |device: &Device| {
            let mut results = Vec::new();
            for shape in [[67, 33], [5, 300], [3, BLOCK + 1]] {
                let x = sample(dtype, 3, &shape, device)?;
                results.push(x.expr().reduce(op, 1).run()?);
                results.push(x.expr().reduce_keepdims(op, 0).run()?);
            }
            Ok(results)
        };
        cases.push(Case::new(format!("{op} of rows, of columns {dtype}"), false, Box::new(run)));
    }
    for &op in ScanOp::ALL.iter().filter(|op| op.is_defined_for(dtype)) {
        let run = move |device: &Device| {
            let scan = |shape: &[usize], axis| {
                bitlane::scan(op, &sample(dtype, 3, shape, device)?, axis).run()
            };
            let mut results = sized(SIZES, |len| scan(&[len], 0))?;
            results.extend([scan(&[67, 33], 0)?, scan(&[67, 33], 1)?]);
            Ok(results)
        };
        cases.push(Case::new(format!("{op} {dtype}"), dtype == DType::F32, Box::new(run)));
    }
}

/// Casts to every dtype, in every size and, of dtypes of 16 bits, of all values.
fn casts(dtype: DType, cases: &mut Vec<Case>) {
    for &to in DType::ALL {
        let cast = move |device: &Device| {
            let mut results = sized(SIZES, |len| sample(dtype, 4, &[len], device)?.cast(to))?;
            if dtype.size() == 2 {
                let all: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
                results.push(Tensor::from_bytes(dtype, &all, [1 << 16], device)?.cast(to)?);
            }
            Ok(results)
        };
        cases.push(Case::new(format!("cast {dtype} to {to}"), false, Box::new(cast)));
    }
}

/// Computes an operation on operands in a layout that leads to the hand-written kernel of this shape.
fn laid_out(layout: &str, op: BinaryOp, dtype: DType, device: &Device) -> Result<Tensor, Error> {
    const WIDTH: usize = 1024;
    let x = |shape: &[usize]| sample(dtype, 1, shape, device);
    let y = |shape: &[usize]| sample(dtype, 2, shape, device);
    // The axes in reverse, but for the last one, so that no two of them become one.
    let turned = |x: Tensor| {
        let axes = x.shape().len() - 1;
        (0..axes / 2).try_fold(x, |x, axis| x.transpose(axis, axes - 1 - axis))
    };
    let (four, eight) = ([3, 5, 7, 64], [2, 3, 2, 3, 2, 3, 2, 16]);
    let (x, y) = match layout {
        "scalar" => return bitlane::binary(op, &x(&[3 * BLOCK + 5])?, 3).run(),
        "lscalar" => return bitlane::binary(op, 3, &x(&[3 * BLOCK + 5])?).run(),
        "row" => (x(&[65, WIDTH])?, y(&[WIDTH])?),
        "lrow" => (x(&[WIDTH])?, y(&[65, WIDTH])?),
        "col" => (x(&[5, BLOCK])?, y(&[5, 1])?),
        "lcol" => (x(&[5, 1])?, y(&[5, BLOCK])?),
        "gen2" => (x(&[65, 2 * WIDTH])?.narrow(1, 0, WIDTH)?, y(&[65, WIDTH])?),
        "gen4" => (turned(x(&four)?)?, y(&[7, 5, 3, 64])?),
        "gen8" => (turned(x(&eight)?)?, y(&eight)?),
        "gath2" => (x(&[129, 67])?.flip(1)?, y(&[129, 67])?),
        "gath4" => (turned(x(&four)?)?.flip(3)?, y(&[7, 5, 3, 64])?),
        "gath8" => (turned(x(&eight)?)?.flip(7)?, y(&eight)?),
        _ => (x(&[3 * BLOCK + 5])?, y(&[3 * BLOCK + 5])?),
    };
    bitlane::binary(op, &x, &y).run()
}

/// Creates a tensor of pseudo-random bits, among them small numbers, large numbers, zeros and NaNs.
pub fn sample(dtype: DType, seed: u64, shape: &[usize], device: &Device) -> Result<Tensor, Error> {
    let mut state = seed;
    let len = shape.iter().product();
    let mut bytes = Vec::with_capacity(len * dtype.size());
    for index in 0..len {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Every third element is small, as shift amounts and exponents are.
        let bits = if index % 3 == 0 { state >> 60 } else { state ^ state >> 29 };
        let bits = u128::from(bits) | u128::from(bits ^ state << 7) << 64;
        bytes.extend_from_slice(&bits.to_le_bytes()[..dtype.size()]);
    }
    if dtype == DType::Bool {
        bytes.iter_mut().for_each(|byte| *byte &= 1);
    }
    Tensor::from_bytes(dtype, &bytes, shape, device)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each is something, or it would compare nothing, and samples are part of all.
    #[test]
    fn cases_have_names_of_their_own_and_samples_every_class() {
        let cases = all();
        let names: std::collections::BTreeSet<_> = cases.iter().map(|case| &case.name).collect();
        assert_eq!(names.len(), cases.len());
        for case in cases.iter().step_by(29).chain(cases.iter().filter(|case| case.is_chosen)) {
            let results = case.on(&Device::cpu());
            assert!(results.is_ok_and(|results| !results.is_empty()), "{}", case.name);
        }
        let quick: Vec<_> = chosen(Extent::Quick).into_iter().map(|(_, case)| case.name).collect();
        for class in LAYOUTS.iter().copied().chain(classes::NAMES) {
            assert!(quick.iter().any(|name| name.contains(class)), "{class}");
        }
        let some = chosen(Extent::Some).len();
        assert!(quick.len() < 150 && 3 * some < cases.len(), "{} {some}", quick.len());
    }
}
