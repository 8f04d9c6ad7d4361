//! Transfer of memory between this crate and cudarc.
//!
//! Here, and only here, cudarc calls the driver on this crate's behalf, with the user's own streams and events. cudarc
//! stores the errors of such calls until it is asked for them, which [`in_order`] does.

use std::mem;
use std::process;
use std::sync::Arc;

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtr, DevicePtrMut};

use super::super::Memory;
use super::CudaDevice;
use super::context::retry_after_deferred_error;
use super::driver::{code_of, failed_in_cudarc};
use super::memory::{CudaMemory, Ownership};
#[cfg(feature = "dlpack")]
use super::reclaim::{self, Owner};
use super::stream::Stream;
#[cfg(feature = "dlpack")]
use crate::exclusive::Exclusive;
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
pub(crate) fn adopt<T: Element>(mut slice: CudaSlice<T>) -> Result<Storage> {
    let device = CudaDevice::on_stream(slice.stream())?;
    let _bound = device.bind()?;
    let bytes = slice.num_bytes();
    if bytes == 0 {
        // An empty slice may still have an allocation, which cudarc frees.
        drop(slice);
        return Storage::allocate(&Device::from_cuda(device), 0);
    }
    let stream = Arc::clone(slice.stream());
    // Makes the slice's stream wait for the slice's uses on other streams. If cudarc cannot do that, the slice stays
    // cudarc's. The first error may be an older one that cudarc has stored.
    let mut order = || {
        let (address, record) = slice.device_ptr_mut(&stream);
        drop(record);
        in_order(&stream).map(|()| address)
    };
    let address = order().or_else(|_| order())?;
    check_alignment::<T>("tensor_from_slice", address)?;
    let address = slice.leak();
    // SAFETY: the slice owned this block, which cudarc allocated as this crate does, and has given it up. The stream
    // waits for all earlier work on it (above; `leak` tries the same again, so it does not matter whether it succeeds).
    // The address is aligned to the elements' size, and the elements are initialised, as cudarc requires of whoever
    // creates a slice.
    let memory = unsafe { CudaMemory::from_raw(&device.stream, address, bytes, Ownership::Owned) };
    Ok(Storage::new(&Device::from_cuda(device), bytes, Memory::Cuda(memory)))
}

/// Fails unless an address is a multiple of the elements' size. A kernel loads an element at once, even a complex number,
/// whose Rust type is aligned to its parts only; a misaligned load destroys the context.
fn check_alignment<T: Element>(op: &'static str, address: CUdeviceptr) -> Result<()> {
    let size = T::DTYPE.size();
    if address.is_multiple_of(size as CUdeviceptr) {
        return Ok(());
    }
    let reason =
        format!("the view at {address:#x} is not aligned to elements of {size} bytes; copy it");
    Err(Error::InvalidArgument { op, reason })
}

/// Returns the address of memory after ordering all earlier work on it before later work on the device's stream.
///
/// Whoever is given the address may write, so this counts as a write, and needs exclusive use of the memory: an operation
/// that is about to queue a read holds the storage's lock, and has to queue it first.
#[cfg(feature = "dlpack")]
pub(crate) fn address_on(
    memory: Exclusive<'_, CudaMemory>,
    device: &CudaDevice,
) -> Result<CUdeviceptr> {
    CudaMemory::before_write(memory, &device.stream)?;
    Ok(memory.get().address())
}

/// Wraps memory that another library owns, for use on the device's stream. The owner is dropped when the returned value
/// has been dropped and the work on the memory is done, or later if the driver refuses to wait for it.
///
/// # Safety
///
/// The requirements of [`CudaMemory::from_raw`] for memory lent for writing must hold until the owner is dropped.
#[cfg(feature = "dlpack")]
pub(crate) unsafe fn borrowed(
    device: &CudaDevice,
    address: CUdeviceptr,
    bytes: usize,
    owner: Owner,
) -> CudaMemory {
    reclaim::retry_returning();
    let ownership = Ownership::LentForWriting;
    // SAFETY: guaranteed by the caller; the owner is dropped only after a wait for all work on the memory has succeeded.
    unsafe { CudaMemory::from_raw(&device.stream, address, bytes, ownership) }.owned_by(owner)
}

