//! The special cases of pow, of angles, of logaddexp and of nextafter.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

use super::Expected::{About, Is, Nan, Nearest};
use super::{
    INF, Row, is_minus_zero, is_negative, is_plain, is_plus_zero, is_positive, is_zero, rows,
};

pub const TABLES: &[(&str, &[Row])] = &[
    ("pow", POW),
    ("atan2", ATAN2),
    ("hypot", HYPOT),
    ("logaddexp", LOGADDEXP),
    ("nextafter", NEXTAFTER),
    ("sin", SIN),
    ("cos", COS),
    ("tan", SIN),
    ("asin", ASIN),
    ("acos", ACOS),
    ("atan", ATAN),
];

const POW: &[Row] = rows! {
    "not 1 to NaN": |x, y| x != 1.0 && y.is_nan() => Nan,
    "anything to +0": |_, y| is_plus_zero(y) => Is(1.0),
    "anything to -0": |_, y| is_minus_zero(y) => Is(1.0),
    "NaN to what is not 0": |x, y| x.is_nan() && y != 0.0 => Nan,
    "above 1 in magnitude to +inf": |x, y| x.abs() > 1.0 && y == INF => Is(INF),
    "above 1 in magnitude to -inf": |x, y| x.abs() > 1.0 && y == -INF => Is(0.0),
    "±1 to +inf": |x, y| x.abs() == 1.0 && y == INF => Is(1.0),
    "±1 to -inf": |x, y| x.abs() == 1.0 && y == -INF => Is(1.0),
    "1 to what is not NaN": |x, y| x == 1.0 && !y.is_nan() => Is(1.0),
    "below 1 in magnitude to +inf": |x, y| x.abs() < 1.0 && y == INF => Is(0.0),
    "below 1 in magnitude to -inf": |x, y| x.abs() < 1.0 && y == -INF => Is(INF),
    "+inf to above 0": |x, y| x == INF && y > 0.0 => Is(INF),
    "+inf to below 0": |x, y| x == INF && y < 0.0 => Is(0.0),
    "-inf to odd above 0": |x, y| x == -INF && y > 0.0 && is_odd(y) => Is(-INF),
    "-inf to not odd above 0": |x, y| x == -INF && y > 0.0 && !is_odd(y) => Is(INF),
    "-inf to odd below 0": |x, y| x == -INF && y < 0.0 && is_odd(y) => Is(-0.0),
    "-inf to not odd below 0": |x, y| x == -INF && y < 0.0 && !is_odd(y) => Is(0.0),
    "+0 to above 0": |x, y| is_plus_zero(x) && y > 0.0 => Is(0.0),
    "+0 to below 0": |x, y| is_plus_zero(x) && y < 0.0 => Is(INF),
    "-0 to odd above 0": |x, y| is_minus_zero(x) && y > 0.0 && is_odd(y) => Is(-0.0),
    "-0 to not odd above 0": |x, y| is_minus_zero(x) && y > 0.0 && !is_odd(y) => Is(0.0),
    "-0 to odd below 0": |x, y| is_minus_zero(x) && y < 0.0 && is_odd(y) => Is(-INF),
    "-0 to not odd below 0": |x, y| is_minus_zero(x) && y < 0.0 && !is_odd(y) => Is(INF),
    "negative to a fraction": |x, y| is_negative(x) && y.is_finite() && y.fract() != 0.0 => Nan,
};

fn is_odd(value: f64) -> bool {
    value.abs() % 2.0 == 1.0
}

const ATAN2: &[Row] = rows! {
    "either is NaN": |y, x| y.is_nan() || x.is_nan() => Nan,
    "above 0 over +0": |y, x| y > 0.0 && is_plus_zero(x) => About(FRAC_PI_2),
    "above 0 over -0": |y, x| y > 0.0 && is_minus_zero(x) => About(FRAC_PI_2),
    "+0 over above 0": |y, x| is_plus_zero(y) && x > 0.0 => Is(0.0),
    "+0 over +0": |y, x| is_plus_zero(y) && is_plus_zero(x) => Is(0.0),
    "+0 over -0": |y, x| is_plus_zero(y) && is_minus_zero(x) => About(PI),
    "+0 over below 0": |y, x| is_plus_zero(y) && x < 0.0 => About(PI),
    "-0 over above 0": |y, x| is_minus_zero(y) && x > 0.0 => Is(-0.0),
    "-0 over +0": |y, x| is_minus_zero(y) && is_plus_zero(x) => Is(-0.0),
    "-0 over -0": |y, x| is_minus_zero(y) && is_minus_zero(x) => About(-PI),
    "-0 over below 0": |y, x| is_minus_zero(y) && x < 0.0 => About(-PI),
    "below 0 over +0": |y, x| y < 0.0 && is_plus_zero(x) => About(-FRAC_PI_2),
    "below 0 over -0": |y, x| y < 0.0 && is_minus_zero(x) => About(-FRAC_PI_2),
    "positive over +inf": |y, x| is_positive(y) && x == INF => Is(0.0),
    "positive over -inf": |y, x| is_positive(y) && x == -INF => About(PI),
    "negative over +inf": |y, x| is_negative(y) && x == INF => Is(-0.0),
    "negative over -inf": |y, x| is_negative(y) && x == -INF => About(-PI),
    "+inf over finite": |y, x| y == INF && x.is_finite() => About(FRAC_PI_2),
    "-inf over finite": |y, x| y == -INF && x.is_finite() => About(-FRAC_PI_2),
    "+inf over +inf": |y, x| y == INF && x == INF => About(FRAC_PI_4),
    "+inf over -inf": |y, x| y == INF && x == -INF => About(3.0 * FRAC_PI_4),
    "-inf over +inf": |y, x| y == -INF && x == INF => About(-FRAC_PI_4),
    "-inf over -inf": |y, x| y == -INF && x == -INF => About(-3.0 * FRAC_PI_4),
};

