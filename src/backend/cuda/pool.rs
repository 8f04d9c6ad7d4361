//! Where a device's memory comes from: a memory pool of the driver's that belongs to this crate or, on devices without
//! such pools (some virtual GPUs), blocks that are kept for reuse.
//!
//! The process's default pool is left alone, so that settings of this crate do not affect other libraries.

use std::collections::HashMap;
use std::ffi::c_int;
use std::mem;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::{CUdevice, CUdeviceptr, CUmemPool_attribute, CUmemoryPool};

use super::capture::Relaxed;
use super::driver::driver;
use super::stream::Stream;
use super::trace::trace_warning;
use crate::Result;

/// The memory of a context.
pub(super) enum Pool {
    /// A pool of the driver's.
    Driver {
        raw: CUmemoryPool,
        /// Whether it was created here, and is destroyed with this value.
        owned: bool,
    },
    /// Blocks of a device without pools.
    Blocks(Mutex<Blocks>),
}

// SAFETY: a pool is a driver handle, which may be used on any thread.
unsafe impl Send for Pool {}
// SAFETY: as above; driver calls are thread-safe.
unsafe impl Sync for Pool {}

/// The contents of a pool, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Statistics {
    pub(crate) limit: usize,
    pub(crate) used_bytes: usize,
    pub(crate) peak_bytes: usize,
    pub(crate) kept_bytes: usize,
}

/// Blocks that are kept after they were freed. A block goes to the next allocation of its size on the stream on which it was
/// freed, which needs no wait: the stream's work is in order.
#[derive(Default)]
pub(super) struct Blocks {
    /// The free blocks by the stream on which they were freed and their size. Those without a stream may go to any: the
    /// work on them is done.
    free: HashMap<(Option<usize>, usize), Vec<CUdeviceptr>>,
    /// Blocks of streams that are gone and could not be waited for.
    stuck: Vec<(CUdeviceptr, usize)>,
    statistics: Statistics,
}

/// Memory from a pool.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Piece {
    pub(super) address: CUdeviceptr,
    /// The size of the block in a pool of [`Blocks`]; 0 for memory from elsewhere.
    pub(super) size: usize,
    /// Whether it was allocated on a stream that was being captured, so that it belongs to a graph.
    pub(super) is_of_graph: bool,
}

impl Piece {
    /// A block of [`Blocks`], which never belong to a graph.
    fn idle(address: CUdeviceptr, size: usize) -> Piece {
        Piece { address, size, is_of_graph: false }
    }
}

/// `CUmemPoolProps`, whose later fields, all reserved or optional, are zero.
#[repr(C)]
struct Properties {
    allocation_type: c_int,
    handle_types: c_int,
    location_type: c_int,
    device: c_int,
    rest: [u64; 9],
}

impl Pool {
    /// Creates the pool of a device. It keeps all memory that is freed, which the driver's default pool returns to the
    /// system at every wait. That one is used if the driver creates no other, and is left as it is: it belongs to the process.
    pub(super) fn new(device: CUdevice, has_pools: bool) -> Result<Pool> {
        if !has_pools {
            let statistics = Statistics { limit: usize::MAX, ..Statistics::default() };
            return Ok(Pool::Blocks(Mutex::new(Blocks { statistics, ..Blocks::default() })));
        }
        // CU_MEM_ALLOCATION_TYPE_PINNED, which all memory of a device is, and CU_MEM_LOCATION_TYPE_DEVICE.
        let (allocation_type, location_type) = (1, 1);
        let properties =
            Properties { allocation_type, handle_types: 0, location_type, device, rest: [0; 9] };
        let (mut raw, properties) = (ptr::null_mut(), (&raw const properties).cast());
        // SAFETY: the structure is that of the driver API, whose 88 bytes are initialised; the driver writes one handle.
        let pool = match unsafe { driver!(cuMemPoolCreate(&mut raw, properties)) } {
            Ok(()) => Pool::Driver { raw, owned: true },
            Err(error) => {
                trace_warning!(%error, "no pool could be created, the default one is used");
                let _ = error;
                // SAFETY: the driver writes one handle.
                unsafe { driver!(cuDeviceGetDefaultMemPool(&mut raw, device)) }?;
                return Ok(Pool::Driver { raw, owned: false });
            }
        };
        if let Err(error) = pool.set_limit(usize::MAX) {
            trace_warning!(%error, "the pool's release threshold could not be set");
            let _ = error;
        }
        Ok(pool)
    }

