//! Rearranges elements in vectors of 16 bytes: takes every second one, and transposes squares.
//!
//! Only the size of an element matters here. Every machine of the architecture has these instructions; on other
//! architectures `transfer` moves one element after another.

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{gather_every_second, transpose};

/// The bytes of a vector.
pub(crate) const VECTOR: usize = 16;

/// Copies every second of some elements, and returns how many it has copied; the rest is left to the caller.
///
/// # Safety
///
/// As for the one with vectors.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) unsafe fn gather_every_second<T>(_: *const u8, _: *mut u8, _: usize) -> usize {
    0
}

/// Copies as many columns as a vector has elements, transposed, and says how many rows of them; the rest is left to the
/// caller.
///
/// # Safety
///
/// As for the one with vectors.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) unsafe fn transpose<T>(_: *const u8, _: isize, _: usize, _: *mut u8, _: usize) -> usize {
    0
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m128i, _MM_HINT_T0, _mm_and_si128, _mm_castps_si128, _mm_castsi128_ps, _mm_loadu_si128,
        _mm_packs_epi32, _mm_packus_epi16, _mm_prefetch, _mm_set1_epi16, _mm_setzero_si128,
        _mm_shuffle_ps, _mm_slli_epi32, _mm_srai_epi32, _mm_storeu_si128, _mm_unpackhi_epi8,
        _mm_unpackhi_epi16, _mm_unpackhi_epi32, _mm_unpackhi_epi64, _mm_unpacklo_epi8,
        _mm_unpacklo_epi16, _mm_unpacklo_epi32, _mm_unpacklo_epi64,
    };

    use super::VECTOR;

    /// How many bytes ahead memory is prefetched: about a block, so that it arrives while the block is computed.
    const AHEAD: usize = 2048;

    /// Copies every second of some elements, and returns how many it has copied; the rest is left to the caller.
    ///
    /// # Safety
    ///
    /// `from` must be valid for reads up to the last of `len` elements, each two from the next, and `to` for writes of
    /// as many contiguous elements, which must not overlap them.
    pub(crate) unsafe fn gather_every_second<T>(from: *const u8, to: *mut u8, len: usize) -> usize {
        let lanes = VECTOR / size_of::<T>();
        if lanes < 2 {
            return 0;
        }
        // There may be no memory behind the last element, so it is never part of a vector.
        let vectors = len.saturating_sub(1) / lanes;
        for index in 0..vectors {
            // SAFETY: two vectors are read in front of the last element, and one is written; a prefetch touches
            // nothing.
            unsafe {
                let from = from.add(index * 2 * VECTOR);
                if index % 2 == 0 {
                    _mm_prefetch::<_MM_HINT_T0>(from.wrapping_add(AHEAD).cast());
                }
                let from = from.cast::<__m128i>();
                let pair = (_mm_loadu_si128(from), _mm_loadu_si128(from.add(1)));
                let to = to.add(index * VECTOR).cast::<__m128i>();
                _mm_storeu_si128(to, every_second::<T>(pair.0, pair.1));
            }
        }
        vectors * lanes
    }

    /// Every second element of two vectors.
    #[inline(always)]
    fn every_second<T>(a: __m128i, b: __m128i) -> __m128i {
        // SAFETY: every machine of the architecture has these instructions.
        unsafe {
            match size_of::<T>() {
                1 => {
                    let low = _mm_set1_epi16(0xff);
                    _mm_packus_epi16(_mm_and_si128(a, low), _mm_and_si128(b, low))
                }
                2 => {
                    // Spread to the signed 32 bits that the instruction narrows.
                    let signed = |v| _mm_srai_epi32::<16>(_mm_slli_epi32::<16>(v));
                    _mm_packs_epi32(signed(a), signed(b))
                }
                4 => {
                    let (a, b) = (_mm_castsi128_ps(a), _mm_castsi128_ps(b));
                    _mm_castps_si128(_mm_shuffle_ps::<0b10_00_10_00>(a, b))
                }
                _ => _mm_unpacklo_epi64(a, b),
            }
        }
    }

    /// Copies as many columns as a vector has elements, transposed, and says how many rows of them; the rest is left
    /// to the caller. Element `r` of column `c` is read `r` elements and `c` steps from the start, and written `c`
    /// elements and `r` times `pitch` bytes from there.
    ///
    /// # Safety
    ///
    /// All elements of the columns must be valid for reads and all places for writes, apart from each other.
    pub(crate) unsafe fn transpose<T>(
        from: *const u8,
        step: isize,
        rows: usize,
        to: *mut u8,
        pitch: usize,
    ) -> usize {
        let lanes = VECTOR / size_of::<T>();
        if lanes < 2 {
            return 0;
        }
        let done = rows / lanes * lanes;
        for row in (0..done).step_by(lanes) {
            let (from, to) =
                (from.wrapping_add(row * size_of::<T>()), to.wrapping_add(row * pitch));
            // SAFETY: the square is part of what the caller vouches for.
            unsafe {
                match lanes {
                    16 => square::<T, 16>(from, step, to, pitch),
                    8 => square::<T, 8>(from, step, to, pitch),
                    4 => square::<T, 4>(from, step, to, pitch),
                    _ => square::<T, 2>(from, step, to, pitch),
                }
            }
        }
        done
    }

    /// Transposes a square of vectors, `step` bytes apart where they are read, and `pitch` where they are written.
    ///
    /// # Safety
    ///
    /// As for [`transpose`].
    #[inline(always)]
    unsafe fn square<T, const N: usize>(from: *const u8, step: isize, to: *mut u8, pitch: usize) {
        // SAFETY: every machine of the architecture has the instruction.
        let mut vectors = [unsafe { _mm_setzero_si128() }; N];
        for (index, vector) in vectors.iter_mut().enumerate() {
            // SAFETY: the caller vouches for the elements.
            *vector = unsafe { _mm_loadu_si128(from.offset(index as isize * step).cast()) };
        }
        // To interleave the two halves moves every bit of an element's index up by one, and the highest down to the
        // lowest. As often as a side has bits, that exchanges row and column.
        for _ in 0..N.ilog2() {
            let before = vectors;
            for index in 0..N / 2 {
                let (a, b) = (before[index], before[index + N / 2]);
                vectors[2 * index] = interleave_low::<T>(a, b);
                vectors[2 * index + 1] = interleave_high::<T>(a, b);
            }
        }
        for (index, vector) in vectors.iter().enumerate() {
            // SAFETY: the caller vouches for the room.
            unsafe { _mm_storeu_si128(to.add(index * pitch).cast(), *vector) };
        }
    }

    #[inline(always)]
    fn interleave_low<T>(a: __m128i, b: __m128i) -> __m128i {
        // SAFETY: every machine of the architecture has these instructions.
        unsafe {
            match size_of::<T>() {
                1 => _mm_unpacklo_epi8(a, b),
                2 => _mm_unpacklo_epi16(a, b),
                4 => _mm_unpacklo_epi32(a, b),
                _ => _mm_unpacklo_epi64(a, b),
            }
        }
    }

    #[inline(always)]
    fn interleave_high<T>(a: __m128i, b: __m128i) -> __m128i {
        // SAFETY: every machine of the architecture has these instructions.
        unsafe {
            match size_of::<T>() {
                1 => _mm_unpackhi_epi8(a, b),
                2 => _mm_unpackhi_epi16(a, b),
                4 => _mm_unpackhi_epi32(a, b),
                _ => _mm_unpackhi_epi64(a, b),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_second<T: Copy + PartialEq + std::fmt::Debug>(element: impl Fn(usize) -> T) {
        for len in 0..70usize {
            let from: Vec<T> = (0..(2 * len).saturating_sub(1)).map(&element).collect();
            let mut to = vec![element(0); len];
            // SAFETY: there are so many elements.
            let done = unsafe {
                gather_every_second::<T>(from.as_ptr().cast(), to.as_mut_ptr().cast(), len)
            };
            assert!((0..done).all(|index| to[index] == from[2 * index]), "{len} elements");
            // All but the last element, in whole vectors; a vector of one element has no second.
            let lanes = VECTOR / size_of::<T>();
            let whole = len.saturating_sub(1) / lanes * lanes;
            let expected = if cfg!(target_arch = "x86_64") && lanes > 1 { whole } else { 0 };
            assert_eq!(done, expected, "of {len} elements");
        }
    }

    fn transposed<T: Copy + PartialEq + std::fmt::Debug>(element: impl Fn(usize) -> T) {
        let lanes = VECTOR / size_of::<T>();
        for rows in [0, 1, 15, 16, 40] {
            let pitch = rows + 3;
            let from: Vec<T> = (0..lanes * pitch).map(&element).collect();
            let mut to = vec![element(0); (lanes + 1) * rows];
            let (step, out_pitch) = (pitch * size_of::<T>(), (lanes + 1) * size_of::<T>());
            let (start, target) = (from.as_ptr().cast(), to.as_mut_ptr().cast());
            // SAFETY: there are so many elements.
            let done = unsafe { transpose::<T>(start, step as isize, rows, target, out_pitch) };
            let whole = if lanes > 1 { rows / lanes * lanes } else { 0 };
            let expected = if cfg!(target_arch = "x86_64") { whole } else { 0 };
            assert_eq!(done, expected, "of {rows} rows");
            for (column, row) in (0..lanes).flat_map(|c| (0..done).map(move |r| (c, r))) {
                let (read, written) = (from[column * pitch + row], to[row * (lanes + 1) + column]);
                assert_eq!(read, written, "row {row} of {rows}, column {column}");
            }
        }
    }

    #[test]
    fn elements_of_every_size_find_their_places() {
        every_second(|index| index as u8);
        every_second(|index| (index * 0x0301) as u16);
        every_second(|index| (index * 0x0301_0201) as u32);
        every_second(|index| index as u64 * 0x0301_0201_0401);
        every_second(|index| [index as u64; 2]);
        transposed(|index| (index * 7) as u8);
        transposed(|index| (index * 0x0301) as u16);
        transposed(|index| (index * 0x0301_0201) as u32);
        transposed(|index| index as u64 * 0x0301_0201_0401);
        transposed(|index| [index as u64; 2]);
    }
}
