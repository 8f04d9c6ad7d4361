//! Reductions, compared with the plain definition of their order for every dtype, layout and device.

mod extremes;
mod partial;
mod products;
mod scans;
mod variances;

use crate::devices::devices;
use crate::model::element::{Bits, Nan, download, same, to_bytes};
use crate::model::random::Random;
use crate::model::reduce::{is_defined, reduce as expected, result_dtype};
use bitlane::promote::reduce_result_type;
use bitlane::{DType, Device, Error, ErrorKind, ReduceOp, Rules, Tensor, f16, reduce};

/// The reductions whose order matters.
const SUMS: &[ReduceOp] =
    &[ReduceOp::Sum, ReduceOp::Mean, ReduceOp::Var, ReduceOp::Std, ReduceOp::Prod];

/// Returns the terms of each result.
fn terms(x: &Tensor, axes: &[usize]) -> Vec<Vec<Bits>> {
    let (reduced, kept): (Vec<usize>, Vec<usize>) = (0..x.rank()).partition(|k| axes.contains(k));
    let order: Vec<usize> = kept.iter().chain(&reduced).copied().collect();
    let count: usize = reduced.iter().map(|&axis| x.shape()[axis]).product();
    let elements = download(&x.permute(&order).unwrap());
    elements.chunks(count).map(<[Bits]>::to_vec).collect()
}

/// Compares reductions of a tensor with the model, as far as they are defined for its dtype.
#[track_caller]
fn check_each(ops: &[ReduceOp], x: &Tensor, axes: &[usize]) {
    let rows = terms(x, axes);
    for &op in ops.iter().filter(|&&op| is_defined(op, x.dtype())) {
        let given = reduce(op, x, axes).run().unwrap();
        let dtype = result_dtype(op, x.dtype());
        assert_eq!(given.dtype(), dtype);
        let kept = (0..x.rank()).filter(|k| !axes.contains(k)).map(|k| x.shape()[k]);
        assert_eq!(given.shape(), kept.collect::<Vec<_>>());
        let given = download(&given);
        assert_eq!(given.len(), rows.len());
        for (index, (row, &given)) in rows.iter().zip(&given).enumerate() {
            let expected = expected(op, x.dtype(), row).expect("there is a term");
            assert!(
                same(dtype, expected, given, Nan::Any),
                "{op} of {} {:?} over {axes:?}, element {index}: {given:#x}, not {expected:#x}",
                x.dtype(),
                x.shape(),
            );
        }
    }
}

#[track_caller]
fn check(x: &Tensor, axes: &[usize]) {
    check_each(SUMS, x, axes);
}

fn random_tensor(seed: u64, dtype: DType, shape: &[usize], device: &Device) -> Tensor {
    let len = shape.iter().product();
    let mut random = Random::new(seed);
    let elements = random.elements(dtype, len);
    // With infinities and NaN most sums would be NaN; finite numbers of all sizes show the order.
    let elements: Vec<_> = elements
        .into_iter()
        .map(|bits| match dtype {
            DType::F8E4M3FN | DType::F8E5M2 => bits & !0x40,
            DType::F16 | DType::BF16 => bits & !0x4000,
            DType::F32 => bits & !(1 << 30),
            DType::F64 => bits & !(1 << 62),
            DType::C64 => bits & !((1 << 30) | (1 << 62)),
            DType::C128 => bits & !((1 << 62) | (1 << 126)),
            _ => bits,
        })
        .collect();
    Tensor::from_bytes(dtype, &to_bytes(dtype, &elements), shape, device).unwrap()
}

