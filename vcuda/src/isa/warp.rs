//! Instructions across the lanes of a warp, and packed conversions.

use super::Row;
use super::lane::{Body, LANES, Lane, Operands, Registers, lanes};
use super::soft::{BFLOAT, HALF, Number, Rounding, SINGLE};
use crate::ptx::ast::Class::{Pred, Wide, Word};

/// Writes the shuffled value to `d[0]`, and whether the source lane was in range to the predicate `d[1]`.
fn shuffle(
    r: &mut Registers,
    o: &Operands,
    mask: u32,
    source: fn(u32, u32, u32, u32) -> (bool, u32),
) {
    let (a, b, c) = (u32::read(r, o.s[0]), u32::read(r, o.s[1]), u32::read(r, o.s[2]));
    for lane in lanes(mask) {
        let segment = c[lane] >> 8 & 31;
        let clamp = c[lane] & 31;
        let low = lane as u32 & segment;
        let high = low | clamp & !segment;
        let (valid, from) = source(lane as u32, b[lane] & 31, low, high);
        let from = if valid { from } else { lane as u32 };
        // The value of a lane that does not take part is undefined; here it is that lane's last value.
        a[from as usize & 31].write(r, o.d[0], lane);
        valid.write(r, o.d[1], lane);
    }
}

macro_rules! shuffles {
    ($($name:literal = $f:expr;)*) => { [$(Row {
        name: $name,
        d: &[Word, Pred],
        s: &[Word, Word, Word],
        body: { fn body(r: &mut Registers, o: &Operands, mask: u32) { shuffle(r, o, mask, $f) } body as Body },
    }),*] };
}

pub(super) const SHUFFLES: &[Row] = &shuffles! {
    "shfl.up.b32" = |lane, b, _, high| (lane as i32 - b as i32 >= high as i32, lane.wrapping_sub(b));
    "shfl.down.b32" = |lane, b, _, high| (lane + b <= high, lane + b);
    "shfl.bfly.b32" = |lane, b, _, high| (lane ^ b <= high, lane ^ b);
    "shfl.idx.b32" = |_, b, low, high| (low | b <= high, low | b);
};

fn votes(r: &Registers, o: &Operands, mask: u32) -> u32 {
    r.pred[o.s[0] as usize] & mask
}

fn tell(r: &mut Registers, o: &Operands, mask: u32, value: bool) {
    let p = &mut r.pred[o.d[0] as usize];
    *p = if value { *p | mask } else { *p & !mask };
}

fn give(r: &mut Registers, o: &Operands, mask: u32, value: u32) {
    for lane in lanes(mask) {
        value.write(r, o.d[0], lane);
    }
}

fn vote_all(r: &mut Registers, o: &Operands, mask: u32) {
    let value = votes(r, o, mask) == mask;
    tell(r, o, mask, value);
}

fn vote_any(r: &mut Registers, o: &Operands, mask: u32) {
    let value = votes(r, o, mask) != 0;
    tell(r, o, mask, value);
}

fn vote_uniform(r: &mut Registers, o: &Operands, mask: u32) {
    let value = votes(r, o, mask);
    tell(r, o, mask, value == 0 || value == mask);
}

fn vote_ballot(r: &mut Registers, o: &Operands, mask: u32) {
    let value = votes(r, o, mask);
    give(r, o, mask, value);
}

fn active_mask(r: &mut Registers, o: &Operands, mask: u32) {
    give(r, o, mask, mask);
}

fn elect(r: &mut Registers, o: &Operands, mask: u32) {
    let leader = mask.trailing_zeros();
    give(r, o, mask, leader);
    let p = &mut r.pred[o.d[1] as usize];
    *p = *p & !mask | 1 << leader;
}

fn match_any<T: Lane + PartialEq>(r: &mut Registers, o: &Operands, mask: u32) {
    let a = T::read(r, o.s[0]);
    for lane in lanes(mask) {
        let same = lanes(mask).filter(|&l| a[l] == a[lane]).fold(0u32, |m, l| m | 1 << l);
        same.write(r, o.d[0], lane);
    }
}

