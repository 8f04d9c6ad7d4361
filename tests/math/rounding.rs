//! Functions of one argument are rounded correctly to f16, bf16 and f32: the results are those of core-math.
//!
//! Each run checks every argument of 16 bits, a sample of those of f32, and all those of f32 whose results are nearest to
//! halfway between two numbers, where a small error shows. With `BITLANE_EXHAUSTIVE` set, it checks all 2^32.

use std::sync::atomic::{AtomicU64, Ordering};

use half::{bf16, f16};

use crate::arguments::{Random, hard};
use crate::exhaustive;
use crate::function::{BF16, F16, F32, F64, Format, Function};

/// Returns whether two numbers have the same bits, or both are NaN.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

/// Returns whether the crate's result for an f32 has the right bits.
fn is_right(function: Function, x: f32) -> bool {
    let (given, expected) = (function.narrow(x.into(), 0.0) as f32, function.rounded_f32()(x));
    same(given.into(), expected.into())
}

fn every_16_bits(format: Format, decode: fn(u16) -> f64) {
    for function in Function::of_one() {
        let exact = function.rounded_f64();
        let mut exact_ties = 0;
        for x in (0..=u16::MAX).map(decode) {
            // This was rounded to an f64 already. Rounding it again is right unless it is halfway between two numbers,
            // or was before.
            let near = exact(x);
            let expected = format.round(near);
            if near.is_finite() && near != 0.0 {
                let around = [near.next_down(), near.next_up()].map(|it| format.round(it));
                if around[0] != around[1] {
                    assert!(function == Function::Exp2 && x.fract() == 0.0, "{function:?} {x:e}");
                    exact_ties += 1;
                }
            }
            let given = format.round(function.narrow(x, 0.0));
            assert!(
                same(given, expected),
                "{function:?} of {} {x:e}: {given:e}, not {expected:e}",
                format.name
            );
        }
        // Half of the smallest number is a power of two.
        assert_eq!(exact_ties, usize::from(function == Function::Exp2), "{function:?}");
    }
}

#[test]
fn every_argument_of_16_bits_is_rounded_correctly() {
    every_16_bits(F16, |bits| f16::from_bits(bits).into());
    every_16_bits(BF16, |bits| bf16::from_bits(bits).into());
}

#[test]
fn f32_arguments_are_rounded_correctly() {
    let count = 100_000;
    for function in Function::of_one() {
        let mut random = Random::new(7);
        for index in 0..count {
            let x = match index % 4 {
                0 => hard(&mut random, function, F32).0 as f32,
                _ => f32::from_bits(random.bits() as u32),
            };
            assert!(is_right(function, x), "{function:?} of {x:e} ({:#x})", x.to_bits());
        }
    }
}

/// `tests/goldens/ties.txt` has a line per function, with the bits of all its arguments of f32 whose results are within
/// 2^-26 of halfway between two numbers.
#[test]
fn results_nearest_to_ties_are_rounded_correctly() {
    let text = include_str!("../goldens/ties.txt");
    let mut seen = Vec::new();
    for line in text.lines() {
        let (name, list) = line.split_once(' ').unwrap();
        let function = Function::named(name).unwrap();
        for word in list.split(' ') {
            let x = f32::from_bits(u32::from_str_radix(word, 16).unwrap());
            assert!(is_right(function, x), "{function:?} of {x:e} ({:#x})", x.to_bits());
        }
        seen.push(function);
    }
    assert!(Function::of_one().all(|function| seen.contains(&function)), "{seen:?}");
}

/// Every argument in the exhaustive mode, else one in 65,521. Prints what it found, for the tables in `src/math/mod.rs`
/// and `docs/proof.md`.
#[test]
fn every_f32_is_rounded_correctly() {
    let step = if exhaustive() { 1 } else { 65_521 };
    for function in Function::wished() {
        let (next, wrong) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(|| {
                    loop {
                        let block = next.fetch_add(1, Ordering::Relaxed);
                        if block >= 1 << 12 {
                            break;
                        }
                        let bits = (block << 20..(block + 1) << 20).step_by(step);
                        let arguments = bits.map(|x| f32::from_bits(x as u32));
                        let count = arguments.filter(|&x| !is_right(function, x)).count();
                        wrong.fetch_add(count as u64, Ordering::Relaxed);
                    }
                });
            }
        });
        println!("{function:?}: {wrong:?} results of f32, of 2^32 / {step}, are not the nearest");
        assert_eq!(wrong.into_inner(), 0, "{function:?}");
    }
}

/// Results of f64 need not be the nearest, but are the nearest or one of the two around the exact one.
#[test]
fn f64_results_are_next_to_those_of_core_math() {
    let count = if exhaustive() { 10_000_000 } else { 50_000 };
    for function in Function::of_one() {
        let (exact, mut random, mut other) = (function.rounded_f64(), Random::new(8), 0);
        for index in 0..count {
            let x = match index % 4 {
                0 => hard(&mut random, function, F64).0,
                1 => f64::from_bits(random.bits()),
                _ => crate::arguments::random(&mut random, function, F64).0,
            };
            let (given, expected) = (function.wide(x, 0.0), exact(x));
            if !same(given, expected) {
                let near = given == expected.next_up() || given == expected.next_down();
                assert!(near, "{function:?} of {x:e}: {given:e}, not {expected:e}");
                other += 1;
            }
        }
        println!("{function:?}: {other} of {count} results of f64 are not the nearest");
        assert!(other < count / 50, "{function:?}: {other}");
    }
}
