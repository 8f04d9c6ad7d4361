//! The crate's own exp, log, pow, atan2, logaddexp and fmod, and powers of integers.
//!
//! Each is one algorithm written twice, here and in `cuda/math.cuh`, from IEEE operations alone (no fused
//! multiply-add, no library function) in the same order: so the bits are the same on every device. There
//! are no branches but in the slow part of fmod, and loops over these functions become vector code.
//!
//! - `*_f32` and `*_f64` take and give numbers of that dtype.
//! - [`narrow`] is for f16 and bf16, or whatever else is to be rounded once: it takes numbers that an f32
//!   can hold, and gives an f64 with the accuracy that an f32 needs and more.
//!
//! # Errors
//!
//! The largest that were found, in units in the last place of the result (logaddexp: of the largest of
//! result and operands). 0.5 is the best that rounding can do.
//!
//! | | f16 | bf16 | f32 | f64 |
//! |---|---|---|---|---|
//! | exp | 0.49999 | 0.49999 | 0.50000001 | 0.5048 |
//! | log | 0.49999 | 0.5 | 0.5 | 0.5 |
//! | pow | 0.5 | 0.5 | 0.500001 | 0.5047 |
//! | atan2 | 0.5 | 0.5 | 0.5 | 0.5059 |
//! | logaddexp | 0.5 | 0.5 | 0.5 | 0.5014 |
//!
//! Found by `cargo xtask exhaustive`, which runs `tests/math/`:
//!
//! - exp and log of every f16 and bf16, rounded to their own dtype and to f32.
//! - pow, atan2 and logaddexp of all 2^32 pairs of f16, and pow and atan2 of all pairs of bf16, through the operations on
//!   tensors (`tests/exhaustive16`): every result is the nearest number, and the even one in a tie or
//!   less than 2^-76 ulp beside one.
//! - f32: 10^8 random arguments, 10^5 hard ones (near 1, subnormal, huge, with results that are exact or
//!   halfway between two numbers), and 10^5 whose results are within 2^-11 of halfway.
//! - f64: 10^7 random arguments and 10^5 hard ones.
//!
//! The measure is a double-double implementation that shares nothing with this one. It was compared with 10^5
//! values of mpmath, and is at most 2^-94 off; the test itself has 2500 of them. fmod and powers of integers
//! are exact.
//!
//! # Cost
//!
//! On CUDA, sm_80 by NVRTC 12.9: no function uses local memory, and none spills. A result of f32 takes this
//! many instructions of the f64 pipe (conversions included) and a kernel around it this many registers:
//! exp 20 and 16, log 20 and 18, pow 46 and 22, logaddexp 45 and 26, atan2 54 and 29. In f64: exp 38 and 18,
//! log 50 and 28, pow 116 and 28, logaddexp 139 and 32, atan2 109 and 30.

mod fmod;
mod ipow;
pub(crate) mod narrow;
mod parts;
mod tables;
mod wide;

pub(crate) use fmod::{fmod_f32, fmod_f64, fmod_step_f32, fmod_step_f64, is_far_f32, is_far_f64};
pub(crate) use ipow::Power;
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
