//! Scans, compared with the plain definition of their order for every dtype, layout and device.

use bitlane::{DType, Device, ErrorKind, ScanOp, Tensor, scan};

use super::products::factors;
use super::random_tensor;
use crate::devices::devices;
use crate::model::element::{Bits, Nan, download, same};
use crate::model::scan::{is_defined, result_dtype, scan as expected};

/// Compares scans of a tensor along an axis with the model, as far as they are defined for its dtype.
#[track_caller]
fn check_each(ops: &[ScanOp], x: &Tensor, axis: usize) {
    let len = x.shape()[axis];
    // The axis comes last, so that every row is a scan.
    let rows = |x: &Tensor| -> Vec<Bits> {
        let mut order: Vec<usize> = (0..x.rank()).filter(|&k| k != axis).collect();
        order.push(axis);
        download(&x.permute(&order).unwrap())
    };
    let elements = rows(x);
    for &op in ops.iter().filter(|&&op| is_defined(op, x.dtype())) {
        let given = scan(op, x, axis).run().unwrap();
        let dtype = result_dtype(op, x.dtype());
        assert_eq!((given.dtype(), given.shape()), (dtype, x.shape()));
        assert!(given.is_contiguous());
        let given = rows(&given);
        for (row, (elements, given)) in elements.chunks(len).zip(given.chunks(len)).enumerate() {
            let expected = expected(op, x.dtype(), elements);
            for (place, (&expected, &given)) in expected.iter().zip(given).enumerate() {
                assert!(
                    same(dtype, expected, given, Nan::Any),
                    "{op} of {} {:?} along {axis}, row {row}, element {place}: {given:#x}, not {expected:#x}",
                    x.dtype(),
                    x.shape(),
                );
            }
        }
    }
}

#[track_caller]
fn check(x: &Tensor, axis: usize) {
    check_each(ScanOp::ALL, x, axis);
}

/// How many dtypes each scan is defined for (docs/semantics.md). Counted by hand, so that a pair that the model leaves
/// out, and that would therefore not be tested, is noticed.
const DEFINED: &[(usize, ScanOp)] = &[
    (17, ScanOp::Sum),
    (17, ScanOp::Prod),
    (15, ScanOp::Max),
    (15, ScanOp::Min),
    (9, ScanOp::Xor),
];

#[test]
fn every_scan_is_defined_for_the_dtypes_of_its_domain() {
    assert_eq!(DEFINED.len(), ScanOp::ALL.len());
    for device in devices() {
        for &(count, op) in DEFINED {
            let mut defined = 0;
            for &dtype in DType::ALL {
                let x = Tensor::ones([2, 2], dtype, &device).unwrap();
                let result = scan(op, &x, 0).run().map(|result| result.dtype());
                assert_eq!(result.is_ok(), op.is_defined_for(dtype), "{op} {dtype}");
                if is_defined(op, dtype) {
                    defined += 1;
                    assert_eq!(result.unwrap(), result_dtype(op, dtype), "{op} {dtype}");
                } else {
                    let kind = result.map_err(|error| error.kind());
                    assert_eq!(kind, Err(ErrorKind::UnsupportedDType), "{op} {dtype}");
                }
            }
            assert_eq!(defined, count, "{op}");
            assert_eq!(op.to_string().parse::<ScanOp>().unwrap(), op);
        }
    }
}

#[test]
fn every_dtype_along_every_axis_of_every_layout() {
    for device in devices() {
        for &dtype in DType::ALL {
            let x = random_tensor(7, dtype, &[3, 5, 7], &device);
            for axis in 0..3 {
                check(&x, axis);
                check(&x.permute([2, 0, 1]).unwrap(), axis);
                check(&x.flip(1).unwrap().narrow(2, 1, 5).unwrap(), axis);
            }
        }
        let row = random_tensor(8, DType::F32, &[1, 40], &device);
        check(&row.broadcast_to([3, 40]).unwrap(), 0);
        check(&row.broadcast_to([3, 40]).unwrap(), 1);
    }
}

