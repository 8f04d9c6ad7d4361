//! Values of blocks. Each kind is one expression, or one for each half of its bytes.

use bitlane::{DType, Expr, Result, Rules, Tensor};

use super::{Kind, table};
use crate::fp4::e2m1;

/// Returns the values of rows of blocks. They are in the right order, in any number of dimensions.
pub(super) fn values(kind: Kind, rows: &Tensor, dtype: DType) -> Result<Tensor> {
    let block = Block { rows };
    match kind {
        Kind::Q4_0 => block.small(dtype, 4, 2, None, 8),
        Kind::Q4_1 => block.small(dtype, 4, 4, Some(2), 0),
        Kind::Q5_0 => block.small(dtype, 5, 2, None, 16),
        Kind::Q5_1 => block.small(dtype, 5, 4, Some(2), 0),
        Kind::Q8_0 => block.q8_0(dtype),
        Kind::Q4_K => block.q4_k(dtype),
        Kind::Q6_K => block.q6_k(dtype),
        Kind::TQ2_0 => block.tq2_0(dtype),
        Kind::MXFP4 => block.mxfp4(dtype),
    }
}

/// Blocks, one per row.
struct Block<'a> {
    rows: &'a Tensor,
}

/// Rounds `f32` values to the dtype of the result. Tensors are combined with numbers and with their own dtype alone, so
/// any rulebook would do.
fn finished(values: Expr<'_>, dtype: DType) -> Result<Tensor> {
    values.cast(dtype).rules(Rules::Paddle).run()
}

