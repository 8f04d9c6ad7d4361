//! Folds: loops that combine many contiguous elements.
//!
//! Sums and products of floats have a fixed order, which `tree` follows. Everything else gives the same in any order, and
//! so do sums of `f16`, in `halves`: every lane of a vector combines elements of its own. The compiler finds that for
//! integers, so that extremes of floats are those of integers, in `extreme`.

mod extreme;
mod halves;
pub(crate) mod running;
mod tree;

use half::{bf16, f16};
use num_complex::Complex;

use super::element::{self, Apply};
use super::vector::{Versions, read, write};
use crate::DType;
use crate::backend::cpu::settings::Level;
use crate::cast::Cast;
use crate::op::ElementOp;

/// The most terms that are folded at a time. A sum of so many integers of 16 bits fits 32.
pub(crate) const MAX_RUN: usize = 8192;

/// How many rows a [`RowKernel`] combines.
pub(crate) const ROWS: usize = 8;

/// A loop over `len` elements of each of several rows: combines those of one place, as a tree, and writes them to `out`.
///
/// # Safety
///
/// As for [`Kernel`](super::vector::Kernel), with the rows as arguments.
pub(crate) type RowKernel = unsafe fn(rows: &[*const u8; ROWS], out: *mut u8, len: usize);

/// How terms of a dtype are combined to totals.
pub(crate) struct Fold {
    /// The dtype that terms are converted to before.
    pub(crate) terms: DType,
    /// Combines terms: every eight, of which the last may be fewer, or all of them if there is no next loop.
    pub(crate) first: Versions,
    /// Combines every eight totals.
    pub(crate) next: Option<Versions>,
    /// Combines rows of terms to one of totals.
    pub(crate) rows: [RowKernel; Level::COUNT],
}

/// A loop's versions for every level.
macro_rules! versions {
    ($function:ident $generics:tt) => {
        [
            versions!(@ baseline $function $generics),
            #[cfg(target_arch = "x86_64")]
            versions!(@ avx2 $function $generics),
            #[cfg(target_arch = "x86_64")]
            versions!(@ avx512 $function $generics),
        ]
    };
    (@ $level:ident $function:ident [$($generics:tt)*]) => {
        $level::$function::<$($generics)*>
    };
}

/// The fold of an operation that gives the same in every order: of terms of the first type, in numbers of the second, to
/// totals of the third.
macro_rules! any_order {
    ($dtype:ident $function:ident $terms:ty, $middle:ty, $total:ty) => {
        Fold {
            terms: DType::$dtype,
            first: versions!(any_order [$terms, $middle, $total, element::$function]),
            next: None,
            rows: versions!(rows [$terms, $total, element::$function]),
        }
    };
}

/// The folds of an operation on elements of one type, which are also the totals; it has none of the other dtypes.
macro_rules! same {
    (
        $dtype:ident: $function:ident $([$($name:ident)+: $rust:ident])*
        else $($other:pat => $fold:expr),+
    ) => {
        match $dtype {
            $($(DType::$name => const { &any_order!($name $function $rust, $rust, $rust) },)+)*
            $($other => $fold,)+
        }
    };
}

/// The folds of an operation on bits.
macro_rules! bits {
    ($dtype:ident: $function:ident) => {
        same!($dtype: $function [Bool U8 I8: u8] [U16 I16: u16] [U32 I32: u32] [U64 I64: u64]
            else
            DType::F8E4M3FN | DType::F8E5M2 | DType::F16 | DType::BF16 => return None,
            DType::F32 | DType::F64 | DType::C64 | DType::C128 => return None)
    };
}

/// The folds of an extreme.
macro_rules! extremes {
    ($dtype:ident: $function:ident $largest:literal) => {
        same!($dtype: $function
            [Bool U8: u8] [U16: u16] [U32: u32] [U64: u64] [I8: i8] [I16: i16] [I32: i32] [I64: i64]
            else
            DType::F16 => const { &extremes!(@ F16 f16 $function $largest) },
            DType::BF16 => const { &extremes!(@ BF16 bf16 $function $largest) },
            DType::F32 => const { &extremes!(@ F32 f32 $function $largest) },
            DType::F64 => const { &extremes!(@ F64 f64 $function $largest) },
            DType::F8E4M3FN | DType::F8E5M2 | DType::C64 | DType::C128 => return None)
    };
    (@ $dtype:ident $rust:ident $function:ident $largest:literal) => {
        Fold {
            terms: DType::$dtype,
            first: versions!(extreme [$rust, $largest]),
            next: None,
            rows: versions!(extremes_of_rows [$rust, element::$function, $largest]),
        }
    };
}

