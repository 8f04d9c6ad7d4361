//! The functions of `crate::math`, as element functions.
//!
//! They are computed in `f64`: those named `Narrow` for arguments that are floats of at most 32 bits, which need less
//! to be rounded once, the others for `f64` itself.

use super::{Apply, Map};
use crate::math::trigonometry::{narrow as narrow_angles, wide as angles};
use crate::math::{self, narrow};

macro_rules! functions {
    (one { $($one:ident: $map:path;)* } two { $($two:ident: $apply:path;)* }) => {
        $(
            pub(crate) struct $one;

            impl Map<f64> for $one {
                type Output = f64;

                #[inline(always)]
                fn map(x: f64) -> f64 {
                    $map(x)
                }
            }
        )*
        $(
            pub(crate) struct $two;

            impl Apply<f64> for $two {
                type Output = f64;

                #[inline(always)]
                fn apply(x: f64, y: f64) -> f64 {
                    $apply(x, y)
                }
            }
        )*
    };
}

functions! {
    one {
        Exp: math::exp_f64;
        Exp2: math::exp2_f64;
        Expm1: math::expm1_f64;
        Log: math::log_f64;
        Log2: math::log2_f64;
        Log10: math::log10_f64;
        Log1p: math::log1p_f64;
        Sinh: math::sinh_f64;
        Cosh: math::cosh_f64;
        Tanh: math::tanh_f64;
        Asinh: math::asinh_f64;
        Acosh: math::acosh_f64;
        Atanh: math::atanh_f64;
        Sin: angles::sin;
        Cos: angles::cos;
        Tan: angles::tan;
        Asin: angles::asin;
        Acos: angles::acos;
        Atan: angles::atan;
        NarrowSin: narrow_angles::sin;
        NarrowCos: narrow_angles::cos;
        NarrowTan: narrow_angles::tan;
        NarrowAsin: narrow_angles::asin;
        NarrowAcos: narrow_angles::acos;
        NarrowAtan: narrow_angles::atan;
        NarrowExp: narrow::exp;
        NarrowExp2: narrow::exp2;
        NarrowExpm1: narrow::expm1;
        NarrowLog: narrow::log;
        NarrowLog2: narrow::log2;
        NarrowLog10: narrow::log10;
        NarrowLog1p: narrow::log1p;
        NarrowSinh: narrow::sinh;
        NarrowCosh: narrow::cosh;
        NarrowTanh: narrow::tanh;
        NarrowAsinh: narrow::asinh;
        NarrowAcosh: narrow::acosh;
        NarrowAtanh: narrow::atanh;
    }
    two {
        FloatPow: math::pow_f64;
        Atan2: math::atan2_f64;
        LogAddExp: math::logaddexp_f64;
        Hypot: angles::hypot;
        NarrowHypot: narrow_angles::hypot;
        NarrowPow: narrow::pow;
        NarrowAtan2: narrow::atan2;
        NarrowLogAddExp: narrow::logaddexp;
    }
}
