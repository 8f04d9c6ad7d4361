//! Integers in groups that share a scale and a zero point: GPTQ, AWQ and compressed-tensors.
//!
//! A weight is `(code − zero) · scale`, where the code is an unsigned integer of a few bits and the other two belong to a
//! group of inputs of one output. The formats hold the same numbers and differ in their layout: along which dimension
//! codes are packed into words, in which order, and how zero points are stored. A [`Format`] is such a layout, and
//! [`Weights`] are tensors that have been checked against one.
//!
//! # Examples
//!
//! ```
//! use bitlane::{DType, Device, Tensor};
//! use bitlane_quant::grouped::{Format, Weights};
//! let device = Device::cpu();
//! let weight = (Tensor::arange(8 * 32, DType::F32, &device)?.reshape([8, 32])? / 16)?;
//! let scales = Tensor::full([8, 1], 0.5, DType::F16, &device)?;
//! let zeros = Tensor::full([8, 1], 3, DType::U8, &device)?;
//! let awq = Weights::quantize(&Format::awq().group_size(32), &weight, &scales, Some(&zeros), None)?;
//! let gptq = awq.repack(&Format::gptq(4).group_size(32))?;
//! assert_eq!(awq.tensors()?[0].0, "qweight");
//! let (a, b) = (awq.dequantize(DType::F16)?, gptq.dequantize(DType::F16)?);
//! assert!(a.bits_equal(&b)?);
//! # Ok::<(), bitlane::Error>(())
//! ```

mod make;
mod values;
mod weights;

use std::fmt;

use bitlane::{DType, Packing, Result};

use crate::refused;

pub use weights::Weights;

/// Which of eight codes each field of a word of AWQ holds, from the lowest up.
const AWQ_ORDER: [usize; 8] = [0, 2, 4, 6, 1, 3, 5, 7];

/// Which library's tensors a [`Format`] describes.
///
/// # Examples
///
/// ```
/// use bitlane_quant::grouped::{Format, Scheme};
/// assert_eq!(Format::awq().scheme(), Scheme::Awq);
/// assert_eq!(Scheme::CompressedTensors.to_string(), "compressed-tensors");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scheme {
    /// GPTQ, as written by AutoGPTQ and GPTQModel: codes are packed along the inputs.
    Gptq,
    /// AWQ, as written by AutoAWQ for its GEMM kernels: codes are packed along the outputs, the even ones of eight before the odd ones.
    Awq,
    /// The format `pack-quantized` of compressed-tensors: codes are packed along the inputs of one output.
    CompressedTensors,
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Scheme::Gptq => "GPTQ",
            Scheme::Awq => "AWQ",
            Scheme::CompressedTensors => "compressed-tensors",
        })
    }
}

/// How zero points are stored.
///
/// # Examples
///
/// ```
/// use bitlane_quant::grouped::{Format, Zeros};
/// assert_eq!(Format::gptq(4).zeros(), Zeros::MinusOne);
/// assert_eq!(Format::gptq_v2(4).zeros(), Zeros::Stored);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Zeros {
    /// Not at all: every zero point is the middle of the codes, `2^(bits − 1)`.
    Symmetric,
    /// As they are.
    Stored,
    /// Minus one, as in GPTQ's first version. A zero point of 0 cannot be stored, and a field of ones is refused, because readers
    /// disagree on what it means.
    MinusOne,
    /// Minus one, subtracted from whole words, as GPTQModel does when it writes GPTQ's first version: a zero point of 0 borrows
    /// from the next one. 3-bit fields cross words, and are lowered one by one, modulo 8.
    MinusOneInWords,
}

impl Zeros {
    fn name(self) -> &'static str {
        match self {
            Zeros::Symmetric => "Symmetric",
            Zeros::Stored => "Stored",
            Zeros::MinusOne => "MinusOne",
            Zeros::MinusOneInWords => "MinusOneInWords",
        }
    }
}

/// A layout of the weights of a linear layer.
///
/// # Examples
///
/// ```
/// use bitlane_quant::grouped::{Format, Zeros};
/// let format = Format::compressed_tensors(4).group_size(128).with_zeros(Zeros::Stored);
/// assert_eq!(format.to_string(), "compressed-tensors, 4 bits, groups of 128, zero points Stored");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    scheme: Scheme,
    bits: usize,
    group_size: Option<usize>,
    zeros: Zeros,
}

impl Format {
    fn new(scheme: Scheme, bits: usize, zeros: Zeros) -> Format {
        Format { scheme, bits, group_size: None, zeros }
    }

    /// Creates the format of GPTQ's first version, with 2, 3, 4 or 8 bits and zero points minus one.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane_quant::grouped::Format;
    /// assert_eq!(Format::gptq(3).bits(), 3);
    /// ```
    pub fn gptq(bits: usize) -> Format {
        Format::new(Scheme::Gptq, bits, Zeros::MinusOne)
    }

    /// Creates the format of GPTQ's second version (`checkpoint_format: gptq_v2`), which stores zero points as they are.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane_quant::grouped::{Format, Zeros};
    /// assert_eq!(Format::gptq_v2(4), Format::gptq(4).with_zeros(Zeros::Stored));
    /// ```
    pub fn gptq_v2(bits: usize) -> Format {
        Format::new(Scheme::Gptq, bits, Zeros::Stored)
    }

    /// Creates the format of AWQ, which has 4 bits.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane_quant::grouped::Format;
    /// assert_eq!(Format::awq().bits(), 4);
    /// ```
    pub fn awq() -> Format {
        Format::new(Scheme::Awq, 4, Zeros::Stored)
    }

