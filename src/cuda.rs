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
//! Operations can be captured into a CUDA graph, which [`Graph`] does safely. In a capture of a stream that is begun by
//! other means, the graph holds addresses, not tensors: as with cudarc's own slices, every tensor that the graph reads or
//! writes must be kept alive for as long as the graph is launched. A call whose kernel is not loaded yet, a copy from or to
//! the host on the captured stream, and a tensor that another stream has used are errors, which leave the capture intact.

use std::sync::Arc;

/// The cudarc crate whose types appear in this module.
pub use cudarc;
use cudarc::driver::{CudaContext, CudaSlice, CudaStream};

use crate::backend::Memory;
pub use crate::backend::cuda::foreign::{ReadableView, WritableView};
use crate::backend::cuda::{self as backend, CudaDevice, foreign};
use crate::device::DeviceKind;
use crate::layout::checked_len;
use crate::{DType, Device, Element, Error, IntoShape, Result, Tensor};

pub use crate::backend::cuda::CacheStatistics;

/// Returns how many kernels this process has found in memory, found on disk, and compiled so far.
pub fn cache_statistics() -> CacheStatistics {
    crate::backend::cuda::cache_statistics()
}

/// Calls that were captured into a CUDA graph, and are launched as one.
///
/// A launch costs the host about as much as one call. The graph keeps everything alive that the calls use, and its
/// launches are ordered like any other operation on the same tensors: [`launch`](Graph::launch) reads what the
/// tensors contain at that time.
///
/// # Examples
///
/// ```
/// use bitlane::{Device, Tensor, cuda::Graph};
/// # if Device::cuda_count() > 0 {
/// let device = Device::cuda(0)?;
/// let mut x = Tensor::from_slice(&[1.0f32, 2.0], [2], &device)?;
/// let (graph, y) = Graph::capture(&device, || (x.expr() * 2 + 1).run())?;
/// graph.launch()?;
/// assert_eq!(y.to_vec::<f32>()?, [3.0, 5.0]);
/// x.add_assign(1)?;
/// graph.launch()?;
/// assert_eq!(y.to_vec::<f32>()?, [5.0, 7.0]);
/// # }
/// # Ok::<(), bitlane::Error>(())
/// ```
pub struct Graph(backend::Graph);

impl Graph {
    /// Captures the calls that a function makes on a device. Returns the graph and what the function returned, such as
    /// the tensors of results, which have undefined contents until the first launch.
    ///
    /// The function is called twice. In the first call its kernels are compiled and loaded, and nothing is launched; the
    /// second one is captured. Calls on any stream of the device become part of the graph. What the function does on the
    /// CPU or on other threads does not, and happens twice.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] for the CPU, and if the function copies tensors from or to the host, creates zeros, waits
    /// for the device, uses another device, captures another graph, or uses a tensor that another thread is using on
    /// another stream. [`Tensor::take`] (use [`Tensor::take_clamped`]), [`Tensor::take_along_axis`],
    /// [`Tensor::nonzero`] and [`Tensor::compress`] wait for the device. The errors of the function,
    /// [`Error::OutOfMemory`] and [`Error::Driver`].
    pub fn capture<R>(device: &Device, function: impl FnMut() -> Result<R>) -> Result<(Graph, R)> {
        let device = cuda_device("Graph::capture", device)?;
        let (graph, result) = backend::Graph::capture(device, function)?;
        Ok((Graph(graph), result))
    }

    /// Queues the captured calls, after all earlier operations on the tensors that they use.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if the graph uses memory that was lent and has gone back to its owner, or a tensor that
    /// is in use on a stream which is being captured, and [`Error::Driver`].
    pub fn launch(&self) -> Result<()> {
        self.0.launch()
    }
}

impl std::fmt::Debug for Graph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Graph").finish_non_exhaustive()
    }
}

/// The contents of a device's memory pool; see [`pool_statistics`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStatistics {
    /// The number of bytes that the pool holds on to when the device is waited for.
    pub limit: usize,
    /// The number of bytes in use by tensors, rounded up as the driver does it.
    pub used_bytes: usize,
    /// The highest number of bytes in use so far.
    pub peak_bytes: usize,
    /// The number of bytes kept for reuse.
    pub kept_bytes: usize,
}

