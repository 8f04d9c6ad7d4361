//! Integer forms, defined in 128 bits and bit by bit.
#![allow(clippy::precedence)]

use super::{Form, Want, bits, body, form, int, least, low, mask, most};

type Operation = fn(i128, i128) -> i128;
type Truth = fn(u64, u64) -> bool;
type Comparison = fn(i128, i128) -> bool;

fn bit(v: u64, k: u32) -> u64 {
    if k < 64 { v >> k & 1 } else { 0 }
}

/// A result assembled from its bits.
fn from_bits(n: u32, f: impl Fn(u32) -> u64) -> u64 {
    (0..n).map(|k| (f(k) & 1) << k).sum()
}

fn halves(v: u64) -> [u64; 2] {
    [v & 0xffff, v >> 16 & 0xffff]
}

pub fn forms() -> Vec<Form> {
    let mut all = Vec::new();
    arithmetic(&mut all);
    logic(&mut all);
    bit_fields(&mut all);
    packed(&mut all);
    carries(&mut all);
    video(&mut all);
    selections(&mut all);
    all
}

fn arithmetic(all: &mut Vec<Form>) {
    for t in ["u16", "s16", "u32", "s32", "u64", "s64"] {
        let two: &[(&str, Operation)] = &[
            ("add", |a, b| a + b),
            ("sub", |a, b| a - b),
            ("mul.lo", |a, b| a.wrapping_mul(b)),
            ("min", |a, b| if a < b { a } else { b }),
            ("max", |a, b| if a > b { a } else { b }),
            ("div", |a, b| if b == 0 { -1 } else { a / b }),
            ("rem", |a, b| if b == 0 { -1 } else { a % b }),
        ];
        for &(name, f) in two {
            all.push(form(&format!("{name}.{t}"), t, &[t, t], move |v| {
                Want::Bits(low(t, f(int(t, v[0]), int(t, v[1]))))
            }));
        }
        let n = bits(t);
        all.push(form(&format!("mul.hi.{t}"), t, &[t, t], move |v| {
            Want::Bits(low(t, int(t, v[0]).wrapping_mul(int(t, v[1])) >> n))
        }));
        all.push(form(&format!("mad.lo.{t}"), t, &[t, t, t], move |v| {
            Want::Bits(low(t, int(t, v[0]).wrapping_mul(int(t, v[1])).wrapping_add(int(t, v[2]))))
        }));
        all.push(form(&format!("mad.hi.{t}"), t, &[t, t, t], move |v| {
            Want::Bits(low(t, (int(t, v[0]).wrapping_mul(int(t, v[1])) >> n) + int(t, v[2])))
        }));
        all.push(form(&format!("sad.{t}"), t, &[t, t, t], move |v| {
            Want::Bits(low(t, int(t, v[2]) + (int(t, v[0]) - int(t, v[1])).abs()))
        }));
        if t.starts_with('s') {
            all.push(form(&format!("abs.{t}"), t, &[t], move |v| {
                Want::Bits(low(t, int(t, v[0]).abs()))
            }));
            all.push(form(&format!("neg.{t}"), t, &[t], move |v| {
                Want::Bits(low(t, -int(t, v[0])))
            }));
        }
    }
    for (t, wide) in [("u16", "u32"), ("s16", "s32"), ("u32", "u64"), ("s32", "s64")] {
        all.push(form(&format!("mul.wide.{t}"), wide, &[t, t], move |v| {
            Want::Bits(low(wide, int(t, v[0]) * int(t, v[1])))
        }));
        all.push(form(&format!("mad.wide.{t}"), wide, &[t, t, wide], move |v| {
            Want::Bits(low(wide, int(t, v[0]) * int(t, v[1]) + int(wide, v[2])))
        }));
    }
    let clamp = |v: i128| low("s32", v.clamp(least("s32"), most("s32")));
    all.push(form("add.sat.s32", "s32", &["s32", "s32"], move |v| {
        Want::Bits(clamp(int("s32", v[0]) + int("s32", v[1])))
    }));
    all.push(form("sub.sat.s32", "s32", &["s32", "s32"], move |v| {
        Want::Bits(clamp(int("s32", v[0]) - int("s32", v[1])))
    }));
    all.push(form("mad.hi.sat.s32", "s32", &["s32", "s32", "s32"], move |v| {
        Want::Bits(clamp((int("s32", v[0]) * int("s32", v[1]) >> 32) + int("s32", v[2])))
    }));
    for t in ["u32", "s32"] {
        let cut = move |v: u64| {
            let v = i128::from(v & 0xff_ffff);
            if t == "s32" && v >> 23 != 0 { v - (1 << 24) } else { v }
        };
        all.push(form(&format!("mul24.lo.{t}"), t, &[t, t], move |v| {
            Want::Bits(low(t, cut(v[0]) * cut(v[1])))
        }));
        all.push(form(&format!("mul24.hi.{t}"), t, &[t, t], move |v| {
            Want::Bits(low(t, cut(v[0]) * cut(v[1]) >> 16))
        }));
        all.push(form(&format!("mad24.lo.{t}"), t, &[t, t, t], move |v| {
            Want::Bits(low(t, cut(v[0]) * cut(v[1]) + int(t, v[2])))
        }));
    }
    for name in ["min", "max"] {
        let pick = move |a: i128, b: i128| if (a < b) == (name == "min") { a } else { b };
        for opcode in [format!("{name}.relu.s32"), format!("{name}.s32.relu")] {
            all.push(form(&opcode, "s32", &["s32", "s32"], move |v| {
                Want::Bits(low("s32", pick(int("s32", v[0]), int("s32", v[1])).max(0)))
            }));
        }
        for t in ["u16x2", "s16x2"] {
            let half = if t == "u16x2" { "u16" } else { "s16" };
            let f = move |relu: bool, v: &[u64]| {
                (0..2)
                    .map(|k| {
                        low(
                            "u16",
                            pick(int(half, halves(v[0])[k]), int(half, halves(v[1])[k]))
                                .max(if relu { 0 } else { i128::MIN }),
                        ) << (16 * k)
                    })
                    .sum()
            };
            all.push(form(&format!("{name}.{t}"), "b32", &["b32", "b32"], move |v| {
                Want::Bits(f(false, v))
            }));
            if t == "s16x2" {
                all.push(form(&format!("{name}.relu.{t}"), "b32", &["b32", "b32"], move |v| {
                    Want::Bits(f(true, v))
                }));
            }
        }
    }
    for t in ["u16x2", "s16x2"] {
        all.push(form(&format!("add.{t}"), "b32", &["b32", "b32"], |v| {
            Want::Bits(
                (0..2).map(|k| (halves(v[0])[k] + halves(v[1])[k] & 0xffff) << (16 * k)).sum(),
            )
        }));
    }
}

