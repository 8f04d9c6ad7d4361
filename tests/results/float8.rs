//! The floats of 8 bits: every value, every pair of values and the conversions, compared with the model, whose decoding and
//! encoding follow the definitions of the formats.

use crate::devices::devices;
use crate::model::element::{Bits, Nan, cast, download, encode_float, same, upload};
use crate::model::element::{Number, decode};
use crate::model::random::Random;
use crate::model::ternary::fma;
use crate::model::{ops, unary as model};
use bitlane::promote::{Kind, result_type};
use bitlane::{BinaryOp, Category, DType, Device, ErrorKind, ReduceOp, Rules, Scalar, Tensor};
use bitlane::{UnaryOp, binary, f8e4m3fn, f8e5m2, reduce, unary};

const FLOAT8: [DType; 2] = [DType::F8E4M3FN, DType::F8E5M2];

fn is_cpu(device: &Device) -> bool {
    device.to_string() == "cpu"
}

/// Every value or, on a virtual device, which takes its time, some of every sort. There the digests of `float8.jsonl` are of
/// every pair, for some operations in each run.
fn values(device: &Device) -> Vec<Bits> {
    let is_few = |bits: &Bits| matches!(bits & 0x7f, 0..4 | 7..10 | 0x37..0x3e | 0x77..0x80);
    (0..=0xff).filter(|bits| is_cpu(device) || is_few(bits)).collect()
}

/// Fails at the first element that is not the expected one.
#[track_caller]
fn expect(result: &Tensor, nan: Nan, expected: impl Iterator<Item = Bits>, what: &str) {
    let (dtype, device) = (result.dtype(), result.device());
    let given = download(result);
    let mut count = 0;
    for (place, (expected, &given)) in expected.zip(&given).enumerate() {
        count += 1;
        let is_same = same(dtype, expected, given, nan);
        assert!(is_same, "{what}, place {place}, on {device}: {given:#x}, not {expected:#x}");
    }
    assert_eq!(count, given.len());
}

#[test]
fn every_value_gives_the_nearest_result() {
    for device in devices() {
        let all: Vec<Bits> = (0..=0xff).collect();
        for dtype in FLOAT8 {
            let x = upload(dtype, &all, &[all.len()], &device);
            let mut count = 0;
            for &op in UnaryOp::ALL.iter().filter(|op| model::is_defined(**op, dtype)) {
                // The functions too: the last bit of few numbers is open to no one.
                let nan =
                    if model::freedom(op, dtype) == Nan::Exact { Nan::Exact } else { Nan::Any };
                let result = unary(op, &x).run().unwrap();
                assert_eq!(result.dtype(), model::result_dtype(op, dtype));
                let expected = all.iter().map(|&x| model::apply(op, dtype, x));
                expect(&result, nan, expected, &format!("{op} of {dtype}"));
                count += 1;
            }
            assert_eq!(count, 34, "{dtype}");
        }
    }
}

#[test]
fn every_pair_gives_the_nearest_result() {
    for device in devices() {
        let all = values(&device);
        let shape = [all.len(), all.len()];
        for dtype in FLOAT8 {
            let column = upload(dtype, &all, &[all.len(), 1], &device);
            let row = upload(dtype, &all, &[all.len()], &device);
            let mut count = 0;
            for &op in BinaryOp::ALL.iter().filter(|op| ops::is_defined(**op, dtype)) {
                let nan = ops::nan_freedom(op);
                let expected: Vec<Bits> = all
                    .iter()
                    .flat_map(|&x| all.iter().map(move |&y| ops::apply(op, dtype, x, y)))
                    .collect();
                let result = binary(op, &column, &row).run().unwrap();
                assert_eq!(result.dtype(), ops::result_dtype(op, dtype));
                expect(&result, nan, expected.iter().copied(), &format!("{op} of {dtype}"));
                if is_cpu(&device) {
                    let dense = |t: &Tensor| t.broadcast_to(shape).unwrap().contiguous().unwrap();
                    let result = binary(op, dense(&column), dense(&row)).run().unwrap();
                    expect(&result, nan, expected.into_iter(), &format!("{op} of dense {dtype}"));
                }
                count += 1;
            }
            assert_eq!(count, 25, "{dtype}");
        }
    }
}