/// Returns the statistics of a device's memory pool.
///
/// Tensors are allocated from a pool of this crate, not from the process's default pool. The memory of dropped tensors
/// stays in it, where other libraries cannot use it: [`set_pool_limit`] limits that, and [`trim_pool`] ends it. An
/// allocation that fails waits for the device, trims the pool and is tried again before it is an
/// [`Error::OutOfMemory`]. If the driver refuses to make a pool, the process's default one is used as it is. On devices
/// without memory pools (some virtual GPUs), freed blocks are kept for allocations of the same size.
///
/// # Examples
///
/// ```
/// use bitlane::{DType, Device, Tensor, cuda};
/// # if Device::cuda_count() > 0 {
/// let device = Device::cuda(0)?;
/// let x = Tensor::zeros([1 << 20], DType::F32, &device)?;
/// let pool = cuda::pool_statistics(&device)?;
/// assert!(pool.used_bytes >= 4 << 20 && pool.peak_bytes >= pool.used_bytes);
/// # drop(x);
/// # }
/// # Ok::<(), bitlane::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::InvalidArgument`] for the CPU, whose pool [`cpu`](crate::cpu) describes, and [`Error::Driver`].
pub fn pool_statistics(device: &Device) -> Result<PoolStatistics> {
    let pool = cuda_device("pool_statistics", device)?.pool_statistics()?;
    let backend::PoolStatistics { limit, used_bytes, peak_bytes, kept_bytes } = pool;
    Ok(PoolStatistics { limit, used_bytes, peak_bytes, kept_bytes })
}

/// Sets how many bytes a device's memory pool holds on to when the device is waited for, memory in use included, and
/// returns the excess to the driver. By default it returns nothing. With 0 nothing is kept.
///
/// This waits for the device's queued work, but for that of streams which are being captured.
///
/// # Examples
///
/// ```
/// use bitlane::{Device, cuda};
/// # if Device::cuda_count() > 0 {
/// let device = Device::cuda(0)?;
/// cuda::set_pool_limit(&device, 1 << 30)?;
/// assert_eq!(cuda::pool_statistics(&device)?.limit, 1 << 30);
/// # }
/// # Ok::<(), bitlane::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::InvalidArgument`] for the CPU, and [`Error::Driver`].
pub fn set_pool_limit(device: &Device, bytes: usize) -> Result<()> {
    cuda_device("set_pool_limit", device)?.set_pool_limit(bytes)
}

/// Returns all memory that a device's pool keeps to the driver, after waiting for the device's queued work, but for that
/// of streams which are being captured.
///
/// # Examples
///
/// ```
/// use bitlane::{DType, Device, Tensor, cuda};
/// # if Device::cuda_count() > 0 {
/// let device = Device::cuda(0)?;
/// drop(Tensor::zeros([1 << 20], DType::F32, &device)?);
/// cuda::trim_pool(&device)?; // before another library needs the memory
/// # }
/// # Ok::<(), bitlane::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::InvalidArgument`] for the CPU, and [`Error::Driver`].
pub fn trim_pool(device: &Device) -> Result<()> {
    cuda_device("trim_pool", device)?.trim_pool()
}

/// A copy of a tensor's elements to the host, which may be under way; see [`download`].
///
/// If it is dropped before it is done, the copy is waited for.
pub struct Download {
    copy: backend::Download,
    dtype: DType,
}

impl Download {
    /// Returns whether the copy is done, so that waiting for it takes no time.
    ///
    /// # Errors
    ///
    /// The error of an earlier operation that failed on the device.
    pub fn is_done(&self) -> Result<bool> {
        self.copy.is_done()
    }

    /// Waits for the copy, and returns the elements in row-major order.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidArgument`] if `T` is not the element type, [`Error::OutOfMemory`], or the error of an earlier
    /// operation that failed on the device.
    pub fn wait<T: Element>(self) -> Result<Vec<T>> {
        let op = "download";
        if T::DTYPE != self.dtype {
            let (own, asked) = (self.dtype, T::DTYPE);
            let reason = format!("elements of {own} were asked for as {asked}; cast them first");
            return Err(Error::InvalidArgument { op, reason });
        }
        crate::backend::elements(self.copy.wait()?).ok_or_else(|| {
            let reason = "the storage holds a bool beyond 0 and 1".into();
            Error::InvalidArgument { op, reason }
        })
    }

