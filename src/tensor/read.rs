//! Reading elements back, converting and copying.

use std::ops::Range;

use bytemuck::AnyBitPattern;

use super::Tensor;
use crate::backend::{self, HostSlice};
use crate::call::{Call, Target, run_operation};
use crate::expr::graph::Operation;
use crate::promote::Rules;
use crate::storage::Storage;
use crate::{DType, Device, Element, Error, Result};

/// # Reading, converting and copying
impl Tensor {
    /// Copies the elements to a vector, in row-major order. Waits for the device.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_slice(&[1, 2, 3, 4, 5, 6], [2, 3], &Device::cpu())?;
    /// assert_eq!(x.transpose(0, 1)?.to_vec::<i32>()?, [1, 4, 2, 5, 3, 6]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if `T` is not the element type, [`Error::OutOfMemory`], or the error of an earlier
    /// operation that failed on the device.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.elements("to_vec")
    }

    /// Borrows the elements of a contiguous tensor on the CPU, in row-major order, without a copy.
    ///
    /// Until the slice is dropped, operations that write to the storage wait, and the thread that holds it must not start
    /// one. Operations that read go on, in this thread too.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_vec(vec![3, 1, 2], [3], &Device::cpu())?;
    /// assert_eq!(x.as_slice::<i32>()?.iter().max(), Some(&3));
    /// assert_eq!(x.slice(0, 1..)?.as_slice::<i32>()?[..], [1, 2]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if `T` is not the element type, the tensor is on another device, or it is not
    /// contiguous; [`Tensor::to_vec`] copies such elements.
    pub fn as_slice<T: Element>(&self) -> Result<HostSlice<'_, T>> {
        let op = "as_slice";
        self.expect_element_type::<T>(op)?;
        let refused = |reason: String| Error::InvalidArgument { op, reason };
        if !self.is_contiguous() {
            let (shape, strides) = (self.shape(), self.strides());
            return Err(refused(format!(
                "a tensor of shape {shape:?} with strides {strides:?} is not contiguous; `contiguous` copies it"
            )));
        }
        let byte = self.byte_range().start;
        HostSlice::new(&self.storage, byte, self.len()).ok_or_else(|| {
            let device = self.device();
            refused(format!("elements on {device} cannot be borrowed; `to_vec` copies them"))
        })
    }

    fn expect_element_type<T: Element>(&self, op: &'static str) -> Result<()> {
        if T::DTYPE == self.dtype {
            return Ok(());
        }
        let (asked, own) = (T::DTYPE, self.dtype);
        let reason = format!("elements of {own} were asked for as {asked}; cast them first");
        Err(Error::InvalidArgument { op, reason })
    }

    /// Like [`Tensor::to_vec`], with errors that name the operation `op`.
    pub(crate) fn elements<T: Element>(&self, op: &'static str) -> Result<Vec<T>> {
        self.expect_element_type::<T>(op)?;
        // Only bools have invalid bit patterns, which a user's own kernels may have written.
        backend::elements(self.download()?).ok_or_else(|| {
            let reason = "the storage holds a bool beyond 0 and 1".into();
            Error::InvalidArgument { op, reason }
        })
    }

    /// Copies the elements to a vector of native-endian bytes, in row-major order. Waits for the device.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_slice(&[true, false], [2], &Device::cpu())?;
    /// assert_eq!(x.to_bytes()?, [1, 0]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], or the error of an earlier operation that failed on the device.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.download()
    }

    /// Copies the bits of the elements, in row-major order, to values of a type whose size divides the elements'.
    fn download<B: AnyBitPattern>(&self) -> Result<Vec<B>> {
        let dense = self.contiguous()?;
        let range = dense.byte_range();
        let memory = dense.storage.read();
        memory.download(range)
    }

    /// Returns the byte range of a contiguous tensor in its storage.
    fn byte_range(&self) -> Range<usize> {
        let start = self.layout.offset() * self.dtype.size();
        start..start + self.len() * self.dtype.size()
    }

    /// Copies the tensor to another device. Returns a clone if it is already there.
    ///
    /// If the devices differ only in their streams (see [`Device::with_new_stream`]), the result shares the storage:
    /// nothing is copied, and operations on the result run on the stream of `device`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_slice(&[1, 2], [2], &Device::cpu())?;
    /// let y = x.to_device(&Device::best()?)?.to_device(&Device::cpu())?;
    /// assert_eq!(y.to_vec::<i32>()?, [1, 2]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], the error of an earlier operation that failed on either device, or
    /// [`Error::InvalidArgument`] if a `bool` tensor that is copied to the CPU holds a byte other than 0 and 1, which
    /// only a user's own kernel can have written.
    pub fn to_device(&self, device: &Device) -> Result<Tensor> {
        if self.device() == device {
            return Ok(self.with_device(device));
        }
        #[cfg(feature = "cpu")]
        if self.dtype == DType::Bool && device == &Device::cpu() {
            return Tensor::from_slice(&self.elements::<bool>("to_device")?, self.shape(), device);
        }
        let dense = self.contiguous()?;
        let range = dense.byte_range();
        let mut memory = device.allocate(range.len())?;
        let bytes = range.len();
        memory.copy_from(&dense.storage.read(), range)?;
        Ok(Tensor::row_major(Storage::new(device, bytes, memory), self.shape(), self.dtype))
    }

    /// Converts the elements to a dtype. Returns a clone if the tensor already has it.
    ///
    /// - An integer wraps to a narrower integer.
    /// - A float becomes an integer by truncating and saturating; NaN becomes 0.
    /// - Every value other than zero becomes `true`, including NaN.
    /// - A complex number loses its imaginary part, except that it becomes `true` if either part is not zero.
    /// - A value that a float cannot represent is rounded once, to nearest even. One that is too large becomes infinite or,
    ///   in `f8e4m3fn`, which has no infinities, a NaN; [`cast_saturating`](Tensor::cast_saturating) avoids both.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::from_slice(&[1.9f32, -1.9, 300.0, f32::NAN], [4], &Device::cpu())?;
    /// assert_eq!(x.cast(DType::I8)?.to_vec::<i8>()?, [1, -1, 127, 0]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], and on CUDA [`Error::Compile`] or [`Error::Driver`].
    #[doc(alias = "astype")]
    #[doc(alias = "to_dtype")]
    pub fn cast(&self, dtype: DType) -> Result<Tensor> {
        if dtype == self.dtype {
            return Ok(self.clone());
        }
        let (rules, target) = (Rules::default(), Target::default());
        run_operation(Operation::Cast(dtype), [&self.into()], rules, target)
    }

    /// Converts the elements to a dtype, and gives the largest finite value instead of what is too large.
    ///
    /// It is [`cast`](Tensor::cast) of values that have been limited to the lowest and the highest finite value of the dtype.
    /// Infinities are limited too. A NaN stays a NaN, or becomes the integer 0. An integer becomes the nearest one that
    /// a narrower integer dtype has, instead of wrapping; to `bool` it is `cast`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::from_slice(&[0.3f32, 500.0, f32::NEG_INFINITY], [3], &Device::cpu())?;
    /// let narrow = x.cast_saturating(DType::F8E4M3FN)?;
    /// assert_eq!(narrow.cast(DType::F32)?.to_vec::<f32>()?, [0.3125, 448.0, -448.0]);
    /// let x = Tensor::from_slice(&[300i32, -7], [2], &Device::cpu())?;
    /// assert_eq!(x.cast_saturating(DType::U8)?.to_vec::<u8>()?, [255, 0]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::UnsupportedDType`] for a complex dtype, [`Error::OutOfMemory`], and on CUDA [`Error::Compile`] or
    /// [`Error::Driver`].
    #[doc(alias = "saturating_cast")]
    #[doc(alias = "saturate")]
    pub fn cast_saturating(&self, dtype: DType) -> Result<Tensor> {
        let (rules, target) = (Rules::default(), Target::default());
        run_operation(Operation::CastSaturating(dtype), [&self.into()], rules, target)
    }

    /// Returns a tensor with the same elements in row-major order without gaps. Copies only if needed.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_slice(&[1, 2, 3, 4], [2, 2], &Device::cpu())?.transpose(0, 1)?;
    /// assert!(!x.is_contiguous());
    /// assert!(x.contiguous()?.is_contiguous());
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Tensor::cast`].
    pub fn contiguous(&self) -> Result<Tensor> {
        if self.is_contiguous() { Ok(self.clone()) } else { self.copied("contiguous") }
    }

    /// Copies the tensor to new storage, in row-major order without gaps. [`Clone`], by contrast, shares the storage.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// let x = Tensor::from_slice(&[1, 2], [2], &Device::cpu())?;
    /// let mut y = x.copy()?;
    /// y.add_assign(10)?;
    /// assert_eq!(x.to_vec::<i32>()?, [1, 2]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Tensor::cast`].
    pub fn copy(&self) -> Result<Tensor> {
        self.copied("copy")
    }

    /// Copies the elements to new storage in row-major order.
    fn copied(&self, op: &'static str) -> Result<Tensor> {
        let mut call = Call::new();
        let elements = call.tensor(self);
        call.run(op, elements, None, Target::default())
    }
}
