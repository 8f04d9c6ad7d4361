//! The crate's own exp, log, pow, angles, logaddexp, hypot and fmod, and integer powers.
//!
//! Each algorithm is implemented twice, here and in `cuda/math.cuh` and `cuda/trigonometry.cuh`, with the same IEEE
//! operations in the same order and without fused multiply-add or library functions. The results therefore have the same
//! bits on every device. There are no branches except in the slow path of fmod and for large angles in f64, so that loops
//! over these functions are vectorised.
//!
//! The exceptions are sin, cos, tan, asin, acos and atan of f16, bf16 and f32, which `cuda/angles.cuh` computes in pairs
//! of f32. Their results have the same bits because both are correctly rounded, which was checked for every operand.
//!
//! - `*_f32` and `*_f64` take and return numbers of that dtype.
//! - [`narrow`] is for results that are rounded once to f16, bf16 or f32. Its functions take numbers that an f32 can
//!   represent, and return an f64 that is accurate enough for any of these roundings.
//!
//! # Errors
//!
//! The table shows the largest errors found, in units in the last place of the result (for logaddexp, of the largest of
//! the result and the operands). Correct rounding has an error of at most 0.5.
//!
//! | | f16 | bf16 | f32 | f64 |
//! |---|---|---|---|---|
//! | exp | 0.49999 | 0.49999 | 0.50000001 | 0.5048 |
//! | log | 0.49999 | 0.5 | 0.5 | 0.5 |
//! | pow | 0.5 | 0.5 | 0.500001 | 0.5047 |
//! | atan2 | 0.5 | 0.5 | 0.5 | 0.5059 |
//! | logaddexp | 0.5 | 0.5 | 0.5 | 0.5014 |
//! | sin, cos, tan | 0.5 | 0.5 | 0.5 | 0.50006 |
//! | asin | 0.5 | 0.5 | 0.5 | 0.5057 |
//! | acos | 0.5 | 0.5 | 0.5 | 0.5062 |
//! | atan | 0.5 | 0.5 | 0.5 | 0.5055 |
//! | hypot | 0.5 | 0.5 | 0.5 | 0.5 |
//!
//! They were measured by `cargo xtask exhaustive`, which runs `tests/math/`, on these arguments:
//!
//! - exp and log of every f16 and bf16, rounded to their own dtype and to f32.
//! - pow, atan2 and logaddexp of all 2^32 pairs of f16, and pow and atan2 of all pairs of bf16, through the operations
//!   on tensors (`tests/math/exhaustive16`). Every result is the nearest number, or the even one if the exact result is a
//!   tie or less than 2^-76 ulp from one.
//! - sin, cos, tan, asin, acos and atan of every f16, bf16 and f32, compared with `core-math`, and of 10^7 f64; hypot of
//!   10^9 pairs (`tests/math/of_one.rs` and `docs/proof.md`).
//! - Other functions of f32: 10^8 random arguments, 10^5 hard ones (near 1, subnormal, huge, with results that are exact or
//!   halfway between two numbers), and 10^5 whose results are within 2^-11 of halfway.
//! - Other functions of f64: 10^7 random arguments and 10^5 hard ones.
//!
//! The reference is an independent double-double implementation. It was compared with 10^5 values of mpmath, and its
//! error is at most 2^-94; the test includes 2500 of these values. fmod and integer powers are exact.
//!
//! # Cost
//!
//! On CUDA, compiled for sm_80 by NVRTC 12.9, no function uses local memory, and none spills. The table shows the
//! number of instructions of the f64 pipe, including conversions, per result, and the number of registers of a kernel
//! around the function.
//!
//! | | f32: instructions | registers | f64: instructions | registers |
//! |---|---|---|---|---|
//! | exp | 20 | 16 | 38 | 18 |
//! | log | 20 | 18 | 50 | 28 |
//! | pow | 46 | 22 | 116 | 28 |
//! | logaddexp | 45 | 26 | 139 | 32 |
//! | atan2 | 54 | 29 | 109 | 30 |
//! | sin, cos | 0 | 20 | 62 | 32 |
//! | tan | 0 | 26 | 130 | 46 |
//! | asin | 0 | 24 | 192 | 36 |
//! | acos | 0 | 23 | 195 | 34 |
//! | atan | 0 | 24 | 119 | 30 |
//! | hypot | 0 | 28 | 111 | 36 |
//!
//! The last six include the branches of divisions and square roots that are seldom taken.

mod fmod;
mod ipow;
pub(crate) mod narrow;
mod parts;
mod tables;
pub(crate) mod trigonometry;
mod wide;

pub(crate) use fmod::{fmod_f32, fmod_f64, fmod_step_f32, fmod_step_f64, is_far_f32, is_far_f64};
pub(crate) use ipow::Power;
pub(crate) use trigonometry::wide::hypot as hypot_f64;
pub(crate) use wide::{
    atan2 as atan2_f64, exp as exp_f64, log as log_f64, logaddexp as logaddexp_f64, pow as pow_f64,
};

/// e^x.
#[inline(always)]
pub(crate) fn exp_f32(x: f32) -> f32 {
    narrow::exp(x.into()) as f32
}

/// The natural logarithm.
#[inline(always)]
pub(crate) fn log_f32(x: f32) -> f32 {
    narrow::log(x.into()) as f32
}

/// x^y.
#[inline(always)]
pub(crate) fn pow_f32(x: f32, y: f32) -> f32 {
    narrow::pow(x.into(), y.into()) as f32
}

/// The angle of the point (x, y).
#[inline(always)]
pub(crate) fn atan2_f32(y: f32, x: f32) -> f32 {
    narrow::atan2(y.into(), x.into()) as f32
}

/// log(e^x + e^y).
#[inline(always)]
pub(crate) fn logaddexp_f32(x: f32, y: f32) -> f32 {
    narrow::logaddexp(x.into(), y.into()) as f32
}

/// sqrt(x^2 + y^2).
#[inline(always)]
pub(crate) fn hypot_f32(x: f32, y: f32) -> f32 {
    trigonometry::narrow::hypot(x.into(), y.into()) as f32
}
