//! PTX that NVRTC made of ordinary CUDA programs, against the host's results.

mod support;
use support::{Gpu, report};

const SETTINGS: &[(&str, &str)] = &[("cc", "120")];

/// Both PTX files of a program, loaded in turn.
fn each(ptx: [&str; 2], test: impl Fn(&Gpu, u64)) {
    for text in ptx {
        let gpu = Gpu::new(SETTINGS);
        let module = gpu.load(text);
        test(&gpu, module);
        assert_eq!(report(), "[]");
    }
}

macro_rules! ptx {
    ($name:literal) => {
        [
            include_str!(concat!("cuda/", $name, ".12.ptx")),
            include_str!(concat!("cuda/", $name, ".13.ptx")),
        ]
    };
}

fn noise(n: usize) -> Vec<u32> {
    let mut x = 0x9e37_79b9u32;
    (0..n)
        .map(|_| {
            x ^= x << 13;
            x ^= x >> 17;
            x ^= x << 5;
            x
        })
        .collect()
}

#[test]
fn reduction_through_shared_memory() {
    each(ptx!("reduce"), |gpu, module| {
        let f = gpu.function(module, "reduce");
        for n in [1usize, 255, 1000, 10_000] {
            let data: Vec<f32> = noise(n).iter().map(|x| (x % 64) as f32).collect();
            let (input, out) = (gpu.upload(&data), gpu.zeros(4 * 4));
            gpu.run(f, 4, 256, &[input, out, n as u64]);
            assert_eq!(gpu.download::<f32>(out, 4).iter().sum::<f32>(), data.iter().sum::<f32>());
        }
    });
}

#[test]
fn shuffles_and_votes() {
    each(ptx!("reduce"), |gpu, module| {
        let f = gpu.function(module, "warp_reduce");
        let data: Vec<i32> = noise(1000).iter().map(|x| (x % 1000) as i32 - 300).collect();
        let (input, out) = (gpu.upload(&data), gpu.zeros(8));
        gpu.run(f, 8, 128, &[input, out, 1000]);
        let want = [data.iter().sum::<i32>(), data.iter().filter(|x| *x & 1 != 0).count() as i32];
        assert_eq!(gpu.download::<i32>(out, 2), want);
    });
}

#[test]
fn scan_in_dynamic_shared_memory() {
    each(ptx!("reduce"), |gpu, module| {
        let f = gpu.function(module, "scan");
        for n in [1u32, 2, 32, 100, 512] {
            let data: Vec<i32> = noise(n as usize).iter().map(|x| (x % 100) as i32).collect();
            let (input, out) = (gpu.upload(&data), gpu.zeros(4 * n as usize));
            assert_eq!(gpu.launch_on(f, [1; 3], [n, 1, 1], 8 * n, 0, &[input, out, n.into()]), 0);
            assert_eq!(gpu.sync(), 0, "{}", report());
            let want: Vec<i32> = data
                .iter()
                .scan(0, |sum, x| {
                    *sum += x;
                    Some(*sum)
                })
                .collect();
            assert_eq!(gpu.download::<i32>(out, n as usize), want);
        }
    });
}

#[test]
fn tiled_matrix_product() {
    each(ptx!("matmul"), |gpu, module| {
        let f = gpu.function(module, "matmul");
        for (m, n, k) in [(1usize, 1usize, 1usize), (16, 16, 16), (17, 33, 20), (50, 40, 70)] {
            let a: Vec<f32> = noise(m * k).iter().map(|x| (x % 17) as f32).collect();
            let b: Vec<f32> = noise(k * n).iter().map(|x| (x % 13) as f32).collect();
            let (da, db, dc) = (gpu.upload(&a), gpu.upload(&b), gpu.zeros(4 * m * n));
            let grid = [n.div_ceil(16) as u32, m.div_ceil(16) as u32, 1];
            assert_eq!(
                gpu.launch_on(
                    f,
                    grid,
                    [16, 16, 1],
                    0,
                    0,
                    &[da, db, dc, m as u64, n as u64, k as u64]
                ),
                0
            );
            assert_eq!(gpu.sync(), 0, "{}", report());
            let want: Vec<f32> = (0..m * n)
                .map(|at| (0..k).map(|i| a[at / n * k + i] * b[i * n + at % n]).sum())
                .collect();
            assert_eq!(gpu.download::<f32>(dc, m * n), want);
        }
    });
}

