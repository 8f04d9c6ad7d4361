//! Expressions: `run` gives, bit for bit, what the same operations called one after another give, on every device.
//!
//! Graphs are random. The seed is printed and is another one each time; `BITLANE_SEED` repeats a run. `BITLANE_GRAPHS`
//! and `BITLANE_CUDA_GRAPHS` set how many graphs there are: 100,000 on the CPU (fewer in a debug build), 300 on CUDA, where
//! each has a kernel to compile.

mod check;
#[path = "../devices/mod.rs"]
mod devices;
mod graph;
#[path = "../model/mod.rs"]
mod model;

use std::env;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use bitlane::{DType, Device, ErrorKind, Expr, Rules, Tensor};
use devices::devices;
use model::random::Random;

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
}

fn seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seed = number("BITLANE_SEED").unwrap_or(now);
    eprintln!("BITLANE_SEED={seed} repeats this run");
    seed
}

fn check_many(count: u64, seed: u64, device: &Device, reference: &Device) {
    let workers = 2;
    thread::scope(|scope| {
        for worker in 0..workers {
            scope.spawn(move || {
                for index in (worker..count).step_by(workers as usize) {
                    let seed = seed.wrapping_add(index.wrapping_mul(0x9e37_79b9));
                    let source = format!("seed {seed}");
                    check::check(&source, &|| Random::new(seed), device, reference);
                }
            });
        }
    });
    eprintln!("{count} graphs on {device} equal the eager chain on {reference}");
}

#[test]
fn random_graphs_equal_the_eager_chain() {
    let seed = seed();
    let devices = devices();
    let reference = &devices[0];
    let default = if cfg!(debug_assertions) { 3_000 } else { 100_000 };
    let count = number("BITLANE_GRAPHS").unwrap_or(default);
    for device in &devices {
        let is_cpu = device.to_string() == "cpu";
        let count = if is_cpu { count } else { number("BITLANE_CUDA_GRAPHS").unwrap_or(300) };
        check_many(count, seed, device, reference);
    }
}

#[test]
fn a_node_that_is_used_twice_is_the_same_node() {
    for device in devices() {
        let x = Tensor::from_slice(&[3i64, -5], [2], &device).unwrap();
        let mut h = x.expr();
        for (shift, factor) in [(30, 0x9e37_79b9i64), (27, 0x85eb_ca6b)] {
            h = (h.clone() ^ (h >> shift)) * factor;
        }
        let eager = |h: i64| {
            [(30, 0x9e37_79b9i64), (27, 0x85eb_ca6b)]
                .into_iter()
                .fold(h, |h, (shift, factor)| (h ^ (h >> shift)).wrapping_mul(factor))
        };
        assert_eq!(h.run().unwrap().to_vec::<i64>().unwrap(), [eager(3), eager(-5)]);
    }
}

#[test]
fn intermediates_are_rounded_to_their_dtype() {
    for device in devices() {
        let x = Tensor::from_slice(&[bitlane::f16::from_f32(2049.0)], [1], &device).unwrap();
        // 2048 + 1 is no f16: rounded down it is lost, kept in f32 it would survive.
        let lost = (x.expr() + 1) - 2048;
        assert_eq!(lost.dtype().unwrap(), DType::F16);
        assert_eq!(lost.run().unwrap().cast(DType::F32).unwrap().to_vec::<f32>().unwrap(), [0.0]);
    }
}

#[test]
fn rules_hold_for_the_whole_and_not_for_a_part() {
    for device in devices() {
        let x = Tensor::from_slice(&[1i32], [1], &device).unwrap();
        let y = Tensor::from_slice(&[0.5f32], [1], &device).unwrap();
        let part = (x.expr() + &y).rules(Rules::Torch);
        assert_eq!(part.dtype().unwrap(), DType::F32);
        let whole = part * 2;
        assert_eq!(whole.dtype().unwrap_err().kind(), ErrorKind::Promotion);
        assert_eq!(whole.rules(Rules::NumPy).dtype().unwrap(), DType::F64);
    }
}

#[test]
fn too_much_is_refused_by_name() {
    for device in devices() {
        let x = Tensor::from_slice(&[1i32], [1], &device).unwrap();
        let chain = |nodes: usize| (0..nodes).fold(x.expr(), |chain, _| chain.clone() ^ chain);
        assert_eq!(chain(256).run().unwrap().to_vec::<i32>().unwrap(), [0]);
        let error = chain(257).run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("at most 256 operations"), "{error}");

        let tensors: Vec<_> =
            (0..17).map(|k| Tensor::from_slice(&[k], [1], &device).unwrap()).collect();
        let sum = |count: usize| {
            tensors[1..count].iter().fold(tensors[0].expr(), |sum, tensor| sum + tensor)
        };
        assert_eq!(sum(16).run().unwrap().to_vec::<i32>().unwrap(), [120]);
        let error = sum(17).run().unwrap_err();
        assert!(error.to_string().contains("at most 16 different tensors"), "{error}");
    }
}

#[test]
fn numbers_alone_and_sums_inside_are_refused() {
    for device in devices() {
        let x = Tensor::from_slice(&[1.0f32], [1], &device).unwrap();
        let refused = [
            Expr::from(3),
            Expr::from(3).abs(),
            Expr::from(3) + 4,
            x.expr().sum(&[]) * 2,
            x.expr().select(1, 2),
        ];
        for expr in refused {
            let error = expr.run().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{expr}: {error}");
        }
    }
}

#[test]
fn preparing_checks_and_computes_nothing() {
    for device in devices() {
        let x = Tensor::from_slice(&[1i32, 2], [2], &device).unwrap();
        let y = Tensor::from_slice(&[1i32, 2, 3], [3], &device).unwrap();
        (x.expr() + 1).prepare().unwrap();
        (x.expr() + 1).sum(&[]).prepare().unwrap();
        assert_eq!((x.expr() + &y).prepare().unwrap_err().kind(), ErrorKind::Broadcast);
    }
}
