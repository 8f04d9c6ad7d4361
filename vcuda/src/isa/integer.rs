//! Integer, logic and bit instructions.

use super::lane::{Operands, Registers};
use super::types::*;
use super::{Row, rows};
use crate::exec::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};
use crate::ptx::ast::Class;

rows! { ROWS:
    // Arithmetic.
    "add" [u16 s16 u32 s32 u64 s64] (T, T) -> T = |a, b| a.wrapping_add(b);
    "sub" [u16 s16 u32 s32 u64 s64] (T, T) -> T = |a, b| a.wrapping_sub(b);
    "add.sat" [s32] (T, T) -> T = |a, b| a.saturating_add(b);
    "sub.sat" [s32] (T, T) -> T = |a, b| a.saturating_sub(b);
    "mul.lo" [u16 s16 u32 s32 u64 s64] (T, T) -> T = |a, b| a.wrapping_mul(b);
    "mul.hi" [u16 s16 u32 s32 u64 s64] (T, T) -> T = |a, b| (i128::from(a).wrapping_mul(b.into()) >> T::BITS) as T;
    "mul.wide" [u16] (T, T) -> u32 = |a, b| u32::from(a) * u32::from(b);
    "mul.wide" [s16] (T, T) -> i32 = |a, b| i32::from(a) * i32::from(b);
    "mul.wide" [u32] (T, T) -> u64 = |a, b| u64::from(a) * u64::from(b);
    "mul.wide" [s32] (T, T) -> i64 = |a, b| i64::from(a) * i64::from(b);
    "mul24.lo" [u32 s32] (T, T) -> T = |a, b| ((a << 8 >> 8) as i64 * (b << 8 >> 8) as i64) as T;
    "mul24.hi" [u32 s32] (T, T) -> T = |a, b| ((a << 8 >> 8) as i64 * (b << 8 >> 8) as i64 >> 16) as T;
    "mad24.lo" [u32 s32] (T, T, T) -> T = |a, b, c| (((a << 8 >> 8) as i64 * (b << 8 >> 8) as i64) as T).wrapping_add(c);
    "mad.lo" [u16 s16 u32 s32 u64 s64] (T, T, T) -> T = |a, b, c| a.wrapping_mul(b).wrapping_add(c);
    "mad.hi" [u16 s16 u32 s32 u64 s64] (T, T, T) -> T = |a, b, c| ((i128::from(a).wrapping_mul(b.into()) >> T::BITS) as T).wrapping_add(c);
    "mad.hi.sat" [s32] (T, T, T) -> T = |a, b, c| ((i64::from(a) * i64::from(b) >> 32) as T).saturating_add(c);
    "mad.wide" [u16] (T, T, u32) -> u32 = |a, b, c| (u32::from(a) * u32::from(b)).wrapping_add(c);
    "mad.wide" [s16] (T, T, i32) -> i32 = |a, b, c| (i32::from(a) * i32::from(b)).wrapping_add(c);
    "mad.wide" [u32] (T, T, u64) -> u64 = |a, b, c| (u64::from(a) * u64::from(b)).wrapping_add(c);
    "mad.wide" [s32] (T, T, i64) -> i64 = |a, b, c| (i64::from(a) * i64::from(b)).wrapping_add(c);
    "sad" [u16 u32 u64] (T, T, T) -> T = |a, b, c| c.wrapping_add(a.abs_diff(b));
    "sad" [s16 s32 s64] (T, T, T) -> T = |a, b, c| c.wrapping_add(a.abs_diff(b) as T);
    // Division by zero gives all ones on the device.
    "div" [u16 s16 u32 s32 u64 s64] (T, T) -> T = |a, b| if b == 0 { !0 } else { a.wrapping_div(b) };
    "rem" [u16 s16 u32 s32 u64 s64] (T, T) -> T = |a, b| if b == 0 { !0 } else { a.wrapping_rem(b) };
    "abs" [s16 s32 s64] (T) -> T = |a| a.wrapping_abs();
    "neg" [s16 s32 s64] (T) -> T = |a| a.wrapping_neg();
    "min" [u16 s16 u32 s32 u64 s64] (T, T) -> T = |a, b| a.min(b);
    "max" [u16 s16 u32 s32 u64 s64] (T, T) -> T = |a, b| a.max(b);
    "min.relu" [s32] (T, T) -> T = |a, b| a.min(b).max(0);
    "max.relu" [s32] (T, T) -> T = |a, b| a.max(b).max(0);
    "add" [u16x2 s16x2] (T, T) -> T = |a, b| pairs(a, b, |x, y| x.wrapping_add(y));
    "min" [u16x2] (T, T) -> T = |a, b| pairs(a, b, |x, y| x.min(y));
    "max" [u16x2] (T, T) -> T = |a, b| pairs(a, b, |x, y| x.max(y));
    "min" [s16x2] (T, T) -> T = |a, b| pairs(a, b, |x, y| (x as i16).min(y as i16) as u16);
    "max" [s16x2] (T, T) -> T = |a, b| pairs(a, b, |x, y| (x as i16).max(y as i16) as u16);
    "min.relu" [s16x2] (T, T) -> T = |a, b| pairs(a, b, |x, y| (x as i16).min(y as i16).max(0) as u16);
    "max.relu" [s16x2] (T, T) -> T = |a, b| pairs(a, b, |x, y| (x as i16).max(y as i16).max(0) as u16);
    "dp4a.u32" [u32] (u32, u32, u32) -> u32 = |a, b, c| dot4(a, b, c, false, false);
    "dp4a.u32" [s32] (u32, u32, u32) -> u32 = |a, b, c| dot4(a, b, c, false, true);
    "dp4a.s32" [u32] (u32, u32, u32) -> u32 = |a, b, c| dot4(a, b, c, true, false);
    "dp4a.s32" [s32] (u32, u32, u32) -> u32 = |a, b, c| dot4(a, b, c, true, true);
    "dp2a.lo.u32" [u32] (u32, u32, u32) -> u32 = |a, b, c| dot2(a, b, c, false, false);
    "dp2a.lo.u32" [s32] (u32, u32, u32) -> u32 = |a, b, c| dot2(a, b, c, false, true);
    "dp2a.lo.s32" [u32] (u32, u32, u32) -> u32 = |a, b, c| dot2(a, b, c, true, false);
    "dp2a.lo.s32" [s32] (u32, u32, u32) -> u32 = |a, b, c| dot2(a, b, c, true, true);
    "dp2a.hi.u32" [u32] (u32, u32, u32) -> u32 = |a, b, c| dot2(a, b >> 16, c, false, false);
    "dp2a.hi.u32" [s32] (u32, u32, u32) -> u32 = |a, b, c| dot2(a, b >> 16, c, false, true);
    "dp2a.hi.s32" [u32] (u32, u32, u32) -> u32 = |a, b, c| dot2(a, b >> 16, c, true, false);
    "dp2a.hi.s32" [s32] (u32, u32, u32) -> u32 = |a, b, c| dot2(a, b >> 16, c, true, true);
    // Logic.
    "and" [b16 b32 b64 pred] (T, T) -> T = |a, b| a & b;
    "or" [b16 b32 b64 pred] (T, T) -> T = |a, b| a | b;
    "xor" [b16 b32 b64 pred] (T, T) -> T = |a, b| a ^ b;
    "not" [b16 b32 b64 pred] (T) -> T = |a| !a;
    "cnot" [b16 b32 b64] (T) -> T = |a| T::from(a == 0);
    "lop3" [b32] (T, T, T; table) -> T = |a, b, c| lookup(a, b, c, table);
    "mov" [b16 u16 s16 b32 u32 s32 f32 b64 u64 s64 f64 pred] (T) -> T = |a| a;
    // Shift amounts are clamped; funnel shifts either clamp or wrap, as the opcode says.
    "shl" [b16 b32 b64] (T, u32) -> T = |a, n| a.checked_shl(n).unwrap_or(0);
    "shr" [b16 u16 b32 u32 b64 u64] (T, u32) -> T = |a, n| a.checked_shr(n).unwrap_or(0);
    "shr" [s16 s32 s64] (T, u32) -> T = |a, n| a >> n.min(T::BITS - 1);
    "shf.l.wrap" [b32] (T, T, u32) -> T = |lo, hi, n| (wide(lo, hi) << (n & 31) >> 32) as T;
    "shf.l.clamp" [b32] (T, T, u32) -> T = |lo, hi, n| (wide(lo, hi) << n.min(32) >> 32) as T;
    "shf.r.wrap" [b32] (T, T, u32) -> T = |lo, hi, n| (wide(lo, hi) >> (n & 31)) as T;
    "shf.r.clamp" [b32] (T, T, u32) -> T = |lo, hi, n| (wide(lo, hi) >> n.min(32)) as T;
    // Bits.
    "popc" [b32 b64] (T) -> u32 = |a| a.count_ones();
    "clz" [b32 b64] (T) -> u32 = |a| a.leading_zeros();
    "brev" [b32 b64] (T) -> T = |a| a.reverse_bits();
    "bfind" [u32 u64] (T) -> u32 = |a| a.checked_ilog2().unwrap_or(!0);
    "bfind" [s32 s64] (T) -> u32 = |a| (if a < 0 { !a } else { a }).checked_ilog2().unwrap_or(!0);
    "bfind.shiftamt" [u32 u64] (T) -> u32 = |a| a.checked_ilog2().map_or(!0, |n| T::BITS - 1 - n);
    "bfind.shiftamt" [s32 s64] (T) -> u32 = |a| (if a < 0 { !a } else { a }).checked_ilog2().map_or(!0, |n| T::BITS - 1 - n);
    "bfe" [u32 u64] (T, u32, u32) -> T = |a, pos, len| extract(a.into(), pos, len, T::BITS, false) as T;
    "bfe" [s32 s64] (T, u32, u32) -> T = |a, pos, len| extract(i64::from(a) as u64, pos, len, T::BITS, true) as T;
    "bfi" [b32 b64] (T, T, u32, u32) -> T = |a, b, pos, len| insert(a.into(), b.into(), pos, len, T::BITS) as T;
    "bmsk.clamp" [b32] (u32, u32) -> T = |pos, len| ((1u64 << len.min(32)) - 1).checked_shl(pos.min(63)).unwrap_or(0) as T;
    "bmsk.wrap" [b32] (u32, u32) -> T = |pos, len| (((1u64 << (len & 31)) - 1) << (pos & 31)) as T;
    "szext.clamp" [u32] (T, u32) -> T = |a, n| if n >= 32 { a } else { a & ((1 << n) - 1) };
    "szext.clamp" [s32] (T, u32) -> T = |a, n| sign_from(a, n);
    "szext.wrap" [u32] (T, u32) -> T = |a, n| a & ((1 << (n & 31)) - 1);
    "szext.wrap" [s32] (T, u32) -> T = |a, n| sign_from(a, n & 31);
    "fns" [b32] (u32, u32, i32) -> T = |mask, base, n| find_nth(mask, base, n);
    "prmt" [b32] (T, T, u32) -> T = |a, b, c| permute(a, b, std::array::from_fn(|k| c >> (4 * k) & 15));
    "prmt.f4e" [b32] (T, T, u32) -> T = |a, b, c| permute(a, b, std::array::from_fn(|k| (c & 3) + k as u32 & 7));
    "prmt.b4e" [b32] (T, T, u32) -> T = |a, b, c| permute(a, b, std::array::from_fn(|k| (c & 3).wrapping_sub(k as u32) & 7));
    "prmt.rc8" [b32] (T, T, u32) -> T = |a, b, c| permute(a, b, [c & 3; 4]);
    "prmt.ecl" [b32] (T, T, u32) -> T = |a, b, c| permute(a, b, std::array::from_fn(|k| (k as u32).max(c & 3)));
    "prmt.ecr" [b32] (T, T, u32) -> T = |a, b, c| permute(a, b, std::array::from_fn(|k| (k as u32).min(c & 3)));
    "pack.b8x2" [b16] (u8, u8) -> T = |a, b| T::from(a) | T::from(b) << 8;
    "pack.b8x4" [b32] (u8, u8, u8, u8) -> T = |a, b, c, d| T::from_le_bytes([a, b, c, d]);
    "pack.b16x2" [b32] (u16, u16) -> T = |a, b| T::from(a) | T::from(b) << 16;
    "pack.b16x4" [b64] (u16, u16, u16, u16) -> T = |a, b, c, d| T::from(a) | T::from(b) << 16 | T::from(c) << 32 | T::from(d) << 48;
    "pack.b32x2" [b64] (u32, u32) -> T = |a, b| T::from(a) | T::from(b) << 32;
    "unpack.b8" [b16 b32] (T; k) -> u8 = |a| (a >> (8 * k)) as u8;
    "unpack.b16" [b32 b64] (T; k) -> u16 = |a| (a >> (16 * k)) as u16;
    "unpack.b32" [b64] (T; k) -> u32 = |a| (a >> (32 * k)) as u32;
    "isspacep.shared" [u64] (T) -> bool = |a| a >> 32 == SHARED_WINDOW >> 32;
    "isspacep.local" [u64] (T) -> bool = |a| a >> 32 == LOCAL_WINDOW >> 32;
    "isspacep.param" [u64] (T) -> bool = |a| a >> 32 == PARAM_WINDOW >> 32;
    "isspacep.global" [u64] (T) -> bool = |a| a < SHARED_WINDOW;
    "isspacep.const" [u64] (T) -> bool = |_| false;
    "prmt.rc16" [b32] (T, T, u32) -> T = |a, b, c| permute(a, b, [0, 1, 0, 1].map(|k| k + 2 * (c & 1)));
}

