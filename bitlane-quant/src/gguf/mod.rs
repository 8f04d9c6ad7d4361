//! The blocks of GGUF files.
//!
//! A block holds 32 or 256 values: their steps in a few bits each, and scales that they share. The definitions are those
//! of the reference, the Python package `gguf`, and results equal its results bit for bit: values are computed in `f32`
//! and then rounded once to the dtype that is asked for.

mod file;
mod read;
mod write;

use std::fmt;
use std::str::FromStr;

use bitlane::{DType, Device, Error, Result, Tensor};

use crate::{refused, rounded_dtype};

pub use file::{Info, Reader, Type, Value};

/// A kind of block.
///
/// It is printed and parsed as in the reference.
///
/// # Examples
///
/// ```
/// use bitlane_quant::gguf::Kind;
/// assert_eq!("Q4_K".parse::<Kind>()?, Kind::Q4_K);
/// assert_eq!(Kind::Q6_K.to_string(), "Q6_K");
/// # Ok::<(), bitlane::Error>(())
/// ```
#[allow(non_camel_case_types, reason = "these are the names of the reference")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// 4 bits and a scale.
    Q4_0,
    /// 4 bits, a scale and a minimum.
    Q4_1,
    /// 5 bits and a scale.
    Q5_0,
    /// 5 bits, a scale and a minimum.
    Q5_1,
    /// 8 bits and a scale.
    Q8_0,
    /// 4 bits, with scales and minima of 6 bits for every 32 values.
    Q4_K,
    /// 6 bits, with scales of 8 bits for every 16 values.
    Q6_K,
    /// −1, 0 or 1, and a scale.
    TQ2_0,
    /// 4-bit floats and a power of two, as in the OCP's MX formats.
    MXFP4,
}

impl Kind {
    /// Every kind.
    pub const ALL: &'static [Kind] = &[
        Kind::Q4_0,
        Kind::Q4_1,
        Kind::Q5_0,
        Kind::Q5_1,
        Kind::Q8_0,
        Kind::Q4_K,
        Kind::Q6_K,
        Kind::TQ2_0,
        Kind::MXFP4,
    ];

    /// Returns the name, as printed and parsed.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane_quant::gguf::Kind;
    /// assert_eq!(Kind::MXFP4.name(), "MXFP4");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Q4_0 => "Q4_0",
            Kind::Q4_1 => "Q4_1",
            Kind::Q5_0 => "Q5_0",
            Kind::Q5_1 => "Q5_1",
            Kind::Q8_0 => "Q8_0",
            Kind::Q4_K => "Q4_K",
            Kind::Q6_K => "Q6_K",
            Kind::TQ2_0 => "TQ2_0",
            Kind::MXFP4 => "MXFP4",
        }
    }

    /// Returns the number of values in a block.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane_quant::gguf::Kind;
    /// assert_eq!((Kind::Q4_0.block_len(), Kind::Q4_K.block_len()), (32, 256));
    /// ```
    pub const fn block_len(self) -> usize {
        match self {
            Kind::Q4_K | Kind::Q6_K | Kind::TQ2_0 => 256,
            _ => 32,
        }
    }

    /// Returns the number of bytes of a block.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane_quant::gguf::Kind;
    /// assert_eq!(Kind::Q4_0.block_bytes(), 18);
    /// ```
    pub const fn block_bytes(self) -> usize {
        match self {
            Kind::Q4_0 => 18,
            Kind::Q4_1 => 20,
            Kind::Q5_0 => 22,
            Kind::Q5_1 => 24,
            Kind::Q8_0 => 34,
            Kind::Q4_K => 144,
            Kind::Q6_K => 210,
            Kind::TQ2_0 => 66,
            Kind::MXFP4 => 17,
        }
    }

    /// Returns whether [`quantize`] makes blocks of this kind: where the reference defines how.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane_quant::gguf::Kind;
    /// assert!(Kind::Q4_0.can_quantize() && !Kind::Q6_K.can_quantize());
    /// ```
    pub const fn can_quantize(self) -> bool {
        !matches!(self, Kind::Q4_K | Kind::Q6_K)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Kind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Kind::ALL.iter().copied().find(|kind| kind.name() == text).ok_or_else(|| {
            let names: Vec<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
            let names = names.join(" ");
            refused("gguf", format!("{text:?} names no kind of block; the names are {names}"))
        })
    }
}

