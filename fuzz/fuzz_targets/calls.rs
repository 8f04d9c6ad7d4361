//! Bytes choose a call of a binary operation: operands, views, dtypes, rules, numbers, a destination and a mask. It must
//! do what the definition of one element says, and leave everything else alone.

#![no_main]

#[path = "../../tests/results/fuzz_cases/case.rs"]
mod case;
#[path = "../../tests/results/fuzz_cases/check.rs"]
mod check;
#[path = "../../tests/model/mod.rs"]
#[allow(
    unused_imports,
    unexpected_cfgs,
    reason = "the model has tests of its own, and asks for a feature"
)]
mod model;

use bitlane::Device;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let case = case::Case::random(&mut model::random::Random::from_bytes(bytes));
    check::check(&case, &Device::cpu());
});