fn logic(all: &mut Vec<Form>) {
    for t in ["b16", "b32", "b64", "pred"] {
        let n = bits(t);
        let two: &[(&str, Truth)] =
            &[("and", |a, b| a + b == 2), ("or", |a, b| a + b > 0), ("xor", |a, b| a != b)];
        for &(name, f) in two {
            all.push(form(&format!("{name}.{t}"), t, &[t, t], move |v| {
                Want::Bits(from_bits(n, |k| f(bit(v[0], k), bit(v[1], k)).into()))
            }));
        }
        all.push(form(&format!("not.{t}"), t, &[t], move |v| {
            Want::Bits(from_bits(n, |k| 1 - bit(v[0], k)))
        }));
        if t != "pred" {
            all.push(form(&format!("cnot.{t}"), t, &[t], move |v| {
                Want::Bits(u64::from(v[0] == 0))
            }));
        }
    }
    for table in [0u64, 0x1b, 0x80, 0x96, 0xd8, 0xea, 0xfe, 0xff] {
        all.push(body(
            &format!("lop3.b32 %d, %a, %b, %c, {table};"),
            "b32",
            &["b32", "b32", "b32"],
            move |v| {
                Want::Bits(from_bits(32, |k| {
                    table >> (bit(v[0], k) * 4 + bit(v[1], k) * 2 + bit(v[2], k))
                }))
            },
        ));
    }
    for t in ["b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64", "pred"] {
        all.push(form(&format!("mov.{t}"), t, &[t], |v| Want::Bits(v[0])));
    }
    for t in ["b16", "b32", "b64"] {
        let n = bits(t);
        all.push(form(&format!("shl.{t}"), t, &[t, "u32"], move |v| {
            Want::Bits(from_bits(n, |k| {
                if u64::from(k) >= v[1] { bit(v[0], k - v[1] as u32) } else { 0 }
            }))
        }));
    }
    for t in ["b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64"] {
        let n = bits(t);
        all.push(form(&format!("shr.{t}"), t, &[t, "u32"], move |v| {
            let fill = if t.starts_with('s') { bit(v[0], n - 1) } else { 0 };
            Want::Bits(from_bits(n, |k| {
                if u64::from(k) + v[1] < u64::from(n) { bit(v[0], k + v[1] as u32) } else { fill }
            }))
        }));
    }
    for mode in ["wrap", "clamp"] {
        let by = move |v: u64| if mode == "wrap" { v as u32 % 32 } else { v.min(32) as u32 };
        all.push(form(&format!("shf.l.{mode}.b32"), "b32", &["b32", "b32", "u32"], move |v| {
            Want::Bits(from_bits(32, |k| bit(v[1] << 32 | v[0], k + 32 - by(v[2]))))
        }));
        all.push(form(&format!("shf.r.{mode}.b32"), "b32", &["b32", "b32", "u32"], move |v| {
            Want::Bits(from_bits(32, |k| bit(v[1] << 32 | v[0], k + by(v[2]))))
        }));
    }
}