    /// Creates the format of compressed-tensors, with 1 to 8 bits and without zero points.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane_quant::grouped::{Format, Zeros};
    /// assert_eq!(Format::compressed_tensors(8).zeros(), Zeros::Symmetric);
    /// ```
    pub fn compressed_tensors(bits: usize) -> Format {
        Format::new(Scheme::CompressedTensors, bits, Zeros::Symmetric)
    }

    /// Sets the number of inputs that share a scale; without it, all inputs of an output do.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane_quant::grouped::Format;
    /// assert_eq!(Format::awq().group_size(64).inputs_per_group(), Some(64));
    /// ```
    pub fn group_size(self, inputs: usize) -> Format {
        Format { group_size: Some(inputs), ..self }
    }

    /// Sets how zero points are stored.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane_quant::grouped::{Format, Zeros};
    /// let format = Format::gptq(4).with_zeros(Zeros::MinusOneInWords);
    /// assert_eq!(format.zeros(), Zeros::MinusOneInWords);
    /// ```
    pub fn with_zeros(self, zeros: Zeros) -> Format {
        Format { zeros, ..self }
    }

    /// Returns whose tensors these are.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane_quant::grouped::{Format, Scheme};
    /// assert_eq!(Format::gptq(4).scheme(), Scheme::Gptq);
    /// ```
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Returns the number of bits of a code.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane_quant::grouped::Format;
    /// assert_eq!(Format::gptq(2).bits(), 2);
    /// ```
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// Returns the number of inputs that share a scale, or `None` if all do.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane_quant::grouped::Format;
    /// assert_eq!(Format::gptq(2).inputs_per_group(), None);
    /// ```
    pub fn inputs_per_group(&self) -> Option<usize> {
        self.group_size
    }

    /// Returns how zero points are stored.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane_quant::grouped::{Format, Zeros};
    /// assert_eq!(Format::awq().zeros(), Zeros::Stored);
    /// ```
    pub fn zeros(&self) -> Zeros {
        self.zeros
    }

    /// Checks that the library has such a format.
    fn check(&self, op: &'static str) -> Result<()> {
        let (scheme, bits, zeros) = (self.scheme, self.bits, self.zeros);
        let allowed: (&[usize], &[Zeros]) = match scheme {
            Scheme::Gptq => {
                (&[2, 3, 4, 8], &[Zeros::MinusOne, Zeros::Stored, Zeros::MinusOneInWords])
            }
            Scheme::Awq => (&[4], &[Zeros::Stored]),
            Scheme::CompressedTensors => {
                (&[1, 2, 3, 4, 5, 6, 7, 8], &[Zeros::Symmetric, Zeros::Stored])
            }
        };
        if !allowed.0.contains(&bits) {
            return Err(refused(op, format!("bits: {scheme} has {:?}, not {bits}", allowed.0)));
        }
        if !allowed.1.contains(&zeros) {
            let names: Vec<_> = allowed.1.iter().map(|zeros| zeros.name()).collect();
            let (names, given) = (names.join(" or "), zeros.name());
            return Err(refused(op, format!("zeros: {scheme} has {names}, not {given}")));
        }
        if self.group_size == Some(0) {
            return Err(refused(op, "group_size: a group has at least one input, not 0".into()));
        }
        Ok(())
    }

    /// Checks that the last group of inputs is as large as the others. That of GPTQ need not be.
    fn whole_groups(&self, op: &'static str, inputs: usize) -> Result<()> {
        match self.group_size {
            Some(size) if self.scheme != Scheme::Gptq && !inputs.is_multiple_of(size) => {
                let scheme = self.scheme;
                let reason = format!(
                    "group_size: {scheme} has whole groups, and {inputs} inputs are no multiple of {size}"
                );
                Err(refused(op, reason))
            }
            _ => Ok(()),
        }
    }

    /// Whether the first dimension of the tensors are the inputs.
    fn inputs_first(&self) -> bool {
        self.scheme != Scheme::CompressedTensors
    }

    /// Returns the names of the words, the scales and the zero points.
    fn names(&self) -> [&'static str; 3] {
        match self.scheme {
            Scheme::Gptq | Scheme::Awq => ["qweight", "scales", "qzeros"],
            Scheme::CompressedTensors => ["weight_packed", "weight_scale", "weight_zero_point"],
        }
    }

    /// Returns the packing of codes, of both weights and zero points.
    fn packing(&self) -> Packing {
        let packing = Packing::new(self.bits, DType::I32);
        match self.scheme {
            Scheme::Awq => packing.order(AWQ_ORDER),
            Scheme::Gptq | Scheme::CompressedTensors => packing,
        }
    }

    /// Returns the dimension along which codes are packed, and that along which zero points are.
    fn axes(&self) -> (usize, usize) {
        match self.scheme {
            Scheme::Gptq => (0, 1),
            Scheme::Awq => (1, 1),
            Scheme::CompressedTensors => (1, 0),
        }
    }

    /// Returns how many words hold this many codes.
    fn words_for(&self, codes: usize) -> usize {
        codes / 32 * self.bits + (codes % 32 * self.bits).div_ceil(32)
    }

    /// Returns the sizes of a matrix of these outputs and columns, in the order of the tensors.
    fn sizes(&self, outputs: usize, columns: usize) -> [usize; 2] {
        if self.inputs_first() { [columns, outputs] } else { [outputs, columns] }
    }

    /// Returns the middle of the codes.
    fn middle(&self) -> i64 {
        1 << (self.bits - 1)
    }

    /// Returns the largest code.
    fn largest(&self) -> i64 {
        (1 << self.bits) - 1
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, bits) = (self.scheme, self.bits);
        write!(f, "{scheme}, {bits} bits, ")?;
        match self.group_size {
            Some(inputs) => write!(f, "groups of {inputs}")?,
            None => f.write_str("one group")?,
        }
        write!(f, ", zero points {}", self.zeros.name())
    }
}
