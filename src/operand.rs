//! Operands: tensors, numbers and, with the feature `ndarray`, arrays of the host.

use half::{bf16, f16};
use num_complex::Complex;

use crate::promote::Kind;
use crate::{Device, Result, Scalar, Tensor};

/// What an operation takes beside a tensor: another tensor, a number, or an array of the host.
///
/// Methods take `impl Into<Operand>`, so it is rarely named.
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
    // Boxed, since an operand is moved about and a tensor is large.
    Owned(Box<Tensor>),
    Scalar(Scalar),
    #[cfg(feature = "ndarray")]
    Array(crate::interop::ndarray::HostArray<'a>),
}

/// An operand on the device where the operation runs.
#[derive(Clone, Debug)]
pub(crate) enum Placed<'a> {
    Borrowed(&'a Tensor),
    Owned(Box<Tensor>),
    Scalar(Scalar),
}

impl<'a> Operand<'a> {
    /// The device of a tensor; numbers and arrays follow others.
    pub(crate) fn device(&self) -> Option<&Device> {
        match &self.0 {
            Inner::Borrowed(tensor) => Some(tensor.device()),
            Inner::Owned(tensor) => Some(tensor.device()),
            Inner::Scalar(_) => None,
            #[cfg(feature = "ndarray")]
            Inner::Array(_) => None,
        }
    }

    /// Brings an array to the device; tensors stay where they are.
    pub(crate) fn place(self, device: &Device) -> Result<Placed<'a>> {
        #[cfg(not(feature = "ndarray"))]
        let _ = device;
        Ok(match self.0 {
            Inner::Borrowed(tensor) => Placed::Borrowed(tensor),
            Inner::Owned(tensor) => Placed::Owned(tensor),
            Inner::Scalar(scalar) => Placed::Scalar(scalar),
            #[cfg(feature = "ndarray")]
            Inner::Array(array) => Placed::Owned(Box::new(array.upload(device)?)),
        })
    }

    #[cfg(feature = "ndarray")]
    pub(crate) fn from_array(array: crate::interop::ndarray::HostArray<'a>) -> Operand<'a> {
        Operand(Inner::Array(array))
    }
}

impl Placed<'_> {
    pub(crate) fn tensor(&self) -> Option<&Tensor> {
        match self {
            Placed::Borrowed(tensor) => Some(tensor),
            Placed::Owned(tensor) => Some(tensor),
            Placed::Scalar(_) => None,
        }
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Placed::Borrowed(tensor) => Kind::from(*tensor),
            Placed::Owned(tensor) => Kind::from(&**tensor),
            Placed::Scalar(scalar) => Kind::scalar(scalar),
        }
    }

    pub(crate) fn shape(&self) -> &[usize] {
        self.tensor().map_or(&[], Tensor::shape)
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

/// Calls `$callback!` with every Rust type that is a number.
macro_rules! for_each_number {
    ($callback:ident) => {
        $callback! {
            bool i8 i16 i32 i64 isize u8 u16 u32 u64 usize
            f16 bf16 f32 f64 Complex<f32> Complex<f64>
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
