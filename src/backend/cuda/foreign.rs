//! Transfer of memory between this crate and cudarc.
//!
//! Here, and only here, cudarc calls the driver on this crate's behalf, with the user's own streams and events. cudarc
//! stores the errors of such calls until it is asked for them, which [`in_order`] does.

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

/// Device memory of cudarc that can be read: a [`CudaSlice`] or a view of one.
///
/// cudarc's trait [`DevicePtr`] is safe to implement, so the address that an implementation returns cannot be trusted.
/// This trait is sealed: only cudarc's own types implement it, and safe code cannot forge their fields.
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

/// Device memory of cudarc that can be read and written: a [`CudaSlice`] or a mutable view of one.
pub trait WritableView<T>: DevicePtrMut<T> + sealed::Sealed {}

impl<T> sealed::Sealed for CudaSlice<T> {}
impl<T> sealed::Sealed for CudaView<'_, T> {}
impl<T> sealed::Sealed for CudaViewMut<'_, T> {}
impl<T> ReadableView<T> for CudaSlice<T> {}
impl<T> ReadableView<T> for CudaView<'_, T> {}
impl<T> ReadableView<T> for CudaViewMut<'_, T> {}
impl<T> WritableView<T> for CudaSlice<T> {}
impl<T> WritableView<T> for CudaViewMut<'_, T> {}

/// Takes ownership of a slice's memory, with all work on it ordered before later work on the slice's stream.
pub(crate) fn adopt<T: Element>(slice: CudaSlice<T>) -> Result<Storage> {
    let device = CudaDevice::on_stream(slice.stream())?;
    device.bind()?;
    let bytes = slice.num_bytes();
    if bytes == 0 {
        // An empty slice may still have an allocation, which cudarc frees.
        drop(slice);
        return Storage::allocate(&Device::from_cuda(device), 0);
    }
    let stream = Arc::clone(slice.stream());
    // `leak` makes the slice's stream wait for the slice's uses on other streams.
    let address = slice.leak();
    let ordered = settle(device.stream.context(), &stream);
    // SAFETY: the slice owned this block, which cudarc allocated as this crate does, and has given it up; its elements
    // are initialised, as cudarc requires of whoever creates a slice.
    let memory = unsafe { CudaMemory::from_raw(&device.stream, address, bytes, Ownership::Owned) };
    ordered?;
    Ok(Storage::new(&Device::from_cuda(device), bytes, Memory::Cuda(memory)))
}

/// Returns the address of memory after ordering all earlier work on it before later work on the device's stream.
#[cfg(feature = "dlpack")]
pub(crate) fn address_on(memory: &CudaMemory, device: &CudaDevice) -> Result<CUdeviceptr> {
    memory.before_write(&device.stream)?;
    Ok(memory.address())
}

/// Wraps memory that belongs to someone else, for use on the device's stream.
///
/// # Safety
///
/// The requirements of [`CudaMemory::from_raw`] for memory lent for writing must hold until the returned value is
/// dropped and the work on it is done.
#[cfg(feature = "dlpack")]
pub(crate) unsafe fn borrowed(
    device: &CudaDevice,
    address: CUdeviceptr,
    bytes: usize,
) -> CudaMemory {
    // SAFETY: guaranteed by the caller.
    unsafe { CudaMemory::from_raw(&device.stream, address, bytes, Ownership::LentForWriting) }
}

/// Converts memory that holds `len` elements into a slice on its home stream, which waits for all work on the memory.
pub(crate) fn release<T: Element>(memory: CudaMemory, len: usize) -> Result<CudaSlice<T>> {
    let home = Arc::clone(memory.home());
    let stream = home.cudarc()?;
    // cudarc unwraps the results of creating the events of a slice. Creating one here first turns the likely failure
    // into an error.
    let probe = retry_after_deferred_error(|| stream.record_event(None));
    probe.map_err(|error| failed_in_cudarc("cuEventCreate", &error))?;
    memory.order_before_release()?;
    // SAFETY: the block holds `len` elements, and its ownership is released below. If cudarc panics nevertheless, no
    // slice exists and `memory` still owns the block.
    let mut slice = unsafe { stream.upgrade_device_ptr(memory.address(), len) };
    memory.release_ownership();
    // cudarc takes the slice for unused memory. This records the work so far as a write, so that its other streams wait
    // for it.
    drop(slice.device_ptr_mut(stream));
    settle(home.context(), stream)?;
    Ok(slice)
}