const HYPOT: &[Row] = rows! {
    "±inf and anything": |x, y| x.abs() == INF => Is(INF),
    "anything and ±inf": |x, y| y.abs() == INF => Is(INF),
    "NaN and finite": |x, y| x.is_nan() && (y.is_finite() || y.is_nan()) => Nan,
    "finite and NaN": |x, y| (x.is_finite() || x.is_nan()) && y.is_nan() => Nan,
    // Beyond the standard.
    "±0 and another number": |x, y| is_zero(x) && y.is_finite() => Is(y.abs()),
    "another number and ±0": |x, y| x.is_finite() && is_zero(y) => Is(x.abs()),
};

/// Also those of the tangent.
const SIN: &[Row] = rows! {
    "NaN": |x, _| x.is_nan() => Nan,
    "+0": |x, _| is_plus_zero(x) => Is(0.0),
    "-0": |x, _| is_minus_zero(x) => Is(-0.0),
    "±inf": |x, _| x.abs() == INF => Nan,
};

const COS: &[Row] = rows! {
    "NaN": |x, _| x.is_nan() => Nan,
    "+0": |x, _| is_plus_zero(x) => Is(1.0),
    "-0": |x, _| is_minus_zero(x) => Is(1.0),
    "±inf": |x, _| x.abs() == INF => Nan,
};

const ASIN: &[Row] = rows! {
    "NaN": |x, _| x.is_nan() => Nan,
    "above 1": |x, _| x > 1.0 => Nan,
    "below -1": |x, _| x < -1.0 => Nan,
    "+0": |x, _| is_plus_zero(x) => Is(0.0),
    "-0": |x, _| is_minus_zero(x) => Is(-0.0),
    // Beyond the standard.
    "1": |x, _| x == 1.0 => Nearest(FRAC_PI_2),
    "-1": |x, _| x == -1.0 => Nearest(-FRAC_PI_2),
};

const ACOS: &[Row] = rows! {
    "NaN": |x, _| x.is_nan() => Nan,
    "above 1": |x, _| x > 1.0 => Nan,
    "below -1": |x, _| x < -1.0 => Nan,
    "1": |x, _| x == 1.0 => Is(0.0),
    // Beyond the standard.
    "-1": |x, _| x == -1.0 => Nearest(PI),
    "±0": |x, _| is_zero(x) => Nearest(FRAC_PI_2),
};

const ATAN: &[Row] = rows! {
    "NaN": |x, _| x.is_nan() => Nan,
    "+0": |x, _| is_plus_zero(x) => Is(0.0),
    "-0": |x, _| is_minus_zero(x) => Is(-0.0),
    "+inf": |x, _| x == INF => Nearest(FRAC_PI_2),
    "-inf": |x, _| x == -INF => Nearest(-FRAC_PI_2),
};

const LOGADDEXP: &[Row] = rows! {
    "either is NaN": |x, y| x.is_nan() || y.is_nan() => Nan,
    "+inf and no NaN": |x, y| x == INF && !y.is_nan() => Is(INF),
    "no NaN and +inf": |x, y| !x.is_nan() && y == INF => Is(INF),
    // Beyond the standard: the other operand is returned.
    "-inf and another number": |x, y| x == -INF && is_plain(y) => Is(y),
    "another number and -inf": |x, y| is_plain(x) && y == -INF => Is(x),
    "-inf and -inf": |x, y| x == -INF && y == -INF => Is(-INF),
};

const NEXTAFTER: &[Row] = rows! {
    "either is NaN": |x, y| x.is_nan() || y.is_nan() => Nan,
    "-0 towards +0": |x, y| is_minus_zero(x) && is_plus_zero(y) => Is(0.0),
    "+0 towards -0": |x, y| is_plus_zero(x) && is_minus_zero(y) => Is(-0.0),
    // Beyond the standard, which only defines the next number.
    "a number towards itself": |x, y| !is_zero(x) && x == y => Is(x),
};
