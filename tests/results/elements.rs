//! Every kernel on every pair of edge values, compared with the definition for one element. An operation that lacks a
//! kernel for a dtype in its domain fails here, on the device that lacks it.

use crate::devices::devices;
use crate::model::element::{
    Bits, Nan, Number, cast, decode, download, edge_values, float_format, from_parts, part_dtype,
    same, upload,
};
use crate::model::ops::{apply, freedom, is_defined, result_dtype};
use bitlane::{BinaryOp, DType, Device, ErrorKind, Tensor, binary};

/// Fails at the first element that differs from the expected one.
fn expect(result: &Tensor, expected: &[Bits], nan: Nan, what: impl Fn(usize) -> String) {
    let given = download(result);
    assert_eq!(given.len(), expected.len(), "{}", what(0));
    for (index, (&expected, &given)) in expected.iter().zip(&given).enumerate() {
        assert!(
            same(result.dtype(), expected, given, nan),
            "{} gives {given:#x} on {}, not {expected:#x}",
            what(index),
            result.device()
        );
    }
}

/// Runs an operation on the same pairs in every form that a loop can take.
fn every_form(op: BinaryOp, dtype: DType, device: &Device) {
    let edges = edge_values(dtype);
    let count = edges.len();
    let (rows, columns): (Vec<_>, Vec<_>) =
        edges.iter().flat_map(|&x| edges.iter().map(move |&y| (x, y))).unzip();
    let expected: Vec<_> =
        rows.iter().zip(&columns).map(|(&x, &y)| apply(op, dtype, x, y)).collect();
    let nan = freedom(op);
    let what = |form: &'static str| {
        let (rows, columns) = (&rows, &columns);
        move |at: usize| format!("{op} of {dtype} {:#x} and {:#x}, {form},", rows[at], columns[at])
    };
    let run = |x: &Tensor, y: &Tensor| {
        binary(op, x, y).run().unwrap_or_else(|error| panic!("no kernel on {device}: {error}"))
    };
    let shape = [count, count];
    let (x, y) = (upload(dtype, &rows, &shape, device), upload(dtype, &columns, &shape, device));
    let result = run(&x, &y);
    assert_eq!(result.dtype(), result_dtype(op, dtype));
    expect(&result, &expected, nan, what("dense"));

    let column = upload(dtype, &edges, &[count, 1], device);
    let row = upload(dtype, &edges, &[count], device);
    expect(&run(&column, &row), &expected, nan, what("a column and a row"));
    expect(&run(&x, &row), &expected, nan, what("dense and a row"));
    expect(&run(&column, &y), &expected, nan, what("a column and dense"));

    let (turned, down) = (x.transpose(0, 1).unwrap(), y.transpose(0, 1).unwrap());
    let result = run(&turned, &down);
    expect(&result.transpose(0, 1).unwrap(), &expected, nan, what("transposed"));
    let result = run(&x.flip(1).unwrap(), &y.flip(1).unwrap());
    expect(&result.flip(1).unwrap(), &expected, nan, what("backwards"));

    let mut out = upload(result_dtype(op, dtype), &vec![0; count * count], &shape, device);
    binary(op, turned.transpose(0, 1).unwrap(), &y).out(&mut out).run().unwrap();
    expect(&out, &expected, nan, what("into a destination"));
    if result_dtype(op, dtype) == dtype {
        let mut place = x.contiguous().unwrap();
        binary(op, place.clone(), &y).out(&mut place).run().unwrap();
        expect(&x, &expected, nan, what("in place"));
    }
}

/// How many operations are defined for how many dtypes (docs/semantics.md), as (operations, dtypes, which). Counted by
/// hand, so that a pair that the model leaves out, and that would therefore not be tested, is noticed.
const DEFINED: [(usize, usize, &str); 8] = [
    (6, 8, "shifts and rotations: integers"),
    (3, 9, "bitwise operations: bool and integers"),
    (7, 17, "add, multiply, equal, not_equal and logical operations: all"),
    (1, 16, "subtract: all but bool"),
    (9, 15, "copysign, orderings, maxima and minima: all but complex numbers"),
    (3, 14, "floor_divide, remainder and pow: integers and floats"),
    (1, 8, "divide: floats and complex numbers"),
    (4, 6, "logaddexp, nextafter, atan2 and hypot: floats"),
];

