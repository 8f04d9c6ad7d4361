//! The memory source of the pool.

#[cfg(all(target_os = "linux", not(miri)))]
pub(super) use self::mapped::{allocate, free};
#[cfg(not(all(target_os = "linux", not(miri))))]
pub(super) use self::plain::{allocate, free};

/// Blocks from the program's allocator.
mod plain {
    use std::alloc::{self, Layout};
    use std::ptr::NonNull;

    use super::super::ALIGNMENT;

    /// A new block of a class' size; `None` if the allocator refuses.
    pub(in super::super) fn allocate(bytes: usize) -> Option<NonNull<u8>> {
        let layout = Layout::from_size_align(bytes, ALIGNMENT).ok()?;
        // SAFETY: no class has the size 0.
        NonNull::new(unsafe { alloc::alloc(layout) })
    }

    /// Gives a block back.
    ///
    /// # Safety
    ///
    /// The block comes from [`allocate`] with the same size, and must not be used any more.
    pub(in super::super) unsafe fn free(block: NonNull<u8>, bytes: usize) {
        if let Ok(layout) = Layout::from_size_align(bytes, ALIGNMENT) {
            // SAFETY: the caller's promise: the block was allocated with this layout.
            unsafe { alloc::dealloc(block.as_ptr(), layout) }
        }
    }
}

/// Blocks from the program's allocator below 2 MiB. Larger ones are mappings of their own: they start at a huge
/// page, and freeing one returns it to the system, whatever else is allocated.
#[cfg(all(target_os = "linux", not(miri)))]
mod mapped {
    use std::ptr::{self, NonNull};

    use super::plain;

    /// A huge page of x86-64, and of aarch64 with small pages of 4 KiB.
    const HUGE_PAGE: usize = 2 << 20;

    /// A new block of a class' size; `None` if the system refuses.
    pub(in super::super) fn allocate(bytes: usize) -> Option<NonNull<u8>> {
        if bytes < HUGE_PAGE {
            return plain::allocate(bytes);
        }
        // A mapping may start at any small page: map a huge page more, and unmap what is before the
        // first huge page and after the block. Classes from 2 MiB up are multiples of
        // 256 KiB and so of every size that small pages have.
        let mapped = bytes.checked_add(HUGE_PAGE)?;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping at an address that the system chooses touches nothing.
        let start = unsafe { libc::mmap(ptr::null_mut(), mapped, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return None;
        }
        let before = start.addr().wrapping_neg() % HUGE_PAGE;
        let block = start.wrapping_byte_add(before);
        // SAFETY: all of it is inside the mapping made above, which is not used yet: the parts that
        // are unmapped are outside the block, and advice changes no contents. If unmapping or the
        // advice fails, the block is still valid, only larger or slower.
        unsafe {
            if before > 0 {
                libc::munmap(start, before);
            }
            if before < HUGE_PAGE {
                libc::munmap(block.wrapping_byte_add(bytes), HUGE_PAGE - before);
            }
            libc::madvise(block, bytes, libc::MADV_HUGEPAGE);
        }
        NonNull::new(block.cast())
    }

    /// Gives a block back.
    ///
    /// # Safety
    ///
    /// The block comes from [`allocate`] with the same size, and must not be used any more.
    pub(in super::super) unsafe fn free(block: NonNull<u8>, bytes: usize) {
        if bytes < HUGE_PAGE {
            // SAFETY: blocks of this size come from there; the caller promises the rest.
            unsafe { plain::free(block, bytes) }
        } else {
            // SAFETY: `allocate` left exactly this mapping, which is not used any more.
            unsafe { libc::munmap(block.as_ptr().cast(), bytes) };
        }
    }
}

/// Returns the memory that this process may use, if the system reports it.
pub(super) fn physical_memory() -> Option<usize> {
    #[cfg(all(unix, not(miri)))]
    {
        // SAFETY: these only read the system's configuration.
        let (pages, page) =
            unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
        let bytes = usize::try_from(pages).ok()?.checked_mul(usize::try_from(page).ok()?)?;
        // A container may have less; the file says "max" if it has not.
        let container = std::fs::read_to_string("/sys/fs/cgroup/memory.max").unwrap_or_default();
        Some(container.trim().parse().map_or(bytes, |limit| bytes.min(limit)))
    }
    #[cfg(not(all(unix, not(miri))))]
    None
}
