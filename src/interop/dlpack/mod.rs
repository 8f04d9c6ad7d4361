//! DLPack: exchange of tensors with other libraries without copying.
//!
//! A [`Capsule`] owns a managed tensor, the structure that libraries exchange: [`DLManagedTensorVersioned`] since
//! version 1 of DLPack, or [`DLManagedTensor`] with older libraries.
//!
//! - [`export`] creates a capsule from a tensor. The memory lives until the capsule and everything created from it has
//!   been dropped. On CUDA, work that the consumer queues on the stream of [`Tensor::device`] runs after all earlier
//!   operations on the tensor. For a consumer with a stream of its own, export
//!   `tensor.to_device(&cuda::device_on(&stream)?)`.
//! - [`import`] creates a tensor from a capsule. The memory is returned to the producer when the last view of the
//!   tensor has been dropped and, on CUDA, the work on it has finished. If that work cannot be waited for, because a
//!   stream that has used the memory is being captured into a graph, the memory is kept, and returned by the first
//!   [`import`] or [`Device::synchronize`] after the capture. The device passed to [`import`] determines the stream on
//!   which the data is ready.
//!
//! No lock covers both sides: neither side may write the memory while the other uses it. The caller of
//! [`Capsule::from_raw`] has to guarantee this. A capsule that never left bitlane is imported as the tensor that was
//! exported, and needs no such guarantee.
//!
//! # Examples
//!
//! ```
//! use bitlane::dlpack::{self, Capsule, DLManagedTensorVersioned};
//! use bitlane::{DType, Device, Tensor};
//! let x = Tensor::arange(6, DType::I32, &Device::cpu())?.reshape((2, 3))?;
//! let capsule: Capsule<DLManagedTensorVersioned> = dlpack::export(&x.flip(1)?)?;
//! let mut y = dlpack::import(capsule, &Device::cpu())?;
//! y.add_assign(10)?; // in the memory of x
//! assert_eq!(x.to_vec::<i32>()?, [10, 11, 12, 13, 14, 15]);
//! assert_eq!(y.get::<i32>([0, 0])?, 12);
//! # Ok::<(), bitlane::Error>(())
//! ```

mod abi;

use std::fmt;
use std::ptr::{self, NonNull};
use std::slice;

pub use self::abi::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion, DLTensor,
    Managed, READ_ONLY, VERSION, device_type,
};
use crate::backend::Memory;
use crate::device::DeviceKind;
use crate::layout::{Layout, MAX_RANK, checked_len};
use crate::storage::Storage;
use crate::{DType, Device, Error, Result, Tensor};

/// An owned managed tensor. Dropping it calls the deleter of the producer.
pub struct Capsule<M: Managed> {
    managed: NonNull<M>,
    /// Whether [`export`] created it and it has never left bitlane since.
    own: bool,
}

// SAFETY: whoever calls `from_raw` promises that the deleter may be called from any thread; that of `export` may, because
// a `Tensor` is `Send`. Everything else that a capsule does is to read the structure.
unsafe impl<M: Managed> Send for Capsule<M> {}
// SAFETY: a shared capsule only allows reading the structure, which nobody writes until the capsule is given up, as the
// caller of `from_raw` promises and as `export` keeps to.
unsafe impl<M: Managed> Sync for Capsule<M> {}

impl<M: Managed> Capsule<M> {
    /// Takes ownership of a managed tensor from another library. Returns `None` if the pointer is null.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::dlpack::{self, Capsule, DLManagedTensorVersioned};
    /// use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::arange(3, DType::I32, &Device::cpu())?;
    /// // In practice the pointer comes from a capsule of PyTorch, NumPy or JAX.
    /// let managed: *mut DLManagedTensorVersioned = dlpack::export(&x)?.into_raw();
    /// // SAFETY: the managed tensor is valid and nobody else deletes it, and `x` is not written while `y` exists.
    /// if let Some(capsule) = unsafe { Capsule::from_raw(managed) } {
    ///     let y = dlpack::import(capsule, &Device::cpu())?;
    ///     assert_eq!(y.to_vec::<i32>()?, [0, 1, 2]);
    /// }
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    ///
    /// # Safety
    ///
    /// - The pointer must be null or point to a managed tensor of this type that is valid according to DLPack and that
    ///   nobody else will write or delete.
    /// - Its deleter may be called from any thread.
    /// - Its elements must be initialised, and its bools must be 0 or 1. The same holds for the memory between elements
    ///   that are not contiguous: strided reads may load it, and [`Tensor::as_strided`] can reach it.
    /// - While this capsule or a tensor imported from it exists, nobody may write this memory while bitlane uses it, nor
    ///   use it while bitlane writes it.
    pub unsafe fn from_raw(managed: *mut M) -> Option<Capsule<M>> {
        NonNull::new(managed).map(|managed| Capsule { managed, own: false })
    }

