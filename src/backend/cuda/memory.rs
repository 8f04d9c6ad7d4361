//! Device memory.

use std::mem;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::AnyBitPattern;
use cudarc::driver::sys::{CUdeviceptr, CUresult};

use super::driver::{driver, is_code};
use super::reclaim::{self, Block};
use super::stream::{Stream, Usage};
use crate::{Error, Result};

/// A block of a device's memory.
pub(crate) struct CudaMemory {
    /// The block; its address is 0 if it is empty or its ownership was released.
    block: Block,
    bytes: usize,
    ownership: Ownership,
}

/// Whether the block is freed on drop or borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ownership {
    /// It is freed with this value.
    Owned,
    /// It belongs to someone else and may only be read.
    LentForReading,
    /// It belongs to someone else and may be read and written.
    LentForWriting,
    /// It has been returned to its owner and must not be accessed.
    Returned,
}

impl CudaMemory {
    /// Allocates a block with undefined contents, in stream order where the device has memory pools.
    ///
    /// Fails with `OutOfMemory` if the device is out of memory.
    pub(super) fn allocate(stream: &Arc<Stream>, bytes: usize) -> Result<CudaMemory> {
        reclaim::retry();
        let context = stream.context();
        let mut address = 0;
        if bytes != 0 {
            context.bind()?;
            let allocated = if context.has_pools() {
                // SAFETY: the driver writes one address; the stream belongs to the current context.
                unsafe { driver!(cuMemAllocAsync(&mut address, bytes, stream.raw())) }
            } else {
                // SAFETY: the driver writes one address.
                unsafe { driver!(cuMemAlloc_v2(&mut address, bytes)) }
            };
            allocated.map_err(|error| {
                if is_code(&error, CUresult::CUDA_ERROR_OUT_OF_MEMORY) {
                    Error::OutOfMemory { device: context.to_string(), bytes }
                } else {
                    error
                }
            })?;
        }
        // SAFETY: the block was just allocated on this stream, and nothing else refers to it.
        Ok(unsafe { CudaMemory::from_raw(stream, address, bytes, Ownership::Owned) })
    }

    /// Whether the block is owned by this value rather than borrowed.
    #[cfg(feature = "dlpack")]
    pub(crate) fn is_owned(&self) -> bool {
        self.ownership == Ownership::Owned
    }

    /// Wraps a block that was allocated elsewhere.
    ///
    /// # Safety
    ///
    /// `address` must be the start of `bytes` bytes in the stream's context, or `bytes` must be 0. All earlier work on
    /// the block must be ordered before later work on the stream, and its elements must be initialised before they are
    /// read. If the block is owned, it must have been allocated as [`CudaMemory::allocate`] does it, and nothing else
    /// may use or free it from now on. If it is lent, then until [`CudaMemory::return_to_owner`] or, without that call,
    /// until the value is dropped and the work on it is done, nothing else may free it, write it while work of this
    /// crate uses it, or use it while such work writes it.
    pub(super) unsafe fn from_raw(
        stream: &Arc<Stream>,
        address: CUdeviceptr,
        bytes: usize,
        ownership: Ownership,
    ) -> CudaMemory {
        let block = Block { home: Arc::clone(stream), address, usage: Usage::new(stream) };
        CudaMemory { block, bytes, ownership }
    }

    /// Orders all work on an owned block before later work on its home stream, so that ownership can be released.
    pub(super) fn order_before_release(&self) -> Result<()> {
        if self.ownership != Ownership::Owned {
            return Err(not_ours("the memory is somebody else's"));
        }
        self.block.usage.before_write(self.home())
    }

    /// Releases ownership of the block without freeing it. Its new owner has already taken the address.
    pub(super) fn release_ownership(mut self) {
        self.block.address = 0;
    }

    /// Ends a loan: orders all work on the block before later work on its home stream.
    pub(super) fn return_to_owner(&mut self) {
        self.ownership = Ownership::Returned;
        let usage = &self.block.usage;
        // The owner relies on this order; if it cannot be established by events, wait for the work. If that fails too,
        // the contexts are broken and no work continues in them.
        let _ = usage.before_write(self.home()).or_else(|_| usage.wait());
    }

    /// Returns the stream on which the block was allocated and is freed.
    pub(super) fn home(&self) -> &Arc<Stream> {
        &self.block.home
    }

    /// Returns the address of the first byte.
    pub(super) fn address(&self) -> CUdeviceptr {
        self.block.address
    }

    /// Makes a read that is about to be queued on a stream wait for the last write. The caller must hold the storage's
    /// lock until the read is queued.
    #[inline]
    pub(super) fn before_read(&self, stream: &Arc<Stream>) -> Result<()> {
        if self.ownership == Ownership::Returned {
            return Err(not_ours("the memory was lent, and has gone back to its owner"));
        }
        self.block.usage.before_read(stream)
    }