/// Numbers of a float dtype at, next to and between those of 8 bits, too large ones, and others anywhere.
fn near_ties(from: DType, to: DType) -> Vec<Bits> {
    let finite = |bits: &Bits| matches!(decode(to, *bits), Number::Finite { .. });
    let numbers: Vec<Bits> = (0..0x80).filter(finite).map(|bits| cast(to, from, bits)).collect();
    let value = |bits: Bits| f64::from_bits(cast(from, DType::F64, bits) as u64);
    let middle = |pair: &[Bits]| {
        let middle = (value(pair[0]) + value(pair[1])) / 2.0;
        cast(DType::F64, from, middle.to_bits().into())
    };
    let last = value(numbers[numbers.len() - 1]);
    let beyond = [33.0 / 32.0, 17.0 / 16.0, 9.0 / 8.0, 5.0 / 4.0, 2.0, 1e6]
        .map(|factor| cast(DType::F64, from, (last * factor).to_bits().into()));
    let ends = [Number::Infinite { negative: false }, Number::Nan { negative: false }];
    let ends = ends.map(|number| encode_float(from, number));
    let ties: Vec<Bits> = numbers.windows(2).map(middle).collect();
    let sign = 1 << (from.bits() - 1);
    let near = |&bits: &Bits| [bits, bits + 1, bits.saturating_sub(1)];
    let mut all: Vec<Bits> = numbers.iter().chain(&ties).chain(&beyond).flat_map(near).collect();
    all.extend(ends);
    all.extend(all.clone().iter().map(|bits| bits | sign));
    all.extend(Random::new(from as u64).elements(from, 5000));
    all
}

/// What is converted from one dtype to another.
fn sources(from: DType, to: DType) -> Vec<Bits> {
    match from {
        DType::Bool => vec![0, 1],
        _ if from.size() == 1 => (0..=0xff).collect(),
        DType::F16 | DType::BF16 | DType::U16 | DType::I16 => (0..=0xffff).collect(),
        DType::F32 | DType::F64 => near_ties(from, to),
        _ => {
            let mut all = Random::new(from as u64).elements(from, 2000);
            all.extend((0..70_000).step_by(7).filter(|_| from.is_int()));
            all
        }
    }
}

#[test]
fn every_conversion_rounds_once() {
    for device in devices() {
        for dtype in FLOAT8 {
            for &other in DType::ALL {
                for (from, to) in [(dtype, other), (other, dtype)] {
                    let elements = sources(from, dtype);
                    let x = upload(from, &elements, &[elements.len()], &device);
                    let nan = if from == to { Nan::Exact } else { Nan::SameSign };
                    let what = format!("{from} as {to}");
                    let expected = |number: fn(Bits) -> Bits| {
                        elements.iter().map(move |&x| cast(from, to, number(x)))
                    };
                    expect(&x.cast(to).unwrap(), nan, expected(|x| x), &what);
                    if !is_cpu(&device) && !matches!(other, DType::F16 | DType::F64) {
                        continue;
                    }
                    // One element for all, and as a step among others.
                    let first = x.narrow(0, 0, 1).unwrap().broadcast_to([9]).unwrap();
                    let same = std::iter::repeat_n(cast(from, to, elements[0]), 9);
                    expect(&first.cast(to).unwrap(), nan, same, &what);
                    let there_and_back = x.expr().cast(to).cast(from).cast(to).run().unwrap();
                    let twice =
                        elements.iter().map(|&x| cast(from, to, cast(to, from, cast(from, to, x))));
                    expect(&there_and_back, nan, twice, &format!("{what} and back"));
                }
            }
        }
    }
}

