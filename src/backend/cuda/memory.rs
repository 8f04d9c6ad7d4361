//! Device memory.

use std::mem;
use std::ops::Range;
use std::sync::Arc;

use bytemuck::AnyBitPattern;
use cudarc::driver::sys::CUdeviceptr;

use super::driver::driver;
use super::graph;
use super::pool::Piece;
use super::reclaim::{self, Block, Owner};
use super::stream::Stream;
use super::usage::Usage;
use crate::exclusive::Exclusive;
use crate::{Error, Result};

/// The size from which a copy to the host goes through pinned memory, in parts.
const STAGED: usize = 1 << 20;

/// A block of a device's memory.
pub(crate) struct CudaMemory {
    /// The block; its address is 0 if it is empty or its ownership was released.
    block: Block,
    bytes: usize,
    ownership: Ownership,
    /// Keeps borrowed memory alive until the work on it is done; none if whoever borrowed it answers for that.
    owner: Option<Owner>,
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
        stream.check_reach()?;
        if let Some((side, captured)) = graph::streams_for_allocation(stream) {
            return CudaMemory::allocate_for_graph(&side, &captured, bytes);
        }
        CudaMemory::allocate_on(stream, bytes)
    }

    /// Allocates a block that is used on a stream which is being captured. It is allocated on another one, since what is
    /// allocated on the captured one exists only while the graph runs.
    #[cold]
    fn allocate_for_graph(
        side: &Arc<Stream>,
        captured: &Arc<Stream>,
        bytes: usize,
    ) -> Result<CudaMemory> {
        let mut memory = CudaMemory::allocate_on(side, bytes)?;
        side.synchronize()?;
        memory.block.home = Arc::clone(captured);
        memory.block.usage = Usage::new(captured);
        Ok(memory)
    }

    fn allocate_on(stream: &Arc<Stream>, bytes: usize) -> Result<CudaMemory> {
        let context = stream.context();
        let mut piece = Piece::default();
        if bytes != 0 {
            let _bound = context.bind()?;
            piece = context.with_room(bytes, || context.pool().allocate(stream, bytes))?;
        }
        let block = Block { home: Arc::clone(stream), piece, usage: Usage::new(stream) };
        Ok(CudaMemory { block, bytes, ownership: Ownership::Owned, owner: None })
    }

    /// Whether the block lives as long as this value: it is owned, or its owner is.
    #[cfg(feature = "dlpack")]
    pub(crate) fn is_kept_alive(&self) -> bool {
        self.ownership == Ownership::Owned || self.owner.is_some()
    }

    /// Keeps the owner of a borrowed block until the value is dropped and the work on the block is done.
    #[cfg(feature = "dlpack")]
    pub(super) fn owned_by(mut self, owner: Owner) -> CudaMemory {
        self.owner = Some(owner);
        self
    }

    /// Wraps a block that was allocated elsewhere.
    ///
    /// # Safety
    ///
    /// `address` must be the start of `bytes` bytes in the stream's context, or `bytes` must be 0. It must be a multiple of
    /// the size of the elements (for complex numbers that of both parts together), because kernels load an element at
    /// once. All earlier work on the block must be ordered before later work on the stream, and its elements must be
    /// initialised before they are read. If the block is owned, it must have been allocated as [`CudaMemory::allocate`] does it, and nothing else
    /// may use or free it from now on. If it is lent, then until [`CudaMemory::return_to_owner`] or, without that call,
    /// until the value is dropped and the work on it is done, nothing else may free it, write it while work of this
    /// crate uses it, or use it while such work writes it.
    pub(super) unsafe fn from_raw(
        stream: &Arc<Stream>,
        address: CUdeviceptr,
        bytes: usize,
        ownership: Ownership,
    ) -> CudaMemory {
        let (home, usage) = (Arc::clone(stream), Usage::new(stream));
        let piece = Piece { address, ..Piece::default() };
        let block = Block { home, piece, usage };
        CudaMemory { block, bytes, ownership, owner: None }
    }

    /// Orders all work on an owned block before later work on its home stream, so that ownership can be released.
    pub(super) fn order_before_release(&mut self) -> Result<()> {
        if self.ownership != Ownership::Owned {
            return Err(not_ours("the memory is somebody else's"));
        }
        self.home().check_reach()?;
        let Block { home, usage, .. } = &mut self.block;
        Usage::before_write(Exclusive::new(usage), home)
    }

    /// Releases ownership of the block without freeing it. Its new owner has already taken the address.
    pub(super) fn release_ownership(mut self) {
        let piece = mem::take(&mut self.block.piece);
        self.home().context().pool().forget(piece);
    }

    /// Ends a loan: orders all work on the block before later work on its home stream, or waits for it. On an error some
    /// of it may be unfinished.
    pub(super) fn return_to_owner(&mut self) -> Result<()> {
        self.ownership = Ownership::Returned;
        let Block { home, usage, .. } = &mut self.block;
        Usage::settle(Exclusive::new(usage), home)
    }

    /// Returns the stream on which the block was allocated and is freed.
    pub(super) fn home(&self) -> &Arc<Stream> {
        &self.block.home
    }

    /// Returns the address of the first byte.
    pub(crate) fn address(&self) -> CUdeviceptr {
        self.block.piece.address
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

    /// Makes a write that is about to be queued on a stream wait for all earlier work on the block. The caller must keep
    /// its exclusive use of the block until the write is queued.
    #[inline]
    pub(super) fn before_write(
        this: Exclusive<'_, CudaMemory>,
        stream: &Arc<Stream>,
    ) -> Result<()> {
        stream.check_reach()?;
        match this.get().ownership {
            Ownership::Owned | Ownership::LentForWriting => {
                Usage::before_write(this.part(|memory| &memory.block.usage), stream)
            }
            Ownership::LentForReading => Err(not_ours("the memory was lent for reading only")),
            Ownership::Returned => {
                Err(not_ours("the memory was lent, and has gone back to its owner"))
            }
        }
    }

    /// Makes a write that is about to be queued on the home stream wait for all earlier work on the block.
    fn before_write_at_home(&mut self) -> Result<()> {
        let home = Arc::clone(self.home());
        CudaMemory::before_write(Exclusive::new(self), &home)
    }

    /// Returns the stream on which the block was last written.
    pub(super) fn writer(&self) -> Arc<Stream> {
        self.block.usage.writer()
    }

    /// Fails if a range reaches beyond the block.
    #[inline]
    pub(super) fn check_range(&self, range: &Range<usize>) -> Result<()> {
        if range.start <= range.end && range.end <= self.bytes {
            return Ok(());
        }
        let reason = format!("bytes {range:?} of a block of {} bytes", self.bytes);
        Err(Error::OutOfBounds { op: "cuda", reason })
    }

    /// Copies bytes from the host to the start of the block, in the order of its home stream. The bytes may change when this
    /// returns.
    pub(crate) fn upload(&mut self, bytes: &[u8]) -> Result<()> {
        self.check_range(&(0..bytes.len()))?;
        if bytes.is_empty() {
            return Ok(());
        }
        graph::forbid("a copy from the host")?;
        self.before_write_at_home()?;
        let _bound = self.home().context().bind()?;
        // A captured copy would read the bytes whenever the graph is launched.
        self.home().check_not_captured()?;
        let (home, staging) = (self.home(), self.home().context().staging());
        // SAFETY: `check_range` has shown that the block has room for the bytes, `&mut self` excludes every other user of
        // the block, and later work on it waits for its home stream, whose context is current.
        if unsafe { staging.upload(self.address(), bytes, home) }? {
            return Ok(());
        }
        // SAFETY: as above. The source stays borrowed until the wait below has succeeded. If it does not succeed, this
        // returns an error: the driver has staged pageable memory before it returned, and of pinned memory a copy that is
        // still queued reads whatever is there, into a block that nobody can have seen yet and that is freed after it.
        let copied = unsafe {
            let source = bytes.as_ptr().cast();
            driver!(cuMemcpyHtoDAsync_v2(self.address(), source, bytes.len(), self.home().raw()))
        };
        // A wait also reports errors of earlier work; the second one tells whether the copy is done.
        let waited = self.home().synchronize();
        if waited.is_err() {
            let _ = self.home().synchronize();
        }
        copied.and(waited)
    }

    /// Sets every byte to zero.
    pub(crate) fn clear(&mut self) -> Result<()> {
        if self.bytes == 0 {
            return Ok(());
        }
        graph::forbid("a new tensor of zeros")?;
        self.before_write_at_home()?;
        let _bound = self.home().context().bind()?;
        // SAFETY: the block has this many bytes, `&mut self` excludes every other user of it, and its home stream waits
        // for all earlier work on it.
        unsafe { driver!(cuMemsetD8Async(self.address(), 0, self.bytes, self.home().raw())) }
    }

    /// Copies a range of bytes to the host, and waits for the copy.
    pub(crate) fn download<B: AnyBitPattern>(&self, range: Range<usize>) -> Result<Vec<B>> {
        self.check_range(&range)?;
        let count = range.len() / size_of::<B>();
        // What is left over is not read: the vector has no room for it.
        let range = range.start..range.start + count * size_of::<B>();
        let mut copy = Vec::<B>::new();
        copy.try_reserve_exact(count)
            .map_err(|_| Error::OutOfMemory { device: "host".into(), bytes: range.len() })?;
        if range.is_empty() {
            return Ok(copy);
        }
        graph::forbid("a copy to the host")?;
        let stream = self.writer();
        stream.check_reach()?;
        self.before_read(&stream)?;
        let _bound = stream.context().bind()?;
        stream.check_not_captured()?;
        let start = self.address() + range.start as CUdeviceptr;
        if range.len() >= STAGED {
            let staging = stream.context().staging();
            let target = copy.as_mut_ptr().cast();
            // SAFETY: `check_range` has shown that the range lies inside the block, whose last write the stream waits for,
            // and the vector has capacity for it. The stream's context is current.
            if unsafe { staging.download(target, start, range.len(), &stream) }? {
                // SAFETY: the whole range has been written; any bit pattern is a valid `B`.
                unsafe { copy.set_len(count) };
                return Ok(copy);
            }
        }
        // SAFETY: `check_range` has shown that the range lies inside the block. The vector has capacity for it, and is not
        // freed until a wait for the copy has succeeded. The stream's context is current.
        let copied = unsafe {
            let target = copy.as_mut_ptr().cast();
            driver!(cuMemcpyDtoHAsync_v2(target, start, range.len(), stream.raw()))
        };
        if let Err(error) = stream.synchronize() {
            // A wait also reports errors of earlier work; the second one tells whether the copy is done.
            if stream.synchronize().is_err() {
                // The copy may still be writing to the vector, which is therefore leaked.
                mem::forget(copy);
            }
            return Err(error);
        }
        copied?;
        // SAFETY: the copy and the wait succeeded, so the whole range has been written; any bit pattern is a valid `B`.
        unsafe { copy.set_len(count) };
        Ok(copy)
    }

    /// Copies a range of bytes of a block on another device to the start of this one.
    pub(crate) fn copy_from_peer(
        &mut self,
        source: &CudaMemory,
        range: Range<usize>,
    ) -> Result<()> {
        source.check_range(&range)?;
        self.check_range(&(0..range.len()))?;
        if range.is_empty() {
            return Ok(());
        }
        graph::forbid("a copy between devices")?;
        source.home().context().share_with(self.home().context());
        source.before_read(self.home())?;
        self.before_write_at_home()?;
        let _bound = self.home().context().bind()?;
        let start = source.address() + range.start as CUdeviceptr;
        // SAFETY: `check_range` has shown that both ranges lie inside their blocks, whose earlier work this stream waits for. The stream is recorded
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
        if graph::keeps_freed() && self.block.piece.address != 0 {
            let (bytes, ownership, owner) = (self.bytes, self.ownership, self.owner.take());
            return graph::keep(CudaMemory { block: self.block.take(), bytes, ownership, owner });
        }
        if let Some(owner) = self.owner.take() {
            self.block.return_to(owner);
        } else if self.block.piece.address != 0 && self.ownership == Ownership::Owned {
            self.block.free();
        }
    }
}
