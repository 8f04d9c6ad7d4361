//! The crate's own exp, log, pow, atan2, logaddexp and fmod, and powers of integers.
//!
//! Each is one algorithm written twice, here and in `cuda/math.cuh`, from IEEE operations alone (no fused
//! multiply-add, no library function) in the same order: so the bits are the same on every device. There
//! are no branches but in the slow part of fmod, and loops over these functions become vector code.
//!
//! - `*_f32` and `*_f64` take and give numbers of that dtype.
//! - [`narrow`] is for f16 and bf16, or whatever else is to be rounded once: it takes numbers that an f32
//!   can hold, and gives an f64 with the accuracy that an f32 needs and more.

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
