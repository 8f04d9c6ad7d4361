//! One element: its bits, the number that they represent, and conversion between dtypes.

use bitlane::{DType, Device, Tensor};

use super::functions::{is_near, units};

/// The bits of an element of any dtype; of a complex element, the real part is in the lower bits.
pub type Bits = u128;

/// An exact real number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    Nan {
        negative: bool,
    },
    Infinite {
        negative: bool,
    },
    /// `mantissa * 2^exponent`.
    Finite {
        negative: bool,
        mantissa: u128,
        exponent: i32,
    },
}

/// Returns the widths of exponent and mantissa of a float, or of a part of a complex number.
pub fn float_format(dtype: DType) -> Option<(u32, u32)> {
    match dtype {
        DType::F8E4M3FN => Some((4, 3)),
        DType::F8E5M2 => Some((5, 2)),
        DType::F16 => Some((5, 10)),
        DType::BF16 => Some((8, 7)),
        DType::F32 | DType::C64 => Some((8, 23)),
        DType::F64 | DType::C128 => Some((11, 52)),
        _ => None,
    }
}

/// Returns the dtype of the parts of a complex dtype.
pub fn part_dtype(dtype: DType) -> DType {
    match dtype {
        DType::C64 => DType::F32,
        DType::C128 => DType::F64,
        other => other,
    }
}

/// Returns the real and the imaginary part.
pub fn parts(dtype: DType, bits: Bits) -> (Bits, Bits) {
    let half = part_dtype(dtype).bits();
    (bits & ((1 << half) - 1), bits >> half)
}

pub fn from_parts(dtype: DType, real: Bits, imaginary: Bits) -> Bits {
    real | imaginary << part_dtype(dtype).bits()
}

/// Returns the value of an integer's bits.
pub fn integer(dtype: DType, bits: Bits) -> i128 {
    let value = bits as i128;
    let is_negative = dtype.is_signed_int() && bits >> (dtype.bits() - 1) == 1;
    if is_negative { value - (1 << dtype.bits()) } else { value }
}

/// Returns an integer's bits, truncated to the width of the dtype.
pub fn wrapped(dtype: DType, value: i128) -> Bits {
    value as u128 & ((1 << dtype.bits()) - 1)
}

/// Returns the number that the bits of a real dtype represent.
pub fn decode(dtype: DType, bits: Bits) -> Number {
    let Some((exponent_bits, mantissa_bits)) = float_format(dtype) else {
        let value = if dtype == DType::Bool { bits as i128 } else { integer(dtype, bits) };
        let (negative, mantissa) = (value < 0, value.unsigned_abs());
        return Number::Finite { negative, mantissa, exponent: 0 };
    };
    let negative = bits >> (exponent_bits + mantissa_bits) & 1 == 1;
    let fraction = bits & ((1 << mantissa_bits) - 1);
    let biased = (bits >> mantissa_bits & ((1 << exponent_bits) - 1)) as i32;
    let bias = (1 << (exponent_bits - 1)) - 1;
    // A dtype without infinities has numbers there, except the last.
    if dtype == DType::F8E4M3FN && bits & 0x7f == 0x7f {
        return Number::Nan { negative };
    }
    if dtype != DType::F8E4M3FN && biased == (1 << exponent_bits) - 1 {
        return match fraction {
            0 => Number::Infinite { negative },
            _ => Number::Nan { negative },
        };
    }
    let implicit = if biased == 0 { 0 } else { 1 << mantissa_bits };
    let exponent = biased.max(1) - bias - mantissa_bits as i32;
    Number::Finite { negative, mantissa: fraction | implicit, exponent }
}