    /// Whether there are blocks of streams that are gone and could not be waited for.
    pub(super) fn has_stuck(&self) -> bool {
        match self {
            Pool::Driver { .. } => false,
            Pool::Blocks(blocks) => !lock(blocks).stuck.is_empty(),
        }
    }

    /// Allocates memory with undefined contents for use on a stream. The stream's context must be current.
    #[inline]
    pub(super) fn allocate(&self, stream: &Stream, bytes: usize) -> Result<Piece> {
        match self {
            Pool::Driver { raw, .. } => {
                let is_of_graph = stream.is_captured_here()?;
                let mut address = 0;
                // SAFETY: the driver writes one address; the stream belongs to the current context, and the pool to its
                // device.
                unsafe {
                    driver!(cuMemAllocFromPoolAsync(&mut address, bytes, *raw, stream.raw()))
                }?;
                Ok(Piece { address, size: 0, is_of_graph })
            }
            Pool::Blocks(blocks) => allocate_block(blocks, stream, bytes),
        }
    }

    /// Frees memory that was allocated here or as cudarc does it. All work on it must be done or come before later work on
    /// the stream, whose context must be current. On an error the memory is still allocated.
    pub(super) fn free(&self, stream: &Stream, piece: Piece) -> Result<()> {
        let Pool::Blocks(blocks) = self else {
            // A graph can free what it has allocated, and nothing else.
            if !piece.is_of_graph {
                stream.check_not_captured()?;
            }
            // SAFETY: the memory was allocated from a pool and is freed once, ordered after all work on it.
            return unsafe { driver!(cuMemFreeAsync(piece.address, stream.raw())) };
        };
        // A captured stream runs its work later, and more than once.
        stream.check_not_captured()?;
        let is_kept = {
            let mut blocks = lock(blocks);
            let kept = blocks.statistics.kept_bytes.saturating_add(piece.size);
            piece.size != 0 && kept <= blocks.statistics.limit && {
                blocks.keep(Some(stream.key()), piece);
                true
            }
        };
        if is_kept {
            return Ok(());
        }
        stream.synchronize()?;
        free_block(piece.address)?;
        self.forget(piece);
        Ok(())
    }

    /// Stops counting memory as used, because it has another owner.
    pub(super) fn forget(&self, piece: Piece) {
        if let Pool::Blocks(blocks) = self {
            let used = &mut lock(blocks).statistics.used_bytes;
            *used = used.saturating_sub(piece.size);
        }
    }

    /// Makes the blocks of a stream that is about to be destroyed available to others.
    pub(super) fn retire(&self, stream: &Stream) {
        let Pool::Blocks(blocks) = self else { return };
        let own = Some(stream.key());
        if !lock(blocks).free.keys().any(|(stream, _)| *stream == own) {
            return;
        }
        let is_done = stream.synchronize().or_else(|_| stream.synchronize()).is_ok();
        let mut blocks = lock(blocks);
        let keys: Vec<_> = blocks.free.keys().filter(|key| key.0 == own).copied().collect();
        for key in keys {
            let addresses = blocks.free.remove(&key).unwrap_or_default();
            if is_done {
                blocks.free.entry((None, key.1)).or_default().extend(addresses);
            } else {
                blocks.stuck.extend(addresses.into_iter().map(|address| (address, key.1)));
            }
        }
    }

