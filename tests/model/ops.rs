//! Each operation on two elements of the dtype in which it computes (docs/semantics.md, sections 3, 4 and 7).

use std::cmp::Ordering;

use bitlane::{BinaryOp, DType, Shift};

use super::element::{
    Bits, Nan, Number, cast, decode, encode_float, float_format, from_parts, integer, part_dtype,
    parts, wrapped,
};
use super::functions::function;
use super::modular::{divided, nextafter, whole_power};

/// Returns the dtype of the result of an operation that computes in `dtype`.
pub fn result_dtype(op: BinaryOp, dtype: DType) -> DType {
    use BinaryOp::*;
    match op {
        Equal | NotEqual | LessThan | LessEqual | GreaterThan | GreaterEqual | LogicalAnd
        | LogicalOr | LogicalXor => DType::Bool,
        _ => dtype,
    }
}

/// Returns whether the operation is defined for a dtype: the last column of the table in docs/semantics.md, section 7.
pub fn is_defined(op: BinaryOp, dtype: DType) -> bool {
    use BinaryOp::*;
    match op {
        LeftShift(_) | RightShift(_) | RotateLeft | RotateRight => dtype.is_int(),
        Subtract => dtype != DType::Bool,
        Divide => dtype.is_float() || dtype.is_complex(),
        FloorDivide | Remainder | Pow => dtype.is_int() || dtype.is_float(),
        LogAddExp | NextAfter | Atan2 | Hypot => dtype.is_float(),
        BitwiseAnd | BitwiseOr | BitwiseXor => dtype.is_int() || dtype == DType::Bool,
        Copysign | LessThan | LessEqual | GreaterThan | GreaterEqual | Maximum | Minimum | Fmax
        | Fmin => !dtype.is_complex(),
        _ => true,
    }
}

/// Returns how a NaN result may differ between backends when no operand was converted.
pub fn nan_freedom(op: BinaryOp) -> Nan {
    if op == BinaryOp::Copysign { Nan::Exact } else { Nan::Any }
}

/// Returns how a result may differ from the model's when no operand was converted. Between two backends the stricter
/// [`nan_freedom`] applies.
pub fn freedom(op: BinaryOp) -> Nan {
    match op {
        BinaryOp::Pow | BinaryOp::Atan2 | BinaryOp::Hypot => Nan::Near,
        BinaryOp::LogAddExp => Nan::NearSum,
        _ => nan_freedom(op),
    }
}

/// Returns the result for two elements of `dtype`.
pub fn apply(op: BinaryOp, dtype: DType, x: Bits, y: Bits) -> Bits {
    use BinaryOp::*;
    let truth = |bits| cast(dtype, DType::Bool, bits) == 1;
    let order = || compare(dtype, x, y);
    match op {
        LeftShift(_) | RightShift(_) => shift(op, dtype, x, integer(dtype, y)),
        RotateLeft => rotate(dtype, x, integer(dtype, y)),
        RotateRight => rotate(dtype, x, -integer(dtype, y)),
        Copysign => copysign(dtype, x, y),
        Add | Subtract | Multiply | Divide => arithmetic(op, dtype, x, y),
        Equal => equal(dtype, x, y).into(),
        NotEqual => (!equal(dtype, x, y)).into(),
        LessThan => (order() == Some(Ordering::Less)).into(),
        LessEqual => order().is_some_and(Ordering::is_le).into(),
        GreaterThan => (order() == Some(Ordering::Greater)).into(),
        GreaterEqual => order().is_some_and(Ordering::is_ge).into(),
        LogicalAnd => (truth(x) && truth(y)).into(),
        LogicalOr => (truth(x) || truth(y)).into(),
        LogicalXor => (truth(x) != truth(y)).into(),
        BitwiseAnd => x & y,
        BitwiseOr => x | y,
        BitwiseXor => x ^ y,
        Maximum | Minimum | Fmax | Fmin => extreme(op, dtype, x, y),
        FloorDivide | Remainder => divided(op, dtype, x, y),
        Pow if dtype.is_int() => whole_power(dtype, x, y),
        Pow | Atan2 | Hypot | LogAddExp => function(op, dtype, x, y),
        NextAfter => nextafter(dtype, x, y),
        other => panic!("the model lacks {other}"),
    }
}

