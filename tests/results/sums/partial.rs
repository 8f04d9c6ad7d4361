//! Partial sums: cut anywhere and merged in any order, they give the bits that the model gives for all terms at once.

use bitlane::{DType, Device, ErrorKind, PartialSum, ReduceOp, Tensor, reduce};

use super::random_tensor;
use crate::devices::devices;
use crate::model::element::{Nan, download, same};
use crate::model::random::Random;
use crate::model::reduce::{is_defined, reduce as expected, result_dtype, variance};

/// Returns places at which to cut `len` terms, with the two ends.
fn cuts(random: &mut Random, len: usize) -> Vec<usize> {
    let count = random.below(6);
    let inner = (0..count).map(|_| random.below(len + 1));
    let mut cuts: Vec<usize> = [0, len].into_iter().chain(inner).collect();
    cuts.sort();
    cuts
}

/// Merges neighbours in a random order until one is left.
fn merged(random: &mut Random, mut parts: Vec<PartialSum>) -> PartialSum {
    while parts.len() > 1 {
        let place = random.below(parts.len() - 1);
        let (left, right) = (parts.remove(place), parts.remove(place));
        let flipped = random.below(2) == 1;
        let (a, b) = if flipped { (right, left) } else { (left, right) };
        parts.insert(place, PartialSum::merge(a, b).unwrap());
    }
    parts.remove(0)
}

/// Cuts the terms of `x` along its first axis, the only one that is summed.
fn in_parts(
    random: &mut Random,
    x: &Tensor,
    part: impl Fn(&Tensor, std::ops::Range<usize>) -> PartialSum,
) -> PartialSum {
    let cuts = cuts(random, x.shape()[0]);
    let parts = cuts
        .windows(2)
        .map(|ends| part(&x.narrow(0, ends[0], ends[1] - ends[0]).unwrap(), ends[0]..ends[1]));
    let parts = parts.collect();
    merged(random, parts)
}

#[test]
fn every_cut_gives_the_bits_of_the_definition() {
    for device in devices() {
        let is_cpu = device.to_string() == "cpu";
        // A partial sum is made of calls that other tests run on every device, in all dtypes.
        let dtypes = if is_cpu { DType::ALL } else { &[DType::F16, DType::C64, DType::I8] };
        let lengths: &[usize] = if is_cpu { &[1, 2, 5, 64, 100, 1000, 4099] } else { &[100] };
        for (seed, &dtype) in dtypes.iter().enumerate() {
            for &len in lengths {
                let mut random = Random::new((seed * 10_000 + len) as u64);
                let x = random_tensor(random.next(), dtype, &[len], &device);
                let terms = download(&x);
                let agrees = |op: ReduceOp, given: &Tensor| {
                    let result = result_dtype(op, dtype);
                    assert_eq!((given.dtype(), given.rank()), (result, 0), "{op}");
                    let expected = expected(op, dtype, &terms).unwrap();
                    let given = download(given)[0];
                    assert!(
                        same(result, expected, given, Nan::Any),
                        "{op} of {len} {dtype}: {given:#x}, not {expected:#x}"
                    );
                };
                let sum = in_parts(&mut random, &x, |x, range| x.partial_sum(range).unwrap());
                agrees(ReduceOp::Sum, &sum.finish(result_dtype(ReduceOp::Sum, dtype)).unwrap());
                let product = in_parts(&mut random, &x, |x, range| x.partial_prod(range).unwrap());
                agrees(
                    ReduceOp::Prod,
                    &product.finish(result_dtype(ReduceOp::Prod, dtype)).unwrap(),
                );
                if is_defined(ReduceOp::Mean, dtype) {
                    agrees(ReduceOp::Mean, &sum.mean(dtype).unwrap());
                }
                if is_defined(ReduceOp::Var, dtype) {
                    let mean = sum.mean(DType::F64).unwrap();
                    let squares = in_parts(&mut random, &x, |x, range| {
                        PartialSum::squares(x, &mean, .., range).unwrap()
                    });
                    agrees(ReduceOp::Var, &squares.variance(0.0, dtype).unwrap());
                    agrees(ReduceOp::Std, &squares.deviation(0.0, dtype).unwrap());
                    let corrected = download(&squares.variance(1.5, dtype).unwrap())[0];
                    let expected = variance(ReduceOp::Var, dtype, &terms, 1.5);
                    assert!(same(dtype, expected, corrected, Nan::Any), "{dtype} {len}");
                }
            }
        }
    }
}

