//! Sums of `f16` in any order.
//!
//! Every finite `f16` is a multiple of 2^-24 below 2^16. A sum of at most 2^13 of them needs 53 bits, so that an `f64` holds
//! it exactly, as it holds all partial sums: the order does not matter, and no lane waits for its neighbour.

use half::f16;

use super::{Fold, MAX_RUN, any_order, baseline};
use crate::DType;
use crate::backend::cpu::loops::element::Add;

const _: () = assert!(MAX_RUN <= 1 << 13);

/// How `f16` are summed.
pub(super) const FOLD: Fold = Fold {
    terms: DType::F16,
    first: [
        baseline::any_order::<f16, f64, f64, Add>,
        #[cfg(target_arch = "x86_64")]
        x86::sum_256,
        #[cfg(target_arch = "x86_64")]
        x86::sum_512,
    ],
    next: None,
    rows: [
        baseline::rows::<f16, f64, Add>,
        #[cfg(target_arch = "x86_64")]
        x86::rows_256,
        #[cfg(target_arch = "x86_64")]
        x86::rows_512,
    ],
};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Add, any_order, f16};
    use crate::backend::cpu::loops::fold::{ROWS, rows};

    /// The loops for one width of vectors.
    macro_rules! loops {
        ($sum:ident $rows:ident $lanes:literal $features:literal $load:ident $zero:ident $add:ident $store:ident) => {
            /// Sums elements, at least one and at most as many as a run has.
            ///
            /// # Safety
            ///
            /// See [`Kernel`](crate::backend::cpu::loops::vector::Kernel); `out` is one element.
            #[target_feature(enable = $features)]
            pub(super) unsafe fn $sum(args: &[*const u8; 3], out: *mut u8, len: usize) {
                const PIECE: usize = 4 * $lanes;
                let from = args[0].cast::<f16>();
                if len < PIECE {
                    // SAFETY: the caller's promise.
                    return unsafe { any_order::<f16, f64, f64, Add>(args, out, len) };
                }
                // SAFETY: the caller vouches for the elements, of which whole pieces are read, and for the room. The last
                // elements, if they are no piece, are summed with the lanes.
                unsafe {
                    // Negative zeros, so that a sum of nothing else is one.
                    let mut sums = [$zero(-0.0); 4];
                    let pieces = len / PIECE;
                    for piece in 0..pieces {
                        for (index, sum) in sums.iter_mut().enumerate() {
                            *sum = $add(*sum, $load(from.add(piece * PIECE + index * $lanes)));
                        }
                    }
                    let mut lanes = [0.0; $lanes];
                    let sum = $add($add(sums[0], sums[1]), $add(sums[2], sums[3]));
                    $store(lanes.as_mut_ptr(), sum);
                    let mut total = lanes.iter().fold(-0.0, |total, lane| total + lane);
                    if len > pieces * PIECE {
                        let rest = [from.add(pieces * PIECE).cast(); 3];
                        let mut last = 0.0f64;
                        any_order::<f16, f64, f64, Add>(
                            &rest,
                            (&raw mut last).cast(),
                            len - pieces * PIECE,
                        );
                        total += last;
                    }
                    out.cast::<f64>().write(total);
                }
            }

            /// Sums the elements of each place in several rows.
            ///
            /// # Safety
            ///
            /// See [`RowKernel`](crate::backend::cpu::loops::fold::RowKernel).
            #[target_feature(enable = $features)]
            pub(super) unsafe fn $rows(all: &[*const u8; ROWS], out: *mut u8, len: usize) {
                let vectors = len / $lanes;
                let place = |row: usize, index: usize| all[row].cast::<f16>().wrapping_add(index);
                for vector in 0..vectors {
                    // SAFETY: the caller vouches for the elements and the room.
                    unsafe {
                        let load = |row: usize| $load(place(row, vector * $lanes));
                        let pair = |row: usize| $add(load(row), load(row + 1));
                        let sum = $add($add(pair(0), pair(2)), $add(pair(4), pair(6)));
                        $store(out.cast::<f64>().add(vector * $lanes), sum);
                    }
                }
                let done = vectors * $lanes;
                let rest: [*const u8; ROWS] = std::array::from_fn(|row| place(row, done).cast());
                // SAFETY: the caller's promise, for what is left.
                unsafe {
                    rows::<f16, f64, Add>(&rest, out.cast::<f64>().add(done).cast(), len - done);
                }
            }
        };
    }

    /// # Safety
    ///
    /// There must be four elements.
    #[inline]
    #[target_feature(enable = "avx2,f16c,fma")]
    unsafe fn load_256(from: *const f16) -> __m256d {
        // SAFETY: the caller's promise.
        _mm256_cvtps_pd(_mm_cvtph_ps(unsafe { _mm_loadl_epi64(from.cast()) }))
    }

    /// # Safety
    ///
    /// There must be eight elements.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,f16c,fma")]
    unsafe fn load_512(from: *const f16) -> __m512d {
        // SAFETY: the caller's promise.
        _mm512_cvtps_pd(_mm256_cvtph_ps(unsafe { _mm_loadu_si128(from.cast()) }))
    }

    loops!(sum_256 rows_256 4 "avx2,f16c,fma" load_256 _mm256_set1_pd _mm256_add_pd _mm256_storeu_pd);
    loops!(sum_512 rows_512 8 "avx512f,avx512bw,avx512vl,avx512dq,f16c,fma"
        load_512 _mm512_set1_pd _mm512_add_pd _mm512_storeu_pd);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cpu::settings::Level;

    /// Compares with a sum in integers, of multiples of 2^-24.
    #[test]
    fn sums_are_exact_to_the_longest_run() {
        for len in [1, 2, 15, 16, 31, 32, 33, 100, MAX_RUN - 1, MAX_RUN] {
            for largest in [false, true] {
                let bits = |index: usize| (index as u32).wrapping_mul(2_654_435_761) >> 16;
                let x: Vec<f16> = (0..len)
                    .map(|index| match largest {
                        true => f16::MAX,
                        false => f16::from_bits(bits(index) as u16 & 0xfbff),
                    })
                    .collect();
                let units = |x: &f16| (x.to_f64() * 16_777_216.0) as i64;
                let expected = x.iter().map(units).sum::<i64>() as f64 / 16_777_216.0;
                for level in Level::available() {
                    let mut total = 0.0f64;
                    let to = (&raw mut total).cast();
                    // SAFETY: there are so many elements, and room for one.
                    unsafe { FOLD.first[level as usize](&[x.as_ptr().cast(); 3], to, len) };
                    assert_eq!(total, expected, "{len} elements, {level:?}");
                    let rows = [x.as_ptr().cast(); super::super::ROWS];
                    let mut totals = vec![0.0f64; len];
                    // SAFETY: there are so many elements, and as much room.
                    unsafe {
                        FOLD.rows[level as usize](&rows, totals.as_mut_ptr().cast(), len);
                    }
                    assert!(totals.iter().zip(&x).all(|(total, x)| *total == 8.0 * x.to_f64()));
                }
            }
        }
        let zeros = [-f16::ZERO; 100];
        for level in Level::available() {
            let mut total = 1.0f64;
            // SAFETY: there are so many elements, and room for one.
            unsafe {
                let to = (&raw mut total).cast();
                FOLD.first[level as usize](&[zeros.as_ptr().cast(); 3], to, 100);
            }
            assert_eq!(total.to_bits(), (-0.0f64).to_bits(), "{level:?}");
        }
    }
}
