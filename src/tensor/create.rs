//! Constructors.

use super::Tensor;
use super::shape::{IntoRange, IntoShape};
use crate::backend;
use crate::call::{Call, Elements, Target};
use crate::cast::Cast;
use crate::dtype::for_each_dtype;
use crate::error::counted;
use crate::layout::{boxed, checked_len};
use crate::storage::Storage;
use crate::{DType, Device, Element, Error, Result, Scalar};

/// # Constructors
impl Tensor {
    /// Creates a tensor by copying elements, given in row-major order, to a device.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], [2, 2], &Device::cpu())?;
    /// let scalar = Tensor::from_slice(&[true], (), &Device::cpu())?;
    /// assert_eq!((x.rank(), scalar.rank()), (2, 0));
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::InvalidShape`] if the number of elements of the shape is not the length of the slice, its rank is
    ///   above 8, or its byte count overflows `isize`.
    /// - [`Error::OutOfMemory`] if the device cannot allocate the memory.
    pub fn from_slice<T: Element>(
        elements: &[T],
        shape: impl IntoShape,
        device: &Device,
    ) -> Result<Tensor> {
        shape.with_shape(|shape| {
            expect_len("from_slice", shape, T::DTYPE, elements.len())?;
            let storage = Storage::from_bytes(device, bytemuck::cast_slice(elements))?;
            Ok(Tensor::row_major(storage, shape, T::DTYPE))
        })
    }

    /// Creates a tensor of the elements of a vector, in row-major order.
    ///
    /// On the CPU the tensor takes over the vector's memory, and nothing is copied.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_vec(vec![1.0f32, 2.0, 3.0, 4.0], [2, 2], &Device::cpu())?;
    /// assert_eq!(x.get::<f32>([1, 0])?, 3.0);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Tensor::from_slice`].
    pub fn from_vec<T: Element>(
        elements: Vec<T>,
        shape: impl IntoShape,
        device: &Device,
    ) -> Result<Tensor> {
        shape.with_shape(|shape| {
            expect_len("from_vec", shape, T::DTYPE, elements.len())?;
            Ok(Tensor::row_major(backend::storage_of(device, elements)?, shape, T::DTYPE))
        })
    }

    /// Creates a tensor by copying elements, given as native-endian bytes in row-major order, to a device.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::from_bytes(DType::I16, &(-2i16).to_ne_bytes(), [1], &Device::cpu())?;
    /// assert_eq!(x.to_vec::<i16>()?, [-2]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Tensor::from_slice`], and [`Error::InvalidArgument`] if `dtype` is `bool` and a byte is not 0 or 1.
    pub fn from_bytes(
        dtype: DType,
        bytes: &[u8],
        shape: impl IntoShape,
        device: &Device,
    ) -> Result<Tensor> {
        let op = "from_bytes";
        shape.with_shape(|shape| {
            let len = checked_len(op, shape, dtype.size())?;
            if bytes.len() != len * dtype.size() {
                let (given, wanted) = (bytes.len(), len * dtype.size());
                let reason = format!("needs {} of {dtype}, got {given}", counted(wanted, "byte"));
                return Err(Error::InvalidShape { op, shape: boxed(shape), reason });
            }
            if dtype == DType::Bool
                && let Some(index) = bytes.iter().position(|&byte| byte > 1)
            {
                let reason = format!("bool number {index} is {}, not 0 or 1", bytes[index]);
                return Err(Error::InvalidArgument { op, reason });
            }
            Ok(Tensor::row_major(Storage::from_bytes(device, bytes)?, shape, dtype))
        })
    }

    /// Creates a tensor of zeros, or of `false` if the dtype is `bool`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::zeros([2, 2], DType::F16, &Device::cpu())?;
    /// assert_eq!(x.to_bytes()?, [0; 8]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidShape`] if the rank is above 8 or the byte count overflows `isize`, [`Error::OutOfMemory`] if
    /// the device cannot allocate the memory.
    pub fn zeros(shape: impl IntoShape, dtype: DType, device: &Device) -> Result<Tensor> {
        shape.with_shape(|shape| {
            let len = checked_len("zeros", shape, dtype.size())?;
            Ok(Tensor::row_major(Storage::zeroed(device, len * dtype.size())?, shape, dtype))
        })
    }

    /// Creates a tensor of ones, or of `true` if the dtype is `bool`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::ones(3, DType::U8, &Device::cpu())?;
    /// assert_eq!(x.to_vec::<u8>()?, [1, 1, 1]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Tensor::zeros`].
    pub fn ones(shape: impl IntoShape, dtype: DType, device: &Device) -> Result<Tensor> {
        Tensor::full(shape, true, dtype, device)
    }

    /// Creates a tensor in which every element is `value`, rounded to the dtype.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::full([2], 0.1, DType::F32, &Device::cpu())?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.1, 0.1]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::ScalarOverflow`] if an integer does not fit an integer dtype, and as for [`Tensor::zeros`].
    pub fn full(
        shape: impl IntoShape,
        value: impl Into<Scalar>,
        dtype: DType,
        device: &Device,
    ) -> Result<Tensor> {
        let value = value.into().to_element("full", dtype)?;
        shape.with_shape(|shape| {
            checked_len("full", shape, dtype.size())?;
            let mut call = Call::new();
            let value = call.number(dtype, value);
            let shape = call.add_shape(shape);
            let elements = Elements { value, shape, device: Some(device) };
            call.run("full", elements, None, Target::default())
        })
    }

    /// Creates a one-dimensional tensor of consecutive integers: those of a range, or `0..count`.
    ///
    /// Each integer is converted to the dtype as [`Tensor::cast`] converts it.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::arange(4, DType::F32, &Device::cpu())?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.0, 1.0, 2.0, 3.0]);
    /// let y = Tensor::arange(-1..2, DType::I64, &Device::cpu())?;
    /// assert_eq!(y.to_vec::<i64>()?, [-1, 0, 1]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Tensor::zeros`].
    pub fn arange(range: impl IntoRange, dtype: DType, device: &Device) -> Result<Tensor> {
        let (start, end) = range.bounds();
        // A length above `usize::MAX` is clamped to it; `checked_len` rejects both.
        let len = usize::try_from((end - start).max(0)).unwrap_or(usize::MAX);
        checked_len("arange", &[len], dtype.size())?;
        macro_rules! count {
            ($($variant:ident: $rust:ty = $name:literal $class:ident;)*) => {
                match dtype {
                    $(DType::$variant => {
                        Tensor::from_slice(&numbers::<$rust>(start, len)?, len, device)
                    })*
                }
            };
        }
        for_each_dtype!(count)
    }
}

/// Returns `len` consecutive numbers starting at `start`.
///
/// The bounds come from 64-bit types, so every number fits `i64` if it is negative and `u64` otherwise.
fn numbers<T: Element>(start: i128, len: usize) -> Result<Vec<T>>
where
    u64: Cast<T>,
    i64: Cast<T>,
{
    let mut numbers = Vec::new();
    numbers
        .try_reserve_exact(len)
        .map_err(|_| Error::OutOfMemory { device: "host".into(), bytes: len * size_of::<T>() })?;
    let number = |k: usize| {
        let number = start + k as i128;
        if number < 0 { (number as i64).cast() } else { (number as u64).cast() }
    };
    numbers.extend((0..len).map(number));
    Ok(numbers)
}

/// Checks that a shape is valid and has `given` elements.
fn expect_len(op: &'static str, shape: &[usize], dtype: DType, given: usize) -> Result<()> {
    let len = checked_len(op, shape, dtype.size())?;
    if len == given {
        return Ok(());
    }
    let reason = format!("needs {}, got {given}", counted(len, "element"));
    Err(Error::InvalidShape { op, shape: boxed(shape), reason })
}
