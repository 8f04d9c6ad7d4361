//! The error type of the crate.

use std::fmt;

use crate::layout::aligned_size;
use crate::op::Domain;
use crate::promote::{Kind, Op, Rules, result_type};
use crate::{DType, Scalar};

/// A [`Result`](std::result::Result) whose error is by default an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of any call of this crate. The fields hold the arguments that caused it.
///
/// The message is a single line that names, as far as they apply, the operation, the arguments at fault, what is
/// allowed, and a remedy. A call that fails leaves its operands and its destination unchanged.
///
/// # Examples
///
/// ```
/// use bitlane::{Device, ErrorKind, Shift, Tensor};
/// let device = Device::cpu();
/// let x = Tensor::from_slice(&[1i32, 2], [2], &device)?;
/// let y = Tensor::from_slice(&[1i32, 2, 3], [3], &device)?;
/// let error = x.bitwise_left_shift(&y, Shift::Arithmetic).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Broadcast);
/// assert_eq!(
///     error.to_string(),
///     "bitwise_left_shift: cannot broadcast [2] with [3] (dimension 0: 2 vs 3)"
/// );
/// # Ok::<(), bitlane::Error>(())
/// ```
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The rulebook has no common dtype for the operands.
    #[error(
        "{op}: {rules} rules give {lhs} and {rhs} no common dtype; {}",
        remedy(op, *lhs, *rhs, *rules)
    )]
    Promotion {
        /// The operation.
        op: &'static str,
        /// The left operand.
        lhs: Kind,
        /// The right operand.
        rhs: Kind,
        /// The rulebook.
        rules: Rules,
    },
    /// The operation is not defined for the dtype to which its operands promote.
    #[error("{op}: {dtype} is not supported, only {allowed}; cast the operands{}", bits(*dtype, allowed))]
    UnsupportedDType {
        /// The operation.
        op: &'static str,
        /// The dtype in which the operation would have been computed.
        dtype: DType,
        /// The dtypes for which the operation is defined, in words.
        allowed: &'static str,
    },
    /// Two shapes do not broadcast.
    #[error("{op}: cannot broadcast {lhs:?} with {rhs:?}{}", clash(lhs, rhs))]
    Broadcast {
        /// The operation.
        op: &'static str,
        /// The left shape.
        lhs: Box<[usize]>,
        /// The right shape, or the target shape of the broadcast.
        rhs: Box<[usize]>,
    },
    /// The destination does not have the shape of the result.
    #[error(
        "{op}: the result has shape {result:?}, but the destination has {destination:?}; \
         a destination is never resized, give one of the result's shape"
    )]
    InplaceShape {
        /// The operation.
        op: &'static str,
        /// The shape of the destination.
        destination: Box<[usize]>,
        /// The shape of the result.
        result: Box<[usize]>,
    },
    /// The dtype of the destination is of a lower category than that of the result.
    #[error(
        "{op}: the result is {result}, which a destination of {destination} cannot hold; \
         give a destination whose dtype is {}", result.category()
    )]
    InplaceDtype {
        /// The operation.
        op: &'static str,
        /// The dtype of the destination.
        destination: DType,
        /// The dtype of the result.
        result: DType,
    },
    /// Two elements of the destination share memory, or the check for that was given up.
    ///
    /// The check is exact for every view made by slicing, permuting, reshaping and broadcasting. It can only be given
    /// up for strides of other origin, such as [`as_strided`](crate::Tensor::as_strided), with at least three
    /// dimensions and more than 65536 elements.
    #[error(
        "{op}: elements of the destination share memory (shape {shape:?}, strides {strides:?}); \
         write to a tensor whose elements are distinct"
    )]
    OverlappingDestination {
        /// The operation.
        op: &'static str,
        /// The shape of the destination.
        shape: Box<[usize]>,
        /// The strides of the destination, in elements.
        strides: Box<[isize]>,
    },
    /// A scalar does not fit the integer dtype in which the operation is computed.
    #[error("{op}: the scalar {scalar} does not fit {dtype}; use a tensor of a wider dtype")]
    ScalarOverflow {
        /// The operation.
        op: &'static str,
        /// The scalar.
        scalar: Scalar,
        /// The dtype that the scalar has to fit.
        dtype: DType,
    },
    /// A shape is invalid, or does not fit the data or the view.
    #[error("{op}: shape {shape:?}: {reason}")]
    InvalidShape {
        /// The operation.
        op: &'static str,
        /// The requested shape.
        shape: Box<[usize]>,
        /// Why it is rejected, and what would be accepted.
        reason: String,
    },
    /// An index, an axis or a view reaches outside the tensor.
    #[error("{op}: {reason}")]
    OutOfBounds {
        /// The operation.
        op: &'static str,
        /// The index, axis or view, and the bounds that it exceeds.
        reason: String,
    },
    /// The operands, the destination and the mask of a call are not all on the same device.
    #[error("{op}: tensors on {lhs} and {rhs}; move one with `to_device`")]
    DeviceMismatch {
        /// The operation.
        op: &'static str,
        /// The device of the first tensor.
        lhs: String,
        /// The device that differs from it.
        rhs: String,
    },
    /// CUDA cannot be used on this machine, in this build, or on this device.
    #[error("CUDA is not available: {reason}; {remedy}")]
    CudaUnavailable {
        /// What is missing or cannot be used: the crate feature, a library, a symbol or a device.
        reason: String,
        /// What to do about it.
        remedy: String,
    },
    /// NVRTC failed to compile a kernel.
    #[error(
        "cannot compile {kernel} ({options}): {}; name another NVRTC in BITLANE_NVRTC",
        gist(log)
    )]
    Compile {
        /// The module, as `operation_dtype`.
        kernel: String,
        /// The options passed to NVRTC.
        options: String,
        /// The log of NVRTC.
        log: String,
    },
    /// A call to the CUDA driver failed.
    #[error("{call} failed with {name} ({code}): {text}")]
    Driver {
        /// The function of the driver API.
        call: &'static str,
        /// The error code of the driver.
        code: u32,
        /// The name of the error code.
        name: String,
        /// The description of the error code.
        text: String,
    },
    /// Memory ran out.
    #[error("{device}: cannot allocate {}; drop tensors, or use smaller ones", size(*bytes))]
    OutOfMemory {
        /// The device whose memory ran out.
        device: String,
        /// The size of the allocation that failed, or 0 if it is not known.
        bytes: usize,
    },
    /// A file cannot be read or written, or is malformed.
    #[error("{op}: {reason}")]
    File {
        /// The file format.
        op: &'static str,
        /// The file, and what is wrong with it.
        reason: String,
    },
    /// An argument is invalid for the call.
    #[error("{op}: {reason}")]
    InvalidArgument {
        /// The operation.
        op: &'static str,
        /// What is wrong, and what is allowed.
        reason: String,
    },
}