/// How many dtypes each reduction is defined for (docs/semantics.md). Counted by hand, so that a pair that the model
/// leaves out, and that would therefore not be tested, is noticed.
const DEFINED: &[(usize, ReduceOp)] = &[
    (17, ReduceOp::Sum),
    (17, ReduceOp::Prod),
    (8, ReduceOp::Mean),
    (6, ReduceOp::Var),
    (6, ReduceOp::Std),
    (15, ReduceOp::Max),
    (15, ReduceOp::Min),
    (15, ReduceOp::Argmax),
    (15, ReduceOp::Argmin),
    (17, ReduceOp::Any),
    (17, ReduceOp::All),
    (17, ReduceOp::CountNonzero),
    (9, ReduceOp::BitwiseAnd),
    (9, ReduceOp::BitwiseOr),
    (9, ReduceOp::BitwiseXor),
];

#[test]
fn every_reduction_is_defined_for_the_dtypes_of_its_domain() {
    assert_eq!(DEFINED.len(), ReduceOp::ALL.len());
    for device in devices() {
        for &(count, op) in DEFINED {
            let mut defined = 0;
            for &dtype in DType::ALL {
                let x = Tensor::ones([2, 2], dtype, &device).unwrap();
                let result = reduce(op, &x, 0).run().map(|result| result.dtype());
                if is_defined(op, dtype) {
                    defined += 1;
                    assert_eq!(result.unwrap(), result_dtype(op, dtype), "{op} {dtype}");
                } else {
                    let kind = result.map_err(|error| error.kind());
                    assert_eq!(kind, Err(ErrorKind::UnsupportedDType), "{op} {dtype}");
                }
                for &rules in Rules::ALL {
                    let promoted = reduce_result_type(op, dtype, rules).ok();
                    let expected = is_defined(op, dtype).then(|| result_dtype(op, dtype));
                    assert_eq!(promoted, expected, "{op} {dtype}");
                }
            }
            assert_eq!(defined, count, "{op}");
        }
    }
}

#[test]
fn every_dtype_over_every_set_of_axes() {
    for device in devices() {
        for &dtype in DType::ALL {
            let x = random_tensor(7, dtype, &[3, 5, 7], &device);
            for set in 0..8usize {
                let axes: Vec<usize> = (0..3).filter(|axis| set >> axis & 1 == 1).collect();
                check(&x, &axes);
                // The order in which axes are given does not matter.
                let reversed: Vec<usize> = axes.iter().rev().copied().collect();
                check(&x, &reversed);
            }
        }
    }
}

/// Every way to name axes gives the dimensions that a list of them gives.
#[test]
#[allow(clippy::needless_borrows_for_generic_args, reason = "a list may be borrowed")]
fn axes_are_integers_lists_and_ranges() {
    for device in devices() {
        let x = random_tensor(3, DType::F32, &[2, 3, 4], &device);
        let is = |given: Result<Tensor, Error>, axes: &[usize]| {
            let expected = reduce(ReduceOp::Sum, &x, axes).run().unwrap();
            assert!(given.unwrap().bits_equal(&expected).unwrap(), "{axes:?}");
        };
        is(x.sum(1), &[1]);
        is(x.sum(-1), &[2]);
        is(x.sum([0, -1]), &[0, 2]);
        is(x.sum(&[0]), &[0]);
        is(x.sum(&[-1]), &[2]);
        is(x.sum(&vec![1usize, 0]), &[0, 1]);
        is(x.sum(vec![-3i64]), &[0]);
        is(x.sum(0..2), &[0, 1]);
        is(x.sum(0..=1), &[0, 1]);
        is(x.sum(1..), &[1, 2]);
        is(x.sum(-2..), &[1, 2]);
        is(x.sum(..-1), &[0, 1]);
        is(x.sum(..), &[0, 1, 2]);
        // An empty list or range reduces nothing.
        for none in [x.sum([0i32; 0]), x.sum(Vec::<isize>::new()), x.sum(1..1)] {
            assert!(none.unwrap().bits_equal(&x).unwrap());
        }
    }
}

