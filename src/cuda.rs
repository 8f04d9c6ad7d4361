//! Interoperability with [cudarc]: devices on its contexts and streams, and tensors on its memory, without copies.
//!
//! ```
//! use bitlane::cuda::{self, cudarc::driver::CudaContext};
//!
//! fn shift(context: &std::sync::Arc<CudaContext>) -> Result<(), Box<dyn std::error::Error>> {
//!     let stream = context.new_stream()?;
//!     let slice = stream.clone_htod(&[1u32, 2, 3, 4])?;
//!     // A slice becomes a tensor, whose operations run on the slice's stream …
//!     let x = cuda::tensor_from_slice(slice, [4])?;
//!     let shifted = (&x << 4)?;
//!     // … and a tensor becomes a slice again.
//!     let slice = cuda::slice_from_tensor::<u32>(shifted)?;
//!     assert_eq!(stream.clone_dtoh(&slice)?, [16, 32, 48, 64]);
//!     Ok(())
//! }
//! # // cudarc panics if there is no driver, so bitlane is asked first.
//! # if bitlane::Device::cuda_count() > 0 { shift(&CudaContext::new(0).unwrap()).unwrap(); }
//! ```
//!
//! Work is queued without waiting for it, and is ordered with cudarc's own work: a slice that is used on several
//! streams needs the context's event tracking, which is on by default.
//!
//! Operations can be captured into a CUDA graph. The graph holds addresses, not tensors: as with cudarc's own slices,
//! every tensor that the graph reads or writes must be kept alive for as long as the graph is launched. Tensors of other
//! streams can be dropped and copied from and to the host during a capture; on the captured stream such copies are
//! errors.

use std::sync::Arc;

/// The cudarc crate whose types appear in this module.
pub use cudarc;
use cudarc::driver::{CudaContext, CudaSlice, CudaStream};

use crate::backend::Memory;
pub use crate::backend::cuda::foreign::{ReadableView, WritableView};
use crate::backend::cuda::{CudaDevice, foreign};
use crate::device::DeviceKind;
use crate::layout::checked_len;
use crate::{Device, Element, Error, IntoShape, Result, Tensor};

pub use crate::backend::cuda::CacheStatistics;

/// Returns how many kernels this process has found in memory, found on disk, and compiled so far.
pub fn cache_statistics() -> CacheStatistics {
    crate::backend::cuda::cache_statistics()
}

/// Returns the device of a context, on the context's default stream.
///
/// # Errors
///
/// [`Error::CudaUnavailable`] if the device or NVRTC is too old or missing.
pub fn device(context: &Arc<CudaContext>) -> Result<Device> {
    device_on(&context.default_stream())
}

/// Returns the device of a stream. Tensors on it are allocated, computed and freed in the order of the stream's other
/// work.
///
/// # Examples
///
/// ```
/// use bitlane::{Device, DType, Tensor, cuda};
/// # if Device::cuda_count() > 0 {
/// let context = cuda::cudarc::driver::CudaContext::new(0)?;
/// let stream = context.new_stream()?;
/// let x = Tensor::ones([1000], DType::F32, &cuda::device_on(&stream)?)?;
/// stream.synchronize()?; // waits for all operations on `x`
/// # drop(x);
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`Error::CudaUnavailable`] if the device is too old, and [`Error::InvalidArgument`] for the per-thread default
/// stream, which is a different stream on every thread.
pub fn device_on(stream: &Arc<CudaStream>) -> Result<Device> {
    CudaDevice::on_stream(stream).map(Device::from_cuda)
}

/// Returns the stream of a device, or `None` for the CPU.
///
/// The first call for a stream of [`Device::cuda`] or [`Device::with_new_stream`] wraps it for cudarc, and returns
/// `None` if cudarc's own driver calls fail. A stream that outlives its device is never destroyed.
pub fn stream(device: &Device) -> Option<&Arc<CudaStream>> {
    match device.kind() {
        DeviceKind::Cuda(device) => device.stream().ok(),
        #[cfg(feature = "cpu")]
        DeviceKind::Cpu => None,
    }
}

/// Returns the context of a device, or `None` in the cases in which [`stream`] does.
pub fn context(device: &Device) -> Option<&Arc<CudaContext>> {
    stream(device).map(|stream| stream.context())
}

/// Converts a slice into a tensor of this shape, without copying. The tensor's operations run on the slice's stream,
/// and the memory is freed when the last tensor on it is dropped.
///
/// # Errors
///
/// [`Error::InvalidShape`] if the shape does not have as many elements as the slice, and the errors of [`device_on`].
/// The slice is dropped on an error.
pub fn tensor_from_slice<T: Element>(slice: CudaSlice<T>, shape: impl IntoShape) -> Result<Tensor> {
    shape.with_shape(|shape| {
        expect_len::<T>("tensor_from_slice", shape, slice.len())?;
        Ok(Tensor::row_major(foreign::adopt(slice)?, shape, T::DTYPE))
    })
}

