//! The reductions (docs/semantics.md, section 8).

use bitlane::{BinaryOp, DType, ReduceOp};

use super::element::{Bits, Nan, cast, from_parts, integer, part_dtype, parts, same, wrapped};
use super::ops::apply;

/// Returns whether a reduction is defined for a dtype.
pub fn is_defined(op: ReduceOp, dtype: DType) -> bool {
    match op {
        ReduceOp::Sum | ReduceOp::Prod => true,
        ReduceOp::Any | ReduceOp::All | ReduceOp::CountNonzero => true,
        ReduceOp::BitwiseAnd | ReduceOp::BitwiseOr | ReduceOp::BitwiseXor => {
            dtype.is_int() || dtype == DType::Bool
        }
        ReduceOp::Mean => dtype.is_float() || dtype.is_complex(),
        ReduceOp::Var | ReduceOp::Std => dtype.is_float(),
        ReduceOp::Max | ReduceOp::Min => !dtype.is_complex(),
        ReduceOp::Argmax | ReduceOp::Argmin => !dtype.is_complex(),
        other => panic!("the model lacks {other}"),
    }
}

/// Returns the dtype of the reduction of elements of `dtype`.
pub fn result_dtype(op: ReduceOp, dtype: DType) -> DType {
    match op {
        ReduceOp::Sum | ReduceOp::Prod if dtype.is_unsigned_int() => DType::U64,
        ReduceOp::Sum | ReduceOp::Prod if dtype.is_int() || dtype == DType::Bool => DType::I64,
        ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Mean | ReduceOp::Max | ReduceOp::Min => dtype,
        ReduceOp::Var | ReduceOp::Std => dtype,
        ReduceOp::Any | ReduceOp::All => DType::Bool,
        ReduceOp::CountNonzero | ReduceOp::Argmax | ReduceOp::Argmin => DType::I64,
        ReduceOp::BitwiseAnd | ReduceOp::BitwiseOr | ReduceOp::BitwiseXor => dtype,
        other => panic!("the model lacks {other}"),
    }
}

/// Reduces elements of `dtype`. Returns `None` if there must be one and there is none.
pub fn reduce(op: ReduceOp, dtype: DType, elements: &[Bits]) -> Option<Bits> {
    let fold = |op: BinaryOp, dtype: DType, elements: &mut dyn Iterator<Item = Bits>| {
        elements.reduce(|left, right| apply(op, dtype, left, right))
    };
    let mut truths = elements.iter().map(|&bits| cast(dtype, DType::Bool, bits));
    match op {
        ReduceOp::Sum | ReduceOp::Mean => Some(sum(op, dtype, elements)),
        ReduceOp::Max => fold(BinaryOp::Maximum, dtype, &mut elements.iter().copied()),
        ReduceOp::Min => fold(BinaryOp::Minimum, dtype, &mut elements.iter().copied()),
        ReduceOp::Var | ReduceOp::Std => Some(variance(op, dtype, elements, 0.0)),
        ReduceOp::Argmax => first(dtype, elements, reduce(ReduceOp::Max, dtype, elements)?),
        ReduceOp::Argmin => first(dtype, elements, reduce(ReduceOp::Min, dtype, elements)?),
        ReduceOp::Prod => Some(product(dtype, elements)),
        ReduceOp::CountNonzero => Some(truths.filter(|&truth| truth == 1).count() as Bits),
        ReduceOp::BitwiseAnd => {
            let ones = if dtype == DType::Bool { 1 } else { !0 >> (128 - dtype.bits()) };
            Some(elements.iter().fold(ones, |total, bits| total & bits))
        }
        ReduceOp::BitwiseOr => Some(elements.iter().fold(0, |total, bits| total | bits)),
        ReduceOp::BitwiseXor => Some(elements.iter().fold(0, |total, bits| total ^ bits)),
        ReduceOp::Any => Some(truths.any(|truth| truth == 1).into()),
        ReduceOp::All => Some(truths.all(|truth| truth == 1).into()),
        other => panic!("the model lacks {other}"),
    }
}

/// Returns the place of the first element that is the extreme, or of the first NaN if that is one.
fn first(dtype: DType, elements: &[Bits], extreme: Bits) -> Option<Bits> {
    let place = elements.iter().position(|&bits| same(dtype, extreme, bits, Nan::Any));
    place.map(|place| place as Bits)
}

