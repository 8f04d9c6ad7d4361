//! `fma` and `clip`, compared element by element with the model.

use crate::devices::devices;
use crate::model::element::{Bits, Nan, cast, download, edge_values, same, upload};
use crate::model::random::Random;
use crate::model::ternary::{clip, fma};
use bitlane::{DType, ErrorKind, Expr, Rules, Tensor};

const FLOATS: [DType; 6] =
    [DType::F8E4M3FN, DType::F8E5M2, DType::F16, DType::BF16, DType::F32, DType::F64];

/// Triples of edge values, of random numbers, and of numbers whose sum cancels or is near a tie.
fn triples(dtype: DType) -> [Vec<Bits>; 3] {
    let edges = edge_values(dtype);
    let mut random = Random::new(dtype as u64 + 1);
    let mut triples: [Vec<Bits>; 3] = Default::default();
    let mut add = |triple: [Bits; 3]| {
        for (all, one) in triples.iter_mut().zip(triple) {
            all.push(one);
        }
    };
    for &x in &edges {
        for &y in &edges {
            add([x, y, edges[random.below(edges.len())]]);
            add([x, y, fma(dtype, [x, y, 1 << (dtype.bits() - 1)]) ^ 1 << (dtype.bits() - 1)]);
        }
    }
    let one = cast(DType::U8, dtype, 1);
    let scattered = random.elements(dtype, 3 * 2000);
    for xyz in scattered.chunks_exact(3) {
        let [x, y, z] = [xyz[0], xyz[1], xyz[2]];
        add([x, y, z]);
        // The negated product, and its neighbour.
        let product = fma(dtype, [x, y, 1 << (dtype.bits() - 1)]) ^ 1 << (dtype.bits() - 1);
        add([x, y, product]);
        add([x, y, product ^ 1]);
        // A number of few bits times one that ends in a tie, and something tiny.
        let tie = one + (x & 7) + 1;
        add([tie, one + (z & 0xf), (y & 0x1f) | (y & 1) << (dtype.bits() - 1)]);
    }
    triples
}

#[test]
fn fma_rounds_once() {
    for device in devices() {
        for dtype in FLOATS {
            let elements = triples(dtype);
            let len = elements[0].len();
            let [x, y, z] = [0, 1, 2].map(|k| upload(dtype, &elements[k], &[len], &device));
            let expected: Vec<_> =
                (0..len).map(|k| fma(dtype, [0, 1, 2].map(|side| elements[side][k]))).collect();
            let turned = |t: &Tensor| t.flip(0).unwrap();
            let backwards = turned(&x).fma(turned(&y), turned(&z)).unwrap();
            let mut out = x.copy().unwrap();
            out.clone().expr().fma(&y, &z).out(&mut out).run().unwrap();
            for (result, form) in [
                (x.fma(&y, &z).unwrap(), "dense"),
                (turned(&backwards), "backwards"),
                (x.expr().fma(&y, &z).run().unwrap(), "an expression"),
                (out, "in place"),
            ] {
                assert_eq!((result.dtype(), result.shape()), (dtype, &[len][..]));
                for (k, given) in download(&result).into_iter().enumerate() {
                    assert!(
                        same(dtype, expected[k], given, Nan::Any),
                        "fma of {dtype} {:x?}, {form}, on {device}: {given:#x}, not {:#x}",
                        [0, 1, 2].map(|side| elements[side][k]),
                        expected[k]
                    );
                }
            }
        }
    }
}

