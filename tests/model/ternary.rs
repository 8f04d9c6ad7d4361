//! The operations on three elements (docs/semantics.md, section 7).

use bitlane::{BinaryOp, DType};

use super::element::{Bits, Number, decode, encode_float};
use super::ops::apply;

/// Returns x if the condition is true, else y.
pub fn select(condition: Bits, x: Bits, y: Bits) -> Bits {
    if condition == 1 { x } else { y }
}

/// Returns x, but at least `low`, but at most `high`.
pub fn clip(dtype: DType, [x, low, high]: [Bits; 3]) -> Bits {
    apply(BinaryOp::Minimum, dtype, apply(BinaryOp::Maximum, dtype, x, low), high)
}

/// Returns x · y + z, of which every bit counts until the one rounding.
pub fn fma(dtype: DType, [x, y, z]: [Bits; 3]) -> Bits {
    use Number::{Finite, Infinite, Nan};
    let is_zero = |number: &Number| matches!(number, Finite { mantissa: 0, .. });
    let product = match (decode(dtype, x), decode(dtype, y)) {
        (Nan { .. }, _) | (_, Nan { .. }) => Nan { negative: false },
        (Infinite { .. }, other) | (other, Infinite { .. }) if is_zero(&other) => {
            Nan { negative: false }
        }
        (x @ Infinite { .. }, y) | (x, y @ Infinite { .. }) => {
            Infinite { negative: is_negative(&x) != is_negative(&y) }
        }
        (
            Finite { negative: a, mantissa: m, exponent: e },
            Finite { negative: b, mantissa: n, exponent: f },
        ) => Finite { negative: a != b, mantissa: m * n, exponent: e + f },
    };
    encode_float(dtype, sum(product, decode(dtype, z)))
}

fn is_negative(number: &Number) -> bool {
    let (Number::Finite { negative, .. }
    | Number::Infinite { negative }
    | Number::Nan { negative }) = number;
    *negative
}

/// Adds two numbers of up to 106 bits, exactly or with a last bit that stands for what is far below.
fn sum(x: Number, y: Number) -> Number {
    use Number::{Finite, Infinite, Nan};
    let (mut a, mut b) = (is_negative(&x), is_negative(&y));
    let ((mut m, mut e), (mut n, mut f)) = match (x, y) {
        (Nan { .. }, _) | (_, Nan { .. }) => return Nan { negative: false },
        (Infinite { .. }, Infinite { .. }) if a != b => return Nan { negative: false },
        (Infinite { .. }, _) => return x,
        (_, Infinite { .. }) => return y,
        (Finite { mantissa: 0, .. }, Finite { mantissa: 0, .. }) => {
            return Finite { negative: a && b, mantissa: 0, exponent: 0 };
        }
        (Finite { mantissa: 0, .. }, _) => return y,
        (_, Finite { mantissa: 0, .. }) => return x,
        (Finite { mantissa: m, exponent: e, .. }, Finite { mantissa: n, exponent: f, .. }) => {
            ((m, e), (n, f))
        }
    };
    if e < f {
        (a, m, e, b, n, f) = (b, n, f, a, m, e);
    }
    // The one with the higher exponent moves up as far as there is room; what then lies below it is far below.
    let up = (e - f).min(m.leading_zeros() as i32 - 2);
    (m, e) = (m << up, e - up);
    while f < e {
        (n, f) = (n >> 1 | n & 1, f + 1);
    }
    let signed = |negative: bool, mantissa: Bits| {
        if negative { -(mantissa as i128) } else { mantissa as i128 }
    };
    let total = signed(a, m) + signed(b, n);
    Finite { negative: total < 0, mantissa: total.unsigned_abs(), exponent: e }
}
