//! Bytes choose a graph of operations. As an expression it must give what the operations give one after another.

#![no_main]

#[path = "../../tests/results/expressions/check.rs"]
mod check;
#[path = "../../tests/results/expressions/graph.rs"]
mod graph;
#[path = "../../tests/model/mod.rs"]
#[allow(
    unused_imports,
    unexpected_cfgs,
    reason = "the model has tests of its own, and asks for a feature"
)]
mod model;
#[path = "../../tests/results/expressions/steps.rs"]
mod steps;

use bitlane::Device;
use libfuzzer_sys::fuzz_target;
use model::random::Random;

fuzz_target!(|bytes: &[u8]| {
    let device = Device::cpu();
    check::check(&"these bytes", &|| Random::from_bytes(bytes), &device, &device);
});
