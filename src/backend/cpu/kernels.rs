//! The inner loops: one operation in one dtype over elements that lie side by side.
//!
//! Every loop is a plain walk over slices, which the compiler turns into vector code. Where the
//! elements of an operand do not lie side by side, or have another dtype, `convert` brings them
//! into that form a block at a time; so there is one loop per operation and dtype, not per triple.

use std::mem::MaybeUninit;
use std::slice;

use super::element::{self, Apply, Real};
use crate::DType;
use crate::dtype::for_each_dtype;
use crate::op::{BinaryOp, Shift, UnaryOp, for_each_binary_op, in_domain};
use crate::promote::Compute;

/// A loop over `len` elements: reads `lhs` and `rhs`, writes `out`.
///
/// # Safety
///
/// Both operands must be valid for reads of as many elements as the loop takes from them (`len`, or
/// one where it stands still), `out` for writes of `len` elements; all aligned for their types, and
/// `out` must not overlap the operands.
pub(super) type BinaryLoop = unsafe fn(lhs: *const u8, rhs: *const u8, out: *mut u8, len: usize);

/// As [`BinaryLoop`], with one operand.
pub(super) type UnaryLoop = unsafe fn(lhs: *const u8, out: *mut u8, len: usize);

/// The loops of one operation in one dtype.
#[derive(Clone, Copy)]
pub(super) struct BinaryLoops {
    /// Both operands have `len` elements.
    pub(super) both: BinaryLoop,
    /// The left operand is one element for all.
    pub(super) constant_lhs: BinaryLoop,
    /// The right operand is one element for all.
    pub(super) constant_rhs: BinaryLoop,
}

impl BinaryLoops {
    /// The loops for the widest vectors that this machine has.
    fn of<T: Copy, F: Apply<T>>() -> BinaryLoops {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512dq")
            {
                return avx512::loops::<T, F>();
            }
            if is_x86_feature_detected!("avx2") {
                return avx2::loops::<T, F>();
            }
        }
        baseline::loops::<T, F>()
    }
}

/// The loops of an operation whose operands have been converted to `compute`.
pub(super) fn binary_loops(op: BinaryOp, compute: Compute) -> Option<BinaryLoops> {
    match compute {
        Compute::In(dtype) => for_each_binary_op!(loops_of_op op dtype),
        Compute::ExactIntegers => exact_integer_loops(op),
    }
}

macro_rules! loops_of_op {
    (
        $op:ident $dtype:ident
        shifts { $($shift:ident $kind:ident $shift_name:ident $shift_function:ident;)* }
        plain { $(
            $variant:ident $name:ident $assign:ident $family:ident $domain:ident $function:ident
            $doc:literal [$($x:expr),*] $y:expr => $example:ident [$($result:expr),*];
        )* }
    ) => {
        match $op {
            $(BinaryOp::$shift(Shift::$kind) => {
                for_each_dtype!(loops_of_dtype $dtype Integers $shift_function)
            })*
            $(BinaryOp::$variant => for_each_dtype!(loops_of_dtype $dtype $domain $function),)*
        }
    };
}
use loops_of_op;

macro_rules! loops_of_dtype {
    (
        $dtype:ident $domain:ident $function:ident
        $($variant:ident: $rust:ty = $name:literal $class:ident;)*
    ) => {
        match $dtype {
            $(DType::$variant => {
                in_domain!($domain $class BinaryLoops::of::<$rust, element::$function>())
            })*
        }
    };
}
use loops_of_dtype;

/// Comparisons of integers of any two dtypes, which 128 bits hold exactly.
fn exact_integer_loops(op: BinaryOp) -> Option<BinaryLoops> {
    Some(match op {
        BinaryOp::Equal => BinaryLoops::of::<i128, element::Equal>(),
        BinaryOp::NotEqual => BinaryLoops::of::<i128, element::NotEqual>(),
        BinaryOp::LessThan => BinaryLoops::of::<i128, element::LessThan>(),
        BinaryOp::LessEqual => BinaryLoops::of::<i128, element::LessEqual>(),
        BinaryOp::GreaterThan => BinaryLoops::of::<i128, element::GreaterThan>(),
        BinaryOp::GreaterEqual => BinaryLoops::of::<i128, element::GreaterEqual>(),
        _ => return None,
    })
}

