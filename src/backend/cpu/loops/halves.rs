//! Loops over `f16` that use the machine's own conversions from and to `f32`, eight elements at a time.
//!
//! Except for the payloads of NaNs, the results are those of the loops that are compiled from the conversions of
//! `cast`, in a third of the time.

use half::f16;

use super::element::{Apply, CastTo};
use super::vector::{Kernels, Versions, plain};

/// The loops of a binary function that is computed in `f32`.
pub(crate) const fn of_two<F>(commutes: bool) -> Kernels
where
    F: Apply<f16, Output = f16> + Apply<f32, Output = f32>,
{
    Kernels {
        all: versions!(plain::both::<f16, F>, f16c::both::<F>),
        constant_lhs: None,
        constant_rhs: Some(versions!(plain::constant_rhs::<f16, F>, f16c::constant_rhs::<F>)),
        commutes,
    }
}

/// The loops that convert to `f32`.
pub(crate) const fn widen() -> Kernels {
    Kernels::only(versions!(plain::each::<f16, CastTo<f32>>, f16c::widen))
}

/// The loops that convert from `f32`.
pub(crate) const fn narrow() -> Kernels {
    Kernels::only(versions!(plain::each::<f32, CastTo<f16>>, f16c::narrow))
}

/// A loop for the machines with the conversions, and one for those without.
macro_rules! versions {
    ($plain:expr, $converting:expr) => {{
        #[cfg(target_arch = "x86_64")]
        let versions: Versions = [$plain, $converting, $converting];
        #[cfg(not(target_arch = "x86_64"))]
        let versions: Versions = [$plain];
        versions
    }};
}
use versions;

#[cfg(target_arch = "x86_64")]
mod f16c {
    use std::arch::x86_64::{
        __m128i, __m256i, _MM_FROUND_TO_NEAREST_INT, _mm_loadu_si128, _mm_storeu_si128,
        _mm256_cvtph_ps, _mm256_cvtps_ph, _mm256_loadu_ps, _mm256_set_m128i, _mm256_storeu_ps,
        _mm256_storeu_si256,
    };
    use std::mem::MaybeUninit;

    use half::f16;

    use super::Apply;
    use crate::backend::cpu::loops::vector::{read, write};
    use crate::cast::{f16_to_f32, f32_to_f16};

    /// The number of elements that an instruction converts.
    const LANES: usize = 8;

    #[inline]
    #[target_feature(enable = "avx2,f16c,fma")]
    fn load(from: &[f16; LANES]) -> [f32; LANES] {
        let mut wide = [0.0; LANES];
        // SAFETY: eight elements are read, and eight written.
        unsafe {
            let narrow = _mm_loadu_si128(from.as_ptr().cast::<__m128i>());
            _mm256_storeu_ps(wide.as_mut_ptr(), _mm256_cvtph_ps(narrow));
        }
        wide
    }

    #[inline]
    #[target_feature(enable = "avx2,f16c,fma")]
    fn store(wide: &[f32; LANES], to: &mut [MaybeUninit<f16>; LANES]) {
        // SAFETY: eight elements are read, and eight written.
        unsafe {
            let wide = _mm256_loadu_ps(wide.as_ptr());
            let narrow = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(wide);
            _mm_storeu_si128(to.as_mut_ptr().cast::<__m128i>(), narrow);
        }
    }

    /// Converts two vectors and stores them as one: a conversion that writes to memory itself takes longer.
    #[inline]
    #[target_feature(enable = "avx2,f16c,fma")]
    fn store_pair(wide: &[f32; 2 * LANES], to: &mut [MaybeUninit<f16>; 2 * LANES]) {
        // SAFETY: sixteen elements are read, and sixteen written.
        unsafe {
            let narrow = |half: usize| {
                let wide = _mm256_loadu_ps(wide.as_ptr().add(half * LANES));
                _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(wide)
            };
            let pair = _mm256_set_m128i(narrow(1), narrow(0));
            _mm256_storeu_si256(to.as_mut_ptr().cast::<__m256i>(), pair);
        }
    }

