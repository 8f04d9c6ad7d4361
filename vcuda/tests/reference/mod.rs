//! The definitions: which forms there are and what each must give.
#![allow(dead_code)]

mod floats;
mod integers;

use super::{Form, Want};

/// Bits of a type.
pub fn bits(kind: &str) -> u32 {
    match kind.trim_start_matches(|c: char| c.is_ascii_alphabetic()) {
        "8" => 8,
        "16" => 16,
        "32" | "16x2" => 32,
        "64" | "32x2" => 64,
        _ => 1,
    }
}

pub fn mask(kind: &str) -> u64 {
    u64::MAX >> (64 - bits(kind))
}

/// The value of an integer type.
pub fn int(kind: &str, v: u64) -> i128 {
    let n = bits(kind);
    let v = i128::from(v & mask(kind));
    if kind.starts_with('s') && v >> (n - 1) != 0 { v - (1 << n) } else { v }
}

pub fn low(kind: &str, v: i128) -> u64 {
    v as u64 & mask(kind)
}

pub fn least(kind: &str) -> i128 {
    if kind.starts_with('s') { -(1 << (bits(kind) - 1)) } else { 0 }
}

pub fn most(kind: &str) -> i128 {
    if kind.starts_with('s') { (1 << (bits(kind) - 1)) - 1 } else { (1 << bits(kind)) - 1 }
}

/// Values at which things happen.
pub fn edges(kind: &str) -> Vec<u64> {
    match kind {
        "pred" => vec![0, 1],
        "f32" => [
            0.0f32,
            -0.0,
            1.0,
            -1.0,
            0.5,
            1.5,
            2.5,
            -2.5,
            3.0,
            1e-45,
            -1e-40,
            1.1754942e-38,
            1.1754944e-38,
            3.4028235e38,
            -3.4028235e38,
            1e-20,
            0.1,
            -0.3,
            16777216.0,
            2147483648.0,
            -2147483649.0,
            4294967296.0,
            1e19,
            65504.0,
            65520.0,
            1e-7,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
        ]
        .iter()
        .map(|f| u64::from(f.to_bits()))
        .collect(),
        "f64" => [
            0.0f64,
            -0.0,
            1.0,
            -1.0,
            0.5,
            1.5,
            -2.5,
            3.0,
            1e-30,
            0.1,
            -0.3,
            1e10,
            9007199254740993.0,
            -9.3e18,
            1.8e19,
            2147483647.5,
            65519.99,
            3.4028235677973366e38,
            1e300,
            -1e300,
            1e-310,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
        ]
        .iter()
        .map(|f| f.to_bits())
        .collect(),
        "f16" | "bf16" => vec![
            0, 0x8000, 1, 0x8001, 0x3ff, 0x400, 0x3c00, 0xbc00, 0x3e00, 0x3f80, 0xbf80, 0x4049,
            0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x7f7f, 0x7f80, 0xff80, 0x7fc0, 0x0080, 0x3555,
            0x1234,
        ],
        "f16x2" | "bf16x2" => vec![
            0,
            0x8000_0001,
            0x3c00_bc00,
            0x7bff_7bff,
            0x7c00_fc00,
            0x7e00_3f80,
            0x0001_8001,
            0x4049_3555,
            0xbf80_7f80,
            0x1234_5678,
            0x7fc0_0400,
        ],
        "f32x2" => {
            let parts = edges("f32");
            let turned = parts.iter().rev();
            parts.iter().zip(turned).map(|(low, high)| low | high << 32).collect()
        }
        kind => {
            let n = bits(kind);
            let mut v = vec![
                0,
                1,
                2,
                3,
                5,
                7,
                8,
                15,
                16,
                31,
                32,
                33,
                63,
                64,
                100,
                255,
                256,
                0x1234_5678_9abc_def0,
                0x5555_5555_5555_5555,
                0xfedc_ba98_7654_3210,
            ];
            v.extend([
                u64::MAX,
                u64::MAX - 1,
                1 << (n - 1),
                (1 << (n - 1)) - 1,
                (1 << (n - 1)) + 1,
                0x8080_8080_7f7f_7f7f,
            ]);
            v.iter().map(|x| x & mask(kind)).collect()
        }
    }
}

/// A form of one instruction.
pub fn form(
    opcode: &str,
    d: &'static str,
    s: &[&'static str],
    want: impl Fn(&[u64]) -> Want + 'static,
) -> Form {
    let operands: Vec<&str> = ["%a", "%b", "%c", "%e"][..s.len()].to_vec();
    Form {
        body: format!("{opcode} %d, {};", operands.join(", ")),
        d,
        s: s.to_vec(),
        want: Box::new(want),
    }
}

/// A form of several instructions.
pub fn body(
    text: &str,
    d: &'static str,
    s: &[&'static str],
    want: impl Fn(&[u64]) -> Want + 'static,
) -> Form {
    Form { body: text.to_string(), d, s: s.to_vec(), want: Box::new(want) }
}

/// Whether two results are the same; any NaN is as good as another.
pub fn same(kind: &str, got: u64, want: u64) -> bool {
    let nan = |v: u64| match kind {
        "f32" => f32::from_bits(v as u32).is_nan(),
        "f64" => f64::from_bits(v).is_nan(),
        "f16" => half::f16::from_bits(v as u16).is_nan(),
        "bf16" => half::bf16::from_bits(v as u16).is_nan(),
        _ => false,
    };
    match kind {
        "f16x2" => same("f16", got & 0xffff, want & 0xffff) && same("f16", got >> 16, want >> 16),
        "f32x2" => {
            same("f32", got & 0xffff_ffff, want & 0xffff_ffff) && same("f32", got >> 32, want >> 32)
        }
        "bf16x2" => {
            same("bf16", got & 0xffff, want & 0xffff) && same("bf16", got >> 16, want >> 16)
        }
        _ => got == want || nan(got) && nan(want),
    }
}

/// Whether an approximation is good.
pub fn near(kind: &str, got: u64, want: f64) -> bool {
    let (got, tolerance) = match kind {
        "f32" => (f64::from(f32::from_bits(got as u32)), 1e-6),
        "f16" => (half::f16::from_bits(got as u16).to_f64(), 1e-3),
        "bf16" => (half::bf16::from_bits(got as u16).to_f64(), 1e-2),
        _ => (f64::from_bits(got), 1e-12),
    };
    let limit = if kind == "f32" { f64::from(want as f32) } else { want };
    got == want
        || got == limit
        || want.is_nan() && got.is_nan()
        || (got - want).abs() <= tolerance * want.abs() + 1e-40
        || want.abs() > 65504.0 && got.is_infinite() && kind == "f16"
        || want.abs() < 1e-7 && got.abs() < 1e-6
}

/// All forms.
pub fn forms() -> Vec<Form> {
    let mut all = integers::forms();
    all.extend(floats::forms());
    all
}
