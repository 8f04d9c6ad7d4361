//! From values to words, and from one format to another.

use bitlane::{DType, Result, Rules, Tensor};

use super::values::ones;
use super::weights::{Parts, at, in_order};
use super::{Format, Scheme, Weights, Zeros};
use crate::refused;

impl Weights {
    /// Quantises a matrix of outputs by inputs with scales and zero points of outputs by groups.
    ///
    /// Each becomes the nearest code, as the format's library computes it from `f32`. Zero points are codes, those that stand for
    /// 0; without them, they are in the middle. `group_of` is the group of every input, which only GPTQ
    /// has (`g_idx`).
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{DType, Device, Tensor};
    /// use bitlane_quant::grouped::{Format, Weights};
    /// let device = Device::cpu();
    /// let x = Tensor::arange(64, DType::F32, &device)?.reshape([2, 32])?;
    /// let scales = Tensor::full([2, 2], 4.0, DType::F16, &device)?;
    /// let zeros = Tensor::from_nested([[1u8, 1], [0, 2]], &device)?;
    /// let format = Format::gptq_v2(4).group_size(16);
    /// let weights = Weights::quantize(&format, &x, &scales, Some(&zeros), None)?;
    /// assert_eq!(weights.dequantize(DType::F32)?.at((0, 8..12))?.to_vec::<f32>()?, [8.0, 8.0, 12.0, 12.0]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](bitlane::Error::InvalidArgument) if the shapes do not fit, if the format has no zero points and some
    /// are given that are not in the middle, or if it cannot hold one of them.
    pub fn quantize(
        format: &Format,
        values: &Tensor,
        scales: &Tensor,
        zeros: Option<&Tensor>,
        group_of: Option<&Tensor>,
    ) -> Result<Weights> {
        let op = "grouped::quantize";
        format.check(op)?;
        let (&[outputs, inputs], true) = (values.shape(), values.dtype().is_float()) else {
            let (dtype, shape) = (values.dtype(), values.shape());
            let reason =
                format!("values: a matrix of floats is needed, not {dtype} of shape {shape:?}");
            return Err(refused(op, reason));
        };
        let size = format.group_size.unwrap_or(inputs).max(1);
        let groups = inputs.div_ceil(size);
        let fits = |name: &str, tensor: &Tensor, float: bool| {
            let (dtype, shape) = (tensor.dtype(), tensor.shape());
            if shape == [outputs, groups] && (if float { dtype.is_float() } else { dtype.is_int() })
            {
                return Ok(());
            }
            let kind = if float { "floats" } else { "integers" };
            let reason = format!(
                "{name}: {kind} of shape {:?} are needed, not {dtype} of {shape:?}",
                [outputs, groups]
            );
            Err(refused(op, reason))
        };
        fits("scales", scales, true)?;
        let middle = format.middle();
        let points = match zeros {
            Some(zeros) => {
                fits("zeros", zeros, false)?;
                zeros.cast(DType::I64)?
            }
            None => Tensor::full([outputs, groups], middle, DType::I64, values.device())?,
        };
        let wrong = points.less_than(0)?.logical_or(&points.greater_than(format.largest())?)?;
        if wrong.any(..)?.item::<bool>()? {
            return Err(refused(
                op,
                format!("zeros: a zero point is no code of {} bits", format.bits),
            ));
        }
        let points = points.cast(DType::U8)?;
        format.whole_groups(op, inputs)?;
        if format.scheme != Scheme::Gptq && group_of.is_some() {
            let reason = format!("group_of: the groups of {} follow one another", format.scheme);
            return Err(refused(op, reason));
        }
        let stored_scales = match (format.scheme, scales.dtype()) {
            (Scheme::CompressedTensors, DType::F16 | DType::BF16 | DType::F32) => scales.clone(),
            _ => scales.cast(DType::F16)?,
        };
        // Where groups follow one another, they are a dimension of their own, along which scales are repeated.
        let group_of = match group_of {
            None if !inputs.is_multiple_of(size) => Some(in_order(inputs, size, values.device())?),
            group_of => group_of.cloned(),
        };
        let own = |tensor: &Tensor| -> Result<Tensor> {
            let tensor = tensor.cast(DType::F32)?;
            match &group_of {
                Some(group_of) => tensor.take(group_of, 1),
                None => tensor.unsqueeze(2),
            }
        };
        let (scale, zero, rounded) = (own(scales)?, own(&points)?, own(&stored_scales)?);
        let mut values = values.cast(DType::F32)?;
        if group_of.is_none() {
            values = values.contiguous()?.reshape([outputs, groups, inputs / groups.max(1)])?;
        }
        let (low, high) = (-middle, format.largest() - middle);
        let steps = match format.scheme {
            Scheme::Gptq => (values.expr() + zero.expr() * &scale) / &scale,
            Scheme::Awq => (values.expr() + zero.expr() * &scale) / &rounded,
            Scheme::CompressedTensors => {
                ((values.expr() / &scale + (zero.expr() - middle)).clip(low, high)).round() + middle
            }
        };
        let codes = steps.round().clip(0, format.largest()).cast(DType::U8);
        let codes = codes.rules(Rules::Paddle).run()?.reshape([outputs, inputs])?;
        let (axis, _) = format.axes();
        let codes = if format.inputs_first() { codes.transpose(0, 1)? } else { codes };
        let words = codes.pack(&format.packing(), axis)?;
        finished(format, words, stored_scales, points, group_of, [outputs, inputs])
    }

