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
    /// The block; its address is null if it is empty or has been given up.
    block: Block,
    bytes: usize,
    ownership: Ownership,
}

/// Whether the block is freed on drop or borrowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ownership {
    /// It is freed with this value.
    Owned,
    /// It is somebody else's, who lets it be read.
    LentForReading,
    /// It is somebody else's, who lets it be read and written.
    LentForWriting,
    /// It has gone back to its owner, and nothing may touch it.
    Returned,
}

impl CudaMemory {
    /// A block with undefined contents, allocated in the order of the stream's work.
    ///
    /// Fails with `OutOfMemory` if the device has no room.
    pub(super) fn allocate(stream: &Arc<Stream>, bytes: usize) -> Result<CudaMemory> {
        reclaim::retry();
        let context = stream.context();
        let mut address = 0;
        if bytes != 0 {
            context.bind()?;
            let allocated = if context.has_pools() {
                // SAFETY: the driver writes one address; stream and current context belong together.
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
        // SAFETY: the block was just allocated on this stream and belongs to nobody yet.
        Ok(unsafe { CudaMemory::from_raw(stream, address, bytes, Ownership::Owned) })
    }

    /// Whether the block is freed with this value, and not somebody else's.
    #[cfg(feature = "dlpack")]
    pub(crate) fn is_owned(&self) -> bool {
        self.ownership == Ownership::Owned
    }

    /// A block that comes from elsewhere.
    ///
    /// # Safety
    ///
    /// The block must have so many bytes in the stream's context, all work on it must be in the order
    /// of the stream, and its elements must be initialised before anything else sees them. If it is
    /// owned, it must be allocated as [`CudaMemory::allocate`] would, and nobody else may use or
    /// free it from now on; if it is lent, that holds until [`CudaMemory::give_back`].
    pub(super) unsafe fn from_raw(
        stream: &Arc<Stream>,
        address: CUdeviceptr,
        bytes: usize,
        ownership: Ownership,
    ) -> CudaMemory {
        let block = Block { home: Arc::clone(stream), address, usage: Usage::new(stream) };
        CudaMemory { block, bytes, ownership }
    }

    /// Puts all work on an owned block in the order of its stream, so that it can be given up.
    pub(super) fn before_giving_up(&self) -> Result<()> {
        if self.ownership != Ownership::Owned {
            return Err(not_ours("the memory is somebody else's"));
        }
        self.block.usage.before_write(self.home())
    }

    /// Gives an owned block up to whoever has its address by now.
    pub(super) fn give_up(mut self) {
        self.block.address = 0;
    }

    /// Ends a loan, with all work on the block in the order of its stream.
    pub(super) fn give_back(&mut self) {
        self.ownership = Ownership::Returned;
        let usage = &self.block.usage;
        // The order is all that the owner relies on; if it cannot be had, there is the wait. If
        // that fails too the contexts are broken, and no work goes on in them.
        let _ = usage.before_write(self.home()).or_else(|_| usage.wait());
    }

    /// The stream on which the block will be freed.
    pub(super) fn home(&self) -> &Arc<Stream> {
        &self.block.home
    }

    /// The address of the first byte.
    pub(super) fn address(&self) -> CUdeviceptr {
        self.block.address
    }

    /// Puts a read that is about to be queued on a stream in order. The caller holds the storage's
    /// lock until it is.
    #[inline]
    pub(super) fn before_read(&self, stream: &Arc<Stream>) -> Result<()> {
        if self.ownership == Ownership::Returned {
            return Err(not_ours("the memory was lent, and has gone back to its owner"));
        }
        self.block.usage.before_read(stream)
    }

    /// Puts a write that is about to be queued on a stream in order. The caller holds the storage's
    /// lock, for writing, until it is.
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

    /// Copies bytes of the host to the front of the block.
    pub(crate) fn upload(&mut self, bytes: &[u8]) -> Result<()> {
        let bytes = &bytes[..bytes.len().min(self.bytes)];
        if bytes.is_empty() {
            return Ok(());
        }
        self.before_write(self.home())?;
        self.home().context().bind()?;
        // SAFETY: the block has room for as many bytes as are copied, and `&mut self` keeps every
        // other user away; the bytes stay where they are until the wait below is over.
        let copied = unsafe {
            let source = bytes.as_ptr().cast();
            driver!(cuMemcpyHtoDAsync_v2(self.address(), source, bytes.len(), self.home().raw()))
        };
        // Pageable memory is staged by the driver, but pinned memory is read while the copy runs.
        let waited = self.home().synchronize();
        if waited.is_err() {
            // The bytes are the caller's again when this returns. If this wait fails too the context
            // is broken, and no copy goes on in it.
            let _ = self.home().context().synchronize();
        }
        copied.and(waited)
    }

    /// Sets every byte to zero.
    pub(crate) fn clear(&mut self) -> Result<()> {
        self.before_write(self.home())?;
        self.clear_range(0..self.bytes, self.home())
    }

    /// Sets a range of bytes to zero, on a stream that was put in order for writing.
    pub(super) fn clear_range(&self, range: Range<usize>, stream: &Stream) -> Result<()> {
        debug_assert!(range.end <= self.bytes);
        if range.is_empty() {
            return Ok(());
        }
        self.home().context().bind()?;
        let start = self.address() + range.start as CUdeviceptr;
        // SAFETY: the range lies inside the block, which the caller may write.
        unsafe { driver!(cuMemsetD8Async(start, 0, range.len(), stream.raw())) }
    }

    /// Copies a range of bytes to the host, waiting for the device.
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
        // SAFETY: the range lies inside the block, and the vector has room for it and is
        // kept until the copy is known to be over.
        let copied = unsafe {
            let target = copy.as_mut_ptr().cast();
            driver!(cuMemcpyDtoHAsync_v2(target, start, range.len(), stream.raw()))
        };
        if let Err(error) = stream.synchronize() {
            if stream.context().synchronize().is_err() {
                // Nothing is known of the copy any more; it may still be writing.
                mem::forget(copy);
            }
            return Err(error);
        }
        copied?;
        // SAFETY: both succeeded, so all of the range has been written; any bits are a `B`.
        unsafe { copy.set_len(range.len() / size_of::<B>()) };
        Ok(copy)
    }

    /// Copies a range of bytes of a block on another device to the front of this one.
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
        // SAFETY: both ranges lie inside their blocks, which are in order for this stream: the
        // source's owner will wait for it before writing or freeing.
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