/// The fold of a sum or product of floats.
macro_rules! tree {
    ($dtype:ident $function:ident $terms:ty, $total:ty, $first:expr, $next:expr) => {
        Fold {
            terms: DType::$dtype,
            first: $first,
            next: Some($next),
            rows: versions!(rows [$terms, $total, element::$function]),
        }
    };
}

/// The folds of sums or products: trees of floats and complex numbers, and those that are given of other dtypes. Floats of
/// 8 bits are converted to `f32` before.
macro_rules! trees {
    ($dtype:ident: $function:ident $module:ident; $($other:pat => $fold:expr,)+) => {
        match $dtype {
            $($other => $fold,)+
            DType::F8E4M3FN | DType::F8E5M2 => return None,
            DType::BF16 | DType::F32 => {
                const { &tree!(F32 $function f32, f64, tree::$module::F32, tree::$module::F64) }
            }
            DType::F64 => {
                const { &tree!(F64 $function f64, f64, tree::$module::F64, tree::$module::F64) }
            }
            DType::C64 => const {
                &tree!(C64 $function Complex<f32>, Complex<f64>,
                    versions!(eighths [Complex<f32>, Complex<f64>, element::$function]),
                    versions!(eighths [Complex<f64>, Complex<f64>, element::$function]))
            },
            DType::C128 => const {
                &tree!(C128 $function Complex<f64>, Complex<f64>,
                    versions!(eighths [Complex<f64>, Complex<f64>, element::$function]),
                    versions!(eighths [Complex<f64>, Complex<f64>, element::$function]))
            },
        }
    };
}

/// Returns the fold of terms of a dtype by an operation, or `None` if there is none.
pub(crate) fn fold(combine: ElementOp, terms: DType) -> Option<&'static Fold> {
    use DType::*;
    Some(match combine {
        ElementOp::Add => trees!(terms: Add sums;
            Bool | U8 => const { &any_order!(U8 Add u8, u32, u64) },
            I8 => const { &any_order!(I8 Add i8, i32, u64) },
            U16 => const { &any_order!(U16 Add u16, u32, u64) },
            I16 => const { &any_order!(I16 Add i16, i32, u64) },
            U32 => const { &any_order!(U32 Add u32, u64, u64) },
            I32 => const { &any_order!(I32 Add i32, u64, u64) },
            U64 | I64 => const { &any_order!(U64 Add u64, u64, u64) },
            F16 => const { &halves::FOLD },
        ),
        ElementOp::Multiply => trees!(terms: Multiply products;
            Bool | U8 | U16 | U32 | U64 | I8 | I16 | I32 | I64 => {
                const { &any_order!(U64 Multiply u64, u64, u64) }
            },
            F16 => const { &tree!(F32 Multiply f32, f64, tree::products::F32, tree::products::F64) },
        ),
        ElementOp::Maximum => extremes!(terms: Maximum true),
        ElementOp::Minimum => extremes!(terms: Minimum false),
        ElementOp::BitwiseAnd => bits!(terms: BitwiseAnd),
        ElementOp::BitwiseOr => bits!(terms: BitwiseOr),
        ElementOp::BitwiseXor => bits!(terms: BitwiseXor),
        _ => return None,
    })
}

