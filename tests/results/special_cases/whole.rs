//! The special cases of rounding to whole numbers, sign, square roots, reciprocals, and tests for finite numbers.

use super::Expected::{False, Is, Nan, Nearest, True};
use super::{INF, Row, is_minus_zero, is_negative, is_plus_zero, is_zero, rows};

pub const TABLES: &[(&str, &[Row])] = &[
    ("floor", FLOOR),
    ("ceil", CEIL),
    ("trunc", TRUNC),
    ("round", ROUND),
    ("sign", SIGN),
    ("sqrt", SQRT),
    ("square", SQUARE),
    ("reciprocal", RECIPROCAL),
    ("isnan", ISNAN),
    ("isinf", ISINF),
    ("isfinite", ISFINITE),
];

/// Returns whether a value is a whole number, an infinity or a zero, which rounding leaves alone.
fn is_whole(value: f64) -> bool {
    value.is_infinite() || value.trunc() == value
}

const FLOOR: &[Row] = rows! {
    "a whole number, an infinity or a zero": |x, _| is_whole(x) => Is(x),
    "-0": |x, _| is_minus_zero(x) => Is(-0.0),
    "NaN": |x, _| x.is_nan() => Nan,
    "between 0 and 1": |x, _| x > 0.0 && x < 1.0 => Is(0.0),
    "between -1 and 0": |x, _| x > -1.0 && x < 0.0 => Is(-1.0),
    "a number": |x, _| x.is_finite() => Is(x.floor()),
};

const CEIL: &[Row] = rows! {
    "a whole number, an infinity or a zero": |x, _| is_whole(x) => Is(x),
    "-0": |x, _| is_minus_zero(x) => Is(-0.0),
    "NaN": |x, _| x.is_nan() => Nan,
    "between 0 and 1": |x, _| x > 0.0 && x < 1.0 => Is(1.0),
    "between -1 and 0": |x, _| x > -1.0 && x < 0.0 => Is(-0.0),
    "a number": |x, _| x.is_finite() => Is(x.ceil()),
};

const TRUNC: &[Row] = rows! {
    "a whole number, an infinity or a zero": |x, _| is_whole(x) => Is(x),
    "-0": |x, _| is_minus_zero(x) => Is(-0.0),
    "NaN": |x, _| x.is_nan() => Nan,
    "between -1 and 0": |x, _| x > -1.0 && x < 0.0 => Is(-0.0),
    "a number": |x, _| x.is_finite() => Is(x.trunc()),
};

const ROUND: &[Row] = rows! {
    "a whole number, an infinity or a zero": |x, _| is_whole(x) => Is(x),
    "-0": |x, _| is_minus_zero(x) => Is(-0.0),
    "NaN": |x, _| x.is_nan() => Nan,
    "0.5, as close to 0 as to 1": |x, _| x == 0.5 => Is(0.0),
    "-0.5": |x, _| x == -0.5 => Is(-0.0),
    "1.5, as close to 1 as to 2": |x, _| x == 1.5 => Is(2.0),
    "a number": |x, _| x.is_finite() => Is(x.round_ties_even()),
};

const SIGN: &[Row] = rows! {
    "below 0": |x, _| x < 0.0 => Is(-1.0),
    "-0 or +0": |x, _| is_zero(x) => Is(0.0),
    "above 0": |x, _| x > 0.0 => Is(1.0),
    "NaN": |x, _| x.is_nan() => Nan,
};

const SQRT: &[Row] = rows! {
    "NaN": |x, _| x.is_nan() => Nan,
    "below 0": |x, _| x < 0.0 => Nan,
    "+0": |x, _| is_plus_zero(x) => Is(0.0),
    "-0": |x, _| is_minus_zero(x) => Is(-0.0),
    "+inf": |x, _| x == INF => Is(INF),
    "a number": |x, _| x.is_finite() && x > 0.0 => Nearest(x.sqrt()),
};

const SQUARE: &[Row] = rows! {
    "NaN": |x, _| x.is_nan() => Nan,
    "an infinity": |x, _| x.is_infinite() => Is(INF),
    "a zero": |x, _| is_zero(x) => Is(0.0),
    "a small number": |x, _| x.abs() >= 0.5 && x.abs() <= 4.0 => Nearest(x * x),
};

const RECIPROCAL: &[Row] = rows! {
    "NaN": |x, _| x.is_nan() => Nan,
    "+0": |x, _| is_plus_zero(x) => Is(INF),
    "-0": |x, _| is_minus_zero(x) => Is(-INF),
    "+inf": |x, _| x == INF => Is(0.0),
    "-inf": |x, _| x == -INF => Is(-0.0),
    "a small number": |x, _| x.abs() >= 0.5 && x.abs() <= 4.0 => Nearest(1.0 / x),
    "a negative number": |x, _| is_negative(x) && x == -2.0 => Is(-0.5),
};

const ISNAN: &[Row] = rows! {
    "NaN": |x, _| x.is_nan() => True,
    "anything else": |x, _| !x.is_nan() => False,
};

const ISINF: &[Row] = rows! {
    "an infinity": |x, _| x.is_infinite() => True,
    "anything else": |x, _| !x.is_infinite() => False,
};

const ISFINITE: &[Row] = rows! {
    "an infinity": |x, _| x.is_infinite() => False,
    "NaN": |x, _| x.is_nan() => False,
    "a number": |x, _| x.is_finite() => True,
};