#[test]
fn dimensions_are_kept_with_size_1() {
    for device in devices() {
        let x = random_tensor(5, DType::F32, &[2, 3, 4], &device);
        // Every reduction is defined for bools, integers or floats.
        let bytes = x.cast(DType::U8).unwrap();
        for &op in ReduceOp::ALL {
            let x = if op.is_defined_for(DType::F32) { &x } else { &bytes };
            for (axes, shape) in [
                (&[1][..], [2, 1, 4]),
                (&[-1, 0], [1, 3, 1]),
                (&[0, 1, 2], [1, 1, 1]),
                (&[], [2, 3, 4]),
            ] {
                let kept = reduce(op, x, axes).keepdims().run().unwrap();
                assert_eq!(kept.shape(), shape, "{op}");
                let flat = reduce(op, x, axes).run().unwrap();
                assert!(kept.reshape(flat.shape()).unwrap().bits_equal(&flat).unwrap(), "{op}");
                let expr = x.expr().reduce_keepdims(op, axes);
                assert_eq!(expr.shape().unwrap(), shape, "{op}");
                assert!(expr.run().unwrap().bits_equal(&kept).unwrap(), "{op}");
                // A destination has the shape of the result, and may be any view of it.
                let mut room = Tensor::zeros([shape[2], shape[1], shape[0]], kept.dtype(), &device)
                    .and_then(|room| room.permute([2, 1, 0]))
                    .unwrap();
                reduce(op, x, axes).keepdims().out(&mut room).run().unwrap();
                assert!(room.bits_equal(&kept).unwrap(), "{op}");
            }
            let mut flat = Tensor::zeros([2, 4], DType::C128, &device).unwrap();
            let refused = reduce(op, x, 1).keepdims().out(&mut flat).run();
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::InplaceShape, "{op}");
        }
        assert_eq!(x.max_keepdims(-1).unwrap().shape(), [2, 3, 1]);
        assert_eq!(x.expr().max_keepdims(..).to_string(), "max_keepdims(f32[2, 3, 4])");
        // As many dimensions as a tensor has, all of them kept.
        let eight = Tensor::ones([2; 8], DType::I32, &device).unwrap();
        assert_eq!(eight.sum_keepdims(..).unwrap().shape(), [1; 8]);
        assert_eq!(eight.sum_keepdims(2..7).unwrap().to_vec::<i64>().unwrap(), [32; 8]);
    }
}

#[test]
fn the_dtype_of_a_sum_can_be_chosen() {
    for device in devices() {
        let x = Tensor::from_slice(&[200u8, 100, 7, 1], [2, 2], &device).unwrap();
        let sum = |dtype| reduce(ReduceOp::Sum, &x, 1).dtype(dtype).run().unwrap();
        assert_eq!(sum(DType::U8).to_vec::<u8>().unwrap(), [44, 8]);
        assert_eq!(sum(DType::U32).to_vec::<u32>().unwrap(), [300, 8]);
        assert_eq!(sum(DType::F32).to_vec::<f32>().unwrap(), [300.0, 8.0]);
        // The elements are converted before they are added.
        assert_eq!(sum(DType::I8).to_vec::<i8>().unwrap(), [44, 8]);
        let halves = Tensor::from_slice(&[0.5f32, 1.5, 2.5], [3], &device).unwrap();
        let sum = reduce(ReduceOp::Sum, &halves, ..).dtype(DType::I32).run().unwrap();
        assert_eq!(sum.item::<i32>().unwrap(), 3);
        let product = reduce(ReduceOp::Prod, &x, 1).dtype(DType::U8).run().unwrap();
        assert_eq!(product.to_vec::<u8>().unwrap(), [32, 7]); // 20,000 wraps
        let takers = [ReduceOp::Sum, ReduceOp::Prod];
        for &op in ReduceOp::ALL.iter().filter(|op| !takers.contains(op)) {
            let error = reduce(op, &halves, 0).dtype(DType::F32).run().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{op}");
            assert!(error.to_string().contains("can be chosen for sum and prod alone"), "{error}");
        }
    }
}