fn bit_fields(all: &mut Vec<Form>) {
    for t in ["b32", "b64"] {
        let n = bits(t);
        all.push(form(&format!("popc.{t}"), "u32", &[t], move |v| {
            Want::Bits((0..n).map(|k| bit(v[0], k)).sum())
        }));
        all.push(form(&format!("clz.{t}"), "u32", &[t], move |v| {
            Want::Bits((0..n).rev().take_while(|&k| bit(v[0], k) == 0).count() as u64)
        }));
        all.push(form(&format!("brev.{t}"), t, &[t], move |v| {
            Want::Bits(from_bits(n, |k| bit(v[0], n - 1 - k)))
        }));
        all.push(form(&format!("bfi.{t}"), t, &[t, t, "u32", "u32"], move |v| {
            let (pos, len) = (v[2] & 255, v[3] & 255);
            Want::Bits(from_bits(n, |k| {
                if (pos..pos + len).contains(&k.into()) {
                    bit(v[0], k - pos as u32)
                } else {
                    bit(v[1], k)
                }
            }))
        }));
    }
    for t in ["u32", "s32", "u64", "s64"] {
        let n = bits(t);
        // The highest bit that differs from the sign.
        let find = move |v: u64| {
            let sign = if t.starts_with('s') { bit(v, n - 1) } else { 0 };
            (0..n).rev().find(|&k| bit(v, k) != sign)
        };
        all.push(form(&format!("bfind.{t}"), "u32", &[t], move |v| {
            Want::Bits(find(v[0]).map_or(0xffff_ffff, u64::from))
        }));
        all.push(form(&format!("bfind.shiftamt.{t}"), "u32", &[t], move |v| {
            Want::Bits(find(v[0]).map_or(0xffff_ffff, |k| u64::from(n - 1 - k)))
        }));
        all.push(form(&format!("bfe.{t}"), t, &[t, "u32", "u32"], move |v| {
            let (pos, len) = (v[1] as u32 & 255, v[2] as u32 & 255);
            let sign = if t.starts_with('u') || len == 0 {
                0
            } else {
                bit(v[0], (pos + len - 1).min(n - 1))
            };
            Want::Bits(from_bits(
                n,
                |k| if k < len && pos + k < n { bit(v[0], pos + k) } else { sign },
            ))
        }));
    }
    for mode in ["clamp", "wrap"] {
        let size = move |v: u64| if mode == "wrap" { v % 32 } else { v };
        all.push(form(&format!("bmsk.{mode}.b32"), "b32", &["u32", "u32"], move |v| {
            Want::Bits(from_bits(32, |k| {
                u64::from(
                    u64::from(k) >= size(v[0]) && u64::from(k) < size(v[0]) + size(v[1]).min(32),
                )
            }))
        }));
        for t in ["u32", "s32"] {
            all.push(form(&format!("szext.{mode}.{t}"), t, &[t, "u32"], move |v| {
                let n = size(v[1]).min(32) as u32;
                let sign = if t == "s32" && n > 0 { bit(v[0], n - 1) } else { 0 };
                Want::Bits(from_bits(32, |k| if k < n { bit(v[0], k) } else { sign }))
            }));
        }
    }
    all.push(form("fns.b32", "b32", &["b32", "u32", "s32"], |v| {
        let (base, n) = (v[1] as i32 & 31, v[2] as i32);
        let set = |k: i32| v[0] >> k & 1 == 1;
        let found = match n {
            0 => set(base).then_some(base),
            1.. => (base..32).filter(|&k| set(k)).nth(n as usize - 1),
            _ => (0..=base).rev().filter(|&k| set(k)).nth((n.unsigned_abs() - 1) as usize),
        };
        Want::Bits(found.map_or(0xffff_ffff, |k| k as u64))
    }));
    let byte = |v: &[u64], k: u64| (v[1] << 32 | v[0]) >> (8 * k) & 0xff;
    all.push(form("prmt.b32", "b32", &["b32", "b32", "b32"], move |v| {
        Want::Bits(
            (0..4)
                .map(|k| {
                    let s = v[2] >> (4 * k) & 15;
                    let b = byte(v, s % 8);
                    (if s >= 8 { if b >= 128 { 255 } else { 0 } } else { b }) << (8 * k)
                })
                .sum(),
        )
    }));
    // The modes, as the manual's table lists them: for each control value the four sources, lowest first.
    let modes: &[(&str, [[u64; 4]; 4])] = &[
        ("f4e", [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6]]),
        ("b4e", [[0, 7, 6, 5], [1, 0, 7, 6], [2, 1, 0, 7], [3, 2, 1, 0]]),
        ("rc8", [[0; 4], [1; 4], [2; 4], [3; 4]]),
        ("ecl", [[0, 1, 2, 3], [1, 1, 2, 3], [2, 2, 2, 3], [3, 3, 3, 3]]),
        ("ecr", [[0, 0, 0, 0], [0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3]]),
        ("rc16", [[0, 1, 0, 1], [2, 3, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3]]),
    ];
    for &(mode, table) in modes {
        all.push(form(&format!("prmt.b32.{mode}"), "b32", &["b32", "b32", "b32"], move |v| {
            Want::Bits((0..4).map(|k| byte(v, table[(v[2] & 3) as usize][k]) << (8 * k)).sum())
        }));
    }
}