/// Limits a value to the largest finite ones of a dtype, and converts it.
fn saturated(from: DType, to: DType, bits: Bits) -> Bits {
    let converted = cast(from, to, bits);
    let largest: Bits = match to {
        DType::F8E4M3FN => 0x7e,
        DType::F8E5M2 => 0x7b,
        DType::F16 => 0x7bff,
        DType::BF16 => 0x7f7f,
        DType::F32 => 0x7f7f_ffff,
        DType::F64 => 0x7fef_ffff_ffff_ffff,
        _ => return converted,
    };
    let source = if from.is_complex() { cast(from, DType::F64, bits) } else { bits };
    let source_dtype = if from.is_complex() { DType::F64 } else { from };
    if matches!(decode(source_dtype, source), Number::Nan { .. }) {
        return converted;
    }
    match decode(to, converted) {
        Number::Infinite { negative } | Number::Nan { negative } => {
            largest | Bits::from(negative) << (to.bits() - 1)
        }
        Number::Finite { .. } => converted,
    }
}

#[test]
fn saturating_conversions_give_the_largest_number() {
    for device in devices() {
        for &to in DType::ALL {
            for &from in DType::ALL {
                let is_float = to.is_float() && (from.is_float() || to.size() <= 2);
                // Each pair of dtypes is a kernel of its own.
                let few = [DType::F64, DType::F32, DType::F16, DType::I32, DType::F8E5M2];
                let is_tried = FLOAT8.contains(&to) && few.contains(&from);
                if !is_cpu(&device) && !is_tried {
                    continue;
                }
                let target = if to == DType::F8E5M2 { to } else { DType::F8E4M3FN };
                let elements = sources(from, target);
                let x = upload(from, &elements, &[elements.len()], &device);
                let result = x.cast_saturating(to);
                let what = format!("{from} as {to}, saturating");
                if to.is_complex() {
                    assert_eq!(result.unwrap_err().kind(), ErrorKind::UnsupportedDType, "{what}");
                    continue;
                }
                let result = result.unwrap();
                let nan = if from.is_float() && to == from { Nan::Any } else { Nan::SameSign };
                if is_float || !(from.is_int() && to.is_int()) {
                    let expected = elements.iter().map(|&x| saturated(from, to, x));
                    expect(&result, nan, expected, &what);
                } else {
                    let low = if to.is_signed_int() { -(1i128 << (to.bits() - 1)) } else { 0 };
                    let high = low + (1 << to.bits()) - 1;
                    let limited = |&x: &Bits| {
                        let value = crate::model::element::integer(from, x).clamp(low, high);
                        crate::model::element::wrapped(to, value)
                    };
                    expect(&result, nan, elements.iter().map(limited), &what);
                }
                let steps = x.expr().cast_saturating(to).run().unwrap();
                assert!(steps.bits_equal(&result).unwrap(), "{what}, as a step");
            }
        }
    }
}

#[test]
fn the_largest_numbers_of_the_formats() {
    for device in devices() {
        let x = [0.0f32, 448.0, 464.0, 465.0, 61439.0, 61440.0, f32::INFINITY, -500.0, f32::NAN];
        let x = Tensor::from_slice(&x, [9], &device).unwrap();
        let bits = |t: bitlane::Result<Tensor>| {
            t.unwrap().bitcast(DType::U8).unwrap().to_vec::<u8>().unwrap()
        };
        let [e4m3fn, e5m2] = FLOAT8;
        assert_eq!(bits(x.cast(e4m3fn)), [0, 0x7e, 0x7e, 0x7f, 0x7f, 0x7f, 0x7f, 0xff, 0x7f]);
        assert_eq!(bits(x.cast(e5m2)), [0, 0x5f, 0x5f, 0x5f, 0x7b, 0x7c, 0x7c, 0xe0, 0x7e]);
        let saturated = [0, 0x7e, 0x7e, 0x7e, 0x7e, 0x7e, 0x7e, 0xfe, 0x7f];
        assert_eq!(bits(x.cast_saturating(e4m3fn)), saturated);
        let saturated = [0, 0x5f, 0x5f, 0x5f, 0x7b, 0x7b, 0x7b, 0xe0, 0x7e];
        assert_eq!(bits(x.cast_saturating(e5m2)), saturated);
    }
}