#[test]
fn axes_layouts_and_kept_dimensions() {
    for device in devices() {
        let mut random = Random::new(77);
        let all = [DType::F16, DType::F64, DType::C64, DType::I8];
        let dtypes = if device.to_string() == "cpu" { &all[..] } else { &all[..1] };
        for &dtype in dtypes {
            let x = random_tensor(3, dtype, &[7, 4, 9], &device).permute([2, 1, 0]).unwrap();
            // The first axis is cut, and the terms are those of the first and the last, in row-major order.
            for (axes, inner) in [(&[0usize][..], 1), (&[0, 2], 7), (&[0, 1, 2], 28), (&[0, 1], 4)]
            {
                for op in [ReduceOp::Sum, ReduceOp::Prod] {
                    let whole = in_parts(&mut random, &x, |x, range| {
                        let range = range.start * inner..range.end * inner;
                        PartialSum::over(op, x, axes, range).unwrap()
                    });
                    let result = result_dtype(op, dtype);
                    let expected = reduce(op, &x, axes).run().unwrap();
                    let given = whole.finish(result).unwrap();
                    assert!(given.bits_equal(&expected).unwrap(), "{op} {dtype} {axes:?}");
                    if op == ReduceOp::Sum && is_defined(ReduceOp::Mean, dtype) {
                        let mean = reduce(ReduceOp::Mean, &x, axes).run().unwrap();
                        assert!(whole.mean(dtype).unwrap().bits_equal(&mean).unwrap(), "{axes:?}");
                    }
                    if op == ReduceOp::Sum && dtype.is_float() {
                        let mean = whole.mean(DType::F64).unwrap();
                        let squares = PartialSum::squares(&x, &mean, axes, ..).unwrap();
                        let expected = x.std(axes, 1).unwrap();
                        let given = squares.deviation(1.0, dtype).unwrap();
                        assert!(given.bits_equal(&expected).unwrap(), "{axes:?}");
                    }
                }
            }
            // No axes: every element is a result of its own.
            let own = PartialSum::over(ReduceOp::Sum, &x, [0usize; 0], ..).unwrap();
            assert_eq!((own.range(), own.mean(dtype).is_ok()), (0..1, dtype != DType::I8));
            assert_eq!(own.finish(result_dtype(ReduceOp::Sum, dtype)).unwrap().shape(), x.shape());
        }
    }
}

#[test]
fn nothing_is_neutral() {
    for device in devices() {
        let none = Tensor::zeros([0, 2], DType::F32, &device).unwrap();
        let empty = PartialSum::over(ReduceOp::Sum, &none, 0, ..).unwrap();
        assert_eq!(empty.finish(DType::F32).unwrap().to_vec::<f32>().unwrap(), [0.0, 0.0]);
        assert!(empty.mean(DType::F32).unwrap().to_vec::<f32>().unwrap()[1].is_nan());
        assert_eq!(
            none.partial_prod(..).unwrap().finish(DType::F32).unwrap().item::<f32>().unwrap(),
            1.0
        );
        let zeros = Tensor::full([3, 2], -0.0, DType::F32, &device).unwrap();
        let part = |range| PartialSum::over(ReduceOp::Sum, &zeros, 0, range).unwrap();
        // A total of nothing but -0 stays -0 beside an empty neighbour.
        let end = PartialSum::over(ReduceOp::Sum, &none, 0, 3..3).unwrap();
        for joined in [
            PartialSum::merge(empty.clone(), part(0..3)).unwrap(),
            PartialSum::merge(end, part(0..3)).unwrap(),
        ] {
            let sums = joined.finish(DType::F32).unwrap().to_vec::<f32>().unwrap();
            assert!(sums.iter().all(|sum| sum.to_bits() == (-0.0f32).to_bits()));
        }
    }
}

