//! For programs that use [cudarc] themselves: devices on their contexts and streams, and tensors on
//! their memory, without copies.
//!
//! ```
//! use bitlane::cuda::{self, cudarc::driver::CudaContext};
//!
//! fn shift(context: &std::sync::Arc<CudaContext>) -> Result<(), Box<dyn std::error::Error>> {
//!     let stream = context.new_stream()?;
//!     let slice = stream.clone_htod(&[1u32, 2, 3, 4])?;
//!     // The slice becomes a tensor, whose operations run on the slice's stream …
//!     let x = cuda::tensor_from_slice(slice, [4])?;
//!     let shifted = (&x << 4)?;
//!     // … and a tensor becomes a slice again.
//!     let slice = cuda::slice_from_tensor::<u32>(shifted)?;
//!     assert_eq!(stream.clone_dtoh(&slice)?, [16, 32, 48, 64]);
//!     Ok(())
//! }
//! # // cudarc panics where there is no driver; bitlane says so.
//! # if bitlane::Device::cuda_count() > 0 { shift(&CudaContext::new(0).unwrap()).unwrap(); }
//! ```
//!
//! Work is queued, never waited for, and ordered as cudarc orders its own: a slice that is used on
//! several streams needs the context's event tracking, which is on by default.
//!
//! Operations can be captured into a CUDA graph. The graph holds addresses, not tensors: as with
//! cudarc's own slices, every tensor that it reads or writes must be kept for as long as it is
//! launched.

use std::sync::Arc;

/// The version of cudarc whose types are used here.
pub use cudarc;
use cudarc::driver::{CudaContext, CudaSlice, CudaStream};

use crate::backend::Memory;
pub use crate::backend::cuda::foreign::{ReadableView, WritableView};
use crate::backend::cuda::{CudaDevice, foreign};
use crate::device::Kind;
use crate::layout::checked_len;
use crate::{Device, Element, Error, IntoShape, Result, Tensor};

pub use crate::backend::cuda::CacheStatistics;

/// How kernels were come by so far, in this process: found, or compiled.
pub fn cache_statistics() -> CacheStatistics {
    crate::backend::cuda::cache_statistics()
}

/// The device of a context, on the context's default stream.
///
/// # Errors
///
/// [`Error::CudaUnavailable`] if the device or NVRTC is too old or missing.
pub fn device(context: &Arc<CudaContext>) -> Result<Device> {
    device_on(&context.default_stream())
}

/// The device of a stream. Tensors made on it are allocated, computed and freed in the order of
/// the stream's other work.
///
/// # Examples
///
/// ```
/// use bitlane::{Device, DType, Tensor, cuda};
/// # if Device::cuda_count() > 0 {
/// let context = cuda::cudarc::driver::CudaContext::new(0)?;
/// let stream = context.new_stream()?;
/// let x = Tensor::ones([1000], DType::F32, &cuda::device_on(&stream)?)?;
/// stream.synchronize()?; // covers everything asked of x
/// # drop(x);
/// # }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`Error::CudaUnavailable`] if the device is too old, [`Error::InvalidArgument`] for the
/// per-thread default stream, which is another stream on every thread.
pub fn device_on(stream: &Arc<CudaStream>) -> Result<Device> {
    CudaDevice::on_stream(stream).map(Device::from_cuda)
}

/// The stream of a device, unless it is the CPU.
///
/// A stream of [`Device::cuda`] or [`Device::with_new_stream`] becomes cudarc's when it is first asked
/// for; `None`, too, if cudarc's own calls of the driver fail then. A stream that outlives its device
/// is never destroyed.
pub fn stream(device: &Device) -> Option<&Arc<CudaStream>> {
    match device.kind() {
        Kind::Cuda(device) => device.stream().ok(),
        #[cfg(feature = "cpu")]
        Kind::Cpu => None,
    }
}

/// The context of a device, unless it is the CPU; otherwise as [`stream`].
pub fn context(device: &Device) -> Option<&Arc<CudaContext>> {
    stream(device).map(|stream| stream.context())
}

/// Makes a slice a tensor of this shape, without copying. The tensor's operations run on the
/// slice's stream, and the memory is freed with the last view of it.
///
/// # Errors
///
/// [`Error::InvalidShape`] if the shape has another number of elements than the slice, and what
/// [`device_on`] gives. The slice is then dropped.
pub fn tensor_from_slice<T: Element>(slice: CudaSlice<T>, shape: impl IntoShape) -> Result<Tensor> {
    shape.with_shape(|shape| {
        expect_len::<T>("tensor_from_slice", shape, slice.len())?;
        Ok(Tensor::row_major(foreign::adopt(slice)?, shape, T::DTYPE))
    })
}

/// Makes a tensor a slice, without copying. Later work on the slice's stream comes after all that
/// was asked of the tensor, on whatever stream.
///
/// # Errors
///
/// [`Error::InvalidArgument`] if the elements are not of this type, are empty, are not the whole of
/// their storage in row-major order ([`Tensor::copy`] makes one that is), or if the storage is shared
/// with another tensor or not on a CUDA device. [`Error::Driver`] if cudarc's streams cannot be put in
/// order. In every case the memory is freed with its last user.
///
/// # Panics
///
/// cudarc panics if the driver refuses it an event after it has just granted one.
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

/// Lends a slice or a view of one to a function, as a tensor of this shape that can be read.
///
/// The tensor's operations run on the view's stream. Clones of the tensor that outlive the call
/// give [`Error::InvalidArgument`] when they are used.
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
/// [`Error::InvalidShape`] if the shape has another number of elements than the view,
/// [`Error::InvalidArgument`] if the view is not aligned to its elements, what [`device_on`] gives,
/// and what the function gives.
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

/// Lends a slice or a view of one to a function, as a tensor of this shape that can be written.
///
/// As [`with_view`] otherwise.
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
/// As [`with_view`].
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
