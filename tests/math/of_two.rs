//! pow, atan2 and logaddexp of f32, f16 and bf16 in CUDA's code, compiled for the host: the same bits as the CPU's
//! functions, whose arithmetic differs. `cargo test` tries 2^18 pairs of each, `cargo xtask exhaustive` 10^8.

use std::sync::atomic::{AtomicU64, Ordering};

use half::{bf16, f16};

use crate::arguments::{Random, hard, random};
use crate::exhaustive;
use crate::function::{BF16, F16, F32, Format, Function};
use crate::host_math::{on_host, to_odd};

const BLOCK: u64 = 1 << 16;

/// Returns operands of one of several kinds: of ordinary size, where a sum of two f32 nearly always decides; whole
/// numbers, many of whose powers are exact or halfway between two numbers; from the whole range, hard, or any bits; and
/// some whose result is so near to halfway between two f32 that the slow path may have to decide.
fn operands(random_bits: &mut Random, function: Function, format: Format) -> (f64, f64) {
    let number = |random: &mut Random, size: f64| format.round(random.between(-size, size));
    match random_bits.below(16) {
        0..5 => (number(random_bits, 10.0), number(random_bits, 4.0)),
        // Where the error of a logarithm counts most: times a large exponent.
        5 if function == Function::Pow => near_tie(random_bits, function, |random| {
            (format.round(1.0 + random.between(-0.008, 0.008)), number(random, 9000.0))
        }),
        6 => (number(random_bits, 200.0).round(), number(random_bits, 6.0).round()),
        7 => (number(random_bits, 40.0).round(), number(random_bits, 20.0).round() / 2.0),
        8 => hard(random_bits, function, format),
        9 => {
            let number = |bits: u64| format.round(f64::from(f32::from_bits(bits as u32)));
            (number(random_bits.bits() >> 32), number(random_bits.bits() >> 32))
        }
        10 => near_tie(random_bits, function, |it| random(it, function, format)),
        11 => (random_bits.sign() * 0.0, number(random_bits, 200.0)),
        _ => random(random_bits, function, format),
    }
}

/// Searches a result within a 64th of a unit in the last place of halfway between two f32, for a while.
fn near_tie(
    random: &mut Random,
    function: Function,
    generator: impl Fn(&mut Random) -> (f64, f64),
) -> (f64, f64) {
    let mut pair = (1.0, 1.0);
    for _ in 0..200 {
        pair = generator(random);
        let below = (function.narrow(pair.0, pair.1).to_bits() & ((1 << 29) - 1)) as i64;
        if (below - (1 << 28)).abs() < 1 << 23 {
            break;
        }
    }
    pair
}

/// Compares the bits of one block of pairs; all NaNs count as equal. Returns how many results are numbers.
fn compare<T: Copy + Default>(
    function: Function,
    format: Format,
    block: u64,
    from: impl Fn(f64) -> T,
    bits: impl Fn(T) -> (u32, bool),
    rounded: impl Fn(f64) -> T,
) -> u64 {
    let name = format!("{function:?}").to_lowercase();
    let mut random = Random::new(77 + block);
    let pairs: Vec<(f64, f64)> =
        (0..BLOCK).map(|_| operands(&mut random, function, format)).collect();
    let (x, y): (Vec<T>, Vec<T>) = pairs.iter().map(|&(x, y)| (from(x), from(y))).unzip();
    let mut numbers = 0;
    for (&(x, y), given) in pairs.iter().zip(on_host(&name, format.name, &x, &y)) {
        let ((given, given_nan), (exact, nan)) =
            (bits(given), bits(rounded(function.narrow(x, y))));
        assert!(
            given == exact || (given_nan && nan),
            "{name} of {} {x:e} and {y:e}: {given:#x} in CUDA's code, {exact:#x} on the CPU",
            format.name
        );
        numbers += u64::from(!nan);
    }
    numbers
}

/// Compares all blocks of a function in a format.
fn run(function: Function, format: Format, block: impl Fn(u64) -> u64 + Sync) {
    let blocks = if exhaustive() { 100_000_000u64.div_ceil(BLOCK) } else { 4 };
    let (next, numbers) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= blocks {
                        break;
                    }
                    numbers.fetch_add(block(index), Ordering::Relaxed);
                }
            });
        }
    });
    let (pairs, numbers) = (blocks * BLOCK, numbers.into_inner());
    println!("{function:?} of {pairs} pairs of {}, {numbers} of them numbers", format.name);
    assert!(numbers > pairs / 2, "{function:?} is nearly always NaN");
}

#[test]
fn many_pairs_have_the_same_bits_in_cudas_code() {
    for function in [Function::Pow, Function::Atan2, Function::Logaddexp] {
        run(function, F32, |block| {
            let bits = |x: f32| (x.to_bits(), x.is_nan());
            compare(function, F32, block, |x| x as f32, bits, |x| x as f32)
        });
        run(function, F16, |block| {
            let bits = |x: f16| (x.to_bits().into(), x.is_nan());
            compare(function, F16, block, f16::from_f64, bits, |x| f16::from_f32(to_odd(x)))
        });
        run(function, BF16, |block| {
            let bits = |x: bf16| (x.to_bits().into(), x.is_nan());
            compare(function, BF16, block, bf16::from_f64, bits, |x| bf16::from_f32(to_odd(x)))
        });
    }
}
