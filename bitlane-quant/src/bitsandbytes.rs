//! The 4-bit codes of bitsandbytes, NF4 and FP4: a table of 16 values, scaled by the largest absolute value of a block.
//!
//! # Examples
//!
//! ```
//! use bitlane::{DType, Device, Tensor};
//! use bitlane_quant::bitsandbytes::{Code, Weights};
//! let x = Tensor::from_nested([[-4.0f32, 0.0, 1.0], [2.0, 4.0, 0.3]], &Device::cpu())?;
//! let weights = Weights::quantize(Code::Nf4, 64, &x)?;
//! let values = weights.dequantize(DType::F32)?;
//! assert_eq!(values.at((0, 0..2))?.to_vec::<f32>()?, [-4.0, 0.0]);
//! # Ok::<(), bitlane::Error>(())
//! ```

use std::collections::BTreeMap;
use std::fmt;

use bitlane::{DType, Expr, Packing, Result, Rules, Tensor};
use serde_json::Value;

use crate::{refused, rounded_dtype};

const OP: &str = "bitsandbytes::Weights";

/// The values of NF4's codes: quantiles of the normal distribution.
const NF4: [u32; 16] = [
    0xbf80_0000,
    0xbf32_39b1,
    0xbf06_6b30,
    0xbeca_32a0,
    0xbe91_a24d,
    0xbe3d_353f,
    0xbdba_7871,
    0,
    0x3da2_faff,
    0x3e24_cae3,
    0x3e7c_04dd,
    0x3ead_033a,
    0x3ee1_a4b8,
    0x3f10_07ab,
    0x3f39_13b3,
    0x3f80_0000,
];

/// The values of FP4's codes without a sign: floats of two bits of exponent and one of significand, divided by 12.
const FP4: [u32; 8] =
    [0, 0x3baa_aaab, 0x3f2a_aaab, 0x3f80_0000, 0x3eaa_aaab, 0x3f00_0000, 0x3e2a_aaab, 0x3e80_0000];

/// Which 16 values a code stands for.
///
/// # Examples
///
/// ```
/// use bitlane_quant::bitsandbytes::Code;
/// assert_eq!(Code::Nf4.values()[15], 1.0);
/// assert_eq!(Code::Fp4.to_string(), "fp4");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// Quantiles of the normal distribution.
    Nf4,
    /// Floats with a sign, two bits of exponent and one of significand.
    Fp4,
}

impl Code {
    /// Returns the value of every code.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane_quant::bitsandbytes::Code;
    /// assert_eq!(Code::Fp4.values()[11], -1.0);
    /// ```
    pub fn values(self) -> [f32; 16] {
        match self {
            Code::Nf4 => NF4.map(f32::from_bits),
            Code::Fp4 => std::array::from_fn(|code| {
                let size = f32::from_bits(FP4[code % 8]);
                if code > 8 { -size } else { size }
            }),
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Code::Nf4 => "nf4",
            Code::Fp4 => "fp4",
        })
    }
}

/// A tensor in 4-bit codes.
///
/// # Examples
///
/// ```
/// use bitlane::{DType, Device, Tensor};
/// use bitlane_quant::bitsandbytes::{Code, Weights};
/// let x = Tensor::from_nested([1.0f32, -0.5], &Device::cpu())?;
/// let weights = Weights::quantize(Code::Fp4, 64, &x)?;
/// assert!(weights.dequantize(DType::F32)?.bits_equal(&x)?);
/// # Ok::<(), bitlane::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Weights {
    code: Code,
    block_size: usize,
    shape: Vec<usize>,
    /// Two codes in a byte, the first in the high half.
    words: Tensor,
    /// The largest absolute value of every block.
    scales: Tensor,
}

