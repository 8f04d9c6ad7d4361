//! The special cases of divide, floor_divide and remainder.

use super::Expected::{Is, Nan, Nearest, Negative, Positive};
use super::{
    INF, Row, is_minus_zero, is_negative, is_plain, is_plus_zero, is_positive, is_zero, rows,
    same_sign,
};

pub const TABLES: &[(&str, &[Row])] =
    &[("divide", DIVIDE), ("floor_divide", FLOOR_DIVIDE), ("remainder", REMAINDER)];

const DIVIDE: &[Row] = rows! {
    "either is NaN": |x, y| x.is_nan() || y.is_nan() => Nan,
    "both infinite": |x, y| x.is_infinite() && y.is_infinite() => Nan,
    "both zero": |x, y| is_zero(x) && is_zero(y) => Nan,
    "+0 by above 0": |x, y| is_plus_zero(x) && y > 0.0 => Is(0.0),
    "-0 by above 0": |x, y| is_minus_zero(x) && y > 0.0 => Is(-0.0),
    "+0 by below 0": |x, y| is_plus_zero(x) && y < 0.0 => Is(-0.0),
    "-0 by below 0": |x, y| is_minus_zero(x) && y < 0.0 => Is(0.0),
    "above 0 by +0": |x, y| x > 0.0 && is_plus_zero(y) => Is(INF),
    "above 0 by -0": |x, y| x > 0.0 && is_minus_zero(y) => Is(-INF),
    "below 0 by +0": |x, y| x < 0.0 && is_plus_zero(y) => Is(-INF),
    "below 0 by -0": |x, y| x < 0.0 && is_minus_zero(y) => Is(INF),
    "+inf by positive": |x, y| x == INF && is_positive(y) => Is(INF),
    "+inf by negative": |x, y| x == INF && is_negative(y) => Is(-INF),
    "-inf by positive": |x, y| x == -INF && is_positive(y) => Is(-INF),
    "-inf by negative": |x, y| x == -INF && is_negative(y) => Is(INF),
    "positive by +inf": |x, y| is_positive(x) && y == INF => Is(0.0),
    "positive by -inf": |x, y| is_positive(x) && y == -INF => Is(-0.0),
    "negative by +inf": |x, y| is_negative(x) && y == INF => Is(-0.0),
    "negative by -inf": |x, y| is_negative(x) && y == -INF => Is(0.0),
    "the same sign": |x, y| is_plain(x) && is_plain(y) && same_sign(x, y) => Positive,
    "different signs": |x, y| is_plain(x) && is_plain(y) && !same_sign(x, y) => Negative,
    "other numbers": |x, y| is_plain(x) && is_plain(y) => Nearest(x / y),
};

