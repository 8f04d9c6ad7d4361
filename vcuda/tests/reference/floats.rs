//! Float forms, defined through the host's arithmetic to nearest and the sign of its exact error.

use super::{Form, Want, bits, body, form, int, least, low, most};

pub fn value(kind: &str, v: u64) -> f64 {
    match kind {
        "f16" => half::f16::from_bits(v as u16).to_f64(),
        "bf16" => half::bf16::from_bits(v as u16).to_f64(),
        "f32" => f64::from(f32::from_bits(v as u32)),
        _ => f64::from_bits(v),
    }
}

/// The sum and its exact error.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    let t = s - a;
    (s, (a - (s - t)) + (b - t))
}

/// A number plus a tiny error: the value is just above, just below, or exact.
#[derive(Clone, Copy)]
struct Exact(f64, f64);

impl Exact {
    fn sum(a: f64, b: f64) -> Exact {
        let (s, e) = two_sum(a, b);
        Exact(s, if s.is_finite() { e } else { 0.0 })
    }

    /// Rounds to a type in a mode: finds the two neighbours and takes one.
    fn round(self, kind: &str, mode: &str) -> u64 {
        let Exact(v, e) = self;
        if v.is_nan() {
            return match kind {
                "f16" | "bf16" => 0x7fff,
                "f32" => 0x7fff_ffff,
                _ => f64::NAN.to_bits(),
            };
        }
        let sign = u64::from(v.is_sign_negative()) << (bits(kind) - 1);
        let magnitude = |b: u64| value(kind, b);
        let infinite = match kind {
            "f16" => 0x7c00,
            "bf16" => 0x7f80,
            "f32" => 0x7f80_0000,
            _ => 0x7ff0_0000_0000_0000u64,
        };
        if v.is_infinite() {
            return sign | infinite;
        }
        // The largest magnitude not above the value, by bisection over the bit patterns.
        let above = |b: u64| {
            let m = magnitude(b);
            m > v.abs() || m == v.abs() && (e != 0.0 && (e < 0.0) == (v > 0.0))
        };
        let (mut lo, mut hi) = (0u64, infinite);
        while hi - lo > 1 {
            let mid = (lo + hi) / 2;
            if above(mid) { hi = mid } else { lo = mid }
        }
        if above(lo) {
            return sign | lo;
        }
        let exact = magnitude(lo) == v.abs() && e == 0.0;
        let up = !exact
            && match mode {
                "rz" => false,
                "rm" => v < 0.0,
                "rp" => v > 0.0,
                _ => {
                    let next = if hi == infinite {
                        2.0 * magnitude(lo) - magnitude(lo - 1)
                    } else {
                        magnitude(hi)
                    };
                    let (below, over) = (v.abs() - magnitude(lo), next - v.abs());
                    let tie = if below == over {
                        if e == 0.0 { 0.0 } else { e * v.signum() }
                    } else {
                        below - over
                    };
                    tie > 0.0 || tie == 0.0 && lo & 1 == 1
                }
            };
        sign | if up { hi } else { lo }
    }
}

fn product(a: f64, b: f64) -> Exact {
    let p = a * b;
    Exact(p, if p.is_finite() { a.mul_add(b, -p) } else { 0.0 })
}

fn quotient(a: f64, b: f64) -> Exact {
    let q = a / b;
    let rest = if q.is_finite() && b.is_finite() { (-q).mul_add(b, a) } else { 0.0 };
    Exact(q, if b < 0.0 { -rest } else { rest })
}

fn root(a: f64) -> Exact {
    let r = a.sqrt();
    Exact(r, if r.is_finite() { (-r).mul_add(r, a) } else { 0.0 })
}

/// `a·b + c`, with the product exact in double precision.
fn fused(a: f64, b: f64, c: f64) -> Exact {
    Exact::sum(a * b, c)
}

