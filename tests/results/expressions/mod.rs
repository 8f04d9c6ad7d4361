//! Expressions: `run` gives the same bits as the same operations called one after another, on every device.
//!
//! Graphs are random. The seed differs in each run and is printed; `BITLANE_SEED` repeats a run. `BITLANE_GRAPHS` and
//! `BITLANE_CUDA_GRAPHS` set the number of graphs: by default 100,000 on the CPU (fewer in a debug build), and 300 on
//! CUDA, where each needs a kernel compiled.

mod check;
#[cfg(feature = "cpu")]
mod deep;
mod graph;
mod rows;
mod steps;
mod views;

use std::env;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::corpus::corpus;
use crate::devices::devices;
use crate::model::random::Random;
use bitlane::{BinaryOp, DType, Device, ErrorKind, Expr, Rules, Slice, Tensor, binary};

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
fn the_corpus_of_the_fuzzer_passes() {
    let device = &devices()[0];
    for (name, bytes) in corpus("expressions") {
        let random = || Random::from_bytes(&bytes);
        check::check(&name, &random, device, device);
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

/// The CPU remembers the loops of expressions, so those that differ in one respect alone take turns here: what has been
/// found out about one must not be used for another.
#[test]
fn expressions_that_are_nearly_alike_are_told_apart() {
    for device in devices() {
        let tensor = |elements: [i32; 2]| Tensor::from_slice(&elements, [2], &device).unwrap();
        let (x, y) = (tensor([1000, -7]), tensor([3, 2]));
        let [bytes, floats] = [DType::I8, DType::F32].map(|dtype| x.cast(dtype).unwrap());
        let first = |tensor: &Tensor| tensor.index_axis(0, 0).unwrap();
        let (element, float) = (first(&x), first(&floats));
        let shared = x.expr() & 15;
        let ratio = |rules| binary(BinaryOp::Divide, &x, &y).rules(rules).run();
        let cases = [
            ((x.expr() & 15) ^ &y, (&x & 15).unwrap() ^ &y),
            ((x.expr() & 7) ^ &y, (&x & 7).unwrap() ^ &y),
            ((y.expr() & 15) ^ &x, (&y & 15).unwrap() ^ &x),
            ((x.expr() & 15) ^ &x, (&x & 15).unwrap() ^ &x),
            ((x.expr() & 15) | &y, (&x & 15).unwrap() | &y),
            (y.expr() ^ (x.expr() & 15), (&x & 15).unwrap() ^ &y),
            ((bytes.expr() & 15) ^ &bytes, (&bytes & 15).unwrap() ^ &bytes),
            (shared.clone() ^ shared, (&x & 15).unwrap() ^ (&x & 15).unwrap()),
            ((x.expr() >> 2) - &y, (&x >> 2).unwrap() - &y),
            ((2 >> x.expr()) - &y, (2i32 >> &x).unwrap() - &y),
            ((x.expr() >> 40) - &y, (&x >> 40).unwrap() - &y),
            (x.expr() * 2 - 1, (&x * 2).unwrap() - 1),
            (x.expr() * 2.5 - 1, (&x * 2.5).unwrap() - 1),
            (floats.expr() * 2 - 1, (&floats * 2).unwrap() - 1),
            (x.expr().cast(DType::I8) + 1, &bytes + 1),
            (x.expr().cast(DType::F32) + 1, &floats + 1),
            (bytes.expr() + 127, &bytes + 127),
            (bytes.expr() + 128, &bytes + 128),
            (x.expr() + &floats, &x + &floats),
            (element.expr() + &float, &element + &float),
            (x.expr() / &y, ratio(Rules::Paddle)),
            ((x.expr() / &y).rules(Rules::NumPy), ratio(Rules::NumPy)),
        ];
        for _ in 0..3 {
            for (expression, expected) in &cases {
                let context = format!("{expression:?} on {device}");
                match (expression.run(), expected) {
                    (Ok(given), Ok(expected)) => {
                        assert_eq!(given.dtype(), expected.dtype(), "{context}");
                        assert!(given.bits_equal(expected).unwrap(), "{context}: {given}");
                    }
                    (given, expected) => {
                        let given = given.unwrap_err().to_string();
                        assert_eq!(given, expected.as_ref().unwrap_err().to_string(), "{context}");
                    }
                }
            }
        }
    }
}

#[test]
fn intermediates_are_rounded_to_their_dtype() {
    for device in devices() {
        let x = Tensor::from_slice(&[bitlane::f16::from_f32(2049.0)], [1], &device).unwrap();
        // 2049 is not an f16: rounding loses the 1, which f32 would keep.
        let lost = (x.expr() + 1) - 2048;
        assert_eq!(lost.dtype().unwrap(), DType::F16);
        assert_eq!(lost.run().unwrap().cast(DType::F32).unwrap().to_vec::<f32>().unwrap(), [0.0]);
        // A conversion to f16 and back loses it too.
        let y = Tensor::from_slice(&[2049.0f32], [1], &device).unwrap();
        let back = (y.expr().cast(DType::F16).cast(DType::F32) - 2048).run().unwrap();
        assert_eq!(back.to_vec::<f32>().unwrap(), [0.0]);
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
fn operands_with_strides_of_their_own() {
    for device in devices() {
        let stored = Tensor::arange(600, DType::I32, &device).unwrap();
        let every = |step| stored.slice(0, Slice::from(..).step(step)).unwrap();
        let [x, y, z] = [2, 3, 5].map(|step| every(step).narrow(0, 0, 100).unwrap());
        let result = ((x.expr() * 100) + &y - &z).run().unwrap();
        assert!(result.to_vec::<i32>().unwrap().into_iter().eq((0..100).map(|k| 198 * k)));
    }
}

#[test]
fn rows_longer_than_a_block() {
    for device in devices() {
        let x = Tensor::arange(100_003, DType::I32, &device).unwrap();
        let result = (((x.expr() * 3) ^ (x.expr() >> 2)) + 1).run().unwrap();
        let expected = (0..100_003).map(|x: i32| ((x * 3) ^ (x >> 2)) + 1);
        assert!(result.to_vec::<i32>().unwrap().into_iter().eq(expected), "on {device}");
    }
}

#[test]
fn destinations_that_begin_inside_a_vector() {
    for device in devices() {
        let x = Tensor::arange(700, DType::I32, &device).unwrap();
        for (first, len) in [(1, 600), (3, 17), (5, 1), (4, 680)] {
            let room = Tensor::full([701], -1, DType::I32, &device).unwrap();
            let mut out = room.narrow(0, first, len).unwrap();
            let from = x.narrow(0, 2, len).unwrap();
            ((from.expr() + 1) * 2).out(&mut out).run().unwrap();
            let expected = (0..701usize).map(|place| match place.checked_sub(first) {
                Some(k) if k < len => 2 * (k as i32 + 3),
                _ => -1,
            });
            assert!(room.to_vec::<i32>().unwrap().into_iter().eq(expected), "{first}, {len}");
        }
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

        let count = |numbers: i32| (0..numbers).fold(x.expr(), |sum, number| sum + number);
        assert_eq!(count(128).run().unwrap().to_vec::<i32>().unwrap(), [1 + 127 * 64]);
        let error = count(129).run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("128 numbers"), "{error}");
    }
}

/// The error names the first node that is refused, wherever it is in the graph; nothing has been computed.
#[test]
fn a_node_that_is_refused_is_named() {
    for device in devices() {
        let x = Tensor::from_slice(&[1.5f32, 2.5], [2], &device).unwrap();
        let n = Tensor::from_slice(&[1i32, 2], [2], &device).unwrap();
        let wide = Tensor::from_slice(&[1.5f32, 2.5, 3.5], [3], &device).unwrap();
        let mut out = Tensor::full([2], 7, DType::F32, &device).unwrap();
        let refused: [(Expr<'_>, ErrorKind, &str); 7] = [
            ((x.expr() + 1) * &n - 3, ErrorKind::Promotion, "multiply"),
            ((x.expr() + 1) & 3, ErrorKind::UnsupportedDType, "bitwise_and"),
            (((x.expr() * 2) << 1) + 3, ErrorKind::UnsupportedDType, "bitwise_left_shift"),
            ((x.expr() + 1).bitwise_not().abs(), ErrorKind::UnsupportedDType, "bitwise_not"),
            ((x.expr() * 2).maximum(&wide) + 1, ErrorKind::Broadcast, "maximum"),
            ((n.expr() + 1) * (1i64 << 40) + 2, ErrorKind::ScalarOverflow, "multiply"),
            // If both operands are refused, the error names the left one.
            (((x.expr() & 1) + (x.expr() | 1)).abs(), ErrorKind::UnsupportedDType, "bitwise_and"),
        ];
        for (expr, kind, op) in refused {
            let error = expr.run().unwrap_err();
            assert_eq!(error.kind(), kind, "{expr}: {error}");
            assert!(error.to_string().contains(op), "{expr}: {error}");
            assert_eq!(expr.dtype().unwrap_err().to_string(), error.to_string());
            assert_eq!(expr.shape().unwrap_err().to_string(), error.to_string());
            assert_eq!(expr.prepare().unwrap_err().to_string(), error.to_string());
            assert_eq!(expr.out(&mut out).run().unwrap_err().to_string(), error.to_string());
        }
        assert_eq!(out.to_vec::<f32>().unwrap(), [7.0; 2]);
    }
}

#[test]
fn devices_are_not_mixed() {
    let devices = devices();
    for (here, there) in devices.iter().zip(devices.iter().skip(1)) {
        let x = Tensor::from_slice(&[1i32, 2], [2], here).unwrap();
        let y = Tensor::from_slice(&[1i32, 2], [2], there).unwrap();
        let mut out = Tensor::zeros([2], DType::I32, there).unwrap();
        let mask = Tensor::ones([2], DType::Bool, there).unwrap();
        let error = ((x.expr() + 1) * &y - 3).run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DeviceMismatch);
        assert!(error.to_string().contains("multiply"), "{error}");
        let error = ((x.expr() + 1) * 2).out(&mut out).run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DeviceMismatch, "{error}");
        let mut own = x.clone();
        let error = ((x.expr() + 1) * 2).out(&mut own).mask(&mask).run().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DeviceMismatch, "{error}");
        assert_eq!(
            (out.to_vec::<i32>().unwrap(), own.to_vec::<i32>().unwrap()),
            (vec![0; 2], vec![1, 2])
        );
    }
}

#[test]
fn numbers_alone_are_refused() {
    for device in devices() {
        let x = Tensor::from_slice(&[1.0f32], [1], &device).unwrap();
        let refused = [
            Expr::from(3),
            Expr::from(3).abs(),
            Expr::from(3) + 4,
            Expr::from(3).sum(..),
            Expr::from(3).unsqueeze(0),
            x.expr().select(1, 2),
        ];
        for expr in refused {
            let error = expr.run().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{expr}: {error}");
        }
    }
}

/// Reductions inside an expression, against the same calls one by one, for layouts that take different ways.
#[test]
fn whole_computations_equal_the_same_calls() {
    for device in devices() {
        for (rows, columns) in [(1, 1), (3, 7), (5, 1000), (0, 3)] {
            let x = Tensor::arange(rows * columns, DType::F32, &device).unwrap();
            let x = (x.reshape([rows, columns]).unwrap() * 0.37).unwrap();
            let x = x.remainder(5).unwrap();
            for x in [
                x.clone(),
                x.transpose(0, 1).unwrap().contiguous().unwrap().transpose(0, 1).unwrap(),
            ] {
                let e = (x.expr() - x.expr().max_keepdims(-1)).exp();
                let softmax = (&e / &e.sum_keepdims(-1)).run().unwrap();
                let eager = (&x - &x.max_keepdims(-1).unwrap()).unwrap().exp().unwrap();
                let eager = (&eager / &eager.sum_keepdims(-1).unwrap()).unwrap();
                assert!(softmax.bits_equal(&eager).unwrap(), "{rows} x {columns} on {device}");
                let centred = x.expr() - x.expr().mean_keepdims(-1);
                let variance = centred.square().mean_keepdims(-1);
                let normal = &centred / &(variance + 1e-5).sqrt();
                assert_eq!(normal.shape().unwrap(), x.shape());
                let mut out = Tensor::zeros(x.shape(), DType::F64, &device).unwrap();
                normal.out(&mut out).run().unwrap();
                let centred = (&x - &x.mean_keepdims(-1).unwrap()).unwrap();
                let variance = centred.square().unwrap().mean_keepdims(-1).unwrap();
                let eager = (&centred / &(variance + 1e-5).unwrap().sqrt().unwrap()).unwrap();
                assert!(out.bits_equal(&eager.cast(DType::F64).unwrap()).unwrap());
            }
        }
    }
}

/// One pass may read 16 tensors; what only an earlier pass reads does not count.
#[test]
fn every_pass_has_room_for_its_own_tensors() {
    for device in devices() {
        let tensors: Vec<Tensor> =
            (0..24).map(|k| Tensor::full([2], k, DType::I64, &device).unwrap()).collect();
        let total = |tensors: &[Tensor]| {
            let sum = tensors.iter().fold(Expr::from(0), |sum, tensor| sum + tensor);
            sum.run().map(|_| ()).and(Ok(()))
        };
        assert_eq!(total(&tensors).unwrap_err().kind(), ErrorKind::InvalidArgument);
        let part =
            |tensors: &[Tensor]| tensors.iter().fold(Expr::from(0), |sum, x| sum + x.clone());
        let sum = part(&tensors[..12]).sum(..) + part(&tensors[12..]).sum(..);
        assert_eq!(sum.run().unwrap().item::<i64>().unwrap(), 2 * (0..24).sum::<i64>());
    }
}

/// A view of an operand that is broadcast, and reshapes that its strides can and cannot express.
#[test]
fn views_inside_read_the_operands_through_them() {
    for device in devices() {
        let x = Tensor::arange(12, DType::I32, &device).unwrap().reshape([3, 4]).unwrap();
        let row = Tensor::arange(4, DType::I32, &device).unwrap();
        let sum = (x.expr() + &row).reshape([3, 2, 2]).permute([1, 0, 2]).slice(2, 1..);
        let eager = (&x + &row).unwrap().reshape([3, 2, 2]).unwrap().permute([1, 0, 2]).unwrap();
        let eager = eager.slice(2, 1..).unwrap();
        assert!(sum.run().unwrap().bits_equal(&eager.copy().unwrap()).unwrap());
        // The strides of the row, which is broadcast, cannot express this shape.
        let flat = (x.expr() + &row).reshape(..).run().unwrap();
        assert!(flat.bits_equal(&(&x + &row).unwrap().reshape(..).unwrap()).unwrap());
        // A tensor without dimensions stays weak, although its view has dimensions.
        let weak = Tensor::full((), 2, DType::I64, &device).unwrap();
        let product = (x.expr() * &weak).unsqueeze(0);
        assert_eq!(product.run().unwrap().dtype(), (&x * &weak).unwrap().dtype());
    }
}

#[test]
fn preparing_checks_and_computes_nothing() {
    for device in devices() {
        let x = Tensor::from_slice(&[1i32, 2], [2], &device).unwrap();
        let y = Tensor::from_slice(&[1i32, 2, 3], [3], &device).unwrap();
        (x.expr() + 1).prepare().unwrap();
        (x.expr() + 1).sum(..).prepare().unwrap();
        assert_eq!((x.expr() + &y).prepare().unwrap_err().kind(), ErrorKind::Broadcast);
    }
}

/// A node that is used elsewhere too stays a graph of its own, and is still computed before what stands to its right.
#[test]
fn errors_of_a_shared_operand_on_the_left_come_first() {
    for device in devices() {
        let zeros = |len: usize| Tensor::zeros(len, DType::I32, &device).unwrap();
        let (two, three, five) = (zeros(2), zeros(3), zeros(5));
        let left = two.expr() + &three;
        let shared = left.clone();
        let error = (left * (two.expr() - &five)).run().unwrap_err().to_string();
        assert!(error.starts_with("add: cannot broadcast [2] with [3]"), "{error}");
        drop(shared);
    }
}
