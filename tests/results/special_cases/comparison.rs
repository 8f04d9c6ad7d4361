//! The special cases of comparisons, maximum and minimum, and of the logical operations on floats.

use super::Expected::{False, Is, Nan, True};
use super::{INF, Row, is_minus_zero, is_plus_zero, is_zero, rows};

pub const TABLES: &[(&str, &[Row])] = &[
    ("equal", EQUAL),
    ("not_equal", NOT_EQUAL),
    ("less_than", LESS_THAN),
    ("less_equal", LESS_EQUAL),
    ("greater_than", GREATER_THAN),
    ("greater_equal", GREATER_EQUAL),
    ("maximum", MAXIMUM),
    ("minimum", MINIMUM),
    ("logical_not", LOGICAL_NOT),
];

const EQUAL: &[Row] = rows! {
    "either is NaN": |x, y| x.is_nan() || y.is_nan() => False,
    "+inf and +inf": |x, y| x == INF && y == INF => True,
    "-inf and -inf": |x, y| x == -INF && y == -INF => True,
    "-0 and a zero": |x, y| is_minus_zero(x) && is_zero(y) => True,
    "+0 and a zero": |x, y| is_plus_zero(x) && is_zero(y) => True,
    "finite and equal": |x, y| x.is_finite() && x == y => True,
    "otherwise": |x, y| x != y && !x.is_nan() && !y.is_nan() => False,
};

const NOT_EQUAL: &[Row] = rows! {
    "either is NaN": |x, y| x.is_nan() || y.is_nan() => True,
    "+inf and -inf": |x, y| x == INF && y == -INF => True,
    "-inf and +inf": |x, y| x == -INF && y == INF => True,
    "finite and different": |x, y| x.is_finite() && y.is_finite() && x != y => True,
    "otherwise": |x, y| x == y => False,
};

// The standard leaves the order of NaNs to IEEE 754.
const LESS_THAN: &[Row] = rows! {
    "either is NaN": |x, y| x.is_nan() || y.is_nan() => False,
    "zeros": |x, y| is_zero(x) && is_zero(y) => False,
    "below": |x, y| x < y => True,
    "otherwise": |x, y| x >= y => False,
};

const LESS_EQUAL: &[Row] = rows! {
    "either is NaN": |x, y| x.is_nan() || y.is_nan() => False,
    "zeros": |x, y| is_zero(x) && is_zero(y) => True,
    "not above": |x, y| x <= y => True,
    "otherwise": |x, y| x > y => False,
};

const GREATER_THAN: &[Row] = rows! {
    "either is NaN": |x, y| x.is_nan() || y.is_nan() => False,
    "zeros": |x, y| is_zero(x) && is_zero(y) => False,
    "above": |x, y| x > y => True,
    "otherwise": |x, y| x <= y => False,
};

const GREATER_EQUAL: &[Row] = rows! {
    "either is NaN": |x, y| x.is_nan() || y.is_nan() => False,
    "zeros": |x, y| is_zero(x) && is_zero(y) => True,
    "not below": |x, y| x >= y => True,
    "otherwise": |x, y| x < y => False,
};

// The standard leaves the order of the zeros open; in the crate, −0 is less than +0.
const MAXIMUM: &[Row] = rows! {
    "either is NaN": |x, y| x.is_nan() || y.is_nan() => Nan,
    "zeros": |x, y| is_zero(x) && is_zero(y) => Is(if is_plus_zero(x) { x } else { y }),
    "numbers": |x, y| x != y && !x.is_nan() && !y.is_nan() => Is(x.max(y)),
};

const MINIMUM: &[Row] = rows! {
    "either is NaN": |x, y| x.is_nan() || y.is_nan() => Nan,
    "zeros": |x, y| is_zero(x) && is_zero(y) => Is(if is_minus_zero(x) { x } else { y }),
    "numbers": |x, y| x != y && !x.is_nan() && !y.is_nan() => Is(x.min(y)),
};

const LOGICAL_NOT: &[Row] = rows! {
    "a zero": |x, _| is_zero(x) => True,
    "anything else": |x, _| !is_zero(x) => False,
};
