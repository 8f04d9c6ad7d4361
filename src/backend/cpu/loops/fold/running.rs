//! Scans in any order: loops that combine all elements up to each one, after the total of those before them.

use half::{bf16, f16};

use super::extreme::Keyed;
use crate::DType;
use crate::backend::cpu::loops::element;
use crate::backend::cpu::loops::vector::{Kernels, Versions, read, write};
use crate::backend::cpu::settings::Level;
use crate::op::ElementOp;

/// A match on an operation and a dtype.
macro_rules! running {
    ($combine:ident $dtype:ident: $($function:ident {$($($name:ident)|+ => $rust:ty),*})*) => {
        match ($combine, $dtype) {
            $($((ElementOp::$function, $(DType::$name)|+) => {
                const { Kernels::running::<$rust, element::$function>() }
            })*)*
            (ElementOp::Maximum, dtype) => extremes::<true>(dtype)?,
            (ElementOp::Minimum, dtype) => extremes::<false>(dtype)?,
            _ => return None,
        }
    };
}

/// Returns the loops of an operation that gives the same in every order.
pub(crate) fn running(combine: ElementOp, dtype: DType) -> Option<Versions> {
    // The larger and the smaller of two bools, which are bytes of 0 and 1, are those of the bytes.
    Some(running!(combine dtype:
        Add { U64 => u64 }
        Multiply { U64 => u64 }
        BitwiseXor { Bool | U8 | I8 => u8, U16 | I16 => u16, U32 | I32 => u32, U64 | I64 => u64 }
        Maximum {
            Bool | U8 => u8, U16 => u16, U32 => u32, U64 => u64, I8 => i8, I16 => i16, I32 => i32, I64 => i64
        }
        Minimum {
            Bool | U8 => u8, U16 => u16, U32 => u32, U64 => u64, I8 => i8, I16 => i16, I32 => i32, I64 => i64
        }
    ))
}

/// Returns the loops of an extreme of floats.
fn extremes<const LARGEST: bool>(dtype: DType) -> Option<Versions> {
    Some(match dtype {
        DType::F16 => [extreme::<f16, LARGEST>; Level::COUNT],
        DType::BF16 => [extreme::<bf16, LARGEST>; Level::COUNT],
        DType::F32 => [extreme::<f32, LARGEST>; Level::COUNT],
        DType::F64 => [extreme::<f64, LARGEST>; Level::COUNT],
        // Those of 8 bits are converted before, and those of integers are ordinary loops.
        DType::F8E4M3FN | DType::F8E5M2 | DType::C64 | DType::C128 => return None,
        DType::Bool | DType::U8 | DType::U16 | DType::U32 | DType::U64 => return None,
        DType::I8 | DType::I16 | DType::I32 | DType::I64 => return None,
    })
}

/// Finds the largest or the smallest of all elements up to each one, as [`Kernels::running`] does. The next one waits for
/// one instruction on keys, and not for three comparisons.
///
/// # Safety
///
/// See [`Kernel`](crate::backend::cpu::loops::vector::Kernel); the second argument is one element or null.
unsafe fn extreme<T: Keyed, const LARGEST: bool>(args: &[*const u8; 3], out: *mut u8, len: usize) {
    // SAFETY: the caller vouches for the elements, and that `out` does not overlap them.
    let (x, out) = unsafe { (read::<T>(args[0], len), write::<T>(out, len)) };
    let before = args[1].cast::<T>();
    // SAFETY: the caller vouches for the element. Without one, the first counts twice.
    let before = if before.is_null() { x.first().copied() } else { Some(unsafe { before.read() }) };
    let Some(before) = before else { return };
    // The outermost key is that of a NaN, which wins over all numbers.
    let key = |x: T| if x.is_nan() { T::OUTERMOST[usize::from(LARGEST)] } else { x.key() };
    let mut total = key(before);
    for (out, &x) in out.iter_mut().zip(x) {
        total = if LARGEST { total.max(key(x)) } else { total.min(key(x)) };
        out.write(T::of(total));
    }
}