macro_rules! carry_rows {
    ($($name:literal [$($t:ident)*] $third:literal = $f:expr;)*) => {
        pub(super) const CARRY: &[Row] = &[$($({
            fn body(r: &mut Registers, o: &Operands, mask: u32) {
                const OPERANDS: usize = $third;
                r.carried::<$t>(o, mask, if OPERANDS == 3 { o.s[2] } else { o.s[1] }, |a, b, c, carry| {
                    let f: fn(u128, u128, u128, u128, u32) -> u128 = $f;
                    let all = f(a.into(), b.into(), c.into(), carry.into(), <$t>::BITS);
                    (all as $t, all >> <$t>::BITS & 1 != 0)
                })
            }
            const CLASS: Class = <$t as super::lane::Lane>::CLASS;
            Row { name: concat!($name, ".", stringify!($t)), d: &[CLASS], s: &[CLASS; $third], body }
        },)*)*];
    };
}

// Arithmetic with carry. Bit 0 of the immediate says whether the carry is written (`.cc`). A subtraction adds the
// complement, so the carry is set if there was no borrow; compilers read it with `addc`.
carry_rows! {
    "add.carry" [u32 u64] 2 = |a, b, _, _, _| a + b;
    "addc" [u32 u64] 2 = |a, b, _, carry, _| a + b + carry;
    "sub.carry" [u32 u64] 2 = |a, b, _, _, bits| a + (b ^ ((1 << bits) - 1)) + 1;
    "subc" [u32 u64] 2 = |a, b, _, carry, bits| a + (b ^ ((1 << bits) - 1)) + carry;
    "mad.lo.carry" [u32 u64] 3 = |a, b, c, _, bits| (a * b & ((1 << bits) - 1)) + c;
    "madc.lo" [u32 u64] 3 = |a, b, c, carry, bits| (a * b & ((1 << bits) - 1)) + c + carry;
    "mad.hi.carry" [u32 u64] 3 = |a, b, c, _, bits| (a * b >> bits) + c;
    "madc.hi" [u32 u64] 3 = |a, b, c, carry, bits| (a * b >> bits) + c + carry;
}

