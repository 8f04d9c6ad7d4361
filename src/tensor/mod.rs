//! The tensor: storage on a device, viewed through a layout.

// Rustdoc shows the methods in the order of these modules.
mod create;
mod nested;
mod properties;

mod index;
mod read;
mod views;

mod join;
mod write;

mod compare;

mod axes;
mod print;
mod shape;

use std::sync::Arc;

pub use self::axes::{Axes, IntoAxes};
pub use self::index::{IntoPositions, Position, Rows};
pub use self::nested::{Nested, Ragged};
pub(crate) use self::shape::inferred;
pub use self::shape::{IntoAxis, IntoIndex, IntoRange, IntoReshape, IntoShape, Size};
use crate::layout::{Layout, checked_len};
use crate::storage::Storage;
use crate::{DType, Device, Result};

/// An array of elements on a device.
///
/// Clones and views share storage: a write through one is visible through all of them. Operations return new
/// tensors, except for the methods whose names end in `_assign`, those under [Writing in place](#writing-in-place), and
/// operations with a destination ([`Binary::out`](crate::Binary::out)). Tensors are `Send` and `Sync`.
///
/// # Examples
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
/// - `x.sum()` lacks an argument. A reduction takes its axes, and `..` means all of them: `x.sum(..)?`. `x.sum([])`
///   has "type annotations needed": an empty list names no axes, and its elements no type.
/// - `&x + &y` is a `Result`, since shapes and dtypes may be incompatible: write `(&x + &y)?`. (For
///   `let z: Tensor = &x + &y` the compiler suggests `&x + &y?`, which is not it.) Longer formulas read better as
///   [expressions](Tensor::expr), which need no `?` before `run()?`.
/// - `(2.0 * &x)?` has "incompatible types", since the type of the literal cannot be inferred: write `2.0f64 * &x` or
///   `&x * 2.0`. Either way the number adopts the dtype of the tensor. Before an expression, `2.0 * x.expr()` compiles.
/// - `x.reshape((2, -1))` fails with "`usize: Neg` is not satisfied". The size to infer is written `..`, as in
///   `x.reshape((2, ..))?`.
/// - `x.to_vec()?` needs the element type: `x.to_vec::<f32>()?`.
/// - `x += 1` does not exist, because it could not report an error: write `x.add_assign(1)?`. `x > 0` and `x == y` do
///   not exist either, because a comparison returns a tensor: write `x.greater_than(0)?`, or
///   [`x.bits_equal(&y)?`](Tensor::bits_equal) to compare whole tensors.
/// - `for row in x` does not work; [`x.rows()?`](Tensor::rows) iterates over the first dimension.
/// - `x[[0, 1]]` does not work, because the elements may be in device memory. [`x.get::<f32>([0, 1])?`](Tensor::get)
///   reads an element; [`x.masked_fill(&mask, 0)?`](Tensor::masked_fill) and
///   [`x.slice(0, 2..4)?.fill(0)?`](Tensor::fill) write.
#[derive(Clone)]
pub struct Tensor {
    storage: Arc<Storage>,
    layout: Layout,
    dtype: DType,
    /// The device of the storage, with the stream on which this tensor's operations run.
    device: Device,
}

impl Tensor {
    /// Wraps a storage that holds exactly the elements of `shape`, of this dtype and in row-major order.
    #[inline]
    pub(crate) fn row_major(storage: Storage, shape: &[usize], dtype: DType) -> Tensor {
        let device = storage.device().clone();
        Tensor { storage: Arc::new(storage), layout: Layout::row_major(shape), dtype, device }
    }

    /// Allocates a tensor with undefined elements. The caller must write all of them before handing it out.
    pub(crate) fn undefined(
        op: &'static str,
        device: &Device,
        shape: &[usize],
        dtype: DType,
    ) -> Result<Tensor> {
        let bytes = checked_len(op, shape, dtype.size())? * dtype.size();
        Ok(Tensor::row_major(Storage::allocate(device, bytes)?, shape, dtype))
    }

    /// Makes a tensor without memory, whose elements nobody reads or writes: it stands for a result that is not computed.
    pub(crate) fn without_memory(
        op: &'static str,
        device: &Device,
        shape: &[usize],
        dtype: DType,
    ) -> Result<Tensor> {
        checked_len(op, shape, dtype.size())?;
        Ok(Tensor::row_major(Storage::allocate(device, 0)?, shape, dtype))
    }

    /// Returns a view of the same storage through another layout, which must lie inside the storage.
    pub(crate) fn with_layout(&self, layout: Layout) -> Tensor {
        Tensor { layout, ..self.clone() }
    }

    /// Returns the same tensor, with operations running on another stream of its device.
    pub(crate) fn with_device(&self, device: &Device) -> Tensor {
        Tensor { device: device.clone(), ..self.clone() }
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Whether another tensor has the same shape and is on the same device.
    #[inline(always)] // as in `Layout::is_contiguous`
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
