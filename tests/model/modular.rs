//! Division with remainder, integer powers and `nextafter`, which are exact in every dtype (docs/semantics.md, section
//! 7).

use std::cmp::Ordering;

use bitlane::{BinaryOp, DType};

use super::element::{Bits, Nan, Number, cast, decode, encode_float, integer, same, wrapped};
use super::ops::compare;

/// Returns `floor_divide` or `remainder` of two elements.
pub fn divided(op: BinaryOp, dtype: DType, x: Bits, y: Bits) -> Bits {
    let wants_quotient = op == BinaryOp::FloorDivide;
    if dtype.is_int() {
        let (x, y) = (integer(dtype, x), integer(dtype, y));
        if y == 0 {
            return 0;
        }
        let quotient = x.div_euclid(y);
        // The Euclidean remainder is never negative; the remainder here has the divisor's sign.
        let floor = if y < 0 && x.rem_euclid(y) != 0 { quotient - 1 } else { quotient };
        return wrapped(dtype, if wants_quotient { floor } else { x - floor * y });
    }
    match dtype {
        DType::F64 => {
            let [x, y] = [x, y].map(|bits| f64::from_bits(bits as u64));
            let result = if wants_quotient { floor_divide_f64(x, y) } else { remainder_f64(x, y) };
            result.to_bits().into()
        }
        DType::F32 => {
            let [x, y] = [x, y].map(|bits| f32::from_bits(bits as u32));
            let result = if wants_quotient { floor_divide_f32(x, y) } else { remainder_f32(x, y) };
            result.to_bits().into()
        }
        _ => {
            let [x, y] = [x, y].map(|bits| cast(dtype, DType::F32, bits));
            cast(DType::F32, dtype, divided(op, DType::F32, x, y))
        }
    }
}

macro_rules! divide_floats {
    ($float:ident $floor_divide:ident $remainder:ident) => {
        fn $floor_divide(x: $float, y: $float) -> $float {
            if y == 0.0 {
                return x / y;
            }
            let rest = x % y;
            let mut quotient = (x - rest) / y;
            if rest != 0.0 && (rest < 0.0) != (y < 0.0) {
                quotient -= 1.0;
            }
            if quotient == 0.0 {
                return (0.0 as $float).copysign(x / y);
            }
            // The quotient is a whole number up to rounding, so take the nearest one.
            let floor = quotient.floor();
            if quotient - floor > 0.5 { floor + 1.0 } else { floor }
        }

        fn $remainder(x: $float, y: $float) -> $float {
            let rest = x % y;
            if y == 0.0 || rest.is_nan() {
                $float::NAN
            } else if rest == 0.0 {
                (0.0 as $float).copysign(y)
            } else if (rest < 0.0) != (y < 0.0) {
                rest + y
            } else {
                rest
            }
        }
    };
}

divide_floats!(f32 floor_divide_f32 remainder_f32);
divide_floats!(f64 floor_divide_f64 remainder_f64);

/// Returns `pow` of integers, which wraps.
pub fn whole_power(dtype: DType, x: Bits, y: Bits) -> Bits {
    let (base, exponent) = (integer(dtype, x), integer(dtype, y));
    if exponent < 0 {
        let result = match base {
            1 => 1,
            -1 if exponent % 2 == 0 => 1,
            -1 => -1,
            _ => 0,
        };
        return wrapped(dtype, result);
    }
    let (mut result, mut square, mut rest) = (1i128, base, exponent);
    while rest > 0 {
        if rest % 2 == 1 {
            result = result.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        rest /= 2;
    }
    wrapped(dtype, result)
}

/// Returns the number adjacent to x in the direction of y.
pub fn nextafter(dtype: DType, x: Bits, y: Bits) -> Bits {
    let sign = 1 << (dtype.bits() - 1);
    match compare(dtype, x, y) {
        None => encode_float(dtype, Number::Nan { negative: false }),
        Some(Ordering::Equal) => y,
        Some(_) if x & !sign == 0 => y & sign | 1,
        Some(order) => {
            let grows = order.is_lt() == (x & sign == 0);
            if grows { x + 1 } else { x - 1 }
        }
    }
}

#[test]
fn the_model_of_division_knows_its_own_cases() {
    let int = |op, x: i128, y: i128| {
        let dtype = DType::I8;
        integer(dtype, divided(op, dtype, wrapped(dtype, x), wrapped(dtype, y)))
    };
    let (quotient, rest) = (BinaryOp::FloorDivide, BinaryOp::Remainder);
    for (x, y, expected) in
        [(7, 2, (3, 1)), (-7, 2, (-4, 1)), (7, -2, (-4, -1)), (-7, -2, (3, -1)), (5, 0, (0, 0))]
    {
        assert_eq!((int(quotient, x, y), int(rest, x, y)), expected, "{x} and {y}");
    }
    assert_eq!((int(quotient, -128, -1), int(rest, -128, -1)), (-128, 0));
    assert_eq!(floor_divide_f64(-1.0, f64::INFINITY), -1.0);
    assert!(remainder_f32(-0.0, f32::INFINITY).is_sign_positive());
    assert!(matches!(decode(DType::F16, nextafter(DType::F16, 0x7e00, 0)), Number::Nan { .. }));
    assert!(same(DType::F16, 0x8001, nextafter(DType::F16, 0, 0xbc00), Nan::Exact));
    assert_eq!(whole_power(DType::I8, 3, 5), wrapped(DType::I8, 243));
}