fn packed(all: &mut Vec<Form>) {
    for a in ["u32", "s32"] {
        for b in ["u32", "s32"] {
            let part = |t: &str, v: u64, n: u32, k: u32| {
                let v = i128::from(v >> (n * k) & ((1 << n) - 1));
                if t == "s32" && v >> (n - 1) != 0 { v - (1 << n) } else { v }
            };
            all.push(form(&format!("dp4a.{a}.{b}"), "u32", &["b32", "b32", "b32"], move |v| {
                Want::Bits(low(
                    "u32",
                    i128::from(v[2])
                        + (0..4).map(|k| part(a, v[0], 8, k) * part(b, v[1], 8, k)).sum::<i128>(),
                ))
            }));
            for (mode, first) in [("lo", 0), ("hi", 2)] {
                all.push(form(
                    &format!("dp2a.{mode}.{a}.{b}"),
                    "u32",
                    &["b32", "b32", "b32"],
                    move |v| {
                        Want::Bits(low(
                            "u32",
                            i128::from(v[2])
                                + (0..2)
                                    .map(|k| part(a, v[0], 16, k) * part(b, v[1], 8, first + k))
                                    .sum::<i128>(),
                        ))
                    },
                ));
            }
        }
    }
    all.push(body("mov.b32 %d, {%a, %b};", "b32", &["b16", "b16"], |v| {
        Want::Bits(v[0] | v[1] << 16)
    }));
    all.push(body("mov.b64 %d, {%a, %b};", "b64", &["b32", "b32"], |v| {
        Want::Bits(v[0] | v[1] << 32)
    }));
    all.push(body("mov.b64 %d, {%a, %b, %c, %e};", "b64", &["b16", "b16", "b16", "b16"], |v| {
        Want::Bits(v[0] | v[1] << 16 | v[2] << 32 | v[3] << 48)
    }));
    all.push(body(
        "{ .reg .b16 l, h; mov.b32 {l, h}, %a; mov.b32 %d, {h, l}; }",
        "b32",
        &["b32"],
        |v| Want::Bits(v[0] >> 16 | v[0] << 16 & 0xffff_0000),
    ));
    all.push(body("{ .reg .b32 l; mov.b64 {l, %d}, %a; }", "b32", &["b64"], |v| {
        Want::Bits(v[0] >> 32)
    }));
    all.push(body(
        "{ .reg .b16 q; mov.b64 {_, q, _, _}, %a; mov.b32 %d, {q, q}; }",
        "b32",
        &["b64"],
        |v| Want::Bits((v[0] >> 16 & 0xffff) * 0x1_0001),
    ));
    all.push(body(
        "{ .reg .b8 p, q, r, s; mov.b32 {p, q, r, s}, %a; mov.b32 %d, {s, r, q, p}; }",
        "b32",
        &["b32"],
        |v| Want::Bits((v[0] as u32).swap_bytes().into()),
    ));
    all.push(body(
        "{ .reg .b8 p, q; mov.b16 {p, q}, %a; mov.b16 %d, {q, p}; }",
        "b16",
        &["b16"],
        |v| Want::Bits((v[0] as u16).swap_bytes().into()),
    ));
}