#[test]
fn atomics() {
    each(ptx!("histogram"), |gpu, module| {
        let data: Vec<u8> = noise(5000).iter().map(|x| (x >> 24) as u8).collect();
        let mut want = vec![0u32; 256];
        data.iter().for_each(|&b| want[b as usize] += 1);
        let (input, bins) = (gpu.upload(&data), gpu.zeros(1024));
        gpu.run(gpu.function(module, "histogram"), 5, 192, &[input, bins, 5000]);
        assert_eq!(gpu.download::<u32>(bins, 256), want);

        let data: Vec<i32> = noise(700).iter().map(|&x| x as i32).collect();
        let (input, out) = (gpu.upload(&data), gpu.upload(&[i32::MAX, i32::MIN, 0, 0]));
        gpu.run(gpu.function(module, "extremes"), 6, 128, &[input, out, 700]);
        let want = [
            *data.iter().min().unwrap(),
            *data.iter().max().unwrap(),
            data.iter().fold(0, |a, b| a ^ b),
            700 % 7,
        ];
        assert_eq!(gpu.download::<i32>(out, 4), want);

        let data: Vec<f64> = (0..300).map(f64::from).collect();
        let (input, sum) = (gpu.upload(&data), gpu.upload(&[0.5f64]));
        gpu.run(gpu.function(module, "float_add_by_cas"), 3, 100, &[input, sum, 300]);
        assert_eq!(gpu.download::<f64>(sum, 1), [data.iter().sum::<f64>() + 0.5]);
    });
}

fn close(got: f64, want: f64, relative: f64, what: &str) {
    let fine = if want.is_nan() {
        got.is_nan()
    } else {
        got == want || (got - want).abs() <= relative * want.abs() + 1e-300
    };
    assert!(fine, "{what}: {got} instead of {want}");
}

#[test]
fn single_precision_library() {
    each(ptx!("maths"), |gpu, module| {
        let mut x: Vec<f32> = vec![0.0, 1.0, 1e-40, 3.0e38, f32::INFINITY, f32::NAN, 0.25, 2.0];
        let mut y: Vec<f32> = vec![1.0, 0.0, -2.0, 0.5, 3.0, 1.0, -0.5, 10.0];
        for k in 0..200 {
            x.push(0.01 + k as f32 * 0.37);
            y.push(-9.9 + k as f32 * 0.1);
        }
        let n = x.len();
        let (dx, dy, out) = (gpu.upload(&x), gpu.upload(&y), gpu.zeros(40 * n));
        gpu.run(
            gpu.function(module, "singles"),
            n.div_ceil(64) as u32,
            64,
            &[dx, dy, out, n as u64],
        );
        let got = gpu.download::<f32>(out, 10 * n);
        for i in 0..n {
            let (a, b) = (f64::from(x[i]), f64::from(y[i]));
            let cast = |v: f64| f64::from(v as f32);
            let round = |v: f64| {
                let r = v.round();
                if (v - v.trunc()).abs() == 0.5 { 2.0 * (v / 2.0).round() } else { r }
            };
            let want = [
                cast(a.sqrt()),
                cast(b.exp()),
                cast(a.powf(b)),
                cast(b.atan2(a)),
                cast(b.sin()),
                cast(a.ln()),
                f64::from(x[i] / y[i]),
                f64::from(x[i] % y[i]),
                cast(1.0 / a.sqrt()),
                round(b) + b.floor() + b.ceil() + b.trunc(),
            ];
            for (k, want) in want.into_iter().enumerate() {
                close(got[k * n + i].into(), want, 1e-6, &format!("function {k} of {a}, {b}"));
            }
        }
    });
}

