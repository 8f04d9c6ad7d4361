//! The crate's own exponentials, logarithms, hyperbolic functions, angles, pow, logaddexp, hypot and fmod, and integer
//! powers.
//!
//! Here they consist of IEEE operations in a fixed order, without fused multiply-add or library functions, and so have
//! the same bits on every processor. There are no branches except in the slow path of fmod and for large angles in f64,
//! so that loops over these functions are vectorised.
//!
//! - `*_f32` and `*_f64` take and return numbers of that dtype.
//! - [`narrow`] is for results that are rounded once to f16, bf16 or f32. Its functions take numbers that an f32 can
//!   represent, and return an f64 that is accurate enough for any of these roundings. Those of one argument compute the
//!   sum of two f64, with an error of about 2^-60, and round it to odd, so that rounding it again gives what rounding the
//!   sum would.
//!
//! CUDA gives the same bits for one of three reasons:
//!
//! - f64: `cuda/` performs the same operations in the same order.
//! - pow, atan2 and logaddexp of f16, bf16 and f32: `cuda/of_two.cuh` computes a sum of two f32 and a bound on its error. If
//!   everything within that bound is rounded to the same number, so is the f64 here, whose error is less than a hundredth
//!   of the bound. Otherwise, in less than one of a thousand cases, it performs the operations here, in f64.
//! - f16, bf16 and f32, functions of one argument and hypot: the results here and there are both the nearest ones for every
//!   argument, and there is only one nearest number. The arithmetic differs, since most cards
//!   compute f64 at 1/32 or 1/64 of the rate of f32: `cuda/pairs.cuh` and `cuda/angles.cuh` compute in pairs of f32, and
//!   `cuda/narrow.cuh` in integers of 64 bits.
//!
//! # Errors
//!
//! Functions of one argument are correctly rounded in f16, bf16 and f32: of all 2^32 arguments of f32, and all of f16 and
//! bf16, none has another result than core-math's. That was checked for the functions here, and for those of `cuda/`
//! compiled for the host (`docs/proof.md`). Where `cuda/` cannot tell on which side of halfway a result is, it knows it:
//! that is one argument, of log1p.
//!
//! The table shows the largest errors found, in units in the last place of the result (for logaddexp, of the largest of
//! the result and the operands). Correct rounding has an error of at most 0.5.
//!
//! | | f16 | bf16 | f32 | f64 |
//! |---|---|---|---|---|
//! | exp | 0.5 | 0.5 | 0.5 | 0.5048 |
//! | exp2 | 0.5 | 0.5 | 0.5 | 0.5048 |
//! | expm1 | 0.5 | 0.5 | 0.5 | 0.5007 |
//! | log | 0.5 | 0.5 | 0.5 | 0.5 |
//! | log2 | 0.5 | 0.5 | 0.5 | 0.5 |
//! | log10 | 0.5 | 0.5 | 0.5 | 0.5 |
//! | log1p | 0.5 | 0.5 | 0.5 | 0.5 |
//! | sinh | 0.5 | 0.5 | 0.5 | 0.5047 |
//! | cosh | 0.5 | 0.5 | 0.5 | 0.5047 |
//! | tanh | 0.5 | 0.5 | 0.5 | 0.501 |
//! | asinh | 0.5 | 0.5 | 0.5 | 0.5001 |
//! | acosh | 0.5 | 0.5 | 0.5 | 0.5 |
//! | atanh | 0.5 | 0.5 | 0.5 | 0.5 |
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
//! - Functions of one argument: every f16, bf16 and f32.
//! - pow, atan2 and logaddexp of all 2^32 pairs of f16, and pow and atan2 of all pairs of bf16, through the operations
//!   on tensors (`tests/math/exhaustive16`). Every result is the nearest number, or the even one if the exact result is a
//!   tie or less than 2^-76 ulp from one.
//! - sin, cos, tan, asin, acos and atan of every f16, bf16 and f32, compared with `core-math`, and of 1.6 10^7 f64; hypot
//!   of 10^9 pairs of f32 and 10^8 of f64 (`tests/math/of_one.rs`, `tests/math/hypot.rs` and `docs/proof.md`).
//! - Other functions of f32: 10^8 random arguments, 10^5 hard ones (near 1, subnormal, huge, with results that are exact or
//!   halfway between two numbers), and 10^5 whose results are within 2^-11 of halfway.
//! - Other functions of f64: 10^7 random arguments and 10^5 hard ones.
//!
//! The reference for the errors is an independent double-double implementation. It was compared with values of mpmath,
//! and its error is at most 2^-94; the test includes 4800 of these values. core-math was compared with 102,600 correctly
//! rounded results by mpmath, of which `tests/goldens/oracle.txt` has digests. fmod and integer powers are exact.
//!
//! # Cost
//!
//! On CUDA, compiled for sm_80 by NVRTC 12.9, no function uses local memory, and none spills. The first table shows
//! the number of instructions of the f64 pipe, including conversions, per result, and the number of registers of a kernel
//! around the function.
//!
//! | | f32: instructions | registers | f64: instructions | registers |
//! |---|---|---|---|---|
//! | exp | none | 20 | 38 | 18 |
//! | log | none | 20 | 50 | 28 |
//! | pow | none, or 46 | 28 | 116 | 28 |
//! | logaddexp | none, or 45 | 30 | 139 | 32 |
//! | atan2 | none, or 54 | 34 | 109 | 30 |
//! | sin, cos | 0 | 20 | 62 | 32 |
//! | tan | 0 | 26 | 130 | 46 |
//! | asin | 0 | 24 | 192 | 36 |
//! | acos | 0 | 23 | 195 | 34 |
//! | atan | 0 | 24 | 119 | 30 |
//! | hypot | 0 | 28 | 111 | 36 |
//!
//! The last six include the branches of divisions and square roots that are seldom taken.
//!
//! No function of one f16, bf16 or f32 has an instruction of that pipe; pow, atan2 and logaddexp have those in a subroutine
//! for the few cases that sums of two f32 cannot decide (`docs/sass.md`). The second table shows all instructions of such
//! a kernel for f32, with its loads and stores. All but about one of 4000 results of exp, exp2 and the three
//! logarithms take the short path, through sums of two f32 (`cuda/pairs.cuh`). The last count includes every branch, of
//! which an argument takes one.
//!
//! | | short path | with all branches | registers |
//! |---|---|---|---|
//! | exp | 53 | 171 | 20 |
//! | exp2 | 53 | 158 | 20 |
//! | expm1 | – | 316 | 20 |
//! | log | 72 | 320 | 20 |
//! | log2 | about 85 | 335 | 20 |
//! | log10 | about 85 | 336 | 20 |
//! | log1p | – | 577 | 20 |
//! | sinh | – | 362 | 30 |
//! | cosh | – | 217 | 30 |
//! | tanh | – | 478 | 22 |
//! | asinh | – | 675 | 26 |
//! | acosh | – | 734 | 26 |
//! | atanh | – | 567 | 32 |

mod exponential;
mod fmod;
mod hyperbolic;
mod ipow;
mod logarithm;
pub(crate) mod narrow;
mod parts;
mod sums;
mod tables;
pub(crate) mod trigonometry;
mod wide;

pub(crate) use exponential::{exp as exp_f64, exp2 as exp2_f64, expm1 as expm1_f64};
pub(crate) use fmod::{fmod_f32, fmod_f64, fmod_step_f32, fmod_step_f64, is_far_f32, is_far_f64};
pub(crate) use hyperbolic::{
    acosh as acosh_f64, asinh as asinh_f64, atanh as atanh_f64, cosh as cosh_f64, sinh as sinh_f64,
    tanh as tanh_f64,
};
pub(crate) use ipow::IntegerPower;
pub(crate) use logarithm::{
    log as log_f64, log1p as log1p_f64, log2 as log2_f64, log10 as log10_f64,
};
pub(crate) use trigonometry::wide::hypot as hypot_f64;
pub(crate) use wide::{atan2 as atan2_f64, logaddexp as logaddexp_f64, pow as pow_f64};

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
