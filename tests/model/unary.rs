//! The unary operations (docs/semantics.md, section 7).

use bitlane::{BinaryOp, DType, Rules, UnaryOp};

use super::element::{
    Bits, Nan, Number, cast, decode, encode_float, from_parts, integer, part_dtype, parts, wrapped,
};
use super::functions::{nearest, value};
use super::ops::{apply as binary, is_negative};

/// Returns whether an operation is defined for a dtype: the table in docs/semantics.md, section 7.
pub fn is_defined(op: UnaryOp, dtype: DType) -> bool {
    match op {
        UnaryOp::Abs | UnaryOp::Negative => dtype != DType::Bool,
        UnaryOp::BitwiseNot => dtype.is_int() || dtype == DType::Bool,
        UnaryOp::LogicalNot => true,
        UnaryOp::Signbit => !dtype.is_complex(),
        UnaryOp::Sign | UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Trunc | UnaryOp::Round => {
            dtype.is_int() || dtype.is_float()
        }
        UnaryOp::Square => dtype != DType::Bool,
        UnaryOp::IsNan | UnaryOp::IsInf | UnaryOp::IsFinite => true,
        UnaryOp::CountOnes
        | UnaryOp::LeadingZeros
        | UnaryOp::TrailingZeros
        | UnaryOp::ReverseBits
        | UnaryOp::SwapBytes => dtype.is_int(),
        UnaryOp::Real | UnaryOp::Imag | UnaryOp::Conj => dtype.is_complex(),
        UnaryOp::Reciprocal => dtype.is_float() || dtype.is_complex(),
        UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Tan => dtype.is_float(),
        UnaryOp::Asin | UnaryOp::Acos | UnaryOp::Atan => dtype.is_float(),
        UnaryOp::Sqrt | UnaryOp::Exp | UnaryOp::Log => dtype.is_float(),
        UnaryOp::Exp2
        | UnaryOp::Expm1
        | UnaryOp::Log2
        | UnaryOp::Log10
        | UnaryOp::Log1p
        | UnaryOp::Sinh
        | UnaryOp::Cosh
        | UnaryOp::Tanh
        | UnaryOp::Asinh
        | UnaryOp::Acosh
        | UnaryOp::Atanh => dtype.is_float(),
        other => panic!("the model lacks {other}"),
    }
}

/// Returns the dtype in which an operation on `dtype` is computed, if there is one.
pub fn compute_dtype(op: UnaryOp, dtype: DType, rules: Rules) -> Option<DType> {
    let is_whole = dtype.is_int() || dtype == DType::Bool;
    let compute = match (rules, dtype.bits()) {
        _ if !(is_whole && is_function(op)) => dtype,
        (Rules::NumPy, 8) => DType::F16,
        (Rules::NumPy, 32 | 64) | (Rules::Jax, 64) => DType::F64,
        _ => DType::F32,
    };
    is_defined(op, compute).then_some(compute)
}

/// Returns whether integers and bools are converted to floats before the operation.
fn is_function(op: UnaryOp) -> bool {
    is_defined(op, DType::F32) && !is_defined(op, DType::I32)
}

/// Returns the dtype of the result of an operation computed in `dtype`.
pub fn result_dtype(op: UnaryOp, dtype: DType) -> DType {
    match op {
        UnaryOp::LogicalNot
        | UnaryOp::Signbit
        | UnaryOp::IsNan
        | UnaryOp::IsInf
        | UnaryOp::IsFinite => DType::Bool,
        UnaryOp::Abs | UnaryOp::Real | UnaryOp::Imag => part_dtype(dtype),
        _ => dtype,
    }
}

/// Returns how a result of an operation computed in `dtype` may differ from the model's.
pub fn freedom(op: UnaryOp, dtype: DType) -> Nan {
    match op {
        UnaryOp::Abs if dtype.is_complex() => Nan::Near,
        UnaryOp::Sign
        | UnaryOp::Square
        | UnaryOp::Reciprocal
        | UnaryOp::Floor
        | UnaryOp::Ceil
        | UnaryOp::Trunc
        | UnaryOp::Round
        | UnaryOp::Sqrt => Nan::Any,
        _ if is_function(op) => Nan::Near,
        // Bits are only copied and flipped, so NaNs must match bit for bit.
        _ => Nan::Exact,
    }
}