#[test]
fn double_precision_library() {
    each(ptx!("maths"), |gpu, module| {
        let x: Vec<f64> = (0..150).map(|k| 0.001 + f64::from(k) * 1.7).collect();
        let y: Vec<f64> = (0..150).map(|k| 0.3 + f64::from(k) * 0.13).collect();
        let n = x.len();
        let (dx, dy, out) = (gpu.upload(&x), gpu.upload(&y), gpu.zeros(64 * n));
        gpu.run(gpu.function(module, "doubles"), 3, 64, &[dx, dy, out, n as u64]);
        let got = gpu.download::<f64>(out, 8 * n);
        for i in 0..n {
            let (a, b) = (x[i], y[i]);
            let want = [
                a.sqrt(),
                b.exp(),
                a.powf(b),
                b.sin(),
                a.ln(),
                a / b,
                a.mul_add(b, -a),
                (b * 1000.0).trunc() + b.trunc(),
            ];
            for (k, want) in want.into_iter().enumerate() {
                close(got[k * n + i], want, 1e-14, &format!("function {k} of {a}, {b}"));
            }
        }
    });
}

#[test]
fn half_precision_conversions() {
    each(ptx!("maths"), |gpu, module| {
        let all: Vec<u16> = (0..=u16::MAX).collect();
        let (input, out) = (gpu.upload(&all), gpu.zeros(2 << 16));
        gpu.run(gpu.function(module, "halves"), 256, 256, &[input, out, 1 << 16]);
        for (x, got) in all.iter().zip(gpu.download::<u16>(out, 1 << 16)) {
            let f = half::f16::from_bits(*x).to_f32();
            // The compiler contracts the product and the sum.
            let want = half::f16::from_f32(f.mul_add(f, 0.5));
            let got = half::f16::from_bits(got);
            assert!(
                got == want || got.is_nan() && want.is_nan(),
                "{x:#x}: {got} instead of {want}"
            );
        }
    });
}

#[test]
fn divergence_calls_and_switches() {
    each(ptx!("control"), |gpu, module| {
        let n = 1000usize;
        let data: Vec<u32> = noise(n).iter().map(|x| x % 5000 + 1).collect();
        let (input, out) = (gpu.upload(&data), gpu.zeros(4 * n));
        gpu.run(gpu.function(module, "collatz"), 8, 128, &[input, out, n as u64]);
        let steps = |mut v: u64| {
            let mut c = 0;
            while v != 1 {
                v = if v & 1 == 1 { 3 * v + 1 } else { v / 2 };
                c += 1
            }
            c
        };
        assert_eq!(
            gpu.download::<u32>(out, n),
            data.iter().map(|&v| steps(v.into())).collect::<Vec<u32>>()
        );

        let data: Vec<i32> = noise(n).iter().map(|x| (x % 2001) as i32 - 1000).collect();
        let (input, out) = (gpu.upload(&data), gpu.zeros(8 * n));
        gpu.run(gpu.function(module, "calls"), 8, 128, &[input, out, n as u64]);
        let swap =
            |(a, b): (i32, i64), k: i32| ((b as i32).wrapping_add(k), i64::from(a) * i64::from(k));
        let want: Vec<i64> = data
            .iter()
            .enumerate()
            .map(|(i, &v)| {
                let i = i as i32;
                let mut q = swap((v, i64::from(v) * 3), i);
                if i & 1 == 1 {
                    q = swap(q, i + 1)
                }
                i64::from(q.0) + q.1
            })
            .collect();
        assert_eq!(gpu.download::<i64>(out, n), want);

        let data: Vec<i32> = noise(n).iter().map(|&x| x as i32).collect();
        let (input, out) = (gpu.upload(&data), gpu.zeros(4 * n));
        gpu.run(gpu.function(module, "switches"), 8, 128, &[input, out, n as u64]);
        let table = [3, 1, 4, 1, 5, 9, 2, 6];
        let want: Vec<i32> = data
            .iter()
            .map(|&v| match v & 15 {
                0 => v.wrapping_mul(3),
                1 => v ^ 0x55,
                2 => v.wrapping_neg(),
                3 => v << 3,
                4 => v / 7,
                5 => v % 11,
                6 => v.leading_zeros() as i32,
                7 => v.reverse_bits(),
                8 => v.count_ones() as i32,
                9 => {
                    if v == 0 {
                        0
                    } else {
                        v.trailing_zeros() as i32 + 1
                    }
                }
                10 => table[(v >> 4 & 7) as usize],
                11 => v.wrapping_mul(v >> 4 & 7),
                _ => v.wrapping_mul(v),
            })
            .collect();
        assert_eq!(gpu.download::<i32>(out, n), want);
    });
}