impl Block<'_> {
    fn table<const N: usize>(&self, bytes: &[u8], shape: [usize; N]) -> Result<Tensor> {
        table(bytes, shape, self.rows.device())
    }

    /// Returns bytes of every block, in the shape given after the dimension of the blocks.
    fn bytes(&self, start: usize, shape: &[usize]) -> Result<Tensor> {
        let bytes = self.rows.narrow(1, start, shape.iter().product())?;
        let mut all = vec![bytes.shape()[0]];
        all.extend(shape);
        bytes.reshape(all)
    }

    /// Returns the `f16` at a byte of every block as `f32`, with as many dimensions of size 1 after that of the blocks. It is
    /// converted here, and not for every value that needs it.
    fn scale(&self, start: usize, dimensions: usize) -> Result<Tensor> {
        let scale = self.rows.narrow(1, start, 2)?.bitcast(DType::F16)?.cast(DType::F32)?;
        let mut shape = vec![scale.shape()[0]];
        shape.extend(vec![1; dimensions]);
        scale.reshape(shape)
    }

    /// 32 values of 4 or 5 bits: first those in the low halves of 16 bytes, then those in the high halves; the fifth bits
    /// are in four bytes before.
    fn small(
        &self,
        dtype: DType,
        bits: usize,
        start: usize,
        minimum: Option<usize>,
        zero: i64,
    ) -> Result<Tensor> {
        let dimensions = if bits == 5 { 3 } else { 1 };
        let scale = self.scale(0, dimensions)?;
        let minimum = minimum.map(|start| self.scale(start, dimensions)).transpose()?;
        let scaled = |steps: Expr<'static>| {
            let value = (steps.cast(DType::F32) - zero) * scale.clone();
            match &minimum {
                Some(minimum) => value + minimum.clone(),
                None => value,
            }
        };
        if bits == 4 {
            return self.halves(start, dtype, scaled);
        }
        let high = self.bytes(start, &[2, 2, 1])?;
        let places = self.table(&[0, 1, 2, 3, 4, 5, 6, 7], [8])?;
        let halves = self.table(&[0, 4], [2, 1, 1])?;
        let low = (self.bytes(start + 4, &[1, 2, 8])?.into_expr() >> halves) & 15;
        finished(scaled(low | (((high.into_expr() >> places) & 1) << 4)), dtype)
    }

    /// Returns the values of 16 bytes: first those of their low halves, then those of their high halves. Each is computed in rows
    /// of its own, where no operand but the scales is broadcast, which is several times as fast as both at once.
    fn halves(
        &self,
        start: usize,
        dtype: DType,
        value: impl Fn(Expr<'static>) -> Expr<'static>,
    ) -> Result<Tensor> {
        let bytes = self.rows.narrow(1, start, 16)?;
        let values = Tensor::zeros([bytes.shape()[0], 32], dtype, bytes.device())?;
        for (at, steps) in
            [(0, bytes.clone().into_expr() & 15), (16, bytes.clone().into_expr() >> 4)]
        {
            let mut half = values.narrow(1, at, 16)?;
            value(steps).cast(dtype).rules(Rules::Paddle).out(&mut half).run()?;
        }
        Ok(values)
    }

    fn q8_0(&self, dtype: DType) -> Result<Tensor> {
        let (scale, steps) = (self.scale(0, 1)?, self.bytes(2, &[32])?.bitcast(DType::I8)?);
        finished(steps.expr().cast(DType::F32) * &scale, dtype)
    }

    /// Eight runs of 32 values, each with a scale and a minimum of 6 bits. Those of the first four runs are in bytes of
    /// their own, whose highest two bits belong to the other four; the rest of these is in halves of four more bytes.
    fn q4_k(&self, dtype: DType) -> Result<Tensor> {
        let (scale, minimum) = (self.scale(0, 4)?, self.scale(2, 4)?);
        // Dimensions: which four runs, which two of them, which one, and the value.
        let of_four = |start| self.bytes(start, &[1, 2, 2, 1]);
        let (scales, minima, rest) = (of_four(4)?, of_four(8)?, of_four(12)?);
        let own = self.table(&[0x3f, 0], [2, 1, 1, 1])?;
        let low = self.table(&[0, 0x0f], [2, 1, 1, 1])?;
        let high = self.table(&[0, 0x30], [2, 1, 1, 1])?;
        let six = |bytes: &Tensor, rest: Expr<'_>| {
            let bits = (bytes.expr() & &own) | ((bytes.expr() >> 2) & &high);
            (bits | (rest & &low)).cast(DType::F32).rules(Rules::Paddle).run()
        };
        let (scales, minima) = (six(&scales, rest.expr())?, six(&minima, rest.expr() >> 4)?);
        let steps = self.bytes(16, &[2, 2, 1, 32])?;
        let halves = self.table(&[0, 4], [2, 1])?;
        let steps = ((steps.expr() >> &halves) & 15).cast(DType::F32);
        let scale = (scale.expr() * &scales).rules(Rules::Paddle).run()?;
        let minimum = (minimum.expr() * &minima).rules(Rules::Paddle).run()?;
        let value = steps * &scale - &minimum;
        finished(value, dtype)
    }

    /// Two halves of 128 values. In each, 64 bytes have the lowest four bits of two values, and 32 bytes the highest two
    /// bits of four; every 16 values have a scale.
    fn q6_k(&self, dtype: DType) -> Result<Tensor> {
        let scale = self.scale(208, 5)?;
        // Dimensions: the half, which four bits of a byte, which 32 of 64 bytes, which 16 of those, and the value.
        let low = self.bytes(0, &[2, 1, 2, 2, 16])?;
        let high = self.bytes(128, &[2, 1, 1, 2, 16])?;
        let scales = self.bytes(192, &[2, 2, 2, 2, 1])?.bitcast(DType::I8)?;
        let fours = self.table(&[0, 4], [2, 1, 1, 1])?;
        let twos = self.table(&[0, 2, 4, 6], [2, 2, 1, 1])?;
        let steps = ((low.expr() >> &fours) & 15) | (((high.expr() >> &twos) & 3) << 4);
        let scale = scale.expr() * scales.expr().cast(DType::F32);
        let scale = scale.rules(Rules::Paddle).run()?;
        let value = (steps.cast(DType::F32) - 32) * &scale;
        finished(value, dtype)
    }

    fn tq2_0(&self, dtype: DType) -> Result<Tensor> {
        let (scale, steps) = (self.scale(64, 3)?, self.bytes(0, &[2, 1, 32])?);
        let pairs = self.table(&[0, 2, 4, 6], [4, 1])?;
        let steps = ((steps.expr() >> &pairs) & 3).cast(DType::F32) - 1;
        let value = steps * &scale;
        finished(value, dtype)
    }

    fn mxfp4(&self, dtype: DType) -> Result<Tensor> {
        let exponent = self.bytes(0, &[1])?;
        let scale = half_power(&exponent.expr()).rules(Rules::Paddle).run()?;
        // The sign of a zero is lost, as in the reference.
        self.halves(1, dtype, |steps| (e2m1(&steps, 2.0) + 0.0) * scale.clone())
    }
}

/// Returns half of the power of two that a byte stands for, 2^(byte − 128), as `f32`. The two lowest are subnormal.
pub(super) fn half_power<'a>(byte: &Expr<'a>) -> Expr<'a> {
    let byte = byte.cast(DType::U32);
    let subnormal = (&byte + 1) << 21;
    let normal = (&byte - 1) << 23;
    byte.less_than(2).select(subnormal, normal).bitcast(DType::F32)
}
