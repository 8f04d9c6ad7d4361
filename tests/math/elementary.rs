//! Functions of one f32 whose definition an f64 can compute: a square root, a quotient and a product of f32 that is rounded
//! to f64 and then to f32 is rounded as if once, since f64 has more than twice as many bits, and whole numbers are exact.
//!
//! The CPU's loops, and CUDA's code compiled for the host. `cargo test` tries a sample, `cargo xtask exhaustive sqrt f32`
//! all 2^32.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::exhaustive;
use crate::host_math::on_host;
use bitlane::{Device, Tensor, UnaryOp, unary};

/// A function, and its definition.
type Elementary = (UnaryOp, fn(f64) -> f64);

const ELEMENTARY: [Elementary; 8] = [
    (UnaryOp::Sqrt, f64::sqrt),
    (UnaryOp::Reciprocal, |x| 1.0 / x),
    (UnaryOp::Square, |x| x * x),
    (UnaryOp::Floor, f64::floor),
    (UnaryOp::Ceil, f64::ceil),
    (UnaryOp::Trunc, f64::trunc),
    (UnaryOp::Round, f64::round_ties_even),
    (UnaryOp::Sign, sign),
];

fn sign(x: f64) -> f64 {
    if x.is_nan() { x } else { f64::from(x > 0.0) - f64::from(x < 0.0) }
}

/// Whether there is a function of this name here.
pub fn is_known(name: &str) -> bool {
    ELEMENTARY.iter().any(|(op, _)| op.name() == name)
}

/// Returns the functions that `BITLANE_PASSES` names, or all.
fn wished() -> Vec<Elementary> {
    let wish = std::env::var("BITLANE_PASSES").unwrap_or_default();
    let words: Vec<&str> = wish.split_whitespace().collect();
    let is_wished = |(op, _): &Elementary| words.is_empty() || words.contains(&op.name());
    ELEMENTARY.into_iter().filter(is_wished).collect()
}

fn check((op, definition): Elementary, x: &[f32]) {
    let operand = Tensor::from_slice(x, [x.len()], &Device::cpu()).unwrap();
    let on_cpu = unary(op, &operand).run().unwrap().to_vec::<f32>().unwrap();
    let in_cuda = on_host(op.name(), "f32", x, x);
    for (at, &x) in x.iter().enumerate() {
        let exact = definition(x.into()) as f32;
        for (given, place) in [(on_cpu[at], "on the CPU"), (in_cuda[at], "in CUDA's code")] {
            let same = given.to_bits() == exact.to_bits() || (given.is_nan() && exact.is_nan());
            assert!(same, "{op} of {x:e} ({:#x}) {place}: {given:e}, not {exact:e}", x.to_bits());
        }
    }
}

/// Every operand in the exhaustive mode, else one in 4,093.
#[test]
fn every_f32_result_is_that_of_the_definition() {
    let step = if exhaustive() { 1 } else { 4_093 };
    for function in wished() {
        let next = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(|| {
                    loop {
                        let block = next.fetch_add(1, Ordering::Relaxed);
                        if block >= 1 << 12 {
                            break;
                        }
                        let bits = (0..1 << 20).step_by(step).map(|it| block << 20 | it);
                        check(function, &bits.map(f32::from_bits).collect::<Vec<_>>());
                    }
                });
            }
        });
        println!("{}: 2^32 / {step} results of f32 are right", function.0);
    }
}