/// Converts memory that holds `len` elements into a slice on its home stream, which waits for all work on the memory.
pub(crate) fn release<T: Element>(mut memory: CudaMemory, len: usize) -> Result<CudaSlice<T>> {
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
    if let Err(error) = in_order_or_done(&home, stream) {
        // Other streams of cudarc might use the memory too early, so nobody gets it.
        mem::forget(slice);
        return Err(error);
    }
    Ok(slice)
}

/// Returns the error that cudarc has stored if it could not order its streams.
fn in_order(stream: &CudaStream) -> Result<()> {
    let outcome = stream.context().check_err();
    outcome.map_err(|error| failed_in_cudarc("cuStreamWaitEvent or cuEventRecord", &error))
}

/// Makes sure that the work on a stream so far is recorded with cudarc or finished: if cudarc could not record an event
/// or wait for one, this waits for the stream. On an error the work may be unfinished, and other streams of cudarc may
/// overtake it; only the stream itself, on which cudarc frees the memory, is certain to come after it.
fn in_order_or_done(stream: &Stream, cudarc: &CudaStream) -> Result<()> {
    in_order(cudarc).or_else(|_| stream.synchronize()).or_else(|_| stream.synchronize())
}

/// Ends the process if work of this crate may still use memory that is about to go back to its owner, who may free it at
/// once: such memory can neither be kept nor handed back.
///
/// This happens only if the driver refuses both to order the work and to wait for it, although the context is intact:
/// for instance because the borrower of the memory has begun to capture a stream on which it is used.
fn must_be_over(outcome: Result<()>) {
    if let Err(error) = outcome
        && !is_fatal(&error)
    {
        eprintln!("bitlane: borrowed memory is still in use and its owner cannot be told: {error}");
        process::abort();
    }
}

/// Whether an error means that its context is lost, so that no work continues in it.
fn is_fatal(error: &Error) -> bool {
    // Driver shut down; invalid context; uncorrectable memory error; illegal address; timeout; context destroyed; assert;
    // from a stack error to a failed launch. The driver documents that all later work returns the same error.
    matches!(code_of(error), Some(4 | 201 | 214 | 700 | 702 | 709 | 710 | 714..=719))
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
    // borrowed for longer than the loan. Nothing writes to memory that is lent for reading.
    let loan = unsafe { Loan::new::<T>(lent, address, view.len(), reading, wrap) }?;
    let result = function(&loan.tensor);
    drop(loan);
    drop(record);
    in_order_or_done(&device.stream, &stream).and(result)
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
    in_order_or_done(&device.stream, &stream).and(result)
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
    /// The requirements of [`CudaMemory::from_raw`], except for the alignment, must hold for `len` elements of `T` until
    /// the returned value is dropped.
    unsafe fn new<T: Element>(
        device: CudaDevice,
        address: CUdeviceptr,
        len: usize,
        ownership: Ownership,
        wrap: impl FnOnce(Storage) -> Tensor,
    ) -> Result<Loan> {
        check_alignment::<T>("with_view", address)?;
        let bytes = len * T::DTYPE.size();
        // SAFETY: guaranteed by the caller, except for the alignment, which was checked; dropping this value calls
        // `return_to_owner`.
        let memory = unsafe { CudaMemory::from_raw(&device.stream, address, bytes, ownership) };
        let storage = Storage::new(&Device::from_cuda(device), bytes, Memory::Cuda(memory));
        let tensor = wrap(storage);
        Ok(Loan { storage: Arc::clone(tensor.storage()), tensor })
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        match &mut *self.storage.write() {
            Memory::Cuda(memory) => must_be_over(memory.return_to_owner()),
            #[cfg(feature = "cpu")]
            Memory::Cpu(_) => {}
        }
    }
}