    /// Returns memory that is not in use to the driver, until at most `keep` bytes are left. The work on the streams at
    /// `done` is over, and if `all`, that of the whole context; the context must be current, and the thread [`Relaxed`].
    pub(super) fn trim(&self, keep: usize, done: &[usize], all: bool) -> Result<()> {
        let blocks = match self {
            // SAFETY: the pool is alive.
            Pool::Driver { raw, .. } => return unsafe { driver!(cuMemPoolTrimTo(*raw, keep)) },
            Pool::Blocks(blocks) => blocks,
        };
        let mut taken = Vec::new();
        {
            let mut blocks = lock(blocks);
            if all {
                let stuck = mem::take(&mut blocks.stuck);
                taken.extend(stuck.into_iter().map(|(address, size)| Piece::idle(address, size)));
            }
            let mut left = blocks.statistics.kept_bytes;
            for ((stream, size), addresses) in &mut blocks.free {
                if stream.is_none_or(|stream| done.contains(&stream)) {
                    while left > keep
                        && let Some(address) = addresses.pop()
                    {
                        left -= size;
                        taken.push(Piece::idle(address, *size));
                    }
                }
            }
            blocks.free.retain(|_, addresses| !addresses.is_empty());
        }
        let mut outcome = Ok(());
        for piece in taken {
            let freed = free_block(piece.address);
            let mut blocks = lock(blocks);
            blocks.statistics.kept_bytes -= piece.size;
            if freed.is_err() {
                // The work on it is over, so that it can go to any stream.
                blocks.statistics.used_bytes += piece.size;
                blocks.keep(None, piece);
            }
            outcome = outcome.and(freed);
        }
        outcome
    }

    /// Sets how many bytes are kept at most.
    pub(super) fn set_limit(&self, bytes: usize) -> Result<()> {
        match self {
            Pool::Driver { raw, .. } => {
                let mut threshold = if bytes == usize::MAX { u64::MAX } else { bytes as u64 };
                let attribute = CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD as u32;
                let value = (&raw mut threshold).cast();
                // SAFETY: the pool is alive, and the driver reads the 64 bits that this attribute has.
                unsafe { driver!(cuMemPoolSetAttribute(*raw, attribute, value)) }
            }
            Pool::Blocks(blocks) => {
                lock(blocks).statistics.limit = bytes;
                Ok(())
            }
        }
    }

    pub(super) fn statistics(&self) -> Result<Statistics> {
        let raw = match self {
            Pool::Driver { raw, .. } => *raw,
            Pool::Blocks(blocks) => return Ok(lock(blocks).statistics),
        };
        let read = |attribute: CUmemPool_attribute| {
            let mut value = 0u64;
            let to = (&raw mut value).cast();
            // SAFETY: the pool is alive, and the driver writes the 64 bits that these attributes have.
            unsafe { driver!(cuMemPoolGetAttribute(raw, attribute as u32, to)) }?;
            Ok(usize::try_from(value).unwrap_or(usize::MAX))
        };
        let used_bytes = read(CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)?;
        let reserved = read(CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)?;
        Ok(Statistics {
            limit: read(CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)?,
            used_bytes,
            peak_bytes: read(CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH)?,
            kept_bytes: reserved.saturating_sub(used_bytes),
        })
    }

    /// Lets another device use memory of a pool of the driver's.
    pub(super) fn share_with(&self, device: CUdevice) -> Result<()> {
        let Pool::Driver { raw, .. } = self else { return Ok(()) };
        // `CUmemAccessDesc`: CU_MEM_LOCATION_TYPE_DEVICE, the device, and CU_MEM_ACCESS_FLAGS_PROT_READWRITE.
        let access: [c_int; 3] = [1, device, 3];
        // SAFETY: the pool is alive, and the driver reads one description of three ints.
        unsafe { driver!(cuMemPoolSetAccess(*raw, access.as_ptr().cast(), 1)) }
    }

    /// Destroys the pool. The context must be current, its work done, and nothing from the pool be used again.
    pub(super) fn destroy(&self) {
        let outcome = match self {
            // SAFETY: the pool was created by this value and is destroyed once.
            Pool::Driver { raw, owned: true } => unsafe { driver!(cuMemPoolDestroy(*raw)) },
            Pool::Driver { owned: false, .. } => Ok(()),
            Pool::Blocks(_) => self.trim(0, &[], true),
        };
        if let Err(error) = outcome {
            trace_warning!(%error, "a memory pool was not destroyed");
            let _ = error;
        }
    }
}

