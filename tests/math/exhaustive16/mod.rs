//! Every pair of 16-bit operands: `pow`, `atan2`, `logaddexp` and most other operations of `f16`, `bf16`, `i16` and
//! `u16`.
//!
//! `cargo test` runs a slice: a fixed choice of left operands with every right operand. `cargo xtask exhaustive` runs
//! all 2^32 pairs of each pass. Environment variables choose what is run:
//!
//! - `BITLANE_EXHAUSTIVE`: every left operand, with progress.
//! - `BITLANE_PASSES`: the operations and dtypes, such as `pow atan2 f16`.
//! - `BITLANE_ROWS`: the left operands by their bits, such as `0..4096`.

mod definitions;
mod functions;
pub mod progress;
mod rounding;

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::devices::devices;
use crate::exhaustive;
use bitlane::{DType, Device, Tensor, binary};
use definitions::{Check, Pass, passes};
use functions::Tally;
use progress::Progress;
use rounding::Table;

#[test]
fn every_right_operand_of_16_bits() -> Result<(), String> {
    rounding::check_tables();
    let full = exhaustive();
    let (wish, rows) = (wished_passes()?, wished_rows()?);
    let (mut passed, mut failed) = (0, 0);
    for device in devices() {
        for pass in wish.iter() {
            let lefts = match full {
                true => (0..=u16::MAX).filter(|&x| rows.contains(&usize::from(x))).collect(),
                false => slice(pass, &device),
            };
            let start = Instant::now();
            let found = run(pass, &lefts, &device, full);
            let verdict = match &found {
                Ok(tally) => format!("ok{}", said(pass, tally)),
                Err(wrong) => format!("FAILED\n{wrong}"),
            };
            println!(
                "{} of {} on {device}, {} pairs in {:.1?}: {verdict}",
                pass.op,
                pass.dtype,
                lefts.len() << 16,
                start.elapsed()
            );
            if found.is_ok() { passed += 1 } else { failed += 1 }
        }
    }
    println!("{passed} passed, {failed} failed");
    if failed == 0 && passed > 0 {
        Ok(())
    } else {
        Err(format!("{failed} of {} failed", passed + failed))
    }
}

/// Formats the statistics of a function that passed.
fn said(pass: &Pass, tally: &Tally) -> String {
    let Tally { near, ties, misrounded, worst, at } = tally;
    match pass.check {
        Check::Function => format!(
            "; {near} near a tie, {ties} ties, {misrounded} not rounded to nearest; largest error 0.5 + {:e} ulp, at \
             {:e} and {:e}",
            worst, at.0, at.1
        ),
        _ => String::new(),
    }
}

/// Returns the passes that `BITLANE_PASSES` selects, by operation and dtype.
fn wished_passes() -> Result<Vec<Pass>, String> {
    let wish = std::env::var("BITLANE_PASSES").unwrap_or_default();
    let words: Vec<&str> = wish.split_whitespace().collect();
    let all = passes();
    let is_dtype = |word: &str| all.iter().any(|pass| pass.dtype.to_string() == word);
    let is_op = |word: &str| all.iter().any(|pass| pass.op.name() == word);
    if let Some(word) = words.iter().find(|word| !is_dtype(word) && !is_op(word)) {
        let mut names: Vec<&str> = all.iter().map(|pass| pass.op.name()).collect();
        names.sort_unstable();
        names.dedup();
        return Err(format!(
            "{word:?} is no operation with a pass, nor a dtype of 16 bits; there are {}",
            names.join(", ")
        ));
    }
    let wants_op = words.iter().any(|word| is_op(word));
    let wants_dtype = words.iter().any(|word| is_dtype(word));
    let named = |name: &str| words.contains(&name);
    Ok(passes()
        .into_iter()
        .filter(|pass| !wants_op || named(pass.op.name()))
        .filter(|pass| !wants_dtype || named(&pass.dtype.to_string()))
        .collect())
}

/// Returns the left operands that `BITLANE_ROWS` selects.
fn wished_rows() -> Result<Range<usize>, String> {
    let Ok(text) = std::env::var("BITLANE_ROWS") else { return Ok(0..1 << 16) };
    let range = text.split_once("..").and_then(|(first, last)| {
        Some(Range { start: first.parse().ok()?, end: last.parse().ok()? })
    });
    range
        .filter(|rows| rows.start < rows.end && rows.end <= 1 << 16)
        .ok_or(format!("BITLANE_ROWS is {text:?}, not a range within 0..65536"))
}

