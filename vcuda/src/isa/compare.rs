//! Comparisons and selections.

// These are written out because of NaN: for floats, `!(a < b)` is not `a >= b`.
#![allow(clippy::neg_cmp_op_on_partial_ord, clippy::double_comparisons, clippy::nonminimal_bool)]

use super::half::{Half, to_f64};
use super::lane::{Lane, Operands, Registers};
use super::types::*;
use super::{Row, rows};
use crate::ptx::ast::Class;

/// Rows `setp.CMP.TYPE`, each with a predicate `|a, b|`. The immediate holds the Boolean operator applied to the
/// result.
macro_rules! comparisons {
    ($($name:literal [$($t:ident)*] = $f:expr;)*) => {
        pub(super) const ROWS: &[Row] = &[$($({
            fn body(r: &mut Registers, o: &Operands, mask: u32) {
                r.compare::<$t>(o, mask, $f)
            }
            Row {
                name: concat!("setp.", $name, ".", stringify!($t)),
                d: &[Class::Pred; 2],
                s: &[<$t as Lane>::CLASS, <$t as Lane>::CLASS, Class::Pred],
                body,
            }
        },)*)*];
    };
}

/// The same for packed pairs: the result for the lower halves goes to the first destination, that for the upper halves
/// to the second.
macro_rules! pair_comparisons {
    ($($name:literal = $f:expr;)*) => {
        pub(super) const PAIRS: &[Row] = &[$(
            pair_comparisons!(@row concat!("setp.", $name, ".f16x2"), f16, $f),
            pair_comparisons!(@row concat!("setp.", $name, ".bf16x2"), bf16, $f),
        )*];
    };
    (@row $name:expr, $half:ty, $f:expr) => {{
        fn body(r: &mut Registers, o: &Operands, mask: u32) {
            let test = |a: u32, b: u32| half(<$half>::from_bits(a as u16), <$half>::from_bits(b as u16), $f);
            r.compare_pairs(o, mask, test)
        }
        Row { name: $name, d: &[Class::Pred; 2], s: &[Class::Word, Class::Word, Class::Pred], body }
    }};
}

pair_comparisons! {
    "eq" = |a, b| a == b;
    "ne" = |a, b| a < b || a > b;
    "lt" = |a, b| a < b;
    "le" = |a, b| a <= b;
    "gt" = |a, b| a > b;
    "ge" = |a, b| a >= b;
    "equ" = |a, b| !(a < b || a > b);
    "neu" = |a, b| a != b;
    "ltu" = |a, b| !(a >= b);
    "leu" = |a, b| !(a > b);
    "gtu" = |a, b| !(a <= b);
    "geu" = |a, b| !(a < b);
    "num" = |a, b| !a.is_nan() && !b.is_nan();
    "nan" = |a, b| a.is_nan() || b.is_nan();
}

comparisons! {
    "eq" [b16 u16 s16 b32 u32 s32 b64 u64 s64 f32 f64] = |a, b| a == b;
    "ne" [b16 u16 s16 b32 u32 s32 b64 u64 s64] = |a, b| a != b;
    "lt" [u16 s16 u32 s32 u64 s64 f32 f64] = |a, b| a < b;
    "le" [u16 s16 u32 s32 u64 s64 f32 f64] = |a, b| a <= b;
    "gt" [u16 s16 u32 s32 u64 s64 f32 f64] = |a, b| a > b;
    "ge" [u16 s16 u32 s32 u64 s64 f32 f64] = |a, b| a >= b;
    "lo" [u16 u32 u64] = |a, b| a < b;
    "ls" [u16 u32 u64] = |a, b| a <= b;
    "hi" [u16 u32 u64] = |a, b| a > b;
    "hs" [u16 u32 u64] = |a, b| a >= b;
    // For floats, `ne` is ordered; the `u` forms are true if an operand is NaN.
    "ne" [f32 f64] = |a, b| a < b || a > b;
    "equ" [f32 f64] = |a, b| !(a < b || a > b);
    "neu" [f32 f64] = |a, b| a != b;
    "ltu" [f32 f64] = |a, b| !(a >= b);
    "leu" [f32 f64] = |a, b| !(a > b);
    "gtu" [f32 f64] = |a, b| !(a <= b);
    "geu" [f32 f64] = |a, b| !(a < b);
    "num" [f32 f64] = |a, b| !a.is_nan() && !b.is_nan();
    "nan" [f32 f64] = |a, b| a.is_nan() || b.is_nan();
    "eq" [f16 bf16] = |a, b| half(a, b, |a, b| a == b);
    "ne" [f16 bf16] = |a, b| half(a, b, |a, b| a < b || a > b);
    "lt" [f16 bf16] = |a, b| half(a, b, |a, b| a < b);
    "le" [f16 bf16] = |a, b| half(a, b, |a, b| a <= b);
    "gt" [f16 bf16] = |a, b| half(a, b, |a, b| a > b);
    "ge" [f16 bf16] = |a, b| half(a, b, |a, b| a >= b);
    "equ" [f16 bf16] = |a, b| half(a, b, |a, b| !(a < b || a > b));
    "neu" [f16 bf16] = |a, b| half(a, b, |a, b| a != b);
    "ltu" [f16 bf16] = |a, b| half(a, b, |a, b| !(a >= b));
    "leu" [f16 bf16] = |a, b| half(a, b, |a, b| !(a > b));
    "gtu" [f16 bf16] = |a, b| half(a, b, |a, b| !(a <= b));
    "geu" [f16 bf16] = |a, b| half(a, b, |a, b| !(a < b));
    "num" [f16 bf16] = |a, b| half(a, b, |a, b| !a.is_nan() && !b.is_nan());
    "nan" [f16 bf16] = |a, b| half(a, b, |a, b| a.is_nan() || b.is_nan());
}

rows! { SELECT:
    "selp" [b16 u16 s16 b32 u32 s32 f32 b64 u64 s64 f64] (T, T, bool) -> T = |a, b, p| if p { a } else { b };
    "slct.s32" [b16 u16 s16 b32 u32 s32 f32 b64 u64 s64 f64] (T, T, i32) -> T = |a, b, c| if c >= 0 { a } else { b };
    "slct.f32" [b16 u16 s16 b32 u32 s32 f32 b64 u64 s64 f64] (T, T, f32) -> T = |a, b, c| if c >= 0.0 { a } else { b };
}

fn half<H: Half>(a: H, b: H, f: impl Fn(f64, f64) -> bool) -> bool {
    f(to_f64(a), to_f64(b))
}
