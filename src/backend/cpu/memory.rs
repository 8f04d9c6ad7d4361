//! Aligned host memory.

use std::mem::ManuallyDrop;
use std::ops::Range;
use std::ptr::NonNull;

use bytemuck::AnyBitPattern;

use crate::backend::cpu::pool;
use crate::{Element, Error, Result};

#[repr(align(64))]
struct CacheLine;

const _: () = assert!(align_of::<CacheLine>() == pool::ALIGNMENT);

/// A block of host memory, aligned to a cache line, that is taken from the pool and returned to it.
pub(crate) struct CpuMemory {
    start: NonNull<u8>,
    bytes: usize,
    /// Whether the block is freed on drop. If not, it is borrowed, and aligned only to its elements.
    owned: bool,
}

// SAFETY: the block is owned by this value alone and its address is not tied to a thread.
unsafe impl Send for CpuMemory {}
// SAFETY: through `&self` the block is only read (`read`), or touched by the kernels, which run
// under the lock of the storage that owns it.
unsafe impl Sync for CpuMemory {}

impl CpuMemory {
    /// Allocates a block with undefined contents. Fails with [`Error::OutOfMemory`] if the system refuses.
    #[inline]
    pub(crate) fn allocate(bytes: usize) -> Result<CpuMemory> {
        let start = if bytes == 0 {
            NonNull::<CacheLine>::dangling().cast()
        } else {
            pool::acquire(bytes)
                .ok_or_else(|| Error::OutOfMemory { device: "cpu".into(), bytes })?
        };
        Ok(CpuMemory { start, bytes, owned: true })
    }

    /// Wraps a block that belongs to someone else, who will free it.
    ///
    /// # Safety
    ///
    /// `start` must point to `bytes` initialised bytes, aligned to their elements, until the returned value is dropped.
    /// Nobody else may write them while the storage that holds this value is locked, nor use them while it is locked for
    /// writing.
    pub(crate) unsafe fn borrowed(start: NonNull<u8>, bytes: usize) -> CpuMemory {
        CpuMemory { start, bytes, owned: false }
    }

    /// Takes over the memory of a vector. The second value frees it, and must be dropped after the first.
    ///
    /// Returns the vector if it is not aligned to the size of its elements, as some complex numbers are not: loops move
    /// an element at once.
    pub(crate) fn adopted<T: Element>(elements: Vec<T>) -> Result<(CpuMemory, Owner), Vec<T>> {
        if !elements.as_ptr().addr().is_multiple_of(size_of::<T>()) {
            return Err(elements);
        }
        let mut elements = ManuallyDrop::new(elements);
        let (len, capacity) = (elements.len(), elements.capacity());
        let start = NonNull::from(elements.as_mut_slice()).cast::<T>();
        // SAFETY: the elements are initialised and aligned to their size. The vector has been given up, so nobody else
        // uses them until `Adopted` is dropped, which is after this value.
        let memory = unsafe { CpuMemory::borrowed(start.cast(), len * size_of::<T>()) };
        Ok((memory, Box::new(Adopted { start, capacity })))
    }

    /// Returns the address of `len` elements that begin at a byte, or `None` if they are not in the block, not aligned,
    /// or not all valid.
    pub(crate) fn elements<T: Element>(&self, byte: usize, len: usize) -> Option<*const T> {
        let end = len.checked_mul(size_of::<T>()).and_then(|bytes| byte.checked_add(bytes))?;
        if end > self.bytes {
            return None;
        }
        let start = self.as_ptr().wrapping_add(byte);
        // SAFETY: these bytes are in the block, and storage is written in full before it is shared. Whoever calls this
        // holds its lock, so nobody writes them.
        let bytes = unsafe { std::slice::from_raw_parts(start, len * size_of::<T>()) };
        bytemuck::checked::try_cast_slice::<u8, T>(bytes).ok().map(<[T]>::as_ptr)
    }

    /// Returns the size of the block.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the address of the block. Writing through it takes the storage's lock for writing.
    #[inline]
    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Copies bytes to the front of the block.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let bytes = &bytes[..bytes.len().min(self.bytes)];
        // SAFETY: the block has room for as many bytes as are copied, and `&mut self` is exclusive;
        // `bytes` is another allocation.
        unsafe { self.as_ptr().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) }
    }

    /// Sets every byte to zero.
    pub(crate) fn clear(&mut self) {
        // SAFETY: the block is `bytes` long and `&mut self` is exclusive.
        unsafe { self.as_ptr().write_bytes(0, self.bytes) }
    }

    /// Copies a range of bytes, which must have been written before. Fails if the range is not inside the block, or is
    /// no whole number of elements.
    pub(crate) fn read<B: AnyBitPattern>(&self, range: Range<usize>) -> Result<Vec<B>> {
        let is_inside = range.start <= range.end && range.end <= self.bytes;
        if !is_inside || !range.len().is_multiple_of(size_of::<B>()) {
            let (bytes, size) = (self.bytes, size_of::<B>());
            return Err(Error::InvalidArgument {
                op: "read",
                reason: format!("{range:?} are no elements of {size} bytes in a block of {bytes}"),
            });
        }
        let mut copy = Vec::<B>::new();
        copy.try_reserve_exact(range.len() / size_of::<B>())
            .map_err(|_| Error::OutOfMemory { device: "cpu".into(), bytes: range.len() })?;
        // SAFETY: the range is inside the block, and storage is written in full before it is shared; the vector has room
        // for the range, which is a whole number of elements, and is another allocation; any bits are a `B`.
        unsafe {
            let source = self.as_ptr().add(range.start);
            source.copy_to_nonoverlapping(copy.as_mut_ptr().cast(), range.len());
            copy.set_len(range.len() / size_of::<B>());
        }
        Ok(copy)
    }
}

/// What keeps borrowed host memory alive.
pub(crate) type Owner = Box<dyn Send + Sync>;

/// The memory of a vector that has been given up.
struct Adopted<T> {
    start: NonNull<T>,
    capacity: usize,
}

// SAFETY: it owns the memory and does nothing with it but free it, which any thread may do.
unsafe impl<T: Send> Send for Adopted<T> {}
// SAFETY: a shared reference allows nothing.
unsafe impl<T: Send> Sync for Adopted<T> {}

impl<T> Drop for Adopted<T> {
    fn drop(&mut self) {
        // SAFETY: these are the parts of a vector that has been given up. Elements need not be dropped, so none is
        // counted.
        drop(unsafe { Vec::from_raw_parts(self.start.as_ptr(), 0, self.capacity) });
    }
}

impl Drop for CpuMemory {
    #[inline]
    fn drop(&mut self) {
        if self.owned && self.bytes != 0 {
            // SAFETY: `allocate` acquired the block for this many bytes, and its owner is being dropped.
            unsafe { pool::release(self.start, self.bytes) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_elements_inside_the_block_are_read() {
        let mut memory = CpuMemory::allocate(8).unwrap();
        memory.write(&[1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(memory.read::<u8>(2..5).unwrap(), [3, 4, 5]);
        assert_eq!(memory.read::<u64>(0..8).unwrap().len(), 1);
        assert!(memory.read::<u8>(0..9).is_err());
        assert!(memory.read::<u8>(usize::MAX - 1..usize::MAX).is_err());
        #[expect(clippy::reversed_empty_ranges, reason = "such a range is refused")]
        let reversed = memory.read::<u8>(5..2);
        assert!(reversed.is_err());
        assert!(memory.read::<u32>(0..7).is_err());
    }
}
