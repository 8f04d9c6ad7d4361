//! The instruction set: a table with one row per typed form of an instruction.
//!
//! A row gives the canonical name of the form, the register class of each operand, and the computation for a lane. The
//! name is the opcode as written, without the modifiers that do not change the meaning here: `.rn` (the rounding mode
//! of the host), `.approx` and `.full` (computed in full precision), `.ftz` and `.sat` (which the decoder expands to
//! instructions of their own). Other rounding modes are written `.round` in the name and held by the immediate. Memory
//! accesses, control flow and barriers are not rows: they need more than the registers of their warp, and are decoded
//! in [`crate::exec`].

// Rows are written the same way for every type, even where one of them could be shorter.
#![allow(clippy::redundant_closure, clippy::useless_conversion)]

mod compare;
pub mod convert;
mod float;
mod fp8;
mod half;
mod integer;
pub mod lane;
pub mod soft;
pub mod video;
pub mod warp;

use crate::ptx::ast::Class;
use lane::Body;
use std::collections::HashMap;
use std::sync::OnceLock;

/// A typed form of an instruction.
pub struct Row {
    /// The canonical dotted name.
    pub name: &'static str,
    /// The classes of the results.
    pub d: &'static [Class],
    /// The classes of the operands.
    pub s: &'static [Class],
    /// The computation.
    pub body: Body,
}

/// The types under their PTX names.
#[allow(non_camel_case_types)]
pub(crate) mod types {
    pub type b16 = u16;
    pub type b32 = u32;
    pub type b64 = u64;
    pub type s8 = i8;
    pub type s16 = i16;
    pub type s32 = i32;
    pub type s64 = i64;
    pub type f16 = super::lane::F16;
    pub type bf16 = super::lane::BF16;
    pub type u16x2 = u32;
    pub type s16x2 = u32;
    pub type f32x2 = u64;
    pub type f16x2 = u32;
    pub type bf16x2 = u32;
    pub type pred = bool;
}

/// Rows of the form `"name" [types] (operands) -> result = |a, b| value;`, where `T` is each type in turn.
/// `(operands; k)` names the instruction's immediate `k`.
macro_rules! rows {
    ($table:ident: $($name:literal [$($t:ident)*] $operands:tt -> $out:ty = $f:expr;)*) => {
        pub(super) const $table: &[crate::isa::Row] = &[$($(
            {
                #[allow(dead_code)]
                type T = $t;
                fn body(r: &mut crate::isa::lane::Registers, o: &crate::isa::lane::Operands, mask: u32) {
                    crate::isa::rows!(@map r o mask $operands $out, $f)
                }
                crate::isa::Row {
                    name: concat!($name, ".", stringify!($t)),
                    d: &[<$out as crate::isa::lane::Lane>::CLASS],
                    s: crate::isa::rows!(@classes $operands),
                    body,
                }
            },
        )*)*];
    };
    (@classes ($($in:ty),* $(; $imm:ident)?)) => { &[$(<$in as crate::isa::lane::Lane>::CLASS),*] };
    (@map $r:ident $o:ident $m:ident ($($in:ty),*; $imm:ident) $out:ty, $f:expr) => {{
        let $imm = $o.imm;
        crate::isa::rows!(@map $r $o $m ($($in),*) $out, $f)
    }};
    (@map $r:ident $o:ident $m:ident ($a:ty) $out:ty, $f:expr) => { $r.map1::<$out, $a>($o, $m, $f) };
    (@map $r:ident $o:ident $m:ident ($a:ty, $b:ty) $out:ty, $f:expr) => { $r.map2::<$out, $a, $b>($o, $m, $f) };
    (@map $r:ident $o:ident $m:ident ($a:ty, $b:ty, $c:ty) $out:ty, $f:expr) => { $r.map3::<$out, $a, $b, $c>($o, $m, $f) };
    (@map $r:ident $o:ident $m:ident ($a:ty, $b:ty, $c:ty, $e:ty) $out:ty, $f:expr) => { $r.map4::<$out, $a, $b, $c, $e>($o, $m, $f) };
}
pub(crate) use rows;

/// Iterates over all rows.
pub fn all() -> impl Iterator<Item = &'static Row> {
    let numbers = [
        integer::ROWS,
        integer::CARRY,
        video::ROWS,
        float::ROWS,
        half::ROWS,
        compare::ROWS,
        compare::PAIRS,
        compare::SELECT,
        convert::ROWS,
    ];
    let lanes = [fp8::ROWS, warp::SHUFFLES, warp::REDUCTIONS, warp::VOTES];
    numbers.into_iter().chain(lanes).flatten()
}

/// Finds the row with a canonical name.
pub fn find(name: &str) -> Option<&'static Row> {
    static INDEX: OnceLock<HashMap<&'static str, &'static Row>> = OnceLock::new();
    INDEX.get_or_init(|| all().map(|row| (row.name, row)).collect()).get(name).copied()
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = super::all().map(|row| row.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(count > 600, "{count}");
    }
}
