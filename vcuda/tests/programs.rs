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
                vcuda::driver::cuLaunchKernel(
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
                vcuda::driver::cuModuleGetGlobal_v2(
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
