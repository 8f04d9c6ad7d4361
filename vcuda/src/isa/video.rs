//! The "video" instructions on two halves or four bytes of a word, such as `vabsdiff4.u32.u32.u32 d, a, b, c`.
//!
//! The immediate holds the modifiers: whether the result and the operands are signed, `.sat`, `.add`.

use super::rows;
use super::types::*;

/// Bit of the immediate: the result is signed.
const SIGNED_D: u64 = 1;
/// Bit of the immediate: the first operand is signed.
const SIGNED_A: u64 = 2;
/// Bit of the immediate: the second operand is signed.
const SIGNED_B: u64 = 4;
/// Bit of the immediate for `.sat`: each part is clamped to the result's type.
const SATURATE: u64 = 8;
/// Bit of the immediate for `.add`: the sum of the parts is added to the third operand.
const SUM: u64 = 16;

rows! { ROWS:
    "vadd2" [b32] (T, T, T; how) -> T = |a, b, c| parts(16, how, a, b, c, |x, y| x + y);
    "vadd4" [b32] (T, T, T; how) -> T = |a, b, c| parts(8, how, a, b, c, |x, y| x + y);
    "vsub2" [b32] (T, T, T; how) -> T = |a, b, c| parts(16, how, a, b, c, |x, y| x - y);
    "vsub4" [b32] (T, T, T; how) -> T = |a, b, c| parts(8, how, a, b, c, |x, y| x - y);
    "vavrg2" [b32] (T, T, T; how) -> T = |a, b, c| parts(16, how, a, b, c, average);
    "vavrg4" [b32] (T, T, T; how) -> T = |a, b, c| parts(8, how, a, b, c, average);
    "vabsdiff2" [b32] (T, T, T; how) -> T = |a, b, c| parts(16, how, a, b, c, |x, y| (x - y).abs());
    "vabsdiff4" [b32] (T, T, T; how) -> T = |a, b, c| parts(8, how, a, b, c, |x, y| (x - y).abs());
    "vmin2" [b32] (T, T, T; how) -> T = |a, b, c| parts(16, how, a, b, c, |x, y| x.min(y));
    "vmin4" [b32] (T, T, T; how) -> T = |a, b, c| parts(8, how, a, b, c, |x, y| x.min(y));
    "vmax2" [b32] (T, T, T; how) -> T = |a, b, c| parts(16, how, a, b, c, |x, y| x.max(y));
    "vmax4" [b32] (T, T, T; how) -> T = |a, b, c| parts(8, how, a, b, c, |x, y| x.max(y));
}

/// Returns the row and the immediate of an opcode, or `None` if it is not one of these.
pub fn form(parts: &[&str]) -> Option<(String, u64)> {
    let name = format!("{}.b32", parts[0]);
    if !ROWS.iter().any(|row| row.name == name) {
        return None;
    }
    let mut how = 0;
    let mut types = [SIGNED_D, SIGNED_A, SIGNED_B].into_iter();
    for part in &parts[1..] {
        how |= match *part {
            "s32" => types.next()?,
            "u32" => types.next().map(|_| 0)?,
            "sat" => SATURATE,
            "add" => SUM,
            _ => return None,
        };
    }
    Some((name, how))
}

/// Returns the average: rounded up if the sum is not negative, else down.
fn average(a: i64, b: i64) -> i64 {
    a + b + i64::from(a + b >= 0) >> 1
}

fn parts(width: u32, how: u64, a: u32, b: u32, c: u32, f: fn(i64, i64) -> i64) -> u32 {
    let part = |v: u32, k: u32, signed: bool| {
        let top = v << (32 - width * (k + 1));
        if signed { i64::from(top as i32 >> (32 - width)) } else { i64::from(top >> (32 - width)) }
    };
    let (low, high) = if how & SIGNED_D != 0 {
        (-(1 << (width - 1)), (1 << (width - 1)) - 1)
    } else {
        (0, (1 << width) - 1)
    };
    let (mut all, mut sum) = (0u32, i64::from(c));
    for k in 0..32 / width {
        let value = f(part(a, k, how & SIGNED_A != 0), part(b, k, how & SIGNED_B != 0));
        let value = if how & SATURATE != 0 { value.clamp(low, high) } else { value };
        sum += value;
        all |= (value as u32 & ((1 << width) - 1)) << (width * k);
    }
    if how & SUM != 0 { sum as u32 } else { all }
}
