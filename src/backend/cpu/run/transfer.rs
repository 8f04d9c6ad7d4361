//! Copies elements into blocks, where they are contiguous, and results from blocks to memory.
//!
//! Only the size of an element matters here, never its dtype. Elements are moved as unsigned integers of their size, and
//! those of 16 bytes as two of 8. *Aligned* therefore means, for all functions here, aligned to the size of an element
//! but to no more than 8 bytes, even for complex numbers, whose parts are smaller. The memory of every slot is: blocks of
//! the pool are aligned to cache lines, borrowed ones to the size of their elements, and a slot starts at an element.

use super::repeat::{repeat_elements, repeat_row};
use super::vectors::{VECTOR, gather_every_second, transpose};
use crate::backend::cpu::loops::vector::{read, write};
use crate::backend::cpu::settings::Level;

/// The bytes of a line of the caches.
pub(crate) const LINE: usize = 64;

/// The layout of a rectangle of elements in memory: the steps between neighbours in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Steps {
    /// From an element to the next of its row.
    pub(crate) inner: isize,
    /// From a row to the next.
    pub(crate) outer: isize,
}

/// The sides of a rectangle of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// The length of a row.
    pub(crate) inner: usize,
    /// How many rows there are.
    pub(crate) outer: usize,
}

impl Extent {
    pub(crate) const fn row(len: usize) -> Extent {
        Extent { inner: len, outer: 1 }
    }

    pub(crate) const fn count(self) -> usize {
        self.inner * self.outer
    }
}

/// Calls a function with a type that represents all elements of a size: one of 1, 2, 4, 8 or 16 bytes, as every dtype
/// has.
macro_rules! by_size {
    ($size:expr, $function:ident($($argument:expr),*)) => {
        match $size {
            1 => $function::<u8>($($argument),*),
            2 => $function::<u16>($($argument),*),
            4 => $function::<u32>($($argument),*),
            8 => $function::<u64>($($argument),*),
            _ => $function::<[u64; 2]>($($argument),*),
        }
    };
}

/// Copies a rectangle of elements into a block, row after row.
///
/// # Safety
///
/// Every element of the rectangle must be initialised, valid for reads and aligned; `to` must be aligned, have room for
/// them all, and not overlap them. `size` must be the size of a dtype. The machine must have the instructions of the
/// level.
pub(crate) unsafe fn gather(
    level: Level,
    size: usize,
    from: *const u8,
    steps: Steps,
    extent: Extent,
    to: *mut u8,
) {
    // SAFETY: the caller's promise: the type that stands for this size has the alignment that the module asks for, and
    // any bytes are a value of it.
    unsafe {
        if steps.outer == 0 && extent.outer > 1 {
            by_size!(size, gather_sized(from, steps, Extent::row(extent.inner), to));
            repeat_row(size, extent, to);
        } else if steps.inner == 0 {
            by_size!(size, repeat_elements(level, from, steps.outer, extent, to));
        } else {
            by_size!(size, gather_sized(from, steps, extent, to));
        }
    }
}

/// Fills a block with one element.
///
/// # Safety
///
/// `from` must be valid for reads of an initialised element and aligned, `to` aligned and with room for `len` elements
/// that do not overlap it. `size` must be the size of a dtype.
pub(crate) unsafe fn splat(size: usize, from: *const u8, len: usize, to: *mut u8) {
    // SAFETY: the caller's promise: the type that stands for this size has the alignment that the module asks for, and
    // any bytes are a value of it.
    unsafe { by_size!(size, splat_sized(from, len, to)) }
}

/// Copies a block to a rectangle of elements, row after row.
///
/// # Safety
///
/// The block must hold as many initialised elements, and be aligned; every element of the rectangle must be valid for
/// writes and aligned. The two must not overlap, unless every element is written to where it is read from. `size` must
/// be the size of a dtype.
pub(crate) unsafe fn scatter(
    size: usize,
    from: *const u8,
    to: *mut u8,
    steps: Steps,
    extent: Extent,
) {
    // SAFETY: the caller's promise: the type that stands for this size has the alignment that the module asks for, and
    // any bytes are a value of it.
    unsafe { by_size!(size, scatter_sized(from, to, steps, extent)) }
}