/// Returns the bits of the float nearest to a number, ties to even.
pub fn encode_float(dtype: DType, number: Number) -> Bits {
    let (exponent_bits, mantissa_bits) = float_format(dtype).unwrap();
    let sign = |negative: bool| Bits::from(negative) << (exponent_bits + mantissa_bits);
    let infinity = match dtype {
        DType::F8E4M3FN => 0x7f, // the NaN
        _ => ((1 << exponent_bits) - 1) << mantissa_bits,
    };
    let (negative, mantissa, exponent) = match number {
        Number::Nan { negative } => return sign(negative) | infinity | 1 << (mantissa_bits - 1),
        Number::Infinite { negative } => return sign(negative) | infinity,
        Number::Finite { negative, mantissa, exponent } => (negative, mantissa, exponent),
    };
    if mantissa == 0 {
        return sign(negative);
    }
    let bias = (1 << (exponent_bits - 1)) - 1;
    // The exponent of the last bit kept: that of the leading bit minus the width, or the smallest.
    let leading = exponent + 127 - mantissa.leading_zeros() as i32;
    let smallest = 1 - bias;
    let last = leading.max(smallest) - mantissa_bits as i32;
    let kept = if last <= exponent {
        mantissa << (exponent - last)
    } else {
        let dropped = (last - exponent) as u32;
        let (kept, rest) = match dropped {
            0..=127 => (mantissa >> dropped, mantissa & ((1 << dropped) - 1)),
            _ => (0, 1),
        };
        let half = 1u128.checked_shl(dropped - 1).unwrap_or(u128::MAX);
        kept + u128::from(rest > half || rest == half && kept & 1 == 1)
    };
    // A carry out of the mantissa increments the biased exponent stored above it.
    let biased = (leading.max(smallest) + bias) as u128;
    let bits = kept + ((biased - 1) << mantissa_bits);
    sign(negative) | if bits > infinity { infinity } else { bits }
}

/// docs/semantics.md, section 7: `cast`.
pub fn cast(from: DType, to: DType, bits: Bits) -> Bits {
    if from == to {
        return bits;
    }
    let (real, imaginary) = parts(from, bits);
    if to == DType::Bool {
        let is_zero =
            |part| matches!(decode(part_dtype(from), part), Number::Finite { mantissa: 0, .. });
        return Bits::from(!is_zero(real) || from.is_complex() && !is_zero(imaginary));
    }
    if to.is_complex() {
        let part = |bits| cast(part_dtype(from), part_dtype(to), bits);
        let imaginary = if from.is_complex() { part(imaginary) } else { 0 };
        return from_parts(to, part(if from.is_complex() { real } else { bits }), imaginary);
    }
    let number = decode(part_dtype(from), if from.is_complex() { real } else { bits });
    if to.is_float() {
        return encode_float(to, number);
    }
    if !from.is_float() && !from.is_complex() {
        let value = if from == DType::Bool { bits as i128 } else { integer(from, bits) };
        return wrapped(to, value);
    }
    let low = if to.is_signed_int() { -(1i128 << (to.bits() - 1)) } else { 0 };
    let high = low + (1 << to.bits()) - 1;
    let value = match number {
        Number::Nan { .. } => 0,
        Number::Infinite { negative: true } => low,
        Number::Infinite { negative: false } => high,
        Number::Finite { negative, mantissa, exponent } => {
            let magnitude = if exponent < 0 {
                mantissa.checked_shr(exponent.unsigned_abs()).unwrap_or(0)
            } else if exponent > 64 {
                u128::from(mantissa != 0) << 100
            } else {
                mantissa << exponent
            };
            let magnitude = magnitude as i128;
            (if negative { -magnitude } else { magnitude }).clamp(low, high)
        }
    };
    wrapped(to, value)
}

/// How a result, in particular a NaN, may differ from the expected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nan {
    /// Not at all: bits were copied.
    Exact,
    /// A NaN in its payload: it was converted before.
    SameSign,
    /// A NaN in sign and payload: it was computed.
    Any,
    /// A NaN in sign and payload, and a number in its last place: it is the result of a function whose last place is
    /// open.
    Near,
    /// Like `Near`, but in units in the last place of 1/2 if the result is smaller: for logaddexp, whose operands are
    /// not small where its result is.
    NearSum,
}

/// Returns whether an element is the expected one, up to what the specification leaves open.
pub fn same(dtype: DType, expected: Bits, given: Bits, nan: Nan) -> bool {
    if expected == given {
        return true;
    }
    if dtype.is_complex() {
        let ((re, im), (given_re, given_im)) = (parts(dtype, expected), parts(dtype, given));
        let part = part_dtype(dtype);
        return same(part, re, given_re, nan) && same(part, im, given_im, nan);
    }
    match (decode(dtype, expected), decode(dtype, given), nan) {
        (Number::Nan { .. }, Number::Nan { .. }, Nan::Any) => true,
        (Number::Nan { negative: l }, Number::Nan { negative: r }, Nan::SameSign) => l == r,
        (.., Nan::Near) if dtype.is_float() => is_near(dtype, expected, given, units(dtype), 0.0),
        (.., Nan::NearSum) if dtype.is_float() => {
            is_near(dtype, expected, given, units(dtype), 0.5)
        }
        _ => false,
    }
}

