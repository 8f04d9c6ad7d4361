//! The updates that atomics make to memory: one row per form.

use super::program::Change;
use crate::isa::soft::{BFLOAT, Format, HALF, Number, Rounding};

macro_rules! changes {
    ($($name:literal $change:expr;)*) => { &[$(($name, $change as Change)),*] };
}

/// `|old, b, c| new`. Values are the bits of the type; upper bits of the result are ignored.
const CHANGES: &[(&str, Change)] = changes! {
    "add.u32" |old, b, _| old.wrapping_add(b);
    "add.s32" |old, b, _| old.wrapping_add(b);
    "add.u64" |old, b, _| old.wrapping_add(b);
    "add.s64" |old, b, _| old.wrapping_add(b);
    "add.f32" |old, b, _| (single(old) + single(b)).to_bits().into();
    "add.f64" |old, b, _| (f64::from_bits(old) + f64::from_bits(b)).to_bits();
    "add.f16" |old, b, _| half_sum(old, b, HALF);
    "add.bf16" |old, b, _| half_sum(old, b, BFLOAT);
    "add.f16x2" |old, b, _| half_sum(old & 0xffff, b & 0xffff, HALF) | half_sum(old >> 16, b >> 16, HALF) << 16;
    "add.bf16x2" |old, b, _| half_sum(old & 0xffff, b & 0xffff, BFLOAT) | half_sum(old >> 16, b >> 16, BFLOAT) << 16;
    "min.u32" |old, b, _| (old as u32).min(b as u32).into();
    "max.u32" |old, b, _| (old as u32).max(b as u32).into();
    "min.s32" |old, b, _| (old as i32).min(b as i32) as u64;
    "max.s32" |old, b, _| (old as i32).max(b as i32) as u64;
    "min.u64" |old, b, _| old.min(b);
    "max.u64" |old, b, _| old.max(b);
    "min.s64" |old, b, _| (old as i64).min(b as i64) as u64;
    "max.s64" |old, b, _| (old as i64).max(b as i64) as u64;
    "inc.u32" |old, b, _| if old as u32 >= b as u32 { 0 } else { old + 1 };
    "dec.u32" |old, b, _| if old as u32 == 0 || old as u32 > b as u32 { b } else { old - 1 };
    "and.b32" |old, b, _| old & b;
    "or.b32" |old, b, _| old | b;
    "xor.b32" |old, b, _| old ^ b;
    "and.b64" |old, b, _| old & b;
    "or.b64" |old, b, _| old | b;
    "xor.b64" |old, b, _| old ^ b;
    "exch.b32" |_, b, _| b;
    "exch.b64" |_, b, _| b;
    "cas.b16" |old, b, c| if old as u16 == b as u16 { c } else { old };
    "cas.b32" |old, b, c| if old as u32 == b as u32 { c } else { old };
    "cas.b64" |old, b, c| if old == b { c } else { old };
};

/// Returns the update of a form such as `add.u32`.
pub fn change(name: &str) -> Option<Change> {
    CHANGES.iter().find(|row| row.0 == name).map(|row| row.1)
}

fn single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn half_sum(a: u64, b: u64, format: Format) -> u64 {
    Number::decode(a, format)
        .add(Number::decode(b, format), Rounding::Nearest)
        .encode(format, Rounding::Nearest)
}