/// Copies bytes past the caches, for data that will not be read soon. See [`finish_streams`].
///
/// # Safety
///
/// `from` must be valid for reads of `bytes` bytes, `to` for writes, and they must not overlap.
pub(crate) unsafe fn stream(from: *const u8, to: *mut u8, bytes: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
        // Whole lines are written at once; what is left at both ends is copied.
        let head = to.align_offset(LINE).min(bytes);
        let lines = (bytes - head) / LINE;
        let tail = head + lines * LINE;
        // SAFETY: the ranges are inside those that the caller vouches for, and lines are aligned in `to`.
        unsafe {
            to.copy_from_nonoverlapping(from, head);
            for line in 0..lines {
                let from = from.add(head + line * LINE).cast::<__m128i>();
                let to = to.add(head + line * LINE).cast::<__m128i>();
                for part in 0..LINE / size_of::<__m128i>() {
                    _mm_stream_si128(to.add(part), _mm_loadu_si128(from.add(part)));
                }
            }
            to.add(tail).copy_from_nonoverlapping(from.add(tail), bytes - tail);
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: the caller's promise.
    unsafe {
        to.copy_from_nonoverlapping(from, bytes)
    }
}

/// Makes what this thread has streamed visible to others before anything that it writes later.
pub(crate) fn finish_streams() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every machine of the architecture has the instruction.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// Like [`scatter`], but elements whose mask is false are left unchanged. The mask is contiguous, like the block.
///
/// # Safety
///
/// As for [`scatter`]; the mask must be valid for reads of as many initialised bytes as there are elements, and must not
/// overlap what is written.
pub(crate) unsafe fn scatter_masked(
    size: usize,
    from: *const u8,
    mask: *const u8,
    to: *mut u8,
    steps: Steps,
    extent: Extent,
) {
    // SAFETY: the caller's promise: the type that stands for this size has the alignment that the module asks for, and
    // any bytes are a value of it.
    unsafe { by_size!(size, scatter_masked_sized(from, mask, to, steps, extent)) }
}

/// # Safety
///
/// See [`gather`].
unsafe fn gather_sized<T: Copy>(from: *const u8, steps: Steps, extent: Extent, to: *mut u8) {
    let size = size_of::<T>();
    if steps.inner == size as isize {
        for row in 0..extent.outer {
            // SAFETY: the caller vouches for this row, whose elements are contiguous, and for its room.
            unsafe {
                let from = from.offset(row as isize * steps.outer);
                to.add(row * extent.inner * size)
                    .copy_from_nonoverlapping(from, extent.inner * size);
            }
        }
        return;
    }
    // SAFETY: the caller vouches for the room.
    let to = unsafe { write::<T>(to, extent.count()) };
    // If the elements of a column are closer together than those of a row, going column by column uses up each cache
    // line before leaving it.
    if steps.outer.unsigned_abs() < steps.inner.unsigned_abs() && extent.outer > 1 {
        // As many columns at a time as a vector has elements, if they are dense.
        let strip = if steps.outer == size as isize { (VECTOR / size).max(1) } else { 1 };
        let pitch = extent.inner * size;
        let mut first = 0;
        while first < extent.inner {
            let column = |column: usize| from.wrapping_offset(column as isize * steps.inner);
            let strip = if first + strip <= extent.inner { strip } else { 1 };
            for ahead in first + strip.max(PREFETCHED)..first + strip + strip.max(PREFETCHED) {
                // The next columns are far away, where no prefetcher of the machine looks for them.
                prefetch(column(ahead), steps.outer, extent.outer);
            }
            let mut done = 0;
            if strip > 1 {
                let (from, to) = (column(first), to[first..].as_mut_ptr().cast());
                // SAFETY: the caller vouches for the elements, and for the room; rows follow each other in the block.
                done = unsafe { transpose::<T>(from, steps.inner, extent.outer, to, pitch) };
            }
            for index in first..first + strip {
                let places = to[index..].iter_mut().step_by(extent.inner);
                for (row, place) in places.enumerate().skip(done) {
                    let from = column(index).wrapping_offset(row as isize * steps.outer);
                    // SAFETY: the caller vouches for the element; there is one for each row.
                    place.write(unsafe { from.cast::<T>().read() });
                }
            }
            first += strip;
        }
        return;
    }
    for (row, to) in to.chunks_exact_mut(extent.inner).enumerate() {
        let mut done = 0;
        let mut from = from.wrapping_offset(row as isize * steps.outer);
        if steps.inner == 2 * size as isize {
            // SAFETY: the caller vouches for the row; what is between its elements is memory of the same storage.
            done = unsafe { gather_every_second::<T>(from, to.as_mut_ptr().cast(), to.len()) };
            from = from.wrapping_offset(done as isize * steps.inner);
        }
        for to in &mut to[done..] {
            // SAFETY: the caller vouches for the element.
            to.write(unsafe { from.cast::<T>().read() });
            from = from.wrapping_offset(steps.inner);
        }
    }
}

/// How many columns ahead memory is prefetched.
const PREFETCHED: usize = 8;

/// Prefetches the cache lines of elements that will be read soon; they need not exist.
#[inline(always)]
pub(crate) fn prefetch(start: *const u8, step: isize, count: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let bytes = count as isize * step;
        let mut offset = 0isize;
        while offset.unsigned_abs() < bytes.unsigned_abs() {
            // SAFETY: a prefetch accesses no memory that the program can observe, whatever the address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(start.wrapping_offset(offset).cast()) };
            offset += LINE as isize * step.signum();
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (start, step, count);
}

/// # Safety
///
/// See [`splat`].
unsafe fn splat_sized<T: Copy>(from: *const u8, len: usize, to: *mut u8) {
    // SAFETY: the caller vouches for the element and the room.
    unsafe {
        let value = from.cast::<T>().read();
        write::<T>(to, len).iter_mut().for_each(|to| {
            to.write(value);
        });
    }
}

/// # Safety
///
/// See [`scatter`].
unsafe fn scatter_sized<T: Copy>(from: *const u8, to: *mut u8, steps: Steps, extent: Extent) {
    let size = size_of::<T>();
    if steps.inner == size as isize {
        for row in 0..extent.outer {
            // SAFETY: the caller vouches for this row, whose elements are contiguous; it may be the source itself.
            unsafe {
                let to = to.offset(row as isize * steps.outer);
                to.copy_from(from.add(row * extent.inner * size), extent.inner * size);
            }
        }
        return;
    }
    for row in 0..extent.outer {
        for column in 0..extent.inner {
            let offset = column as isize * steps.inner + row as isize * steps.outer;
            // SAFETY: the caller vouches for both places.
            unsafe {
                let value = from.cast::<T>().add(row * extent.inner + column).read();
                to.offset(offset).cast::<T>().write(value);
            }
        }
    }
}

/// # Safety
///
/// See [`scatter_masked`].
unsafe fn scatter_masked_sized<T: Copy>(
    from: *const u8,
    mask: *const u8,
    to: *mut u8,
    steps: Steps,
    extent: Extent,
) {
    // SAFETY: the caller vouches for the mask.
    let mask = unsafe { read::<u8>(mask, extent.count()) };
    for (row, mask) in mask.chunks_exact(extent.inner).enumerate() {
        for (column, &keep) in mask.iter().enumerate() {
            let offset = column as isize * steps.inner + row as isize * steps.outer;
            if keep != 0 {
                // SAFETY: the caller vouches for both places.
                unsafe {
                    let value = from.cast::<T>().add(row * extent.inner + column).read();
                    to.offset(offset).cast::<T>().write(value);
                }
            }
        }
    }
}
