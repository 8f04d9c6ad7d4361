//! The reductions that are neither sums nor means, compared with the model (docs/semantics.md, section 8).

use bitlane::{DType, ErrorKind, ReduceOp, Tensor, reduce};

use super::check_each;
use crate::devices::{devices, is_tried};
use crate::model::element::{Bits, Nan, from_bytes, same, to_bytes, upload};
use crate::model::random::Random;

/// Every reduction but sums and means.
fn others() -> Vec<ReduceOp> {
    ReduceOp::ALL.iter().copied().filter(|op| !super::SUMS.contains(op)).collect()
}

#[track_caller]
fn check(x: &Tensor, axes: &[usize]) {
    let is_tried = |op: &ReduceOp| is_tried(x.device(), *op as usize + x.dtype() as usize);
    let ops: Vec<_> = others().into_iter().filter(is_tried).collect();
    check_each(&ops, x, axes);
}

/// Draws elements that are rarely NaN, and in every other tensor rarely true or rarely false.
fn elements(seed: u64, dtype: DType, len: usize) -> Vec<Bits> {
    let mut random = Random::new(seed);
    let elements = random.elements(dtype, len);
    let rare = random.below(3);
    let mut keep = |bits: Bits| match rare {
        0 if random.below(40) > 0 => 0,
        1 if random.below(40) > 0 => 1,
        _ => bits,
    };
    elements
        .into_iter()
        .map(|bits| {
            let is_nan =
                dtype.is_float() && same(dtype, !0 >> (128 - dtype.bits()), bits, Nan::Any);
            keep(if is_nan { 0 } else { bits })
        })
        .collect()
}

#[test]
fn every_dtype_over_every_set_of_axes() {
    for device in devices() {
        for (seed, &dtype) in DType::ALL.iter().enumerate() {
            let x = upload(dtype, &elements(seed as u64, dtype, 105), &[3, 5, 7], &device);
            for set in 0..8usize {
                let axes: Vec<usize> = (0..3).filter(|axis| set >> axis & 1 == 1).collect();
                check(&x, &axes);
            }
        }
    }
}

#[test]
fn lengths_around_every_edge() {
    let lengths =
        [1, 2, 3, 7, 8, 9, 31, 32, 33, 63, 65, 255, 257, 1023, 1025, 4097, 20_000, 65_537];
    for device in devices() {
        for (seed, &len) in lengths.iter().enumerate() {
            for dtype in [DType::F32, DType::F16, DType::I8, DType::U64] {
                let x = upload(dtype, &elements(seed as u64, dtype, len), &[len], &device);
                check(&x, &[0]);
                check(&x.flip(0).unwrap(), &[0]);
            }
        }
    }
}

/// If there are fewer terms than leaves, the value of the missing ones must lose to every value of the dtype.
#[test]
fn nothing_is_beyond_the_ends_of_a_dtype() {
    for device in devices() {
        for dtype in [DType::F16, DType::F32, DType::F64, DType::I8, DType::I64, DType::U8] {
            let ends = match dtype {
                DType::F16 => [0xfc00, 0x7c00], // infinities
                DType::F32 => [0xff80_0000, 0x7f80_0000],
                DType::F64 => [0xfff0_0000_0000_0000, 0x7ff0_0000_0000_0000],
                DType::I8 => [0x80, 0x7f],
                DType::I64 => [0x8000_0000_0000_0000, 0x7fff_ffff_ffff_ffff],
                _ => [0, 0xff],
            };
            for (len, end) in
                [1, 3, 33, 1025].into_iter().flat_map(|len| ends.map(|end| (len, end)))
            {
                check(&upload(dtype, &vec![end; len], &[len], &device), &[0]);
                check(&upload(dtype, &vec![end; 2 * len], &[2, len], &device), &[1]);
            }
        }
    }
}