#[test]
fn lengths_around_every_edge() {
    let lengths = [
        1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257,
        511, 513, 1023, 1024, 1025, 2047, 2049, 4095, 4096, 4097, 8191, 8193, 20_000, 65_537,
    ];
    for device in devices() {
        for (seed, &len) in lengths.iter().enumerate() {
            for dtype in [DType::F32, DType::F64, DType::F16, DType::I8] {
                let x = random_tensor(seed as u64, dtype, &[len], &device);
                check(&x, &[0]);
                // The same terms in reverse, and from an unaligned view.
                check(&x.flip(0).unwrap(), &[0]);
                if len > 3 {
                    check(&x.narrow(0, 1, len - 3).unwrap(), &[0]);
                }
            }
        }
    }
}

#[test]
fn rows_columns_and_permutations_have_the_same_order() {
    for device in devices() {
        for (rows, columns) in
            [(1, 300), (300, 1), (7, 129), (129, 7), (64, 64), (1000, 3), (3, 1000)]
        {
            let x = random_tensor(11, DType::F32, &[rows, columns], &device);
            let transposed =
                x.transpose(0, 1).unwrap().contiguous().unwrap().transpose(0, 1).unwrap();
            for axes in [&[0][..], &[1], &[0, 1]] {
                check(&x, axes);
                check(&transposed, axes);
                let bits = |x: &Tensor| x.sum(axes).unwrap().to_bytes().unwrap();
                assert_eq!(bits(&x), bits(&transposed));
            }
            let broadcast = x.unsqueeze(1).unwrap().broadcast_to([rows, 4, columns]).unwrap();
            check(&broadcast, &[1]);
            check(&broadcast, &[0, 1]);
        }
    }
}

#[test]
fn so_many_rows_that_a_warp_adds_up_several() {
    use DType::{F16, F32, F64};
    // On CUDA: between 1 and 8 groups of 2, 4 or 8 terms for each of 4 to 32 threads, with and without terms left over.
    let rows = [20, 129, 181, 250, 301].map(|len| (len, F32));
    for device in devices() {
        for (seed, &(len, dtype)) in rows.iter().chain(&[(75, F64), (300, F16)]).enumerate() {
            let x = random_tensor(seed as u64, dtype, &[1030, len], &device);
            check(&x, &[1]);
            #[cfg(feature = "cpu")]
            {
                let best = |x: &Tensor| x.argmax(1).unwrap().to_bytes().unwrap();
                let there = x.to_device(&Device::cpu()).unwrap();
                assert_eq!(best(&x), best(&there), "{dtype} {len}");
            }
        }
    }
}

#[test]
fn large_sums_are_the_same_however_they_are_shared_out() {
    for device in devices() {
        let is_cpu = device.to_string() == "cpu";
        let len = if is_cpu { (1 << 21) + 12_345 } else { (1 << 17) + 123 };
        let x = random_tensor(13, DType::F32, &[len], &device);
        check(&x, &[0]);
        let matrix = x.narrow(0, 0, len / 64 * 64).unwrap().reshape([64, len / 64]).unwrap();
        check(&matrix, &[0]);
        check(&matrix, &[1]);
    }
}

#[test]
fn zeros_keep_their_sign() {
    for device in devices() {
        let negative = Tensor::full([5], -0.0, DType::F32, &device).unwrap();
        let bits = |x: &Tensor| x.sum(..).unwrap().to_vec::<f32>().unwrap()[0].to_bits();
        assert_eq!(bits(&negative), (-0.0f32).to_bits());
        let mixed = Tensor::from_slice(&[-0.0f32, 0.0], [2], &device).unwrap();
        assert_eq!(bits(&mixed), 0);
        let nothing = Tensor::zeros([0], DType::F32, &device).unwrap();
        assert_eq!(bits(&nothing), 0);
        assert!(nothing.mean(..).unwrap().to_vec::<f32>().unwrap()[0].is_nan());
        let rows = Tensor::zeros([3, 0], DType::I8, &device).unwrap();
        assert_eq!(rows.sum(1).unwrap().to_vec::<i64>().unwrap(), [0, 0, 0]);
        assert_eq!(rows.sum(0).unwrap().shape(), [0]);
        let scalar = Tensor::from_slice(&[-0.0f32], (), &device).unwrap();
        assert_eq!(bits(&scalar), (-0.0f32).to_bits());
    }
}