/// A range of fewer terms than the tensor has selects them, and cuts the sum as narrower tensors do.
#[test]
fn parts_of_one_tensor_are_its_elements() {
    for device in devices() {
        let x = random_tensor(7, DType::F32, &[9, 11], &device);
        let x = x.transpose(0, 1).unwrap();
        let whole = x.sum(..).unwrap();
        for cut in [0, 1, 37, 98, 99] {
            let parts = (x.partial_sum(0..cut).unwrap(), x.partial_sum(cut..=98).unwrap());
            assert_eq!((parts.0.range(), parts.1.range()), (0..cut, cut..99));
            let sum = PartialSum::merge(parts.1, parts.0).unwrap().finish(DType::F32).unwrap();
            assert!(sum.bits_equal(&whole).unwrap(), "cut at {cut}: {sum}, not {whole}");
        }
        let (head, tail) = (x.partial_prod(0..40).unwrap(), x.partial_prod(40..99).unwrap());
        let product = PartialSum::merge(head, tail).unwrap().finish(DType::F32).unwrap();
        assert!(product.bits_equal(&x.prod(..).unwrap()).unwrap());
        // Along an axis, and for the squares of a variance.
        let over = |range| PartialSum::over(ReduceOp::Sum, &x, 0, range).unwrap();
        let columns = PartialSum::merge(over(0..4), over(4..11)).unwrap();
        assert!(columns.finish(DType::F32).unwrap().bits_equal(&x.sum(0).unwrap()).unwrap());
        let mean = columns.mean(DType::F64).unwrap();
        let squares = |range| PartialSum::squares(&x, &mean, 0, range).unwrap();
        let variance = PartialSum::merge(squares(0..4), squares(4..11)).unwrap();
        let variance = variance.variance(1.0, DType::F32).unwrap();
        assert!(variance.bits_equal(&x.var(0, 1.0).unwrap()).unwrap());
        // A tensor with as many terms as the range is that part of a larger sum.
        let chunk = x.reshape(99).unwrap_or_else(|_| x.contiguous().unwrap().reshape(99).unwrap());
        let chunk = chunk.narrow(0, 2, 4).unwrap();
        let (chunk, part) = (chunk.partial_sum(2..6).unwrap(), x.partial_sum(2..6).unwrap());
        let first = x.partial_sum(0..2).unwrap();
        let [chunk, part] = [chunk, part]
            .map(|it| PartialSum::merge(first.clone(), it).unwrap().finish(DType::F64).unwrap());
        assert!(chunk.bits_equal(&part).unwrap());
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    devices().iter().for_each(refusals_on);
}

fn refusals_on(device: &Device) {
    let x = Tensor::from_nested([1.0f32, 2.0, 3.0], device).unwrap();
    let part = |start: usize| x.partial_sum(start..).unwrap();
    let refused = |a, b| {
        let error = PartialSum::merge(a, b).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        error.to_string()
    };
    assert_eq!(refused(part(0), part(4)), "merge: the terms 0..3 and 4..7 are not neighbours");
    assert_eq!(refused(part(2), part(0)), "merge: the terms 2..5 and 0..3 are not neighbours");
    assert_eq!(
        refused(part(0), x.partial_prod(3..).unwrap()),
        "merge: a sum in f64 of shape [] and a prod in f64 of shape [] are not parts of one reduction"
    );
    let mean = part(0).mean(DType::F64).unwrap();
    let squares = PartialSum::squares(&x, &mean, .., 3..).unwrap();
    assert!(refused(part(0), squares).contains("a squares in f64"));
    let message = |part: bitlane::Result<PartialSum>| {
        let error = part.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        error.to_string()
    };
    let wrong = |range: &str, given: usize| {
        format!(
            "partial_sum: the range {range} has {given} terms, and the tensor 3, of which it is no part"
        )
    };
    assert_eq!(message(x.partial_sum(2..4)), wrong("2..4", 2));
    #[expect(clippy::reversed_empty_ranges, reason = "it is refused")]
    let reversed = x.partial_sum(2..1);
    assert_eq!(message(reversed), wrong("2..1", 0));
    assert_eq!(message(x.partial_sum(0..=3)), wrong("0..4", 4));
    assert_eq!(message(x.partial_sum(3..5)), wrong("3..5", 2));
    assert_eq!(
        message(x.partial_sum(0..=usize::MAX)),
        wrong(&format!("0..{}", usize::MAX), usize::MAX)
    );
    assert_eq!(
        message(x.partial_sum(..2)),
        "partial_sum: the range ..2 has at most 2 terms, and the tensor 3"
    );
    assert_eq!(
        message(x.partial_sum(usize::MAX..)),
        format!("partial_sum: 3 terms from {0} on end beyond {0}", usize::MAX)
    );
    let kind = |result: bitlane::Result<Tensor>| result.unwrap_err().kind();
    assert_eq!(kind(part(3).finish(DType::F32)), ErrorKind::InvalidArgument);
    assert_eq!(kind(part(0).finish(DType::I64)), ErrorKind::InvalidArgument);
    assert_eq!(kind(part(0).variance(0.0, DType::F32)), ErrorKind::InvalidArgument);
    assert_eq!(kind(part(0).mean(DType::I32)), ErrorKind::UnsupportedDType);
    assert_eq!(kind(x.partial_prod(..).unwrap().mean(DType::F32)), ErrorKind::InvalidArgument);
    let whole = PartialSum::squares(&x, &mean, .., ..).unwrap();
    assert_eq!(kind(whole.variance(f64::NAN, DType::F32)), ErrorKind::InvalidArgument);
    let rounded = mean.cast(DType::F32).unwrap();
    let error = PartialSum::squares(&x, &rounded, .., ..).unwrap_err();
    assert!(error.to_string().contains("the unrounded f64 of shape []"), "{error}");
    let error = PartialSum::over(ReduceOp::Max, &x, .., ..).unwrap_err();
    assert_eq!(error.to_string(), "partial_sum: max is not one of sum, mean and prod");
}
