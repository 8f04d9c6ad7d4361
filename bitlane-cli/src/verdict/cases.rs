//! Comparisons of a device with the CPU, bit for bit.

use std::collections::BTreeSet;

use bitlane::{BinaryOp, DType, Device, Error, Expr, ReduceOp, Tensor, UnaryOp, introspect};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::progress::Progress;

/// The elements of a full block of the kernel with the largest blocks: 256 threads with four vectors of 16 bytes each.
const BLOCK: usize = 16_384;

/// Sizes around none, one and several full blocks.
const SIZES: [usize; 6] = [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5];

/// One in so many comparisons is a quick sample, beside one in each layout.
const SAMPLE: usize = 61;

/// A comparison to make.
struct Case {
    name: String,
    /// Whether it is part of a quick sample in any case.
    is_quick: bool,
    run: Computation,
}

/// The computation to run on both devices.
type Computation = Box<dyn Fn(&Device) -> Result<Tensor, Error>>;

/// Makes an expression of another.
type Build = Box<dyn for<'a> Fn(Expr<'a>) -> Expr<'a>>;

/// What was found.
pub struct Compared {
    cases: usize,
    same: usize,
    refused: usize,
    pub differences: Vec<String>,
    /// The shapes of the hand-written kernels that were launched.
    shapes: BTreeSet<String>,
    /// The number of different kernels that were launched.
    kernels: usize,
}

impl Compared {
    pub fn rows(&self) -> Vec<Vec<String>> {
        let cases = format!(
            "{}: {} with the same bits, {} refused by both, {} different",
            self.cases,
            self.same,
            self.refused,
            self.differences.len()
        );
        let shapes: Vec<&str> = self.shapes.iter().map(String::as_str).collect();
        let (count, all) = (self.kernels, LAYOUTS.len());
        let kernels = format!(
            "{count}, and {} of {all} hand-written shapes: {}",
            shapes.len(),
            shapes.join(" ")
        );
        vec![vec!["comparisons".into(), cases], vec!["kernels compared".into(), kernels]]
    }

    pub fn json(&self) -> Value {
        json!({
            "cases": self.cases,
            "same": self.same,
            "refused": self.refused,
            "differences": self.differences,
            "shapes": self.shapes,
            "kernels": self.kernels,
        })
    }
}

/// Compares a device with the CPU.
pub fn compare(device: &Device, quick: bool) -> Result<Compared, Failure> {
    let mut cases = cases();
    if quick {
        let mut number = 0;
        cases.retain(|case| {
            number += 1;
            case.is_quick || number % SAMPLE == 0
        });
    }
    let shapes: BTreeSet<String> =
        introspect::modules().first().map_or(BTreeSet::new(), |module| {
            let own = format!("_{}_{}", module.op(), module.dtype());
            let names = module.kernels();
            names.iter().filter_map(|name| name.strip_suffix(&own)).map(str::to_owned).collect()
        });
    let progress = Progress::new("verdict", cases.len());
    let mut found = Compared {
        cases: cases.len(),
        same: 0,
        refused: 0,
        differences: Vec::new(),
        shapes: BTreeSet::new(),
        kernels: 0,
    };
    let mut launched = BTreeSet::new();
    for case in &cases {
        progress.step(&case.name);
        introspect::record();
        let computed = (case.run)(device);
        launched.extend(introspect::recorded());
        match ((case.run)(&Device::cpu()), computed) {
            (Ok(expected), Ok(computed)) => match difference(&expected, &computed)? {
                None => found.same += 1,
                Some(words) => found.differences.push(format!("{}: {words}", case.name)),
            },
            (Err(expected), Err(error)) if expected.kind() == error.kind() => found.refused += 1,
            (expected, computed) => {
                let [expected, computed] = [expected, computed].map(|result| match result {
                    Ok(tensor) => format!("{tensor:?}"),
                    Err(error) => error.to_string(),
                });
                let name = &case.name;
                found.differences.push(format!("{name}: cpu: {expected}; {device}: {computed}"));
            }
        }
    }
    progress.finish();
    found.kernels = launched.len();
    let shape = |kernel: &String| kernel.split('_').next().map(str::to_owned);
    found.shapes = launched.iter().filter_map(shape).filter(|name| shapes.contains(name)).collect();
    Ok(found)
}

/// The layouts of two operands that lead to the shapes of the hand-written kernels.
const LAYOUTS: [&str; 13] = [
    "contig", "scalar", "lscalar", "row", "lrow", "col", "lcol", "gen2", "gen4", "gen8", "gath2",
    "gath4", "gath8",
];