    /// Releases ownership of the managed tensor, for a library that will call its deleter.
    ///
    /// # Examples
    ///
    /// ```
    /// use bitlane::dlpack::{self, Capsule, DLManagedTensor};
    /// use bitlane::{DType, Device, Tensor};
    /// let x = Tensor::arange(3, DType::I32, &Device::cpu())?;
    /// let managed: *mut DLManagedTensor = dlpack::export(&x)?.into_raw();
    /// // Another library takes over here. Otherwise the capsule has to be restored to free it:
    /// // SAFETY: the managed tensor is valid, and nobody else deletes it.
    /// drop(unsafe { Capsule::from_raw(managed) });
    /// # Ok::<(), bitlane::Error>(())
    /// ```
    pub fn into_raw(self) -> *mut M {
        let managed = self.managed.as_ptr();
        std::mem::forget(self);
        managed
    }

    fn managed(&self) -> &M {
        // SAFETY: the structure is valid as long as it is owned, and `self` owns it.
        unsafe { self.managed.as_ref() }
    }
}

impl<M: Managed> Drop for Capsule<M> {
    fn drop(&mut self) {
        if let Some(deleter) = self.managed().deleter() {
            // SAFETY: `self` owns the structure and does not use it after this, so the deleter is called exactly once.
            unsafe { deleter(self.managed.as_ptr()) }
        }
    }
}

impl<M: Managed> fmt::Debug for Capsule<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Capsule").field(self.managed().tensor()).finish()
    }
}

/// The data that an exported tensor points to.
struct Exported {
    /// Keeps the memory alive.
    tensor: Tensor,
    shape: [i64; MAX_RANK],
    strides: [i64; MAX_RANK],
}

/// Deletes a managed tensor that [`export`] has created.
unsafe extern "C" fn delete<M: Managed>(managed: *mut M) {
    if managed.is_null() {
        return;
    }
    // SAFETY: `export` created both boxes, and a deleter is called once, after the last use.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context().cast::<Exported>()));
    }
}

/// Creates a capsule that shares the memory of a tensor.
///
/// The tensor may be any view, but not every library accepts negative strides.
///
/// # Examples
///
/// ```
/// use bitlane::dlpack::{self, Capsule, DLManagedTensorVersioned};
/// use bitlane::{DType, Device, Tensor};
/// let x = Tensor::zeros([2, 3], DType::F32, &Device::cpu())?;
/// let capsule: Capsule<DLManagedTensorVersioned> = dlpack::export(&x)?;
/// # drop(capsule);
/// # Ok::<(), bitlane::Error>(())
/// ```
///
/// # Errors
///
/// On CUDA, [`Error::Driver`] if the streams cannot be synchronised, and [`Error::InvalidArgument`] if the memory is
/// only borrowed for the duration of a function (`cuda::with_view`).
pub fn export<M: Managed>(tensor: &Tensor) -> Result<Capsule<M>> {
    let (start, device) = address(tensor)?;
    let mut exported =
        Box::new(Exported { tensor: tensor.clone(), shape: [1; MAX_RANK], strides: [0; MAX_RANK] });
    for axis in 0..tensor.rank() {
        exported.shape[axis] = tensor.shape()[axis] as i64;
        exported.strides[axis] = tensor.strides()[axis] as i64;
    }
    // From here on the box is used through this pointer only, from which the others are derived; using the box would
    // invalidate them.
    let exported = Box::into_raw(exported);
    // SAFETY: the pointer comes from a box, so it may be dereferenced; no reference is made.
    let (shape, strides) = unsafe { (&raw mut (*exported).shape, &raw mut (*exported).strides) };
    let first = start.wrapping_add(tensor.layout().offset() * tensor.dtype().size());
    let dl_tensor = DLTensor {
        data: if tensor.is_empty() { ptr::null_mut() } else { first.cast() },
        device,
        ndim: tensor.rank() as i32,
        dtype: data_type(tensor.dtype()),
        shape: shape.cast(),
        strides: strides.cast(),
        byte_offset: 0,
    };
    let managed = Box::new(M::new(dl_tensor, exported.cast()));
    Ok(Capsule { managed: NonNull::from(Box::leak(managed)), own: true })
}