    /// # Safety
    ///
    /// See [`Kernel`](crate::backend::cpu::loops::vector::Kernel).
    #[target_feature(enable = "avx2,f16c,fma")]
    pub(crate) unsafe fn both<F>(args: &[*const u8; 3], out: *mut u8, len: usize)
    where
        F: Apply<f16, Output = f16> + Apply<f32, Output = f32>,
    {
        // SAFETY: the caller vouches for `len` elements each, and that `out` does not overlap them.
        let (x, y, out) = unsafe {
            (read::<f16>(args[0], len), read::<f16>(args[1], len), write::<f16>(out, len))
        };
        let ((x, x_rest), (y, y_rest), (out, rest)) =
            (x.as_chunks(), y.as_chunks(), out.as_chunks_mut());
        for ((out, x), y) in out.iter_mut().zip(x).zip(y) {
            let (x, y) = (load(x), load(y));
            let mut results = [0.0; LANES];
            for (result, (&x, &y)) in results.iter_mut().zip(x.iter().zip(&y)) {
                *result = <F as Apply<f32>>::apply(x, y);
            }
            store(&results, out);
        }
        for ((out, &x), &y) in rest.iter_mut().zip(x_rest).zip(y_rest) {
            out.write(<F as Apply<f16>>::apply(x, y));
        }
    }

    /// # Safety
    ///
    /// See [`Kernel`](crate::backend::cpu::loops::vector::Kernel).
    #[target_feature(enable = "avx2,f16c,fma")]
    pub(crate) unsafe fn constant_rhs<F>(args: &[*const u8; 3], out: *mut u8, len: usize)
    where
        F: Apply<f16, Output = f16> + Apply<f32, Output = f32>,
    {
        // SAFETY: the caller vouches for `len` elements and one element, which `out` does not overlap.
        let (x, y, out) = unsafe {
            (read::<f16>(args[0], len), args[1].cast::<f16>().read(), write::<f16>(out, len))
        };
        let ((x, x_rest), (out, rest)) = (x.as_chunks(), out.as_chunks_mut());
        let wide = f16_to_f32(y);
        for (out, x) in out.iter_mut().zip(x) {
            let x = load(x);
            let mut results = [0.0; LANES];
            for (result, &x) in results.iter_mut().zip(&x) {
                *result = <F as Apply<f32>>::apply(x, wide);
            }
            store(&results, out);
        }
        for (out, &x) in rest.iter_mut().zip(x_rest) {
            out.write(<F as Apply<f16>>::apply(x, y));
        }
    }

    /// # Safety
    ///
    /// See [`Kernel`](crate::backend::cpu::loops::vector::Kernel).
    #[target_feature(enable = "avx2,f16c,fma")]
    pub(crate) unsafe fn widen(args: &[*const u8; 3], out: *mut u8, len: usize) {
        // SAFETY: the caller vouches for `len` elements each, and that `out` does not overlap them.
        let (x, out) = unsafe { (read::<f16>(args[0], len), write::<f32>(out, len)) };
        let ((x, x_rest), (out, rest)) = (x.as_chunks::<LANES>(), out.as_chunks_mut::<LANES>());
        for (out, x) in out.iter_mut().zip(x) {
            for (out, wide) in out.iter_mut().zip(load(x)) {
                out.write(wide);
            }
        }
        for (out, &x) in rest.iter_mut().zip(x_rest) {
            out.write(f16_to_f32(x));
        }
    }

    /// # Safety
    ///
    /// See [`Kernel`](crate::backend::cpu::loops::vector::Kernel).
    #[target_feature(enable = "avx2,f16c,fma")]
    pub(crate) unsafe fn narrow(args: &[*const u8; 3], out: *mut u8, len: usize) {
        // SAFETY: the caller vouches for `len` elements each, and that `out` does not overlap them.
        let (x, out) = unsafe { (read::<f32>(args[0], len), write::<f16>(out, len)) };
        let ((x, x_rest), (out, rest)) =
            (x.as_chunks::<{ 2 * LANES }>(), out.as_chunks_mut::<{ 2 * LANES }>());
        for (out, x) in out.iter_mut().zip(x) {
            store_pair(x, out);
        }
        for (out, &x) in rest.iter_mut().zip(x_rest) {
            out.write(f32_to_f16(x));
        }
    }
}