/// An exact zero from unlike signs is negative when rounding down.
fn zero_sign(bits_now: u64, kind: &str, mode: &str, a: f64, b: f64) -> u64 {
    let sign = 1u64 << (bits(kind) - 1);
    if bits_now & !sign == 0 && a + b == 0.0 && (a.is_sign_negative() != b.is_sign_negative()) {
        if mode == "rm" { sign } else { 0 }
    } else {
        bits_now
    }
}

fn flush(v: u64) -> u64 {
    if f32::from_bits(v as u32).is_subnormal() { v & 0x8000_0000 } else { v }
}

pub fn forms() -> Vec<Form> {
    let mut all = Vec::new();
    basic(&mut all);
    halves(&mut all);
    pairs(&mut all);
    bytes(&mut all);
    comparisons(&mut all);
    conversions(&mut all);
    all
}

fn tiny(t: &str, v: f64) -> bool {
    // The error of a double product is exact only away from the smallest numbers.
    t == "f64" && (v.abs() < 1e-280 && v != 0.0 || v.abs() > 1e290)
}

fn basic(all: &mut Vec<Form>) {
    for t in ["f32", "f64"] {
        for mode in ["rn", "rz", "rm", "rp"] {
            let get = move |v: &[u64]| v.iter().map(|&x| value(t, x)).collect::<Vec<f64>>();
            let is_open = move |v: &[u64]| t == "f64" && get(v).iter().any(|&x| tiny(t, x));
            all.push(form(&format!("add.{mode}.{t}"), t, &[t, t], move |v| {
                let x = get(v);
                Want::Bits(zero_sign(Exact::sum(x[0], x[1]).round(t, mode), t, mode, x[0], x[1]))
            }));
            all.push(form(&format!("sub.{mode}.{t}"), t, &[t, t], move |v| {
                let x = get(v);
                Want::Bits(zero_sign(Exact::sum(x[0], -x[1]).round(t, mode), t, mode, x[0], -x[1]))
            }));
            all.push(form(&format!("mul.{mode}.{t}"), t, &[t, t], move |v| {
                let x = get(v);
                if is_open(v) { Want::Any } else { Want::Bits(product(x[0], x[1]).round(t, mode)) }
            }));
            all.push(form(&format!("div.{mode}.{t}"), t, &[t, t], move |v| {
                let x = get(v);
                if is_open(v) { Want::Any } else { Want::Bits(quotient(x[0], x[1]).round(t, mode)) }
            }));
            all.push(form(&format!("rcp.{mode}.{t}"), t, &[t], move |v| {
                let x = get(v);
                if is_open(v) { Want::Any } else { Want::Bits(quotient(1.0, x[0]).round(t, mode)) }
            }));
            all.push(form(&format!("sqrt.{mode}.{t}"), t, &[t], move |v| {
                let x = get(v);
                if is_open(v) { Want::Any } else { Want::Bits(root(x[0]).round(t, mode)) }
            }));
            for name in ["fma", "mad"] {
                all.push(form(&format!("{name}.{mode}.{t}"), t, &[t, t, t], move |v| {
                    let x = get(v);
                    let inexact = t == "f64" && product(x[0], x[1]).1 != 0.0;
                    if mode == "rn" && t == "f64" {
                        return Want::Bits(x[0].mul_add(x[1], x[2]).to_bits());
                    }
                    if inexact || is_open(v) {
                        return Want::Any;
                    }
                    Want::Bits(zero_sign(
                        fused(x[0], x[1], x[2]).round(t, mode),
                        t,
                        mode,
                        x[0] * x[1],
                        x[2],
                    ))
                }));
            }
        }
        let sign = 1u64 << (bits(t) - 1);
        all.push(form(&format!("neg.{t}"), t, &[t], move |v| Want::Bits(v[0] ^ sign)));
        all.push(form(&format!("abs.{t}"), t, &[t], move |v| Want::Bits(v[0] & !sign)));
        all.push(form(&format!("copysign.{t}"), t, &[t, t], move |v| {
            Want::Bits(v[0] & sign | v[1] & !sign)
        }));
        // An order in which -0 comes before +0; NaN is outside.
        let order = move |v: u64| {
            let k = v as i64;
            if t == "f32" {
                let k = v as u32 as i32;
                i64::from(if k < 0 { k ^ 0x7fff_ffff } else { k })
            } else if k < 0 {
                k ^ i64::MAX
            } else {
                k
            }
        };
        for (name, less) in [("min", true), ("max", false)] {
            let pick = move |a: u64, b: u64| if (order(a) < order(b)) == less { a } else { b };
            let nan = move |v: u64| value(t, v).is_nan();
            let canonical = if t == "f32" { 0x7fff_ffff } else { f64::NAN.to_bits() };
            let choose = move |a: u64, b: u64, wins: bool| match (nan(a), nan(b)) {
                (false, false) => pick(a, b),
                (false, true) if !wins => a,
                (true, false) if !wins => b,
                _ => canonical,
            };
            all.push(form(&format!("{name}.{t}"), t, &[t, t], move |v| {
                Want::Bits(choose(v[0], v[1], false))
            }));
            all.push(form(&format!("{name}.NaN.{t}"), t, &[t, t], move |v| {
                Want::Bits(choose(v[0], v[1], true))
            }));
            if t == "f32" {
                for (modifier, wins) in [("", false), (".NaN", true)] {
                    all.push(form(
                        &format!("{name}{modifier}.xorsign.abs.f32"),
                        t,
                        &[t, t],
                        move |v| {
                            let m = choose(v[0] & !sign, v[1] & !sign, wins);
                            Want::Bits(if nan(m) { m } else { m | (v[0] ^ v[1]) & sign })
                        },
                    ));
                }
            }
        }
        for (name, f) in [
            ("finite", f64::is_finite as fn(f64) -> bool),
            ("infinite", f64::is_infinite),
            ("notanumber", f64::is_nan),
            ("number", |x: f64| !x.is_nan()),
        ] {
            all.push(form(&format!("testp.{name}.{t}"), "pred", &[t], move |v| {
                Want::Bits(f(value(t, v[0])).into())
            }));
        }
        let smallest = if t == "f32" { f64::from(f32::MIN_POSITIVE) } else { f64::MIN_POSITIVE };
        all.push(form(&format!("testp.normal.{t}"), "pred", &[t], move |v| {
            let x = value(t, v[0]).abs();
            Want::Bits(u64::from(x >= smallest && x.is_finite()))
        }));
        all.push(form(&format!("testp.subnormal.{t}"), "pred", &[t], move |v| {
            let x = value(t, v[0]).abs();
            Want::Bits(u64::from(x < smallest && x > 0.0))
        }));
    }
    for (name, f) in [
        ("rcp", (|x| 1.0 / x) as fn(f64) -> f64),
        ("sqrt", f64::sqrt),
        ("rsqrt", |x| 1.0 / x.sqrt()),
        ("sin", f64::sin),
        ("cos", f64::cos),
        ("ex2", f64::exp2),
        ("lg2", f64::log2),
        ("tanh", f64::tanh),
    ] {
        all.push(form(&format!("{name}.approx.f32"), "f32", &["f32"], move |v| {
            Want::Near(f(value("f32", v[0])))
        }));
    }
    all.push(form("rsqrt.approx.f64", "f64", &["f64"], |v| {
        Want::Near(1.0 / value("f64", v[0]).sqrt())
    }));
    all.push(form("rcp.approx.ftz.f64", "f64", &["f64"], |v| Want::Near(1.0 / value("f64", v[0]))));
    all.push(form("div.full.f32", "f32", &["f32", "f32"], |v| {
        Want::Near(value("f32", v[0]) / value("f32", v[1]))
    }));
    all.push(form("add.ftz.f32", "f32", &["f32", "f32"], |v| {
        Want::Bits(flush(
            (f32::from_bits(flush(v[0]) as u32) + f32::from_bits(flush(v[1]) as u32))
                .to_bits()
                .into(),
        ))
    }));
    all.push(form("mul.ftz.f32", "f32", &["f32", "f32"], |v| {
        Want::Bits(flush(
            (f32::from_bits(flush(v[0]) as u32) * f32::from_bits(flush(v[1]) as u32))
                .to_bits()
                .into(),
        ))
    }));
    let clamp = |x: f64| {
        if x.is_nan() || x <= 0.0 {
            0.0
        } else if x > 1.0 {
            1.0
        } else {
            x
        }
    };
    all.push(form("add.sat.f32", "f32", &["f32", "f32"], move |v| {
        Want::Bits(
            (clamp(f64::from(f32::from_bits(v[0] as u32) + f32::from_bits(v[1] as u32))) as f32)
                .to_bits()
                .into(),
        )
    }));
    all.push(form("setp.lt.ftz.f32", "pred", &["f32", "f32"], |v| {
        Want::Bits(u64::from(
            f32::from_bits(flush(v[0]) as u32) < f32::from_bits(flush(v[1]) as u32),
        ))
    }));
}

