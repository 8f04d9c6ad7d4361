//! The functions whose last place the model leaves open: pow, atan2, hypot, logaddexp (docs/semantics.md, section 7).
//!
//! The standard library's `f64` functions stand in for the exact ones. Their error is below one unit in the last place,
//! so f64 results must be within two units, and those of narrower dtypes within one: see
//! [`Nan::Near`](super::element::Nan).

use bitlane::{BinaryOp, DType};

use super::element::{Bits, Nan, Number, cast, decode, encode_float, part_dtype, parts};
use super::modular::nextafter;

/// Returns the exact value of a float of any dtype.
pub fn value(dtype: DType, bits: Bits) -> f64 {
    f64::from_bits(cast(dtype, DType::F64, bits) as u64)
}

/// Returns the element nearest to an `f64`.
pub fn nearest(dtype: DType, value: f64) -> Bits {
    cast(DType::F64, dtype, value.to_bits().into())
}

/// Returns the result of a function for two elements of a float dtype, up to the last place. Floats of 8 bits have the
/// result of `f32`, rounded.
pub fn function(op: BinaryOp, dtype: DType, x: Bits, y: Bits) -> Bits {
    if dtype.size() == 1 {
        let [x, y] = [x, y].map(|bits| cast(dtype, DType::F32, bits));
        return cast(DType::F32, dtype, function(op, DType::F32, x, y));
    }
    let [a, b] = [x, y].map(|bits| value(dtype, bits));
    let result = match op {
        // Explicit, because C libraries treat signalling NaNs differently.
        BinaryOp::Pow if b == 0.0 || a == 1.0 => 1.0,
        BinaryOp::Pow => a.powf(b),
        BinaryOp::Atan2 => a.atan2(b),
        // Explicit for the same reason: an infinity wins over any NaN.
        BinaryOp::Hypot if a.is_infinite() || b.is_infinite() => f64::INFINITY,
        BinaryOp::Hypot => a.hypot(b),
        _ => logaddexp(a, b),
    };
    nearest(dtype, result)
}

pub fn logaddexp(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() {
        return f64::NAN;
    }
    let (low, high) = if x < y { (x, y) } else { (y, x) };
    // With infinities the sum is not needed, and the difference could be NaN.
    if high.is_infinite() { high } else { high + (low - high).exp().ln_1p() }
}

/// Returns whether two floats differ by at most `units` in the last place of the larger one, or of `floor` if both are
/// smaller. Both may be infinite, and the largest number is adjacent to infinity.
pub fn is_near(dtype: DType, expected: Bits, given: Bits, units: u64, floor: f64) -> bool {
    let nan = |bits| matches!(decode(dtype, bits), Number::Nan { .. });
    if nan(expected) || nan(given) {
        return nan(expected) && nan(given);
    }
    let sign = 1 << (dtype.bits() - 1);
    if (expected ^ given) & sign == 0 && expected.abs_diff(given) <= units.into() {
        // A zero must have the right sign, and only the adjacent number is near it.
        return true;
    }
    let [expected, given] = [expected, given].map(|bits| value(dtype, bits));
    let unit = value(dtype, nearest(dtype, floor) + 1) - value(dtype, nearest(dtype, floor));
    floor > 0.0 && (expected - given).abs() <= units as f64 * unit
}

/// Returns whether `given` is what a float near `expected`, as [`same`](super::element::same) has it, is converted to.
/// Conversions keep the order of numbers, so those of the ends of what is near bound it.
pub fn is_conversion_of_near(
    from: DType,
    expected: Bits,
    nan: Nan,
    to: DType,
    given: Bits,
) -> bool {
    if to.is_complex() {
        let (part, (re, im)) = (part_dtype(to), parts(to, given));
        return im == 0 && is_conversion_of_near(from, expected, nan, part, re);
    }
    // What is too large for a dtype without infinities becomes a NaN of the same sign.
    let converted = |bits: Bits| match decode(to, bits) {
        Number::Nan { negative } if to == DType::F8E4M3FN => {
            if negative {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            }
        }
        _ => value(to, bits),
    };
    let center = value(from, expected);
    if center.is_nan() {
        return value(to, given).is_nan();
    }
    let given = converted(given);
    if given.is_nan() {
        return false;
    }
    let floor = if nan == Nan::NearSum { 0.5 } else { 0.0 };
    let last = if from == DType::F8E4M3FN { 448.0 } else { f64::INFINITY };
    let end = |up: bool| {
        let mut bits = nearest(from, center);
        for _ in 0..units(from) {
            bits = nextafter(from, bits, nearest(from, if up { last } else { -last }));
        }
        let unit = value(from, nearest(from, floor) + 1) - value(from, nearest(from, floor));
        let apart = if floor > 0.0 { units(from) as f64 * unit } else { 0.0 };
        let wide = if up { center + apart } else { center - apart };
        let end = if up { wide.max(value(from, bits)) } else { wide.min(value(from, bits)) };
        converted(cast(DType::F64, to, end.to_bits().into()))
    };
    // Only a sum may have another sign: a zero has the right one otherwise.
    let has_sign = nan == Nan::NearSum || center.is_sign_negative() == given.is_sign_negative();
    has_sign && (end(false)..=end(true)).contains(&given)
}

/// Returns how many units in the last place a function may differ from the model.
pub fn units(dtype: DType) -> u64 {
    if dtype == DType::F64 { 2 } else { 1 }
}

#[test]
fn near_means_near() {
    let one = nearest(DType::F32, 1.0);
    assert!(is_near(DType::F32, one, one + 1, 1, 0.0));
    assert!(!is_near(DType::F32, one, one + 2, 1, 0.0));
    assert!(!is_near(DType::F32, 0, 1 << 31, 1, 0.0));
    assert!(!is_near(
        DType::F32,
        one,
        encode_float(DType::F32, Number::Nan { negative: false }),
        9,
        9.0
    ));
    // What is rounded away by a conversion is not seen, and what is not is bounded.
    let is_half = |given: f64| {
        let given = nearest(DType::F16, given);
        is_conversion_of_near(DType::F32, one, Nan::Near, DType::F16, given)
    };
    assert!(is_half(1.0) && !is_half(1.001) && !is_half(-1.0) && !is_half(f64::NAN));
    let is_wide = |units: i64| {
        let given = 1.0 + units as f64 * f64::from(f32::EPSILON) / 2.0;
        is_conversion_of_near(DType::F32, one, Nan::Near, DType::F64, given.to_bits().into())
    };
    assert!(is_wide(0) && is_wide(2) && is_wide(-1) && !is_wide(3) && !is_wide(-2));
    // Near zero the floor counts.
    assert!(is_near(DType::F32, nearest(DType::F32, 1e-9), nearest(DType::F32, -1e-9), 1, 0.5));
    assert!(!is_near(DType::F32, nearest(DType::F32, 1e-6), nearest(DType::F32, -1e-6), 1, 0.5));
    assert_eq!(logaddexp(f64::NEG_INFINITY, f64::NEG_INFINITY), f64::NEG_INFINITY);
    assert_eq!(logaddexp(0.0, 0.0), std::f64::consts::LN_2);
}
