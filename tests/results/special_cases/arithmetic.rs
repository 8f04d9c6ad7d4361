//! The special cases of add, subtract and multiply.

use super::Expected::{Is, Nan, Nearest, Negative, Positive};
use super::{INF, Row, is_minus_zero, is_plain, is_plus_zero, is_zero, rows, same_sign};

pub const TABLES: &[(&str, &[Row])] =
    &[("add", ADD), ("subtract", SUBTRACT), ("multiply", MULTIPLY)];

const ADD: &[Row] = rows! {
    "either is NaN": |x, y| x.is_nan() || y.is_nan() => Nan,
    "+inf and -inf": |x, y| x == INF && y == -INF => Nan,
    "-inf and +inf": |x, y| x == -INF && y == INF => Nan,
    "+inf and +inf": |x, y| x == INF && y == INF => Is(INF),
    "-inf and -inf": |x, y| x == -INF && y == -INF => Is(-INF),
    "+inf and finite": |x, y| x == INF && y.is_finite() => Is(INF),
    "-inf and finite": |x, y| x == -INF && y.is_finite() => Is(-INF),
    "finite and +inf": |x, y| x.is_finite() && y == INF => Is(INF),
    "finite and -inf": |x, y| x.is_finite() && y == -INF => Is(-INF),
    "-0 and -0": |x, y| is_minus_zero(x) && is_minus_zero(y) => Is(-0.0),
    "-0 and +0": |x, y| is_minus_zero(x) && is_plus_zero(y) => Is(0.0),
    "+0 and -0": |x, y| is_plus_zero(x) && is_minus_zero(y) => Is(0.0),
    "+0 and +0": |x, y| is_plus_zero(x) && is_plus_zero(y) => Is(0.0),
    "a zero and another number": |x, y| is_zero(x) && is_plain(y) => Is(y),
    "another number and a zero": |x, y| is_plain(x) && is_zero(y) => Is(x),
    "a number and its opposite": |x, y| is_plain(x) && y == -x => Is(0.0),
    "other numbers": |x, y| is_plain(x) && is_plain(y) && y != -x => Nearest(x + y),
};

// Like the sum with the negated operand.
const SUBTRACT: &[Row] = rows! {
    "either is NaN": |x, y| x.is_nan() || y.is_nan() => Nan,
    "infinities of one sign": |x, y| x.is_infinite() && x == y => Nan,
    "+inf and -inf": |x, y| x == INF && y == -INF => Is(INF),
    "-inf and +inf": |x, y| x == -INF && y == INF => Is(-INF),
    "infinite and finite": |x, y| x.is_infinite() && y.is_finite() => Is(x),
    "finite and infinite": |x, y| x.is_finite() && y.is_infinite() => Is(-y),
    "-0 and +0": |x, y| is_minus_zero(x) && is_plus_zero(y) => Is(-0.0),
    "-0 and -0": |x, y| is_minus_zero(x) && is_minus_zero(y) => Is(0.0),
    "+0 and a zero": |x, y| is_plus_zero(x) && is_zero(y) => Is(0.0),
    "a zero and another number": |x, y| is_zero(x) && is_plain(y) => Is(-y),
    "another number and a zero": |x, y| is_plain(x) && is_zero(y) => Is(x),
    "a number and itself": |x, y| is_plain(x) && x == y => Is(0.0),
    "other numbers": |x, y| is_plain(x) && is_plain(y) && x != y => Nearest(x - y),
};

const MULTIPLY: &[Row] = rows! {
    "either is NaN": |x, y| x.is_nan() || y.is_nan() => Nan,
    "infinite and a zero": |x, y| x.is_infinite() && is_zero(y) => Nan,
    "a zero and infinite": |x, y| is_zero(x) && y.is_infinite() => Nan,
    "the same sign": |x, y| !(x * y).is_nan() && same_sign(x, y) => Positive,
    "different signs": |x, y| !(x * y).is_nan() && !same_sign(x, y) => Negative,
    "both infinite": |x, y| x.is_infinite() && y.is_infinite() => Is(x * y),
    "infinite and another number": |x, y| x.is_infinite() && is_plain(y) => Is(INF.copysign(x) * y),
    "another number and infinite": |x, y| is_plain(x) && y.is_infinite() => Is(x * INF.copysign(y)),
    "finite numbers": |x, y| x.is_finite() && y.is_finite() => Nearest(x * y),
};
