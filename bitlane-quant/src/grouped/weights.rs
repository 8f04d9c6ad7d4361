//! Tensors that have been checked against a format.

use std::collections::BTreeMap;

use bitlane::{DType, Device, Result, Rules, Tensor};

use super::{Format, Scheme, Zeros};
use crate::refused;

/// The weights of a linear layer, quantised in groups.
///
/// # Examples
///
/// ```
/// use bitlane::{DType, Device, Tensor};
/// use bitlane_quant::grouped::{Format, Weights};
/// let device = Device::cpu();
/// // 32 inputs and 8 outputs: every code is 5, every zero point 4 and every scale 0.5.
/// let tensors = [
///     ("proj.qweight".into(), Tensor::full([32, 1], 0x5555_5555, DType::I32, &device)?),
///     ("proj.qzeros".into(), Tensor::full([1, 1], 0x4444_4444, DType::I32, &device)?),
///     ("proj.scales".into(), Tensor::full([1, 8], 0.5, DType::F16, &device)?),
/// ];
/// let weights = Weights::from_tensors(&Format::awq().group_size(32), &tensors.into(), "proj")?;
/// assert_eq!(weights.shape(), [8, 32]);
/// let values = weights.dequantize(DType::F32)?;
/// assert_eq!(values.max(..)?.item::<f32>()?, 0.5);
/// # Ok::<(), bitlane::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Weights {
    pub(super) format: Format,
    pub(super) outputs: usize,
    pub(super) inputs: usize,
    pub(super) words: Tensor,
    pub(super) scales: Tensor,
    pub(super) zeros: Option<Tensor>,
    /// The group of every input, if it is not the next one after every `group_size` inputs.
    pub(super) group_of: Option<Tensor>,
}

const OP: &str = "grouped::Weights";

