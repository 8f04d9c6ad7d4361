//! The gradient of `copysign`.

use crate::call::{Call, Elements, ReduceAxes, Target, Term};
use crate::layout::{MAX_RANK, boxed};
use crate::op::{Domain, ElementOp, ReduceOp};
use crate::operand::Operand;
use crate::{BinaryOp, DType, Error, Result, Tensor};

const OP: &str = "copysign_grad";

/// # Gradients
impl Tensor {
    /// Returns the gradients of `self.copysign(y)` with respect to `self` and `y`, given the gradient of its result.
    ///
    /// The first is the incoming gradient, negated where `copysign` changed the sign of `self`, and 0 where `self` is
    /// ±0. The second is 0. Each has the dtype and shape of its operand: over dimensions in which the operand was
    /// broadcast, the gradient is summed as by [`Tensor::sum`], in `f64` and rounded once to the dtype of the operand.
    /// If `y` is a number, its gradient is a tensor without dimensions, of the dtype of the result.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let device = Device::cpu();
    /// let x = Tensor::from_slice(&[3.0f32, -3.0, 0.0], [3], &device)?;
    /// let y = Tensor::from_slice(&[-1.0f32, -1.0, 1.0], [3], &device)?;
    /// let g = Tensor::from_slice(&[0.5f32, 0.25, 1.0], [3], &device)?;
    /// let (gx, gy) = x.copysign_grad(&y, &g)?;
    /// assert_eq!(gx.to_vec::<f32>()?, [-0.5, 0.25, 0.0]);
    /// assert_eq!(gy.to_vec::<f32>()?, [0.0, 0.0, 0.0]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::UnsupportedDType`] if an operand or the result of `copysign` is not a float.
    /// - [`Error::Promotion`] or [`Error::Broadcast`] if `self.copysign(y)` fails with it.
    /// - [`Error::InvalidArgument`] or [`Error::InvalidShape`] if the gradient does not have the dtype or the shape of
    ///   the result.
    /// - [`Error::DeviceMismatch`] if the tensors are not on the same device.
    /// - [`Error::OutOfMemory`], and on CUDA [`Error::Compile`] or [`Error::Driver`].
    pub fn copysign_grad<'a>(
        &self,
        y: impl Into<Operand<'a>>,
        gradient: &Tensor,
    ) -> Result<(Tensor, Tensor)> {
        let y = y.into();
        let mut call = Call::new();
        let x = call.tensor(self);
        let y = call.operand(&y);
        let (resolved, shape_id, device) = call
            .resolve_pair(BinaryOp::Copysign, &x.into(), &y)
            .map_err(|error| of_gradient(error, self.dtype()))?;
        let shape = *call.shape(shape_id);
        let result = resolved.result;
        let y_dtype = match &y {
            Term::Elements(y) => call.program.dtype(y.value),
            Term::Number(_) => result,
        };
        let dtypes = [self.dtype(), y_dtype, result];
        if let Some(dtype) = dtypes.into_iter().find(|dtype| !dtype.is_float()) {
            return Err(Error::UnsupportedDType { op: OP, dtype, allowed: Domain::Floats.words() });
        }
        self.device().expect_same(OP, gradient.device())?;
        if gradient.dtype() != result {
            let reason = format!(
                "the gradient is {}, but the result of copysign is {result}; cast it",
                gradient.dtype()
            );
            return Err(Error::InvalidArgument { op: OP, reason });
        }
        if gradient.shape() != &*shape {
            let reason = format!("the gradient must have the shape of the result, {:?}", &*shape);
            return Err(Error::InvalidShape { op: OP, shape: boxed(gradient.shape()), reason });
        }
        let gy = match &y {
            Term::Elements(y) => Tensor::zeros(&**call.shape(y.shape), y_dtype, self.device())?,
            Term::Number(_) => Tensor::zeros((), y_dtype, self.device())?,
        };

        let g = call.tensor(gradient).value;
        let negative_y = match y {
            Term::Elements(y) => call.program.apply(ElementOp::Signbit, [y.value]),
            Term::Number(y) => call.constant(y.is_sign_negative(), DType::Bool),
        };
        let negative_x = call.program.apply(ElementOp::Signbit, [x.value]);
        let turned = call.program.apply(ElementOp::LogicalXor, [negative_x, negative_y]);
        let opposite = call.program.apply(ElementOp::Negative, [g]);
        let signed = call.program.apply(ElementOp::Select, [turned, opposite, g]);
        let (zero_x, zero_g) = (call.constant(0, self.dtype()), call.constant(0, result));
        let is_zero = call.program.apply(ElementOp::Equal, [x.value, zero_x]);
        let value = call.program.apply(ElementOp::Select, [is_zero, zero_g, signed]);

        // The dimensions in which `self` was broadcast.
        let added = shape.len() - self.rank();
        let mut axes = [false; MAX_RANK];
        for (axis, summed) in axes.iter_mut().enumerate().take(shape.len()) {
            *summed = axis < added || (self.shape()[axis - added] == 1 && shape[axis] != 1);
        }
        let mut gx = Elements { value, shape: shape_id, device };
        let over = if axes.contains(&true) {
            Some(ReduceAxes {
                op: ReduceOp::Sum,
                axes,
                keepdims: false,
                rounded: self.dtype(),
                correction: 0.0,
            })
        } else {
            gx = call.cast(gx, self.dtype());
            None
        };
        let gx = call.run(OP, gx, over, Target::default())?.reshape(self.shape())?;
        Ok((gx, gy))
    }
}

/// Turns an error of `copysign` into the one that its gradient reports.
fn of_gradient(error: Error, dtype: DType) -> Error {
    let allowed = Domain::Floats.words();
    match error {
        Error::Promotion { lhs, rhs, rules, .. } => Error::Promotion { op: OP, lhs, rhs, rules },
        Error::UnsupportedDType { dtype, .. } => Error::UnsupportedDType { op: OP, dtype, allowed },
        Error::Broadcast { lhs, rhs, .. } if dtype.is_float() => {
            Error::Broadcast { op: OP, lhs, rhs }
        }
        Error::Broadcast { .. } => Error::UnsupportedDType { op: OP, dtype, allowed },
        Error::DeviceMismatch { lhs, rhs, .. } => Error::DeviceMismatch { op: OP, lhs, rhs },
        other => other,
    }
}