impl Blocks {
    /// Keeps a block that was in use.
    fn keep(&mut self, stream: Option<usize>, piece: Piece) {
        self.free.entry((stream, piece.size)).or_default().push(piece.address);
        self.statistics.kept_bytes += piece.size;
        self.statistics.used_bytes = self.statistics.used_bytes.saturating_sub(piece.size);
    }

    /// Takes a kept block of this size for use on a stream.
    fn take(&mut self, stream: usize, size: usize) -> Option<CUdeviceptr> {
        let mut pop = |stream| self.free.get_mut(&(stream, size)).and_then(Vec::pop);
        let address = pop(Some(stream)).or_else(|| pop(None))?;
        self.statistics.kept_bytes -= size;
        self.count(size);
        Some(address)
    }

    fn count(&mut self, size: usize) {
        let Statistics { used_bytes, peak_bytes, .. } = &mut self.statistics;
        *used_bytes += size;
        *peak_bytes = (*peak_bytes).max(*used_bytes);
    }
}

fn lock(blocks: &Mutex<Blocks>) -> MutexGuard<'_, Blocks> {
    // No update of the guarded data can be interrupted by a panic half-way, so poisoning is ignored.
    blocks.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cold]
fn allocate_block(blocks: &Mutex<Blocks>, stream: &Stream, bytes: usize) -> Result<Piece> {
    let size = rounded(bytes);
    // What a captured stream is given belongs to the graph, which may use it whenever it is launched.
    stream.check_not_captured()?;
    let kept = lock(blocks).take(stream.key(), size);
    if let Some(address) = kept {
        return Ok(Piece::idle(address, size));
    }
    let mut address = 0;
    let _relaxed = Relaxed::enter()?;
    // SAFETY: the driver writes one address.
    unsafe { driver!(cuMemAlloc_v2(&mut address, size)) }?;
    lock(blocks).count(size);
    Ok(Piece::idle(address, size))
}

fn free_block(address: CUdeviceptr) -> Result<()> {
    let _relaxed = Relaxed::enter()?;
    // SAFETY: the block was allocated without a pool and is freed once; all work on it is done.
    unsafe { driver!(cuMemFree_v2(address)) }
}

/// Rounds a size up, by at most an eighth above 4 KiB, so that freed blocks fit later allocations.
fn rounded(bytes: usize) -> usize {
    let step = (1 << bytes.max(1).ilog2() >> 3).max(512);
    bytes.checked_next_multiple_of(step).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_by_an_eighth_at_most() {
        for bytes in (1..5000).chain((12..40).flat_map(|k| [(1 << k) - 1, 1 << k, (1 << k) + 1])) {
            let size = rounded(bytes);
            assert!(
                size >= bytes && size - bytes < 512.max(bytes / 8 + 1),
                "{bytes} became {size}"
            );
            assert_eq!(rounded(size), size);
        }
        assert_eq!(rounded(usize::MAX), usize::MAX);
    }

    #[test]
    fn blocks_go_back_to_their_stream_and_idle_ones_to_any() {
        let mut blocks = Blocks::default();
        let piece = |address| Piece::idle(address, 512);
        blocks.count(1024);
        blocks.keep(Some(7), piece(1));
        blocks.keep(None, piece(2));
        assert_eq!(blocks.statistics.kept_bytes, 1024);
        assert_eq!(blocks.statistics.used_bytes, 0);
        assert_eq!(blocks.take(8, 1024), None);
        assert_eq!(blocks.take(8, 512), Some(2));
        assert_eq!(blocks.take(8, 512), None);
        assert_eq!(blocks.take(7, 512), Some(1));
        assert_eq!((blocks.statistics.kept_bytes, blocks.statistics.used_bytes), (0, 1024));
        assert_eq!(blocks.statistics.peak_bytes, 1024);
    }
}