/// Returns elements as bytes in memory.
pub fn to_bytes(dtype: DType, elements: &[Bits]) -> Vec<u8> {
    let part = part_dtype(dtype).size();
    let mut bytes = Vec::with_capacity(elements.len() * dtype.size());
    for element in elements {
        bytes.extend(&element.to_le_bytes()[..dtype.size()]);
    }
    if cfg!(target_endian = "big") {
        bytes.chunks_exact_mut(part).for_each(<[u8]>::reverse);
    }
    bytes
}

pub fn from_bytes(dtype: DType, bytes: &[u8]) -> Vec<Bits> {
    let part = part_dtype(dtype).size();
    let element = |bytes: &[u8]| {
        let mut wide = [0; 16];
        wide[..bytes.len()].copy_from_slice(bytes);
        if cfg!(target_endian = "big") {
            wide[..bytes.len()].chunks_exact_mut(part).for_each(<[u8]>::reverse);
        }
        Bits::from_le_bytes(wide)
    };
    bytes.chunks_exact(dtype.size()).map(element).collect()
}

/// Creates a tensor of these elements.
pub fn upload(dtype: DType, elements: &[Bits], shape: &[usize], device: &Device) -> Tensor {
    Tensor::from_bytes(dtype, &to_bytes(dtype, elements), shape, device).unwrap()
}

/// Returns a tensor's elements in row-major order.
pub fn download(tensor: &Tensor) -> Vec<Bits> {
    from_bytes(tensor.dtype(), &tensor.to_bytes().unwrap())
}

/// Returns the edge values of a dtype.
pub fn edge_values(dtype: DType) -> Vec<Bits> {
    if dtype == DType::Bool {
        return vec![0, 1];
    }
    if dtype.is_complex() {
        let part = part_dtype(dtype);
        let all = edge_values(part);
        // Every edge value in either part, and all pairs of a few.
        let few: Vec<_> = all.iter().copied().step_by(3).collect();
        let one = encode_float(part, Number::Finite { negative: false, mantissa: 1, exponent: 0 });
        let axes = all.iter().flat_map(|&value| [(value, 0), (one, value)]);
        let pairs = few.iter().flat_map(|&re| few.iter().map(move |&im| (re, im)));
        return axes.chain(pairs).map(|(re, im)| from_parts(dtype, re, im)).collect();
    }
    let bits = dtype.bits();
    let Some((_, mantissa_bits)) = float_format(dtype) else {
        let width = i128::from(bits);
        let powers = (0..bits).flat_map(|power| [-1, 0, 1].map(|by| (1i128 << power) + by));
        let small = [-2, -1, 0, 1, 2, 3, 5, 7, width - 1, width, width + 1, -width, 85, -86];
        let mut all: Vec<_> = powers.chain(small).map(|value| wrapped(dtype, value)).collect();
        all.sort_unstable();
        all.dedup();
        return all;
    };
    let infinity = encode_float(dtype, Number::Infinite { negative: false });
    let float = |mantissa, exponent| {
        encode_float(dtype, Number::Finite { negative: false, mantissa, exponent })
    };
    let quiet = 1 << (mantissa_bits - 1);
    let positive = [
        0,
        1,                        // the smallest subnormal
        (1 << mantissa_bits) - 1, // the largest one
        1 << mantissa_bits,       // the smallest normal
        infinity - 1,             // the largest number
        infinity,
        infinity | quiet, // NaNs: quiet, with a payload, signalling
        infinity | quiet | 0x2a,
        infinity | 1,
        float(1, 0),
        float(1, 0) + 1, // the next after 1
        float(1, -1),
        float(3, -1),
        float(2, 0),
        float(3, 0),
        float(1, 7),
        float(255, 0),
        float(1, 31),
        float(1, 63),
        float(1, 64),
        float(0x0012_3456_789a_bcde, -40),
    ];
    let sign = 1 << (bits - 1);
    positive.iter().flat_map(|&value| [value, value | sign]).collect()
}
