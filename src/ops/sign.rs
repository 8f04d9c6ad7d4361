//! The sign bit, and the gradient of copysign.

use crate::backend::{self, CopysignGradCall, Source, UnaryCall};
use crate::layout::{Layout, boxed, broadcast};
use crate::op::{Domain, UnaryOp};
use crate::operand::{Operand, Placed};
use crate::plan::Plan;
use crate::promote::{Kind, Rules, resolve};
use crate::storage::Access;
use crate::{BinaryOp, DType, Error, Result, Tensor};

/// The dtype of copysign's result, of which `op` is the gradient.
fn float_result(op: &'static str, lhs: Kind, rhs: Kind) -> Result<DType> {
    let resolved = resolve(BinaryOp::Copysign.into(), lhs, rhs, Rules::Paddle);
    let allowed = Domain::Floats.words();
    match resolved {
        Ok(resolved) if resolved.result.is_float() => Ok(resolved.result),
        Ok(resolved) => Err(Error::UnsupportedDType { op, dtype: resolved.result, allowed }),
        Err(Error::Promotion { lhs, rhs, rules, .. }) => {
            Err(Error::Promotion { op, lhs, rhs, rules })
        }
        Err(Error::UnsupportedDType { dtype, .. }) => {
            Err(Error::UnsupportedDType { op, dtype, allowed })
        }
        Err(other) => Err(other),
    }
}

impl Tensor {
    /// Whether the sign bit is set, as bool: true for −0.0 and negative NaNs, and for integers
    /// below 0.
    ///
    /// # Errors
    ///
    /// [`Error::UnsupportedDType`] for complex tensors, [`Error::OutOfMemory`].
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_slice(&[1.0f32, -0.0, f32::NEG_INFINITY], [3], &Device::cpu())?;
    /// assert_eq!(x.signbit()?.to_vec::<bool>()?, [false, true, true]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn signbit(&self) -> Result<Tensor> {
        let op = UnaryOp::Signbit;
        if !op.domain().contains(self.dtype()) {
            let allowed = op.domain().words();
            return Err(Error::UnsupportedDType { op: op.name(), dtype: self.dtype(), allowed });
        }
        let out = Tensor::undefined(op.name(), self.device(), self.shape(), DType::Bool)?;
        let plan = Plan::new(self.shape(), [Some(out.layout()), Some(self.layout()), None, None]);
        let lhs = Source::Memory(self.dtype());
        let call = UnaryCall { op, lhs, out: DType::Bool, masked: false, plan: &plan };
        let access = Access::new([Some(out.storage()), Some(self.storage()), None, None]);
        backend::unary(self.device(), &call, &access)?;
        drop(access);
        Ok(out)
    }

    /// The gradients of `self.copysign(y)` by `self` and by `y`, given the gradient of its result.
    ///
    /// The first is the incoming gradient, its sign turned where copysign turned the sign, and 0
    /// where `self` is ±0; the second is 0. Each has the dtype and shape of its operand. An operand
    /// that was broadcast gets the sum over the dimensions in which it was; sums are kept in `f32`
    /// (`f64` for `f64`) and rounded once.
    ///
    /// # Errors
    ///
    /// [`Error::UnsupportedDType`] for all but floats, [`Error::Promotion`] for operands that
    /// copysign refuses, [`Error::InvalidArgument`] for a gradient of another dtype than its result,
    /// [`Error::Broadcast`] and [`Error::InvalidShape`] for shapes that do not fit,
    /// [`Error::DeviceMismatch`], [`Error::OutOfMemory`].
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
    pub fn copysign_grad<'a>(
        &self,
        y: impl Into<Operand<'a>>,
        gradient: &Tensor,
    ) -> Result<(Tensor, Tensor)> {
        let op = "copysign_grad";
        let y = y.into().place(self.device())?;
        let result = float_result(op, self.into(), y.kind())?;
        let y = match y {
            Placed::Borrowed(y) => y.clone(),
            Placed::Owned(y) => *y,
            // Only the sign of a number counts, and it is taken before any conversion.
            Placed::Scalar(y) => {
                let sign = if y.is_sign_negative() { -1 } else { 1 };
                Tensor::full((), sign, result, self.device())?
            }
        };
        for tensor in [&y, gradient] {
            self.device().expect_same(op, tensor.device())?;
        }
        let dtypes = [self.dtype(), y.dtype()];
        if let Some(dtype) = dtypes.into_iter().find(|dtype| !dtype.is_float()) {
            return Err(Error::UnsupportedDType { op, dtype, allowed: Domain::Floats.words() });
        }
        if gradient.dtype() != result {
            let reason = format!(
                "the gradient is {}, but the result of copysign is {result}; cast it",
                gradient.dtype()
            );
            return Err(Error::InvalidArgument { op, reason });
        }
        let shape = broadcast(op, self.shape(), y.shape())?;
        if gradient.shape() != &*shape {
            let reason = format!("the gradient must have the shape of the result, {:?}", &*shape);
            return Err(Error::InvalidShape { op, shape: boxed(gradient.shape()), reason });
        }
        let gy = Tensor::zeros(y.shape(), y.dtype(), y.device())?;
        if shape.contains(&0) {
            // An operand of size 1 against a size of 0 is there, and gets the sum over nothing.
            return Ok((Tensor::zeros(self.shape(), self.dtype(), self.device())?, gy));
        }
        // Computed as copysign itself was; a sum that is kept in f32 or f64 is rounded by the cast.
        let (x, y) = (self.cast(result)?, y.cast(result)?);
        let gx = Tensor::undefined(op, x.device(), x.shape(), result)?;
        x.sum_copysign_grad(&y, gradient, &gx, &shape)?;
        Ok((gx.cast(self.dtype())?, gy))
    }

    /// Splits the dimensions into those that `self` has and those over which it was broadcast.
    fn sum_copysign_grad(
        &self,
        y: &Tensor,
        gradient: &Tensor,
        gx: &Tensor,
        shape: &[usize],
    ) -> Result<()> {
        let op = "copysign_grad";
        let x = self.layout().broadcast_to(op, shape)?;
        let y_layout = y.layout().broadcast_to(op, shape)?;
        let added = shape.len() - self.rank();
        let is_summed =
            |axis: usize| axis < added || (self.shape()[axis - added] == 1 && shape[axis] != 1);
        // Each plan sees only its own dimensions; what the other walks has size 1 there.
        let part = |layout: &Layout, summed: bool| {
            let mut part = *layout;
            for axis in 0..shape.len() {
                if is_summed(axis) != summed {
                    part = part.first_of(axis);
                }
            }
            part
        };
        let out = gx.layout().broadcast_to(op, shape)?;
        let plan = |summed: bool| {
            let layouts = [&out, &x, &y_layout, gradient.layout()].map(|l| part(l, summed));
            Plan::new(layouts[0].shape(), layouts.each_ref().map(Some))
        };
        let (kept, summed) = (plan(false), plan(true));
        let access = Access::new([
            Some(gx.storage()),
            Some(self.storage()),
            Some(y.storage()),
            Some(gradient.storage()),
        ]);
        let call = CopysignGradCall { dtype: self.dtype(), kept: &kept, summed: &summed };
        backend::copysign_grad(self.device(), &call, &access)
    }
}