#[test]
fn the_one_term_that_matters_is_found_wherever_it_is() {
    for device in devices() {
        let len = 5000;
        for place in [0, 1, 31, 32, 1023, 1024, 4095, 4096, len - 1] {
            let mut values = vec![-7i32; len];
            values[place] = -3;
            let x = Tensor::from_slice(&values, [len], &device).unwrap();
            assert_eq!(x.max(..).unwrap().item::<i32>().unwrap(), -3);
            assert_eq!(x.argmax(..).unwrap().item::<i64>().unwrap(), place as i64);
            assert_eq!(x.negative().unwrap().min(..).unwrap().item::<i32>().unwrap(), 3);
            let is_it = x.equal(-3).unwrap();
            assert!(is_it.any(..).unwrap().item::<bool>().unwrap());
            let is_not = is_it.logical_not().unwrap();
            assert!(!is_not.all(..).unwrap().item::<bool>().unwrap());
            let floats = is_it.cast(DType::F32).unwrap();
            let nan = bitlane::select(&is_it, f32::NAN, &floats).unwrap();
            assert!(nan.max(..).unwrap().item::<f32>().unwrap().is_nan());
            assert!(nan.min(..).unwrap().item::<f32>().unwrap().is_nan());
            assert_eq!(nan.argmax(..).unwrap().item::<i64>().unwrap(), place as i64);
            assert_eq!(nan.argmin(..).unwrap().item::<i64>().unwrap(), place as i64);
        }
    }
}

#[test]
fn the_first_of_equals_of_nans_and_of_zeros_counts() {
    for device in devices() {
        let place = |x: &Tensor, largest: bool| {
            let place = if largest { x.argmax(..) } else { x.argmin(..) };
            place.unwrap().item::<i64>().unwrap()
        };
        for len in [3, 40, 3000] {
            for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
                // Everything equals, and then there are two NaNs with different signs and payloads.
                let x = Tensor::full([len], -2.0, dtype, &device).unwrap();
                assert_eq!((place(&x, true), place(&x, false)), (0, 0));
                let zeros = Tensor::full([len], -0.0, dtype, &device).unwrap();
                let at = Tensor::arange(len, DType::I64, &device).unwrap();
                let last = at.equal((len - 1) as i64).unwrap();
                let zeros = bitlane::select(&last, 0.0, &zeros).unwrap();
                assert_eq!((place(&zeros, true), place(&zeros, false)), (len as i64 - 1, 0));
                let nans = bitlane::select(&at.greater_than(0).unwrap(), f64::NAN, &x).unwrap();
                let nans = bitlane::select(&last, nans.negative().unwrap(), &nans).unwrap();
                assert_eq!((place(&nans, true), place(&nans, false)), (1, 1));
            }
        }
        // The bits of the NaN that is kept may be those of a later one.
        let nans = Tensor::from_slice(&[1.0, f64::NAN, -f64::NAN, 2.0], [4], &device).unwrap();
        assert_eq!((place(&nans, true), place(&nans, false)), (1, 1));
        // Over one axis, in either order of the memory, and the place in row-major order over both.
        let x = Tensor::from_nested([[1, 5, 3], [4, 2, 6], [4, 5, 6]], &device).unwrap();
        assert_eq!(x.argmax(0).unwrap().to_vec::<i64>().unwrap(), [1, 0, 1]);
        assert_eq!(x.argmin(-1).unwrap().to_vec::<i64>().unwrap(), [0, 1, 0]);
        assert_eq!(x.argmax(..).unwrap().item::<i64>().unwrap(), 5);
        let turned = x.transpose(0, 1).unwrap();
        assert_eq!(turned.argmax(..).unwrap().item::<i64>().unwrap(), 7);
        assert_eq!(x.argmax_keepdims(1).unwrap().shape(), [3, 1]);
    }
}

#[test]
fn large_tensors_however_they_are_shared_out() {
    for device in devices() {
        let is_cpu = device.to_string() == "cpu";
        let len = if is_cpu { (1 << 20) + 4321 } else { (1 << 16) + 321 };
        let last = Tensor::arange(len, DType::I32, &device).unwrap().argmax(..).unwrap();
        assert_eq!(last.item::<i64>().unwrap(), len as i64 - 1);
        for dtype in [DType::I8, DType::F32] {
            let x = upload(dtype, &elements(17, dtype, len), &[len], &device);
            check(&x, &[0]);
            let matrix = x.narrow(0, 0, len / 64 * 64).unwrap().reshape([len / 64, 64]).unwrap();
            check(&matrix, &[0]);
        }
    }
}

