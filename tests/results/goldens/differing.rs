//! The elements in which two results differ, with their operands.

use bitlane::{DType, Scalar};

use super::record::{Elements, Operand};
use super::replay::Case;

/// An element in which two results differ. Complex numbers and the terms of reductions are given as NaN.
pub struct Differing {
    pub x: f64,
    pub y: f64,
    pub theirs: f64,
    pub ours: f64,
    dtypes: [DType; 2],
}

impl Differing {
    /// Returns whether both results are zeros, which then have different signs.
    pub fn is_zero(&self) -> bool {
        self.theirs == 0.0 && self.ours == 0.0
    }

    /// Returns whether an operand or the crate's result is subnormal.
    pub fn has_subnormal(&self) -> bool {
        let [operands, result] = self.dtypes.map(smallest_normal);
        let below = |value: f64, smallest: f64| value != 0.0 && value.abs() < smallest;
        below(self.x, operands) || below(self.y, operands) || below(self.ours, result)
    }

    /// Returns whether x is the largest finite number or its negation.
    pub fn x_is_largest(&self) -> bool {
        let largest = match self.dtypes[0] {
            DType::F16 => bitlane::f16::MAX.into(),
            DType::BF16 => bitlane::bf16::MAX.into(),
            DType::F32 => f32::MAX.into(),
            _ => f64::MAX,
        };
        self.x.abs() == largest
    }

    /// Returns whether the results differ by no more than a fraction of ours.
    pub fn is_close(&self, part: f64) -> bool {
        (self.theirs - self.ours).abs() <= part * self.ours.abs()
    }
}

fn smallest_normal(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 2f64.powi(-14),
        DType::BF16 | DType::F32 => f32::MIN_POSITIVE.into(),
        DType::F64 => f64::MIN_POSITIVE,
        _ => 0.0,
    }
}

impl Case<'_> {
    /// Returns whether the results have the same dtype and shape, differ, and do so only in elements for which `such`
    /// holds.
    pub fn differs_only_where(&self, such: impl Fn(&Differing) -> bool) -> bool {
        let Some((theirs, ours)) = self.theirs().zip(self.our_result()) else { return false };
        if (theirs.dtype, &theirs.shape) != (ours.dtype, &ours.shape) {
            return false;
        }
        // The condition of a select does not count as an operand.
        let skipped = usize::from(self.record.op == "select");
        let operand = |at: usize, index| {
            let operand = self.record.operands.get(at + skipped);
            operand.map_or(f64::NAN, |operand| operand.broadcast(&theirs.shape, index))
        };
        let dtypes = [self.record.operands[skipped].dtype().unwrap_or(ours.dtype), ours.dtype];
        let differences = self.differences();
        !differences.is_empty()
            && differences.iter().all(|difference| {
                let index = difference.index;
                such(&Differing {
                    x: operand(0, index),
                    y: operand(1, index),
                    theirs: theirs.number(index),
                    ours: ours.number(index),
                    dtypes,
                })
            })
    }

    /// Returns whether the results differ, and only in the signs of zeros, including parts of complex numbers.
    pub fn differs_only_in_zeros(&self) -> bool {
        let Some((theirs, ours)) = self.theirs().zip(self.our_result()) else { return false };
        let differences = self.differences();
        let both_zero = |index| {
            let [theirs, ours] = [theirs, ours].map(|tensor| tensor.parts(index));
            // A nonzero part must be equal.
            theirs.iter().zip(&ours).all(|(theirs, ours)| theirs == ours)
        };
        (theirs.dtype, &theirs.shape) == (ours.dtype, &ours.shape)
            && !differences.is_empty()
            && differences.iter().all(|difference| both_zero(difference.index))
    }

    fn our_result(&self) -> Option<&Elements> {
        self.ours.as_ref().ok().map(|ours| &ours.tensors[0])
    }
}

impl Operand {
    /// Returns the number at a row-major index after broadcasting to a shape.
    fn broadcast(&self, shape: &[usize], index: usize) -> f64 {
        match self {
            Operand::Tensor(elements) => elements.broadcast(shape, index),
            Operand::Scalar(Scalar::Bool(value)) => f64::from(u8::from(*value)),
            Operand::Scalar(Scalar::Int(value)) => *value as f64,
            Operand::Scalar(Scalar::UInt(value)) => *value as f64,
            Operand::Scalar(Scalar::Float(value)) => *value,
            _ => f64::NAN,
        }
    }
}

impl Elements {
    /// Like [`Operand::broadcast`]; NaN if the tensor does not broadcast to the shape.
    fn broadcast(&self, shape: &[usize], index: usize) -> f64 {
        let Some(missing) = shape.len().checked_sub(self.shape.len()) else { return f64::NAN };
        let (strides, offset) = match &self.view {
            Some((strides, offset)) => (strides.clone(), *offset),
            None => (row_major(&self.shape), 0),
        };
        let (mut place, mut rest) = (offset as isize, index);
        for axis in (0..shape.len()).rev() {
            let at = rest % shape[axis];
            rest /= shape[axis];
            if axis >= missing && self.shape[axis - missing] > 1 {
                place += at as isize * strides[axis - missing];
            }
        }
        self.number(place as usize)
    }

    /// Returns an element of the buffer as a number; NaN for a complex element.
    fn number(&self, index: usize) -> f64 {
        let bytes = &self.bytes[index * self.dtype.size()..][..self.dtype.size()];
        macro_rules! integer {
            ($integer:ident) => {
                $integer::from_ne_bytes(bytes.try_into().unwrap()) as f64
            };
        }
        match self.dtype {
            DType::Bool | DType::U8 => integer!(u8),
            DType::U16 => integer!(u16),
            DType::U32 => integer!(u32),
            DType::U64 => integer!(u64),
            DType::I8 => integer!(i8),
            DType::I16 => integer!(i16),
            DType::I32 => integer!(i32),
            DType::I64 => integer!(i64),
            DType::C64 | DType::C128 => f64::NAN,
            _ => self.float(index),
        }
    }

    /// Returns the parts of a complex element, or the number itself.
    fn parts(&self, index: usize) -> Vec<f64> {
        let part = match self.dtype {
            DType::C64 => DType::F32,
            DType::C128 => DType::F64,
            _ => return vec![self.number(index)],
        };
        let parts =
            Elements { dtype: part, shape: Vec::new(), view: None, bytes: self.bytes.clone() };
        vec![parts.float(2 * index), parts.float(2 * index + 1)]
    }
}

fn row_major(shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis] as isize;
    }
    strides
}
