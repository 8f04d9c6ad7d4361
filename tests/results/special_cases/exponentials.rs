//! The special cases of exponentials, logarithms and hyperbolic functions.

use super::Expected::{Is, Nan};
use super::{INF, Row, is_minus_zero, is_plus_zero, is_zero, rows};

pub const TABLES: &[(&str, &[Row])] = &[
    ("exp", EXP),
    ("exp2", EXP),
    ("expm1", EXPM1),
    ("log", LOG),
    ("log2", LOG),
    ("log10", LOG),
    ("log1p", LOG1P),
    ("sinh", SINH),
    ("cosh", COSH),
    ("tanh", TANH),
    ("asinh", SINH),
    ("acosh", ACOSH),
    ("atanh", ATANH),
];

/// Also those of the power of two.
const EXP: &[Row] = rows! {
    "NaN": |x, _| x.is_nan() => Nan,
    "+0": |x, _| is_plus_zero(x) => Is(1.0),
    "-0": |x, _| is_minus_zero(x) => Is(1.0),
    "+inf": |x, _| x == INF => Is(INF),
    "-inf": |x, _| x == -INF => Is(0.0),
};

const EXPM1: &[Row] = rows! {
    "NaN": |x, _| x.is_nan() => Nan,
    "+0": |x, _| is_plus_zero(x) => Is(0.0),
    "-0": |x, _| is_minus_zero(x) => Is(-0.0),
    "+inf": |x, _| x == INF => Is(INF),
    "-inf": |x, _| x == -INF => Is(-1.0),
};

/// Those of the logarithm to any base.
const LOG: &[Row] = rows! {
    "NaN": |x, _| x.is_nan() => Nan,
    "below 0": |x, _| x < 0.0 => Nan,
    "±0": |x, _| is_zero(x) => Is(-INF),
    "1": |x, _| x == 1.0 => Is(0.0),
    "+inf": |x, _| x == INF => Is(INF),
};

const LOG1P: &[Row] = rows! {
    "NaN": |x, _| x.is_nan() => Nan,
    "below -1": |x, _| x < -1.0 => Nan,
    "-1": |x, _| x == -1.0 => Is(-INF),
    "-0": |x, _| is_minus_zero(x) => Is(-0.0),
    "+0": |x, _| is_plus_zero(x) => Is(0.0),
    "+inf": |x, _| x == INF => Is(INF),
};

/// Also those of its inverse.
const SINH: &[Row] = rows! {
    "NaN": |x, _| x.is_nan() => Nan,
    "+0": |x, _| is_plus_zero(x) => Is(0.0),
    "-0": |x, _| is_minus_zero(x) => Is(-0.0),
    "±inf": |x, _| x.abs() == INF => Is(x),
};

const COSH: &[Row] = rows! {
    "NaN": |x, _| x.is_nan() => Nan,
    "±0": |x, _| is_zero(x) => Is(1.0),
    "±inf": |x, _| x.abs() == INF => Is(INF),
};

const TANH: &[Row] = rows! {
    "NaN": |x, _| x.is_nan() => Nan,
    "+0": |x, _| is_plus_zero(x) => Is(0.0),
    "-0": |x, _| is_minus_zero(x) => Is(-0.0),
    "±inf": |x, _| x.abs() == INF => Is(x.signum()),
};

const ACOSH: &[Row] = rows! {
    "NaN": |x, _| x.is_nan() => Nan,
    "below 1": |x, _| x < 1.0 => Nan,
    "1": |x, _| x == 1.0 => Is(0.0),
    "+inf": |x, _| x == INF => Is(INF),
};

const ATANH: &[Row] = rows! {
    "NaN": |x, _| x.is_nan() => Nan,
    "below -1": |x, _| x < -1.0 => Nan,
    "above 1": |x, _| x > 1.0 => Nan,
    "±1": |x, _| x.abs() == 1.0 => Is(x * INF),
    "+0": |x, _| is_plus_zero(x) => Is(0.0),
    "-0": |x, _| is_minus_zero(x) => Is(-0.0),
};
