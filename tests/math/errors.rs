//! The largest errors, over random and hard arguments and over all arguments of 16 bits.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::arguments::{Random, hard, is_ordinary, random};
use crate::exhaustive;
use crate::function::{BF16, F16, F32, F64, Format, Function};
use crate::reference::{exact, exponent_of};

/// The largest error allowed for a narrow result, in units in the last place.
const NARROW: f64 = 0.501;

/// The largest error allowed for an f64 result. The documented bound is 1; this is what the algorithms achieve.
const WIDE: f64 = 0.51;

/// The worst result so far.
#[derive(Clone, Copy, Default)]
struct Worst {
    error: f64,
    x: f64,
    y: f64,
    result: f64,
}

impl Worst {
    fn or(self, other: Worst) -> Worst {
        // Written so that NaN is kept.
        if other.error <= self.error { self } else { other }
    }
}

/// Computes a function in a format, and the error of the result.
fn measure(function: Function, format: Format, x: f64, y: f64) -> Worst {
    let result =
        if format == F64 { function.wide(x, y) } else { format.round(function.narrow(x, y)) };
    let unit =
        (function == Function::Logaddexp).then(|| x.abs().max(y.abs()).max(f64::MIN_POSITIVE));
    Worst { error: format.error(result, exact(function, x, y), unit), x, y, result }
}

/// Calls `task` with 0, 1, … below `count` on all cores and returns the worst result.
fn on_all_cores(count: usize, task: impl Fn(usize) -> Worst + Sync) -> Worst {
    let (next, worst) = (AtomicUsize::new(0), Mutex::new(Worst::default()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        break;
                    }
                    let found = task(index);
                    let mut worst = worst.lock().unwrap();
                    *worst = worst.or(found);
                }
            });
        }
    });
    worst.into_inner().unwrap()
}

type Generator = fn(&mut Random, Function, Format) -> (f64, f64);

/// Returns the worst result for `count` arguments.
fn worst_of(function: Function, format: Format, count: usize, generator: Generator) -> Worst {
    const BLOCK: usize = 10_000;
    on_all_cores(count.div_ceil(BLOCK), |block| {
        let mut random = Random::new(1 + block as u64);
        let mut worst = Worst::default();
        for _ in 0..BLOCK.min(count) {
            let (x, y) = generator(&mut random, function, format);
            if is_ordinary(function, x, y) {
                worst = worst.or(measure(function, format, x, y));
            }
        }
        worst
    })
}

fn check(what: &str, function: Function, format: Format, worst: Worst, bound: f64) {
    let Worst { error, x, y, result } = worst;
    let found = format!(
        "{function:?} of {}, {what}: at most {error:.9} ulp, for {x:e} and {y:e} with {result:e}",
        format.name
    );
    println!("{found}");
    assert!(error <= bound, "{found}");
}

#[test]
fn random_and_hard_results_of_f32_are_nearly_rounded() {
    let (many, few) = if exhaustive() { (100_000_000, 100_000) } else { (20_000, 5_000) };
    for function in Function::ALL {
        check("random", function, F32, worst_of(function, F32, many, random), NARROW);
        check("hard", function, F32, worst_of(function, F32, few, hard), NARROW);
    }
}

#[test]
fn random_and_hard_results_of_f64_are_nearly_rounded() {
    let (many, few) = if exhaustive() { (10_000_000, 100_000) } else { (20_000, 5_000) };
    for function in Function::ALL {
        check("random", function, F64, worst_of(function, F64, many, random), WIDE);
        check("hard", function, F64, worst_of(function, F64, few, hard), WIDE);
    }
}

/// Checks arguments whose result is within 2^-11 ulp of halfway between two numbers, where errors show.
#[test]
fn results_of_f32_near_ties_are_nearly_rounded() {
    let per_block = 500;
    let blocks = if exhaustive() { 200 } else { 2 };
    for function in Function::ALL {
        let worst = on_all_cores(blocks, |block| {
            let mut source = Random::new(1_000 + block as u64);
            let mut worst = Worst::default();
            let mut found = 0;
            while found < if exhaustive() { per_block } else { 20 } {
                let (x, y) = random(&mut source, function, F32);
                let value = function.narrow(x, y).abs();
                // The bits beyond those of an f32, for results that are not subnormal.
                let below = (value.to_bits() & ((1 << 29) - 1)) as i64;
                if value > 1e-37
                    && (below - (1 << 28)).abs() < 1 << 18
                    && is_ordinary(function, x, y)
                {
                    worst = worst.or(measure(function, F32, x, y));
                    found += 1;
                }
            }
            worst
        });
        check("near ties", function, F32, worst, NARROW);
    }
}

/// Decodes the bits of an f16.
fn f16(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    }
}

#[test]
fn rounding_and_measuring_are_right_where_they_can_be_seen() {
    assert_eq!(F16.round(2049.0), 2048.0);
    assert_eq!(F16.round(2051.0), 2052.0);
    assert_eq!(F16.round(65519.9), 65504.0);
    assert_eq!(F16.round(65520.0), f64::INFINITY);
    assert_eq!(F16.round(1.5 * 2f64.powi(-25)), 2f64.powi(-24));
    assert_eq!(F16.round(2f64.powi(-25)), 0.0);
    assert_eq!(F16.magnitudes().len(), 0x7c00);
    assert_eq!(BF16.magnitudes().len(), 0x7f80);
    for (bits, number) in F16.magnitudes().into_iter().enumerate() {
        assert_eq!(number, f16(bits as u16));
        assert_eq!(F16.round(number), number);
    }
    // A result that is one unit off has an error of one unit, also for subnormal numbers and in the last binade.
    let two = exact(Function::Exp, 0.5, 0.0);
    let near = F32.round(two.value.hi * 2f64.powi(two.exponent));
    let error = F32.error(near + 2f64.powi(-23), two, None);
    assert!(error > 0.5 && error < 1.5, "{error}");
    let excess = F32.beyond_half(near + 2f64.powi(-23), two, None);
    assert!((excess - (error - 0.5)).abs() < 1e-15, "{excess} {error}");
    assert!(F32.beyond_half(near, two, None) < 0.0);
    assert!(F32.error(f64::INFINITY, two, None) > 1e30);
    assert!(F32.error(0.0, exact(Function::Exp, -100.0, 0.0), None) > 10.0);
    assert_eq!(F32.error(f64::INFINITY, exact(Function::Exp, 100.0, 0.0), None), 0.0);
    assert!(F32.error(2f64.powi(127), exact(Function::Exp, 100.0, 0.0), None) > 1e6);
    assert_eq!(exponent_of(f64::from_bits(1)), -1074);
}
