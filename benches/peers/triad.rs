//! What the machine's memory can do: `a = b + 3 c` over `f32`, by hand, written past the caches.

use std::hint::black_box;

use rayon::ThreadPoolBuilder;
use rayon::prelude::*;

use crate::Call;

/// A triad over three arrays of this length, a multiple of 16.
pub fn prepare(len: usize, threads: usize) -> Call {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let mut a = Array::new(len);
    let (b, c) = (Array::new(len), Array::new(len));
    let part = (len / (8 * threads)).next_multiple_of(16);
    Box::new(move || {
        let (a, b, c) = (black_box(a.lines()), black_box(b.as_lines()), black_box(c.as_lines()));
        let part = part / 16;
        pool.install(|| {
            a.par_chunks_mut(part)
                .zip(b.par_chunks(part).zip(c.par_chunks(part)))
                .for_each(|(a, (b, c))| triad(a, b, c));
        });
    })
}

/// A cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([f32; 16]);

/// Lines that start at a huge page, as tensors of this size do.
struct Array {
    lines: Vec<Line>,
    skipped: usize,
}

impl Array {
    fn new(len: usize) -> Array {
        const PAGE: usize = (2 << 20) / size_of::<Line>();
        let mut lines = Vec::<Line>::with_capacity(len / 16 + PAGE);
        let start = lines.as_mut_ptr();
        let skipped = start.align_offset(2 << 20);
        #[cfg(target_os = "linux")]
        // SAFETY: advice about memory that is this vector's changes no contents.
        unsafe {
            let bytes = len * size_of::<f32>();
            libc::madvise(start.add(skipped).cast(), bytes, libc::MADV_HUGEPAGE);
        }
        lines.resize(len / 16 + skipped, Line([1.5; 16]));
        Array { lines, skipped }
    }

    fn lines(&mut self) -> &mut [Line] {
        &mut self.lines[self.skipped..]
    }

    fn as_lines(&self) -> &[Line] {
        &self.lines[self.skipped..]
    }
}

fn triad(a: &mut [Line], b: &[Line], c: &[Line]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the machine has the instructions.
        return unsafe { streamed(a, b, c) };
    }
    for (a, (b, c)) in a.iter_mut().zip(b.iter().zip(c)) {
        for (a, (b, c)) in a.0.iter_mut().zip(b.0.iter().zip(c.0)) {
            *a = b + 3.0 * c;
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn streamed(a: &mut [Line], b: &[Line], c: &[Line]) {
    use std::arch::x86_64::{
        _mm_sfence, _mm256_add_ps, _mm256_load_ps, _mm256_mul_ps, _mm256_set1_ps, _mm256_stream_ps,
    };
    let three = _mm256_set1_ps(3.0);
    for (a, (b, c)) in a.iter_mut().zip(b.iter().zip(c)) {
        for half in [0, 8] {
            // SAFETY: half a line is 8 numbers, aligned to 32 bytes.
            unsafe {
                let product = _mm256_mul_ps(three, _mm256_load_ps(c.0.as_ptr().add(half)));
                let sum = _mm256_add_ps(_mm256_load_ps(b.0.as_ptr().add(half)), product);
                _mm256_stream_ps(a.0.as_mut_ptr().add(half), sum);
            }
        }
    }
    // Puts the stores above in order before what other threads are told.
    _mm_sfence();
}