#[test]
fn a_sum_is_rounded_once() {
    for device in devices() {
        // In f16 the sum would overflow on the way, in f32 the small terms would be lost.
        let x =
            Tensor::from_slice(&[f16::MAX, f16::MAX, f16::MIN, f16::MIN, f16::ONE], [5], &device);
        assert_eq!(x.unwrap().sum(..).unwrap().to_vec::<f16>().unwrap(), [f16::ONE]);
        let x = Tensor::from_slice(&[3e7f32, 1.0, 1.0, 1.0, -3e7], [5], &device).unwrap();
        assert_eq!(x.sum(..).unwrap().to_vec::<f32>().unwrap(), [3.0]);
    }
}

/// Large terms that cancel leave small ones, however far apart they are, and zeros keep their signs beside them.
#[test]
fn terms_of_different_magnitudes() {
    let small = [1.007_812_5f32, -0.0, 0.0, -1.0, f32::MIN_POSITIVE / 4.0];
    for device in devices() {
        for (dtype, steps) in [(DType::BF16, 0..64), (DType::F16, 0..15)] {
            // Every row has its own power of two, in every place but the last once more with the other sign.
            let mut numbers = Vec::new();
            for step in steps.clone() {
                let large = 2f32.powi(step * 2);
                let place = |k: i32| match k % 8 {
                    k if k == step % 8 => large,
                    k if k == (step + 3) % 8 => -large,
                    _ => small[((k + step) % 5) as usize],
                };
                numbers.extend((0..64).map(place));
            }
            let rows = numbers.len() / 64;
            let x = Tensor::from_slice(&numbers, [rows, 64], &device).unwrap();
            let x = x.cast(dtype).unwrap();
            for axes in [&[1][..], &[0], &[0, 1]] {
                check_each(&[ReduceOp::Sum], &x, axes);
                check_each(&[ReduceOp::Sum], &x.transpose(0, 1).unwrap(), axes);
            }
            let zeros = Tensor::full([rows, 64], -0.0, dtype, &device).unwrap();
            check_each(&[ReduceOp::Sum], &zeros, &[1]);
        }
    }
}

#[test]
fn wrong_axes_and_dtypes_are_refused() {
    for device in devices() {
        let x = Tensor::zeros([2, 3], DType::I32, &device).unwrap();
        assert_eq!(x.sum(2).unwrap_err().kind(), ErrorKind::OutOfBounds);
        assert_eq!(x.sum(-3).unwrap_err().kind(), ErrorKind::OutOfBounds);
        assert_eq!(x.sum(0..3).unwrap_err().kind(), ErrorKind::OutOfBounds);
        assert_eq!(x.sum([1, 1]).unwrap_err().kind(), ErrorKind::InvalidArgument);
        assert_eq!(
            x.sum([1, -1]).unwrap_err().to_string(),
            "sum: axis 1 is named twice in [1, -1]"
        );
        assert_eq!(x.sum(-1..0).unwrap_err().kind(), ErrorKind::InvalidArgument);
        assert_eq!(x.mean(0).unwrap_err().kind(), ErrorKind::UnsupportedDType);
        let bools = Tensor::ones([2], DType::Bool, &device).unwrap();
        assert_eq!(bools.mean(..).unwrap_err().kind(), ErrorKind::UnsupportedDType);
        assert_eq!(bools.sum(..).unwrap().to_vec::<i64>().unwrap(), [2]);
    }
}
