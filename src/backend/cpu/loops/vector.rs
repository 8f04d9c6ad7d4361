//! The inner loops: one function of elements over contiguous elements.
//!
//! Every loop is a plain iteration over slices, which the compiler turns into vector code, once for each set of
//! instructions. Elements with other strides, or one element where a loop needs many, are copied into blocks by
//! `transfer`; so there is one loop per function and type, not one per layout.

use std::mem::MaybeUninit;
use std::slice;

use super::element::{Apply, ApplyNear, FmaInHardware, FmaInSoftware, Fuse, Map};
use crate::backend::cpu::settings::Level;

/// A loop over `len` elements: reads its arguments, writes `out`. Arguments beyond its arity are ignored.
///
/// # Safety
///
/// Each argument must be valid for reads of as many elements as the loop takes from it (`len`, or one where it is
/// constant), `out` for writes of `len` elements; all aligned for their types, and `out` must not overlap
/// the arguments. The machine must have the instructions that the loop was compiled for.
pub(crate) type Kernel = unsafe fn(args: &[*const u8; 3], out: *mut u8, len: usize);

/// One loop, for every level.
pub(crate) type Versions = [Kernel; Level::COUNT];

/// The loops of one function.
pub(crate) struct Kernels {
    /// Every argument has `len` elements.
    pub(crate) all: Versions,
    /// The left one of two arguments is one element.
    pub(crate) constant_lhs: Option<Versions>,
    /// The right one of two arguments is one element.
    pub(crate) constant_rhs: Option<Versions>,
    /// Whether two arguments may be swapped.
    pub(crate) commutes: bool,
}

/// A loop's versions for every level.
macro_rules! versions {
    ($function:ident::<$($generic:ty),*>) => {
        [
            baseline::$function::<$($generic),*> as Kernel,
            #[cfg(target_arch = "x86_64")]
            (avx2::$function::<$($generic),*> as Kernel),
            #[cfg(target_arch = "x86_64")]
            (avx512::$function::<$($generic),*> as Kernel),
        ]
    };
}

impl Kernels {
    /// Two arguments, either of which may be one element.
    pub(crate) const fn of_two<T: Copy, F: Apply<T>>() -> Kernels {
        Kernels {
            all: versions!(both::<T, F>),
            constant_lhs: Some(versions!(constant_lhs::<T, F>)),
            constant_rhs: Some(versions!(constant_rhs::<T, F>)),
            commutes: false,
        }
    }

    /// Two arguments whose order does not matter, one of which may be one element.
    pub(crate) const fn symmetric<T: Copy, F: Apply<T>>() -> Kernels {
        Kernels {
            all: versions!(both::<T, F>),
            constant_lhs: None,
            constant_rhs: Some(versions!(constant_rhs::<T, F>)),
            commutes: true,
        }
    }

    /// Two arguments of a function that costs more than repeating an argument that is one element.
    pub(crate) const fn heavy<T: Copy, F: Apply<T>>() -> Kernels {
        Kernels::only(versions!(both::<T, F>))
    }

    /// Two arguments of a function with a fast path for most of them.
    pub(crate) const fn near<T: Copy, F: ApplyNear<T>>() -> Kernels {
        Kernels::only(versions!(both_near::<T, F>))
    }

    /// Two arguments of a function that vector instructions do not speed up.
    pub(crate) const fn scalar<T: Copy, F: Apply<T>>() -> Kernels {
        Kernels::only([baseline::both::<T, F>; Level::COUNT])
    }

    /// One argument.
    pub(crate) const fn of_one<T: Copy, F: Map<T>>() -> Kernels {
        Kernels::only(versions!(each::<T, F>))
    }

    /// A selection of the second or the third argument by the first, a bool; only the size of `T` matters.
    pub(crate) const fn select<T: Copy>() -> Kernels {
        Kernels::only(versions!(select::<T>))
    }

    /// Three arguments.
    pub(crate) const fn of_three<T: Copy, F: Fuse<T>>() -> Kernels {
        Kernels::only(versions!(three::<T, F>))
    }

    /// A fused multiplication and addition of three arguments, by the instruction at the levels that have it.
    pub(crate) const fn fma<T: Copy>() -> Kernels
    where
        FmaInHardware: Fuse<T>,
        FmaInSoftware: Fuse<T>,
    {
        let mut all = versions!(three::<T, FmaInHardware>);
        if !cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
            all[0] = baseline::three::<T, FmaInSoftware>;
        }
        Kernels::only(all)
    }

    /// Combines all elements up to each one, in the order of a tree.
    pub(crate) const fn prefixes<T: Copy, F: Apply<T, Output = T>>() -> Versions {
        versions!(prefixes::<T, F>)
    }

    /// Combines all elements up to each one, one after another, which is no work for vectors. The second argument is what
    /// comes before them: one element, or null.
    pub(crate) const fn running<T: Copy, F: Apply<T, Output = T>>() -> Versions {
        [baseline::running::<T, F>; Level::COUNT]
    }

    pub(crate) const fn only(all: Versions) -> Kernels {
        Kernels { all, constant_lhs: None, constant_rhs: None, commutes: false }
    }
}

