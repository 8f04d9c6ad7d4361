//! Memory that changes hands between this crate and its user's cudarc.
//!
//! Here, and only here, cudarc calls the driver on this crate's behalf, with the user's own streams
//! and events. What it could not do it keeps to itself until it is asked ([`in_order`]).

use std::sync::Arc;

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtr, DevicePtrMut};

use super::super::Memory;
use super::CudaDevice;
use super::context::{Context, retry_after_deferred_error};
use super::driver::failed_in_cudarc;
use super::memory::{CudaMemory, Ownership};
use crate::storage::Storage;
use crate::{Device, Element, Error, Result, Tensor};

mod sealed {
    pub trait Sealed {}
}

/// Memory of cudarc that can be lent for reading: a [`CudaSlice`], or a view of one.
///
/// cudarc's trait [`DevicePtr`] is safe to implement, so an address that it gives proves nothing.
/// This trait can only be had by cudarc's own types, whose fields no safe code can forge.
///
/// # Examples
///
/// ```compile_fail,E0277
/// use std::sync::Arc;
/// use bitlane::cuda::{self, cudarc::driver::{CudaStream, DevicePtr, DeviceSlice, SyncOnDrop}};
///
/// struct Forged(Arc<CudaStream>);
///
/// impl DeviceSlice<i32> for Forged {
///     fn len(&self) -> usize { 1 << 40 }
///     fn stream(&self) -> &Arc<CudaStream> { &self.0 }
/// }
///
/// impl DevicePtr<i32> for Forged {
///     fn device_ptr<'a>(&'a self, _: &'a CudaStream) -> (u64, SyncOnDrop<'a>) {
///         (1234, SyncOnDrop::Sync(None))
///     }
/// }
///
/// fn read(forged: &Forged) -> bitlane::Result<Vec<i32>> {
///     cuda::with_view(forged, [1 << 40], |x| x.to_vec())
/// }
/// ```
pub trait ReadableView<T>: DevicePtr<T> + sealed::Sealed {}

/// Memory of cudarc that can be lent for writing: a [`CudaSlice`], or an exclusive view of one.
pub trait WritableView<T>: DevicePtrMut<T> + sealed::Sealed {}

impl<T> sealed::Sealed for CudaSlice<T> {}
impl<T> sealed::Sealed for CudaView<'_, T> {}
impl<T> sealed::Sealed for CudaViewMut<'_, T> {}
impl<T> ReadableView<T> for CudaSlice<T> {}
impl<T> ReadableView<T> for CudaView<'_, T> {}
impl<T> ReadableView<T> for CudaViewMut<'_, T> {}
impl<T> WritableView<T> for CudaSlice<T> {}
impl<T> WritableView<T> for CudaViewMut<'_, T> {}

/// Takes over a slice's memory, with all work on it in the order of the slice's stream.
pub(crate) fn adopt<T: Element>(slice: CudaSlice<T>) -> Result<Storage> {
    let device = CudaDevice::on_stream(slice.stream())?;
    device.bind()?;
    let bytes = slice.num_bytes();
    if bytes == 0 {
        // Whatever cudarc has allocated for nothing is its own to free.
        drop(slice);
        return Storage::allocate(&Device::from_cuda(device), 0);
    }
    let stream = Arc::clone(slice.stream());
    // cudarc makes the slice's stream wait for its other uses before it lets go of it.
    let address = slice.leak();
    let ordered = settle(device.stream.context(), &stream);
    // SAFETY: the slice owned this block, allocated by cudarc as this crate does it, and has given
    // it up; its elements are initialised, as cudarc demands of whoever makes a slice.
    let memory = unsafe { CudaMemory::from_raw(&device.stream, address, bytes, Ownership::Owned) };
    ordered?;
    Ok(Storage::new(&Device::from_cuda(device), bytes, Memory::Cuda(memory)))
}

/// The address of memory, with all work on it so far before later work on a device's stream.
#[cfg(feature = "dlpack")]
pub(crate) fn address_on(memory: &CudaMemory, device: &CudaDevice) -> Result<CUdeviceptr> {
    memory.before_write(&device.stream)?;
    Ok(memory.address())
}

/// Memory that somebody else owns, in order for a device's stream.
///
/// # Safety
///
/// As for [`CudaMemory::from_raw`] with memory that is lent, until this is dropped and the work on it is done.
#[cfg(feature = "dlpack")]
pub(crate) unsafe fn borrowed(
    device: &CudaDevice,
    address: CUdeviceptr,
    bytes: usize,
) -> CudaMemory {
    // SAFETY: the caller's own promise.
    unsafe { CudaMemory::from_raw(&device.stream, address, bytes, Ownership::LentForWriting) }
}

