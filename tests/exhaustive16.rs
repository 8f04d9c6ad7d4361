//! Every pair of 16-bit operands: the four shifts of `u16` and `i16`, copysign of `f16` and `bf16`.
//!
//! In `cargo test` it takes a slice of 2^22 pairs of each, a fixed choice; `cargo xtask exhaustive`,
//! which sets `BITLANE_EXHAUSTIVE`, takes all 2^32 of each.

mod devices;

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use bitlane::{BinaryOp, DType, Device, Shift, Tensor, binary};

/// The function of two elements' bits that a pass must compute.
type Definition = fn(u16, u16) -> u16;

/// docs/semantics.md, sections 3 and 4 for 16 bits, each in the plainest way that a compiler makes fast.
const PASSES: [(BinaryOp, DType, Definition); 10] = [
    (BinaryOp::LeftShift(Shift::Arithmetic), DType::U16, shift_left),
    (BinaryOp::LeftShift(Shift::Logical), DType::U16, shift_left),
    (BinaryOp::RightShift(Shift::Arithmetic), DType::U16, shift_right_with_zeros),
    (BinaryOp::RightShift(Shift::Logical), DType::U16, shift_right_with_zeros),
    // Read as unsigned, a negative amount is at least 2^15, and so out of range as it must be.
    (BinaryOp::LeftShift(Shift::Arithmetic), DType::I16, shift_left),
    (BinaryOp::LeftShift(Shift::Logical), DType::I16, shift_left),
    (BinaryOp::RightShift(Shift::Arithmetic), DType::I16, shift_right_with_sign),
    (BinaryOp::RightShift(Shift::Logical), DType::I16, shift_right_with_zeros),
    (BinaryOp::Copysign, DType::F16, copysign),
    (BinaryOp::Copysign, DType::BF16, copysign),
];

fn shift_left(x: u16, y: u16) -> u16 {
    if y < 16 { (u32::from(x) << y) as u16 } else { 0 }
}

fn shift_right_with_zeros(x: u16, y: u16) -> u16 {
    if y < 16 { (u32::from(x) >> y) as u16 } else { 0 }
}

fn shift_right_with_sign(x: u16, y: u16) -> u16 {
    // From 15 on only the sign is left.
    (i32::from(x as i16) >> y.min(15)) as u16
}

fn copysign(x: u16, y: u16) -> u16 {
    x % 0x8000 + y / 0x8000 * 0x8000
}

fn main() -> ExitCode {
    let full = std::env::var_os("BITLANE_EXHAUSTIVE").is_some_and(|value| value != "0");
    let lefts: Vec<u16> = if full { (0..=u16::MAX).collect() } else { slice() };
    let (mut passed, mut failed) = (0, 0);
    for device in devices::devices() {
        for (op, dtype, definition) in PASSES {
            let start = Instant::now();
            let wrong = run(op, dtype, definition, &lefts, &device);
            let verdict = match &wrong {
                None => "ok".to_string(),
                Some(wrong) => format!("FAILED\n{wrong}"),
            };
            println!(
                "test {op} of {dtype} on {device}, {} pairs in {:.1?} ... {verdict}",
                lefts.len() << 16,
                start.elapsed()
            );
            if wrong.is_none() { passed += 1 } else { failed += 1 }
        }
    }
    println!("{passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// 64 left operands: the ends of every range, and some in between.
fn slice() -> Vec<u16> {
    let ends = [0, 1, 2, 0x03ff, 0x0400, 0x7bff, 0x7c00, 0x7c01, 0x7e00, 0x7f80, 0x7fff];
    let ends = ends.into_iter().flat_map(|bits: u16| [bits, bits | 0x8000]);
    let between = (0..42u32).map(|step| (step * 40_503 + 12_345) as u16);
    ends.chain(between).collect()
}

/// Every right operand with each of the left ones, on all cores; says what went wrong first.
fn run(
    op: BinaryOp,
    dtype: DType,
    definition: Definition,
    lefts: &[u16],
    device: &Device,
) -> Option<String> {
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(None);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(&x) = lefts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(message) = row(op, dtype, definition, x, device) {
                        wrong.lock().unwrap().get_or_insert(message);
                        next.store(lefts.len(), Ordering::Relaxed);
                    }
                }
            });
        }
    });
    wrong.into_inner().unwrap()
}

/// One left operand with every right one. Whether it comes as one element, as a view that stands
/// still or laid out beside them depends on its lowest bits, so that several loops take part.
fn row(
    op: BinaryOp,
    dtype: DType,
    definition: Definition,
    x: u16,
    device: &Device,
) -> Result<(), String> {
    let bytes = |bits: &mut dyn Iterator<Item = u16>| -> Vec<u8> {
        bits.flat_map(u16::to_ne_bytes).collect()
    };
    let upload =
        |bytes: &[u8]| Tensor::from_bytes(dtype, bytes, [bytes.len() / 2], device).unwrap();
    thread_local! {
        static RIGHTS: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_ne_bytes).collect();
    }
    let y = RIGHTS.with(|rights| upload(rights));
    let x_tensor = match x % 4 {
        0 => upload(&x.to_ne_bytes()),
        1 => upload(&x.to_ne_bytes()).broadcast_to([1 << 16]).unwrap(),
        _ => upload(&bytes(&mut std::iter::repeat_n(x, 1 << 16))),
    };
    let result = binary(op, &x_tensor, &y).run().map_err(|error| error.to_string())?;
    let result = result.to_bytes().map_err(|error| error.to_string())?;
    let pairs = || result.chunks_exact(2).map(|pair| u16::from_ne_bytes([pair[0], pair[1]]));
    if pairs().zip(0..=u16::MAX).all(|(result, y)| result == definition(x, y)) {
        return Ok(());
    }
    let (result, y) = pairs().zip(0..).find(|&(result, y)| result != definition(x, y)).unwrap();
    Err(format!("{x:#06x} and {y:#06x} give {result:#06x}, not {:#06x}", definition(x, y)))
}