#[test]
fn fma_promotes_broadcasts_and_takes_numbers() {
    for device in devices() {
        let tensor = |values: &[f64], shape: &[usize], dtype| {
            Tensor::from_slice(values, shape, &device).unwrap().cast(dtype).unwrap()
        };
        let column = tensor(&[1.0, 2.0], &[2, 1], DType::F16);
        let row = tensor(&[3.0, 4.0, 5.0], &[3], DType::F32);
        let result = column.fma(&row, 0.5).unwrap();
        assert_eq!((result.dtype(), result.shape()), (DType::F32, &[2, 3][..]));
        assert_eq!(result.to_vec::<f32>().unwrap(), [3.5, 4.5, 5.5, 6.5, 8.5, 10.5]);
        // A number is rounded to the common dtype, not before.
        let wide = tensor(&[1.0], &[1], DType::F64).fma(0.1, 0.2).unwrap();
        assert_eq!(wide.to_vec::<f64>().unwrap(), [1f64.mul_add(0.1, 0.2)]);
        // So are two numbers, which have the higher of their categories.
        let numbers = |x: Expr<'_>, rules| x.fma(3, &row).rules(rules).run();
        for rules in [Rules::Paddle, Rules::Torch, Rules::NumPy, Rules::Jax] {
            for x in [Expr::from(2), Expr::from(2.0)] {
                let result = numbers(x, rules).unwrap();
                assert_eq!((result.dtype(), result.shape()), (DType::F32, &[3][..]), "{rules}");
                assert_eq!(result.to_vec::<f32>().unwrap(), [9.0, 10.0, 11.0]);
            }
        }
        let whole = tensor(&[3.0, -4.0], &[2], DType::I32);
        let float = Expr::from(0.1).fma(3, &whole).rules(Rules::NumPy).run().unwrap();
        let expected = [3.0, -4.0].map(|z| 0.1f64.mul_add(3.0, z));
        assert_eq!(float.to_vec::<f64>().unwrap(), expected);
        // Integers meet a float only in the last operand.
        let half = tensor(&[0.5], &[1], DType::F32);
        let promoted = |z: Expr<'_>, rules| whole.expr().fma(&whole, z).rules(rules).run().unwrap();
        for (rules, dtype) in
            [(Rules::Torch, DType::F32), (Rules::NumPy, DType::F64), (Rules::Jax, DType::F32)]
        {
            let result = promoted(half.expr(), rules);
            assert_eq!(result.dtype(), dtype, "{rules}");
            assert_eq!(result.cast(DType::F64).unwrap().to_vec::<f64>().unwrap(), [9.5, 16.5]);
        }
        let errors = [
            (whole.fma(&half, 1), ErrorKind::Promotion),
            (whole.fma(2, 1), ErrorKind::UnsupportedDType),
            (tensor(&[0.0], &[1], DType::Bool).fma(true, true), ErrorKind::UnsupportedDType),
            (tensor(&[0.0], &[1], DType::C64).fma(1, 2), ErrorKind::UnsupportedDType),
            (row.fma(tensor(&[1.0; 2], &[2], DType::F32), 1), ErrorKind::Broadcast),
            (row.fma(1, tensor(&[1.0; 2], &[2], DType::F32)), ErrorKind::Broadcast),
            (Expr::from(2).fma(3, &whole).run(), ErrorKind::UnsupportedDType),
            (Expr::from(2).fma(3, 4).run(), ErrorKind::InvalidArgument),
        ];
        for (index, (result, kind)) in errors.into_iter().enumerate() {
            let error = result.unwrap_err();
            assert_eq!(error.kind(), kind, "{index}: {error}");
            assert!(error.to_string().contains("fma"), "{error}");
        }
    }
}

#[test]
fn clip_is_a_minimum_of_a_maximum() {
    for device in devices() {
        for &dtype in DType::ALL {
            let edges = edge_values(dtype);
            let (n, x) = (edges.len(), upload(dtype, &edges, &[edges.len(), 1, 1], &device));
            // Fewer limits than elements, in any order: a low one may be above a high one.
            let limits: Vec<Bits> = edges.iter().copied().step_by(n.div_ceil(12)).collect();
            let low = upload(dtype, &limits, &[limits.len(), 1], &device);
            let high = upload(dtype, &limits, &[limits.len()], &device);
            if dtype.is_complex() {
                let error = x.clip(&low, &high).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::UnsupportedDType);
                continue;
            }
            let result = x.clip(&low, &high).unwrap();
            assert_eq!(result.shape(), [n, limits.len(), limits.len()]);
            let triples = edges.iter().flat_map(|&x| {
                let limits = &limits;
                limits.iter().flat_map(move |&low| limits.iter().map(move |&high| [x, low, high]))
            });
            for (given, triple) in download(&result).into_iter().zip(triples) {
                let expected = clip(dtype, triple);
                assert!(
                    same(dtype, expected, given, Nan::Any),
                    "clip of {dtype} {triple:x?} on {device}: {given:#x}, not {expected:#x}"
                );
            }
            let expression = x.expr().clip(&low, &high).run().unwrap();
            let function = bitlane::clip(&x, &low, &high).unwrap();
            for other in [expression, function] {
                assert!(result.bits_equal(&other).unwrap(), "{dtype}");
            }
        }
    }
}

#[test]
fn clip_promotes_step_by_step() {
    for device in devices() {
        let x = Tensor::from_slice(&[-300i32, 5, 300], [3], &device).unwrap();
        // The first step stays in integers, the second one is in floats.
        let result = x.clip(-100, 2.5).unwrap();
        assert_eq!(result.to_vec::<f32>().unwrap(), [-100.0, 2.5, 2.5]);
        let narrow = Tensor::from_slice(&[1.5f32], [1], &device).unwrap();
        let error = x.clip(0, &narrow).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Promotion);
        let wide = x.expr().clip(0, &narrow).rules(Rules::NumPy).run().unwrap();
        assert_eq!(wide.to_vec::<f64>().unwrap(), [0.0, 1.5, 1.5]);
        let bytes = x.clip(0, 255).unwrap().cast(DType::U8).unwrap();
        assert_eq!(bytes.to_vec::<u8>().unwrap(), [0, 5, 255]);
        let error = bytes.clip(-1, 255).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ScalarOverflow);
    }
}
