//! The tensor: storage on a device, seen through a layout.

mod compare;
mod create;
mod index;
mod join;
mod nested;
mod print;
mod read;
mod shape;
mod views;
mod write;

use std::sync::Arc;

pub use self::nested::{Nested, Ragged};
pub use self::shape::{IntoAxis, IntoIndex, IntoRange, IntoReshape, IntoShape, Size};
use crate::layout::{Layout, checked_len};
use crate::storage::Storage;
use crate::{DType, Device, Result};

/// An array of elements on a device.
///
/// Cloning shares the storage, and so do the views: what is written through one is seen through all
/// of them. Operations give new tensors, except those that end in `_assign` or are told where to
/// write with [`Binary::out`](crate::Binary::out). Tensors can be shared between threads.
///
/// ```
/// use bitlane::{Device, Tensor};
/// let device = Device::cpu();
/// let x = Tensor::from_slice(&[1u32, 2, 3, 4, 5, 6], [2, 3], &device)?;
/// let shifted = (&x << 4)?;
/// assert_eq!(shifted.shape(), [2, 3]);
/// assert_eq!(shifted.to_vec::<u32>()?, [16, 32, 48, 64, 80, 96]);
/// println!("{shifted}"); // as NumPy would print it
/// # Ok::<(), bitlane::Error>(())
/// ```
///
/// # When it does not compile
///
/// - `x.sum()` "is not an iterator": a sum takes its axes, and an empty list means all: `x.sum(&[])?`.
/// - `&x + &y` gives a `Result`, since shapes and dtypes may not fit: `(&x + &y)?`. Longer formulas read better as
///   [expressions](Tensor::expr), which have one `?` at the end.
/// - `2.0 * &x` is ambiguous, since the literal has no type of its own: write `2.0f64 * &x` or `&x * 2.0`. Whichever it
///   is, the number follows the dtype of the tensor.
/// - `x.to_vec()?` needs the type of the elements: `x.to_vec::<f32>()?`.
/// - There is no `x += 1`, which could not report an error: `x.add_assign(1)?`.
/// - `x[[0, 1]]` cannot be had of a tensor on a device: [`x.get::<f32>([0, 1])?`](Tensor::get) reads an element,
///   [`x.masked_fill(&mask, 0)?`](Tensor::masked_fill) and [`x.slice(0, 2..4)?.fill(0)?`](Tensor::fill) write.
#[derive(Clone)]
pub struct Tensor {
    storage: Arc<Storage>,
    layout: Layout,
    dtype: DType,
    /// The storage's device, seen through the stream on which this tensor's operations run.
    device: Device,
}

impl Tensor {
    /// A tensor over all of a storage that holds elements of `dtype` in row-major order.
    pub(crate) fn row_major(storage: Storage, shape: &[usize], dtype: DType) -> Tensor {
        let device = storage.device().clone();
        Tensor { storage: Arc::new(storage), layout: Layout::row_major(shape), dtype, device }
    }

    /// A tensor whose elements are undefined; the caller writes them all before handing it out.
    pub(crate) fn undefined(
        op: &'static str,
        device: &Device,
        shape: &[usize],
        dtype: DType,
    ) -> Result<Tensor> {
        let bytes = checked_len(op, shape, dtype.size())? * dtype.size();
        Ok(Tensor::row_major(Storage::allocate(device, bytes)?, shape, dtype))
    }

    /// The same storage seen through another layout, which must lie inside it.
    pub(crate) fn with_layout(&self, layout: Layout) -> Tensor {
        Tensor { layout, ..self.clone() }
    }

    /// The same tensor, whose operations run on another stream of its device.
    pub(crate) fn with_device(&self, device: &Device) -> Tensor {
        Tensor { device: device.clone(), ..self.clone() }
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(crate) fn storage(&self) -> &Arc<Storage> {
        &self.storage
    }

    #[cfg(feature = "cuda")]
    pub(crate) fn into_storage(self) -> Arc<Storage> {
        self.storage
    }

    /// The size of each dimension.
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::zeros([2, 3], DType::I32, &Device::cpu())?;
    /// assert_eq!((x.shape(), x.rank(), x.len()), (&[2, 3][..], 2, 6));
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// How far apart neighbours are in each dimension, in elements; 0 and negative are possible.
    ///
    /// ```
    /// # use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::zeros([2, 3], DType::I32, &Device::cpu())?;
    /// assert_eq!(x.strides(), [3, 1]);
    /// assert_eq!(x.flip(0)?.strides(), [-3, 1]);
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn strides(&self) -> &[isize] {
        self.layout.strides()
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Where the elements live.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The number of dimensions, 0 to 8.
    pub fn rank(&self) -> usize {
        self.layout.rank()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.layout.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.layout.is_empty()
    }

    /// Whether the elements lie in row-major order without gaps.
    pub fn is_contiguous(&self) -> bool {
        self.layout.is_contiguous()
    }

    /// Whether the two are views of the same storage, overlapping or not.
    ///
    /// ```
    /// # use bitlane::{Device, Tensor};
    /// # let x = Tensor::from_slice(&[1, 2, 3, 4], [2, 2], &Device::cpu())?;
    /// assert!(x.shares_storage(&x.transpose(0, 1)?));
    /// assert!(!x.shares_storage(&(&x + 1)?));
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn shares_storage(&self, other: &Tensor) -> bool {
        Arc::ptr_eq(&self.storage, &other.storage)
    }
}