impl Weights {
    /// Takes the weights of one layer from the tensors of a file: those whose names are the prefix, a dot, and the name that
    /// the format has for them. Without a prefix, these are the whole names.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane_quant::grouped::{Format, Weights};
    /// let error = Weights::from_tensors(&Format::awq(), &Default::default(), "proj").unwrap_err();
    /// assert!(error.to_string().ends_with("proj.qweight: there is no such tensor"));
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](bitlane::Error::InvalidArgument) that names the tensor or the field of the format at fault.
    pub fn from_tensors(
        format: &Format,
        tensors: &BTreeMap<String, Tensor>,
        prefix: &str,
    ) -> Result<Weights> {
        format.check(OP)?;
        let find = |name: &str| tensors.get(&full_name(prefix, name)).cloned();
        let needed = |name: &str| {
            find(name).ok_or_else(|| at(prefix, name, "there is no such tensor".into()))
        };
        let [words, scales, zeros] = format.names();
        let (words, scales) = (needed(words)?, needed(scales)?);
        let zeros = match format.zeros {
            Zeros::Symmetric if find(zeros).is_some() => {
                let reason =
                    "a symmetric format has no zero points; is it asymmetric (`Zeros::Stored`)?";
                return Err(at(prefix, zeros, reason.into()));
            }
            Zeros::Symmetric => None,
            _ => Some(needed(zeros)?),
        };
        let group_of = find("g_idx").filter(|_| format.scheme == Scheme::Gptq);
        if format.scheme == Scheme::CompressedTensors && find("weight_g_idx").is_some() {
            let reason = "the groups of these inputs do not follow one another (actorder group), which compressed-tensors has no more";
            return Err(at(prefix, "weight_g_idx", reason.into()));
        }
        let inputs = match (format.scheme, &group_of) {
            (Scheme::CompressedTensors, _) => {
                let shape = needed("weight_shape")?;
                let sizes = shape.cast(DType::I64)?.to_vec::<i64>()?;
                let &[outputs, inputs] = &*sizes else {
                    return Err(at(prefix, "weight_shape", "two sizes are needed".into()));
                };
                let (given, outputs) = (words.shape(), usize::try_from(outputs).ok());
                if outputs.is_none() || given.first().copied() != outputs {
                    let reason = format!("it says {sizes:?}, and weight_packed has {given:?}");
                    return Err(at(prefix, "weight_shape", reason));
                }
                usize::try_from(inputs).ok()
            }
            (_, Some(group_of)) => Some(group_of.len()),
            _ => None,
        };
        let parts = Parts { prefix, words, scales, zeros, group_of, inputs };
        Weights::checked(format, parts)
    }

    /// Checks the tensors against each other.
    pub(super) fn checked(format: &Format, parts: Parts<'_>) -> Result<Weights> {
        let Parts { prefix, words, scales, zeros, group_of, inputs } = parts;
        let [words_name, scales_name, zeros_name] = format.names();
        let has = |name: &str, tensor: &Tensor, dtypes: &[DType]| {
            if tensor.rank() == 2 && dtypes.contains(&tensor.dtype()) {
                return Ok(());
            }
            let (dtype, shape) = (tensor.dtype(), tensor.shape());
            let reason = format!("it is {dtype} of shape {shape:?}, not a matrix of {dtypes:?}");
            Err(at(prefix, name, reason))
        };
        has(words_name, &words, &[DType::I32])?;
        // A matrix without elements has sizes of which nothing is in memory.
        if words.is_empty() {
            return Err(at(prefix, words_name, format!("its shape is {:?}", words.shape())));
        }
        has(scales_name, &scales, &[DType::F16, DType::BF16, DType::F32])?;
        let (axis, zeros_axis) = format.axes();
        // The words say how many outputs or inputs there are, except in the dimension in which they are packed.
        let held = words.shape()[axis].saturating_mul(32) / format.bits;
        let of_scales = scales.shape()[usize::from(format.inputs_first())];
        let (outputs, inputs) = match format.scheme {
            Scheme::Gptq => {
                let groups = scales.shape()[0];
                let all = format.group_size.map_or(held, |size| size.saturating_mul(groups));
                (words.shape()[1], inputs.unwrap_or(held.min(all)))
            }
            Scheme::Awq => (of_scales, words.shape()[0]),
            Scheme::CompressedTensors => (words.shape()[0], inputs.unwrap_or(held)),
        };
        let size = format.group_size.unwrap_or(inputs).max(1);
        let groups = inputs.div_ceil(size);
        let expected = |name: &str, tensor: &Tensor, shape: [usize; 2]| {
            if tensor.shape() == shape {
                return Ok(());
            }
            let given = tensor.shape();
            let reason = format!(
                "it has the shape {given:?}, not {shape:?}, which {outputs} outputs and {inputs} inputs have in {format}"
            );
            Err(at(prefix, name, reason))
        };
        let packed = |axis: usize, mut sizes: [usize; 2]| {
            sizes[axis] = format.words_for(sizes[axis]);
            sizes
        };
        expected(words_name, &words, packed(axis, format.sizes(outputs, inputs)))?;
        expected(scales_name, &scales, format.sizes(outputs, groups))?;
        if format.scheme == Scheme::Awq && !outputs.is_multiple_of(8) {
            let reason = format!("{outputs} outputs are no multiple of 8");
            return Err(at(prefix, words_name, reason));
        }
        format.whole_groups(OP, inputs)?;
        if let Some(zeros) = &zeros {
            has(zeros_name, zeros, &[DType::I32])?;
            expected(zeros_name, zeros, packed(zeros_axis, format.sizes(outputs, groups)))?;
        }
        for tensor in [Some(&scales), zeros.as_ref(), group_of.as_ref()].into_iter().flatten() {
            if tensor.device() != words.device() {
                let reason =
                    format!("its tensors are on {} and {}", words.device(), tensor.device());
                return Err(at(prefix, words_name, reason));
            }
        }
        let group_of =
            group_of.map(|group_of| checked_groups(prefix, &group_of, inputs, groups, size));
        let group_of = match group_of.transpose()?.flatten() {
            None if !inputs.is_multiple_of(size) => Some(in_order(inputs, size, words.device())?),
            group_of => group_of,
        };
        let weights =
            Weights { format: format.clone(), outputs, inputs, words, scales, zeros, group_of };
        weights.check_zeros(prefix)?;
        Ok(weights)
    }

    /// Refuses fields of ones where zero points are stored minus one.
    fn check_zeros(&self, prefix: &str) -> Result<()> {
        let (Zeros::MinusOne, Some(zeros)) = (self.format.zeros, &self.zeros) else {
            return Ok(());
        };
        let (fields, largest) = (self.fields(zeros)?, self.format.largest());
        let ones = fields.equal(largest)?.count_nonzero(..)?.item::<i64>()?;
        if ones == 0 {
            return Ok(());
        }
        let reason = format!(
            "{ones} zero points are stored as {largest}, which minus one nothing is; the file has them as they are \
             (`Zeros::Stored`, checkpoint_format gptq_v2), or one was subtracted from whole words (`Zeros::MinusOneInWords`)"
        );
        Err(at(prefix, self.format.names()[2], reason))
    }

    /// Returns how many zero points are not in the middle of the codes.
    pub(crate) fn asymmetric(&self) -> Result<i64> {
        let Some(points) = self.zero_points()? else { return Ok(0) };
        points.not_equal(self.format.middle())?.count_nonzero(..)?.item()
    }

    /// Returns whether every zero point is in the middle of the codes, so that the other formats need not store them.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// # use bitlane_quant::grouped::{Format, Weights};
    /// # let device = Device::cpu();
    /// # let x = Tensor::zeros([1, 32], DType::F32, &device)?;
    /// # let scales = Tensor::ones([1, 1], DType::F16, &device)?;
    /// let weights = Weights::quantize(&Format::gptq(4), &x, &scales, None, None)?;
    /// assert!(weights.is_symmetric()?);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Tensor::item`].
    pub fn is_symmetric(&self) -> Result<bool> {
        Ok(self.asymmetric()? == 0)
    }

    /// Returns the format.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// # use bitlane_quant::grouped::{Format, Weights};
    /// # let device = Device::cpu();
    /// # let x = Tensor::zeros([1, 32], DType::F32, &device)?;
    /// # let scales = Tensor::ones([1, 1], DType::F16, &device)?;
    /// let format = Format::compressed_tensors(4);
    /// let weights = Weights::quantize(&format, &x, &scales, None, None)?;
    /// assert_eq!(weights.format(), &format);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// Returns the numbers of outputs and inputs.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// # use bitlane_quant::grouped::{Format, Weights};
    /// # let device = Device::cpu();
    /// # let x = Tensor::zeros([1, 32], DType::F32, &device)?;
    /// # let scales = Tensor::ones([1, 1], DType::F16, &device)?;
    /// let weights = Weights::quantize(&Format::compressed_tensors(4), &x, &scales, None, None)?;
    /// assert_eq!(weights.shape(), [1, 32]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn shape(&self) -> [usize; 2] {
        [self.outputs, self.inputs]
    }

    /// Returns the tensors, with the names that the format has for them, as a file has them after the name of the layer.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// # use bitlane_quant::grouped::{Format, Weights};
    /// # let device = Device::cpu();
    /// # let x = Tensor::zeros([1, 32], DType::F32, &device)?;
    /// # let scales = Tensor::ones([1, 1], DType::F16, &device)?;
    /// let weights = Weights::quantize(&Format::compressed_tensors(4), &x, &scales, None, None)?;
    /// let tensors = weights.tensors()?;
    /// let names: Vec<_> = tensors.iter().map(|(name, _)| *name).collect();
    /// assert_eq!(names, ["weight_packed", "weight_scale", "weight_shape"]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Tensor::from_vec`].
    pub fn tensors(&self) -> Result<Vec<(&'static str, Tensor)>> {
        let [words, scales, zeros] = self.format.names();
        let mut tensors = vec![(words, self.words.clone()), (scales, self.scales.clone())];
        tensors.extend(self.zeros.clone().map(|tensor| (zeros, tensor)));
        let device = self.words.device();
        match self.format.scheme {
            Scheme::Awq => {}
            Scheme::Gptq => {
                let size = self.format.group_size.unwrap_or(self.inputs).max(1);
                let group_of = match &self.group_of {
                    Some(group_of) => group_of.clone(),
                    None => in_order(self.inputs, size, device)?,
                };
                tensors.push(("g_idx", group_of));
            }
            Scheme::CompressedTensors => {
                let sizes = vec![self.outputs as i64, self.inputs as i64];
                tensors.push(("weight_shape", Tensor::from_vec(sizes, 2, device)?));
            }
        }
        Ok(tensors)
    }
}