fn sum(op: ReduceOp, dtype: DType, elements: &[Bits]) -> Bits {
    if dtype.is_complex() {
        let part = part_dtype(dtype);
        let (real, imaginary): (Vec<_>, Vec<_>) =
            elements.iter().map(|&bits| parts(dtype, bits)).unzip();
        return from_parts(dtype, sum(op, part, &real), sum(op, part, &imaginary));
    }
    if dtype.is_float() {
        let terms: Vec<f64> = elements.iter().map(|&bits| widened(dtype, bits)).collect();
        let total = match (op, terms.len()) {
            (ReduceOp::Mean, 0) => f64::NAN,
            (_, 0) => 0.0,
            (ReduceOp::Mean, count) => tree(&terms, &|x, y| x + y) / count as f64,
            _ => tree(&terms, &|x, y| x + y),
        };
        return cast(DType::F64, dtype, total.to_bits().into());
    }
    let value = |bits: Bits| if dtype == DType::Bool { bits as i128 } else { integer(dtype, bits) };
    wrapped(result_dtype(op, dtype), elements.iter().map(|&bits| value(bits)).sum())
}

fn product(dtype: DType, elements: &[Bits]) -> Bits {
    if dtype.is_complex() {
        let part = part_dtype(dtype);
        let wide = |bits: Bits| {
            let (re, im) = parts(dtype, bits);
            (widened(part, re), widened(part, im))
        };
        let terms: Vec<_> = elements.iter().map(|&bits| wide(bits)).collect();
        let (re, im) = match terms.len() {
            0 => (1.0, 0.0),
            _ => tree(&terms, &|x, y| (x.0 * y.0 - x.1 * y.1, x.0 * y.1 + x.1 * y.0)),
        };
        let [re, im] = [re, im].map(|x: f64| cast(DType::F64, part, x.to_bits().into()));
        return from_parts(dtype, re, im);
    }
    if dtype.is_float() {
        let terms: Vec<f64> = elements.iter().map(|&bits| widened(dtype, bits)).collect();
        let total = if terms.is_empty() { 1.0 } else { tree(&terms, &|x, y| x * y) };
        return cast(DType::F64, dtype, total.to_bits().into());
    }
    let value = |bits: Bits| if dtype == DType::Bool { bits as i128 } else { integer(dtype, bits) };
    // Low halves of products depend only on the low halves of their factors.
    let total = elements.iter().fold(1i64, |total, &bits| total.wrapping_mul(value(bits) as i64));
    wrapped(result_dtype(ReduceOp::Prod, dtype), total.into())
}

/// Computes a variance or a standard deviation: two trees in `f64`, and one rounding.
pub fn variance(op: ReduceOp, dtype: DType, elements: &[Bits], correction: f64) -> Bits {
    let terms: Vec<f64> = elements.iter().map(|&bits| widened(dtype, bits)).collect();
    let sum = |terms: &[f64]| if terms.is_empty() { 0.0 } else { tree(terms, &|x, y| x + y) };
    let mean = sum(&terms) / terms.len() as f64;
    let squares: Vec<f64> = terms.iter().map(|x| (x - mean) * (x - mean)).collect();
    let divisor = terms.len() as f64 - correction;
    let variance = sum(&squares) / if divisor > 0.0 { divisor } else { 0.0 };
    let result = if op == ReduceOp::Std { variance.sqrt() } else { variance };
    cast(DType::F64, dtype, result.to_bits().into())
}

pub fn widened(dtype: DType, bits: Bits) -> f64 {
    match dtype {
        DType::F32 => f32::from_bits(bits as u32).into(),
        _ => f64::from_bits(cast(dtype, DType::F64, bits) as u64),
    }
}

/// The definition of the order: the terms are the leaves of a perfect binary tree, and every node combines its children.
/// Missing leaves change nothing.
pub fn tree<T: Copy>(terms: &[T], combine: &impl Fn(T, T) -> T) -> T {
    if let [term] = terms {
        return *term;
    }
    let (left, right) = terms.split_at(terms.len().next_power_of_two() / 2);
    combine(tree(left, combine), tree(right, combine))
}