// For infinities the standard prefers the floor of the quotient, and allows what Python does.
const FLOOR_DIVIDE: &[Row] = rows! {
    "either is NaN": |x, y| x.is_nan() || y.is_nan() => Nan,
    "both infinite": |x, y| x.is_infinite() && y.is_infinite() => Nan,
    "both zero": |x, y| is_zero(x) && is_zero(y) => Nan,
    "+0 by above 0": |x, y| is_plus_zero(x) && y > 0.0 => Is(0.0),
    "-0 by above 0": |x, y| is_minus_zero(x) && y > 0.0 => Is(-0.0),
    "+0 by below 0": |x, y| is_plus_zero(x) && y < 0.0 => Is(-0.0),
    "-0 by below 0": |x, y| is_minus_zero(x) && y < 0.0 => Is(0.0),
    "above 0 by +0": |x, y| x > 0.0 && is_plus_zero(y) => Is(INF),
    "above 0 by -0": |x, y| x > 0.0 && is_minus_zero(y) => Is(-INF),
    "below 0 by +0": |x, y| x < 0.0 && is_plus_zero(y) => Is(-INF),
    "below 0 by -0": |x, y| x < 0.0 && is_minus_zero(y) => Is(INF),
    "+inf by positive": |x, y| x == INF && is_positive(y) => Is(INF); but Nan, "as Python, which the standard allows",
    "+inf by negative": |x, y| x == INF && is_negative(y) => Is(-INF); but Nan, "as Python, which the standard allows",
    "-inf by positive": |x, y| x == -INF && is_positive(y) => Is(-INF); but Nan, "as Python, which the standard allows",
    "-inf by negative": |x, y| x == -INF && is_negative(y) => Is(INF); but Nan, "as Python, which the standard allows",
    "positive by +inf": |x, y| is_positive(x) && y == INF => Is(0.0),
    "positive by -inf": |x, y| is_positive(x) && y == -INF => Is(-0.0); but Is(-1.0), "as Python, which the standard allows",
    "negative by +inf": |x, y| is_negative(x) && y == INF => Is(-0.0); but Is(-1.0), "as Python, which the standard allows",
    "negative by -inf": |x, y| is_negative(x) && y == -INF => Is(0.0),
    "the same sign": |x, y| is_plain(x) && is_plain(y) && same_sign(x, y) => Positive,
    "different signs": |x, y| is_plain(x) && is_plain(y) && !same_sign(x, y) => Negative,
    // Quotients that every dtype represents exactly.
    "other numbers": |x, y| is_small(x) && is_small(y) => Is((x / y).floor()),
};

const REMAINDER: &[Row] = rows! {
    "either is NaN": |x, y| x.is_nan() || y.is_nan() => Nan,
    "both infinite": |x, y| x.is_infinite() && y.is_infinite() => Nan,
    "both zero": |x, y| is_zero(x) && is_zero(y) => Nan,
    "+0 by above 0": |x, y| is_plus_zero(x) && y > 0.0 => Is(0.0),
    "-0 by above 0": |x, y| is_minus_zero(x) && y > 0.0 => Is(0.0),
    "+0 by below 0": |x, y| is_plus_zero(x) && y < 0.0 => Is(-0.0),
    "-0 by below 0": |x, y| is_minus_zero(x) && y < 0.0 => Is(-0.0),
    "above 0 by +0": |x, y| x > 0.0 && is_plus_zero(y) => Nan,
    "above 0 by -0": |x, y| x > 0.0 && is_minus_zero(y) => Nan,
    "below 0 by +0": |x, y| x < 0.0 && is_plus_zero(y) => Nan,
    "below 0 by -0": |x, y| x < 0.0 && is_minus_zero(y) => Nan,
    "+inf by positive": |x, y| x == INF && is_positive(y) => Nan,
    "+inf by negative": |x, y| x == INF && is_negative(y) => Nan,
    "-inf by positive": |x, y| x == -INF && is_positive(y) => Nan,
    "-inf by negative": |x, y| x == -INF && is_negative(y) => Nan,
    "positive by +inf": |x, y| is_positive(x) && y == INF => Is(x),
    "positive by -inf": |x, y| is_positive(x) && y == -INF => Is(y),
    "negative by +inf": |x, y| is_negative(x) && y == INF => Is(y),
    "negative by -inf": |x, y| is_negative(x) && y == -INF => Is(x),
    "the sign of the divisor": |x, y| is_plain(x) && is_plain(y) => if y < 0.0 { Negative } else { Positive },
    "other numbers": |x, y| is_plain(x) && is_plain(y) => Nearest(python_remainder(x, y)),
};

fn is_small(value: f64) -> bool {
    (0.5..=4.0).contains(&value.abs()) && value * 2.0 == (value * 2.0).round()
}

/// Returns the result of Python's `%`.
fn python_remainder(x: f64, y: f64) -> f64 {
    let rest = x % y;
    if rest == 0.0 {
        rest.copysign(y)
    } else if (rest < 0.0) != (y < 0.0) {
        rest + y
    } else {
        rest
    }
}
