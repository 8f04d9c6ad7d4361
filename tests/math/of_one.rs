//! Functions of one operand, compared with the crate `core-math`, whose results are correctly rounded.
//!
//! - f16 and bf16: every input, through the operations on tensors, on every device.
//! - f32: the function of the CPU and, with the feature `host-kernels`, the code for CUDA compiled for the host. `cargo
//!   test` tries a sample and the inputs whose results are nearest to a tie; `cargo xtask exhaustive FUNCTION f32` all
//!   2^32. The results must be correctly rounded.
//! - f64: random and hard inputs. A result may be the neighbour of the correctly rounded one, but seldom is.
//!
//! On devices, a sample of f32 and f64 must have the bits of the CPU's functions.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use half::{bf16, f16};

use crate::arguments::Random;
use crate::devices::devices;
use crate::exhaustive;
use crate::exhaustive16::progress::Progress;
use crate::function::{BF16, F16, F64, Format, Function};
use crate::math::trigonometry;
use crate::ties;
use bitlane::{DType, Device, Tensor, UnaryOp, unary};

/// A function of one operand.
pub struct OfOne {
    pub name: &'static str,
    /// The crate's function for narrow formats, before its result is rounded.
    narrow: fn(f64) -> f64,
    /// The crate's function for f64.
    wide: fn(f64) -> f64,
    /// The correctly rounded results.
    pub exact_f32: fn(f32) -> f32,
    pub exact_f64: fn(f64) -> f64,
    /// An f64 that is neither infinite nor beyond the domain, and is hard if the flag is set.
    argument: fn(&mut Random, bool) -> f64,
    /// The f32 inputs whose results are nearest to a tie, as bits.
    ties: &'static [u32],
}

macro_rules! of_one {
    ($($name:ident: $module:path, $exact_f32:path, $exact_f64:path, $argument:path, $ties:path;)*) => {
        &[$({
            use $module as module;
            OfOne {
                name: stringify!($name),
                narrow: module::narrow::$name,
                wide: module::wide::$name,
                exact_f32: $exact_f32,
                exact_f64: $exact_f64,
                argument: $argument,
                ties: &$ties,
            }
        }),*]
    };
}

/// Every function that is tested here.
pub const OF_ONE: &[OfOne] = of_one! {
    sin: trigonometry, core_math::sinf, core_math::sin, angle, ties::SIN;
    cos: trigonometry, core_math::cosf, core_math::cos, angle, ties::COS;
    tan: trigonometry, core_math::tanf, core_math::tan, angle, ties::TAN;
    asin: trigonometry, core_math::asinf, core_math::asin, sine, ties::ASIN;
    acos: trigonometry, core_math::acosf, core_math::acos, sine, ties::ACOS;
    atan: trigonometry, core_math::atanf, core_math::atan, any, ties::ATAN;
};

/// Returns a number of any size, or a hard one near a power of two.
fn any(random: &mut Random, hard: bool) -> f64 {
    match (hard, random.below(2)) {
        (false, 0) => random.between(-10.0, 10.0),
        (false, _) => random.sign() * random.positive(F64),
        (true, 0) => random.sign() * 2f64.powi(random.exponent(-1022, 1023)),
        (true, _) => random.sign() * random.near_one(F64),
    }
}

/// Returns an angle: of ordinary size or of any, and hard ones next to a multiple of a quarter turn.
fn angle(random: &mut Random, hard: bool) -> f64 {
    if !hard {
        return any(random, false);
    }
    let quarters = (random.bits() >> random.below(64)) as f64;
    let near = quarters * std::f64::consts::FRAC_PI_2;
    match random.below(4) {
        0 => random.sign() * power(random.between(1.0, 2.0), random.exponent(200, 1023)),
        1 => random.sign() * f64::from_bits(random.below(1 << 52)),
        2 => near,
        _ => f64::from_bits(near.to_bits() + random.below(4)),
    }
}

/// Returns a sine: from −1 to 1, and hard ones next to 0, 1/2 and 1.
fn sine(random: &mut Random, hard: bool) -> f64 {
    let size = power(random.between(1.0, 2.0), random.exponent(-54, -2));
    random.sign()
        * match (hard, random.below(4)) {
            (false, _) => random.between(0.0, 1.0),
            (true, 0) => random.positive(F64).min(1.0),
            (true, 1) => 1.0 - size,
            (true, 2) => 0.5 + size / 2.0 * random.sign(),
            (true, _) => size,
        }
}

