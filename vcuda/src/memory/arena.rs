//! A range of addresses with a shadow byte and a race cell for every byte.
//!
//! All three are mapped without reserving memory, so a page costs nothing until it is touched: an allocation of many
//! gigabytes of which only a few places are used is cheap. Device addresses are host addresses.
//!
//! Kernels run on several host threads, so while one runs everything here is accessed with relaxed atomics. A race in a
//! kernel is then a bug in that kernel, but not undefined behaviour in this crate.

use super::{DATA, NONE};
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// A mapped range of addresses.
#[derive(Debug)]
pub struct Arena {
    base: u64,
    size: u64,
    shadow: u64,
    cells: u64,
}

fn map(size: u64) -> io::Result<u64> {
    let length = usize::try_from(size).map_err(io::Error::other)?;
    // SAFETY: an anonymous mapping at an address that the system chooses overlaps no existing memory.
    let at = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if at == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the advice applies to the mapping just made.
    unsafe {
        libc::madvise(at, length, libc::MADV_DONTDUMP);
    }
    Ok(at as u64)
}

/// Returns the size of a page, which the system chooses.
fn page() -> u64 {
    static PAGE: OnceLock<u64> = OnceLock::new();
    // SAFETY: the call has no requirements.
    *PAGE.get_or_init(|| unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(4096) as u64)
}

/// Returns the whole pages inside a range of an arena's mapping to the system; they read as zero afterwards.
fn discard(from: u64, to: u64) {
    let (from, to) = (from.next_multiple_of(page()), to / page() * page());
    if from < to {
        // SAFETY: the pages lie inside a private anonymous mapping of this arena, which stays mapped.
        unsafe {
            libc::madvise(from as *mut libc::c_void, (to - from) as usize, libc::MADV_DONTNEED)
        };
    }
}

/// Fills a checked part of a shadow with a byte, using atomics because a kernel may be reading it.
fn fill(mut at: u64, end: u64, value: u8) {
    while at < end {
        // SAFETY: the caller has checked that the range lies in the shadow, which is mapped; eight-byte stores are made
        // only where aligned and inside the range. All concurrent access is atomic.
        unsafe {
            if at.is_multiple_of(8) && end - at >= 8 {
                AtomicU64::from_ptr(at as *mut u64).store(u64::from_ne_bytes([value; 8]), Relaxed);
                at += 8;
            } else {
                AtomicU8::from_ptr(at as *mut u8).store(value, Relaxed);
                at += 1;
            }
        }
    }
}

impl Arena {
    /// Maps a range of the given size, or, halving it as often as needed, of the largest size that the system allows.
    pub fn reserve(mut size: u64) -> io::Result<Arena> {
        loop {
            match (map(size), map(size), map(size * 8)) {
                (Ok(base), Ok(shadow), Ok(cells)) => {
                    return Ok(Arena { base, size, shadow, cells });
                }
                (data, shadow, cells) => {
                    for (at, length) in [(data, size), (shadow, size), (cells, size * 8)] {
                        if let Ok(at) = at {
                            // SAFETY: the mapping was made above and nothing refers to it yet.
                            unsafe { libc::munmap(at as *mut libc::c_void, length as usize) };
                        }
                    }
                    if size <= 1 << 30 {
                        return Err(io::Error::last_os_error());
                    }
                    size /= 2;
                }
            }
        }
    }

    /// Returns the first address.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Returns whether all `len` bytes lie in the range.
    #[inline(always)]
    pub fn contains(&self, addr: u64, len: u64) -> bool {
        let offset = addr.wrapping_sub(self.base);
        offset < self.size && len <= self.size - offset
    }

    /// Returns whether `len` bytes at an address aligned to `len` all hold data.
    #[inline(always)]
    pub fn all_data(&self, addr: u64, len: u64) -> bool {
        const FULL: u64 = 0x0303_0303_0303_0303;
        let at = self.shadow + (addr - self.base);
        debug_assert!(self.contains(addr, len) && addr.is_multiple_of(len));
        // SAFETY: `contains` holds for the access and the shadow is as long as the range; `addr` and its shadow have
        // the same alignment, because both mappings start at a page boundary. All concurrent access is atomic.
        unsafe {
            match len {
                1 => AtomicU8::from_ptr(at as *mut u8).load(Relaxed) == DATA,
                2 => AtomicU16::from_ptr(at as *mut u16).load(Relaxed) == FULL as u16,
                4 => AtomicU32::from_ptr(at as *mut u32).load(Relaxed) == FULL as u32,
                _ => (0..len / 8)
                    .all(|k| AtomicU64::from_ptr((at + 8 * k) as *mut u64).load(Relaxed) == FULL),
            }
        }
    }

