//! `bitlane parity`: compares a device with the CPU, bit for bit.

use bitlane::{BinaryOp, DType, Device, Error, Expr, ReduceOp, Tensor, UnaryOp};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use crate::answer::{Answer, Outcome, columns};
use crate::operands::device;

/// The maximum number of differences that are printed.
const SHOWN: usize = 10;

/// The arguments of `parity`.
#[derive(Args)]
pub struct Options {
    /// What to compare with the CPU: best, cpu, cuda or cuda:NUMBER
    #[arg(long, default_value = "best")]
    device: String,
}

/// The layout of the operands.
#[derive(Clone, Copy, Debug)]
enum Arrangement {
    Contiguous,
    Row,
    Column,
    Transposed,
    Reversed,
    Number,
}

const ARRANGEMENTS: [Arrangement; 6] = [
    Arrangement::Contiguous,
    Arrangement::Row,
    Arrangement::Column,
    Arrangement::Transposed,
    Arrangement::Reversed,
    Arrangement::Number,
];

/// The sizes of the operands, which are not multiples of any vector width.
const ROWS: usize = 23;
const COLUMNS: usize = 61;

/// A comparison to make.
struct Case {
    name: String,
    run: Computation,
}

/// The computation to run on both devices.
type Computation = Box<dyn Fn(&Device) -> Result<Tensor, Error>>;

/// Runs the command. The exit code is 1 if anything differs.
pub fn run(options: &Options) -> Outcome {
    let device = device(&options.device)?;
    let cases = cases();
    // The bar is hidden automatically if standard error is not a terminal.
    let bar = ProgressBar::new(cases.len() as u64);
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {pos}/{len} {msg}") {
        bar.set_style(style);
    }
    let (mut same, mut refused, mut differences) = (0, 0, Vec::new());
    for case in &cases {
        bar.set_message(case.name.clone());
        match ((case.run)(&Device::cpu()), (case.run)(&device)) {
            (Ok(expected), Ok(found)) => match difference(&expected, &found)? {
                None => same += 1,
                Some(words) => differences.push(format!("{}: {words}", case.name)),
            },
            (Err(expected), Err(found)) if expected.kind() == found.kind() => refused += 1,
            (expected, found) => {
                let words = [expected, found].map(|result| match result {
                    Ok(tensor) => format!("{tensor:?}"),
                    Err(error) => error.to_string(),
                });
                differences
                    .push(format!("{}: cpu: {}; {device}: {}", case.name, words[0], words[1]));
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let rows = [
        ("bitlane", env!("CARGO_PKG_VERSION").to_owned()),
        ("compared", format!("cpu with {device}")),
        ("cases", cases.len().to_string()),
        ("same bits", same.to_string()),
        ("refused by both", refused.to_string()),
        ("different", differences.len().to_string()),
    ];
    let rows: Vec<Vec<String>> = rows.map(|(key, value)| vec![key.to_owned(), value]).to_vec();
    let mut text = columns(&rows);
    for words in differences.iter().take(SHOWN) {
        text += &format!("  {words}\n");
    }
    if differences.len() > SHOWN {
        text += &format!("  and {} more\n", differences.len() - SHOWN);
    }
    let json = json!({
        "device": device.to_string(),
        "cases": cases.len(),
        "same": same,
        "refused": refused,
        "differences": differences,
    });
    Ok(Answer { text, json, ok: differences.is_empty() })
}

/// Makes an expression of another.
type Build = Box<dyn for<'a> Fn(Expr<'a>) -> Expr<'a>>;

/// Returns every binary operation in every dtype and arrangement, every unary operation, reduction and cast in every
/// dtype, and a selection of all other operations.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &dtype in DType::ALL {
        for &op in BinaryOp::ALL {
            for arrangement in ARRANGEMENTS {
                cases.push(Case {
                    name: format!("{op} {dtype} {arrangement:?}"),
                    run: Box::new(move |device| binary(op, dtype, arrangement, device)),
                });
            }
        }
        let mut of_one = |name: String, build: Build| {
            cases.push(Case {
                name: format!("{name} {dtype}"),
                run: Box::new(move |device| build(sample(dtype, 3, device)?.expr()).run()),
            });
        };
        for &op in UnaryOp::ALL {
            of_one(op.to_string(), Box::new(move |x| x.unary(op)));
        }
        for &op in ReduceOp::ALL {
            of_one(op.to_string(), Box::new(move |x| x.reduce(op, ..)));
            of_one(format!("{op} of rows"), Box::new(move |x| x.reduce(op, 1)));
            of_one(format!("{op} of columns"), Box::new(move |x| x.reduce_keepdims(op, 0)));
        }
        of_one("select".into(), Box::new(|x| x.clone().logical_not().select(x, 1)));
        of_one("clip".into(), Box::new(|x| x.clip(-1, 3)));
        of_one("fma".into(), Box::new(|x| x.clone().fma(x, 0.5)));
        of_one("bitcast".into(), Box::new(move |x| x.bitcast(bits_of(dtype))));
        of_one("a chain".into(), Box::new(|x| (x.clone() + 1).multiply(x)));
        for &to in DType::ALL {
            cases.push(Case {
                name: format!("cast {dtype} {to}"),
                run: Box::new(move |device| sample(dtype, 4, device)?.cast(to)),
            });
        }
    }
    cases
}

/// Returns the unsigned integer of a dtype's size, or the dtype itself if there is none.
fn bits_of(dtype: DType) -> DType {
    let unsigned = DType::ALL.iter().filter(|other| other.is_unsigned_int());
    unsigned.copied().find(|other| other.size() == dtype.size()).unwrap_or(dtype)
}

fn binary(
    op: BinaryOp,
    dtype: DType,
    arrangement: Arrangement,
    device: &Device,
) -> Result<Tensor, Error> {
    let (x, y) = (sample(dtype, 1, device)?, sample(dtype, 2, device)?);
    let (x, y) = match arrangement {
        Arrangement::Contiguous => (x, y),
        Arrangement::Row => (x, y.index_axis(0, 5)?),
        Arrangement::Column => (x.narrow(1, 7, 1)?, y),
        Arrangement::Transposed => (x.transpose(0, 1)?, y.contiguous()?.reshape((COLUMNS, ROWS))?),
        Arrangement::Reversed => (x.flip(1)?, y.flip(0)?),
        Arrangement::Number => return bitlane::binary(op, &x, 3).run(),
    };
    bitlane::binary(op, &x, &y).run()
}

/// Creates a tensor of pseudo-random bits, among them small numbers, large numbers, zeros and NaNs.
fn sample(dtype: DType, seed: u64, device: &Device) -> Result<Tensor, Error> {
    let mut state = seed;
    let mut bytes = Vec::with_capacity(ROWS * COLUMNS * dtype.size());
    for index in 0..ROWS * COLUMNS {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // Every third element is small, as shift amounts and exponents are.
        let bits = if index % 3 == 0 { state >> 60 } else { state ^ state >> 29 };
        let element = [bits.to_le_bytes(), (bits ^ state << 7).to_le_bytes()].concat();
        bytes.extend_from_slice(&element[..dtype.size()]);
    }
    if dtype == DType::Bool {
        bytes.iter_mut().for_each(|byte| *byte &= 1);
    }
    Tensor::from_bytes(dtype, &bytes, [ROWS, COLUMNS], device)
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