#[test]
fn structures_by_value_and_wide_integers() {
    each(ptx!("control"), |gpu, module| {
        #[repr(C)]
        struct Shape {
            size: [i32; 4],
            stride: [i64; 4],
            flag: u8,
        }
        let shape = Shape { size: [2, 3, 4, 5], stride: [60, 20, 5, 1], flag: 9 };
        let data: Vec<i32> = (0..120).collect();
        let (input, out) = (gpu.upload(&data), gpu.zeros(480));
        let f = gpu.function(module, "by_value");
        let mut params = [
            std::ptr::from_ref(&shape) as *mut std::ffi::c_void,
            std::ptr::from_ref(&input) as *mut _,
            std::ptr::from_ref(&out) as *mut _,
        ];
        assert_eq!(
            unsafe {
                support::driver::cuLaunchKernel(
                    f,
                    2,
                    1,
                    1,
                    64,
                    1,
                    1,
                    0,
                    0,
                    params.as_mut_ptr(),
                    std::ptr::null_mut(),
                )
            },
            0
        );
        assert_eq!(gpu.download::<i32>(out, 120), data.iter().map(|x| x + 9).collect::<Vec<_>>());
        let (mut addr, mut size) = (0u64, 0usize);
        assert_eq!(
            unsafe {
                support::driver::cuModuleGetGlobal_v2(
                    &mut addr,
                    &mut size,
                    module,
                    c"counter".as_ptr(),
                )
            },
            0
        );
        assert_eq!((gpu.download::<u64>(addr, 1)[0], size), (8, 8));

        let a: Vec<u64> =
            noise(100).iter().map(|&x| u64::from(x) << 32 | u64::from(x.rotate_left(7))).collect();
        let b: Vec<u64> =
            noise(100).iter().map(|&x| u64::from(x.rotate_left(13)) << 30 | u64::from(x)).collect();
        let (da, db, out) = (gpu.upload(&a), gpu.upload(&b), gpu.zeros(2400));
        gpu.run(gpu.function(module, "wide"), 1, 128, &[da, db, out, 100]);
        let want: Vec<u64> = a
            .iter()
            .zip(&b)
            .flat_map(|(&a, &b)| {
                let p = u128::from(a).wrapping_mul(b.into()).wrapping_add(a.into());
                [p as u64, (p >> 64) as u64, (a / b) ^ (a % b)]
            })
            .collect();
        assert_eq!(gpu.download::<u64>(out, 300), want);
    });
}