fn power(x: f64, exponent: i32) -> f64 {
    crate::reference::power_of_two(x, exponent)
}

/// Returns the functions that `BITLANE_PASSES` names, or all.
fn wished() -> Result<Vec<&'static OfOne>, String> {
    let wish = std::env::var("BITLANE_PASSES").unwrap_or_default();
    let words: Vec<&str> = wish.split_whitespace().collect();
    let is_known = |word: &str| {
        let of_one = OF_ONE.iter().any(|of_one| of_one.name == word);
        of_one || Function::named(word).is_some() || crate::elementary::is_known(word)
    };
    if let Some(word) = words.iter().find(|word| !is_known(word)) {
        let names: Vec<&str> = OF_ONE.iter().map(|of_one| of_one.name).collect();
        return Err(format!(
            "{word:?} is no function of one operand with a pass; there are {}, exponentials, logarithms, hyperbolic functions, and sqrt, reciprocal, square, floor, ceil, trunc, round and sign",
            names.join(", ")
        ));
    }
    let is_wished = |of_one: &&OfOne| words.is_empty() || words.contains(&of_one.name);
    Ok(OF_ONE.iter().filter(is_wished).collect())
}

/// Something that computes a function for an array of f32.
type Implementation = (&'static str, fn(&OfOne, &[f32]) -> Vec<f32>);

const IMPLEMENTATIONS: &[Implementation] = &[
    ("on the CPU", |of_one, x| x.iter().map(|&x| (of_one.narrow)(x.into()) as f32).collect()),
    #[cfg(feature = "host-kernels")]
    ("in CUDA's code on the host", |of_one, x| crate::host_math::on_host(of_one.name, "f32", x, x)),
];

/// Checks all inputs in blocks that share their upper bits, and returns the wrong ones of each implementation.
fn run(of_one: &OfOne, blocks: u32, block: impl Fn(u32) -> Vec<f32> + Sync) -> Vec<Vec<u32>> {
    let next = AtomicU32::new(0);
    let wrong = Mutex::new(vec![vec![]; IMPLEMENTATIONS.len()]);
    let progress = Progress::new(format!("{} of f32", of_one.name), blocks as usize, exhaustive());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= blocks {
                        break;
                    }
                    let x = block(index);
                    let exact: Vec<f32> = x.iter().map(|&x| (of_one.exact_f32)(x)).collect();
                    for (place, (_, implementation)) in IMPLEMENTATIONS.iter().enumerate() {
                        let given = implementation(of_one, &x);
                        let differs = |at: &usize| {
                            let (given, exact) = (given[*at], exact[*at]);
                            given.to_bits() != exact.to_bits()
                                && !(given.is_nan() && exact.is_nan())
                        };
                        let found = (0..x.len()).filter(differs).map(|at| x[at].to_bits());
                        wrong.lock().unwrap()[place].extend(found);
                    }
                    progress.step();
                }
            });
        }
    });
    wrong.into_inner().unwrap()
}

#[test]
fn every_f32_result_is_correctly_rounded() -> Result<(), String> {
    let mut failed = false;
    for of_one in wished()? {
        let start = Instant::now();
        let (count, wrong) = if exhaustive() {
            let block = |index: u32| (index << 16..=index << 16 | 0xffff).map(f32::from_bits);
            (1u64 << 32, run(of_one, 1 << 16, |index| block(index).collect()))
        } else {
            // Two inputs in 2^16, the first and another whose place varies, and the ones near ties.
            let sample = (0..1u32 << 16).flat_map(|index| {
                [0, index.wrapping_mul(40_503) & 0xffff].map(|low| index << 16 | low)
            });
            let near = of_one.ties.iter().flat_map(|&bits| [bits, bits ^ 1 << 31]);
            let x: Vec<f32> = sample.chain(near).map(f32::from_bits).collect();
            (x.len() as u64, run(of_one, 1, |_| x.clone()))
        };
        for ((implementation, _), wrong) in IMPLEMENTATIONS.iter().zip(&wrong) {
            println!(
                "{} of {count} f32, {implementation}: {} wrong, in {:.0?}",
                of_one.name,
                wrong.len(),
                start.elapsed()
            );
            for &bits in wrong.iter().take(50) {
                let x = f32::from_bits(bits);
                println!("  {bits:#010x}, {x:e}, should give {:e}", (of_one.exact_f32)(x));
            }
            failed |= !wrong.is_empty();
        }
    }
    if failed { Err("not every result is correctly rounded".into()) } else { Ok(()) }
}

