//! Arithmetic right shifts of `i8`. AVX2 has no such instruction, and the compiler's code takes more than twice as
//! long.

use super::element::ShiftRight;
use super::vector::Kernels;

/// The loops of an arithmetic right shift.
pub(crate) const fn shift_right() -> Kernels {
    #[cfg(target_arch = "x86_64")]
    {
        let mut kernels = Kernels::of_two::<i8, ShiftRight>();
        kernels.all[crate::backend::cpu::settings::Level::Avx2 as usize] = avx2::shift_right;
        kernels
    }
    #[cfg(not(target_arch = "x86_64"))]
    Kernels::of_two::<i8, ShiftRight>()
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m128i, __m256i, _mm_loadu_si128, _mm256_and_si256, _mm256_blendv_epi8,
        _mm256_broadcastsi128_si256, _mm256_loadu_si256, _mm256_min_epu8, _mm256_mullo_epi16,
        _mm256_set1_epi8, _mm256_set1_epi16, _mm256_shuffle_epi8, _mm256_slli_epi16,
        _mm256_srai_epi16, _mm256_srli_epi16, _mm256_storeu_si256,
    };
    use std::mem::MaybeUninit;

    use crate::backend::cpu::loops::element::{Apply, ShiftRight};
    use crate::backend::cpu::loops::vector::{read, write};

    /// The number of elements in a vector.
    const LANES: usize = 32;

    /// The factors 2^(7 - amount), by which an element is multiplied before it is shifted right by 7.
    const FACTORS: [u8; 16] = [128, 64, 32, 16, 8, 4, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0];

    /// # Safety
    ///
    /// See [`Kernel`](crate::backend::cpu::loops::vector::Kernel).
    #[target_feature(enable = "avx2,f16c,fma")]
    pub(crate) unsafe fn shift_right(args: &[*const u8; 3], out: *mut u8, len: usize) {
        // SAFETY: the caller vouches for `len` elements each, and that `out` does not overlap them.
        let (x, y, out) =
            unsafe { (read::<i8>(args[0], len), read::<i8>(args[1], len), write::<i8>(out, len)) };
        let ((x, x_rest), (y, y_rest), (out, rest)) =
            (x.as_chunks(), y.as_chunks(), out.as_chunks_mut());
        for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
            shift_vector(x, y, out);
        }
        for ((out, &x), &y) in rest.iter_mut().zip(x_rest).zip(y_rest) {
            out.write(ShiftRight::apply(x, y));
        }
    }

    /// Every second element at a time, in lanes of 16 bits.
    #[inline]
    #[target_feature(enable = "avx2,f16c,fma")]
    fn shift_vector(x: &[i8; LANES], y: &[i8; LANES], out: &mut [MaybeUninit<i8>; LANES]) {
        // SAFETY: a vector is read from each of two vectors, and half of one from the table.
        let (x, y, factors) = unsafe {
            (
                _mm256_loadu_si256(x.as_ptr().cast::<__m256i>()),
                _mm256_loadu_si256(y.as_ptr().cast::<__m256i>()),
                _mm_loadu_si128(FACTORS.as_ptr().cast::<__m128i>()),
            )
        };
        let low = _mm256_set1_epi16(0xff);
        // An amount out of range, which as an unsigned number a negative one is too, shifts by 7: the sign is left.
        let amounts = _mm256_min_epu8(y, _mm256_set1_epi8(7));
        let factors = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(factors), amounts);
        let even = _mm256_mullo_epi16(
            _mm256_srai_epi16::<8>(_mm256_slli_epi16::<8>(x)),
            _mm256_and_si256(factors, low),
        );
        let odd = _mm256_mullo_epi16(_mm256_srai_epi16::<8>(x), _mm256_srli_epi16::<8>(factors));
        // The product of an odd one goes to the upper byte: 7 to the right and 8 to the left.
        let result =
            _mm256_blendv_epi8(_mm256_slli_epi16::<1>(odd), _mm256_srai_epi16::<7>(even), low);
        // SAFETY: a vector is written to as many elements.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast::<__m256i>(), result) };
    }
}