fn match_all<T: Lane + PartialEq>(r: &mut Registers, o: &Operands, mask: u32) {
    let a = T::read(r, o.s[0]);
    let first = a[mask.trailing_zeros() as usize % LANES];
    let all = lanes(mask).all(|l| a[l] == first);
    give(r, o, mask, if all { mask } else { 0 });
    let p = &mut r.pred[o.d[1] as usize];
    *p = if all { *p | mask } else { *p & !mask };
}

fn reduce<T: Lane>(r: &mut Registers, o: &Operands, mask: u32, f: fn(T, T) -> T) {
    let a = T::read(r, o.s[0]);
    let Some(value) = lanes(mask).map(|l| a[l]).reduce(f) else { return };
    for lane in lanes(mask) {
        value.write(r, o.d[0], lane);
    }
}

macro_rules! reductions {
    ($($name:literal $t:ty = $f:expr;)*) => { [$(Row {
        name: $name,
        d: &[Word],
        s: &[Word],
        body: { fn body(r: &mut Registers, o: &Operands, mask: u32) { reduce::<$t>(r, o, mask, $f) } body as Body },
    }),*] };
}

pub(super) const REDUCTIONS: &[Row] = &reductions! {
    "redux.add.u32" u32 = |a, b| a.wrapping_add(b);
    "redux.add.s32" u32 = |a, b| a.wrapping_add(b);
    "redux.min.u32" u32 = |a, b| a.min(b);
    "redux.min.s32" i32 = |a, b| a.min(b);
    "redux.max.u32" u32 = |a, b| a.max(b);
    "redux.max.s32" i32 = |a, b| a.max(b);
    "redux.and.b32" u32 = |a, b| a & b;
    "redux.or.b32" u32 = |a, b| a | b;
    "redux.xor.b32" u32 = |a, b| a ^ b;
};

/// `cvt.rn.f16x2.f32 d, a, b`: converts `a` to the upper half and `b` to the lower half of `d`.
fn pack(r: &mut Registers, o: &Operands, mask: u32, format: super::soft::Format) {
    let (mode, relu) = (Rounding::from_code(o.imm), o.imm & RELU != 0);
    r.map2::<u32, u32, u32>(o, mask, |a, b| {
        let part = |v: u32| {
            let bits = Number::decode(v.into(), SINGLE).encode(format, mode) as u32;
            if relu && bits & 0x8000 != 0 { 0 } else { bits }
        };
        part(a) << 16 | part(b)
    });
}

/// The bit of the immediate for `.relu`.
pub const RELU: u64 = 16;

fn pack_half(r: &mut Registers, o: &Operands, mask: u32) {
    pack(r, o, mask, HALF);
}

fn pack_bfloat(r: &mut Registers, o: &Operands, mask: u32) {
    pack(r, o, mask, BFLOAT);
}

pub(super) const VOTES: &[Row] = &[
    Row { name: "vote.all.pred", d: &[Pred], s: &[Pred], body: vote_all },
    Row { name: "vote.any.pred", d: &[Pred], s: &[Pred], body: vote_any },
    Row { name: "vote.uni.pred", d: &[Pred], s: &[Pred], body: vote_uniform },
    Row { name: "vote.ballot.b32", d: &[Word], s: &[Pred], body: vote_ballot },
    Row { name: "activemask.b32", d: &[Word], s: &[], body: active_mask },
    Row { name: "elect", d: &[Word, Pred], s: &[], body: elect },
    Row { name: "match.any.b32", d: &[Word], s: &[Word], body: match_any::<u32> },
    Row { name: "match.any.b64", d: &[Word], s: &[Wide], body: match_any::<u64> },
    Row { name: "match.all.b32", d: &[Word, Pred], s: &[Word], body: match_all::<u32> },
    Row { name: "match.all.b64", d: &[Word, Pred], s: &[Wide], body: match_all::<u64> },
    Row { name: "cvt.f16x2.f32", d: &[Word], s: &[Word, Word], body: pack_half },
    Row { name: "cvt.bf16x2.f32", d: &[Word], s: &[Word, Word], body: pack_bfloat },
];