/// An exact result, and two numbers whose sum it is.
type Sum = fn(&[f64]) -> (Exact, f64, f64);

/// Two singles in 64 bits.
fn pairs(all: &mut Vec<Form>) {
    let part = |v: &[u64], k: u32| -> Vec<f64> {
        v.iter().map(|x| value("f32", x >> (32 * k) & 0xffff_ffff)).collect()
    };
    for mode in ["rn", "rz", "rm", "rp"] {
        let each = move |v: &[u64], f: Sum| {
            Want::Bits(
                (0..2)
                    .map(|k| {
                        let (exact, a, b) = f(&part(v, k));
                        zero_sign(exact.round("f32", mode), "f32", mode, a, b) << (32 * k)
                    })
                    .sum(),
            )
        };
        let two = ["f32x2", "f32x2"];
        all.push(form(&format!("add.{mode}.f32x2"), "f32x2", &two, move |v| {
            each(v, |x| (Exact::sum(x[0], x[1]), x[0], x[1]))
        }));
        all.push(form(&format!("sub.{mode}.f32x2"), "f32x2", &two, move |v| {
            each(v, |x| (Exact::sum(x[0], -x[1]), x[0], -x[1]))
        }));
        all.push(form(&format!("mul.{mode}.f32x2"), "f32x2", &two, move |v| {
            each(v, |x| (product(x[0], x[1]), 1.0, 1.0))
        }));
        all.push(form(
            &format!("fma.{mode}.f32x2"),
            "f32x2",
            &["f32x2", "f32x2", "f32x2"],
            move |v| each(v, |x| (fused(x[0], x[1], x[2]), x[0] * x[1], x[2])),
        ));
    }
    all.push(form("mul.ftz.f32x2", "f32x2", &["f32x2", "f32x2"], |v| {
        let half = |k: u32| {
            let [a, b] =
                [v[0], v[1]].map(|x| f32::from_bits(flush(x >> (32 * k) & 0xffff_ffff) as u32));
            flush((a * b).to_bits().into()) << (32 * k)
        };
        Want::Bits(half(0) | half(1))
    }));
    // The least and the greatest of three.
    for (name, pick) in [("min", f32::min as fn(f32, f32) -> f32), ("max", f32::max)] {
        all.push(form(&format!("{name}.f32"), "f32", &["f32", "f32", "f32"], move |v| {
            let x: Vec<f32> = v.iter().map(|&x| f32::from_bits(x as u32)).collect();
            let best = x.iter().copied().fold(f32::NAN, pick);
            // Which zero the host prefers is open.
            if best == 0.0 { Want::Near(0.0) } else { Want::Bits(best.to_bits().into()) }
        }));
    }
}