impl Weights {
    /// Takes a tensor from those of a file: `NAME`, `NAME.absmax`, `NAME.quant_map` and
    /// `NAME.quant_state.bitsandbytes__nf4` (or `fp4`). If scales are quantised themselves (double quantisation), those of
    /// `NAME.nested_absmax` and `NAME.nested_quant_map` as well.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane_quant::bitsandbytes::Weights;
    /// let error = Weights::from_tensors(&Default::default(), "proj.weight").unwrap_err();
    /// assert!(error.to_string().contains("proj.weight: there is no such tensor"));
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](bitlane::Error::InvalidArgument) that names the tensor or the field of the state at fault.
    pub fn from_tensors(tensors: &BTreeMap<String, Tensor>, name: &str) -> Result<Weights> {
        let find = |suffix: &str| {
            let full = format!("{name}{suffix}");
            let found = tensors.get(&full).cloned();
            found.ok_or_else(|| refused(OP, format!("{full}: there is no such tensor")))
        };
        let words = find("")?;
        let key = |code: Code| format!(".quant_state.bitsandbytes__{code}");
        let has = |code: &Code| tensors.contains_key(&format!("{name}{}", key(*code)));
        let code = [Code::Nf4, Code::Fp4].into_iter().find(has).unwrap_or(Code::Nf4);
        let wrong = |field: &str, why: &str| refused(OP, format!("{name}.{field}: {why}"));
        let state = find(&key(code))?;
        if state.dtype() != DType::U8 {
            return Err(wrong("quant_state", "it is no text in u8"));
        }
        let state: Value = serde_json::from_slice(&state.to_vec::<u8>()?)
            .map_err(|error| wrong("quant_state", &error.to_string()))?;
        let number = |field: &str| {
            let size = state[field].as_u64().and_then(|size| usize::try_from(size).ok());
            size.filter(|&size| size > 0).ok_or_else(|| wrong(field, "a positive number is needed"))
        };
        let sizes = state["shape"].as_array().ok_or_else(|| wrong("shape", "it is missing"))?;
        let shape: Option<Vec<usize>> =
            sizes.iter().map(|size| size.as_u64()?.try_into().ok()).collect();
        let shape = shape.ok_or_else(|| wrong("shape", "its sizes are no numbers"))?;
        let table = |suffix: &str, len: usize| {
            let table = find(suffix)?;
            if table.dtype() != DType::F32 || table.shape() != [len] {
                let why = format!("{len} values of f32 are needed");
                return Err(wrong(&suffix[1..], &why));
            }
            Ok(table)
        };
        let given = table(".quant_map", 16)?.to_vec::<f32>()?;
        // The sign of FP4's second zero is not always the same.
        if given.iter().zip(code.values()).any(|(given, own)| *given != own) {
            return Err(wrong("quant_map", &format!("these are not the values of {code}")));
        }
        let mut scales = find(".absmax")?;
        if scales.dtype() == DType::U8 && scales.rank() == 1 {
            let (map, count) = (table(".nested_quant_map", 256)?, scales.len());
            let size = number("nested_blocksize")?;
            let nested = table(".nested_absmax", count.div_ceil(size))?;
            let offset = state["nested_offset"].as_f64();
            let offset = offset.ok_or_else(|| wrong("nested_offset", "it is missing"))?;
            let steps = map.take(&scales.cast(DType::I32)?, 0)?;
            let own = repeated(&nested, size, count)?;
            scales = (steps.expr() * &own + offset).rules(Rules::Paddle).run()?;
        }
        let block_size = number("blocksize")?;
        Weights::checked(name, code, block_size, shape, words, scales)
    }

    fn checked(
        name: &str,
        code: Code,
        block_size: usize,
        shape: Vec<usize>,
        words: Tensor,
        scales: Tensor,
    ) -> Result<Weights> {
        let len = shape.iter().try_fold(1usize, |len, &size| len.checked_mul(size));
        let len =
            len.ok_or_else(|| refused(OP, format!("{name}.shape: {shape:?} is too large")))?;
        if words.dtype() != DType::U8 || words.len() != len.div_ceil(2) {
            let (dtype, given) = (words.dtype(), words.shape());
            let reason = format!(
                "{name}: it is {dtype} of shape {given:?}, and {shape:?} takes {} bytes",
                len.div_ceil(2)
            );
            return Err(refused(OP, reason));
        }
        if scales.dtype() != DType::F32 || scales.shape() != [len.div_ceil(block_size)] {
            let (dtype, given) = (scales.dtype(), scales.shape());
            let reason = format!(
                "{name}.absmax: it is {dtype} of shape {given:?}, and {shape:?} has {} blocks of {block_size}",
                len.div_ceil(block_size)
            );
            return Err(refused(OP, reason));
        }
        let words = words.contiguous()?.reshape([len.div_ceil(2)])?;
        Ok(Weights { code, block_size, shape, words, scales })
    }

    /// Quantises a tensor of floats in blocks of its elements, as the reference does on the CPU.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// # use bitlane_quant::bitsandbytes::{Code, Weights};
    /// let x = Tensor::full([3], 2.0, DType::F32, &Device::cpu())?;
    /// let weights = Weights::quantize(Code::Nf4, 64, &x)?;
    /// assert_eq!(weights.tensors("proj.weight")?["proj.weight"].to_vec::<u8>()?, [0xff, 0xf7]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](bitlane::Error::InvalidArgument) if the elements are no floats or blocks have no elements.
    pub fn quantize(code: Code, block_size: usize, values: &Tensor) -> Result<Weights> {
        let op = "bitsandbytes::quantize";
        if !values.dtype().is_float() || block_size == 0 {
            let dtype = values.dtype();
            let reason =
                format!("floats and a block size above 0 are needed, not {dtype} and {block_size}");
            return Err(refused(op, reason));
        }
        let (shape, len) = (values.shape().to_vec(), values.len());
        let flat = values.cast(DType::F32)?.contiguous()?.reshape([len])?;
        let whole = len / block_size * block_size;
        let (mut codes, mut scales) = (Vec::new(), Vec::new());
        if whole > 0 {
            let blocks = flat.narrow(0, 0, whole)?.reshape((.., block_size))?;
            let own = blocks.expr().abs().max_keepdims(-1).rules(Rules::Paddle).run()?;
            let inverse = (1.0 / own.expr().maximum(1e-38)).rules(Rules::Paddle).run()?;
            codes.push(nearest(code, &(blocks.expr() * &inverse))?.reshape([whole])?);
            scales.push(own.reshape([whole / block_size])?);
        }
        if whole < len {
            // The reference divides here, where it multiplies above.
            let rest = flat.narrow(0, whole, len - whole)?;
            let own = rest.expr().abs().max_keepdims(-1).maximum(1e-38);
            let own = own.rules(Rules::Paddle).run()?;
            codes.push(nearest(code, &(rest.expr() / &own))?);
            scales.push(own);
        }
        let device = values.device();
        let (codes, scales) = if len == 0 {
            (Tensor::zeros([0], DType::U8, device)?, Tensor::zeros([0], DType::F32, device)?)
        } else {
            (Tensor::concatenate(&codes, 0)?, Tensor::concatenate(&scales, 0)?)
        };
        let mut words = codes.pack(&packing(), 0)?;
        if !len.is_multiple_of(2) {
            // The half of the last byte that is left has the code of 0.
            let filled = nearest(code, &Tensor::zeros([1], DType::F32, device)?.into_expr())?;
            let last = (words.narrow(0, len / 2, 1)? | &filled)?;
            words = Tensor::concatenate([&words.narrow(0, 0, len / 2)?, &last], 0)?;
        }
        Weights::checked("values", code, block_size, shape, words, scales)
    }

    /// Returns the values as `f16`, `bf16` or `f32`, computed in `f32` and rounded once.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// # use bitlane_quant::bitsandbytes::{Code, Weights};
    /// let x = Tensor::from_nested([2.0f32, -2.0], &Device::cpu())?;
    /// let weights = Weights::quantize(Code::Nf4, 64, &x)?;
    /// assert!(weights.dequantize(DType::F32)?.bits_equal(&x)?);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](bitlane::Error::InvalidArgument) for another dtype, and as for [`Expr::run`].
    pub fn dequantize(&self, dtype: DType) -> Result<Tensor> {
        rounded_dtype("bitsandbytes::dequantize", dtype)?;
        self.expr()?.cast(dtype).rules(Rules::Paddle).run()
    }

    /// Returns the values as an expression of `f32`, so that what follows is computed in the same pass.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// # use bitlane_quant::bitsandbytes::{Code, Weights};
    /// let x = Tensor::from_nested([2.0f32, -2.0], &Device::cpu())?;
    /// let weights = Weights::quantize(Code::Fp4, 64, &x)?;
    /// assert_eq!((weights.expr()? + 1.0).run()?.to_vec::<f32>()?, [3.0, -1.0]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Expr::run`], if a block is not full: then scales are repeated in memory.
    pub fn expr(&self) -> Result<Expr<'static>> {
        let len = self.shape.iter().product();
        let codes = self.words.clone().into_expr().unpack(&packing(), 0).narrow(0, 0, len);
        let values = looked_up(&codes, &self.code.values());
        let scales = self.scales.clone();
        if len % self.block_size != 0 {
            let values = values * repeated(&scales, self.block_size, len)?;
            return Ok(values.reshape(&self.shape));
        }
        let blocks = values.reshape([scales.len(), self.block_size]);
        Ok((blocks * scales.unsqueeze(1)?).reshape(&self.shape))
    }

    /// Returns the shape of the values.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// # use bitlane_quant::bitsandbytes::{Code, Weights};
    /// let x = Tensor::zeros([3, 5], DType::F32, &Device::cpu())?;
    /// assert_eq!(Weights::quantize(Code::Nf4, 64, &x)?.shape(), [3, 5]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the tensors of a file, whose names begin with this one. Scales are not quantised themselves.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// # use bitlane_quant::bitsandbytes::{Code, Weights};
    /// let x = Tensor::from_nested([2.0f32, -2.0], &Device::cpu())?;
    /// let tensors = Weights::quantize(Code::Nf4, 64, &x)?.tensors("proj.weight")?;
    /// assert_eq!(tensors["proj.weight.absmax"].to_vec::<f32>()?, [2.0]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Tensor::from_vec`].
    pub fn tensors(&self, name: &str) -> Result<BTreeMap<String, Tensor>> {
        let (code, device) = (self.code, self.words.device());
        let state = serde_json::json!({
            "quant_type": code.to_string(),
            "blocksize": self.block_size,
            "dtype": "float32",
            "shape": self.shape,
        });
        let state = state.to_string().into_bytes();
        let len = state.len();
        Ok(BTreeMap::from([
            (name.to_owned(), self.words.unsqueeze(1)?),
            (format!("{name}.absmax"), self.scales.clone()),
            (format!("{name}.quant_map"), Tensor::from_slice(&code.values(), 16, device)?),
            (
                format!("{name}.quant_state.bitsandbytes__{code}"),
                Tensor::from_vec(state, len, device)?,
            ),
        ]))
    }
}

