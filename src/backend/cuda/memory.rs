//! Device memory.

use std::mem;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::AnyBitPattern;
use cudarc::driver::sys::{CUdeviceptr, CUresult};

use super::driver::{driver, is_code};
use super::stream::{Lane, Usage};
use super::trace::trace_warning;
use crate::{Error, Result};

/// A block of a device's memory.
pub(crate) struct CudaMemory {
    /// The lane on which the block was allocated and will be freed.
    home: Arc<Lane>,
    /// Null for an empty block.
    address: CUdeviceptr,
    bytes: usize,
    usage: Usage,
    tenure: Tenure,
}

/// On what terms the block is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tenure {
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
    /// A block with undefined contents, allocated in the order of the lane's work.
    pub(super) fn allocate(lane: &Arc<Lane>, bytes: usize) -> Result<CudaMemory> {
        let context = lane.context();
        let mut address = 0;
        if bytes != 0 {
            context.bind()?;
            let allocated = if context.has_pools() {
                // SAFETY: the driver writes one address; stream and current context belong together.
                unsafe { driver!(cuMemAllocAsync(&mut address, bytes, lane.raw())) }
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
        // SAFETY: the block was just allocated on this lane and belongs to nobody yet.
        Ok(unsafe { CudaMemory::from_raw(lane, address, bytes, Tenure::Owned) })
    }

    /// A block that comes from elsewhere.
    ///
    /// # Safety
    ///
    /// The block must have so many bytes in the lane's context, all work on it must be in the order
    /// of the lane, and its elements must be initialised before anything else sees them. If it is
    /// owned, it must be allocated as [`CudaMemory::allocate`] would, and nobody else may use or
    /// free it from now on; if it is lent, that holds until [`CudaMemory::give_back`].
    pub(super) unsafe fn from_raw(
        lane: &Arc<Lane>,
        address: CUdeviceptr,
        bytes: usize,
        tenure: Tenure,
    ) -> CudaMemory {
        CudaMemory { home: Arc::clone(lane), address, bytes, usage: Usage::new(lane), tenure }
    }

    /// Gives an owned block up, with all work on it in the order of its lane.
    pub(super) fn into_raw(mut self) -> Result<(Arc<Lane>, CUdeviceptr)> {
        if self.tenure != Tenure::Owned {
            return Err(not_ours("the memory is somebody else's"));
        }
        self.usage.before_write(&self.home)?;
        Ok((Arc::clone(&self.home), mem::take(&mut self.address)))
    }

    /// Ends a loan, with all work on the block in the order of its lane.
    pub(super) fn give_back(&mut self) {
        self.tenure = Tenure::Returned;
        if self.usage.before_write(&self.home).is_err() {
            // The order is all that the owner relies on; if it cannot be had, there is the wait. If
            // that fails too the context is broken, and no work goes on in it.
            let _ = self.home.context().synchronize();
        }
    }

    /// The lane on which the block will be freed.
    pub(super) fn home(&self) -> &Arc<Lane> {
        &self.home
    }

    /// The address of the first byte.
    pub(super) fn address(&self) -> CUdeviceptr {
        self.address
    }

    /// Puts a read that is about to be queued on a lane in order. The caller holds the storage's
    /// lock until it is.
    #[inline]
    pub(super) fn before_read(&self, lane: &Arc<Lane>) -> Result<()> {
        if self.tenure == Tenure::Returned {
            return Err(not_ours("the memory was lent, and has gone back to its owner"));
        }
        self.usage.before_read(lane)
    }

    /// Puts a write that is about to be queued on a lane in order. The caller holds the storage's
    /// lock, for writing, until it is.
    #[inline]
    pub(super) fn before_write(&self, lane: &Arc<Lane>) -> Result<()> {
        match self.tenure {
            Tenure::Owned | Tenure::LentForWriting => self.usage.before_write(lane),
            Tenure::LentForReading => Err(not_ours("the memory was lent for reading only")),
            Tenure::Returned => {
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
        self.before_write(&self.home)?;
        self.home.context().bind()?;
        // SAFETY: the block has room for as many bytes as are copied, and `&mut self` keeps every
        // other user away; the bytes stay where they are until the wait below is over.
        let copied = unsafe {
            let source = bytes.as_ptr().cast();
            driver!(cuMemcpyHtoDAsync_v2(self.address, source, bytes.len(), self.home.raw()))
        };
        // Pageable memory is staged by the driver, but pinned memory is read while the copy runs.
        copied.and(self.home.synchronize())
    }

    /// Sets every byte to zero.
    pub(crate) fn clear(&mut self) -> Result<()> {
        self.before_write(&self.home)?;
        self.clear_range(0..self.bytes, &Arc::clone(&self.home))
    }

    /// Sets a range of bytes to zero, on a lane that was put in order for writing.
    pub(super) fn clear_range(&self, range: Range<usize>, lane: &Lane) -> Result<()> {
        debug_assert!(range.end <= self.bytes);
        if range.is_empty() {
            return Ok(());
        }
        self.home.context().bind()?;
        let start = self.address + range.start as CUdeviceptr;
        // SAFETY: the range lies inside the block, which the caller may write.
        unsafe { driver!(cuMemsetD8Async(start, 0, range.len(), lane.raw())) }
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
        let lane = self.usage.writer();
        self.before_read(&lane)?;
        self.home.context().bind()?;
        let start = self.address + range.start as CUdeviceptr;
        // SAFETY: the range lies inside the block, and the vector has room for it and is
        // kept until the copy is known to be over.
        let copied = unsafe {
            let target = copy.as_mut_ptr().cast();
            driver!(cuMemcpyDtoHAsync_v2(target, start, range.len(), lane.raw()))
        };
        if let Err(error) = lane.synchronize() {
            // Nothing is known of the copy any more; it may still be writing.
            mem::forget(copy);
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
        source.before_read(&self.home)?;
        self.before_write(&self.home)?;
        self.home.context().bind()?;
        let start = source.address + range.start as CUdeviceptr;
        // SAFETY: both ranges lie inside their blocks, which are in order for this lane: the
        // source's owner will wait for it before writing or freeing.
        unsafe {
            driver!(cuMemcpyPeerAsync(
                self.address,
                self.home.context().raw(),
                start,
                source.home.context().raw(),
                range.len(),
                self.home.raw(),
            ))
        }
    }

    fn free(&mut self) -> Result<()> {
        self.usage.before_write(&self.home)?;
        self.home.context().bind()?;
        if self.home.context().has_pools() {
            // SAFETY: the block was allocated from a pool and is freed once, after all work on it.
            return unsafe { driver!(cuMemFreeAsync(self.address, self.home.raw())) };
        }
        let waited = self.home.synchronize();
        // SAFETY: the block was allocated without a pool and is freed once. If the wait failed the
        // context is broken, and no work on the block goes on in it.
        waited.and(unsafe { driver!(cuMemFree_v2(self.address)) })
    }
}

#[cold]
fn not_ours(reason: &str) -> Error {
    Error::InvalidArgument { op: "cuda", reason: reason.into() }
}

impl Drop for CudaMemory {
    fn drop(&mut self) {
        if self.address != 0
            && self.tenure == Tenure::Owned
            && let Err(error) = self.free()
        {
            // A fault of the device stays with its context: the next call reports it.
            trace_warning!(%error, "memory was not freed");
            let _ = error;
        }
    }
}