/// The loop of a unary operation on elements of `dtype`; a copy needs none.
pub(super) fn unary_loop(op: UnaryOp, dtype: DType) -> Option<UnaryLoop> {
    macro_rules! signbit_of {
        ($($variant:ident: $rust:ty = $name:literal $class:ident;)*) => {
            match dtype {
                $(DType::$variant => in_domain!(Real $class signbit::<$rust> as UnaryLoop),)*
            }
        };
    }
    match op {
        UnaryOp::Copy => None,
        UnaryOp::Signbit => for_each_dtype!(signbit_of),
    }
}

/// The loops compiled for one set of instructions. The element functions are inlined into them, so
/// each set gets vector code of its own from the same text.
macro_rules! loops_for {
    ($name:ident $(#[$feature:meta])?) => {
        mod $name {
            use super::{Apply, BinaryLoops, read, write};

            pub(super) fn loops<T: Copy, F: Apply<T>>() -> BinaryLoops {
                BinaryLoops {
                    both: both::<T, F>,
                    constant_lhs: constant_lhs::<T, F>,
                    constant_rhs: constant_rhs::<T, F>,
                }
            }

            /// # Safety
            ///
            /// See [`super::BinaryLoop`]; the machine must have the instructions.
            $(#[$feature])?
            unsafe fn both<T: Copy, F: Apply<T>>(
                lhs: *const u8,
                rhs: *const u8,
                out: *mut u8,
                len: usize,
            ) {
                // SAFETY: the caller vouches for `len` elements each, and that `out` is apart.
                let (lhs, rhs, out) = unsafe { (read(lhs, len), read(rhs, len), write(out, len)) };
                for ((out, &x), &y) in out.iter_mut().zip(lhs).zip(rhs) {
                    out.write(F::apply(x, y));
                }
            }

            /// # Safety
            ///
            /// See [`super::BinaryLoop`]; the machine must have the instructions.
            $(#[$feature])?
            unsafe fn constant_lhs<T: Copy, F: Apply<T>>(
                lhs: *const u8,
                rhs: *const u8,
                out: *mut u8,
                len: usize,
            ) {
                // SAFETY: the caller vouches for one element and `len` elements, apart from `out`.
                let x = unsafe { lhs.cast::<T>().read() };
                // SAFETY: the same.
                let (rhs, out) = unsafe { (read(rhs, len), write(out, len)) };
                for (out, &y) in out.iter_mut().zip(rhs) {
                    out.write(F::apply(x, y));
                }
            }

            /// # Safety
            ///
            /// See [`super::BinaryLoop`]; the machine must have the instructions.
            $(#[$feature])?
            unsafe fn constant_rhs<T: Copy, F: Apply<T>>(
                lhs: *const u8,
                rhs: *const u8,
                out: *mut u8,
                len: usize,
            ) {
                // SAFETY: the caller vouches for one element and `len` elements, apart from `out`.
                let y = unsafe { rhs.cast::<T>().read() };
                // SAFETY: the same.
                let (lhs, out) = unsafe { (read(lhs, len), write(out, len)) };
                for (out, &x) in out.iter_mut().zip(lhs) {
                    out.write(F::apply(x, y));
                }
            }
        }
    };
}

loops_for!(baseline);
#[cfg(target_arch = "x86_64")]
loops_for!(avx2 #[target_feature(enable = "avx2")]);
#[cfg(target_arch = "x86_64")]
loops_for!(avx512 #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512dq")]);

/// # Safety
///
/// See [`UnaryLoop`].
unsafe fn signbit<T: Real>(lhs: *const u8, out: *mut u8, len: usize) {
    // SAFETY: the caller vouches for `len` elements each, and that `out` is apart.
    let (lhs, out) = unsafe { (read::<T>(lhs, len), write::<bool>(out, len)) };
    for (out, &x) in out.iter_mut().zip(lhs) {
        out.write(x.signbit());
    }
}

/// # Safety
///
/// `start` must be aligned and valid for reads of `len` elements while the slice is used.
pub(super) unsafe fn read<'a, T>(start: *const u8, len: usize) -> &'a [T] {
    debug_assert!(start.cast::<T>().is_aligned());
    // SAFETY: the caller's promise.
    unsafe { slice::from_raw_parts(start.cast(), len) }
}

/// # Safety
///
/// `start` must be aligned, valid for writes of `len` elements, and touched by nothing else while
/// the slice is used.
pub(super) unsafe fn write<'a, T>(start: *mut u8, len: usize) -> &'a mut [MaybeUninit<T>] {
    debug_assert!(start.cast::<T>().is_aligned());
    // SAFETY: the caller's promise; the elements need not be initialised.
    unsafe { slice::from_raw_parts_mut(start.cast(), len) }
}
