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
//!   tensor has been dropped and, on CUDA, the work on it has finished. The device passed to it determines the stream
//!   on which the data is ready.
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

// SAFETY: a managed tensor is not tied to a thread; its deleter may be called from any thread.
unsafe impl<M: Managed> Send for Capsule<M> {}
// SAFETY: a shared capsule only allows reading the structure, which nobody writes while it is owned.
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
    ///   nobody else will delete.
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
    let mut exported =
        Box::new(Exported { tensor: tensor.clone(), shape: [1; MAX_RANK], strides: [0; MAX_RANK] });
    for axis in 0..tensor.rank() {
        exported.shape[axis] = tensor.shape()[axis] as i64;
        exported.strides[axis] = tensor.strides()[axis] as i64;
    }
    let (start, device) = address(tensor)?;
    let first = start.wrapping_add(tensor.layout().offset() * tensor.dtype().size());
    let dl_tensor = DLTensor {
        data: if tensor.is_empty() { ptr::null_mut() } else { first.cast() },
        device,
        ndim: tensor.rank() as i32,
        dtype: data_type(tensor.dtype()),
        shape: exported.shape.as_mut_ptr(),
        strides: exported.strides.as_mut_ptr(),
        byte_offset: 0,
    };
    let managed = Box::new(M::new(dl_tensor, Box::into_raw(exported).cast()));
    Ok(Capsule { managed: NonNull::from(Box::leak(managed)), own: true })
}

/// Returns the start of a tensor's storage, and its device in terms of DLPack.
fn address(tensor: &Tensor) -> Result<(*mut u8, DLDevice)> {
    match &*tensor.storage().read() {
        #[cfg(feature = "cpu")]
        Memory::Cpu(memory) => {
            Ok((memory.as_ptr(), DLDevice { device_type: device_type::CPU, device_id: 0 }))
        }
        #[cfg(feature = "cuda")]
        Memory::Cuda(memory) => match tensor.device().kind() {
            DeviceKind::Cuda(_) if !memory.is_owned() && !tensor.storage().has_owner() => {
                Err(invalid("the memory is lent to a function; export a `copy`"))
            }
            DeviceKind::Cuda(device) => {
                let address = crate::backend::cuda::foreign::address_on(memory, device)?;
                let device_id = i32::try_from(device.ordinal()).unwrap_or(i32::MAX);
                let device = DLDevice { device_type: device_type::CUDA, device_id };
                Ok((ptr::without_provenance_mut(address as usize), device))
            }
            #[cfg(feature = "cpu")]
            DeviceKind::Cpu => Err(invalid("the tensor is on another device than its memory")),
        },
    }
}

/// Creates a tensor that shares the memory of a capsule. Memory that is marked [`READ_ONLY`] is copied instead.
///
/// `device` must be the device that holds the memory. Its stream is the one on which the data is ready.
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
///   aligned to its elements, or the sizes and strides are invalid.
/// - [`Error::InvalidShape`] if the rank is above 8 or the byte count of the shape overflows `isize`.
/// - [`Error::DeviceMismatch`] if the memory is on another device.
/// - [`Error::OutOfMemory`] if read-only memory cannot be copied.
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
    if first.is_null() || !first.addr().is_multiple_of(alignment(dtype)) {
        return Err(invalid(format!("the memory at {first:p} is not aligned to {dtype}")));
    }
    let elements = high + low + 1;
    let start = first.wrapping_sub(low * dtype.size());
    let bytes = elements.checked_mul(dtype.size()).ok_or_else(|| invalid("too large"))?;
    let layout = Layout::strided(op, &shape, &strides, low, elements)?;
    let read_only = managed.flags() & READ_ONLY != 0;
    // SAFETY: these bytes reach from the lowest element to the end of the highest one, and are aligned. The caller of
    // `from_raw` guarantees the rest until the deleter is called. The storage drops the memory before its owner, which
    // waits for the work on it before it drops the capsule.
    let memory = unsafe { borrowed(device, start, bytes) }?;
    let owner = Owner { device: device.clone(), _capsule: capsule };
    let storage = Storage::new(device, bytes, memory).owned_by(Box::new(owner));
    let imported = Tensor::row_major(storage, &[elements], dtype).with_layout(layout);
    if read_only { imported.copy() } else { Ok(imported) }
}

/// A capsule whose memory a storage uses.
struct Owner<M: Managed> {
    device: Device,
    _capsule: Capsule<M>,
}

impl<M: Managed> Drop for Owner<M> {
    fn drop(&mut self) {
        // The producer does not know about work that is still queued. If waiting fails, the context is broken and runs
        // no more work.
        let _ = self.device.synchronize();
    }
}

/// Wraps memory that the crate does not own.
///
/// # Safety
///
/// `start` must point to this many initialised bytes on the device, aligned to their elements. Until the returned
/// memory is dropped and the work on it is done, nobody may free them, write them while bitlane uses them, or use them
/// while bitlane writes them.
unsafe fn borrowed(device: &Device, start: *mut u8, bytes: usize) -> Result<Memory> {
    match device.kind() {
        #[cfg(feature = "cpu")]
        DeviceKind::Cpu => {
            let start = NonNull::new(start).ok_or_else(|| invalid("no memory"))?;
            // SAFETY: the caller guarantees this.
            Ok(Memory::Cpu(unsafe { crate::backend::cpu::CpuMemory::borrowed(start, bytes) }))
        }
        #[cfg(feature = "cuda")]
        DeviceKind::Cuda(device) => {
            let address = start.addr() as u64;
            // SAFETY: the caller guarantees this.
            Ok(Memory::Cuda(unsafe {
                crate::backend::cuda::foreign::borrowed(device, address, bytes)
            }))
        }
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

/// Returns the alignment of an element. Complex numbers are aligned like their parts.
fn alignment(dtype: DType) -> usize {
    if dtype.is_complex() { dtype.size() / 2 } else { dtype.size() }
}

fn data_type(dtype: DType) -> DLDataType {
    let code = match dtype {
        DType::Bool => 6,
        DType::BF16 => 4,
        dtype if dtype.is_unsigned_int() => 1,
        dtype if dtype.is_int() => 0,
        dtype if dtype.is_complex() => 5,
        _ => 2,
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