/// Returns a fixed choice of left operands: the ends of every range, and some in between. Functions get fewer because
/// they take longer, and a virtual device far fewer.
fn slice(pass: &Pass, device: &Device) -> Vec<u16> {
    // Next to 1 in f16 and in bf16, subnormal, large, and ordinary numbers.
    let numbers = [0x3c01, 0x3f7f, 0xc248, 0x0003, 0x3bff, 0x3f81, 0x4247, 0x7bff];
    let ends = [0, 1, 2, 0x03ff, 0x0400, 0x7bff, 0x7c00, 0x7c01, 0x7e00, 0x7f80, 0x7fff];
    let ends = ends.into_iter().flat_map(|bits: u16| [bits, bits | 0x8000]);
    let count = match (device.to_string() == "cpu", pass.check) {
        (true, Check::Bits(_)) => 30,
        (true, _) => 8,
        (false, Check::Bits(_)) => 8,
        (false, _) => 1,
    };
    numbers.into_iter().chain(ends).take(count).collect()
}

/// Runs every right operand with each of the left operands, on all cores; returns the first error.
fn run(pass: &Pass, lefts: &[u16], device: &Device, shown: bool) -> Result<Tally, String> {
    let table = Table::of(pass.dtype);
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Ok(Tally::default()));
    let progress = Progress::new(format!("{} of {}", pass.op, pass.dtype), lefts.len(), shown);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(&x) = lefts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let row = row(pass, &table, x, device);
                    let mut found = found.lock().unwrap();
                    match (row, found.as_mut()) {
                        (Ok(tally), Ok(sum)) => sum.add(tally),
                        (Err(message), Ok(_)) => {
                            *found = Err(message);
                            next.store(lefts.len(), Ordering::Relaxed);
                        }
                        (_, Err(_)) => {}
                    }
                    progress.step();
                }
            });
        }
    });
    found.into_inner().unwrap()
}

/// Runs one left operand with every right operand. Its lowest bits choose whether it is passed as one element, as a
/// view with stride 0, or as a contiguous tensor, so that several loops are tested.
fn row(pass: &Pass, table: &Table, x: u16, device: &Device) -> Result<Tally, String> {
    let &Pass { op, dtype, check } = pass;
    let upload = |elements: &[u16]| {
        let bytes: Vec<u8> = elements.iter().flat_map(|bits| bits.to_ne_bytes()).collect();
        Tensor::from_bytes(dtype, &bytes, [elements.len()], device).unwrap()
    };
    let rights: Vec<u16> = (0..=u16::MAX).collect();
    let y_tensor = upload(&rights);
    let x_tensor = match x % 4 {
        0 => upload(&[x]),
        1 => upload(&[x]).broadcast_to([1 << 16]).unwrap(),
        _ => upload(&vec![x; 1 << 16]),
    };
    let result = binary(op, &x_tensor, &y_tensor).run().map_err(|error| error.to_string())?;
    let bytes = result.to_bytes().map_err(|error| error.to_string())?;
    let words = || bytes.chunks_exact(2).map(|pair| u16::from_ne_bytes([pair[0], pair[1]]));
    let number = |bits: u16| table.values[usize::from(bits)];
    let mut tally = Tally::default();
    let wrong = match check {
        Check::Bits(definition) => {
            first_wrong(words(), |result, y| result == definition(x, y)).map(show)
        }
        Check::Rounded(definition) => first_wrong(words(), |result, y| {
            let exact = definition(number(x), number(y));
            table.exactly[usize::from(result)].contains(exact)
                || exact.is_nan() && table.is_nan(result)
        })
        .map(show),
        Check::Truth(definition) => {
            assert_eq!(result.dtype(), DType::Bool);
            let truths = bytes.iter().map(|&byte| byte.into());
            first_wrong(truths, |result, y| result == u16::from(definition(number(x), number(y))))
                .map(show)
        }
        Check::Function => {
            let wide = functions::wide(op, number(x), &table.values, device)?;
            tally = functions::check(op, table, x, &words().collect::<Vec<_>>(), &wide)?;
            None
        }
    };
    wrong.map_or(Ok(tally), |wrong| Err(format!("{x:#06x} and {wrong}")))
}

/// Returns the first wrong result with its right operand. There must be one result per operand.
fn first_wrong(
    results: impl ExactSizeIterator<Item = u16>,
    is_right: impl Fn(u16, u16) -> bool,
) -> Option<(u16, u16)> {
    assert_eq!(results.len(), 1 << 16);
    results.zip(0..=u16::MAX).find(|&(result, y)| !is_right(result, y))
}

fn show((result, y): (u16, u16)) -> String {
    format!("{y:#06x} give {result:#06x}")
}