    /// Marks `len` bytes at an address aligned to `len` as holding data, a word of at most eight bytes at a time. Stops
    /// and returns `false` at a word that is not wholly allocated.
    #[inline(always)]
    pub fn claim(&self, addr: u64, len: u64) -> bool {
        const FULL: u64 = 0x0303_0303_0303_0303;
        const LIVE: u64 = 0x0101_0101_0101_0101;
        let at = self.shadow + (addr - self.base);
        debug_assert!(self.contains(addr, len) && addr.is_multiple_of(len));
        macro_rules! claim {
            ($atomic:ident, $t:ty, $at:expr) => {{
                let word = $atomic::from_ptr($at as *mut $t);
                let old = word.load(Relaxed);
                if old == FULL as $t {
                    true
                } else if old & LIVE as $t == LIVE as $t {
                    word.store(FULL as $t, Relaxed);
                    true
                } else {
                    false
                }
            }};
        }
        // SAFETY: as in `all_data`.
        unsafe {
            match len {
                1 => claim!(AtomicU8, u8, at),
                2 => claim!(AtomicU16, u16, at),
                4 => claim!(AtomicU32, u32, at),
                _ => (0..len / 8).all(|k| claim!(AtomicU64, u64, at + 8 * k)),
            }
        }
    }

    /// Reads a byte of the range.
    pub fn byte(&self, addr: u64) -> u8 {
        assert!(self.contains(addr, 1), "a byte outside its arena");
        // SAFETY: the byte lies in the mapping, as asserted. All concurrent access is atomic.
        unsafe { AtomicU8::from_ptr(addr as *mut u8).load(Relaxed) }
    }

    /// Returns the race cell of a byte.
    #[inline(always)]
    pub fn cell(&self, addr: u64) -> &AtomicU64 {
        debug_assert!(self.contains(addr, 1));
        // SAFETY: the address lies in the range; there is a cell of eight bytes for each of its bytes, aligned because
        // the mapping starts at a page boundary, and mapped for as long as the arena lives.
        unsafe { AtomicU64::from_ptr((self.cells + (addr - self.base) * 8) as *mut u64) }
    }

    /// Clears the race cells of the first `used` bytes.
    pub fn clear_cells(&self, used: u64) {
        discard(self.cells, self.cells + (used * 8).next_multiple_of(page()).min(self.size * 8));
    }

    fn shadow_slice(&self, addr: u64, len: u64) -> *mut u8 {
        assert!(self.contains(addr, len), "a range outside its arena");
        (self.shadow + (addr - self.base)) as *mut u8
    }

    /// Sets the shadow of a range.
    pub fn set_shadow(&self, addr: u64, len: u64, state: u8) {
        let at = self.shadow_slice(addr, len) as u64;
        let end = at + len;
        if state == NONE && len >= (2 * page()).max(1 << 16) {
            discard(at, end);
            fill(at, at.next_multiple_of(page()), NONE);
            fill(end / page() * page(), end, NONE);
        } else {
            fill(at, end, state);
        }
    }

    /// Copies the shadow of a range. While a kernel runs, the copy may be inconsistent, which is good enough for a
    /// report.
    pub fn shadow_of(&self, addr: u64, len: u64) -> Vec<u8> {
        let at = self.shadow_slice(addr, len);
        // SAFETY: `shadow_slice` has checked the range. All concurrent access is atomic.
        (0..len as usize).map(|k| unsafe { AtomicU8::from_ptr(at.add(k)).load(Relaxed) }).collect()
    }

    /// Finds the first byte of a range that does not hold data, and its state. Call only while no kernel runs.
    pub fn first_hole(&self, addr: u64, len: u64) -> Option<(u64, u8)> {
        let at = self.shadow_slice(addr, len);
        // SAFETY: `shadow_slice` has checked the range, whose bytes are always initialised, and no kernel runs.
        let shadow = unsafe { std::slice::from_raw_parts(at, len as usize) };
        shadow.iter().position(|&s| s != DATA).map(|k| (addr + k as u64, shadow[k]))
    }

    /// Copies the shadow of data that is copied from elsewhere. Call only while no kernel runs.
    pub fn copy_shadow(&self, to: u64, source: &Arena, from: u64, len: u64) {
        let (to, from) = (self.shadow_slice(to, len), source.shadow_slice(from, len));
        // SAFETY: both ranges have been checked, and no kernel runs; `copy` allows an overlap.
        unsafe { std::ptr::copy(from, to, len as usize) }
    }

    /// Fills memory with a byte. Call only while no kernel runs.
    pub fn fill(&self, addr: u64, len: u64, value: u8) {
        assert!(self.contains(addr, len), "a range outside its arena");
        let large = value == 0 && len >= 1 << 20;
        if large {
            discard(addr, addr + len);
        }
        // SAFETY: the range is inside the mapping, as asserted, and no kernel runs.
        unsafe {
            if large {
                std::ptr::write_bytes(
                    addr as *mut u8,
                    0,
                    (addr.next_multiple_of(page()) - addr) as usize,
                );
                let tail = (addr + len) % page();
                std::ptr::write_bytes((addr + len - tail) as *mut u8, 0, tail as usize);
            } else {
                std::ptr::write_bytes(addr as *mut u8, value, len as usize);
            }
        }
    }

    /// Returns the pages of a freed range to the system.
    pub fn release(&self, addr: u64, len: u64) {
        discard(addr, addr + len);
        let offset = addr - self.base;
        discard(self.cells + offset * 8, self.cells + (offset + len) * 8);
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        for (at, length) in
            [(self.base, self.size), (self.shadow, self.size), (self.cells, self.size * 8)]
        {
            // SAFETY: the mappings were made by `reserve` with these sizes, and nothing uses them after the arena is
            // dropped.
            unsafe { libc::munmap(at as *mut libc::c_void, length as usize) };
        }
    }
}
