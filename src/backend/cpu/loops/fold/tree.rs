//! Sums and products of floats in the order of a perfect binary tree: every loop combines subtrees of eight.

use crate::backend::cpu::loops::element::Apply;
use crate::backend::cpu::loops::vector::{read, write};
use crate::cast::Cast;

/// Combines every eight elements; those that are missing from the last eight are left out.
///
/// # Safety
///
/// See [`Kernel`](crate::backend::cpu::loops::vector::Kernel); there are an eighth of the results, rounded up.
#[inline(always)]
pub(super) unsafe fn eighths<S, T, F>(args: &[*const u8; 3], out: *mut u8, len: usize)
where
    S: Cast<T> + Copy,
    T: Copy,
    F: Apply<T, Output = T>,
{
    // SAFETY: the caller vouches for the elements and the room.
    let (x, out) = unsafe { (read::<S>(args[0], len), write::<T>(out, len.div_ceil(8))) };
    let (x, rest) = x.as_chunks::<8>();
    for (out, x) in out.iter_mut().zip(x) {
        let pair = |first: usize| F::apply(x[first].cast(), x[first + 1].cast());
        let left = F::apply(pair(0), pair(2));
        out.write(F::apply(left, F::apply(pair(4), pair(6))));
    }
    if let Some(out) = out.get_mut(x.len())
        && let Some(total) = few::<S, T, F>(rest)
    {
        out.write(total);
    }
}

/// Combines fewer than eight elements; `None` if there is none.
#[inline(always)]
fn few<S: Cast<T> + Copy, T: Copy, F: Apply<T, Output = T>>(x: &[S]) -> Option<T> {
    let pair = |x: &[S]| match *x {
        [] => None,
        [x] => Some(x.cast()),
        [x, y, ..] => Some(F::apply(x.cast(), y.cast())),
    };
    let join = |x: Option<T>, y: Option<T>| match (x, y) {
        (Some(x), Some(y)) => Some(F::apply(x, y)),
        _ => x,
    };
    let from = |first: usize| x.get(first..).unwrap_or_default();
    join(join(pair(x), pair(from(2))), join(pair(from(4)), pair(from(6))))
}

