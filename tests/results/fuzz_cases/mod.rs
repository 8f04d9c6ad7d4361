//! The cases of the fuzz targets, from random seeds: calls compared with the definition for one element.
//!
//! The seed differs in each run and is printed; `BITLANE_SEED` repeats a run. `BITLANE_CASES` sets the number of calls:
//! by default 100,000 on the CPU (fewer in a debug build), and 300 on CUDA, where almost every call needs a kernel
//! compiled.

mod case;
mod check;

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::corpus::corpus;
use crate::devices::devices;
use crate::model::random::Random;
use bitlane::Device;
use case::Case;

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
}

/// Runs one case, and prints how to reproduce it if it fails.
fn check(seed: u64, device: &Device) {
    let run = || check::check(&Case::random(&mut Random::new(seed)), device);
    if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
        eprintln!("BITLANE_SEED={seed} BITLANE_CASES=1 repeats this case, on {device}");
        resume_unwind(panic);
    }
}

#[test]
fn random_calls_do_what_the_definition_says() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seed = number("BITLANE_SEED").unwrap_or(now);
    eprintln!("BITLANE_SEED={seed} repeats this run");
    let default = if cfg!(debug_assertions) { 5_000 } else { 100_000 };
    for device in devices() {
        let is_cpu = device.to_string() == "cpu";
        let count = number("BITLANE_CASES").unwrap_or(if is_cpu { default } else { 300 });
        for index in 0..count {
            check(seed.wrapping_add(index.wrapping_mul(0x9e37_79b9)), &device);
        }
        eprintln!("{count} calls on {device} do what the definition says");
    }
}

#[test]
fn the_corpus_of_the_fuzzer_passes() {
    for (name, bytes) in corpus("calls") {
        eprintln!("{name}");
        check::check(&Case::random(&mut Random::from_bytes(&bytes)), &devices()[0]);
    }
}

#[test]
fn bytes_lead_to_every_kind_of_call() {
    // The same generator on bytes: it terminates without any, and different bytes give different cases.
    let none = Case::random(&mut Random::from_bytes(&[]));
    assert!(none.shape.is_empty() && none.out.is_none());
    let (mut destinations, mut masks, mut numbers) = (0, 0, 0);
    let mut random = Random::new(1);
    for _ in 0..300 {
        let bytes: Vec<u8> = (0..200).map(|_| random.below(256) as u8).collect();
        let case = Case::random(&mut Random::from_bytes(&bytes));
        destinations += usize::from(case.out.is_some());
        masks += usize::from(case.mask.is_some());
        let is_number = |operand: &case::Operand| matches!(operand, case::Operand::Number(_));
        numbers += usize::from(is_number(&case.lhs) || is_number(&case.rhs));
        check::check(&case, &devices()[0]);
    }
    assert!(destinations > 100 && masks > 50 && numbers > 40, "{destinations} {masks} {numbers}");
}