/// Shifts by an amount of any size (docs/semantics.md, section 3).
pub fn shift(op: BinaryOp, dtype: DType, x: Bits, amount: i128) -> Bits {
    let bits = i128::from(dtype.bits());
    let value = integer(dtype, x);
    let in_range = (0..bits).contains(&amount);
    match op {
        BinaryOp::LeftShift(_) if in_range => wrapped(dtype, (x << amount) as i128),
        BinaryOp::LeftShift(_) => 0,
        BinaryOp::RightShift(Shift::Arithmetic) if in_range => wrapped(dtype, value >> amount),
        BinaryOp::RightShift(Shift::Arithmetic) => wrapped(dtype, if value < 0 { -1 } else { 0 }),
        _ if in_range => x >> amount,
        _ => 0,
    }
}

/// Rotates to the left by an amount of any size, modulo the width (docs/semantics.md, section 3).
pub fn rotate(dtype: DType, x: Bits, amount: i128) -> Bits {
    let bits = dtype.bits();
    let turn = amount.rem_euclid(bits.into());
    (0..bits).fold(0, |result, bit| {
        let to = (i128::from(bit) + turn) % i128::from(bits);
        result | (x >> bit & 1) << to
    })
}

/// Returns `copysign` of two elements (docs/semantics.md, section 4).
fn copysign(dtype: DType, x: Bits, y: Bits) -> Bits {
    if dtype.is_float() {
        let sign = 1 << (dtype.bits() - 1);
        return x & (sign - 1) | y & sign;
    }
    if !dtype.is_signed_int() {
        return x;
    }
    let magnitude = integer(dtype, x).abs();
    wrapped(dtype, if integer(dtype, y) < 0 { -magnitude } else { magnitude })
}

fn arithmetic(op: BinaryOp, dtype: DType, x: Bits, y: Bits) -> Bits {
    if dtype == DType::Bool {
        return if op == BinaryOp::Add { x | y } else { x & y };
    }
    if dtype.is_int() {
        let (x, y) = (integer(dtype, x), integer(dtype, y));
        return wrapped(
            dtype,
            match op {
                BinaryOp::Add => x + y,
                BinaryOp::Subtract => x - y,
                _ => x.wrapping_mul(y),
            },
        );
    }
    if dtype.is_complex() {
        return complex_arithmetic(op, dtype, x, y);
    }
    float_arithmetic(op, dtype, x, y)
}

/// Half floats are computed in `f32` and rounded; the other floats in their own dtype.
fn float_arithmetic(op: BinaryOp, dtype: DType, x: Bits, y: Bits) -> Bits {
    match dtype {
        DType::F64 => {
            let [x, y] = [x, y].map(|bits| f64::from_bits(bits as u64));
            let result = match op {
                BinaryOp::Add => x + y,
                BinaryOp::Subtract => x - y,
                BinaryOp::Multiply => x * y,
                _ => x / y,
            };
            result.to_bits().into()
        }
        DType::F32 => {
            let [x, y] = [x, y].map(|bits| f32::from_bits(bits as u32));
            let result = match op {
                BinaryOp::Add => x + y,
                BinaryOp::Subtract => x - y,
                BinaryOp::Multiply => x * y,
                _ => x / y,
            };
            result.to_bits().into()
        }
        _ => {
            let [x, y] = [x, y].map(|bits| cast(dtype, DType::F32, bits));
            cast(DType::F32, dtype, float_arithmetic(op, DType::F32, x, y))
        }
    }
}