/// Checks every input of a format of 16 bits, given its bits' values.
fn check_16_bits(dtype: DType, format: Format, value: fn(u16) -> f64, device: &Device) {
    let bytes: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_ne_bytes).collect();
    let x = Tensor::from_bytes(dtype, &bytes, [1 << 16], device).unwrap();
    for of_one in OF_ONE {
        let op: UnaryOp = of_one.name.parse().unwrap();
        let bytes = unary(op, &x).run().unwrap().to_bytes().unwrap();
        let results = bytes.chunks_exact(2).map(|pair| u16::from_ne_bytes([pair[0], pair[1]]));
        for (bits, result) in (0..=u16::MAX).zip(results) {
            let (exact, given) = ((of_one.exact_f64)(value(bits)), value(result));
            let expected = format.round(exact);
            assert!(
                given.to_bits() == expected.to_bits() || (given.is_nan() && expected.is_nan()),
                "{op} of {dtype} {bits:#06x} on {device}: {given:e}, not {expected:e}"
            );
        }
    }
}

#[test]
fn every_16_bit_result_is_correctly_rounded() {
    for device in devices() {
        check_16_bits(DType::F16, F16, |bits| f16::from_bits(bits).to_f64(), &device);
        check_16_bits(DType::BF16, BF16, |bits| bf16::from_bits(bits).to_f64(), &device);
    }
}

/// Runs a function on a device, and checks that the results have the bits that the CPU's function gives.
fn check_bits<T: bitlane::Element>(
    of_one: &OfOne,
    device: &Device,
    x: &[T],
    expected: impl Fn(T) -> f64,
    value: impl Fn(T) -> f64,
) {
    let operand = Tensor::from_slice(x, [x.len()], device).unwrap();
    let op: UnaryOp = of_one.name.parse().unwrap();
    let results = unary(op, &operand).run().unwrap().to_vec::<T>().unwrap();
    for (&x, result) in x.iter().zip(results) {
        let (given, expected) = (value(result), expected(x));
        assert!(
            given.to_bits() == expected.to_bits() || (given.is_nan() && expected.is_nan()),
            "{op} of {} {:e} on {device}: {given:e}, not {expected:e}",
            T::DTYPE,
            value(x)
        );
    }
}

#[test]
fn every_device_gives_the_same_bits() {
    for device in devices() {
        for of_one in OF_ONE {
            let near = of_one.ties.iter().flat_map(|&bits| [bits, bits ^ 1 << 31]);
            let sample = (0..1 << 12).map(|index: u32| index << 20 | index.wrapping_mul(40_503));
            let x: Vec<f32> = near.chain(sample).map(f32::from_bits).collect();
            check_bits(of_one, &device, &x, |x| (of_one.exact_f32)(x).into(), f64::from);
            let mut random = Random::new(78);
            let x: Vec<f64> =
                (0..2000).map(|at| (of_one.argument)(&mut random, at % 2 == 0)).collect();
            check_bits(of_one, &device, &x, of_one.wide, |x| x);
        }
    }
}

#[test]
fn f64_results_are_nearly_always_correctly_rounded() {
    let counts = if exhaustive() { [10_000_000, 6_000_000] } else { [40_000, 10_000] };
    for of_one in OF_ONE {
        for (hard, count) in [false, true].into_iter().zip(counts) {
            let mut random = Random::new(77);
            let mut rounded_wrongly = 0;
            for _ in 0..count {
                let x = (of_one.argument)(&mut random, hard);
                let (given, exact) = ((of_one.wide)(x), (of_one.exact_f64)(x));
                let apart = given.to_bits().abs_diff(exact.to_bits());
                assert!(apart <= 1, "{} of {x:e}: {given:e}, not {exact:e}", of_one.name);
                rounded_wrongly += apart;
            }
            let kind = if hard { "hard" } else { "random" };
            println!(
                "{} of {count} {kind} f64: {rounded_wrongly} not correctly rounded",
                of_one.name
            );
            assert!(rounded_wrongly * 500 <= count, "{} of {kind} f64", of_one.name);
        }
    }
}
