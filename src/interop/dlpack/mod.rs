//! DLPack: tensors of other libraries as tensors of bitlane and the other way round, in the same memory.
//!
//! A [`Capsule`] owns a managed tensor, which is what the libraries hand each other: of version 1
//! ([`DLManagedTensorVersioned`]), or without a version ([`DLManagedTensor`]), which older libraries want.
//!
//! - [`export`] makes a capsule of a tensor. The memory lives until the capsule and everything that was made of it is
//!   gone. On CUDA, work that the consumer queues on the stream of [`Tensor::device`] comes after all that was asked of the
//!   tensor; for a consumer with a stream of its own, export `tensor.to_device(&cuda::device_on(&stream)?)`.
//! - [`import`] makes a tensor of a capsule. The producer's memory is given back when the last view of the tensor is
//!   gone and, on CUDA, the work on it is done. The device that is given says on which stream the data is ready.
//!
//! Nobody locks the memory for both sides: a program must not write it on one side while the other uses it, which is
//! what [`Capsule::from_raw`] asks to be promised. A capsule that never left bitlane is imported as the very tensor that
//! was exported, and needs no promise.
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
use crate::device::Kind;
use crate::layout::{Layout, MAX_RANK, checked_len};
use crate::storage::Storage;
use crate::{DType, Device, Error, Result, Tensor};

/// A managed tensor that is owned: dropping it tells its producer.
pub struct Capsule<M: Managed> {
    managed: NonNull<M>,
    /// Whether [`export`] made it and nobody else has had it since.
    own: bool,
}

// SAFETY: a managed tensor is not tied to a thread; its deleter may be called from any.
unsafe impl<M: Managed> Send for Capsule<M> {}
// SAFETY: a shared capsule only lets the structure be read, which nobody writes while it is owned.
unsafe impl<M: Managed> Sync for Capsule<M> {}

impl<M: Managed> Capsule<M> {
    /// Takes over a managed tensor that another library has handed out; none if the pointer is null.
    ///
    /// # Safety
    ///
    /// The pointer must be null or to a managed tensor of this type, valid as DLPack has it, that nobody else will delete.
    /// Its elements must be initialised, bools being 0 or 1. As long as this capsule or a tensor that is imported from it
    /// exists, nobody may write the elements while bitlane uses them, nor use them while bitlane writes.
    pub unsafe fn from_raw(managed: *mut M) -> Option<Capsule<M>> {
        NonNull::new(managed).map(|managed| Capsule { managed, own: false })
    }

    /// Gives the managed tensor up, to a library that will call its deleter.
    pub fn into_raw(self) -> *mut M {
        let managed = self.managed.as_ptr();
        std::mem::forget(self);
        managed
    }

    fn managed(&self) -> &M {
        // SAFETY: the structure is valid for as long as it is owned, and it is owned by `self`.
        unsafe { self.managed.as_ref() }
    }
}

impl<M: Managed> Drop for Capsule<M> {
    fn drop(&mut self) {
        if let Some(deleter) = self.managed().deleter() {
            // SAFETY: the structure is owned and not used after this; its deleter is called once.
            unsafe { deleter(self.managed.as_ptr()) }
        }
    }
}

impl<M: Managed> fmt::Debug for Capsule<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Capsule").field(self.managed().tensor()).finish()
    }
}

/// What an exported tensor needs to live.
struct Exported {
    /// Keeps the memory.
    tensor: Tensor,
    shape: [i64; MAX_RANK],
    strides: [i64; MAX_RANK],
}

/// Deletes what [`export`] has made.
unsafe extern "C" fn delete<M: Managed>(managed: *mut M) {
    if managed.is_null() {
        return;
    }
    // SAFETY: `export` made both boxes, and whoever calls a deleter does so once, at the end.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context().cast::<Exported>()));
    }
}

/// Makes a capsule of a tensor, in the same memory. The tensor may be any view; not every library takes negative strides.
///
/// # Errors
///
/// On CUDA [`Error::Driver`] if streams cannot be put in order, and [`Error::InvalidArgument`] for memory that is only lent
/// to a function (`cuda::with_view`), and would be gone after it.
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

/// The start of a tensor's storage, and what DLPack calls its device.
fn address(tensor: &Tensor) -> Result<(*mut u8, DLDevice)> {
    match &*tensor.storage().read() {
        #[cfg(feature = "cpu")]
        Memory::Cpu(memory) => {
            Ok((memory.as_ptr(), DLDevice { device_type: device_type::CPU, device_id: 0 }))
        }
        #[cfg(feature = "cuda")]
        Memory::Cuda(memory) => match tensor.device().kind() {
            Kind::Cuda(_) if !memory.is_owned() && !tensor.storage().has_owner() => {
                Err(invalid("the memory is lent to a function; export a `copy`"))
            }
            Kind::Cuda(device) => {
                let address = crate::backend::cuda::foreign::address_on(memory, device)?;
                let device_id = i32::try_from(device.ordinal()).unwrap_or(i32::MAX);
                let device = DLDevice { device_type: device_type::CUDA, device_id };
                Ok((ptr::without_provenance_mut(address as usize), device))
            }
            #[cfg(feature = "cpu")]
            Kind::Cpu => Err(invalid("the tensor is on another device than its memory")),
        },
    }
}