/// Returns the start of a tensor's storage, and its device in terms of DLPack.
fn address(tensor: &Tensor) -> Result<(*mut u8, DLDevice)> {
    match tensor.device().kind() {
        #[cfg(feature = "cpu")]
        DeviceKind::Cpu => match &*tensor.storage().read() {
            Memory::Cpu(memory) => {
                Ok((memory.as_ptr(), DLDevice { device_type: device_type::CPU, device_id: 0 }))
            }
            #[cfg(feature = "cuda")]
            Memory::Cuda(_) => Err(elsewhere()),
        },
        #[cfg(feature = "cuda")]
        DeviceKind::Cuda(device) => {
            use crate::backend::cuda::foreign::address_on;
            use crate::exclusive::Exclusive;
            // The lock for writing waits for the operations that are about to queue a read of the memory.
            let mut memory = tensor.storage().write();
            let memory = Exclusive::new(&mut *memory).try_part(Memory::as_cuda);
            let memory = memory.ok_or_else(elsewhere)?;
            if !memory.get().is_kept_alive() {
                return Err(invalid("the memory is lent to a function; export a `copy`"));
            }
            let address = address_on(memory, device)?;
            let device_id = i32::try_from(device.ordinal()).unwrap_or(i32::MAX);
            let device = DLDevice { device_type: device_type::CUDA, device_id };
            Ok((ptr::without_provenance_mut(address as usize), device))
        }
    }
}

#[cfg(feature = "cuda")]
fn elsewhere() -> Error {
    invalid("the tensor is on another device than its memory")
}

/// Creates a tensor that shares the memory of a capsule.
///
/// `device` must be the device that holds the memory. Its stream is the one on which the data is ready.
///
/// The elements are copied instead, and what is written to the tensor does not reach the producer,
///
/// - if the memory is marked [`READ_ONLY`];
/// - on the CPU, if it holds complex numbers that are aligned to their parts but not to their whole size, such as NumPy's
///   `np.zeros(5, np.float32)[1:].view(np.complex64)`. On CUDA such memory is an error, because kernels cannot read it.
///
/// # Examples
///
/// ```
/// use bitlane::dlpack::{self, Capsule, DLManagedTensorVersioned};
/// use bitlane::{Device, Tensor};
/// let x = Tensor::from_nested([1.5f32, 2.5], &Device::cpu())?;
/// let capsule: Capsule<DLManagedTensorVersioned> = dlpack::export(&x)?;
/// assert!(dlpack::import(capsule, &Device::cpu())?.bits_equal(&x)?);
/// # Ok::<(), bitlane::Error>(())
/// ```
///
/// # Errors
///
/// - [`Error::InvalidArgument`] if the version, the device type or the element type is not supported, the memory is not
///   aligned to the size of its elements (on the CPU, for complex numbers: of their parts), or the sizes and strides are
///   invalid.
/// - [`Error::InvalidShape`] if the rank is above 8 or the byte count of the shape overflows `isize`.
/// - [`Error::DeviceMismatch`] if the memory is on another device.
/// - [`Error::OutOfMemory`] if memory that has to be copied cannot be.
///
/// On error the capsule is dropped, which calls its deleter.
pub fn import<M: Managed>(capsule: Capsule<M>, device: &Device) -> Result<Tensor> {
    let op = "dlpack";
    let managed = capsule.managed();
    if let Some(version) = managed.version()
        && version.major != VERSION.major
    {
        let DLPackVersion { major, minor } = version;
        return Err(invalid(format!("version {major}.{minor} is not known, {} is", VERSION.major)));
    }
    let tensor = *managed.tensor();
    expect_device(op, tensor.device, device)?;
    if capsule.own {
        // The original tensor is returned, because a second storage over the same memory would have a separate lock.
        // SAFETY: `export` created the context, which lives as long as the capsule.
        let exported = unsafe { &*managed.context().cast::<Exported>() };
        if exported.tensor.device() != device {
            return Err(invalid(format!("the memory belongs to another context of {device}")));
        }
        return Ok(exported.tensor.with_device(device));
    }
    let dtype = dtype_of(tensor.dtype)?;
    let (shape, strides) = sizes(&tensor)?;
    checked_len(op, &shape, dtype.size())?;
    if shape.contains(&0) {
        return Tensor::zeros(shape, dtype, device);
    }
    let (low, high) = reach(&shape, &strides)
        .ok_or_else(|| invalid(format!("strides {strides:?} with sizes {shape:?} overflow")))?;
    let offset = usize::try_from(tensor.byte_offset).map_err(invalid)?;
    let first = tensor.data.cast::<u8>().wrapping_add(offset);
    if first.is_null() || !first.addr().is_multiple_of(part_size(dtype)) {
        return Err(invalid(format!("the memory at {first:p} is not aligned to {dtype}")));
    }
    if !first.addr().is_multiple_of(dtype.size()) {
        if !is_host(device) {
            return Err(invalid(format!(
                "the memory at {first:p} is aligned to the parts of {dtype} only, and {device} needs {} bytes; \
                 import a copy",
                dtype.size()
            )));
        }
        // SAFETY: a valid `DLTensor` has its elements there, and the caller of `from_raw` guarantees that it is valid,
        // that they are initialised, and that nobody writes them now.
        let copy = unsafe { gathered(first, dtype.size(), &shape, &strides) }?;
        return Tensor::from_bytes(dtype, &copy, shape, device);
    }
    let elements = high + low + 1;
    let start = first.wrapping_sub(low * dtype.size());
    let bytes = elements.checked_mul(dtype.size()).ok_or_else(|| invalid("too large"))?;
    let layout = Layout::strided(op, &shape, &strides, low, elements)?;
    let read_only = managed.flags() & READ_ONLY != 0;
    // SAFETY: these bytes reach from the lowest element to the end of the highest one. They start at a multiple of the
    // elements' size, complex numbers included, since the first element does and `low` elements of that size precede it.
    // The caller of `from_raw` guarantees the rest until the deleter is called, which is when the capsule is dropped.
    let storage = unsafe { borrowed(device, start, bytes, capsule) }?;
    let imported = Tensor::row_major(storage, &[elements], dtype).with_layout(layout);
    if read_only { imported.copy() } else { Ok(imported) }
}

