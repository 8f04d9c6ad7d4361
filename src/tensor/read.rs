//! Reading elements back, and copies in another form.

use std::ops::Range;

use bytemuck::AnyBitPattern;

use super::Tensor;
use crate::backend;
use crate::call::{Call, Target};
use crate::storage::Storage;
use crate::{DType, Device, Element, Error, Result};

/// # Reading, converting and copying
impl Tensor {
    /// The elements in row-major order. Waits for the device.
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
    /// [`Error::InvalidArgument`] if `T` is not the type of the elements, [`Error::OutOfMemory`],
    /// or whatever failed on the device before.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        self.elements("to_vec")
    }

    /// As [`Tensor::to_vec`], on behalf of another operation.
    pub(crate) fn elements<T: Element>(&self, op: &'static str) -> Result<Vec<T>> {
        if T::DTYPE != self.dtype {
            let (asked, own) = (T::DTYPE, self.dtype);
            let reason = format!("elements of {own} were asked for as {asked}; cast them first");
            return Err(Error::InvalidArgument { op, reason });
        }
        // Only bools can be wrong, in memory that the user's own kernels have written.
        backend::elements(self.download()?).ok_or_else(|| {
            let reason = "the storage holds a bool beyond 0 and 1".into();
            Error::InvalidArgument { op, reason }
        })
    }

    /// The elements as native-endian bytes, in row-major order. Waits for the device.
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
    /// [`Error::OutOfMemory`], or whatever failed on the device before.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.download()
    }

    /// The bits of the elements in row-major order, as numbers of any size that divides theirs.
    fn download<B: AnyBitPattern>(&self) -> Result<Vec<B>> {
        let dense = self.contiguous()?;
        let range = dense.byte_range();
        let memory = dense.storage.read();
        memory.download(range)
    }

    /// The bytes of a contiguous tensor in its storage.
    fn byte_range(&self) -> Range<usize> {
        let start = self.layout.offset() * self.dtype.size();
        start..start + self.len() * self.dtype.size()
    }

    /// The same elements on another device; the tensor itself if it is there already.
    ///
    /// A device that differs only in its stream (see [`Device::with_new_stream`]) shares the
    /// storage: nothing is copied, and what is asked of the result runs on that stream.
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
    /// [`Error::OutOfMemory`], whatever failed on either device, or [`Error::InvalidArgument`] for a
    /// bool beyond 0 and 1 that the user's own kernels have written, if it would come to the CPU.
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

    /// The same elements converted to a dtype; the tensor itself if it has that dtype.
    ///
    /// Integers wrap; floats become integers by truncating and saturating, NaN becoming 0; all but
    /// zero is `true`; complex numbers lose their imaginary part; rounding is to nearest even.
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
    /// [`Error::OutOfMemory`].
    pub fn cast(&self, dtype: DType) -> Result<Tensor> {
        if dtype == self.dtype { Ok(self.clone()) } else { self.copied_as("cast", dtype) }
    }

    /// The same elements in row-major order without gaps; the tensor itself if they are so already.
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
    /// [`Error::OutOfMemory`].
    pub fn contiguous(&self) -> Result<Tensor> {
        if self.is_contiguous() {
            Ok(self.clone())
        } else {
            self.copied_as("contiguous", self.dtype)
        }
    }

    /// A copy in storage of its own, in row-major order without gaps; [`Clone`] shares the storage.
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
    /// [`Error::OutOfMemory`].
    pub fn copy(&self) -> Result<Tensor> {
        self.copied_as("copy", self.dtype)
    }

    /// A row-major copy in fresh storage.
    fn copied_as(&self, op: &'static str, dtype: DType) -> Result<Tensor> {
        let mut call = Call::new();
        let elements = call.tensor(self);
        let elements = call.cast(elements, dtype);
        call.run(op, elements, None, Target::default())
    }
}