fn pairs(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(f(a as u16, b as u16)) | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
}

fn byte(v: u32, k: u32, signed: bool) -> i64 {
    let b = (v >> (8 * k)) as u8;
    if signed { i64::from(b as i8) } else { i64::from(b) }
}

fn dot4(a: u32, b: u32, c: u32, sa: bool, sb: bool) -> u32 {
    (0..4).fold(c, |sum, k| sum.wrapping_add((byte(a, k, sa) * byte(b, k, sb)) as u32))
}

fn dot2(a: u32, b: u32, c: u32, sa: bool, sb: bool) -> u32 {
    (0..2).fold(c, |sum, k| {
        let half = (a >> (16 * k)) as u16;
        let half = if sa { i64::from(half as i16) } else { i64::from(half) };
        sum.wrapping_add((half * byte(b, k, sb)) as u32)
    })
}

fn lookup(a: u32, b: u32, c: u32, table: u64) -> u32 {
    let mut out = 0;
    for k in 0..8 {
        if table >> k & 1 != 0 {
            out |= (if k & 4 != 0 { a } else { !a })
                & (if k & 2 != 0 { b } else { !b })
                & (if k & 1 != 0 { c } else { !c });
        }
    }
    out
}

fn wide(lo: u32, hi: u32) -> u64 {
    u64::from(hi) << 32 | u64::from(lo)
}

