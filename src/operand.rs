//! Operands: tensors, numbers and, with the feature `ndarray`, host arrays.

use half::{bf16, f16};
use num_complex::Complex;

use crate::{DType, Device, Result, Scalar, Tensor};

/// An operand of an operation: a tensor, a number or, with the feature `ndarray`, a host array.
///
/// Methods take `impl Into<Operand>`, so the type is rarely named. Tensors, references to tensors, all Rust numbers,
/// [`Scalar`] and `ndarray` arrays convert into it. A number adopts the dtype of the tensor if its category allows
/// that; an array is copied to the device of the tensor.
///
/// # Examples
///
/// ```
/// use bitlane::{Device, Tensor};
/// let device = Device::cpu();
/// let x = Tensor::from_slice(&[1, 2], [2], &device)?;
/// let y = Tensor::from_slice(&[10, 20], [2], &device)?;
/// assert_eq!(x.add(&y)?.to_vec::<i32>()?, [11, 22]);
/// assert_eq!(x.add(7u8)?.to_vec::<i32>()?, [8, 9]);
/// # Ok::<(), bitlane::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Operand<'a>(Inner<'a>);

#[derive(Clone, Debug)]
enum Inner<'a> {
    Borrowed(&'a Tensor),
    // Boxed, because operands are moved around and a tensor is large.
    Owned(Box<Tensor>),
    Scalar(Scalar),
    #[cfg(feature = "ndarray")]
    Array(crate::interop::ndarray::HostArray<'a>),
}

/// Elements in memory: those of a tensor, or those of a host array that has yet to be uploaded.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InMemory<'a> {
    Tensor(&'a Tensor),
    #[cfg(feature = "ndarray")]
    Array(&'a crate::interop::ndarray::HostArray<'a>),
}

impl<'a> Operand<'a> {
    /// Returns the elements of the operand, or `Err` with the number if it is one.
    #[inline]
    pub(crate) fn source(&self) -> std::result::Result<InMemory<'_>, &Scalar> {
        match &self.0 {
            Inner::Borrowed(tensor) => Ok(InMemory::Tensor(tensor)),
            Inner::Owned(tensor) => Ok(InMemory::Tensor(tensor)),
            Inner::Scalar(scalar) => Err(scalar),
            #[cfg(feature = "ndarray")]
            Inner::Array(array) => Ok(InMemory::Array(array)),
        }
    }

    /// Returns the device of a tensor, and `None` for numbers and arrays.
    pub(crate) fn device(&self) -> Option<&Device> {
        self.source().ok().and_then(|source| source.device())
    }

    #[cfg(feature = "ndarray")]
    pub(crate) fn from_array(array: crate::interop::ndarray::HostArray<'a>) -> Operand<'a> {
        Operand(Inner::Array(array))
    }
}

impl<'a> InMemory<'a> {
    pub(crate) fn dtype(&self) -> DType {
        match self {
            InMemory::Tensor(tensor) => tensor.dtype(),
            #[cfg(feature = "ndarray")]
            InMemory::Array(array) => array.dtype(),
        }
    }

    pub(crate) fn shape(&self) -> &'a [usize] {
        match self {
            InMemory::Tensor(tensor) => tensor.shape(),
            #[cfg(feature = "ndarray")]
            InMemory::Array(array) => array.shape(),
        }
    }

    pub(crate) fn device(&self) -> Option<&'a Device> {
        match self {
            InMemory::Tensor(tensor) => Some(tensor.device()),
            #[cfg(feature = "ndarray")]
            InMemory::Array(_) => None,
        }
    }

    /// Returns `true` if both are the same view of the same storage, as elements of the same dtype.
    pub(crate) fn is_same(&self, other: &InMemory<'_>) -> bool {
        match (self, other) {
            (InMemory::Tensor(tensor), InMemory::Tensor(other)) => {
                tensor.shares_storage(other)
                    && tensor.layout() == other.layout()
                    && tensor.dtype() == other.dtype()
            }
            #[cfg(feature = "ndarray")]
            _ => false,
        }
    }

    /// Copies an array to a device. Returns `None` for a tensor.
    pub(crate) fn upload(&self, device: &Device) -> Option<Result<Tensor>> {
        match self {
            InMemory::Tensor(_) => {
                let _ = device;
                None
            }
            #[cfg(feature = "ndarray")]
            InMemory::Array(array) => Some(array.upload(device)),
        }
    }
}

impl<'a> From<&'a Tensor> for Operand<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Operand(Inner::Borrowed(tensor))
    }
}

impl<'a> From<&'a mut Tensor> for Operand<'a> {
    fn from(tensor: &'a mut Tensor) -> Self {
        Operand(Inner::Borrowed(tensor))
    }
}

impl From<Tensor> for Operand<'_> {
    fn from(tensor: Tensor) -> Self {
        Operand(Inner::Owned(Box::new(tensor)))
    }
}

impl<'a> From<&Operand<'a>> for Operand<'a> {
    fn from(operand: &Operand<'a>) -> Self {
        operand.clone()
    }
}

impl From<Scalar> for Operand<'_> {
    fn from(scalar: Scalar) -> Self {
        Operand(Inner::Scalar(scalar))
    }
}

/// Calls `$callback!` with every Rust type that converts to a [`Scalar`].
macro_rules! for_each_number {
    ($callback:ident) => {
        $callback! {
            bool i8 i16 i32 i64 isize u8 u16 u32 u64 usize
            $crate::f8e4m3fn $crate::f8e5m2 f16 bf16 f32 f64 Complex<f32> Complex<f64>
        }
    };
}
pub(crate) use for_each_number;

macro_rules! operand_from_numbers {
    ($($number:ty)*) => {$(
        impl From<$number> for Operand<'_> {
            fn from(number: $number) -> Self {
                Operand(Inner::Scalar(number.into()))
            }
        }
    )*};
}

for_each_number!(operand_from_numbers);
