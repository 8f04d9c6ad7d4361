//! Memory that changes hands between this crate and its user's cudarc.

use std::sync::Arc;

use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut};

use super::context::twice;
use super::driver::failed;
use super::memory::{CudaMemory, Tenure};
use super::{CudaDevice, Memory};
use crate::storage::Storage;
use crate::{Device, Element, Error, Result, Tensor};

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
    // cudarc makes the slice's stream wait for its other uses before it lets go of it.
    let address = slice.leak();
    // SAFETY: the slice owned this block, allocated by cudarc as this crate does it, and has given
    // it up; its elements are initialised, as cudarc demands of whoever makes a slice.
    let memory = unsafe { CudaMemory::from_raw(&device.lane, address, bytes, Tenure::Owned) };
    in_order(device.lane.stream())?;
    Ok(Storage::new(&Device::from_cuda(device), bytes, Memory::Cuda(memory)))
}

/// The address of memory, with all work on it so far before later work on a device's stream.
#[cfg(feature = "dlpack")]
pub(crate) fn address_on(memory: &CudaMemory, device: &CudaDevice) -> Result<CUdeviceptr> {
    memory.before_write(&device.lane)?;
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
    unsafe { CudaMemory::from_raw(&device.lane, address, bytes, Tenure::LentForWriting) }
}

/// Makes memory that holds `len` elements a slice, in order for its stream.
pub(crate) fn release<T: Element>(memory: CudaMemory, len: usize) -> Result<CudaSlice<T>> {
    // cudarc unwraps the events that it makes for a slice. Making one here shows whether it can.
    let probe = twice(|| memory.home().stream().record_event(None));
    probe.map_err(|error| failed("cuEventCreate", error.0))?;
    let (lane, address) = memory.into_raw()?;
    // SAFETY: the block holds `len` elements and belongs to nobody else any more.
    let mut slice = unsafe { lane.stream().upgrade_device_ptr(address, len) };
    // To cudarc the slice is new and nobody has written it; this tells it of the work so far, so
    // that its other streams wait for that.
    drop(slice.device_ptr_mut(lane.stream()));
    in_order(lane.stream())?;
    Ok(slice)
}

/// Whether cudarc has put its streams in order: what it could not do it keeps to itself.
fn in_order(stream: &CudaStream) -> Result<()> {
    let outcome = stream.context().check_err();
    outcome.map_err(|error| failed("cuStreamWaitEvent or cuEventRecord", error.0))
}

/// Lends a view to a function, as a tensor that `wrap` makes of it and that can be read.
pub(crate) fn lend<T: Element, V: DevicePtr<T>, R>(
    view: &V,
    wrap: impl FnOnce(Storage) -> Tensor,
    function: impl FnOnce(&Tensor) -> Result<R>,
) -> Result<R> {
    let stream = Arc::clone(view.stream());
    let device = CudaDevice::on_stream(&stream)?;
    // Dropped after the loan: tells cudarc of the reads.
    let (address, _record) = view.device_ptr(&stream);
    in_order(&stream)?;
    // SAFETY: the view has its elements at this address, in order for its stream, and is borrowed
    // for longer than the loan lasts; nothing writes to memory that is lent for reading.
    let loan =
        unsafe { Loan::new::<T>(device, address, view.len(), Tenure::LentForReading, wrap) }?;
    function(&loan.tensor)
}

/// Lends a view to a function, as a tensor that `wrap` makes of it and that can be written.
pub(crate) fn lend_mut<T: Element, V: DevicePtrMut<T>, R>(
    view: &mut V,
    wrap: impl FnOnce(Storage) -> Tensor,
    function: impl FnOnce(&mut Tensor) -> Result<R>,
) -> Result<R> {
    let stream = Arc::clone(view.stream());
    let device = CudaDevice::on_stream(&stream)?;
    let len = view.len();
    // Dropped after the loan: tells cudarc of the writes.
    let (address, _record) = view.device_ptr_mut(&stream);
    in_order(&stream)?;
    // SAFETY: the view has its elements at this address, in order for its stream, and is borrowed
    // exclusively for longer than the loan lasts.
    let mut loan = unsafe { Loan::new::<T>(device, address, len, Tenure::LentForWriting, wrap) }?;
    function(&mut loan.tensor)
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
        tenure: Tenure,
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
        let memory = unsafe { CudaMemory::from_raw(&device.lane, address, bytes, tenure) };
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