/// The loops of a function of `f64`, over elements of both widths: vectors are combined with their neighbours in the
/// machine's own shuffles, which the compiler does not find.
macro_rules! wide {
    ($module:ident $function:ident $of_256:ident $of_512:ident) => {
        pub(super) mod $module {
            use crate::backend::cpu::loops::element::$function as Function;
            use crate::backend::cpu::loops::vector::Versions;
            #[cfg(target_arch = "x86_64")]
            use std::arch::x86_64::*;

            pub(in super::super) const F32: Versions = [
                super::super::baseline::eighths::<f32, f64, Function>,
                #[cfg(target_arch = "x86_64")]
                avx2_f32,
                #[cfg(target_arch = "x86_64")]
                avx512_f32,
            ];
            pub(in super::super) const F64: Versions = [
                super::super::baseline::eighths::<f64, f64, Function>,
                #[cfg(target_arch = "x86_64")]
                avx2_f64,
                #[cfg(target_arch = "x86_64")]
                avx512_f64,
            ];

            #[cfg(target_arch = "x86_64")]
            wide!(@ avx2_f32 $of_256 f32 |x| _mm256_cvtps_pd(_mm_loadu_ps(x)), four_of_256, "avx2,f16c,fma");
            #[cfg(target_arch = "x86_64")]
            wide!(@ avx2_f64 $of_256 f64 |x| _mm256_loadu_pd(x), four_of_256, "avx2,f16c,fma");
            #[cfg(target_arch = "x86_64")]
            wide!(@ avx512_f32 $of_512 f32 |x| _mm512_cvtps_pd(_mm256_loadu_ps(x)), eight_of_512,
                "avx512f,avx512bw,avx512vl,avx512dq,f16c,fma");
            #[cfg(target_arch = "x86_64")]
            wide!(@ avx512_f64 $of_512 f64 |x| _mm512_loadu_pd(x), eight_of_512,
                "avx512f,avx512bw,avx512vl,avx512dq,f16c,fma");
        }
    };
    (@ $name:ident $apply:ident $terms:ident |$x:ident| $load:expr, $totals:ident, $features:literal) => {
        /// # Safety
        ///
        /// As for [`super::eighths`].
        #[target_feature(enable = $features)]
        unsafe fn $name(args: &[*const u8; 3], out: *mut u8, len: usize) {
            let (mut from, mut to) = (args[0].cast::<$terms>(), out.cast::<f64>());
            let mut left = len;
            wide!(@@ $totals $apply |$x| $load, from to left);
            // SAFETY: these are the elements that are left, and there is room for as many results.
            unsafe { super::eighths::<$terms, f64, Function>(&[from.cast(); 3], to.cast(), left) };
        }
    };
    // Eight vectors of eight, each of which becomes one total. Three times, two vectors become one of twice the neighbours.
    (@@ eight_of_512 $apply:ident |$x:ident| $load:expr, $from:ident $to:ident $left:ident) => {
        while $left >= 64 {
            // SAFETY: there are so many elements, and there is room for the results.
            unsafe {
                let load = |index: usize| {
                    let $x = $from.add(8 * index);
                    $load
                };
                let ones = |index: usize| {
                    let (a, b) = (load(index), load(index + 1));
                    $apply(_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b))
                };
                let pairs = |a: __m512d, b: __m512d| {
                    let even = _mm512_shuffle_f64x2::<0b10_00_10_00>(a, b);
                    $apply(even, _mm512_shuffle_f64x2::<0b11_01_11_01>(a, b))
                };
                let fours = |index: usize| pairs(ones(index), ones(index + 2));
                _mm512_storeu_pd($to, pairs(fours(0), fours(4)));
                $from = $from.add(64);
                $to = $to.add(8);
            }
            $left -= 64;
        }
    };
    // Eight vectors of four, two of which become one total.
    (@@ four_of_256 $apply:ident |$x:ident| $load:expr, $from:ident $to:ident $left:ident) => {
        while $left >= 32 {
            // SAFETY: there are so many elements, and there is room for the results.
            unsafe {
                let load = |index: usize| {
                    let $x = $from.add(4 * index);
                    $load
                };
                let neighbours =
                    |a: __m256d, b: __m256d| $apply(_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
                let fours = |index: usize| {
                    let a = neighbours(load(index), load(index + 1));
                    let b = neighbours(load(index + 2), load(index + 3));
                    $apply(_mm256_permute2f128_pd::<0x20>(a, b), _mm256_permute2f128_pd::<0x31>(a, b))
                };
                let eights = neighbours(fours(0), fours(4));
                _mm256_storeu_pd($to, _mm256_permute4x64_pd::<0b11_01_10_00>(eights));
                $from = $from.add(32);
                $to = $to.add(4);
            }
            $left -= 32;
        }
    };
}

wide!(sums Add _mm256_add_pd _mm512_add_pd);
wide!(products Multiply _mm256_mul_pd _mm512_mul_pd);

#[cfg(test)]
mod tests {
    use super::super::fold;
    use crate::DType;
    use crate::backend::cpu::settings::Level;
    use crate::op::ElementOp;

    /// Numbers whose sums and products round differently in every order.
    fn number(index: usize) -> f64 {
        let scattered = (index as u32).wrapping_mul(2_654_435_761);
        1.0 + f64::from(scattered) / f64::from(u32::MAX) + f64::from(scattered % 7) * 2f64.powi(-30)
    }

    #[test]
    fn subtrees_of_eight_are_combined_in_order() {
        for combine in [ElementOp::Add, ElementOp::Multiply] {
            let apply = |x: f64, y: f64| if combine == ElementOp::Add { x + y } else { x * y };
            for len in (1..140).chain([512, 700]) {
                let wide: Vec<f64> = (0..len).map(number).collect();
                let narrow: Vec<f32> = wide.iter().map(|&x| x as f32).collect();
                for (dtype, from) in
                    [(DType::F64, wide.as_ptr().cast::<u8>()), (DType::F32, narrow.as_ptr().cast())]
                {
                    let mut expected: Vec<f64> = match dtype {
                        DType::F64 => wide.clone(),
                        _ => narrow.iter().map(|&x| x.into()).collect(),
                    };
                    for _ in 0..3 {
                        expected = expected
                            .chunks(2)
                            .map(|pair| if let [x, y] = *pair { apply(x, y) } else { pair[0] })
                            .collect();
                    }
                    for level in Level::available() {
                        let kernel = fold(combine, dtype).unwrap().first[level as usize];
                        let mut totals = vec![0.0f64; len.div_ceil(8)];
                        // SAFETY: there are so many elements, and there is room for an eighth.
                        unsafe { kernel(&[from; 3], totals.as_mut_ptr().cast(), len) };
                        assert_eq!(totals, expected, "{combine:?} of {len} {dtype}, {level:?}");
                    }
                }
            }
        }
    }
}
