//! Aligned host memory.

use std::ops::Range;
use std::ptr::NonNull;

use bytemuck::AnyBitPattern;

use super::pool;
use crate::{Error, Result};

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
    #[cfg(feature = "dlpack")]
    pub(crate) unsafe fn borrowed(start: NonNull<u8>, bytes: usize) -> CpuMemory {
        CpuMemory { start, bytes, owned: false }
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