/// Copies the elements of a tensor in host memory, in row-major order.
///
/// # Safety
///
/// Every element must be initialised and must not be written meanwhile. It need not be aligned.
unsafe fn gathered(
    first: *const u8,
    size: usize,
    shape: &[usize],
    strides: &[isize],
) -> Result<Vec<u8>> {
    let count = shape.iter().product::<usize>();
    let bytes = count * size;
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes)
        .map_err(|_| Error::OutOfMemory { device: "cpu".into(), bytes })?;
    for number in 0..count {
        let (mut rest, mut offset) = (number, 0);
        for (&len, &stride) in shape.iter().zip(strides).rev() {
            offset += (rest % len) as isize * stride;
            rest /= len;
        }
        // SAFETY: the caller guarantees that this element can be read; a byte has no alignment.
        let element = unsafe { slice::from_raw_parts(first.offset(offset * size as isize), size) };
        copy.extend_from_slice(element);
    }
    Ok(copy)
}

/// Creates storage in memory that the crate does not own. The capsule is dropped once nothing uses the memory any more.
///
/// # Safety
///
/// `start` must point to this many initialised bytes on the device, aligned to the size of their elements. Until the
/// capsule is dropped, nobody may free them, write them while bitlane uses them, or use them while bitlane writes them.
unsafe fn borrowed<M: Managed>(
    device: &Device,
    start: *mut u8,
    bytes: usize,
    capsule: Capsule<M>,
) -> Result<Storage> {
    match device.kind() {
        #[cfg(feature = "cpu")]
        DeviceKind::Cpu => {
            let start = NonNull::new(start).ok_or_else(|| invalid("no memory"))?;
            // SAFETY: the caller guarantees this until the capsule is dropped, and the storage drops the memory, whose
            // work is done when its lock is released, before the capsule.
            let memory = unsafe { crate::backend::cpu::CpuMemory::borrowed(start, bytes) };
            Ok(Storage::new(device, bytes, Memory::Cpu(memory)).owned_by(Box::new(capsule)))
        }
        #[cfg(feature = "cuda")]
        DeviceKind::Cuda(cuda) => {
            let (address, owner) = (start.addr() as u64, Box::new(capsule));
            // SAFETY: the caller guarantees this until the capsule is dropped.
            let memory =
                unsafe { crate::backend::cuda::foreign::borrowed(cuda, address, bytes, owner) };
            Ok(Storage::new(device, bytes, Memory::Cuda(memory)))
        }
    }
}