#[test]
fn vectors_of_bytes() {
    each(ptx!("elementwise"), |gpu, module| {
        let n = 300usize;
        let a: Vec<u32> = noise(4 * n);
        let b: Vec<u32> = noise(4 * n).iter().map(|x| x.rotate_left(5) & 0x1f0f_0f0f).collect();
        let (da, db, out) = (gpu.upload(&a), gpu.upload(&b), gpu.alloc(16 * n));
        gpu.run(gpu.function(module, "shift_u8"), 2, 256, &[da, db, out, n as u64]);
        let bytes = |v: &[u32]| v.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
        let want: Vec<u8> = bytes(&a)
            .iter()
            .zip(bytes(&b))
            .map(|(x, s)| x.checked_shl(s.into()).unwrap_or(0))
            .collect();
        assert_eq!(gpu.download::<u8>(out, 16 * n), want);
    });
}

#[test]
fn parties_of_a_warp() {
    each(ptx!("warps"), |gpu, module| {
        let data: Vec<i32> = noise(64).iter().map(|x| (x % 100) as i32).collect();
        let (input, out) = (gpu.upload(&data), gpu.zeros(256));
        gpu.run(gpu.function(module, "parties"), 2, 32, &[input, out, 40]);
        let want: Vec<i32> = (0..64)
            .map(|t| {
                let warp = &data[t / 32 * 32..][..32];
                warp.iter().filter(|&&v| (v > 40) == (data[t] > 40)).sum()
            })
            .collect();
        assert_eq!(gpu.download::<i32>(out, 64), want);

        let data: Vec<i32> = (0..32).map(|t| if t % 5 == 2 { -1 } else { t }).collect();
        let (input, out) = (gpu.upload(&data), gpu.zeros(128));
        gpu.run(gpu.function(module, "leave_early"), 1, 32, &[input, out]);
        let stayed = data.iter().filter(|v| **v >= 0).count() as i32;
        let want: Vec<i32> = data.iter().map(|&v| if v < 0 { 0 } else { v + stayed }).collect();
        assert_eq!(gpu.download::<i32>(out, 32), want);

        let out = gpu.zeros(128);
        gpu.run(gpu.function(module, "hand_over"), 1, 32, &[out]);
        let want: Vec<i32> =
            (0..32).map(|t| if t < 16 { t * t + 1 } else { (t - 16) * (t - 16) }).collect();
        assert_eq!(gpu.download::<i32>(out, 32), want);

        let keys: Vec<u32> = noise(1000).iter().map(|x| x % 7).collect();
        let (input, out) = (gpu.upload(&keys), gpu.zeros(28));
        gpu.run(gpu.function(module, "count_keys"), 4, 256, &[input, out, 1000]);
        let want: Vec<u32> =
            (0..7).map(|k| keys.iter().filter(|&&x| x == k).count() as u32).collect();
        assert_eq!(gpu.download::<u32>(out, 7), want);

        let data: Vec<i32> = noise(1000).iter().map(|x| (x % 1000) as i32).collect();
        let (input, out, count) = (gpu.upload(&data), gpu.zeros(4000), gpu.zeros(4));
        gpu.run(gpu.function(module, "keep_multiples"), 2, 128, &[input, out, count, 1000]);
        let mut want: Vec<i32> = data.into_iter().filter(|x| x % 3 == 0).collect();
        want.sort_unstable();
        assert_eq!(gpu.download::<u32>(count, 1), [want.len() as u32]);
        let mut got = gpu.download::<i32>(out, want.len());
        got.sort_unstable();
        assert_eq!(got, want);
    });
}