    /// Converts the weights to another format, in one pass over the words. Every value stays as it is.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{DType, Device, Tensor};
    /// use bitlane_quant::grouped::{Format, Weights};
    /// let device = Device::cpu();
    /// let x = Tensor::arange(8 * 32, DType::F32, &device)?.reshape([8, 32])?;
    /// let scales = Tensor::full([8, 1], 16.0, DType::F16, &device)?;
    /// let zeros = Tensor::full([8, 1], 1, DType::U8, &device)?;
    /// let weights = Weights::quantize(&Format::gptq(4), &x, &scales, Some(&zeros), None)?;
    /// let awq = weights.repack(&Format::awq())?;
    /// assert!(awq.dequantize(DType::F16)?.bits_equal(&weights.dequantize(DType::F16)?)?);
    /// // A zero point of 1 is not in the middle, so that a symmetric format cannot hold it.
    /// assert!(weights.repack(&Format::compressed_tensors(4)).is_err());
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](bitlane::Error::InvalidArgument) that names the field (`bits`, `group_size`, `zeros`, `g_idx`) of which the other
    /// format cannot hold the value.
    pub fn repack(&self, to: &Format) -> Result<Weights> {
        let op = "grouped::repack";
        to.check(op)?;
        let (own, inputs) = (&self.format, self.inputs);
        if own.bits != to.bits {
            let reason = format!("bits: {} bits cannot become {} without loss", own.bits, to.bits);
            return Err(refused(op, reason));
        }
        let sizes = [own, to].map(|format| format.group_size.unwrap_or(inputs));
        if sizes[0] != sizes[1] {
            let reason = format!(
                "group_size: groups of {} inputs cannot become groups of {}",
                sizes[0], sizes[1]
            );
            return Err(refused(op, reason));
        }
        to.whole_groups(op, inputs)?;
        if self.group_of.is_some() && to.scheme != Scheme::Gptq {
            let reason = format!(
                "g_idx: the groups of these inputs do not follow one another (desc_act), which {} cannot express",
                to.scheme
            );
            return Err(refused(op, reason));
        }
        let turned = own.inputs_first() != to.inputs_first();
        let points = match self.zero_points()? {
            Some(points) => points,
            None => {
                Tensor::full(self.scales.shape(), own.middle(), DType::U8, self.words.device())?
            }
        };
        // Scales and zero points as outputs by groups, and codes as outputs by inputs.
        let upright =
            |tensor: Tensor| if own.inputs_first() { tensor.transpose(0, 1) } else { Ok(tensor) };
        let (scales, points) = (upright(self.scales.clone())?, upright(points)?);
        if own.packing() == to.packing() && own.axes().0 == to.axes().0 && !turned {
            let (scales, zeros) = stored(to, scales, &points)?;
            let parts = Parts {
                prefix: "",
                words: self.words.clone(),
                scales,
                zeros,
                group_of: self.group_of.clone(),
                inputs: Some(inputs),
            };
            return Weights::checked(to, parts);
        }
        let codes = if own.inputs_first() { self.codes().transpose(0, 1) } else { self.codes() };
        let codes = if to.inputs_first() { codes.transpose(0, 1) } else { codes };
        let words = codes.pack(&to.packing(), to.axes().0).rules(Rules::Paddle).run()?;
        finished(to, words, scales, points, self.group_of.clone(), self.shape())
    }
}

/// Adds the scales and zero points of outputs by groups to words.
fn finished(
    format: &Format,
    words: Tensor,
    scales: Tensor,
    points: Tensor,
    group_of: Option<Tensor>,
    [outputs, inputs]: [usize; 2],
) -> Result<Weights> {
    if format.scheme == Scheme::Awq && !outputs.is_multiple_of(8) {
        let reason = format!("AWQ takes outputs in eights, not {outputs}");
        return Err(at("", "qweight", reason));
    }
    let (scales, zeros) = stored(format, scales, &points)?;
    let parts = Parts { prefix: "", words, scales, zeros, group_of, inputs: Some(inputs) };
    Weights::checked(format, parts)
}

/// Returns scales and zero points of outputs by groups as the format stores them.
fn stored(format: &Format, scales: Tensor, points: &Tensor) -> Result<(Tensor, Option<Tensor>)> {
    let turned = |tensor: &Tensor| {
        if format.inputs_first() {
            tensor.transpose(0, 1)?.contiguous()
        } else {
            tensor.contiguous()
        }
    };
    let (scales, points) = (turned(&scales)?, turned(points)?);
    let (_, axis) = format.axes();
    let pack = |points: &Tensor| points.pack(&format.packing(), axis);
    let name = format.names()[2];
    let count = |wrong: Tensor| wrong.count_nonzero(..)?.item::<i64>();
    let zeros = match format.zeros {
        Zeros::Symmetric => {
            let others = count(points.not_equal(format.middle())?)?;
            if others > 0 {
                let (middle, scheme) = (format.middle(), format.scheme);
                let reason = format!(
                    "{others} zero points are not {middle}, and symmetric {scheme} has no others; use `Zeros::Stored`"
                );
                return Err(at("", name, reason));
            }
            return Ok((scales, None));
        }
        Zeros::Stored => pack(&points)?,
        Zeros::MinusOne => {
            let nothing = count(points.equal(0)?)?;
            if nothing > 0 {
                let reason = format!(
                    "{nothing} zero points are 0, which cannot be stored minus one; use `Zeros::Stored` (checkpoint_format gptq_v2)"
                );
                return Err(at("", name, reason));
            }
            pack(&(&points - 1)?)?
        }
        Zeros::MinusOneInWords if format.bits == 3 => pack(&(&points - 1)?)?,
        Zeros::MinusOneInWords => (pack(&points)? - ones(format.bits))?,
    };
    Ok((scales, Some(zeros)))
}