/// Makes a tensor of a capsule, in the same memory; memory that must not be written is copied.
///
/// The device says where the memory is expected to be, and on which stream its data is ready.
///
/// # Errors
///
/// [`Error::InvalidArgument`] for a version, device or element type that is not known, for memory that is not aligned to
/// its elements and for sizes that make no sense, [`Error::DeviceMismatch`] for memory of another device,
/// [`Error::InvalidShape`] above rank 8. The capsule is then deleted.
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
        // Another storage over the same memory would have a lock of its own.
        // SAFETY: `export` made the context, which lives as long as the capsule.
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
    // SAFETY: the capsule's memory holds these elements and is the owner's until the storage drops the capsule.
    let memory = unsafe { borrowed(device, start, bytes) }?;
    let owner = Owner { device: device.clone(), _capsule: capsule };
    let storage = Storage::new(device, bytes, memory).owned_by(Box::new(owner));
    let imported = Tensor::row_major(storage, &[elements], dtype).with_layout(layout);
    if read_only { imported.copy() } else { Ok(imported) }
}

/// A capsule whose memory is in use.
struct Owner<M: Managed> {
    device: Device,
    _capsule: Capsule<M>,
}

impl<M: Managed> Drop for Owner<M> {
    fn drop(&mut self) {
        // The producer knows nothing of work that is still queued. If the wait fails the context is broken, and no work
        // goes on in it.
        let _ = self.device.synchronize();
    }
}

/// Somebody else's memory.
///
/// # Safety
///
/// There must be so many bytes on this device, which nobody frees or uses otherwise before the memory is dropped.
unsafe fn borrowed(device: &Device, start: *mut u8, bytes: usize) -> Result<Memory> {
    match device.kind() {
        #[cfg(feature = "cpu")]
        Kind::Cpu => {
            let start = NonNull::new(start).ok_or_else(|| invalid("no memory"))?;
            // SAFETY: the caller's own promise.
            Ok(Memory::Cpu(unsafe { crate::backend::cpu::CpuMemory::borrowed(start, bytes) }))
        }
        #[cfg(feature = "cuda")]
        Kind::Cuda(device) => {
            let address = start.addr() as u64;
            // SAFETY: the caller's own promise.
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

/// Sizes and strides, checked but for what they reach.
fn sizes(tensor: &DLTensor) -> Result<(Vec<usize>, Vec<isize>)> {
    let rank = usize::try_from(tensor.ndim).map_err(invalid)?;
    if rank > MAX_RANK {
        return Err(invalid(format!("{rank} dimensions; at most {MAX_RANK} are known")));
    }
    if rank > 0 && tensor.shape.is_null() {
        return Err(invalid("the shape is missing"));
    }
    let list = |start: *mut i64| -> Vec<i64> {
        // SAFETY: DLPack has as many numbers there as dimensions, as whoever made the capsule has promised.
        (0..rank).map(|axis| unsafe { start.add(axis).read() }).collect()
    };
    let shape: Result<Vec<usize>, _> =
        list(tensor.shape).into_iter().map(usize::try_from).collect();
    let shape = shape.map_err(invalid)?;
    if tensor.strides.is_null() {
        checked_len("dlpack", &shape, 1)?;
        let strides = Layout::row_major(&shape).strides().to_vec();
        return Ok((shape, strides));
    }
    let strides: Result<Vec<isize>, _> =
        list(tensor.strides).into_iter().map(isize::try_from).collect();
    Ok((shape, strides.map_err(invalid)?))
}

/// How many elements lie before the first one and after it.
fn reach(shape: &[usize], strides: &[isize]) -> Option<(usize, usize)> {
    let (mut low, mut high) = (0usize, 0usize);
    for (&size, &stride) in shape.iter().zip(strides) {
        let span = size.checked_sub(1)?.checked_mul(stride.unsigned_abs())?;
        let side = if stride < 0 { &mut low } else { &mut high };
        *side = side.checked_add(span)?;
    }
    // Every place can be counted in bytes of the largest element.
    low.checked_add(high)?.checked_add(1)?.checked_mul(16)?;
    Some((low, high))
}

/// Complex numbers are aligned as their parts.
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