/// Converts a tensor into a slice, without copying. Later work on the slice's stream comes after all operations on the
/// tensor, on every stream.
///
/// # Errors
///
/// [`Error::InvalidArgument`] if the elements are not of this type, if the tensor is empty, if it is not the whole of
/// its storage in row-major order ([`Tensor::copy`] makes one that is), or if its storage is shared with another tensor,
/// borrowed, or not on a CUDA device. [`Error::Driver`] if cudarc cannot order its streams. On an error the tensor is
/// dropped.
///
/// # Panics
///
/// cudarc panics if the driver refuses to create an event right after it has created another.
pub fn slice_from_tensor<T: Element>(tensor: Tensor) -> Result<CudaSlice<T>> {
    let refused = |reason: String| Error::InvalidArgument { op: "slice_from_tensor", reason };
    if tensor.dtype() != T::DTYPE {
        let (own, asked) = (tensor.dtype(), T::DTYPE);
        return Err(refused(format!("elements of {own} were asked for as {asked}")));
    }
    let len = tensor.len();
    if len == 0 {
        return Err(refused("an empty tensor has no memory to give".into()));
    }
    let whole = len * T::DTYPE.size() == tensor.storage().bytes();
    if !tensor.is_contiguous() || !whole {
        return Err(refused("the tensor is a part of its storage; make a copy".into()));
    }
    let storage = Arc::try_unwrap(tensor.into_storage())
        .map_err(|_| refused("the storage is shared with another tensor".into()))?;
    match storage.into_memory() {
        Memory::Cuda(memory) => foreign::release(memory, len),
        #[cfg(feature = "cpu")]
        Memory::Cpu(_) => Err(refused("the tensor is not on a CUDA device".into())),
    }
}

/// Lends a slice or a view of one to a function, as a read-only tensor of this shape.
///
/// The tensor's operations run on the view's stream. Operations on clones of the tensor that outlive the call fail with
/// [`Error::InvalidArgument`].
///
/// When the call returns, operations that used the view on other streams are ordered before later work on the view's
/// stream. If the driver refuses that and refuses to wait for them too, the process is aborted: the owner of the view could
/// free memory that is in use. This happens if the function begins to capture another stream on which it has used the
/// view, and does not end the capture.
///
/// # Examples
///
/// ```
/// use bitlane::{Device, cuda};
/// # if Device::cuda_count() > 0 {
/// let stream = cuda::cudarc::driver::CudaContext::new(0)?.new_stream()?;
/// let slice = stream.clone_htod(&[1.0f32, -2.0, 3.0])?;
/// let signs = cuda::with_view(&slice.slice(1..), [2], |x| x.signbit())?;
/// assert_eq!(signs.to_vec::<bool>()?, [true, false]);
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`Error::InvalidShape`] if the shape does not have as many elements as the view, [`Error::InvalidArgument`] if the
/// view is not aligned to its elements, the errors of [`device_on`], and those that the function returns.
pub fn with_view<T: Element, V: ReadableView<T>, R>(
    view: &V,
    shape: impl IntoShape,
    function: impl FnOnce(&Tensor) -> Result<R>,
) -> Result<R> {
    shape.with_shape(|shape| {
        expect_len::<T>("with_view", shape, view.len())?;
        foreign::lend(view, |storage| Tensor::row_major(storage, shape, T::DTYPE), function)
    })
}

/// Lends a slice or a mutable view of one to a function, as a writable tensor of this shape.
///
/// Otherwise like [`with_view`].
///
/// # Examples
///
/// ```
/// use bitlane::{Device, cuda};
/// # if Device::cuda_count() > 0 {
/// let stream = cuda::cudarc::driver::CudaContext::new(0)?.new_stream()?;
/// let mut slice = stream.clone_htod(&[1i64, 2, 3])?;
/// cuda::with_view_mut(&mut slice, [3], |x| x.add_assign(10))?;
/// assert_eq!(stream.clone_dtoh(&slice)?, [11, 12, 13]);
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Those of [`with_view`].
pub fn with_view_mut<T: Element, V: WritableView<T>, R>(
    view: &mut V,
    shape: impl IntoShape,
    function: impl FnOnce(&mut Tensor) -> Result<R>,
) -> Result<R> {
    shape.with_shape(|shape| {
        expect_len::<T>("with_view_mut", shape, view.len())?;
        foreign::lend_mut(view, |storage| Tensor::row_major(storage, shape, T::DTYPE), function)
    })
}

fn expect_len<T: Element>(op: &'static str, shape: &[usize], given: usize) -> Result<()> {
    let len = checked_len(op, shape, T::DTYPE.size())?;
    if len == given {
        return Ok(());
    }
    let reason = format!("needs {}, got {given}", crate::error::counted(len, "element"));
    Err(Error::InvalidShape { op, shape: shape.into(), reason })
}