/// Returns the error that cudarc has stored if it could not order its streams.
fn in_order(stream: &CudaStream) -> Result<()> {
    let outcome = stream.context().check_err();
    outcome.map_err(|error| failed_in_cudarc("cuStreamWaitEvent or cuEventRecord", &error))
}

/// Makes sure that the work that cudarc was to order is ordered or finished: if cudarc could not record an event or
/// wait for one, this waits for the context. If that fails too, the context is broken and no work continues in it.
fn settle(context: &Context, stream: &CudaStream) -> Result<()> {
    in_order(stream).or_else(|_| context.synchronize())
}

/// Lends a view to a function as a read-only tensor, which `wrap` creates from its storage.
pub(crate) fn lend<T: Element, V: ReadableView<T>, R>(
    view: &V,
    wrap: impl FnOnce(Storage) -> Tensor,
    function: impl FnOnce(&Tensor) -> Result<R>,
) -> Result<R> {
    let stream = Arc::clone(view.stream());
    let device = CudaDevice::on_stream(&stream)?;
    // Dropped after the loan, to record its reads with cudarc.
    let (address, record) = view.device_ptr(&stream);
    in_order(&stream)?;
    let (lent, reading) = (device.clone(), Ownership::LentForReading);
    // SAFETY: the view's elements are at this address, its stream waits for all earlier work on them, and it is
    // borrowed for longer than the loan; nothing writes to memory that is lent for reading.
    let loan = unsafe { Loan::new::<T>(lent, address, view.len(), reading, wrap) }?;
    let result = function(&loan.tensor);
    drop(loan);
    drop(record);
    settle(device.stream.context(), &stream).and(result)
}

/// Lends a view to a function as a writable tensor, which `wrap` creates from its storage.
pub(crate) fn lend_mut<T: Element, V: WritableView<T>, R>(
    view: &mut V,
    wrap: impl FnOnce(Storage) -> Tensor,
    function: impl FnOnce(&mut Tensor) -> Result<R>,
) -> Result<R> {
    let stream = Arc::clone(view.stream());
    let device = CudaDevice::on_stream(&stream)?;
    let len = view.len();
    // Dropped after the loan, to record its writes with cudarc.
    let (address, record) = view.device_ptr_mut(&stream);
    in_order(&stream)?;
    let (lent, writing) = (device.clone(), Ownership::LentForWriting);
    // SAFETY: the view's elements are at this address, its stream waits for all earlier work on them, and it is
    // borrowed exclusively for longer than the loan.
    let mut loan = unsafe { Loan::new::<T>(lent, address, len, writing, wrap) }?;
    let result = function(&mut loan.tensor);
    drop(loan);
    drop(record);
    settle(device.stream.context(), &stream).and(result)
}

/// A tensor on borrowed memory, which is returned to its owner on drop.
struct Loan {
    tensor: Tensor,
    /// The borrowed memory, kept separately because the function that is lent the tensor can replace it with another.
    storage: Arc<Storage>,
}

impl Loan {
    /// # Safety
    ///
    /// The requirements of [`CudaMemory::from_raw`] must hold for `len` elements of `T` until the returned value is
    /// dropped.
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
        // SAFETY: guaranteed by the caller; dropping this value calls `return_to_owner`.
        let memory = unsafe { CudaMemory::from_raw(&device.stream, address, bytes, ownership) };
        let storage = Storage::new(&Device::from_cuda(device), bytes, Memory::Cuda(memory));
        let tensor = wrap(storage);
        Ok(Loan { storage: Arc::clone(tensor.storage()), tensor })
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        match &mut *self.storage.write() {
            Memory::Cuda(memory) => memory.return_to_owner(),
            #[cfg(feature = "cpu")]
            Memory::Cpu(_) => {}
        }
    }
}