/// Returns the values of blocks, one after another, as `f16`, `bf16` or `f32`.
///
/// The blocks are bytes, in one dimension.
///
/// # Examples
///
/// ```
/// use bitlane::{DType, Device, Tensor};
/// use bitlane_quant::gguf::{self, Kind};
/// // A scale of 0.5, then the values −2 and 3 sixteen times each.
/// let mut block = vec![0x00u8, 0x38];
/// block.extend([0xb6; 16]);
/// let blocks = Tensor::from_vec(block, 18, &Device::cpu())?;
/// let values = gguf::dequantize(Kind::Q4_0, &blocks, DType::F32)?.to_vec::<f32>()?;
/// assert_eq!((values[0], values[16]), (-1.0, 1.5));
/// # Ok::<(), bitlane::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::InvalidArgument`] if the tensor does not hold whole blocks of bytes in one dimension, or the dtype is
/// another one.
pub fn dequantize(kind: Kind, blocks: &Tensor, dtype: DType) -> Result<Tensor> {
    let op = "gguf::dequantize";
    rounded_dtype(op, dtype)?;
    let bytes = kind.block_bytes();
    if blocks.dtype() != DType::U8 || blocks.rank() != 1 || !blocks.len().is_multiple_of(bytes) {
        let (given, shape) = (blocks.dtype(), blocks.shape());
        return Err(refused(
            op,
            format!(
                "{kind} takes u8 in one dimension, {bytes} bytes to a block, not {given} of shape {shape:?}"
            ),
        ));
    }
    let count = blocks.len() / bytes;
    let rows = blocks.reshape([count, bytes])?;
    read::values(kind, &rows, dtype)?.reshape([count * kind.block_len()])
}

/// Returns the blocks of values, as bytes in one dimension.
///
/// # Examples
///
/// ```
/// use bitlane::{DType, Device, Tensor};
/// use bitlane_quant::gguf::{self, Kind};
/// let x = Tensor::full([32], 1.5, DType::F32, &Device::cpu())?;
/// let blocks = gguf::quantize(Kind::Q4_0, &x)?;
/// assert!(gguf::dequantize(Kind::Q4_0, &blocks, DType::F32)?.bits_equal(&x)?);
/// # Ok::<(), bitlane::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::InvalidArgument`] if the values are not floats or no whole number of blocks, or if the reference does not
/// define how blocks of this kind are made.
pub fn quantize(kind: Kind, values: &Tensor) -> Result<Tensor> {
    let op = "gguf::quantize";
    if !kind.can_quantize() {
        let kinds: Vec<_> = Kind::ALL.iter().filter(|kind| kind.can_quantize()).collect();
        return Err(refused(op, format!("{kind} can only be read; the others are {kinds:?}")));
    }
    let (len, block) = (values.len(), kind.block_len());
    if !values.dtype().is_float() || !len.is_multiple_of(block) {
        let given = values.dtype();
        return Err(refused(
            op,
            format!("{kind} takes floats, {block} to a block, not {len} elements of {given}"),
        ));
    }
    let values = values.cast(DType::F32)?.contiguous()?.reshape([len / block, block])?;
    write::blocks(kind, &values)?.reshape([len / block * kind.block_bytes()])
}

/// Returns a small table of bytes on a device.
fn table<const N: usize>(bytes: &[u8], shape: [usize; N], device: &Device) -> Result<Tensor> {
    Tensor::from_slice(bytes, shape, device)
}
