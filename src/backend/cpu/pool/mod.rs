//! The memory pool: blocks of freed tensors are kept and handed out again.
//!
//! A new large block costs several times what an operation on it does, because the system maps and clears
//! every page at its first use. A new small block costs as much as the call that needs it.
//!
//! - [`class`] rounds sizes up, so that blocks are never split: what can be kept is bounded, and so is waste.
//! - [`small`] keeps blocks up to 32 KiB per thread, without locks.
//! - [`large`] keeps the others for all threads, up to a limit, and for a few seconds.
//!
//! Nothing here waits for long: if a lock cannot be taken within microseconds, the pool is bypassed and the system
//! asked instead. A forked process, in which the holder of a lock may be missing, therefore keeps working.

mod class;
mod counters;
mod large;
mod limit;
mod small;
mod system;

use std::hint;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, TryLockError};

use self::class::SizeClass;
use self::counters::Tally;

/// Blocks start on a cache line, which is also the widest vector.
pub(super) const ALIGNMENT: usize = 64;

/// Statistics of the pool; bytes are those of the size classes.
pub(crate) struct Statistics {
    pub(crate) limit: usize,
    pub(crate) used_bytes: usize,
    pub(crate) kept_bytes: usize,
    pub(crate) kept_blocks: usize,
    pub(crate) reused: usize,
    pub(crate) allocated: usize,
}

/// Returns a block with room for `bytes`, which must not be 0, and undefined contents; `None` if the system refuses.
#[inline]
pub(super) fn acquire(bytes: usize) -> Option<NonNull<u8>> {
    let class = SizeClass::of(bytes);
    let bytes = class.bytes()?;
    if bytes <= small::MAX_BYTES {
        small::take(class, bytes).or_else(|| {
            let block = allocate(bytes)?;
            small::count_new(bytes);
            Some(block)
        })
    } else {
        large::take(class, bytes).or_else(|| {
            let block = allocate(bytes)?;
            Tally::Shared.handed_out_new(bytes);
            Some(block)
        })
    }
}

/// Returns a block to the pool.
///
/// # Safety
///
/// The block must come from [`acquire`] with the same number of bytes, and must not be used any more.
#[inline]
pub(super) unsafe fn release(block: NonNull<u8>, bytes: usize) {
    let class = SizeClass::of(bytes);
    // Every class from which a block was handed out has a size.
    let Some(bytes) = class.bytes() else { return };
    if bytes <= small::MAX_BYTES {
        // SAFETY: the caller's promise.
        unsafe { small::give(block, class, bytes) }
    } else {
        // SAFETY: the caller's promise.
        unsafe { large::give(block, class, bytes) }
    }
}

/// Asks the system, and if it refuses a second time, after returning to it everything that the pool keeps.
#[cold]
fn allocate(bytes: usize) -> Option<NonNull<u8>> {
    system::allocate(bytes).or_else(|| {
        trim();
        system::allocate(bytes)
    })
}

/// Frees the blocks that are kept. Other threads free theirs when they next allocate or free a small block.
pub(crate) fn trim() {
    limit::advance_epoch();
    small::trim_own();
    large::shrink(0);
}

/// Sets how many bytes of large blocks are kept; 0 switches all keeping off.
pub(crate) fn set_limit(bytes: usize) {
    limit::set(bytes);
    small::trim_own();
    large::shrink(bytes);
}

/// Returns the statistics of the pool.
pub(crate) fn statistics() -> Statistics {
    let [used_bytes, kept_bytes, kept_blocks, reused, allocated] = counters::sums();
    Statistics { limit: limit::get(), used_bytes, kept_bytes, kept_blocks, reused, allocated }
}

/// Takes a lock that is only ever held for some nanoseconds. Returns `None` if it stays locked: its holder may be
/// waiting for a core, or may not exist any more after a fork.
fn lock_briefly<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    for _ in 0..1000 {
        match mutex.try_lock() {
            Ok(guard) => return Some(guard),
            // Nothing that runs under these locks panics; if it did, the data would still be consistent.
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => hint::spin_loop(),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_and_apart() {
        let sizes =
            [1, 63, 64, 65, 512, 513, 32 << 10, (32 << 10) + 1, 2 << 20, (2 << 20) + 1, 5 << 20];
        let mut blocks = Vec::new();
        for round in 0..3 {
            for bytes in sizes {
                let block = acquire(bytes).unwrap();
                assert!(block.addr().get().is_multiple_of(ALIGNMENT), "{bytes} bytes");
                if cfg!(all(target_os = "linux", not(miri))) && bytes >= 2 << 20 {
                    assert!(block.addr().get().is_multiple_of(2 << 20), "{bytes} bytes");
                }
                // SAFETY: the block is this test's, and has room for as many bytes.
                unsafe { block.write_bytes(round, bytes) };
                blocks.push((block, bytes, round));
            }
        }
        for (block, bytes, round) in blocks {
            // SAFETY: the block is this test's, was written in full, and is given back once.
            unsafe {
                let contents = std::slice::from_raw_parts(block.as_ptr(), bytes);
                assert!(contents.iter().all(|&byte| byte == round), "{bytes} bytes");
                release(block, bytes);
            }
        }
    }

    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn huge_pages_are_advised_for_large_blocks() {
        let block = acquire(4 << 20).unwrap();
        let address = block.addr().get();
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let holds_block = |line: &&str| {
            let range = line.split_once(' ').and_then(|(range, _)| range.split_once('-'));
            let number = |text| usize::from_str_radix(text, 16).ok();
            range.is_some_and(|(start, end)| {
                number(start).is_some_and(|start| start <= address)
                    && number(end).is_some_and(|end| address < end)
            })
        };
        let lines = maps.lines().skip_while(|line| !holds_block(line));
        let flags = lines.skip(1).find(|line| line.starts_with("VmFlags:")).unwrap();
        assert!(flags.contains(" hg"), "{flags}");
        // SAFETY: the block is this test's, and is given back once.
        unsafe { release(block, 4 << 20) };
    }
}