#[test]
fn fma_of_narrow_floats_rounds_once() {
    for device in devices() {
        for dtype in FLOAT8 {
            let mut random = Random::new(dtype as u64);
            let count = if is_cpu(&device) { 200_000 } else { 2_000 };
            let mut triples: [Vec<Bits>; 3] = Default::default();
            for _ in 0..count {
                triples.iter_mut().for_each(|all| all.push(random.below(256) as Bits));
            }
            // 36864 is halfway between two `f8e5m2`; the smallest number decides, which an `f32` would lose.
            let number = |value: f64| cast(DType::F64, dtype, value.to_bits().into());
            for (all, bits) in triples.iter_mut().zip([number(192.0), number(192.0), 1]) {
                all.extend([bits, bits]);
            }
            triples[2][count] |= 0x80;
            let [x, y, z] = [0, 1, 2].map(|k| upload(dtype, &triples[k], &[count + 2], &device));
            let expected =
                (0..count + 2).map(|k| fma(dtype, [0, 1, 2].map(|side| triples[side][k])));
            expect(&x.fma(&y, &z).unwrap(), Nan::Any, expected, &format!("fma of {dtype}"));
        }
    }
}

#[test]
fn reductions_round_the_exact_total_once() {
    for device in devices() {
        for (dtype, one, tiny) in [(FLOAT8[0], 16.0, 0.25), (FLOAT8[1], 8.0, 0.25)] {
            // The terms are exact in f64. Rounding each partial sum would leave the first term as it is.
            let mut terms = vec![one];
            terms.resize(1001, tiny);
            let x = Tensor::from_slice(&terms, [1001], &device).unwrap().cast(dtype).unwrap();
            let item = |t: Tensor| t.cast(DType::F64).unwrap().item::<f64>().unwrap();
            let nearest = |value: f64| {
                let bits = cast(DType::F64, dtype, value.to_bits().into());
                f64::from_bits(cast(dtype, DType::F64, bits) as u64)
            };
            let sum = one + 250.0;
            assert_eq!(x.sum(..).unwrap().dtype(), dtype);
            assert_eq!(item(x.sum(..).unwrap()), nearest(sum));
            assert_eq!(item(x.mean(..).unwrap()), nearest(sum / 1001.0));
            assert_eq!(item(x.max(..).unwrap()), one);
            assert_eq!(item(x.min(0).unwrap()), tiny);
            assert_eq!(x.argmin(..).unwrap().item::<i64>().unwrap(), 1);
            let wide = reduce(ReduceOp::Sum, &x, ..).dtype(DType::F32).run().unwrap();
            assert_eq!(wide.item::<f32>().unwrap(), sum as f32);
            // The other way round, the terms are rounded to 8 bits first.
            let rough = Tensor::full([100], 1.05, DType::F32, &device).unwrap();
            let sum = reduce(ReduceOp::Sum, &rough, ..).dtype(dtype).run().unwrap();
            assert_eq!((sum.dtype(), item(sum)), (dtype, nearest(100.0)));
            let totals = x.cumulative_sum(0).unwrap();
            assert_eq!(totals.dtype(), dtype);
            assert_eq!(item(totals.narrow(0, 1000, 1).unwrap()), nearest(one + 250.0));
        }
    }
}

/// A gradient is summed where its operand was broadcast.
#[test]
fn gradients_are_sums_too() {
    for device in devices() {
        for dtype in FLOAT8 {
            let x = Tensor::full([1], -1, dtype, &device).unwrap();
            let y = Tensor::ones([300], dtype, &device).unwrap();
            let g = Tensor::full([300], 0.25, dtype, &device).unwrap();
            let (gx, gy) = x.copysign_grad(&y, &g).unwrap();
            assert_eq!((gx.dtype(), gx.shape(), gy.dtype()), (dtype, &[1][..], dtype));
            let gx = gx.cast(DType::F32).unwrap().item::<f32>().unwrap();
            // 75 is between 72 and 80, or between 64 and 80.
            assert_eq!(gx, if dtype == DType::F8E4M3FN { -72.0 } else { -80.0 });
        }
    }
}

