//! Products, and the reductions of bits, compared with the model (docs/semantics.md, section 8).

use bitlane::{Complex, DType, Device, ErrorKind, ReduceOp, Tensor, f16, reduce};

use super::check_each;
use crate::devices::devices;
use crate::model::random::Random;

#[track_caller]
fn check(x: &Tensor, axes: &[usize]) {
    check_each(&[ReduceOp::Prod], x, axes);
}

/// Draws factors close to 1, whose products stay finite and show in which order they were rounded.
pub(super) fn factors(seed: u64, dtype: DType, shape: &[usize], device: &Device) -> Tensor {
    let mut random = Random::new(seed);
    let len = shape.iter().product();
    let mut part = || 1.0 + (random.below(1 << 21) as f64 - f64::from(1 << 20)) / 2f64.powi(31);
    let numbers: Vec<Complex<f64>> = (0..len)
        .map(|at| {
            let re = part();
            // Turned by some angle, so that both parts of a complex number matter.
            Complex::new(re, if at % 3 == 0 { part() - 1.0 } else { 0.0 })
        })
        .collect();
    let numbers = Tensor::from_slice(&numbers, shape, device).unwrap();
    if dtype.is_complex() { numbers.cast(dtype) } else { numbers.real().unwrap().cast(dtype) }
        .unwrap()
}

#[test]
fn products_are_trees_of_every_length() {
    let lengths = [
        1, 2, 3, 5, 7, 8, 9, 31, 33, 64, 65, 127, 255, 257, 511, 513, 1023, 1025, 2049, 4097, 8193,
        20_000, 65_537,
    ];
    for device in devices() {
        for (seed, &len) in lengths.iter().enumerate() {
            for dtype in [DType::F64, DType::F32, DType::C128] {
                let x = factors(seed as u64, dtype, &[len], &device);
                check(&x, &[0]);
                check(&x.flip(0).unwrap(), &[0]);
            }
        }
    }
}

#[test]
fn rows_columns_and_permutations() {
    for device in devices() {
        for (rows, columns) in [(1, 300), (300, 1), (7, 129), (129, 7), (64, 64), (3, 1000)] {
            for dtype in [DType::F64, DType::C64, DType::BF16] {
                let x = factors(3, dtype, &[rows, columns], &device);
                let turned = x.transpose(0, 1).unwrap();
                for axes in [&[0][..], &[1], &[0, 1]] {
                    check(&x, axes);
                    check(&turned, axes);
                }
            }
        }
    }
}

#[test]
fn large_products_are_the_same_however_they_are_shared_out() {
    for device in devices() {
        let is_cpu = device.to_string() == "cpu";
        let len = if is_cpu { (1 << 20) + 12_345 } else { (1 << 16) + 123 };
        check(&factors(13, DType::F64, &[len], &device), &[0]);
    }
}

/// Missing factors change nothing: not even the sign of a zero, or an infinity.
#[test]
fn special_factors_keep_their_parts() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    for device in devices() {
        for len in [1, 2, 3, 5, 33, 257, 1025] {
            for special in [-0.0, inf, -inf, nan, 5e-324] {
                for place in [0, len / 2, len - 1] {
                    let mut reals = vec![1.0; len];
                    reals[place] = special;
                    check(&Tensor::from_slice(&reals, [len], &device).unwrap(), &[0]);
                    let mut numbers = vec![Complex::new(-1.0, 2.0); len];
                    numbers[place] = Complex::new(special, -0.0);
                    check(&Tensor::from_slice(&numbers, [len], &device).unwrap(), &[0]);
                }
            }
        }
        let alone = Tensor::from_slice(&[Complex::new(inf, -0.0)], [1], &device).unwrap();
        let product = alone.prod(0).unwrap().item::<Complex<f64>>().unwrap();
        assert!(product.re == inf && product.im == 0.0 && product.im.is_sign_negative());
    }
}

#[test]
fn products_wrap_and_are_rounded_once() {
    for device in devices() {
        let x = Tensor::from_slice(&[-3i8, 100, 100, 100], [4], &device).unwrap();
        assert_eq!(x.prod(..).unwrap().to_vec::<i64>().unwrap(), [-3_000_000]);
        let powers = Tensor::full([65], 2, DType::U8, &device).unwrap();
        assert_eq!(powers.prod(..).unwrap().to_vec::<u64>().unwrap(), [0]);
        let ones = Tensor::ones([2, 40], DType::Bool, &device).unwrap();
        assert_eq!(ones.prod(1).unwrap().to_vec::<i64>().unwrap(), [1, 1]);
        // In the dtypes of the elements the products would overflow on the way.
        let halves = [f16::MAX, f16::from_f32(4.0), f16::from_f32(0.25)];
        let x = Tensor::from_slice(&halves, [3], &device).unwrap();
        assert_eq!(x.prod(..).unwrap().item::<f16>().unwrap(), f16::MAX);
        let large = 2f32.powi(100);
        let x = Tensor::from_slice(&[large, large, large.recip()], [3], &device).unwrap();
        assert_eq!(x.prod(..).unwrap().item::<f32>().unwrap(), large);
        let nothing = Tensor::zeros([0, 2], DType::C64, &device).unwrap();
        let one = Complex::new(1.0f32, 0.0);
        assert_eq!(nothing.prod(0).unwrap().to_vec::<Complex<f32>>().unwrap(), [one; 2]);
    }
}

#[test]
fn bits_of_nothing_and_of_one_element() {
    for device in devices() {
        for (dtype, ones) in [(DType::U8, 255i64), (DType::I16, -1), (DType::Bool, 1)] {
            let nothing = Tensor::zeros([3, 0], dtype, &device).unwrap();
            let of = |op| reduce(op, &nothing, 1).run().unwrap().cast(DType::I64).unwrap();
            assert_eq!(of(ReduceOp::BitwiseAnd).to_vec::<i64>().unwrap(), [ones; 3]);
            assert_eq!(of(ReduceOp::BitwiseOr).to_vec::<i64>().unwrap(), [0; 3]);
            assert_eq!(of(ReduceOp::BitwiseXor).to_vec::<i64>().unwrap(), [0; 3]);
            assert_eq!(nothing.count_nonzero(1).unwrap().to_vec::<i64>().unwrap(), [0; 3]);
        }
        let x = Tensor::from_nested([[1u8, 2, 4], [1, 3, 4]], &device).unwrap();
        assert_eq!(x.bitwise_and_reduce(0).unwrap().to_vec::<u8>().unwrap(), [1, 2, 4]);
        assert_eq!(x.bitwise_or_reduce(1).unwrap().to_vec::<u8>().unwrap(), [7, 7]);
        assert_eq!(x.bitwise_xor_reduce_keepdims(..).unwrap().to_vec::<u8>().unwrap(), [1]);
        assert_eq!(
            x.expr().bitwise_xor_reduce(0).run().unwrap().to_vec::<u8>().unwrap(),
            [0, 1, 0]
        );
        let floats = x.cast(DType::F32).unwrap();
        let error = floats.bitwise_or_reduce(0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnsupportedDType);
        assert_eq!("bitwise_xor".parse::<ReduceOp>().unwrap(), ReduceOp::BitwiseXor);
    }
}
