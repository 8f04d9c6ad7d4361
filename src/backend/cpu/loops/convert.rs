//! Conversions between dtypes. Going through other dtypes where that is exact keeps the number of loops small.

use half::{bf16, f16};
use num_complex::Complex;
use smallvec::SmallVec;

use super::element::{CastTo, TruthOfComplex, TruthOfFloatBits, TruthOfIntegers};
use super::halves;
use super::vector::Kernels;
use crate::{DType, f8e4m3fn, f8e5m2};

/// Returns the loops that convert one dtype to another, in their order, each with the dtype of its results. There are
/// none if the bits stay as they are.
pub(crate) fn route(from: DType, to: DType) -> SmallVec<[(&'static Kernels, DType); 3]> {
    match hop(from, to) {
        Hop::Same => SmallVec::new(),
        Hop::Loop(kernels) => SmallVec::from_slice(&[(kernels, to)]),
        Hop::Through(middle) => {
            let mut loops = route(from, middle);
            loops.extend(route(middle, to));
            loops
        }
    }
}

/// The next step from one dtype to another.
enum Hop {
    /// The bits stay as they are.
    Same,
    /// By a loop.
    Loop(&'static Kernels),
    /// Through a third dtype, which holds the value exactly, or rounds it as the target does.
    Through(DType),
}

/// A match on the source over the types that represent it, all converted to one type.
macro_rules! from {
    ($from:ident to $to:ty: $($($dtype:ident)|+ => $rust:ty),+) => {
        match $from {
            $($(DType::$dtype)|+ => Hop::Loop(const { &Kernels::of_one::<$rust, CastTo<$to>>() }),)+
            _ => Hop::Same,
        }
    };
}

/// Returns the next step from `from` to `to`.
fn hop(from: DType, to: DType) -> Hop {
    use DType::*;
    let is_integer = from.is_int() || from == Bool;
    if from == to || (is_integer && to.is_int() && from.size() == to.size()) {
        return Hop::Same;
    }
    match (from, to) {
        (_, Bool) => truth(from),
        // Only the real part counts, in as many bits as it has.
        (C64, F32) => from!(from to f32: C64 => Complex<f32>),
        (C128, F64) => from!(from to f64: C128 => Complex<f64>),
        (C64, C128) => from!(from to Complex<f64>: C64 => Complex<f32>),
        (C128, C64) => from!(from to Complex<f32>: C128 => Complex<f64>),
        (C64, _) => Hop::Through(F32),
        (C128, _) => Hop::Through(F64),
        (F32, C64) => from!(from to Complex<f32>: F32 => f32),
        (F64, C128) => from!(from to Complex<f64>: F64 => f64),
        (_, C64) => Hop::Through(F32),
        (_, C128) => Hop::Through(F64),
        // An `f32` holds every narrower float, and integers that it rounds are too large for 8 bits.
        (F8E4M3FN, F32) => from!(from to f32: F8E4M3FN => f8e4m3fn),
        (F8E5M2, F32) => from!(from to f32: F8E5M2 => f8e5m2),
        (F8E4M3FN | F8E5M2, _) => Hop::Through(F32),
        (F32 | F64, F8E4M3FN) => from!(from to f8e4m3fn: F32 => f32, F64 => f64),
        (F32 | F64, F8E5M2) => from!(from to f8e5m2: F32 => f32, F64 => f64),
        (_, F8E4M3FN | F8E5M2) => Hop::Through(F32),
        (F16, F32) => Hop::Loop(const { &halves::widen() }),
        (BF16, F32) => from!(from to f32: BF16 => bf16),
        (F16 | BF16, _) => Hop::Through(F32),
        // Integers of up to 16 bits are exact in `f32`, those of 32 bits in `f64`.
        (Bool | U8 | I8 | U16 | I16, F16 | BF16) => Hop::Through(F32),
        (U32 | I32, F16 | BF16) => Hop::Through(F64),
        (F32, F16) => Hop::Loop(const { &halves::narrow() }),
        (_, F16) => from!(from to f16: U64 => u64, I64 => i64, F64 => f64),
        (_, BF16) => from!(from to bf16: U64 => u64, I64 => i64, F32 => f32, F64 => f64),
        (_, F32) => from!(from to f32: Bool | U8 => u8, U16 => u16, U32 => u32, U64 => u64,
            I8 => i8, I16 => i16, I32 => i32, I64 => i64, F64 => f64),
        (_, F64) => from!(from to f64: Bool | U8 => u8, U16 => u16, U32 => u32, U64 => u64,
            I8 => i8, I16 => i16, I32 => i32, I64 => i64, F32 => f32),
        (F32 | F64, U8) => from!(from to u8: F32 => f32, F64 => f64),
        (F32 | F64, U16) => from!(from to u16: F32 => f32, F64 => f64),
        (F32 | F64, U32) => from!(from to u32: F32 => f32, F64 => f64),
        (F32 | F64, U64) => from!(from to u64: F32 => f32, F64 => f64),
        (F32 | F64, I8) => from!(from to i8: F32 => f32, F64 => f64),
        (F32 | F64, I16) => from!(from to i16: F32 => f32, F64 => f64),
        (F32 | F64, I32) => from!(from to i32: F32 => f32, F64 => f64),
        (F32 | F64, I64) => from!(from to i64: F32 => f32, F64 => f64),
        (_, U8 | I8) => from!(from to u8: U16 | I16 => u16, U32 | I32 => u32, U64 | I64 => u64),
        (_, U16 | I16) => {
            from!(from to u16: Bool | U8 => u8, U32 | I32 => u32, U64 | I64 => u64, I8 => i8)
        }
        (_, U32 | I32) => {
            from!(from to u32: Bool | U8 => u8, U16 => u16, U64 | I64 => u64, I8 => i8, I16 => i16)
        }
        (_, U64 | I64) => {
            from!(from to u64: Bool | U8 => u8, U16 => u16, U32 => u32, I8 => i8, I16 => i16, I32 => i32)
        }
    }
}

/// Returns the loops that compute whether elements are not zero.
fn truth(from: DType) -> Hop {
    use DType::*;
    Hop::Loop(match from {
        Bool => return Hop::Same,
        U8 | I8 => const { &Kernels::of_one::<u8, TruthOfIntegers>() },
        U16 | I16 => const { &Kernels::of_one::<u16, TruthOfIntegers>() },
        U32 | I32 => const { &Kernels::of_one::<u32, TruthOfIntegers>() },
        U64 | I64 => const { &Kernels::of_one::<u64, TruthOfIntegers>() },
        F8E4M3FN | F8E5M2 => const { &Kernels::of_one::<u8, TruthOfFloatBits>() },
        F16 | BF16 => const { &Kernels::of_one::<u16, TruthOfFloatBits>() },
        F32 => const { &Kernels::of_one::<u32, TruthOfFloatBits>() },
        F64 => const { &Kernels::of_one::<u64, TruthOfFloatBits>() },
        C64 => const { &Kernels::of_one::<Complex<f32>, TruthOfComplex>() },
        C128 => const { &Kernels::of_one::<Complex<f64>, TruthOfComplex>() },
    })
}