#[test]
fn lengths_around_every_edge() {
    let lengths = [
        1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 255, 257, 511, 513, 1023, 1024,
        1025, 2047, 2048, 2049, 4097, 8191, 8193, 20_000, 65_537,
    ];
    for device in devices() {
        for (seed, &len) in lengths.iter().enumerate() {
            let seed = seed as u64;
            check_each(&[ScanOp::Sum], &random_tensor(seed, DType::F32, &[len], &device), 0);
            check_each(&[ScanOp::Prod], &factors(seed, DType::F64, &[len], &device), 0);
            check_each(&[ScanOp::Prod], &factors(seed, DType::C64, &[len], &device), 0);
            check_each(
                &[ScanOp::Max, ScanOp::Xor],
                &random_tensor(seed, DType::I16, &[len], &device),
                0,
            );
        }
    }
}

#[test]
fn columns_and_many_rows() {
    for device in devices() {
        for shape in [[300, 3], [3, 300], [1, 2500], [2500, 2], [64, 64], [700, 1]] {
            for dtype in [DType::F64, DType::U8] {
                let x = random_tensor(11, dtype, &shape, &device);
                for axis in 0..2 {
                    check(&x, axis);
                    check(&x.transpose(0, 1).unwrap(), axis);
                }
            }
        }
    }
}

#[test]
fn large_scans_are_the_same_however_they_are_shared_out() {
    for device in devices() {
        let is_cpu = device.to_string() == "cpu";
        let len = if is_cpu { (1 << 20) + 12_345 } else { (1 << 16) + 123 };
        let x = random_tensor(13, DType::F32, &[len], &device);
        check_each(&[ScanOp::Sum, ScanOp::Max], &x, 0);
        let sums = x.cumulative_sum(0).unwrap();
        // The last prefix of 2^k elements is their sum.
        for power in [0, 5, 10, 15] {
            let sum = x.narrow(0, 0, 1 << power).unwrap().sum(..).unwrap();
            let last = sums.index_axis(0, (1 << power) - 1).unwrap();
            assert!(sum.bits_equal(&last.contiguous().unwrap()).unwrap(), "2^{power}");
        }
        check_each(&[ScanOp::Xor], &random_tensor(13, DType::I32, &[len], &device), 0);
        let matrix = x.narrow(0, 0, len / 50 * 50).unwrap().reshape([len / 50, 50]).unwrap();
        check_each(&[ScanOp::Sum], &matrix, 0);
    }
}

#[test]
fn scans_are_rounded_once_per_element_and_wrap() {
    for device in devices() {
        let x = Tensor::from_slice(&[3e7f32, 1.0, 1.0, 1.0, -3e7], [5], &device).unwrap();
        let sums = x.cumulative_sum(0).unwrap().to_vec::<f32>().unwrap();
        assert_eq!(sums[4], 3.0);
        let x = Tensor::from_slice(&[200u8, 100, 7], [3], &device).unwrap();
        assert_eq!(x.cumulative_sum(-1).unwrap().to_vec::<u64>().unwrap(), [200, 300, 307]);
        let bytes = scan(ScanOp::Sum, &x, 0).dtype(DType::U8).run().unwrap();
        assert_eq!(bytes.to_vec::<u8>().unwrap(), [200, 44, 51]);
        let floats = scan(ScanOp::Prod, &x, 0).dtype(DType::F32).run().unwrap();
        assert_eq!(floats.to_vec::<f32>().unwrap(), [200.0, 20_000.0, 140_000.0]);
        let zeros = Tensor::full([3], -0.0, DType::F64, &device).unwrap();
        let sums = zeros.cumulative_sum(0).unwrap().to_vec::<f64>().unwrap();
        assert!(sums.iter().all(|sum| *sum == 0.0 && sum.is_sign_negative()));
        let extremes = |x: &Tensor| {
            let bits = |x: Tensor| x.to_vec::<f64>().unwrap().into_iter().map(f64::to_bits);
            let [max, min] = [x.cumulative_max(0).unwrap(), x.cumulative_min(0).unwrap()]
                .map(|x| bits(x.cast(DType::F64).unwrap()).collect::<Vec<_>>());
            (max, min)
        };
        for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
            let values = [-1.0, -0.0, 0.0, -0.0, -2.0, 7.0, f64::NEG_INFINITY, f64::INFINITY];
            let x = Tensor::from_slice(&values, [8], &device).unwrap().cast(dtype).unwrap();
            let expected = [-1.0, -0.0, 0.0, 0.0, 0.0, 7.0, 7.0, f64::INFINITY].map(f64::to_bits);
            let (max, min) = extremes(&x);
            assert_eq!(max, expected, "{dtype}");
            let last = f64::NEG_INFINITY;
            let expected = [-1.0, -1.0, -1.0, -1.0, -2.0, -2.0, last, last].map(f64::to_bits);
            assert_eq!(min, expected, "{dtype}");
            // From the first NaN on, of either sign.
            let values = [1.0, -f64::NAN, 2.0];
            let x = Tensor::from_slice(&values, [3], &device).unwrap().cast(dtype).unwrap();
            for scanned in [x.cumulative_max(0).unwrap(), x.cumulative_min(0).unwrap()] {
                let values = scanned.cast(DType::F64).unwrap().to_vec::<f64>().unwrap();
                assert!(values[0] == 1.0 && values[1].is_nan() && values[2].is_nan(), "{dtype}");
            }
        }
        // Gray code is decoded by the exclusive or of all higher bits.
        let gray = Tensor::from_slice(&[true, true, false, true], [4], &device).unwrap();
        let decoded = gray.cumulative_xor(0).unwrap().to_vec::<bool>().unwrap();
        assert_eq!(decoded, [true, false, false, true]);
    }
}