/// The loops compiled for one set of instructions. The element functions are inlined into them, so
/// each set gets vector code of its own from the same source.
macro_rules! loops_for {
    ($name:ident $(#[$feature:meta])?) => {
        pub(crate) mod $name {
            use super::{Apply, ApplyNear, Fuse, Map, read, write};

            /// # Safety
            ///
            /// See [`crate::backend::cpu::Kernel`].
            $(#[$feature])?
            pub(crate) unsafe fn each<T: Copy, F: Map<T>>(
                args: &[*const u8; 3],
                out: *mut u8,
                len: usize,
            ) {
                // SAFETY: the caller vouches for `len` elements each, and that `out` does not overlap them.
                let (x, out) = unsafe { (read::<T>(args[0], len), write(out, len)) };
                for (out, &x) in out.iter_mut().zip(x) {
                    out.write(F::map(x));
                }
            }

            /// # Safety
            ///
            /// See [`crate::backend::cpu::Kernel`].
            $(#[$feature])?
            pub(crate) unsafe fn both<T: Copy, F: Apply<T>>(
                args: &[*const u8; 3],
                out: *mut u8,
                len: usize,
            ) {
                // SAFETY: the caller vouches for `len` elements each, and that `out` does not overlap them.
                let (x, y) = unsafe { (read(args[0], len), read(args[1], len)) };
                // SAFETY: the same.
                let out = unsafe { write(out, len) };
                for ((out, &x), &y) in out.iter_mut().zip(x).zip(y) {
                    out.write(F::apply(x, y));
                }
            }

            /// # Safety
            ///
            /// See [`crate::backend::cpu::Kernel`].
            $(#[$feature])?
            pub(crate) unsafe fn both_near<T: Copy, F: ApplyNear<T>>(
                args: &[*const u8; 3],
                out: *mut u8,
                len: usize,
            ) {
                const PIECE: usize = 64;
                // SAFETY: the caller vouches for `len` elements each, and that `out` does not overlap them.
                let (x, y) = unsafe { (read::<T>(args[0], len), read::<T>(args[1], len)) };
                // SAFETY: the same.
                let out = unsafe { write(out, len) };
                for ((out, x), y) in out.chunks_mut(PIECE).zip(x.chunks(PIECE)).zip(y.chunks(PIECE)) {
                    // One test for the whole piece, so that this is vector code too.
                    let mut is_far = false;
                    for (&x, &y) in x.iter().zip(y) {
                        is_far |= F::is_far(x, y);
                    }
                    let all = out.iter_mut().zip(x).zip(y);
                    if is_far {
                        for ((out, &x), &y) in all {
                            out.write(F::apply(x, y));
                        }
                    } else {
                        for ((out, &x), &y) in all {
                            out.write(F::apply_near(x, y));
                        }
                    }
                }
            }

            /// # Safety
            ///
            /// See [`crate::backend::cpu::Kernel`].
            $(#[$feature])?
            pub(crate) unsafe fn constant_lhs<T: Copy, F: Apply<T>>(
                args: &[*const u8; 3],
                out: *mut u8,
                len: usize,
            ) {
                // SAFETY: the caller vouches for one element and `len` elements, which `out` does not overlap.
                let (x, y) = unsafe { (args[0].cast::<T>().read(), read(args[1], len)) };
                // SAFETY: the same.
                let out = unsafe { write(out, len) };
                for (out, &y) in out.iter_mut().zip(y) {
                    out.write(F::apply(x, y));
                }
            }

            /// # Safety
            ///
            /// See [`crate::backend::cpu::Kernel`].
            $(#[$feature])?
            pub(crate) unsafe fn constant_rhs<T: Copy, F: Apply<T>>(
                args: &[*const u8; 3],
                out: *mut u8,
                len: usize,
            ) {
                // SAFETY: the caller vouches for one element and `len` elements, which `out` does not overlap.
                let (x, y) = unsafe { (read(args[0], len), args[1].cast::<T>().read()) };
                // SAFETY: the same.
                let out = unsafe { write(out, len) };
                for (out, &x) in out.iter_mut().zip(x) {
                    out.write(F::apply(x, y));
                }
            }

            /// # Safety
            ///
            /// See [`crate::backend::cpu::Kernel`].
            $(#[$feature])?
            pub(crate) unsafe fn three<T: Copy, F: Fuse<T>>(
                args: &[*const u8; 3],
                out: *mut u8,
                len: usize,
            ) {
                // SAFETY: the caller vouches for `len` elements each, and that `out` does not overlap them.
                let [x, y, z] = args.map(|start| unsafe { read::<T>(start, len) });
                // SAFETY: the same.
                let out = unsafe { write(out, len) };
                for (((out, &x), &y), &z) in out.iter_mut().zip(x).zip(y).zip(z) {
                    out.write(F::fuse(x, y, z));
                }
            }

            /// # Safety
            ///
            /// See [`crate::backend::cpu::Kernel`].
            $(#[$feature])?
            pub(crate) unsafe fn prefixes<T: Copy, F: Apply<T, Output = T>>(
                args: &[*const u8; 3],
                out: *mut u8,
                len: usize,
            ) {
                // SAFETY: the caller vouches for the elements, and that `out` does not overlap them; they are written
                // before they are seen as a slice.
                let out = unsafe {
                    out.cast::<T>().copy_from_nonoverlapping(args[0].cast(), len);
                    std::slice::from_raw_parts_mut(out.cast::<T>(), len)
                };
                // The three lowest levels without loops, whose overhead would be larger than their work.
                let (eights, rest) = out.as_chunks_mut::<8>();
                for [a, b, c, d, e, f, g, h] in eights {
                    *b = F::apply(*a, *b);
                    *d = F::apply(*b, F::apply(*c, *d));
                    *c = F::apply(*b, *c);
                    *f = F::apply(*e, *f);
                    let gh = F::apply(*f, F::apply(*g, *h));
                    *g = F::apply(*d, F::apply(*f, *g));
                    *h = F::apply(*d, gh);
                    *f = F::apply(*d, *f);
                    *e = F::apply(*d, *e);
                }
                super::join_halves::<T, F>(rest, 1);
                super::join_halves::<T, F>(out, 8);
            }

            /// # Safety
            ///
            /// See [`crate::backend::cpu::Kernel`]; the second argument is one element or null.
            #[allow(dead_code, reason = "only one of the versions is used")]
            $(#[$feature])?
            pub(crate) unsafe fn running<T: Copy, F: Apply<T, Output = T>>(
                args: &[*const u8; 3],
                out: *mut u8,
                len: usize,
            ) {
                // SAFETY: the caller vouches for the elements, and that `out` does not overlap them.
                let (x, out) = unsafe { (read::<T>(args[0], len), write(out, len)) };
                let before = args[1].cast::<T>();
                // SAFETY: the caller vouches for the element.
                let mut total = if before.is_null() { None } else { Some(unsafe { before.read() }) };
                for (out, &x) in out.iter_mut().zip(x) {
                    let next = total.map_or(x, |total| F::apply(total, x));
                    out.write(next);
                    total = Some(next);
                }
            }

            /// # Safety
            ///
            /// See [`crate::backend::cpu::Kernel`].
            $(#[$feature])?
            pub(crate) unsafe fn select<T: Copy>(
                args: &[*const u8; 3],
                out: *mut u8,
                len: usize,
            ) {
                // SAFETY: the caller vouches for `len` elements each, and that `out` does not overlap them.
                let (condition, x, y, out) = unsafe {
                    (
                        read::<u8>(args[0], len),
                        read::<T>(args[1], len),
                        read::<T>(args[2], len),
                        write(out, len),
                    )
                };
                for (((out, &condition), &x), &y) in out.iter_mut().zip(condition).zip(x).zip(y) {
                    out.write(if condition != 0 { x } else { y });
                }
            }
        }
    };
}

/// Makes prefixes of longer runs of those of runs of `half` elements, until there is one run.
#[inline(always)]
fn join_halves<T: Copy, F: Apply<T, Output = T>>(prefixes: &mut [T], half: usize) {
    let mut half = half;
    while half < prefixes.len() {
        for run in prefixes.chunks_mut(2 * half) {
            if let Some((left, right)) = run.split_at_mut_checked(half) {
                let total = left[half - 1];
                for prefix in right {
                    *prefix = F::apply(total, *prefix);
                }
            }
        }
        half *= 2;
    }
}

loops_for!(baseline);
pub(crate) use baseline as plain;
#[cfg(target_arch = "x86_64")]
loops_for!(avx2 #[target_feature(enable = "avx2,f16c,fma")]);
#[cfg(target_arch = "x86_64")]
loops_for!(avx512 #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,f16c,fma")]);

/// # Safety
///
/// `start` must be aligned and valid for reads of `len` elements while the slice is used.
#[inline(always)]
pub(crate) unsafe fn read<'a, T>(start: *const u8, len: usize) -> &'a [T] {
    debug_assert!(start.cast::<T>().is_aligned());
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(start.cast(), len) }
}

/// # Safety
///
/// `start` must be aligned, valid for writes of `len` elements, and touched by nothing else while
/// the slice is used.
#[inline(always)]
pub(crate) unsafe fn write<'a, T>(start: *mut u8, len: usize) -> &'a mut [MaybeUninit<T>] {
    debug_assert!(start.cast::<T>().is_aligned());
    // SAFETY: the caller's promise; the elements need not be initialised.
    unsafe { slice::from_raw_parts_mut(start.cast(), len) }
}