/// Makes memory that holds `len` elements a slice, in order for its stream.
pub(crate) fn release<T: Element>(memory: CudaMemory, len: usize) -> Result<CudaSlice<T>> {
    let home = Arc::clone(memory.home());
    let stream = home.cudarc()?;
    // cudarc unwraps the events that it makes for a slice. Making one here shows whether it can.
    let probe = retry_after_deferred_error(|| stream.record_event(None));
    probe.map_err(|error| failed_in_cudarc("cuEventCreate", &error))?;
    memory.before_giving_up()?;
    // SAFETY: the block holds `len` elements, and is given up below. If cudarc panics after all it
    // has made no slice, and the block is still the memory's to free.
    let mut slice = unsafe { stream.upgrade_device_ptr(memory.address(), len) };
    memory.give_up();
    // To cudarc the slice is new and nobody has written it; this tells it of the work so far, so
    // that its other streams wait for that.
    drop(slice.device_ptr_mut(stream));
    settle(home.context(), stream)?;
    Ok(slice)
}

/// Whether cudarc has put its streams in order: what it could not do it keeps to itself.
fn in_order(stream: &CudaStream) -> Result<()> {
    let outcome = stream.context().check_err();
    outcome.map_err(|error| failed_in_cudarc("cuStreamWaitEvent or cuEventRecord", &error))
}

/// Makes sure that the work which cudarc was to put in order is in order, or over: where it could
/// not record an event or have it waited for, this waits. If that fails too the context is broken,
/// and no work goes on in it.
fn settle(context: &Context, stream: &CudaStream) -> Result<()> {
    in_order(stream).or_else(|_| context.synchronize())
}

/// Lends a view to a function, as a tensor that `wrap` makes of it and that can be read.
pub(crate) fn lend<T: Element, V: ReadableView<T>, R>(
    view: &V,
    wrap: impl FnOnce(Storage) -> Tensor,
    function: impl FnOnce(&Tensor) -> Result<R>,
) -> Result<R> {
    let stream = Arc::clone(view.stream());
    let device = CudaDevice::on_stream(&stream)?;
    // Dropped after the loan: tells cudarc of the reads.
    let (address, record) = view.device_ptr(&stream);
    in_order(&stream)?;
    let (lent, reading) = (device.clone(), Ownership::LentForReading);
    // SAFETY: the view has its elements at this address, in order for its stream, and is borrowed
    // for longer than the loan lasts; nothing writes to memory that is lent for reading.
    let loan = unsafe { Loan::new::<T>(lent, address, view.len(), reading, wrap) }?;
    let result = function(&loan.tensor);
    drop(loan);
    drop(record);
    settle(device.stream.context(), &stream).and(result)
}

/// Lends a view to a function, as a tensor that `wrap` makes of it and that can be written.
pub(crate) fn lend_mut<T: Element, V: WritableView<T>, R>(
    view: &mut V,
    wrap: impl FnOnce(Storage) -> Tensor,
    function: impl FnOnce(&mut Tensor) -> Result<R>,
) -> Result<R> {
    let stream = Arc::clone(view.stream());
    let device = CudaDevice::on_stream(&stream)?;
    let len = view.len();
    // Dropped after the loan: tells cudarc of the writes.
    let (address, record) = view.device_ptr_mut(&stream);
    in_order(&stream)?;
    let (lent, writing) = (device.clone(), Ownership::LentForWriting);
    // SAFETY: the view has its elements at this address, in order for its stream, and is borrowed
    // exclusively for longer than the loan lasts.
    let mut loan = unsafe { Loan::new::<T>(lent, address, len, writing, wrap) }?;
    let result = function(&mut loan.tensor);
    drop(loan);
    drop(record);
    settle(device.stream.context(), &stream).and(result)
}

/// A tensor on memory that goes back to its owner when this is dropped.
struct Loan {
    tensor: Tensor,
    /// The memory itself: whoever is lent the tensor can put another in its place.
    storage: Arc<Storage>,
}

impl Loan {
    /// # Safety
    ///
    /// As for [`CudaMemory::from_raw`], with `len` elements of `T`, until this is dropped.
    unsafe fn new<T: Element>(
        device: CudaDevice,
        address: CUdeviceptr,
        len: usize,
        ownership: Ownership,
        wrap: impl FnOnce(Storage) -> Tensor,
    ) -> Result<Loan> {
        let size = T::DTYPE.size();
        if !address.is_multiple_of(size as CUdeviceptr) {
            let reason =
                format!("the view at {address:#x} is not aligned to elements of {size} bytes");
            return Err(Error::InvalidArgument { op: "with_view", reason });
        }
        let bytes = len * size;
        // SAFETY: the caller's own promise; the loan ends when this value is dropped.
        let memory = unsafe { CudaMemory::from_raw(&device.stream, address, bytes, ownership) };
        let storage = Storage::new(&Device::from_cuda(device), bytes, Memory::Cuda(memory));
        let tensor = wrap(storage);
        Ok(Loan { storage: Arc::clone(tensor.storage()), tensor })
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        match &mut *self.storage.write() {
            Memory::Cuda(memory) => memory.give_back(),
            #[cfg(feature = "cpu")]
            Memory::Cpu(_) => {}
        }
    }
}
