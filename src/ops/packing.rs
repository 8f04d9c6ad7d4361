//! Packing values into words, and unpacking them: expressions of one step.

use crate::packing::Packing;
use crate::tensor::IntoAxis;
use crate::{Result, Tensor};

/// # Packing
impl Tensor {
    /// Packs values of a few bits into words, along one dimension.
    ///
    /// Higher bits of a value are dropped, and the last word is filled up with zeros.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{DType, Device, Packing, Tensor};
    /// let weights = Tensor::from_nested([[1u8, 2, 3], [15, 0, 16]], &Device::cpu())?;
    /// let words = weights.pack(&Packing::new(4, DType::U16), -1)?;
    /// assert_eq!(words.to_vec::<u16>()?, [0x321, 0x00f]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::UnsupportedDType`](crate::Error::UnsupportedDType) if the values are neither integers nor bools, [`Error::InvalidArgument`](crate::Error::InvalidArgument) for a packing
    /// that makes no sense, and [`Error::OutOfBounds`](crate::Error::OutOfBounds) for an axis that does not exist.
    pub fn pack(&self, packing: &Packing, axis: impl IntoAxis) -> Result<Tensor> {
        self.expr().pack(packing, axis).run()
    }

    /// Unpacks the values of words, along one dimension, to `u8` or, for a signed packing, to `i8`.
    ///
    /// The result has every whole value that the words hold; [`Tensor::narrow`] drops those that filled the last word.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{DType, Device, Packing, Tensor};
    /// let words = Tensor::from_nested([0x7654_3210u32], &Device::cpu())?;
    /// let values = words.unpack(&Packing::new(4, DType::U32), 0)?;
    /// assert_eq!(values.to_vec::<u8>()?, [0, 1, 2, 3, 4, 5, 6, 7]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the tensor does not hold the words of the packing, or the packing makes no sense, and
    /// [`Error::OutOfBounds`](crate::Error::OutOfBounds) for an axis that does not exist.
    pub fn unpack(&self, packing: &Packing, axis: impl IntoAxis) -> Result<Tensor> {
        self.expr().unpack(packing, axis).run()
    }

    /// Converts words from one packing to another, along one dimension.
    ///
    /// This is one pass over memory, unless values cross words or the last word is not full.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::{DType, Device, Packing, Tensor};
    /// let plain = Packing::new(4, DType::I32);
    /// let interleaved = Packing::new(4, DType::I32).order([0, 2, 4, 6, 1, 3, 5, 7]);
    /// let words = Tensor::from_nested([0x7654_3210], &Device::cpu())?;
    /// assert_eq!(words.repack(&plain, &interleaved, 0)?.to_vec::<i32>()?, [0x7531_6420]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Tensor::unpack`], and [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the values have another number of bits.
    pub fn repack(&self, from: &Packing, to: &Packing, axis: impl IntoAxis) -> Result<Tensor> {
        self.expr().repack(from, to, axis).run()
    }
}
