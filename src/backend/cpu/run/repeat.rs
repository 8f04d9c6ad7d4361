//! Fills blocks with repeated elements: one element for a whole row, or one row for all.
//!
//! Rows are often short, so that a call to copy each would take longer than copying its elements.

use super::transfer::Extent;
use crate::backend::cpu::loops::vector::write;
use crate::backend::cpu::settings::Level;

/// Fills a block with copies of the row at its front.
///
/// # Safety
///
/// `block` must have room for the rows, and its first row must be initialised.
pub(crate) unsafe fn repeat_row(size: usize, extent: Extent, block: *mut u8) {
    let (mut done, all) = (extent.inner * size, extent.count() * size);
    while done < all {
        let count = done.min(all - done);
        // SAFETY: what is copied has been written, and there is room for as much behind it.
        unsafe { block.add(done).copy_from_nonoverlapping(block, count) };
        done += count;
    }
}

/// Fills each row of a block with one element, `step` bytes from that of the row before.
///
/// # Safety
///
/// The elements must be valid for reads and aligned; `to` must be aligned, have room for the rows, and not overlap the
/// elements. The machine must have the instructions of the level.
pub(crate) unsafe fn repeat_elements<T: Copy>(
    level: Level,
    from: *const u8,
    step: isize,
    extent: Extent,
    to: *mut u8,
) {
    // SAFETY: the caller's promise.
    unsafe {
        match level {
            Level::Baseline => baseline::fill::<T>(from, step, extent, to),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => avx2::fill::<T>(from, step, extent, to),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => avx512::fill::<T>(from, step, extent, to),
        }
    }
}

/// Rows of so many elements each.
///
/// # Safety
///
/// See [`repeat_elements`].
#[inline(always)]
unsafe fn rows_of<T: Copy, const LEN: usize>(
    from: *const u8,
    step: isize,
    rows: usize,
    to: *mut u8,
) {
    // SAFETY: the caller vouches for the room.
    let to = unsafe { write::<[T; LEN]>(to, rows) };
    for (row, to) in to.iter_mut().enumerate() {
        // SAFETY: the caller vouches for an element for each row.
        let element = unsafe { from.offset(row as isize * step).cast::<T>().read() };
        to.write([element; LEN]);
    }
}

/// Rows of any length. Each is written in whole pieces of some elements, the last of which reaches into the next row,
/// which comes after.
///
/// # Safety
///
/// See [`repeat_elements`].
#[inline(always)]
unsafe fn rows_of_any<T: Copy, const PIECE: usize>(
    from: *const u8,
    step: isize,
    extent: Extent,
    to: *mut u8,
) {
    let pieces = extent.inner.div_ceil(PIECE);
    for row in 0..extent.outer {
        let first = row * extent.inner;
        // SAFETY: the caller vouches for an element for each row; whole pieces are written where there is room for
        // them.
        unsafe {
            let element = from.offset(row as isize * step).cast::<T>().read();
            if first + pieces * PIECE <= extent.count() {
                for piece in 0..pieces {
                    let to = to.cast::<T>().add(first + piece * PIECE);
                    to.cast::<[T; PIECE]>().write([element; PIECE]);
                }
            } else {
                for index in first..first + extent.inner {
                    to.cast::<T>().add(index).write(element);
                }
            }
        }
    }
}

/// The same for each set of instructions.
macro_rules! fill_for {
    ($name:ident $(#[$feature:meta])?) => {
        mod $name {
            use super::{Extent, rows_of, rows_of_any};

            /// # Safety
            ///
            /// See [`crate::backend::cpu::repeat_elements`].
            $(#[$feature])?
            pub(crate) unsafe fn fill<T: Copy>(
                from: *const u8,
                step: isize,
                extent: Extent,
                to: *mut u8,
            ) {
                let rows = extent.outer;
                // SAFETY: the caller's promise.
                unsafe {
                    match extent.inner {
                        2 => rows_of::<T, 2>(from, step, rows, to),
                        4 => rows_of::<T, 4>(from, step, rows, to),
                        8 => rows_of::<T, 8>(from, step, rows, to),
                        16 => rows_of::<T, 16>(from, step, rows, to),
                        32 => rows_of::<T, 32>(from, step, rows, to),
                        ..8 => rows_of_any::<T, 8>(from, step, extent, to),
                        _ => rows_of_any::<T, 16>(from, step, extent, to),
                    }
                }
            }
        }
    };
}

fill_for!(baseline);
#[cfg(target_arch = "x86_64")]
fill_for!(avx2 #[target_feature(enable = "avx2")]);
#[cfg(target_arch = "x86_64")]
fill_for!(avx512 #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cpu::run::transfer::{Steps, gather};

    /// Gathers a rectangle of `u32` at every level, and compares it with one element after another. What is behind it
    /// must stay as it was.
    fn check(from: &[u32], inner: isize, outer: isize, extent: Extent) {
        const BEHIND: u32 = 0xdead_beef;
        let at = |row: usize, column: usize| row as isize * outer + column as isize * inner;
        let rows = 0..extent.outer;
        let expected: Vec<u32> = rows
            .flat_map(|row| (0..extent.inner).map(move |column| (row, column)))
            .map(|(row, column)| from[at(row, column) as usize])
            .collect();
        let steps = Steps { inner: 4 * inner, outer: 4 * outer };
        for level in Level::available() {
            let mut to = vec![BEHIND; extent.count() + 32];
            // SAFETY: all elements were read above, there is room for as many, and the machine has the level.
            unsafe {
                gather(level, 4, from.as_ptr().cast(), steps, extent, to.as_mut_ptr().cast())
            };
            assert_eq!(to[..extent.count()], expected, "{level:?} {steps:?} {extent:?}");
            assert!(to[extent.count()..].iter().all(|&it| it == BEHIND), "{level:?} {extent:?}");
        }
    }

    #[test]
    fn rows_and_columns_of_any_length_are_repeated() {
        let from: Vec<u32> = (0..400).collect();
        for inner in 1..=70 {
            for outer in [1, 2, 3, 17] {
                let extent = Extent { inner, outer };
                check(&from, 0, 1, extent);
                check(&from, 0, 5, extent);
                check(&from, 1, 0, extent);
                check(&from, 3, 0, extent);
                check(&from, 0, 0, extent);
            }
        }
    }
}