#[test]
fn rows_columns_and_many_results() {
    for device in devices() {
        for (rows, columns) in [(1, 300), (300, 1), (7, 129), (129, 7), (1000, 3), (3, 1000)] {
            for dtype in [DType::F32, DType::I64] {
                let x =
                    upload(dtype, &elements(5, dtype, rows * columns), &[rows, columns], &device);
                for axes in [&[0][..], &[1], &[0, 1]] {
                    check(&x, axes);
                    check(&x.transpose(0, 1).unwrap(), axes);
                }
            }
        }
    }
}

#[test]
fn expressions_end_in_them_too() {
    for device in devices() {
        let bytes = to_bytes(DType::F32, &elements(3, DType::F32, 600));
        let x = Tensor::from_bytes(DType::F32, &bytes, [20, 30], &device).unwrap();
        let fused = (x.expr() * &x).max(1).run().unwrap();
        assert!((&x * &x).unwrap().max(1).unwrap().bits_equal(&fused).unwrap());
        let expr = x.expr().less_than(1).all(0);
        assert_eq!((expr.dtype().unwrap(), expr.shape().unwrap()), (DType::Bool, vec![30]));
        let whole = x.less_than(1).unwrap().all(0).unwrap();
        assert!(whole.bits_equal(&expr.run().unwrap()).unwrap());
        // Into a destination of a higher category, where a mask is true.
        let mut out = Tensor::full([20], 7, DType::I32, &device).unwrap();
        let mask = Tensor::arange(20, DType::I32, &device).unwrap().less_than(3).unwrap();
        x.expr().any(1).out(&mut out).mask(&mask).run().unwrap();
        let any = from_bytes(DType::Bool, &x.any(1).unwrap().to_bytes().unwrap());
        let expected: Vec<i32> =
            (0..20).map(|row| if row < 3 { any[row] as i32 } else { 7 }).collect();
        assert_eq!(out.to_vec::<i32>().unwrap(), expected);
        let next = (x.expr().max(..) + 1).run().unwrap();
        assert!(next.bits_equal(&(x.max(..).unwrap() + 1).unwrap()).unwrap());
    }
}

#[test]
fn nothing_has_no_extreme_but_a_truth() {
    for device in devices() {
        let nothing = Tensor::zeros([0, 3], DType::F32, &device).unwrap();
        for axes in [&[0, 1][..], &[0]] {
            for op in [ReduceOp::Max, ReduceOp::Min, ReduceOp::Argmax, ReduceOp::Argmin] {
                let error = reduce(op, &nothing, axes).run().unwrap_err();
                assert_eq!(error.kind(), ErrorKind::InvalidShape);
            }
        }
        assert_eq!(
            nothing.max(0).unwrap_err().to_string(),
            "max: shape [0, 3]: there are no elements to take the max of"
        );
        // There are no results, so no terms are missing.
        assert_eq!(nothing.max(1).unwrap().shape(), [0]);
        assert_eq!(nothing.any(0).unwrap().to_vec::<bool>().unwrap(), [false; 3]);
        assert_eq!(nothing.all(0).unwrap().to_vec::<bool>().unwrap(), [true; 3]);
        let scalar = Tensor::from_slice(&[-2.5f64], (), &device).unwrap();
        assert_eq!(scalar.max(..).unwrap().to_vec::<f64>().unwrap(), [-2.5]);
    }
}

#[test]
fn wrong_axes_and_dtypes_are_refused() {
    for device in devices() {
        let x = Tensor::zeros([2, 3], DType::C64, &device).unwrap();
        assert_eq!(x.max(..).unwrap_err().kind(), ErrorKind::UnsupportedDType);
        for op in others() {
            let x = x.cast(DType::I16).unwrap();
            let error = |axes: &[usize]| reduce(op, &x, axes).run().unwrap_err().kind();
            assert_eq!(error(&[2]), ErrorKind::OutOfBounds);
            assert_eq!(error(&[1, 1]), ErrorKind::InvalidArgument);
        }
    }
}