fn is_host(device: &Device) -> bool {
    match device.kind() {
        #[cfg(feature = "cpu")]
        DeviceKind::Cpu => true,
        #[cfg(feature = "cuda")]
        DeviceKind::Cuda(_) => false,
    }
}

fn invalid(reason: impl fmt::Display) -> Error {
    Error::InvalidArgument { op: "dlpack", reason: reason.to_string() }
}

fn expect_device(op: &'static str, given: DLDevice, device: &Device) -> Result<()> {
    let name = match given.device_type {
        device_type::CPU | device_type::CUDA_HOST => "cpu".to_owned(),
        device_type::CUDA => format!("cuda:{}", given.device_id),
        other => {
            return Err(invalid(format!("memory of device type {other}; 1, 2 and 3 are known")));
        }
    };
    if name == device.to_string() {
        return Ok(());
    }
    Err(Error::DeviceMismatch { op, lhs: name, rhs: device.to_string() })
}

/// Reads the sizes and strides, and checks the rank. Whether they stay inside the memory is not checked.
fn sizes(tensor: &DLTensor) -> Result<(Vec<usize>, Vec<isize>)> {
    let rank = usize::try_from(tensor.ndim).map_err(invalid)?;
    if rank > 0 && tensor.shape.is_null() {
        return Err(invalid("the shape is missing"));
    }
    let list = |start: *mut i64| -> Vec<i64> {
        // SAFETY: a valid `DLTensor` has `ndim` numbers there, and the creator of the capsule guarantees that it is
        // valid.
        (0..rank).map(|axis| unsafe { start.add(axis).read() }).collect()
    };
    let shape: Result<Vec<usize>, _> =
        list(tensor.shape).into_iter().map(usize::try_from).collect();
    let shape = shape.map_err(invalid)?;
    checked_len("dlpack", &shape, 1)?;
    if tensor.strides.is_null() {
        let strides = Layout::row_major(&shape).strides().to_vec();
        return Ok((shape, strides));
    }
    let strides: Result<Vec<isize>, _> =
        list(tensor.strides).into_iter().map(isize::try_from).collect();
    Ok((shape, strides.map_err(invalid)?))
}

/// Returns how far the elements reach before and after the first one, in elements, or `None` on overflow.
fn reach(shape: &[usize], strides: &[isize]) -> Option<(usize, usize)> {
    let (mut low, mut high) = (0usize, 0usize);
    for (&size, &stride) in shape.iter().zip(strides) {
        let span = size.checked_sub(1)?.checked_mul(stride.unsigned_abs())?;
        let side = if stride < 0 { &mut low } else { &mut high };
        *side = side.checked_add(span)?;
    }
    // The whole span must be countable in bytes even for the largest elements, of 16 bytes.
    low.checked_add(high)?.checked_add(1)?.checked_mul(16)?;
    Some((low, high))
}

/// Returns the size of a number, or of one part of a complex number: the alignment that every library gives it.
fn part_size(dtype: DType) -> usize {
    if dtype.is_complex() { dtype.size() / 2 } else { dtype.size() }
}

fn data_type(dtype: DType) -> DLDataType {
    // The codes of `DLDataTypeCode` in dlpack.h.
    let code = match dtype {
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => 0,
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => 1,
        DType::F16 | DType::F32 | DType::F64 => 2,
        DType::BF16 => 4,
        DType::C64 | DType::C128 => 5,
        DType::Bool => 6,
        DType::F8E4M3FN => 10,
        DType::F8E5M2 => 12,
    };
    DLDataType { code, bits: dtype.bits() as u8, lanes: 1 }
}

fn dtype_of(given: DLDataType) -> Result<DType> {
    let known = DType::ALL.iter().copied().find(|&dtype| data_type(dtype) == given);
    known.ok_or_else(|| {
        let DLDataType { code, bits, lanes } = given;
        invalid(format!(
            "elements of type code {code}, {bits} bits and {lanes} lanes are not known"
        ))
    })
}