macro_rules! error_kinds {
    ($($kind:ident)*) => {
        /// The variants of [`Error`] without their data, to match on and compare.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $(#[doc = concat!("See [`Error::", stringify!($kind), "`].")] $kind,)*
        }

        #[cfg(test)]
        const KINDS: &[ErrorKind] = &[$(ErrorKind::$kind,)*];

        impl Error {
            /// Returns the variant without its data.
            ///
            /// # Examples
            ///
            /// ```
            /// use bitlane::{DType, ErrorKind};
            /// let error = "f99".parse::<DType>().unwrap_err();
            /// assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            /// ```
            pub const fn kind(&self) -> ErrorKind {
                match self {
                    $(Error::$kind { .. } => ErrorKind::$kind,)*
                }
            }
        }
    };
}

error_kinds! {
    Promotion UnsupportedDType Broadcast InplaceShape InplaceDtype OverlappingDestination
    ScalarOverflow InvalidShape OutOfBounds DeviceMismatch CudaUnavailable Compile Driver
    OutOfMemory File InvalidArgument
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{self:?}"))
    }
}

/// Says what else to do with a dtype that an operation on bits refuses.
fn bits(dtype: DType, allowed: &str) -> &'static str {
    let is_about_bits =
        allowed == Domain::Integers.words() || allowed == Domain::BoolAndIntegers.words();
    match dtype.is_float() || dtype.is_complex() {
        true if is_about_bits => ", or bitcast them if their bits are meant",
        _ => "",
    }
}

/// Formats a count, such as `1 element` or `3 elements`.
pub(crate) fn counted(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// Formats a number of bytes, from 1024 up also in a larger unit. 0 is a number that is not known.
fn size(bytes: usize) -> String {
    if bytes == 0 {
        return "memory".into();
    }
    let exact = counted(bytes, "byte");
    let (mut value, mut unit) = (bytes as f64, "");
    for larger in ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] {
        if value >= 1024.0 {
            (value, unit) = (value / 1024.0, larger);
        }
    }
    if unit.is_empty() { exact } else { format!("{value:.1} {unit} ({exact})") }
}

/// Suggests what to do about dtypes that do not mix.
fn remedy(op: &str, lhs: Kind, rhs: Kind, rules: Rules) -> &'static str {
    let accepts = |rules| op.parse::<Op>().is_ok_and(|op| result_type(op, lhs, rhs, rules).is_ok());
    if rules == Rules::Paddle && accepts(Rules::Torch) {
        "`cast` one of them, or ask for other rules with `.rules(Rules::Torch)`"
    } else {
        "`cast` one of them"
    }
}

/// Returns the line of a compiler's log that describes the error.
fn gist(log: &str) -> &str {
    let lines = || log.lines().map(str::trim).filter(|line| !line.is_empty());
    lines().find(|line| line.contains("error")).or(lines().next()).unwrap_or("it does not say why")
}

/// Names the first dimension, counted from the left of the longer shape, that does not broadcast.
fn clash(lhs: &[usize], rhs: &[usize]) -> String {
    let rank = lhs.len().max(rhs.len());
    (0..rank)
        .map(|axis| (axis, aligned_size(lhs, axis, rank), aligned_size(rhs, axis, rank)))
        .find(|&(_, l, r)| l != r && l != 1 && r != 1)
        .map(|(axis, l, r)| format!(" (dimension {axis}: {l} vs {r})"))
        .unwrap_or_else(|| " (the shape to broadcast to must not be smaller)".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_errors_has_every_kind() {
        let page = include_str!("../docs/errors.md");
        for kind in KINDS {
            assert!(page.contains(&format!("\n## {kind}\n")), "docs/errors.md lacks {kind}");
        }
        assert_eq!(page.matches("\n## ").count(), KINDS.len());
    }

    #[test]
    fn a_compilers_log_becomes_one_line() {
        let log = "k.cu(1): warning: unused\n\nk.cu(7): error: no such type\n  float33 x;\n";
        let error = |log: &str| {
            let (kernel, options) = ("add_f32".into(), "-O3".into());
            Error::Compile { kernel, options, log: log.into() }.to_string()
        };
        assert_eq!(
            error(log),
            "cannot compile add_f32 (-O3): k.cu(7): error: no such type; \
             name another NVRTC in BITLANE_NVRTC"
        );
        assert!(error("\n").contains("it does not say why"));
    }
}
