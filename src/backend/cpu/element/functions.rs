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
        Log: math::log_f64;
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
        NarrowLog: narrow::log;
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