/// Tensors that are to be checked.
pub(super) struct Parts<'a> {
    pub(super) prefix: &'a str,
    pub(super) words: Tensor,
    pub(super) scales: Tensor,
    pub(super) zeros: Option<Tensor>,
    pub(super) group_of: Option<Tensor>,
    /// The number of inputs, where a tensor says it.
    pub(super) inputs: Option<usize>,
}

/// Returns the group of every input as `i32`, or `None` if they follow one another.
fn checked_groups(
    prefix: &str,
    group_of: &Tensor,
    inputs: usize,
    groups: usize,
    size: usize,
) -> Result<Option<Tensor>> {
    let (dtype, shape) = (group_of.dtype(), group_of.shape());
    if !matches!(dtype, DType::I32 | DType::I64) || shape != [inputs] {
        let reason = format!("it is {dtype} of shape {shape:?}, not i32 of [{inputs}]");
        return Err(at(prefix, "g_idx", reason));
    }
    let device = group_of.device();
    let group_of = group_of.cast(DType::I64)?.to_vec::<i64>()?;
    if let Some(bad) = group_of.iter().find(|&&group| group < 0 || group >= groups as i64) {
        return Err(at(prefix, "g_idx", format!("there is no group {bad}, only {groups} of them")));
    }
    if group_of.iter().enumerate().all(|(input, &group)| group == (input / size) as i64) {
        return Ok(None);
    }
    let groups = group_of.into_iter().map(|group| group as i32).collect();
    Ok(Some(Tensor::from_vec(groups, inputs, device)?))
}

/// Returns the group of every input, where groups of a size follow one another.
pub(super) fn in_order(inputs: usize, size: usize, device: &Device) -> Result<Tensor> {
    let places = Tensor::arange(inputs, DType::I64, device)?;
    let size = i64::try_from(size).unwrap_or(i64::MAX);
    places.into_expr().floor_divide(size).cast(DType::I32).rules(Rules::Paddle).run()
}

fn full_name(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.into() } else { format!("{prefix}.{name}") }
}

/// Creates the error of a tensor.
pub(super) fn at(prefix: &str, name: &str, reason: String) -> bitlane::Error {
    refused(OP, format!("{}: {reason}", full_name(prefix, name)))
}