fn complex_arithmetic(op: BinaryOp, dtype: DType, x: Bits, y: Bits) -> Bits {
    let part = part_dtype(dtype);
    let ((a, b), (c, d)) = (parts(dtype, x), parts(dtype, y));
    let add = |x, y| float_arithmetic(BinaryOp::Add, part, x, y);
    let subtract = |x, y| float_arithmetic(BinaryOp::Subtract, part, x, y);
    let multiply = |x, y| float_arithmetic(BinaryOp::Multiply, part, x, y);
    let divide = |x, y| float_arithmetic(BinaryOp::Divide, part, x, y);
    let one = encode_float(part, Number::Finite { negative: false, mantissa: 1, exponent: 0 });
    let magnitude = |bits| bits & !(1 << (part.bits() - 1));
    let (real, imaginary) = match op {
        BinaryOp::Add => (add(a, c), add(b, d)),
        BinaryOp::Subtract => (subtract(a, c), subtract(b, d)),
        BinaryOp::Multiply => {
            (subtract(multiply(a, c), multiply(b, d)), add(multiply(a, d), multiply(b, c)))
        }
        // Smith's algorithm, as in NumPy.
        _ if magnitude(c) == 0 && magnitude(d) == 0 => (divide(a, 0), divide(b, 0)),
        _ if compare(part, magnitude(c), magnitude(d)).is_some_and(Ordering::is_ge) => {
            let ratio = divide(d, c);
            let scale = divide(one, add(c, multiply(d, ratio)));
            (
                multiply(add(a, multiply(b, ratio)), scale),
                multiply(subtract(b, multiply(a, ratio)), scale),
            )
        }
        _ => {
            let ratio = divide(c, d);
            let scale = divide(one, add(d, multiply(c, ratio)));
            (
                multiply(add(multiply(a, ratio), b), scale),
                multiply(subtract(multiply(b, ratio), a), scale),
            )
        }
    };
    from_parts(dtype, real, imaginary)
}

fn equal(dtype: DType, x: Bits, y: Bits) -> bool {
    let ((a, b), (c, d)) = match dtype.is_complex() {
        true => (parts(dtype, x), parts(dtype, y)),
        false => ((x, 0), (y, 0)),
    };
    let part = part_dtype(dtype);
    compare(part, a, c) == Some(Ordering::Equal) && compare(part, b, d) == Some(Ordering::Equal)
}

/// Returns the order of two elements of a real dtype; `None` if either is NaN. Both zeros are equal.
pub fn compare(dtype: DType, x: Bits, y: Bits) -> Option<Ordering> {
    if float_format(dtype).is_none() {
        return Some(if dtype == DType::Bool {
            x.cmp(&y)
        } else {
            integer(dtype, x).cmp(&integer(dtype, y))
        });
    }
    // Without the sign, the bits of floats are ordered like their magnitudes.
    let key = |bits: Bits| match decode(dtype, bits) {
        Number::Nan { .. } => None,
        _ => {
            let magnitude = (bits & !(1 << (dtype.bits() - 1))) as i128;
            Some(if is_negative(dtype, bits) { -magnitude } else { magnitude })
        }
    };
    Some(key(x)?.cmp(&key(y)?))
}

/// Returns the sign bit of a float, or whether an integer is negative.
pub fn is_negative(dtype: DType, bits: Bits) -> bool {
    (dtype.is_float() || dtype.is_signed_int()) && bits >> (dtype.bits() - 1) == 1
}

fn extreme(op: BinaryOp, dtype: DType, x: Bits, y: Bits) -> Bits {
    let is_nan = |bits| matches!(decode(dtype, bits), Number::Nan { .. });
    let propagates = matches!(op, BinaryOp::Maximum | BinaryOp::Minimum);
    match (is_nan(x), is_nan(y)) {
        (true, _) => return if propagates { x } else { y },
        (_, true) => return if propagates { y } else { x },
        _ => {}
    }
    // −0 is less than +0: between equal numbers the sign decides.
    let order =
        compare(dtype, x, y).unwrap().then(is_negative(dtype, y).cmp(&is_negative(dtype, x)));
    let wants_larger = matches!(op, BinaryOp::Maximum | BinaryOp::Fmax);
    if order.is_ge() == wants_larger { x } else { y }
}