fn carries(all: &mut Vec<Form>) {
    // Two words added as one number of twice the width, and the like.
    for t in ["u32", "u64"] {
        let n = bits(t);
        let m = mask(t);
        let kind = if t == "u32" { "b32" } else { "b64" };
        all.push(body(
            &format!("{{ .reg .{kind} x; add.cc.{t} x, %a, %b; addc.{t} %d, %c, 0; }}"),
            t,
            &[t, t, t],
            move |v| Want::Bits((v[2] as u128 + ((v[0] as u128 + v[1] as u128) >> n)) as u64 & m),
        ));
        all.push(body(&format!("{{ .reg .{kind} x; add.cc.{t} x, %a, %b; addc.cc.{t} x, %c, {}; addc.{t} %d, 0, 0; }}", m as i64), t, &[t, t, t], move |v| Want::Bits(((v[2] as u128 + u128::from(m) + ((v[0] as u128 + v[1] as u128) >> n)) >> n) as u64)));
        all.push(body(
            &format!("{{ .reg .{kind} x; sub.cc.{t} x, %a, %b; subc.{t} %d, %c, 0; }}"),
            t,
            &[t, t, t],
            move |v| Want::Bits(v[2].wrapping_sub(u64::from(v[0] < v[1])) & m),
        ));
        all.push(body(&format!("{{ .reg .{kind} x; sub.cc.{t} x, %a, %b; subc.cc.{t} x, %c, %a; subc.{t} %d, 0, 0; }}"), t, &[t, t, t], move |v| Want::Bits(if u128::from(v[2]) < u128::from(v[0]) + u128::from(v[0] < v[1]) { m } else { 0 })));
        // A borrow is a carry that is missing.
        all.push(body(
            &format!("{{ .reg .{kind} x; sub.cc.{t} x, %a, %b; addc.{t} %d, 0, 0; }}"),
            t,
            &[t, t],
            move |v| Want::Bits(u64::from(v[0] >= v[1])),
        ));
        let product = move |v: &[u64]| v[0] as u128 * v[1] as u128;
        all.push(body(
            &format!(
                "{{ .reg .{kind} x; mad.lo.cc.{t} x, %a, %b, %c; madc.hi.{t} %d, %a, %b, 0; }}"
            ),
            t,
            &[t, t, t],
            move |v| Want::Bits(((product(v) + u128::from(v[2])) >> n) as u64 & m),
        ));
        all.push(body(
            &format!(
                "{{ .reg .{kind} x; mad.hi.cc.{t} x, %a, %b, %c; madc.lo.{t} %d, %a, %b, 0; }}"
            ),
            t,
            &[t, t, t],
            move |v| {
                Want::Bits(
                    ((product(v) & u128::from(m)) + (((product(v) >> n) + u128::from(v[2])) >> n))
                        as u64
                        & m,
                )
            },
        ));
    }
}

