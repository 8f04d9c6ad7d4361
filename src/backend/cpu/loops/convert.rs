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

/// A match on pairs of dtypes: by rows of the target with its type, and each source with the type that represents it. The
/// other arms follow. No pair has a default, or one that is forgotten would keep its bits.
macro_rules! hops {
    (
        $from:ident, $to:ident;
        { $($target:pat => $into:ty: $($source:pat => $rust:ty),+;)* }
        $($others:tt)*
    ) => {
        match ($from, $to) {
            $($(
                ($source, $target) => Hop::Loop(const { &Kernels::of_one::<$rust, CastTo<$into>>() }),
            )+)*
            $($others)*
        }
    };
}

/// Returns the next step from `from` to `to`.
fn hop(from: DType, to: DType) -> Hop {
    use DType::*;
    hops! {
        from, to;
        {
            // Only the real part of a complex number counts, in as many bits as it has.
            F32 => f32: Bool | U8 => u8, U16 => u16, U32 => u32, U64 => u64, I8 => i8, I16 => i16, I32 => i32,
                I64 => i64, F8E4M3FN => f8e4m3fn, F8E5M2 => f8e5m2, BF16 => bf16, F64 => f64, C64 => Complex<f32>;
            F64 => f64: Bool | U8 => u8, U16 => u16, U32 => u32, U64 => u64, I8 => i8, I16 => i16, I32 => i32,
                I64 => i64, F32 => f32, C128 => Complex<f64>;
            C64 => Complex<f32>: F32 => f32, C128 => Complex<f64>;
            C128 => Complex<f64>: F64 => f64, C64 => Complex<f32>;
            F8E4M3FN => f8e4m3fn: F32 => f32, F64 => f64;
            F8E5M2 => f8e5m2: F32 => f32, F64 => f64;
            F16 => f16: U64 => u64, I64 => i64, F64 => f64;
            BF16 => bf16: U64 => u64, I64 => i64, F32 => f32, F64 => f64;
            U8 => u8: F32 => f32, F64 => f64;
            U16 => u16: F32 => f32, F64 => f64;
            U32 => u32: F32 => f32, F64 => f64;
            U64 => u64: F32 => f32, F64 => f64;
            I8 => i8: F32 => f32, F64 => f64;
            I16 => i16: F32 => f32, F64 => f64;
            I32 => i32: F32 => f32, F64 => f64;
            I64 => i64: F32 => f32, F64 => f64;
            U8 | I8 => u8: U16 | I16 => u16, U32 | I32 => u32, U64 | I64 => u64;
            U16 | I16 => u16: Bool | U8 => u8, U32 | I32 => u32, U64 | I64 => u64, I8 => i8;
            U32 | I32 => u32: Bool | U8 => u8, U16 => u16, U64 | I64 => u64, I8 => i8, I16 => i16;
            U64 | I64 => u64: Bool | U8 => u8, U16 => u16, U32 => u32, I8 => i8, I16 => i16, I32 => i32;
        }
        (_, Bool) => truth(from),
        (F16, F32) => Hop::Loop(const { &halves::widen() }),
        (F32, F16) => Hop::Loop(const { &halves::narrow() }),
        (Bool | U8 | I8, U8 | I8) | (U16 | I16, U16 | I16) => Hop::Same,
        (U32 | I32, U32 | I32) | (U64 | I64, U64 | I64) => Hop::Same,
        (F8E4M3FN, F8E4M3FN) | (F8E5M2, F8E5M2) | (F16, F16) | (BF16, BF16) => Hop::Same,
        (F32, F32) | (F64, F64) | (C64, C64) | (C128, C128) => Hop::Same,
        (C64, _) => Hop::Through(F32),
        (C128, _) => Hop::Through(F64),
        (_, C64) => Hop::Through(F32),
        (_, C128) => Hop::Through(F64),
        // An `f32` holds every narrower float, and integers that it rounds are too large for 8 bits.
        (F8E4M3FN | F8E5M2 | F16 | BF16, _) => Hop::Through(F32),
        (_, F8E4M3FN | F8E5M2) => Hop::Through(F32),
        // Integers of up to 16 bits are exact in `f32`, those of 32 bits in `f64`.
        (Bool | U8 | I8 | U16 | I16, F16 | BF16) => Hop::Through(F32),
        (U32 | I32, F16 | BF16) => Hop::Through(F64),
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
