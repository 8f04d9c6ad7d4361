//! From words to values.

use bitlane::{DType, Expr, Result, Rules, Tensor};

use super::{Weights, Zeros};
use crate::rounded_dtype;

impl Weights {
    /// Returns the values as `f16`, `bf16` or `f32`: a matrix of outputs by inputs, as of a linear layer.
    ///
    /// A value is the product of a scale and a whole number, computed in `f32` and rounded once. It is written where the
    /// format has it: of GPTQ and AWQ, the result is a view of a matrix of inputs by outputs.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{DType, Device, Tensor};
    /// use bitlane_quant::grouped::{Format, Weights};
    /// let device = Device::cpu();
    /// let x = Tensor::from_nested([[-4.0f32, 3.5, 0.6, -0.1]], &device)?;
    /// let scales = Tensor::full([1, 1], 0.5, DType::F16, &device)?;
    /// let weights = Weights::quantize(&Format::compressed_tensors(4), &x, &scales, None, None)?;
    /// assert_eq!(weights.dequantize(DType::F32)?.to_vec::<f32>()?, [-4.0, 3.5, 0.5, 0.0]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](bitlane::Error::InvalidArgument) for another dtype, and as for [`Expr::run`].
    pub fn dequantize(&self, dtype: DType) -> Result<Tensor> {
        rounded_dtype("grouped::dequantize", dtype)?;
        let stored = self.stored()?.cast(dtype).rules(Rules::Paddle).run()?;
        if self.format.inputs_first() { stored.transpose(0, 1) } else { Ok(stored) }
    }

    /// Returns the values as an expression of `f32`, outputs by inputs, so that what follows is computed in the same pass.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{DType, Device, Tensor};
    /// use bitlane_quant::grouped::{Format, Weights};
    /// let device = Device::cpu();
    /// let x = Tensor::from_nested([[-4.0f32, 3.5, 0.5, 0.0]], &device)?;
    /// let scales = Tensor::full([1, 1], 0.5, DType::F16, &device)?;
    /// let weights = Weights::quantize(&Format::compressed_tensors(4), &x, &scales, None, None)?;
    /// let input = Tensor::from_nested([1.0f32, 2.0, 4.0, 8.0], &device)?;
    /// let output = (weights.expr()? * &input).sum(-1).run()?;
    /// assert_eq!(output.to_vec::<f32>()?, [5.0]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Expr::run`]: zero points are unpacked first, since many weights need each of them.
    pub fn expr(&self) -> Result<Expr<'static>> {
        let stored = self.stored()?;
        Ok(if self.format.inputs_first() { stored.transpose(0, 1) } else { stored })
    }

    /// Returns the values in the order of the tensors.
    fn stored(&self) -> Result<Expr<'static>> {
        let sizes = self.format.sizes(self.outputs, self.inputs);
        let codes = self.codes();
        let (scales, zeros) = (self.scales.cast(DType::F32)?, self.zero_points()?);
        let zeros = zeros.map(|zeros| zeros.cast(DType::F32)).transpose()?;
        let axis = usize::from(!self.format.inputs_first());
        let middle = self.format.middle();
        let value = |codes: Expr<'static>, scales: Tensor, zeros: Option<Tensor>| {
            let codes = codes.cast(DType::F32);
            let steps = match zeros {
                Some(zeros) => codes - zeros,
                None => codes - middle,
            };
            steps * scales
        };
        if let Some(group_of) = &self.group_of {
            let zeros = zeros.map(|zeros| zeros.take(group_of, axis)).transpose()?;
            return Ok(value(codes, scales.take(group_of, axis)?, zeros));
        }
        // Groups are a dimension of their own, along which scales are repeated.
        let groups = scales.shape()[axis];
        let mut split = sizes.to_vec();
        split[axis] = groups;
        split.insert(axis + 1, self.inputs.checked_div(groups).unwrap_or(0));
        let column = |tensor: Tensor| tensor.unsqueeze(axis + 1);
        let zeros = zeros.map(column).transpose()?;
        Ok(value(codes.reshape(split), column(scales)?, zeros).reshape(sizes))
    }

    /// Returns the codes in the order of the tensors.
    pub(super) fn codes(&self) -> Expr<'static> {
        let (axis, _) = self.format.axes();
        let len = self.format.sizes(self.outputs, self.inputs)[axis];
        let codes = self.words.clone().into_expr().unpack(&self.format.packing(), axis);
        codes.narrow(axis, 0, len)
    }

    /// Returns the fields of the words of zero points, as `u8`.
    pub(super) fn fields(&self, zeros: &Tensor) -> Result<Tensor> {
        let (_, axis) = self.format.axes();
        let len = if axis == 0 { self.outputs } else { self.scales.shape()[1] };
        zeros.unpack(&self.format.packing(), axis)?.narrow(axis, 0, len)
    }

    /// Returns the zero points in the order of the scales, as `u8`, unless they are all in the middle.
    pub(super) fn zero_points(&self) -> Result<Option<Tensor>> {
        let Some(zeros) = &self.zeros else { return Ok(None) };
        let (bits, largest) = (self.format.bits, self.format.largest());
        let points = match self.format.zeros {
            Zeros::Symmetric | Zeros::Stored => self.fields(zeros)?,
            Zeros::MinusOneInWords if bits != 3 => self.fields(&(zeros + ones(bits))?)?,
            Zeros::MinusOne | Zeros::MinusOneInWords => {
                ((self.fields(zeros)?.into_expr() + 1) & largest).rules(Rules::Paddle).run()?
            }
        };
        Ok(Some(points))
    }
}

/// Returns a word whose fields are all 1.
pub(super) fn ones(bits: usize) -> i64 {
    (0..32 / bits).map(|field| 1i64 << (field * bits)).sum()
}
