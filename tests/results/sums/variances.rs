//! Variances and standard deviations: their corrections, special values and destinations. Their order is compared with the
//! model where that of sums is.

use bitlane::{DType, ErrorKind, ReduceOp, Tensor, reduce};

use super::{random_tensor, terms};
use crate::devices::devices;
use crate::model::element::{Nan, download, same};
use crate::model::reduce::variance;

#[test]
fn corrections_are_subtracted_from_the_number_of_terms() {
    for device in devices() {
        for dtype in [DType::F16, DType::F32, DType::F64] {
            let x = random_tensor(5, dtype, &[3, 7, 5], &device);
            let x = x.permute([2, 0, 1]).unwrap();
            for axes in [&[0][..], &[1], &[2, 0], &[0, 1, 2], &[]] {
                for correction in [0.0, 1.0, 2.5, -1.0, 7.0, 1000.0] {
                    for op in [ReduceOp::Var, ReduceOp::Std] {
                        let given = reduce(op, &x, axes).correction(correction).run().unwrap();
                        for (row, &given) in terms(&x, axes).iter().zip(&download(&given)) {
                            let expected = variance(op, dtype, row, correction);
                            assert!(
                                same(dtype, expected, given, Nan::Any),
                                "{op} of {dtype} over {axes:?} less {correction}: {given:#x}, not {expected:#x}"
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn the_mean_is_not_rounded() {
    for device in devices() {
        // In f32 the mean would be 16777216 or 16777218, and the variance 1 or more.
        let x = Tensor::from_slice(&[16_777_216.0f32, 16_777_218.0, 16_777_217.0], [3], &device);
        let x = x.unwrap();
        let values = x.to_vec::<f32>().unwrap();
        let mean = values.iter().map(|&x| f64::from(x)).sum::<f64>() / 3.0;
        let expected = values.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / 2.0;
        assert_eq!(x.var(.., 1).unwrap().item::<f32>().unwrap(), expected as f32);
        assert_eq!(x.std(.., 1).unwrap().item::<f32>().unwrap(), expected.sqrt() as f32);
        // Far from overflow in f64.
        let x = Tensor::from_slice(&[3e38f32, -3e38], [2], &device).unwrap();
        assert_eq!(x.std(.., 0).unwrap().item::<f32>().unwrap(), 3e38);
        assert_eq!(x.var(.., 0).unwrap().item::<f32>().unwrap(), f32::INFINITY);
    }
}

#[test]
fn too_few_terms_give_nan_or_infinity() {
    for device in devices() {
        let x = Tensor::from_nested([[1.0f64, 3.0], [5.0, 5.0]], &device).unwrap();
        let given = x.var(1, 2).unwrap().to_vec::<f64>().unwrap();
        assert!(given[0] == f64::INFINITY && given[1].is_nan(), "{given:?}");
        assert_eq!(x.var(1, 3).unwrap().to_vec::<f64>().unwrap()[0], f64::INFINITY);
        let nothing = Tensor::zeros([0, 2], DType::F32, &device).unwrap();
        let nan = nothing.std(0, 0).unwrap().to_vec::<f32>().unwrap();
        assert!(nan.len() == 2 && nan[0].is_nan());
        assert_eq!(nothing.var(1, 0).unwrap().shape(), [0]);
        let infinite = Tensor::from_nested([1.0f32, f32::INFINITY], &device).unwrap();
        assert!(infinite.var(.., 0).unwrap().item::<f32>().unwrap().is_nan());
    }
}

#[test]
fn destinations_masks_and_expressions() {
    for device in devices() {
        let x = random_tensor(9, DType::F32, &[4, 300], &device);
        let plain = x.var(1, 1).unwrap();
        let fused = (x.expr() * 1).var_keepdims(1, 1).run().unwrap();
        assert!(fused.reshape([4]).unwrap().bits_equal(&plain).unwrap());
        let doubled = (&x * 2).unwrap().std(0, 0).unwrap();
        assert!((x.expr() * 2).std(0, 0).run().unwrap().bits_equal(&doubled).unwrap());
        let mask = Tensor::from_nested([true, false, true, false], &device).unwrap();
        let mut out = Tensor::full([4], -1, DType::F32, &device).unwrap();
        reduce(ReduceOp::Var, &x, -1).correction(1).out(&mut out).mask(&mask).run().unwrap();
        let expected = bitlane::select(&mask, &plain, -1.0).unwrap();
        assert!(out.bits_equal(&expected).unwrap());
        // Into the storage of the operand itself, of which the second pass still reads.
        let both = x.copy().unwrap();
        let mut row = both.narrow(1, 7, 1).unwrap().squeeze(1).unwrap();
        reduce(ReduceOp::Var, &both, 1).correction(1).out(&mut row).run().unwrap();
        assert!(row.bits_equal(&plain).unwrap());
    }
}

#[test]
fn what_has_no_correction_refuses_one() {
    for device in devices() {
        let x = Tensor::ones([3], DType::F32, &device).unwrap();
        let error = reduce(ReduceOp::Mean, &x, 0).correction(1).run().unwrap_err();
        assert_eq!(error.to_string(), "mean: it has no correction, and 1 was given");
        assert_eq!(x.var(0, f64::NAN).unwrap_err().kind(), ErrorKind::InvalidArgument);
        assert_eq!(x.var(0, true).unwrap_err().kind(), ErrorKind::InvalidArgument);
        let integers = x.cast(DType::I32).unwrap();
        assert_eq!(integers.std(0, 1).unwrap_err().kind(), ErrorKind::UnsupportedDType);
    }
}
