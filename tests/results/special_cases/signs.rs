//! The special cases of copysign, signbit, abs and negative.

use super::Expected::{False, Is, Nan, NegativeNan, PositiveNan, True};
use super::{INF, Row, is_minus_zero, is_negative, is_plus_zero, is_positive, rows};

pub const TABLES: &[(&str, &[Row])] =
    &[("copysign", COPYSIGN), ("signbit", SIGNBIT), ("abs", ABS), ("negative", NEGATIVE)];

const COPYSIGN: &[Row] = rows! {
    "below 0": |x, y| !x.is_nan() && y < 0.0 => Is(-x.abs()),
    "-0": |x, y| !x.is_nan() && is_minus_zero(y) => Is(-x.abs()),
    "+0": |x, y| !x.is_nan() && is_plus_zero(y) => Is(x.abs()),
    "above 0": |x, y| !x.is_nan() && y > 0.0 => Is(x.abs()),
    "a negative NaN": |x, y| !x.is_nan() && is_negative_nan(y) => Is(-x.abs()),
    "a positive NaN": |x, y| !x.is_nan() && is_positive_nan(y) => Is(x.abs()),
    "NaN with below 0": |x, y| x.is_nan() && y < 0.0 => NegativeNan,
    "NaN with -0": |x, y| x.is_nan() && is_minus_zero(y) => NegativeNan,
    "NaN with +0": |x, y| x.is_nan() && is_plus_zero(y) => PositiveNan,
    "NaN with above 0": |x, y| x.is_nan() && y > 0.0 => PositiveNan,
    "NaN with a negative NaN": |x, y| x.is_nan() && is_negative_nan(y) => NegativeNan,
    "NaN with a positive NaN": |x, y| x.is_nan() && is_positive_nan(y) => PositiveNan,
};

const SIGNBIT: &[Row] = rows! {
    "+0": |x, _| is_plus_zero(x) => False,
    "-0": |x, _| is_minus_zero(x) => True,
    "+inf": |x, _| x == INF => False,
    "-inf": |x, _| x == -INF => True,
    "positive": |x, _| is_positive(x) => False,
    "negative": |x, _| is_negative(x) => True,
    "a positive NaN": |x, _| is_positive_nan(x) => False,
    "a negative NaN": |x, _| is_negative_nan(x) => True,
};

const ABS: &[Row] = rows! {
    "NaN": |x, _| x.is_nan() => Nan,
    "-0": |x, _| is_minus_zero(x) => Is(0.0),
    "-inf": |x, _| x == -INF => Is(INF),
    "a number": |x, _| !x.is_nan() => Is(x.abs()),
};

const NEGATIVE: &[Row] = rows! {
    "a number": |x, _| !x.is_nan() => Is(-x),
    // Beyond the standard: the sign bit is flipped.
    "a positive NaN": |x, _| is_positive_nan(x) => NegativeNan,
    "a negative NaN": |x, _| is_negative_nan(x) => PositiveNan,
};

fn is_negative_nan(value: f64) -> bool {
    value.is_nan() && value.is_sign_negative()
}

fn is_positive_nan(value: f64) -> bool {
    value.is_nan() && value.is_sign_positive()
}