/// Pairs of eight-bit floats: a number becomes the nearest of the 127 there are, an even one if two are.
fn bytes(all: &mut Vec<Form>) {
    let tiny = |kind: &str, v: u64| {
        let (m, bias) = if kind == "e4m3" { (3, 7) } else { (2, 15) };
        let (field, fraction) = ((v & 0x7f) >> m, (v & ((1 << m) - 1)) as f64 / f64::from(1 << m));
        let x = match (kind, v & 0x7f) {
            ("e4m3", 0x7f) | ("e5m2", 0x7d..) => f64::NAN,
            ("e5m2", 0x7c) => f64::INFINITY,
            _ if field == 0 => fraction * 2f64.powi(1 - bias),
            _ => (1.0 + fraction) * 2f64.powi(field as i32 - bias),
        };
        if v & 0x80 != 0 { -x } else { x }
    };
    for (kind, pair, most) in [("e4m3", "e4m3x2", 0x7eu64), ("e5m2", "e5m2x2", 0x7b)] {
        let nearest = move |x: f64| {
            if x.is_nan() {
                return 0x7f;
            }
            let distance = |v: u64| (tiny(kind, v) - x.abs()).abs();
            let best = if x.abs() >= tiny(kind, most) {
                most
            } else {
                (0..=most)
                    .min_by(|&a, &b| {
                        distance(a).total_cmp(&distance(b)).then((a & 1).cmp(&(b & 1)))
                    })
                    .unwrap_or(0)
            };
            best | u64::from(x.is_sign_negative()) << 7
        };
        all.push(form(&format!("cvt.rn.satfinite.{pair}.f32"), "b16", &["f32", "f32"], move |v| {
            Want::Bits(nearest(value("f32", v[0])) << 8 | nearest(value("f32", v[1])))
        }));
        all.push(form(
            &format!("cvt.rn.satfinite.relu.{pair}.f32"),
            "b16",
            &["f32", "f32"],
            move |v| {
                let one =
                    |x: f64| nearest(if x.is_sign_negative() && !x.is_nan() { 0.0 } else { x });
                Want::Bits(one(value("f32", v[0])) << 8 | one(value("f32", v[1])))
            },
        ));
        all.push(form(&format!("cvt.rn.satfinite.{pair}.f16x2"), "b16", &["f16x2"], move |v| {
            Want::Bits(
                nearest(value("f16", v[0] >> 16)) << 8 | nearest(value("f16", v[0] & 0xffff)),
            )
        }));
        all.push(form(&format!("cvt.rn.f16x2.{pair}"), "f16x2", &["u16"], move |v| {
            let one = |v: u64| Exact(tiny(kind, v), 0.0).round("f16", "rn");
            Want::Bits(one(v[0] >> 8) << 16 | one(v[0] & 0xff))
        }));
    }
}