#[test]
fn numbers_wider_and_narrower_than_registers() {
    each(ptx!("wide"), |gpu, module| {
        let words = noise(3 * 2 * 64);
        let mut data: Vec<u64> =
            words.chunks(2).map(|w| u64::from(w[0]) << 32 | u64::from(w[1])).collect();
        for (k, triple) in data.chunks_mut(3).enumerate() {
            // Divisors of every length, and dividends that they go into exactly.
            triple[2] = (triple[2] >> k).max(1);
            if k % 4 == 0 {
                (triple[0], triple[1]) = (triple[2], triple[2]);
            }
        }
        let (input, out) = (gpu.upload(&data), gpu.zeros(8 * data.len()));
        gpu.run(gpu.function(module, "divide"), 1, 64, &[input, out, 64]);
        let want: Vec<u64> = data
            .chunks(3)
            .flat_map(|t| {
                let (a, b) = (u128::from(t[0]) << 64 | u128::from(t[1]), u128::from(t[2]));
                [((a / b) >> 64) as u64, (a / b) as u64, (a % b) as u64]
            })
            .collect();
        assert_eq!(gpu.download::<u64>(out, want.len()), want);

        let a = noise(128);
        let b: Vec<u32> = a.iter().enumerate().map(|(k, x)| x.rotate_left(k as u32 % 3)).collect();
        let (da, db, out) = (gpu.upload(&a), gpu.upload(&b), gpu.zeros(32 * 20));
        gpu.run(gpu.function(module, "subtract"), 1, 32, &[da, db, out]);
        let number = |w: &[u32]| w.iter().rev().fold(0u128, |n, &x| n << 32 | u128::from(x));
        let want: Vec<u32> = a
            .chunks(4)
            .zip(b.chunks(4))
            .flat_map(|(a, b)| {
                let (difference, borrow) = number(a).overflowing_sub(number(b));
                let word = |k: u32| (difference >> (32 * k)) as u32;
                [word(0), word(1), word(2), word(3), u32::from(!borrow)]
            })
            .collect();
        assert_eq!(gpu.download::<u32>(out, want.len()), want);

        let (da, db, out) = (gpu.upload(&a), gpu.upload(&b), gpu.zeros(8 * 128 * 4));
        gpu.run(gpu.function(module, "bytes"), 1, 128, &[da, db, out, 128]);
        type Definition = fn(u32, u32) -> u32;
        fn bytes(a: u32, b: u32, f: fn(u8, u8) -> u8) -> u32 {
            let (a, b) = (a.to_le_bytes(), b.to_le_bytes());
            u32::from_le_bytes(std::array::from_fn(|k| f(a[k], b[k])))
        }
        let definitions: [Definition; 8] = [
            |a, b| bytes(a, b, u8::abs_diff),
            |a, b| bytes(a, b, |x, y| (x as i8).saturating_add(y as i8) as u8),
            |a, b| bytes(a, b, u8::abs_diff).to_le_bytes().iter().map(|&x| u32::from(x)).sum(),
            |a, b| {
                let low = (a as i16).max(b as i16) as u16;
                let high = ((a >> 16) as i16).max((b >> 16) as i16) as u16;
                u32::from(high) << 16 | u32::from(low)
            },
            |a, b| bytes(a, b, |x, y| if x > y { 255 } else { 0 }),
            |a, b| {
                let (a, b) = (a.to_le_bytes(), b.to_le_bytes());
                7 + (0..4).map(|k| u32::from(a[k]) * u32::from(b[k])).sum::<u32>()
            },
            |a, b| {
                let all = [a.to_le_bytes(), b.to_le_bytes()].concat();
                u32::from_le_bytes([all[5], all[1], all[7], all[3]])
            },
            |a, b| ((u64::from(b) << 32 | u64::from(a)) << (a & 31) >> 32) as u32,
        ];
        let got = gpu.download::<u32>(out, 8 * 128);
        for (f, got) in definitions.iter().zip(got.chunks(128)) {
            let want: Vec<u32> = a.iter().zip(&b).map(|(&a, &b)| f(a, b)).collect();
            assert_eq!(got, want);
        }
    });
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Padded {
    a: i8,
    b: i32,
    c: i16,
    d: f64,
}

#[repr(C)]
struct Large {
    head: i32,
    factor: f64,
    text: [u8; 13],
    table: [i64; 100],
}

#[test]
fn structures_in_every_memory() {
    each(ptx!("structs"), |gpu, module| {
        // Their padding is never written, yet copied.
        let (first, second) = (gpu.alloc(32 * 24), gpu.alloc(32 * 24));
        gpu.run(gpu.function(module, "fill"), 1, 32, &[first]);
        gpu.run(gpu.function(module, "turn"), 1, 32, &[first, second]);
        let want: Vec<Padded> = (0..32i8)
            .rev()
            .map(|t| Padded {
                a: t,
                b: 2 * i32::from(t),
                c: 3 * i16::from(t),
                d: 0.5 * f64::from(t),
            })
            .collect();
        assert_eq!(gpu.download::<Padded>(second, 32), want);

        let which: Vec<i32> = noise(32).iter().map(|x| (x % 100) as i32).collect();
        let (input, out) = (gpu.upload(&which), gpu.zeros(128));
        gpu.run(gpu.function(module, "pick"), 1, 32, &[input, out]);
        let want: Vec<u32> = which
            .iter()
            .map(|w| {
                let k = ((w + 1) & 3) as u32;
                k | (100 * k) << 5 | (1000 * k) << 16
            })
            .collect();
        assert_eq!(gpu.download::<u32>(out, 32), want);

        let mut large = Large {
            head: 5,
            factor: -2.0,
            text: *b"a text of 13.",
            table: std::array::from_fn(|k| 7 * k as i64 - 50),
        };
        let mut out = gpu.zeros(32 * 24);
        let mut params: [*mut std::ffi::c_void; 2] =
            [(&raw mut large).cast(), (&raw mut out).cast()];
        let f = gpu.function(module, "pass");
        let code = unsafe {
            support::driver::cuLaunchKernel(
                f,
                1,
                1,
                1,
                32,
                1,
                1,
                0,
                0,
                params.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        assert_eq!((code, gpu.sync()), (0, 0), "{}", report());
        let numbers = [-20i16, 30, -40];
        let steps = [1i16, -2, 3];
        let want: Vec<Padded> = (0..32usize)
            .map(|t| Padded {
                a: t as i8,
                b: 5 + 2 * large.table[t] as i32,
                c: i16::from(large.text[t % 13]) + numbers[t % 3] + steps[t % 3],
                d: 6.0,
            })
            .collect();
        assert_eq!(gpu.download::<Padded>(out, 32), want);

        let out = gpu.zeros(128);
        gpu.run(gpu.function(module, "remember"), 1, 32, &[out]);
        let want: Vec<i32> = (0..32).rev().map(|t| 1001 * 5 * t).collect();
        assert_eq!(gpu.download::<i32>(out, 32), want);

        let data: Vec<f32> = noise(128).iter().map(|x| (x % 1000) as f32).collect();
        let (input, out) = (gpu.upload(&data), gpu.zeros(128));
        gpu.run(gpu.function(module, "downwards"), 1, 32, &[input, out]);
        let want: Vec<f32> = data.chunks(4).rev().map(|v| v[0] + v[3]).collect();
        assert_eq!(gpu.download::<f32>(out, 32), want);
    });
}

#[test]
fn ptx_inside_cuda() {
    each(ptx!("inline"), |gpu, module| {
        let out = gpu.zeros(128);
        gpu.run(gpu.function(module, "loops"), 1, 32, &[out]);
        let want: Vec<u32> = (0..32).map(|t| t * (t + 1) / 2 + 1000 * t * (2 * t + 1)).collect();
        assert_eq!(gpu.download::<u32>(out, 32), want);

        use half::f16;
        let pair = |k: usize| [k as f32 / 8.0 - 7.0, 3.0 - k as f32 / 5.0].map(f16::from_f32);
        let pack = |p: [f16; 2]| u32::from(p[1].to_bits()) << 16 | u32::from(p[0].to_bits());
        let a: Vec<[f16; 2]> = (0..128).map(pair).collect();
        let b: Vec<[f16; 2]> = (0..128).map(|k| pair(k * 37 % 128)).collect();
        let words = |v: &[[f16; 2]]| v.iter().map(|&p| pack(p)).collect::<Vec<u32>>();
        let (da, db) = (gpu.upload(&words(&a)), gpu.upload(&words(&b)));
        let out = gpu.zeros(5 * 128 * 4);
        gpu.run(gpu.function(module, "halves"), 1, 128, &[da, db, out, 128]);
        let each =
            |a: [f16; 2], b: [f16; 2], f: fn(f16, f16) -> f16| pack([f(a[0], b[0]), f(a[1], b[1])]);
        let truth = |yes: bool| f16::from_f32(if yes { 1.0 } else { 0.0 });
        let got = gpu.download::<u32>(out, 5 * 128);
        for (k, (&a, &b)) in a.iter().zip(&b).enumerate() {
            let sum = |x: f16, y: f16| {
                let product = f16::from_f64(x.to_f64() * y.to_f64());
                f16::from_f64(product.to_f64() + x.to_f64())
            };
            assert_eq!(got[k], each(a, b, sum));
            assert_eq!(got[128 + k], pack([truth(a[0] > b[0]), truth(a[1] > b[1])]));
            let mask = |yes: bool| if yes { 0xffff } else { 0 };
            assert_eq!(got[256 + k], mask(a[0] <= b[0]) | mask(a[1] <= b[1]) << 16);
            assert_eq!(got[384 + k], u32::from(a[0] < b[0]) + 2 * u32::from(a[1] < b[1]));
            let low = f16::from_f64((a[0].to_f64() + a[1].to_f64()).clamp(0.0, 1.0));
            assert_eq!(got[512 + k], pack([low, truth(true)]));
        }

        let out = gpu.zeros(128);
        gpu.run(gpu.function(module, "barriers"), 1, 64, &[out]);
        assert_eq!(gpu.download::<i32>(out, 32), (0..32).map(|t| 3 * t + 1).collect::<Vec<_>>());

        let out = gpu.zeros(128);
        gpu.run(gpu.function(module, "say"), 1, 32, &[out]);
        assert_eq!(gpu.download::<i32>(out, 32), (0..32).collect::<Vec<_>>());
    });
}

#[test]
fn what_is_not_supported_is_named_with_its_line() {
    let gpu = Gpu::new(SETTINGS);
    let head = ".version 8.8\n.target sm_90\n.address_size 64\n.extern .func malloc;\n.func f\n{\n";
    for (inside, wrong) in [
        ("call f;", "line 7: f calls itself, which is not supported in `call`, called at line 12"),
        (
            ".reg .b64 %rd<2>;\ncall %rd1, (), p;",
            "line 8: calls through pointers are not supported in `call`, called at line 13",
        ),
        (
            ".reg .b64 %rd<2>;\nmov.u64 %rd1, f;",
            "line 8: f is a function: calls through pointers are not supported in `mov.u64`",
        ),
        ("call malloc;", "line 7: unknown function malloc: it has no body in this module"),
        (
            ".reg .f32 %f<5>;\ntex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [t, {%f1,%f2}];",
            "line 8: unknown instruction in `tex.2d.v4.f32.f32`, called at line 13",
        ),
        ("cp.async.wait_all;", "line 7: unknown instruction in `cp.async.wait_all`"),
        ("bra NOWHERE;", "line 7: unknown label NOWHERE"),
        ("{ HERE: }\nbra HERE;", "line 8: unknown label HERE"),
        ("mov.u32 ]", "line 7: unexpected operand `]`"),
    ] {
        let text =
            format!("{head}{inside}\nret;\n}}\n.visible .entry k()\n{{\ncall f;\nret;\n}}\n");
        assert!(gpu.try_load(&text).is_err(), "{inside}");
        assert!(report().contains(wrong), "{inside}: {}", report());
    }
}
