//! The tensor: storage on a device, seen through a layout.

// In the order in which the documentation shows their methods.
mod create;
mod nested;
mod properties;

mod index;
mod read;
mod views;

mod join;
mod write;

mod compare;

mod print;
mod shape;

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
/// - `x.sum()` lacks an argument: a reduction takes its axes, and an empty list means all: `x.sum(&[])?`.
/// - `&x + &y` gives a `Result`, since shapes and dtypes may not fit: `(&x + &y)?`. Longer formulas read better as
///   [expressions](Tensor::expr), which have one `?` at the end.
/// - `(2.0 * &x)?` has "incompatible types", since the literal has no type of its own: write `2.0f64 * &x` or `&x * 2.0`.
///   Whichever it is, the number follows the dtype of the tensor.
/// - `x.reshape((2, -1))`, where "`usize: Neg` is not satisfied": the size that follows from the others is written `..`,
///   as in `x.reshape((2, ..))?`.
/// - `x.to_vec()?` needs the type of the elements: `x.to_vec::<f32>()?`.
/// - There is no `x += 1`, which could not report an error: `x.add_assign(1)?`. Nor do `x > 0` and `x == y` compare, since
///   a comparison gives a tensor: `x.greater_than(0)?`, or [`x.bits_equal(&y)?`](Tensor::bits_equal) for all at once.
/// - `for row in x`: [`x.rows()?`](Tensor::rows) iterates over the first dimension.
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
    #[inline]
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

    /// Whether another tensor has the same shape and is on the same device.
    #[inline]
    pub(crate) fn has_shape_and_device_of(&self, other: &Tensor) -> bool {
        self.layout.has_shape_of(&other.layout) && self.device == other.device
    }

    pub(crate) fn storage(&self) -> &Arc<Storage> {
        &self.storage
    }

    #[cfg(feature = "cuda")]
    pub(crate) fn into_storage(self) -> Arc<Storage> {
        self.storage
    }
}
