//! The functions of `crate::math` for every float.

macro_rules! through_std {
    ($($float:ident, $widen:expr, $narrow:expr;)*) => {$(
        pub(super) mod $float {
            use half::*;
            #[allow(unused_imports)]
            use super::*;
            type F = $float;
            #[inline(always)]
            pub(in super::super) fn pow(x: F, y: F) -> F { $narrow($widen(x).powf($widen(y))) }
            #[inline(always)]
            pub(in super::super) fn exp(x: F) -> F { $narrow($widen(x).exp()) }
            #[inline(always)]
            pub(in super::super) fn log(x: F) -> F { $narrow($widen(x).ln()) }
            #[inline(always)]
            pub(in super::super) fn atan2(x: F, y: F) -> F { $narrow($widen(x).atan2($widen(y))) }
            #[inline(always)]
            pub(in super::super) fn logaddexp(x: F, y: F) -> F { $narrow(($widen(x).exp() + $widen(y).exp()).ln()) }
        }
    )*};
}
use crate::cast::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};
through_std! {
    f16, f16_to_f32, f32_to_f16;
    bf16, bf16_to_f32, f32_to_bf16;
    f32, std::convert::identity, std::convert::identity;
    f64, std::convert::identity, std::convert::identity;
}