    /// Makes a write that is about to be queued on a stream wait for all earlier work on the block. The caller must
    /// hold the storage's lock for writing until the write is queued.
    #[inline]
    pub(super) fn before_write(&self, stream: &Arc<Stream>) -> Result<()> {
        match self.ownership {
            Ownership::Owned | Ownership::LentForWriting => self.block.usage.before_write(stream),
            Ownership::LentForReading => Err(not_ours("the memory was lent for reading only")),
            Ownership::Returned => {
                Err(not_ours("the memory was lent, and has gone back to its owner"))
            }
        }
    }

    /// Copies bytes from the host to the start of the block, and waits for the copy.
    pub(crate) fn upload(&mut self, bytes: &[u8]) -> Result<()> {
        let bytes = &bytes[..bytes.len().min(self.bytes)];
        if bytes.is_empty() {
            return Ok(());
        }
        self.before_write(self.home())?;
        self.home().context().bind()?;
        // SAFETY: the block has room for the bytes copied, `&mut self` excludes every other user, and the source stays
        // borrowed until the wait below has finished.
        let copied = unsafe {
            let source = bytes.as_ptr().cast();
            driver!(cuMemcpyHtoDAsync_v2(self.address(), source, bytes.len(), self.home().raw()))
        };
        // The driver stages pageable memory before it returns, but reads pinned memory while the copy runs.
        let waited = self.home().synchronize();
        if waited.is_err() {
            // The caller may reuse the bytes when this function returns, so the copy must have stopped by then. If this
            // wait fails too, the context is broken and no copy continues in it.
            let _ = self.home().context().synchronize();
        }
        copied.and(waited)
    }

    /// Sets every byte to zero.
    pub(crate) fn clear(&mut self) -> Result<()> {
        self.before_write(self.home())?;
        self.clear_range(0..self.bytes, self.home())
    }

    /// Sets a range of bytes to zero, on a stream that was passed to [`CudaMemory::before_write`].
    pub(super) fn clear_range(&self, range: Range<usize>, stream: &Stream) -> Result<()> {
        debug_assert!(range.end <= self.bytes);
        if range.is_empty() {
            return Ok(());
        }
        self.home().context().bind()?;
        let start = self.address() + range.start as CUdeviceptr;
        // SAFETY: the range lies inside the block, which the caller may write on this stream.
        unsafe { driver!(cuMemsetD8Async(start, 0, range.len(), stream.raw())) }
    }

    /// Copies a range of bytes to the host, and waits for the copy.
    pub(crate) fn download<B: AnyBitPattern>(&self, range: Range<usize>) -> Result<Vec<B>> {
        debug_assert!(range.end <= self.bytes && range.len().is_multiple_of(size_of::<B>()));
        let mut copy = Vec::<B>::new();
        copy.try_reserve_exact(range.len() / size_of::<B>())
            .map_err(|_| Error::OutOfMemory { device: "host".into(), bytes: range.len() })?;
        if range.is_empty() {
            return Ok(copy);
        }
        let stream = self.block.usage.writer();
        self.before_read(&stream)?;
        self.home().context().bind()?;
        let start = self.address() + range.start as CUdeviceptr;
        // SAFETY: the range lies inside the block, and the vector has capacity for it and is not freed until the copy
        // is known to have finished.
        let copied = unsafe {
            let target = copy.as_mut_ptr().cast();
            driver!(cuMemcpyDtoHAsync_v2(target, start, range.len(), stream.raw()))
        };
        if let Err(error) = stream.synchronize() {
            if stream.context().synchronize().is_err() {
                // The copy may still be writing to the vector, which is therefore leaked.
                mem::forget(copy);
            }
            return Err(error);
        }
        copied?;
        // SAFETY: the copy and the wait succeeded, so the whole range has been written; any bit pattern is a valid `B`.
        unsafe { copy.set_len(range.len() / size_of::<B>()) };
        Ok(copy)
    }

    /// Copies a range of bytes of a block on another device to the start of this one.
    pub(crate) fn copy_from_peer(
        &mut self,
        source: &CudaMemory,
        range: Range<usize>,
    ) -> Result<()> {
        debug_assert!(range.end <= source.bytes && range.len() <= self.bytes);
        if range.is_empty() {
            return Ok(());
        }
        source.before_read(self.home())?;
        self.before_write(self.home())?;
        self.home().context().bind()?;
        let start = source.address() + range.start as CUdeviceptr;
        // SAFETY: both ranges lie inside their blocks, whose earlier work this stream waits for. The stream is recorded
        // as a reader of the source, so writing to the source or freeing it will wait for the copy.
        unsafe {
            driver!(cuMemcpyPeerAsync(
                self.address(),
                self.home().context().raw(),
                start,
                source.home().context().raw(),
                range.len(),
                self.home().raw(),
            ))
        }
    }
}

#[cold]
fn not_ours(reason: &str) -> Error {
    Error::InvalidArgument { op: "cuda", reason: reason.into() }
}

impl Drop for CudaMemory {
    fn drop(&mut self) {
        if self.block.address != 0 && self.ownership == Ownership::Owned {
            self.block.free();
        }
    }
}
