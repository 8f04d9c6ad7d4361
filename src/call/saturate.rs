//! Conversions that saturate: what is too large for a dtype becomes the nearest value that it has.

use super::{Call, Elements};
use crate::op::ElementOp;
use crate::{DType, Error, Result, Scalar, f8e4m3fn, f8e5m2};

impl<'a> Call<'a> {
    /// Adds a conversion to a dtype, of values limited to the lowest and the highest finite one of that dtype. A NaN stays
    /// a NaN, or becomes the integer 0.
    ///
    /// # Errors
    ///
    /// [`Error::UnsupportedDType`] for a complex dtype.
    pub(crate) fn cast_saturating(
        &mut self,
        x: Elements<'a>,
        dtype: DType,
    ) -> Result<Elements<'a>> {
        if dtype.is_complex() {
            let allowed = "bool, integers and floats";
            return Err(Error::UnsupportedDType { op: "cast_saturating", dtype, allowed });
        }
        let x = match self.program.dtype(x.value) {
            // Whose truth is that of both parts.
            _ if dtype == DType::Bool => x,
            DType::C64 => self.cast(x, DType::F32),
            DType::C128 => self.cast(x, DType::F64),
            _ => x,
        };
        let from = self.program.dtype(x.value);
        let limits = limits(from, dtype);
        let Some((within, [low, high])) = limits else { return Ok(self.cast(x, dtype)) };
        let mut value = self.cast(x, within).value;
        for (op, limit) in [(ElementOp::Maximum, low), (ElementOp::Minimum, high)] {
            let limit = self.constant(limit, within);
            value = self.program.apply(op, [value, limit]);
        }
        Ok(self.cast(Elements { value, ..x }, dtype))
    }
}

/// Returns the limits of a dtype, and the dtype in which to compare values with them: it has both the values and the
/// limits. `None` if the ordinary conversion saturates, or if no value is beyond the limits.
fn limits(from: DType, to: DType) -> Option<(DType, [Scalar; 2])> {
    if to.is_int() {
        return integer_limits(from, to);
    }
    let largest = match to {
        DType::F8E4M3FN => f8e4m3fn::MAX.into(),
        DType::F8E5M2 => f8e5m2::MAX.into(),
        DType::F16 => crate::f16::MAX.into(),
        // No integer is too large for these.
        _ if !from.is_float() => return None,
        DType::BF16 => crate::bf16::MAX.into(),
        DType::F32 => f32::MAX.into(),
        DType::F64 => f64::MAX,
        // Integers are above, and complex numbers are refused.
        DType::Bool | DType::C64 | DType::C128 => return None,
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => return None,
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => return None,
    };
    // An integer that `f32` rounds is beyond the limits.
    let within = if from == DType::F64 || to == DType::F64 { DType::F64 } else { DType::F32 };
    Some((within, [-largest, largest].map(Scalar::Float)))
}

/// Returns the limits of an integer dtype for the values of another one.
fn integer_limits(from: DType, to: DType) -> Option<(DType, [Scalar; 2])> {
    if !from.is_int() {
        return None;
    }
    let range = |dtype: DType| -> [i128; 2] {
        let bits = dtype.bits();
        if dtype.is_signed_int() {
            [-1 << (bits - 1), (1 << (bits - 1)) - 1]
        } else {
            [0, (1 << bits) - 1]
        }
    };
    let ([own_low, own_high], [low, high]) = (range(from), range(to));
    let limits = [low.max(own_low), high.min(own_high)];
    let scalar = |limit: i128| i64::try_from(limit).map_or(Scalar::UInt(limit as u64), Scalar::Int);
    (limits != [own_low, own_high]).then(|| (from, limits.map(scalar)))
}
