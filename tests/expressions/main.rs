//! Expressions: `run` gives, bit for bit, what the same operations called one after another give, on every device.
//!
//! Graphs are random. The seed is printed and is another one each time; `BITLANE_SEED` repeats a run. `BITLANE_GRAPHS`
//! and `BITLANE_CUDA_GRAPHS` set how many graphs there are: 100,000 on the CPU (fewer in a debug build), 300 on CUDA, where
//! each has a kernel to compile.

#[path = "../devices/mod.rs"]
mod devices;
mod graph;
#[path = "../model/mod.rs"]
mod model;

use std::env;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use bitlane::{DType, Device, ErrorKind, Expr, Rules, Tensor, select};
use devices::devices;
use graph::{Graph, Outcome};
use model::element::{Nan, download, same};
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

/// Compares a tensor with what it should be. A NaN may have any bits, and an element that is free any value.
#[track_caller]
fn assert_equal(given: &Tensor, expected: &Outcome, context: &dyn Fn() -> String) {
    let dtype = expected.result.dtype();
    assert_eq!(given.dtype(), dtype, "{}", context());
    assert_eq!(given.shape(), expected.result.shape(), "{}", context());
    let free = expected.free.to_vec::<bool>().unwrap();
    let elements = download(given).into_iter().zip(download(&expected.result));
    for (index, (given, expected)) in elements.enumerate() {
        assert!(
            free[index] || same(dtype, expected, given, Nan::Any),
            "element {index}: {given:#x}, not {expected:#x} ({dtype})\n{}",
            context()
        );
    }
}

/// One random graph on one device, against the eager chain on another.
fn check(seed: u64, device: &Device, reference: &Device) {
    let random = || Random::new(seed);
    let graph = Graph::random(&mut random(), 24, device);
    let eager = Graph::random(&mut random(), 24, reference);
    let context = || format!("seed {seed}: {:?} of {:?}", graph.expr(), graph.entries);
    let expected = eager.eager();
    let given = graph.expr().run();
    match (&given, &expected) {
        (Ok(given), Ok(expected)) => {
            let expr = graph.expr();
            assert_eq!(expr.dtype().unwrap(), expected.result.dtype(), "{}", context());
            assert_eq!(expr.shape().unwrap(), expected.result.shape(), "{}", context());
            assert_equal(given, expected, &context);
            check_destination(&graph, expected, &mut Random::new(!seed), &context);
        }
        (Err(given), Err(expected)) => {
            assert_eq!(given.to_string(), expected.to_string(), "{}", context());
            assert_eq!(graph.expr().dtype().unwrap_err().to_string(), given.to_string());
        }
        _ => panic!("{given:?}, not {:?}\n{}", expected.map(|outcome| outcome.result), context()),
    }
}

/// The same graph into a destination, perhaps one that it reads or that overlaps what it reads, perhaps under a mask.
fn check_destination(
    graph: &Graph,
    expected: &Outcome,
    random: &mut Random,
    context: &dyn Fn() -> String,
) {
    let (shape, result) = (expected.result.shape(), expected.result.dtype());
    let device = graph.tensors[0].device();
    let fits = |out: &Tensor| out.shape() == shape && out.dtype().category() >= result.category();
    let own = &graph.tensors[random.below(graph.tensors.len())];
    let mut out = match random.below(4) {
        0 if fits(own) => own.clone(),
        1 if fits(own) && own.rank() > 0 => own.flip(0).unwrap(),
        2 if !shape.is_empty() => {
            let mut room = shape.to_vec();
            room[shape.len() - 1] *= 3;
            let room = Tensor::full(room, 1, result, device).unwrap();
            let every_third = bitlane::Slice::from(..).step(-3);
            room.slice(shape.len() - 1, every_third).unwrap()
        }
        _ => {
            let all: Vec<_> = DType::ALL
                .iter()
                .filter(|dtype| dtype.category() >= result.category())
                .copied()
                .collect();
            Tensor::full(shape, 1, all[random.below(all.len())], device).unwrap()
        }
    };
    let reference = expected.result.device();
    let before = out.to_device(reference).unwrap().copy().unwrap();
    let mask: Vec<bool> = (0..before.len()).map(|_| random.below(3) > 0).collect();
    let mask = (random.below(2) == 0).then(|| Tensor::from_slice(&mask, shape, device).unwrap());
    let expr = graph.expr();
    let evaluation = expr.out(&mut out);
    let evaluation = match &mask {
        Some(mask) => evaluation.mask(mask),
        None => evaluation,
    };
    match evaluation.run() {
        Ok(_) => {
            let written = expected.result.cast(before.dtype()).unwrap();
            let written = match &mask {
                Some(mask) => {
                    select(&mask.to_device(reference).unwrap(), &written, &before).unwrap()
                }
                None => written,
            };
            let expected = Outcome { result: written, free: expected.free.clone() };
            assert_equal(&out, &expected, context);
        }
        // A view of an input may overlap itself, and is then refused and left alone.
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::OverlappingDestination, "{}", context());
            assert_eq!(download(&out), download(&before), "{}", context());
        }
    }
}

fn check_many(count: u64, seed: u64, device: &Device, reference: &Device) {
    let workers = 2;
    thread::scope(|scope| {
        for worker in 0..workers {
            scope.spawn(move || {
                for index in (worker..count).step_by(workers as usize) {
                    check(seed.wrapping_add(index.wrapping_mul(0x9e37_79b9)), device, reference);
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