fn bits_equal(x: &Tensor, y: &Tensor) -> bool {
    x.bits_equal(y).unwrap()
}

#[test]
fn destinations_and_masks() {
    for device in devices() {
        let x = random_tensor(3, DType::F32, &[4, 6], &device);
        let plain = x.cumulative_sum(1).unwrap();
        let mut out = Tensor::zeros([6, 4], DType::F64, &device).unwrap().transpose(0, 1).unwrap();
        scan(ScanOp::Sum, &x, 1).out(&mut out).run().unwrap();
        assert!(bits_equal(&out, &plain.cast(DType::F64).unwrap()));
        let mask = random_tensor(4, DType::Bool, &[4, 6], &device);
        let mut out = Tensor::full([4, 6], 7, DType::F32, &device).unwrap();
        scan(ScanOp::Sum, &x, 1).out(&mut out).mask(&mask).run().unwrap();
        assert!(bits_equal(&out, &bitlane::select(&mask, &plain, 7.0).unwrap()));
        let mut own = x.copy().unwrap();
        let again = own.clone();
        scan(ScanOp::Sum, &again, 1).out(&mut own).run().unwrap();
        assert!(bits_equal(&own, &plain));
    }
}

#[test]
fn nothing_one_element_and_errors() {
    for device in devices() {
        let kind = |result: Result<Tensor, bitlane::Error>| result.unwrap_err().kind();
        let nothing =
            |shape: [usize; 2], device: &Device| Tensor::zeros(shape, DType::F32, device).unwrap();
        assert_eq!(nothing([0, 3], &device).cumulative_sum(0).unwrap().shape(), [0, 3]);
        assert_eq!(nothing([3, 0], &device).cumulative_max(0).unwrap().shape(), [3, 0]);
        let x = nothing([2, 3], &device);
        assert_eq!(kind(x.cumulative_sum(2)), ErrorKind::OutOfBounds);
        assert_eq!(kind(x.cumulative_sum(-3)), ErrorKind::OutOfBounds);
        assert_eq!(kind(x.cumulative_xor(0)), ErrorKind::UnsupportedDType);
        let scalar = Tensor::ones((), DType::F32, &device).unwrap();
        assert_eq!(kind(scalar.cumulative_sum(0)), ErrorKind::OutOfBounds);
        let chosen = scan(ScanOp::Max, &x, 0).dtype(DType::F64).run();
        assert_eq!(kind(chosen), ErrorKind::InvalidArgument);
        let mut small = Tensor::zeros([3], DType::F32, &device).unwrap();
        assert_eq!(kind(scan(ScanOp::Sum, &x, 0).out(&mut small).run()), ErrorKind::InplaceShape);
        assert_eq!(kind(scan(ScanOp::Sum, &x, 0).mask(&x).run()), ErrorKind::InvalidArgument);
    }
}
