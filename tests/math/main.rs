//! The errors of the crate's own mathematical functions.
//!
//! `cargo test` tries a few thousand arguments of each kind; with `BITLANE_EXHAUSTIVE` set, as by `cargo xtask
//! exhaustive`, 10^8 for f32, 10^7 for f64 and 10^5 hard ones. `exhaustive16` covers the pairs of 16 bits, and
//! `of_one` every input of functions of one operand. What is compared with core-math needs the feature `host-kernels`.

// The module is private and independent of the rest of the crate, so it is compiled into the test.
#[path = "../../src/math/mod.rs"]
#[allow(dead_code, unused_imports)]
mod math;

mod arguments;
#[path = "../devices/mod.rs"]
mod devices;
#[cfg(feature = "host-kernels")]
mod elementary;
mod errors;
mod exact;
mod exhaustive16;
mod function;
mod goldens;
#[cfg(feature = "host-kernels")]
mod host_kernels;
#[cfg(feature = "host-kernels")]
mod host_math;
#[cfg(feature = "host-kernels")]
mod hypot;
#[cfg(feature = "host-kernels")]
#[path = "../model/mod.rs"]
#[allow(unused_imports, reason = "the tests of the model itself are run elsewhere")]
mod model;
#[cfg(feature = "host-kernels")]
mod of_one;
#[cfg(feature = "host-kernels")]
mod of_two;
#[cfg(feature = "host-kernels")]
mod oracle;
mod reference;
#[cfg(feature = "host-kernels")]
mod rounding;
mod special;
#[cfg(feature = "host-kernels")]
mod ties;

/// Returns whether the exhaustive mode is requested.
fn exhaustive() -> bool {
    std::env::var_os("BITLANE_EXHAUSTIVE").is_some_and(|value| value != "0")
}