    /// Waits for the copy, and returns the elements as native-endian bytes, in row-major order.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`], or the error of an earlier operation that failed on the device.
    pub fn wait_for_bytes(self) -> Result<Vec<u8>> {
        self.copy.wait()
    }
}

impl std::fmt::Debug for Download {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Download").field("dtype", &self.dtype).finish_non_exhaustive()
    }
}

/// Starts a copy of a tensor's elements to the host, and returns without waiting for the device.
///
/// The copy is queued after all earlier operations on the tensor, whose memory later operations may change or free at
/// once. It goes to pinned memory of its own, from which [`Download::wait`] copies. So the host can do something else
/// meanwhile, and several devices can copy at the same time; for a single copy, [`Tensor::to_vec`] takes less memory.
///
/// # Examples
///
/// ```
/// use bitlane::{Device, Tensor, cuda};
/// # if Device::cuda_count() > 0 {
/// let device = Device::cuda(0)?;
/// let mut x = Tensor::from_slice(&[1.0f32, 2.0], [2], &device)?;
/// let copy = cuda::download(&x)?;
/// x.add_assign(1)?; // after the copy
/// assert_eq!(copy.wait::<f32>()?, [1.0, 2.0]);
/// # }
/// # Ok::<(), bitlane::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::InvalidArgument`] for a tensor on the CPU, during a [`Graph::capture`] and while the tensor's stream is being
/// captured; [`Error::OutOfMemory`] if there is no pinned memory, and [`Error::Driver`].
pub fn download(tensor: &Tensor) -> Result<Download> {
    cuda_device("download", tensor.device())?;
    let dense = tensor.contiguous()?;
    let (dtype, size) = (dense.dtype(), dense.dtype().size());
    let start = dense.layout().offset() * size;
    let memory = dense.storage().read();
    let copy = match &*memory {
        Memory::Cuda(memory) => memory.start_download(start..start + dense.len() * size)?,
        #[cfg(feature = "cpu")]
        Memory::Cpu(_) => {
            let reason = "the tensor is not on a CUDA device".into();
            return Err(Error::InvalidArgument { op: "download", reason });
        }
    };
    drop(memory);
    Ok(Download { copy, dtype })
}

/// Returns the CUDA device, or an error for the CPU.
fn cuda_device<'a>(op: &'static str, device: &'a Device) -> Result<&'a CudaDevice> {
    let found = match device.kind() {
        DeviceKind::Cuda(device) => Some(device),
        #[cfg(feature = "cpu")]
        DeviceKind::Cpu => None,
    };
    let reason = || "the CPU is not a CUDA device".to_owned();
    found.ok_or_else(|| Error::InvalidArgument { op, reason: reason() })
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
/// The per-thread default stream is that of the calling thread. Operations that would run on it on another thread are
/// errors; its tensors can be operands of operations on other streams and can be dropped on any thread, both of which wait
/// for the context.
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
/// [`Error::CudaUnavailable`] if the device is too old.
pub fn device_on(stream: &Arc<CudaStream>) -> Result<Device> {
    CudaDevice::on_stream(stream).map(Device::from_cuda)
}

/// Returns the device of a stream that neither this crate nor cudarc has created, such as one of the CUDA runtime or of
/// PyTorch. Otherwise like [`device_on`].
///
/// # Errors
///
/// Those of [`device_on`], and [`Error::Driver`] if it is not a stream.
///
/// # Safety
///
/// The stream and its context must live for as long as the device, its clones, the tensors on it and their queued work.
pub unsafe fn device_on_raw(stream: cudarc::driver::sys::CUstream) -> Result<Device> {
    // SAFETY: guaranteed by the caller.
    unsafe { CudaDevice::on_raw_stream(stream) }.map(Device::from_cuda)
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
/// [`Error::InvalidShape`] if the number of elements of the shape is not the length of the slice, and the errors of
/// [`device_on`]. The slice is dropped on an error.
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
