//! Counts of kernels found in memory, found on disk, and compiled.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of how kernels were obtained in this process, over all devices.
///
/// The first use of a kernel takes tens to hundreds of milliseconds if it must be compiled, and a few milliseconds if
/// it is found in the on-disk cache. Every later use finds it in memory.
///
/// # Examples
///
/// ```
/// let before = bitlane::cuda::cache_statistics();
/// // … calls …
/// let compiled = bitlane::cuda::cache_statistics().compilations - before.compilations;
/// assert_eq!(compiled, 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheStatistics {
    /// Lookups of a kernel that was already loaded.
    pub memory_hits: u64,
    /// Modules that were found in the on-disk cache.
    pub disk_hits: u64,
    /// Modules that had to be compiled.
    pub compilations: u64,
}

/// The events that are counted.
pub(super) enum Event {
    Hit,
    DiskHit,
    Compilation,
}

static COUNTS: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

#[inline]
pub(super) fn count(event: Event) {
    COUNTS[event as usize].fetch_add(1, Ordering::Relaxed);
}

pub(crate) fn read() -> CacheStatistics {
    let [memory_hits, disk_hits, compilations] =
        [0, 1, 2].map(|k| COUNTS[k].load(Ordering::Relaxed));
    CacheStatistics { memory_hits, disk_hits, compilations }
}