/// The loops compiled for one set of instructions: what is inlined into them gets vector code of its own.
macro_rules! loops_for {
    ($name:ident $(#[$feature:meta])?) => {
        mod $name {
            use super::{Apply, Cast, ROWS, extreme, tree};

            /// # Safety
            ///
            /// See [`super::any_order`].
            $(#[$feature])?
            pub(super) unsafe fn any_order<S, M, T, F>(
                args: &[*const u8; 3],
                out: *mut u8,
                len: usize,
            ) where
                S: Cast<M> + Copy,
                M: Cast<T> + Copy,
                F: Apply<M, Output = M>,
            {
                // SAFETY: the caller's promise.
                unsafe { super::any_order::<S, M, T, F>(args, out, len) }
            }

            /// # Safety
            ///
            /// See [`super::RowKernel`].
            $(#[$feature])?
            pub(super) unsafe fn rows<S, T, F>(rows: &[*const u8; ROWS], out: *mut u8, len: usize)
            where
                S: Cast<T> + Copy,
                F: Apply<T, Output = T>,
            {
                // SAFETY: the caller's promise.
                unsafe { super::rows::<S, T, F>(rows, out, len) }
            }

            /// # Safety
            ///
            /// See [`extreme::fold`].
            $(#[$feature])?
            pub(super) unsafe fn extreme<T: extreme::Keyed, const LARGEST: bool>(
                args: &[*const u8; 3],
                out: *mut u8,
                len: usize,
            ) {
                // SAFETY: the caller's promise.
                unsafe { extreme::fold::<T, LARGEST>(args, out, len) }
            }

            /// # Safety
            ///
            /// See [`extreme::rows`].
            $(#[$feature])?
            pub(super) unsafe fn extremes_of_rows<T, F, const LARGEST: bool>(
                rows: &[*const u8; ROWS],
                out: *mut u8,
                len: usize,
            ) where
                T: extreme::Keyed + Cast<T>,
                F: Apply<T, Output = T>,
            {
                // SAFETY: the caller's promise.
                unsafe { extreme::rows::<T, F, LARGEST>(rows, out, len) }
            }

            /// # Safety
            ///
            /// See [`tree::eighths`].
            $(#[$feature])?
            pub(super) unsafe fn eighths<S, T, F>(args: &[*const u8; 3], out: *mut u8, len: usize)
            where
                S: Cast<T> + Copy,
                T: Copy,
                F: Apply<T, Output = T>,
            {
                // SAFETY: the caller's promise.
                unsafe { tree::eighths::<S, T, F>(args, out, len) }
            }
        }
    };
}

loops_for!(baseline);
#[cfg(target_arch = "x86_64")]
loops_for!(avx2 #[target_feature(enable = "avx2,f16c,fma")]);
#[cfg(target_arch = "x86_64")]
loops_for!(avx512 #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq,f16c,fma")]);

/// Combines elements, at least one and at most [`MAX_RUN`], to one.
///
/// # Safety
///
/// See [`Kernel`](super::vector::Kernel); `out` is one element.
#[inline(always)]
unsafe fn any_order<S, M, T, F>(args: &[*const u8; 3], out: *mut u8, len: usize)
where
    S: Cast<M> + Copy,
    M: Cast<T> + Copy,
    F: Apply<M, Output = M>,
{
    // SAFETY: the caller vouches for the elements.
    let x = unsafe { read::<S>(args[0], len) };
    let Some((first, rest)) = x.split_first() else { return };
    let total = rest.iter().fold(first.cast(), |total, x| F::apply(total, x.cast()));
    // SAFETY: the caller vouches for the room.
    unsafe { out.cast::<T>().write(total.cast()) };
}

/// Combines rows.
///
/// # Safety
///
/// See [`RowKernel`].
#[inline(always)]
unsafe fn rows<S, T, F>(rows: &[*const u8; ROWS], out: *mut u8, len: usize)
where
    S: Cast<T> + Copy,
    F: Apply<T, Output = T>,
{
    // SAFETY: the caller vouches for the elements.
    let [a, b, c, d, e, f, g, h] = rows.map(|row| unsafe { read::<S>(row, len) });
    // SAFETY: the caller vouches for the room.
    let out = unsafe { write::<T>(out, len) };
    for (index, out) in out.iter_mut().enumerate() {
        let pair = |x: &[S], y: &[S]| F::apply(x[index].cast(), y[index].cast());
        let left = F::apply(pair(a, b), pair(c, d));
        out.write(F::apply(left, F::apply(pair(e, f), pair(g, h))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::ReduceOp;
    use crate::program::total_dtype;

    #[test]
    fn every_reduction_has_a_fold_in_its_domain() {
        for &op in ReduceOp::ALL {
            for &dtype in DType::ALL.iter().filter(|&&dtype| op.is_defined_for(dtype)) {
                let terms = op.terms(dtype).reduced_as();
                let Some(fold) = fold(op.combine(), terms) else { panic!("{op} {dtype}") };
                let total = total_dtype(op.combine(), terms);
                assert_eq!(total, total_dtype(op.combine(), fold.terms), "{op} {dtype}");
            }
        }
    }
}
