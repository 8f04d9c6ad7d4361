//! Elements in host memory that are taken over or borrowed where they are.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use super::Memory;
#[cfg(feature = "cpu")]
use crate::device::DeviceKind;
use crate::storage::{Borrow, Storage};
use crate::{Device, Element, Result};

/// Makes storage of the elements of a vector. On the CPU it takes over their memory, if that is aligned.
pub(crate) fn storage_of<T: Element>(device: &Device, elements: Vec<T>) -> Result<Storage> {
    #[cfg(feature = "cpu")]
    let elements = match device.kind() {
        DeviceKind::Cpu => match super::cpu::CpuMemory::adopted(elements) {
            Ok((memory, owner)) => {
                let bytes = memory.bytes();
                return Ok(Storage::new(device, bytes, Memory::Cpu(memory)).owned_by(owner));
            }
            Err(elements) => elements,
        },
        #[cfg(feature = "cuda")]
        DeviceKind::Cuda(_) => elements,
    };
    Storage::from_bytes(device, bytemuck::cast_slice(&elements))
}

/// The elements of a contiguous tensor on the CPU, borrowed by [`Tensor::as_slice`](crate::Tensor::as_slice).
///
/// While it exists, operations that write to the tensor's storage wait, and those that read do not. A thread that holds it
/// must not write to the storage itself, or it waits for itself.
///
/// # Examples
///
/// ```
/// use bitlane::{Device, Tensor};
/// let x = Tensor::from_vec(vec![1.5f32, 2.5], [2], &Device::cpu())?;
/// let total: f32 = x.as_slice::<f32>()?.iter().sum();
/// assert_eq!(total, 4.0);
/// # Ok::<(), bitlane::Error>(())
/// ```
pub struct HostSlice<'a, T> {
    start: *const T,
    len: usize,
    _borrow: Borrow<'a>,
    _elements: PhantomData<&'a [T]>,
}

impl<'a, T: Element> HostSlice<'a, T> {
    /// Borrows `len` elements that begin at a byte of the memory. Returns `None` if they are not in the host's memory, not
    /// aligned, or not all valid.
    pub(crate) fn new(storage: &'a Storage, byte: usize, len: usize) -> Option<HostSlice<'a, T>> {
        let (start, borrow) = storage.borrow(|memory| match memory {
            #[cfg(feature = "cpu")]
            Memory::Cpu(memory) => memory.elements(byte, len),
            #[cfg(feature = "cuda")]
            Memory::Cuda(_) => {
                let _ = byte;
                None
            }
        });
        start.map(|start| HostSlice { start, len, _borrow: borrow, _elements: PhantomData })
    }
}

impl<T> Deref for HostSlice<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `CpuMemory::elements` has found `len` valid elements at this address of the memory, which the borrow
        // keeps from being written, and the storage alive.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl<T: fmt::Debug> fmt::Debug for HostSlice<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