/// Returns the comparisons: every binary operation in every dtype; every layout in every dtype; sizes around full blocks; every
/// unary operation, reduction and cast in every dtype; casts of all values of 16 bits; and chains, selections and masks.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |name: String, run: Computation| {
        let is_quick = LAYOUTS.iter().any(|layout| name.ends_with(&format!(" i32 {layout}")));
        cases.push(Case { name, is_quick, run });
    };
    for (turn, &dtype) in DType::ALL.iter().enumerate() {
        let ops: Vec<BinaryOp> =
            BinaryOp::ALL.iter().copied().filter(|op| op.is_defined_for(dtype)).collect();
        for (index, &op) in ops.iter().enumerate() {
            let len = SIZES[(turn + index) % SIZES.len()];
            for len in [len, 3 * BLOCK + 5] {
                let run = move |device: &Device| {
                    let (x, y) =
                        (sample(dtype, 1, &[len], device)?, sample(dtype, 2, &[len], device)?);
                    bitlane::binary(op, &x, &y).run()
                };
                add(format!("{op} {dtype} {len}"), Box::new(run));
            }
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
                let run = move |device: &Device| laid_out(layout, op, dtype, device);
                add(format!("{op} {dtype} {layout}"), Box::new(run));
            }
        }
        let mut of_one = |name: String, shape: Vec<usize>, build: Build| {
            let run = move |device: &Device| build(sample(dtype, 3, &shape, device)?.expr()).run();
            add(format!("{name} {dtype}"), Box::new(run));
        };
        for (index, &op) in UnaryOp::ALL.iter().enumerate() {
            let len = SIZES[(turn + index) % SIZES.len()];
            of_one(format!("{op} {len}"), vec![len], Box::new(move |x| x.unary(op)));
        }
        for &op in ReduceOp::ALL {
            for len in [1, BLOCK + 1, 3 * BLOCK + 5] {
                of_one(format!("{op} of {len}"), vec![len], Box::new(move |x| x.reduce(op, ..)));
            }
            for shape in [[67, 33], [5, 300], [3, BLOCK + 1]] {
                let words = format!("{op} of {shape:?}");
                of_one(format!("{words}, rows"), shape.into(), Box::new(move |x| x.reduce(op, 1)));
                let build: Build = Box::new(move |x| x.reduce_keepdims(op, 0));
                of_one(format!("{words}, columns"), shape.into(), build);
            }
        }
        let len = vec![BLOCK + 1];
        of_one("select".into(), len.clone(), Box::new(|x| x.clone().logical_not().select(x, 1)));
        of_one("a chain".into(), len, Box::new(|x| (x.clone() + 1).multiply(x)));
        let masked = move |device: &Device| {
            let mut x = sample(dtype, 5, &[BLOCK + 1], device)?;
            let mask = sample(DType::Bool, 6, &[BLOCK + 1], device)?;
            x.masked_fill(&mask, 1)?;
            Ok(x)
        };
        add(format!("masked fill {dtype}"), Box::new(masked));
        for &to in DType::ALL {
            let cast = move |device: &Device| sample(dtype, 4, &[BLOCK + 1], device)?.cast(to);
            add(format!("cast {dtype} {to}"), Box::new(cast));
            if dtype.size() == 2 {
                let all: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
                let cast = move |device: &Device| {
                    Tensor::from_bytes(dtype, &all, [1 << 16], device)?.cast(to)
                };
                add(format!("cast of all {dtype} to {to}"), Box::new(cast));
            }
        }
    }
    cases
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
fn sample(dtype: DType, seed: u64, shape: &[usize], device: &Device) -> Result<Tensor, Error> {
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

/// Describes how two results differ, or returns `None` if they do not. All NaNs are equal.
fn difference(expected: &Tensor, found: &Tensor) -> Result<Option<String>, Error> {
    let mut found = found.to_device(&Device::cpu())?.copy()?;
    let mut expected = expected.copy()?;
    if expected.dtype() != found.dtype() || expected.shape() != found.shape() {
        return Ok(Some(format!("{expected:?} and {found:?}")));
    }
    let nan = [&expected, &found].map(|tensor| tensor.not_equal(tensor));
    let [expected_nan, found_nan] = nan;
    let (expected_nan, found_nan) = (expected_nan?, found_nan?);
    expected.masked_fill(&expected_nan, 0)?;
    found.masked_fill(&found_nan, 0)?;
    if expected_nan.bits_equal(&found_nan)? && expected.bits_equal(&found)? {
        return Ok(None);
    }
    let size = expected.dtype().size();
    let (bytes, others) = (expected.to_bytes()?, found.to_bytes()?);
    let wrong = |(x, y): &(&[u8], &[u8])| x != y;
    let mut pairs = bytes.chunks(size).zip(others.chunks(size));
    let count = pairs.clone().filter(wrong).count();
    let first = pairs.position(|pair| wrong(&pair)).unwrap_or(0);
    Ok(Some(format!("{count} of {} elements differ, the first is number {first}", expected.len())))
}