#[test]
fn promotion_is_with_numbers_alone() {
    let add =
        |lhs, rhs, rules| result_type(BinaryOp::Add, lhs, rhs, rules).map_err(|error| error.kind());
    let refused = Err(ErrorKind::Promotion);
    for dtype in FLOAT8 {
        for &rules in Rules::ALL {
            for (category, expected) in [
                (Category::Bool, Ok(dtype)),
                (Category::Int, Ok(dtype)),
                (Category::Float, Ok(dtype)),
                (Category::Complex, refused),
            ] {
                for kind in [Kind::tensor(dtype), Kind::zero_d(dtype)] {
                    assert_eq!(add(kind, Kind::Scalar(category), rules), expected, "{rules}");
                    assert_eq!(add(Kind::Scalar(category), kind, rules), expected, "{rules}");
                }
            }
            for &other in DType::ALL {
                let is_whole = other.is_int() || other == DType::Bool;
                let is_known = other == dtype || (rules == Rules::Jax && is_whole);
                let expected = if is_known { Ok(dtype) } else { refused };
                let (t, z) = (Kind::tensor, Kind::zero_d);
                for (lhs, rhs) in [(t(dtype), t(other)), (z(dtype), z(other))] {
                    assert_eq!(add(lhs, rhs, rules), expected, "{lhs} {rhs} {rules}");
                    assert_eq!(add(rhs, lhs, rules), expected, "{rhs} {lhs} {rules}");
                }
                // Torch's tensors without dimensions yield as numbers do.
                let torch = rules == Rules::Torch;
                let weak = if torch && !other.is_complex() { Ok(dtype) } else { expected };
                assert_eq!(add(t(dtype), z(other), rules), weak, "{other} {rules}");
                let strong = if torch && !is_whole { Ok(other) } else { expected };
                assert_eq!(add(z(dtype), t(other), rules), strong, "{other} {rules}");
            }
            let divided = result_type(
                BinaryOp::Divide,
                Kind::tensor(dtype),
                Kind::Scalar(Category::Int),
                rules,
            );
            assert_eq!(divided.unwrap(), dtype);
        }
    }
}

#[test]
fn elements_numbers_and_words() {
    for device in devices() {
        let numbers = [1.5, -0.0, 448.0, f32::NAN].map(f8e4m3fn::from_f32);
        let x = Tensor::from_slice(&numbers, [4], &device).unwrap();
        assert_eq!((x.dtype(), x.dtype().size()), (DType::F8E4M3FN, 1));
        let back = x.to_vec::<f8e4m3fn>().unwrap();
        assert_eq!(back.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), [0x3c, 0x80, 0x7e, 0x7f]);
        let doubled = (&x * 2).unwrap();
        assert_eq!(doubled.get::<f8e4m3fn>([0]).unwrap().to_f32(), 3.0);
        assert!(doubled.get::<f8e4m3fn>([2]).unwrap().is_nan());
        // A number is rounded to the dtype before the operation runs.
        let sum = (&x + 1.03).unwrap();
        assert_eq!(sum.get::<f8e4m3fn>([0]).unwrap().to_f32(), 2.5);
        assert_eq!(Scalar::from(f8e5m2::MAX), Scalar::Float(57344.0));
        let number = (&x + f8e4m3fn::ONE).unwrap();
        assert_eq!(number.get::<f8e4m3fn>([1]).unwrap(), f8e4m3fn::ONE);
        let text = Tensor::from_slice(&[0.5, 448.0, -3.5].map(f8e4m3fn::from_f64), [3], &device);
        let text = text.unwrap().to_string();
        assert!(text.starts_with("[  0.5 450.   -3.5]\n"), "{text}");
        let wide = [0.25, 57344.0, f64::NEG_INFINITY].map(f8e5m2::from_f64);
        let text = Tensor::from_slice(&wide, [3], &device).unwrap().to_string();
        assert!(text.starts_with("[2.5e-01 6.0e+04    -inf]\n"), "{text}");
        for dtype in FLOAT8 {
            assert_eq!(dtype.to_string().parse::<DType>().unwrap(), dtype);
            let ones = Tensor::ones([3], dtype, &device).unwrap();
            assert!(ones.bits_equal(&Tensor::full([3], 1, dtype, &device).unwrap()).unwrap());
            let bytes = ones.bitcast(DType::I8).unwrap();
            assert!(
                bytes.shares_storage(&ones)
                    && bytes.bitcast(dtype).unwrap().bits_equal(&ones).unwrap()
            );
            let halves = ones.narrow(0, 0, 2).unwrap().bitcast(DType::U16).unwrap();
            assert_eq!(halves.shape(), [1]);
        }
    }
}
