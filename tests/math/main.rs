//! The crate's own exp, log, pow, atan2, logaddexp, fmod and powers of integers: how far from the exact result.
//!
//! In `cargo test` a few thousand arguments of each kind; with `BITLANE_EXHAUSTIVE` set, as `cargo xtask
//! exhaustive` does, 10^8 for f32, 10^7 for f64 and 10^5 hard ones. `tests/exhaustive16` has the pairs of 16 bits.

// The module is private, and needs nothing of the crate: it is compiled into the test.
#[path = "../../src/math/mod.rs"]
#[allow(dead_code, unused_imports)]
mod math;

mod arguments;
mod errors;
mod exact;
mod function;
mod goldens;
mod reference;
mod special;

/// Whether everything is to be tried.
fn exhaustive() -> bool {
    std::env::var_os("BITLANE_EXHAUSTIVE").is_some_and(|value| value != "0")
}