/// Returns the result for an element of `dtype`, in which the operation is computed.
pub fn apply(op: UnaryOp, dtype: DType, x: Bits) -> Bits {
    let bits = dtype.bits();
    let any_part = |test: fn(&Number) -> bool| {
        let (real, imaginary) = if dtype.is_complex() { parts(dtype, x) } else { (x, x) };
        [real, imaginary].iter().any(|&part| test(&decode(part_dtype(dtype), part)))
    };
    let is_nan = |number: &Number| matches!(number, Number::Nan { .. });
    let is_infinite = |number: &Number| matches!(number, Number::Infinite { .. });
    match op {
        UnaryOp::Abs => abs(dtype, x),
        UnaryOp::Negative => negative(dtype, x),
        UnaryOp::BitwiseNot => bitwise_not(dtype, x),
        UnaryOp::LogicalNot => cast(dtype, DType::Bool, x) ^ 1,
        UnaryOp::Signbit => is_negative(dtype, x).into(),
        UnaryOp::Sign => sign(dtype, x),
        UnaryOp::Square => binary(BinaryOp::Multiply, dtype, x, x),
        UnaryOp::Reciprocal => binary(BinaryOp::Divide, dtype, cast(DType::U8, dtype, 1), x),
        UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Trunc | UnaryOp::Round => rounded(op, dtype, x),
        UnaryOp::IsNan => any_part(is_nan).into(),
        UnaryOp::IsInf => any_part(is_infinite).into(),
        UnaryOp::IsFinite => (!any_part(is_nan) && !any_part(is_infinite)).into(),
        UnaryOp::CountOnes => x.count_ones().into(),
        UnaryOp::LeadingZeros => (x.leading_zeros() - (Bits::BITS - bits)).into(),
        UnaryOp::TrailingZeros => x.trailing_zeros().min(bits).into(),
        UnaryOp::ReverseBits => x.reverse_bits() >> (Bits::BITS - bits),
        UnaryOp::SwapBytes => x.swap_bytes() >> (Bits::BITS - bits),
        UnaryOp::Real => parts(dtype, x).0,
        UnaryOp::Imag => parts(dtype, x).1,
        UnaryOp::Conj => {
            let (real, imaginary) = parts(dtype, x);
            from_parts(dtype, real, negative(part_dtype(dtype), imaginary))
        }
        UnaryOp::Sin => function(f64::sin, dtype, x),
        UnaryOp::Cos => function(f64::cos, dtype, x),
        UnaryOp::Tan => function(f64::tan, dtype, x),
        UnaryOp::Asin => function(f64::asin, dtype, x),
        UnaryOp::Acos => function(f64::acos, dtype, x),
        UnaryOp::Atan => function(f64::atan, dtype, x),
        UnaryOp::Sqrt => function(f64::sqrt, dtype, x),
        UnaryOp::Exp => function(f64::exp, dtype, x),
        UnaryOp::Log => function(f64::ln, dtype, x),
        UnaryOp::Exp2 => function(f64::exp2, dtype, x),
        UnaryOp::Expm1 => function(f64::exp_m1, dtype, x),
        UnaryOp::Log2 => function(f64::log2, dtype, x),
        UnaryOp::Log10 => function(f64::log10, dtype, x),
        UnaryOp::Log1p => function(f64::ln_1p, dtype, x),
        UnaryOp::Sinh => function(f64::sinh, dtype, x),
        UnaryOp::Cosh => function(f64::cosh, dtype, x),
        UnaryOp::Tanh => function(f64::tanh, dtype, x),
        UnaryOp::Asinh => function(|x| asinh(x), dtype, x),
        UnaryOp::Acosh => function(|x| acosh(x), dtype, x),
        UnaryOp::Atanh => function(|x| atanh(x), dtype, x),
        other => panic!("the model lacks {other}"),
    }
}

// Those of the C library, which are accurate where the standard library's own overflow or cancel.
unsafe extern "C" {
    safe fn asinh(x: f64) -> f64;
    safe fn acosh(x: f64) -> f64;
    safe fn atanh(x: f64) -> f64;
}

/// Returns a function of the standard library, rounded to the dtype.
fn function(f: fn(f64) -> f64, dtype: DType, x: Bits) -> Bits {
    nearest(dtype, f(value(dtype, x)))
}

/// Returns −1, 0 or 1, or the NaN itself.
fn sign(dtype: DType, x: Bits) -> Bits {
    let number = decode(dtype, x);
    let sign = match number {
        Number::Nan { .. } => return x,
        Number::Finite { mantissa: 0, .. } => 0,
        _ if is_negative(dtype, x) => -1,
        _ => 1,
    };
    cast(DType::I8, dtype, wrapped(DType::I8, sign))
}

/// Rounds a float to an integer. Integers are unchanged.
fn rounded(op: UnaryOp, dtype: DType, x: Bits) -> Bits {
    let Number::Finite { negative, mantissa, exponent } = decode(dtype, x) else { return x };
    if exponent >= 0 {
        return x;
    }
    // A fraction of more than 126 bits is below one half and not 0.
    let shift = exponent.unsigned_abs().min(126);
    let (whole, fraction) = (mantissa >> shift, mantissa & ((1 << shift) - 1));
    let half = 1 << (shift - 1);
    let up = match op {
        UnaryOp::Floor => negative && fraction != 0,
        UnaryOp::Ceil => !negative && fraction != 0,
        UnaryOp::Trunc => false,
        _ => fraction > half || (fraction == half && whole % 2 == 1),
    };
    let mantissa = whole + Bits::from(up);
    encode_float(dtype, Number::Finite { negative, mantissa, exponent: 0 })
}

/// Returns the magnitude: an integer wraps, the sign bit of a float is cleared, and that of a complex number is the
/// length of its parts.
fn abs(dtype: DType, x: Bits) -> Bits {
    if dtype.is_complex() {
        let (real, imaginary) = parts(dtype, x);
        return binary(BinaryOp::Hypot, part_dtype(dtype), real, imaginary);
    }
    if dtype.is_float() {
        return x & !(1 << (dtype.bits() - 1));
    }
    wrapped(dtype, integer(dtype, x).abs())
}

/// Returns the negation: an integer wraps, the sign bit of a float is flipped, and those of both parts of a complex
/// number.
fn negative(dtype: DType, x: Bits) -> Bits {
    if dtype.is_complex() {
        let part = part_dtype(dtype);
        let (real, imaginary) = parts(dtype, x);
        return from_parts(dtype, negative(part, real), negative(part, imaginary));
    }
    if dtype.is_float() { x ^ 1 << (dtype.bits() - 1) } else { wrapped(dtype, -integer(dtype, x)) }
}

/// Flips every bit; a bool has only one.
fn bitwise_not(dtype: DType, x: Bits) -> Bits {
    if dtype == DType::Bool { x ^ 1 } else { wrapped(dtype, !integer(dtype, x)) }
}