fn packing() -> Packing {
    Packing::new(4, DType::U8).big_endian_fields()
}

/// Repeats the scales of blocks for their elements.
fn repeated(scales: &Tensor, size: usize, len: usize) -> Result<Tensor> {
    // A block that is not full is no longer than what there is.
    let (blocks, size) = (scales.len(), size.min(len));
    let all = scales.unsqueeze(1)?.broadcast_to([blocks, size])?.contiguous()?;
    all.reshape([blocks * size])?.narrow(0, 0, len)
}

/// Returns the element of a table of 16, by the bits of the code from the lowest up.
fn looked_up<'a>(codes: &Expr<'a>, table: &[f32; 16]) -> Expr<'a> {
    let mut values: Vec<Expr<'a>> =
        table.iter().map(|&value| Expr::from(f64::from(value))).collect();
    for bit in [1, 2, 4, 8] {
        let is_set = (codes & bit).not_equal(0);
        values = values.chunks(2).map(|pair| is_set.select(&pair[1], &pair[0])).collect();
    }
    values.swap_remove(0)
}

/// Returns the codes of the nearest values; of two that are as near, that of the smaller one.
fn nearest(code: Code, scaled: &Expr<'_>) -> Result<Tensor> {
    let values = code.values();
    let mut order: Vec<u8> = (0..16).collect();
    order.sort_by(|&x, &y| values[usize::from(x)].total_cmp(&values[usize::from(y)]));
    let scaled = scaled.clip(-1.0, 1.0);
    let sorted: Vec<f32> = order.iter().map(|&code| values[usize::from(code)]).collect();
    // How many of the bounds between two values are below.
    let above = |pair: &[f32]| {
        let bound = (pair[0] + pair[1]) / 2.0;
        scaled.greater_than(f64::from(bound)).cast(DType::U8)
    };
    let mut bounds = sorted.windows(2).map(above);
    let first = bounds.next().unwrap_or_else(|| Expr::from(0));
    let place = bounds.fold(first, |sum, more| sum + more);
    if code == Code::Nf4 {
        return place.rules(Rules::Paddle).run();
    }
    let place = place.cast(DType::I32).rules(Rules::Paddle).run()?;
    Tensor::from_vec(order, 16, place.device())?.take(&place, 0)
}
