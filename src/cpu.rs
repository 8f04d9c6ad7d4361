//! Settings of the CPU backend: the memory that it keeps for reuse, and the threads that it uses.
//!
//! # Threads
//!
//! An operation that moves half a MiB or more is shared among threads, which the first such operation starts. A thread that
//! has helped looks out for more work for 50 microseconds, during which it keeps a core busy, and then sleeps; as long as it
//! does, operations from 128 KiB up are shared with it. [`set_threads`] sets how many there are.
//!
//! # The pool
//!
//! Memory of freed tensors is kept and handed out again: a new large block costs several times what an operation on
//! it does, because the system maps and clears every page at its first use.
//!
//! - Large blocks, of more than 32 KiB, are kept up to a limit. It is a quarter of the memory that the machine or the
//!   container has, but at most 4 GiB; the variable `BITLANE_POOL_LIMIT` (bytes, or `512M`, `2G` and so on) and
//!   [`set_pool_limit`] set another, and 0 switches the pool off. When it is full, the blocks that were kept longest go
//!   back to the system, and so does every block that nobody has wanted for five seconds.
//! - Small blocks are kept by the thread that frees them, 256 KiB at most, until it ends.
//! - Sizes are rounded up, by an eighth at most above 512 bytes, so that blocks fit again; they are never split. Blocks
//!   from 2 MiB up start at a huge page, and on Linux the system is advised to use one.
//!
//! ```
//! use bitlane::{DType, Device, Tensor, cpu};
//! let shape = [1 << 20];
//! drop(Tensor::zeros(shape, DType::F32, &Device::cpu())?);
//! let before = cpu::pool_statistics();
//! drop(Tensor::zeros(shape, DType::F32, &Device::cpu())?); // the same memory, zeroed again
//! assert_eq!(cpu::pool_statistics().reused, before.reused + 1);
//! # Ok::<(), bitlane::Error>(())
//! ```

use crate::backend::cpu::{pool, threads};

/// What the pool holds, and has done since the program started; see [`pool_statistics`].
///
/// Blocks count with the size that they were rounded up to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStatistics {
    /// How many bytes of large blocks are kept at most.
    pub limit: usize,
    /// The memory of tensors that are alive.
    pub used_bytes: usize,
    /// The memory that is kept for tensors to come, that of small blocks included.
    pub kept_bytes: usize,
    /// How many blocks are kept.
    pub kept_blocks: usize,
    /// How often a kept block was handed out.
    pub reused: usize,
    /// How often the system was asked for a new block.
    pub allocated: usize,
}

/// What the pool holds and has done. While other threads allocate and free, the numbers are only nearly of one
/// moment.
///
/// # Examples
///
/// ```
/// use bitlane::{DType, Device, Tensor, cpu};
/// let before = cpu::pool_statistics().used_bytes;
/// let x = Tensor::zeros([1000], DType::I64, &Device::cpu())?;
/// assert_eq!(cpu::pool_statistics().used_bytes, before + 8192); // 8000 bytes, rounded up
/// drop(x);
/// assert_eq!(cpu::pool_statistics().used_bytes, before);
/// # Ok::<(), bitlane::Error>(())
/// ```
pub fn pool_statistics() -> PoolStatistics {
    let pool::Statistics { limit, used_bytes, kept_bytes, kept_blocks, reused, allocated } =
        pool::statistics();
    PoolStatistics { limit, used_bytes, kept_bytes, kept_blocks, reused, allocated }
}

/// Sets how many bytes of large blocks the pool keeps at most, and gives back what it keeps beyond that. With 0
/// nothing is kept, large or small.
///
/// # Examples
///
/// ```
/// use bitlane::{DType, Device, Tensor, cpu};
/// cpu::set_pool_limit(0);
/// drop(Tensor::zeros([1 << 20], DType::F32, &Device::cpu())?);
/// assert_eq!(cpu::pool_statistics().kept_bytes, 0);
/// # Ok::<(), bitlane::Error>(())
/// ```
pub fn set_pool_limit(bytes: usize) {
    pool::set_limit(bytes);
}

/// Gives back to the system what the pool keeps. Other threads give back their small blocks when they next allocate
/// or free one.
///
/// # Examples
///
/// ```
/// use bitlane::{DType, Device, Tensor, cpu};
/// drop(Tensor::zeros([1 << 20], DType::F32, &Device::cpu())?);
/// assert!(cpu::pool_statistics().kept_bytes >= 4 << 20);
/// cpu::trim_pool();
/// assert_eq!(cpu::pool_statistics().kept_bytes, 0);
/// # Ok::<(), bitlane::Error>(())
/// ```
pub fn trim_pool() {
    pool::trim();
}

/// How many threads share a large operation, the calling one included: as many as there are cores, unless
/// [`set_threads`] has set another number.
///
/// # Examples
///
/// ```
/// assert!(bitlane::cpu::threads() >= 1);
/// ```
pub fn threads() -> usize {
    threads::count()
}

/// Sets how many threads share a large operation, the calling one included; 0 stands for as many as there are cores.
///
/// Operations that run meanwhile go on as they are. The threads are started by the first operation that is large enough
/// to be shared; a number beyond the cores has to be set before that, and counts as the number that was started
/// afterwards. The result of an operation never depends on the number of threads.
///
/// # Examples
///
/// ```
/// use bitlane::cpu;
/// cpu::set_threads(1); // everything runs on the calling thread
/// assert_eq!(cpu::threads(), 1);
/// cpu::set_threads(0);
/// ```
pub fn set_threads(count: usize) {
    threads::set_count(count);
}
