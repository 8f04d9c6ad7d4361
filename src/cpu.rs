//! Settings of the CPU backend: its threads and its memory pool.
//!
//! # Threads
//!
//! An operation that moves 512 KiB or more is shared among threads, which the first such operation starts. A thread
//! that has run out of work spins for 50 microseconds, which keeps a core busy, and then sleeps. While a thread is
//! spinning, operations that move 256 KiB or more are shared, too. [`set_threads`] sets the number of threads.
//!
//! # Memory pool
//!
//! The memory of dropped tensors is kept for reuse. Allocating a new large block costs several times an
//! operation on it, because the operating system maps and clears every page on first use.
//!
//! - Large blocks, those of more than 32 KiB, are kept up to a limit: a quarter of the memory of the machine or
//!   container, but at most 4 GiB. The environment variable `BITLANE_POOL_LIMIT` (in bytes, or as `512M`, `2G` and so
//!   on) and [`set_pool_limit`] change it; 0 disables the pool. Blocks are returned to the system when the limit is
//!   exceeded, starting with those kept for longest, and after five seconds without use.
//! - Small blocks are kept by the thread that freed them, up to 256 KiB per thread, until the thread ends.
//! - Sizes are rounded up, by at most an eighth above 512 bytes, so that blocks can be reused; blocks are never split.
//!   Blocks of 2 MiB or more are aligned to huge pages, and on Linux the system is advised to use them.
//!
//! # Examples
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

use crate::backend::cpu::{self, pool, threads};

/// The contents of the memory pool, and counters since the program started; see [`pool_statistics`].
///
/// All sizes are those of blocks, which are rounded up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolStatistics {
    /// The maximum number of bytes of large blocks that are kept.
    pub limit: usize,
    /// The number of bytes in use by tensors.
    pub used_bytes: usize,
    /// The number of bytes kept for reuse, in large and small blocks.
    pub kept_bytes: usize,
    /// The number of blocks kept for reuse.
    pub kept_blocks: usize,
    /// How many times a kept block was reused.
    pub reused: usize,
    /// How many times a new block was requested from the system.
    pub allocated: usize,
}

/// Returns the statistics of the memory pool.
///
/// While other threads allocate and free memory, the numbers are not an exact snapshot of one moment.
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

/// Sets the maximum number of bytes of large blocks that the pool keeps, and returns the excess to the system. With 0
/// nothing is kept, neither large nor small blocks.
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

/// Returns all memory that the pool keeps to the system. Other threads return their small blocks when they next
/// allocate or free one.
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

/// Returns the settings in force of the CPU backend, as a list: the vector instructions (`baseline`, `avx2` or
/// `avx512`), which are the highest that the machine has, and the sizes in bytes from which a technique is used.
///
/// The environment variable `BITLANE_CPU` overrides them for tests and measurements, by a list of the same form. What it
/// asks for in vain, such as instructions that the machine does not have, is reported on the standard error stream and
/// is not in the list.
///
/// # Examples
///
/// ```
/// let settings = bitlane::cpu::settings();
/// assert!(["baseline", "avx2", "avx512"].contains(&settings.split(',').next().unwrap()));
/// ```
pub fn settings() -> String {
    cpu::settings()
}

/// Returns the number of threads that share a large operation, including the calling one: the number of cores, unless
/// [`set_threads`] has set another number; 1 in a process that was forked after the threads had been started.
///
/// # Examples
///
/// ```
/// assert!(bitlane::cpu::threads() >= 1);
/// ```
pub fn threads() -> usize {
    threads::count()
}

/// Sets the number of threads that share a large operation, including the calling one. 0 stands for the number of
/// cores. The number is at most 256, or that of the cores if it is higher.
///
/// Operations that are already running are not affected. The threads are started by the first operation that is large
/// enough to be shared. A number above that of the cores must be set before that; afterwards, the number is limited to
/// the threads that were started. The result of an operation never depends on the number of threads.
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