/// Halves or bytes at once, for every combination of signs.
fn video(all: &mut Vec<Form>) {
    let operations: [(&str, Operation); 6] = [
        ("vadd", |a, b| a + b),
        ("vsub", |a, b| a - b),
        ("vavrg", |a, b| (a + b + i128::from(a + b > -1)).div_euclid(2)),
        ("vabsdiff", |a, b| if a > b { a - b } else { b - a }),
        ("vmin", |a, b| if a < b { a } else { b }),
        ("vmax", |a, b| if a > b { a } else { b }),
    ];
    for (name, f) in operations {
        for (lanes, unsigned, signed) in [(2u32, "u16", "s16"), (4, "u8", "s8")] {
            for signs in 0..8 {
                let kind = move |k: u32| if signs >> k & 1 != 0 { signed } else { unsigned };
                let word = |k: u32| if signs >> k & 1 != 0 { "s32" } else { "u32" };
                let n = 32 / lanes;
                for modifier in ["", ".sat", ".add"] {
                    let opcode =
                        format!("{name}{lanes}.{}.{}.{}{modifier}", word(0), word(1), word(2));
                    all.push(form(&opcode, "b32", &["b32", "b32", "b32"], move |v| {
                        let part = |k: u32| {
                            f(int(kind(1), v[0] >> (n * k)), int(kind(2), v[1] >> (n * k)))
                        };
                        Want::Bits(match modifier {
                            ".add" => {
                                low("u32", i128::from(v[2]) + (0..lanes).map(part).sum::<i128>())
                            }
                            ".sat" => (0..lanes)
                                .map(|k| {
                                    low(unsigned, part(k).clamp(least(kind(0)), most(kind(0))))
                                        << (n * k)
                                })
                                .sum(),
                            _ => (0..lanes).map(|k| low(unsigned, part(k)) << (n * k)).sum(),
                        })
                    }));
                }
            }
        }
    }
}

fn selections(all: &mut Vec<Form>) {
    for t in ["b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"] {
        all.push(form(&format!("selp.{t}"), t, &[t, t, "pred"], |v| {
            Want::Bits(if v[2] != 0 { v[0] } else { v[1] })
        }));
        all.push(form(&format!("slct.{t}.s32"), t, &[t, t, "s32"], |v| {
            Want::Bits(if v[2] >> 31 == 0 { v[0] } else { v[1] })
        }));
        all.push(form(&format!("slct.{t}.f32"), t, &[t, t, "f32"], |v| {
            Want::Bits(if f32::from_bits(v[2] as u32) >= 0.0 { v[0] } else { v[1] })
        }));
    }
    let compare: &[(&str, Comparison, &str)] = &[
        ("eq", |a, b| a == b, "bus"),
        ("ne", |a, b| a != b, "bus"),
        ("lt", |a, b| a < b, "us"),
        ("le", |a, b| a <= b, "us"),
        ("gt", |a, b| a > b, "us"),
        ("ge", |a, b| a >= b, "us"),
        ("lo", |a, b| a < b, "u"),
        ("ls", |a, b| a <= b, "u"),
        ("hi", |a, b| a > b, "u"),
        ("hs", |a, b| a >= b, "u"),
    ];
    for t in ["b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64"] {
        for &(name, f, kinds) in compare {
            if kinds.contains(&t[..1]) {
                all.push(form(&format!("setp.{name}.{t}"), "pred", &[t, t], move |v| {
                    Want::Bits(f(int(t, v[0]), int(t, v[1])).into())
                }));
            }
        }
    }
    for (name, f) in [
        ("and", (|x, p| x & p) as fn(u64, u64) -> u64),
        ("or", |x, p| x | p),
        ("xor", |x, p| x ^ p),
    ] {
        all.push(form(&format!("setp.lt.{name}.s32"), "pred", &["s32", "s32", "pred"], move |v| {
            Want::Bits(f(u64::from(int("s32", v[0]) < int("s32", v[1])), v[2]))
        }));
        all.push(body(
            &format!("setp.lt.{name}.s32 %p2|%d, %a, %b, !%c;"),
            "pred",
            &["s32", "s32", "pred"],
            move |v| Want::Bits(f(u64::from(int("s32", v[0]) >= int("s32", v[1])), 1 - v[2])),
        ));
    }
    all.push(form("set.lt.u32.s32", "u32", &["s32", "s32"], |v| {
        Want::Bits(if int("s32", v[0]) < int("s32", v[1]) { 0xffff_ffff } else { 0 })
    }));
    all.push(form("set.ge.f32.u32", "f32", &["u32", "u32"], |v| {
        Want::Bits(if v[0] >= v[1] { 1f32.to_bits().into() } else { 0 })
    }));
}
