//! The scans (docs/semantics.md, section 8).

use bitlane::{DType, ReduceOp, ScanOp};

use super::element::{Bits, cast, from_parts, part_dtype, parts};
use super::reduce::{self, tree, widened};

/// Returns the reduction that a scan computes up to each element.
fn reduction(op: ScanOp) -> ReduceOp {
    match op {
        ScanOp::Sum => ReduceOp::Sum,
        ScanOp::Prod => ReduceOp::Prod,
        ScanOp::Max => ReduceOp::Max,
        ScanOp::Min => ReduceOp::Min,
        ScanOp::Xor => ReduceOp::BitwiseXor,
        other => panic!("the model lacks {other}"),
    }
}

/// Returns whether a scan is defined for a dtype.
pub fn is_defined(op: ScanOp, dtype: DType) -> bool {
    reduce::is_defined(reduction(op), dtype)
}

/// Returns the dtype of the scan of elements of `dtype`.
pub fn result_dtype(op: ScanOp, dtype: DType) -> DType {
    reduce::result_dtype(reduction(op), dtype)
}

/// Scans elements of `dtype`.
pub fn scan(op: ScanOp, dtype: DType, elements: &[Bits]) -> Vec<Bits> {
    let is_tree = matches!(op, ScanOp::Sum | ScanOp::Prod);
    if is_tree && dtype.is_complex() {
        let part = part_dtype(dtype);
        let wide = |bits: Bits| {
            let (re, im) = parts(dtype, bits);
            (widened(part, re), widened(part, im))
        };
        let round = |x: f64| cast(DType::F64, part, x.to_bits().into());
        let terms: Vec<(f64, f64)> = elements.iter().map(|&bits| wide(bits)).collect();
        let results = match op {
            ScanOp::Sum => prefixes(&terms, &|x, y| (x.0 + y.0, x.1 + y.1)),
            _ => prefixes(&terms, &|x, y| (x.0 * y.0 - x.1 * y.1, x.0 * y.1 + x.1 * y.0)),
        };
        return results.iter().map(|&(re, im)| from_parts(dtype, round(re), round(im))).collect();
    }
    if is_tree && dtype.is_float() {
        let terms: Vec<f64> = elements.iter().map(|&bits| widened(dtype, bits)).collect();
        let results = match op {
            ScanOp::Sum => prefixes(&terms, &|x, y| x + y),
            _ => prefixes(&terms, &|x, y| x * y),
        };
        return results.iter().map(|x| cast(DType::F64, dtype, x.to_bits().into())).collect();
    }
    // In every order the same: the result so far, which has the dtype of the result, and the next element.
    let (op, result) = (reduction(op), result_dtype(op, dtype));
    let mut total: Option<Bits> = None;
    let next = |&bits: &Bits| {
        let one = reduce::reduce(op, dtype, &[bits]).unwrap();
        let both = |total| reduce::reduce(op, result, &[total, one]).unwrap();
        total = Some(total.map_or(one, both));
        total.unwrap()
    };
    elements.iter().map(next).collect()
}

/// The definition of the order: a prefix that ends in the left half of the tree is the prefix within it, and one that ends
/// in the right half is the left half combined with the prefix within the right one.
fn prefixes<T: Copy>(terms: &[T], combine: &impl Fn(T, T) -> T) -> Vec<T> {
    if terms.len() <= 1 {
        return terms.to_vec();
    }
    let (left, right) = terms.split_at(terms.len().next_power_of_two() / 2);
    let total = tree(left, combine);
    let right = prefixes(right, combine).into_iter().map(|prefix| combine(total, prefix));
    prefixes(left, combine).into_iter().chain(right).collect()
}