#[test]
fn every_operation_has_a_kernel_for_every_dtype_of_its_domain() {
    let operations: usize = DEFINED.iter().map(|(ops, ..)| ops).sum();
    assert_eq!(operations, BinaryOp::ALL.len());
    for device in devices() {
        let mut kernels = 0;
        for &op in BinaryOp::ALL {
            for &dtype in DType::ALL {
                if is_defined(op, dtype) {
                    kernels += 1;
                    every_form(op, dtype, &device);
                    continue;
                }
                let x = Tensor::zeros([2], dtype, &device).unwrap();
                // Some are computed in floats, and are therefore defined for dtypes that convert to one.
                let becomes = match op {
                    BinaryOp::Divide | BinaryOp::LogAddExp | BinaryOp::Hypot => Some(DType::F32),
                    BinaryOp::Atan2 => Some(DType::F64),
                    _ => None,
                };
                match binary(op, &x, &x).run() {
                    Ok(result) => assert_eq!(Some(result.dtype()), becomes, "{op} {dtype}"),
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::UnsupportedDType, "{op} {dtype}")
                    }
                }
            }
        }
        println!("{device}: {kernels} pairs of operation and dtype");
        assert_eq!(kernels, DEFINED.iter().map(|(ops, dtypes, _)| ops * dtypes).sum::<usize>());
    }
}

#[test]
fn every_dtype_casts_to_every_other_with_one_rounding() {
    for device in devices() {
        for &from in DType::ALL {
            let mut values = edge_values(from);
            values.extend(rounding_cases(from));
            let x = upload(from, &values, &[values.len()], &device);
            for &to in DType::ALL {
                let expected: Vec<_> = values.iter().map(|&bits| cast(from, to, bits)).collect();
                let nan = if from == to { Nan::Exact } else { Nan::SameSign };
                let what = |at: usize| format!("{from} {:#x} cast to {to}", values[at]);
                expect(&x.cast(to).unwrap(), &expected, nan, what);
                let backwards = x.flip(0).unwrap().cast(to).unwrap().flip(0).unwrap();
                expect(&backwards, &expected, nan, what);
            }
        }
    }
}

/// Returns values at and next to the midpoints between adjacent numbers of every narrower float, where rounding in two
/// steps goes wrong.
fn rounding_cases(from: DType) -> Vec<Bits> {
    let narrower = [DType::F16, DType::BF16, DType::F32];
    let mut cases = Vec::new();
    if from.is_int() {
        for width in narrower.map(|to| float_format(to).unwrap().1) {
            // 1.0…01 in binary: the bit after the mantissa is set, and possibly another one far behind it.
            for top in width + 2..from.bits() - 1 {
                let tie = (1u128 << top) | 1 << (top - width - 1);
                cases.extend([tie - 1, tie, tie + 1, tie + (1 << (top - width))]);
            }
        }
        let mask = (1u128 << from.bits()) - 1;
        let negative: Vec<_> = cases.iter().map(|&case| case.wrapping_neg() & mask).collect();
        cases.extend(negative);
    } else if from.is_float() {
        let own = float_format(from).unwrap().1;
        for (to, (_, width)) in narrower.map(|to| (to, float_format(to).unwrap())) {
            let Some(spare) = own.checked_sub(width + 1) else { continue };
            for start in edge_values(to) {
                let wide = cast(to, from, start);
                cases.extend([wide | 1 << spare, wide | 1 << spare | 1]);
                cases.extend([(wide | 1 << spare) - 1, wide | 3 << spare]);
            }
        }
        // Only numbers are converted here; NaNs are among the edge values.
        cases.retain(|&bits| !matches!(decode(from, bits), Number::Nan { .. }));
    } else if from.is_complex() {
        let part = part_dtype(from);
        return rounding_cases(part).iter().map(|&re| from_parts(from, re, re)).collect();
    }
    cases
}