fn extract(a: u64, pos: u32, len: u32, bits: u32, signed: bool) -> u64 {
    let (pos, len) = (pos & 255, len & 255);
    if len == 0 {
        return 0;
    }
    let end = (pos + len).min(bits);
    match (pos < bits, signed) {
        (true, true) => ((a << (64 - end)) as i64 >> (64 - end + pos)) as u64,
        (true, false) => a << (64 - end) >> (64 - end + pos),
        (false, true) => (a as i64 >> 63) as u64,
        (false, false) => 0,
    }
}

fn insert(a: u64, b: u64, pos: u32, len: u32, bits: u32) -> u64 {
    let (pos, len) = (pos & 255, len & 255);
    let mask = if len >= 64 { !0 } else { (1u64 << len) - 1 };
    if pos >= bits { b } else { b & !(mask << pos) | (a & mask) << pos }
}

fn sign_from(a: i32, n: u32) -> i32 {
    match n {
        0 => 0,
        1..=31 => a << (32 - n) >> (32 - n),
        _ => a,
    }
}

fn find_nth(mask: u32, base: u32, n: i32) -> u32 {
    let base = base & 31;
    let mut left = n.unsigned_abs();
    if n == 0 {
        return if mask >> base & 1 != 0 { base } else { !0 };
    }
    let mut at = base as i32;
    while (0..32).contains(&at) {
        if mask >> at & 1 != 0 {
            left -= 1;
            if left == 0 {
                return at as u32;
            }
        }
        at += n.signum();
    }
    !0
}

fn permute(a: u32, b: u32, selectors: [u32; 4]) -> u32 {
    let all = wide(a, b);
    let mut out = 0;
    for (k, selector) in selectors.into_iter().enumerate() {
        let byte = (all >> (8 * (selector & 7))) as u8;
        let byte = if selector & 8 != 0 { (byte as i8 >> 7) as u8 } else { byte };
        out |= u32::from(byte) << (8 * k);
    }
    out
}