fn halves(all: &mut Vec<Form>) {
    for (t, pair) in [("f16", "f16x2"), ("bf16", "bf16x2")] {
        let canonical = 0x7fffu64;
        let each = move |v: &[u64], f: &dyn Fn(&[u64]) -> u64| -> u64 {
            (0..2)
                .map(|k| {
                    f(&v.iter().map(|x| x >> (16 * k) & 0xffff).collect::<Vec<_>>()) << (16 * k)
                })
                .sum()
        };
        type Definition = fn(&'static str, &[u64]) -> u64;
        fn number(t: &str, v: u64) -> f64 {
            value(t, v)
        }
        let add: Definition = |t, v| {
            zero_sign(
                Exact::sum(number(t, v[0]), number(t, v[1])).round(t, "rn"),
                t,
                "rn",
                number(t, v[0]),
                number(t, v[1]),
            )
        };
        let sub: Definition = |t, v| {
            zero_sign(
                Exact::sum(number(t, v[0]), -number(t, v[1])).round(t, "rn"),
                t,
                "rn",
                number(t, v[0]),
                -number(t, v[1]),
            )
        };
        let mul: Definition = |t, v| product(number(t, v[0]), number(t, v[1])).round(t, "rn");
        let fma: Definition = |t, v| {
            zero_sign(
                fused(number(t, v[0]), number(t, v[1]), number(t, v[2])).round(t, "rn"),
                t,
                "rn",
                number(t, v[0]) * number(t, v[1]),
                number(t, v[2]),
            )
        };
        let relu: Definition = |t, v| {
            let r = zero_sign(
                fused(number(t, v[0]), number(t, v[1]), number(t, v[2])).round(t, "rn"),
                t,
                "rn",
                number(t, v[0]) * number(t, v[1]),
                number(t, v[2]),
            );
            if r & 0x8000 != 0 && !number(t, r).is_nan() { 0 } else { r }
        };
        let neg: Definition = |_, v| v[0] ^ 0x8000;
        let abs: Definition = |_, v| v[0] & 0x7fff;
        for (name, n, f) in [
            ("add", 2, add),
            ("sub", 2, sub),
            ("mul", 2, mul),
            ("fma.rn", 3, fma),
            ("fma.rn.relu", 3, relu),
            ("neg", 1, neg),
            ("abs", 1, abs),
        ] {
            all.push(form(&format!("{name}.{t}"), t, &vec![t; n], move |v| Want::Bits(f(t, v))));
            all.push(form(&format!("{name}.{pair}"), pair, &vec![pair; n], move |v| {
                Want::Bits(each(v, &|x| f(t, x)))
            }));
        }
        for (name, less) in [("min", true), ("max", false)] {
            for (modifier, wins) in [("", false), (".NaN", true)] {
                let f = move |v: &[u64]| {
                    let (a, b) = (number(t, v[0]), number(t, v[1]));
                    match (a.is_nan(), b.is_nan()) {
                        (false, false) => {
                            if a == b {
                                if (v[0] & 0x8000 != 0) == less { v[0] } else { v[1] }
                            } else if (a < b) == less {
                                v[0]
                            } else {
                                v[1]
                            }
                        }
                        (false, true) if !wins => v[0],
                        (true, false) if !wins => v[1],
                        _ => canonical,
                    }
                };
                all.push(form(&format!("{name}{modifier}.{t}"), t, &[t, t], move |v| {
                    Want::Bits(f(v))
                }));
                all.push(form(
                    &format!("{name}{modifier}.{pair}"),
                    pair,
                    &[pair, pair],
                    move |v| Want::Bits(each(v, &f)),
                ));
            }
        }
        all.push(form(&format!("ex2.approx.{t}"), t, &[t], move |v| {
            Want::Near(value(t, v[0]).exp2())
        }));
        all.push(form(&format!("tanh.approx.{t}"), t, &[t], move |v| {
            Want::Near(value(t, v[0]).tanh())
        }));
        // Of a pair, both halves are near.
        for (name, f) in [("ex2", f64::exp2 as fn(f64) -> f64), ("tanh", f64::tanh)] {
            for half in ["lo", "hi"] {
                let (parts, by) = if half == "lo" { ("%d, x", 0) } else { ("x, %d", 16) };
                all.push(body(
                    &format!("{{ .reg .b32 y; .reg .b16 x; {name}.approx.{pair} y, %a; mov.b32 {{{parts}}}, y; }}"),
                    t,
                    &[pair],
                    move |v| Want::Near(f(value(t, v[0] >> by & 0xffff))),
                ));
            }
        }
        // Bfloat16 has neither modifier, but its rows are there.
        let limit = if t == "f16" { 0x400 } else { 0x80 };
        let flat = move |v: u64| if v & 0x7fff < limit { v & 0x8000 } else { v };
        let clamp = move |v: u64| {
            let x = value(t, v);
            if x.is_nan() || x <= 0.0 {
                0
            } else if x > 1.0 {
                Exact(1.0, 0.0).round(t, "rn")
            } else {
                v
            }
        };
        all.push(form(&format!("mul.ftz.{t}"), t, &[t, t], move |v| {
            Want::Bits(flat(mul(t, &[flat(v[0]), flat(v[1])])))
        }));
        all.push(form(&format!("mul.ftz.{pair}"), pair, &[pair, pair], move |v| {
            Want::Bits(each(v, &|x| flat(mul(t, &[flat(x[0]), flat(x[1])]))))
        }));
        all.push(form(&format!("add.sat.{t}"), t, &[t, t], move |v| Want::Bits(clamp(add(t, v)))));
        all.push(form(&format!("add.sat.{pair}"), pair, &[pair, pair], move |v| {
            Want::Bits(each(v, &|x| clamp(add(t, x))))
        }));
        for mode in ["rn", "rz"] {
            all.push(form(&format!("cvt.{mode}.{pair}.f32"), pair, &["f32", "f32"], move |v| {
                Want::Bits(
                    Exact(value("f32", v[0]), 0.0).round(t, mode) << 16
                        | Exact(value("f32", v[1]), 0.0).round(t, mode),
                )
            }));
        }
    }
}

type Test = fn(f64, f64) -> bool;

fn comparisons(all: &mut Vec<Form>) {
    let ordered: [(&str, Test); 6] = [
        ("eq", |a, b| a == b),
        ("ne", |a, b| a != b),
        ("lt", |a, b| a < b),
        ("le", |a, b| a <= b),
        ("gt", |a, b| a > b),
        ("ge", |a, b| a >= b),
    ];
    for t in ["f16", "bf16", "f32", "f64"] {
        for (name, f) in ordered {
            all.push(form(&format!("setp.{name}.{t}"), "pred", &[t, t], move |v| {
                let (a, b) = (value(t, v[0]), value(t, v[1]));
                Want::Bits(u64::from(!a.is_nan() && !b.is_nan() && f(a, b)))
            }));
            all.push(form(&format!("setp.{name}u.{t}"), "pred", &[t, t], move |v| {
                let (a, b) = (value(t, v[0]), value(t, v[1]));
                Want::Bits(u64::from(a.is_nan() || b.is_nan() || f(a, b)))
            }));
        }
        if bits(t) == 16 {
            halves_compared(all, t, &ordered);
        }
        all.push(form(&format!("setp.num.{t}"), "pred", &[t, t], move |v| {
            Want::Bits(u64::from(!value(t, v[0]).is_nan() && !value(t, v[1]).is_nan()))
        }));
        all.push(form(&format!("setp.nan.{t}"), "pred", &[t, t], move |v| {
            Want::Bits(u64::from(value(t, v[0]).is_nan() || value(t, v[1]).is_nan()))
        }));
    }
}

/// Whether something holds of two halves.
type Holds = Box<dyn Fn(&[u64]) -> bool>;

/// Comparisons of pairs, and comparisons of halves as numbers and as masks.
fn halves_compared(all: &mut Vec<Form>, t: &'static str, ordered: &[(&str, Test)]) {
    let (pair, one) = if t == "f16" { ("f16x2", 0x3c00) } else { ("bf16x2", 0x3f80) };
    let nan = move |v: &[u64]| value(t, v[0]).is_nan() || value(t, v[1]).is_nan();
    let mut tests: Vec<(String, Holds)> =
        vec![("nan".into(), Box::new(nan)), ("num".into(), Box::new(move |v| !nan(v)))];
    for &(name, f) in ordered {
        let holds = move |v: &[u64]| f(value(t, v[0]), value(t, v[1]));
        tests.push((name.into(), Box::new(move |v| !nan(v) && holds(v))));
        tests.push((format!("{name}u"), Box::new(move |v| nan(v) || holds(v))));
    }
    for (name, test) in tests {
        let test = std::rc::Rc::new(test);
        let half = |v: &[u64], k: u32| [v[0] >> (16 * k) & 0xffff, v[1] >> (16 * k) & 0xffff];
        for (k, results) in [(0, "%d|%p2"), (1, "%p2|%d")] {
            let test = test.clone();
            all.push(body(
                &format!("setp.{name}.{pair} {results}, %a, %b;"),
                "pred",
                &[pair, pair],
                move |v| Want::Bits(test(&half(v, k)).into()),
            ));
        }
        for (result, yes) in [(pair, one), ("u32", 0xffff)] {
            let test = test.clone();
            all.push(form(
                &format!("set.{name}.{result}.{pair}"),
                "b32",
                &[pair, pair],
                move |v| {
                    Want::Bits(
                        (0..2).map(|k| if test(&half(v, k)) { yes << (16 * k) } else { 0 }).sum(),
                    )
                },
            ));
        }
        for (result, register, yes) in
            [(t, "b16", one), ("u16", "b16", 0xffff), ("s32", "b32", 0xffff_ffff)]
        {
            let test = test.clone();
            all.push(form(&format!("set.{name}.{result}.{t}"), register, &[t, t], move |v| {
                Want::Bits(if test(v) { yes } else { 0 })
            }));
        }
    }
}

fn whole(x: f64, mode: &str) -> f64 {
    match mode {
        "rzi" => x.trunc(),
        "rmi" => x.floor(),
        "rpi" => x.ceil(),
        _ => x.round_ties_even(),
    }
}

fn conversions(all: &mut Vec<Form>) {
    let ints = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"];
    let floats = ["f16", "bf16", "f32", "f64"];
    // Eight bits travel in 16-bit registers.
    let holder = |t: &'static str| match t {
        "u8" => "u16",
        "s8" => "s16",
        t => t,
    };
    for d in ints {
        for s in ints {
            // A narrow result fills its register according to its sign.
            all.push(form(&format!("cvt.{d}.{s}"), holder(d), &[holder(s)], move |v| {
                Want::Bits(low(holder(d), int(d, low(d, int(s, v[0])))))
            }));
            all.push(form(&format!("cvt.sat.{d}.{s}"), holder(d), &[holder(s)], move |v| {
                Want::Bits(low(holder(d), int(s, v[0]).clamp(least(d), most(d))))
            }));
        }
        for s in floats {
            for mode in ["rni", "rzi", "rmi", "rpi"] {
                all.push(form(&format!("cvt.{mode}.{d}.{s}"), holder(d), &[s], move |v| {
                    let x = value(s, v[0]);
                    if x.is_nan() {
                        return Want::Any;
                    }
                    let x = whole(x, mode);
                    let i = if x >= 1e30 {
                        most(d)
                    } else if x <= -1e30 {
                        least(d)
                    } else {
                        x as i128
                    };
                    Want::Bits(low(holder(d), i.clamp(least(d), most(d))))
                }));
            }
        }
    }
    for d in floats {
        for s in ints {
            for mode in ["rn", "rz", "rm", "rp"] {
                all.push(form(&format!("cvt.{mode}.{d}.{s}"), d, &[holder(s)], move |v| {
                    let i = int(s, v[0]);
                    let near = i as f64;
                    Want::Bits(Exact(near, (i - near as i128) as f64).round(d, mode))
                }));
            }
        }
        for s in floats {
            if bits(d) < bits(s) || (d != s && bits(d) == 16) {
                for mode in ["rn", "rz", "rm", "rp"] {
                    all.push(form(&format!("cvt.{mode}.{d}.{s}"), d, &[s], move |v| {
                        Want::Bits(Exact(value(s, v[0]), 0.0).round(d, mode))
                    }));
                }
            } else {
                all.push(form(&format!("cvt.{d}.{s}"), d, &[s], move |v| {
                    Want::Bits(Exact(value(s, v[0]), 0.0).round(d, "rn"))
                }));
            }
            if d == s {
                for mode in ["rni", "rzi", "rmi", "rpi"] {
                    all.push(form(&format!("cvt.{mode}.{d}.{s}"), d, &[s], move |v| {
                        let x = value(s, v[0]);
                        Want::Bits(Exact(whole(x, mode).copysign(x), 0.0).round(d, "rn"))
                    }));
                }
            }
        }
    }
    all.push(form("cvt.sat.f32.f32", "f32", &["f32"], |v| {
        let x = value("f32", v[0]);
        Want::Bits(if x.is_nan() || x <= 0.0 {
            0
        } else if x > 1.0 {
            0x3f80_0000
        } else {
            v[0]
        })
    }));
    all.push(form("cvt.rn.sat.f64.s32", "f64", &["s32"], |v| {
        Want::Bits((int("s32", v[0]).clamp(0, 1) as f64).to_bits())
    }));
    all.push(form("cvt.ftz.f32.f16", "f32", &["f16"], |v| {
        Want::Bits(Exact(value("f16", v[0]), 0.0).round("f32", "rn"))
    }));
}
