//! Operations of one operand.

use std::hint::black_box;

use bitlane::{DType, Device, Rules, Tensor, UnaryOp, unary};

use crate::Call;
use crate::cases::{dtype, length};

/// Returns the operation of a name, if it is one of these.
pub fn operation(name: &str) -> Option<UnaryOp> {
    name.parse().ok()
}

/// An operation on so many elements that lie anywhere in its domain.
pub fn prepare(op: UnaryOp, name: &str, shape: &str) -> Option<Call> {
    let x = scattered(&[length(shape)?], dtype(name)?, range(op));
    Some(Box::new(move || {
        drop(black_box(unary(op, black_box(&x)).rules(Rules::Torch).run().unwrap()));
    }))
}

/// The numbers of which an operation is measured.
fn range(op: UnaryOp) -> (f64, f64) {
    use UnaryOp::{
        Acos, Acosh, Asin, Atanh, Ceil, CountOnes, Floor, LeadingZeros, Log, Log1p, Log2, Log10,
        Round, Sqrt, SwapBytes, Trunc,
    };
    match op {
        Asin | Acos | Atanh => (-1.0, 1.0),
        Acosh => (1.0, 9.0),
        Log | Log2 | Log10 | Log1p | Sqrt => (0.0, 8.0),
        Floor | Ceil | Trunc | Round => (-100.0, 100.0),
        CountOnes | LeadingZeros | SwapBytes => (0.0, 100.0),
        _ => (-4.0, 4.0),
    }
}

/// Numbers of a range in no order.
pub fn scattered(shape: &[usize], dtype: DType, (low, high): (f64, f64)) -> Tensor {
    let len = shape.iter().product();
    let at = |index: usize| f64::from((index as u32).wrapping_mul(2_654_435_761) >> 8);
    let numbers: Vec<f64> =
        (0..len).map(|index| low + at(index) / f64::from(1 << 24) * (high - low)).collect();
    Tensor::from_vec(numbers, shape, &Device::cpu()).unwrap().cast(dtype).unwrap()
}
