//! The table of loops: which loop computes which operation in which dtype.
//!
//! Dtypes share a loop where the operation does the same to their bits: `i32` and `u32` add alike, `f16` and
//! `bf16` change their signs alike, a selection only moves bits. Sharing loops, and composing an operation of others
//! where that costs little, keeps the number of loops and the time to compile them small.

use half::{bf16, f16};
use num_complex::Complex;

use super::vector::Kernels;
use super::{bytes, element, halves, words};
use crate::op::ElementOp;
use crate::program::computed_in;
use crate::{DType, f8e4m3fn, f8e5m2};

/// How an operation is computed.
#[derive(Clone, Copy)]
pub(crate) enum Recipe {
    /// By a loop over the arguments.
    Loop(&'static Kernels),
    /// By a loop over the arguments in the opposite order.
    Swapped(&'static Kernels),
    /// By a loop over the arguments in a dtype that holds them exactly, whose results are then rounded.
    Through(DType, &'static Kernels),
    /// By a loop over the truth of each argument.
    OfTruths(&'static Kernels),
    /// The first argument is the result.
    First,
    /// The result is false everywhere.
    False,
}

/// A match on a dtype over groups of dtypes and the Rust types that represent them.
macro_rules! table {
    ($dtype:ident: $form:ident $function:ident $($group:ident)*) => {
        table!(@ $dtype $form $function [] $($group)*)
    };
    (@ $d:ident $f:ident $n:ident [$($rows:tt)*] bool $($rest:ident)*) => {
        table!(@ $d $f $n [$($rows)* (Bool: u8)] $($rest)*)
    };
    // Integers, for operations that do the same to signed and unsigned ones.
    (@ $d:ident $f:ident $n:ident [$($rows:tt)*] wrapping $($rest:ident)*) => {
        table!(@ $d $f $n [$($rows)* (U8 I8: u8) (U16 I16: u16) (U32 I32: u32) (U64 I64: u64)] $($rest)*)
    };
    (@ $d:ident $f:ident $n:ident [$($rows:tt)*] unsigned $($rest:ident)*) => {
        table!(@ $d $f $n [$($rows)* (U8: u8) (U16: u16) (U32: u32) (U64: u64)] $($rest)*)
    };
    (@ $d:ident $f:ident $n:ident [$($rows:tt)*] signed $($rest:ident)*) => {
        table!(@ $d $f $n [$($rows)* (I8: i8) (I16: i16) (I32: i32) (I64: i64)] $($rest)*)
    };
    // The same without 16 bits, which have loops of their own.
    (@ $d:ident $f:ident $n:ident [$($rows:tt)*] not_words $($rest:ident)*) => {
        table!(@ $d $f $n [$($rows)* (U8 I8: u8) (U32 I32: u32) (U64 I64: u64)] $($rest)*)
    };
    // Signed integers without 8 and 16 bits, which have loops of their own.
    (@ $d:ident $f:ident $n:ident [$($rows:tt)*] wide_signed $($rest:ident)*) => {
        table!(@ $d $f $n [$($rows)* (I32: i32) (I64: i64)] $($rest)*)
    };
    (@ $d:ident $f:ident $n:ident [$($rows:tt)*] floats $($rest:ident)*) => {
        table!(@ $d $f $n [$($rows)* (F16: f16) (BF16: bf16) (F32: f32) (F64: f64)] $($rest)*)
    };
    // Floats without `f16`, which has loops of its own.
    (@ $d:ident $f:ident $n:ident [$($rows:tt)*] other_floats $($rest:ident)*) => {
        table!(@ $d $f $n [$($rows)* (BF16: bf16) (F32: f32) (F64: f64)] $($rest)*)
    };
    (@ $d:ident $f:ident $n:ident [$($rows:tt)*] wide_floats $($rest:ident)*) => {
        table!(@ $d $f $n [$($rows)* (F32: f32) (F64: f64)] $($rest)*)
    };
    (@ $d:ident $f:ident $n:ident [$($rows:tt)*] float8 $($rest:ident)*) => {
        table!(@ $d $f $n [$($rows)* (F8E4M3FN: f8e4m3fn) (F8E5M2: f8e5m2)] $($rest)*)
    };
    // Floats, for operations on their bits.
    (@ $d:ident $f:ident $n:ident [$($rows:tt)*] float_bits $($rest:ident)*) => {
        table!(@ $d $f $n [$($rows)* (F8E4M3FN F8E5M2: u8) (F16 BF16: u16) (F32: u32) (F64: u64)] $($rest)*)
    };
    // Everything whose sign is its highest bit.
    (@ $d:ident $f:ident $n:ident [$($rows:tt)*] sign_bits $($rest:ident)*) => {
        table!(@ $d $f $n [$($rows)* (I8 F8E4M3FN F8E5M2: u8) (I16 F16 BF16: u16) (I32 F32: u32) (I64 F64: u64)] $($rest)*)
    };
    (@ $d:ident $f:ident $n:ident [$($rows:tt)*] complex $($rest:ident)*) => {
        table!(@ $d $f $n [$($rows)* (C64: Complex<f32>) (C128: Complex<f64>)] $($rest)*)
    };
    (@ $d:ident $f:ident $n:ident [$(($($dtype:ident)+: $rust:ty))*]) => {
        match $d {
            $($(DType::$dtype)|+ => Some(Loop(const { &Kernels::$f::<$rust, element::$n>() })),)*
            #[allow(unreachable_patterns, reason = "some groups are everything")]
            _ => None,
        }
    };
}

/// A function of floats that is computed in `f64`, by one loop for `f64` and another for narrower dtypes.
macro_rules! function {
    ($dtype:ident: $form:ident $wide:ident $narrow:ident) => {
        match $dtype {
            DType::F64 => Some(Loop(const { &Kernels::$form::<f64, element::$wide>() })),
            DType::F16 | DType::BF16 | DType::F32 => Some(Recipe::Through(
                DType::F64,
                const { &Kernels::$form::<f64, element::$narrow>() },
            )),
            _ => None,
        }
    };
}

/// Returns how an operation is computed in a dtype, or `None` if it is not defined there or computed in another.
#[inline]
pub(crate) fn recipe(op: ElementOp, dtype: DType) -> Option<Recipe> {
    RECIPES[op as usize][dtype as usize]
}

/// Every recipe, by operation and dtype. Computed at compile time, since choosing one would be a large part of a small
/// call.
static RECIPES: [[Option<Recipe>; DType::ALL.len()]; ElementOp::ALL.len()] = {
    let mut recipes = [[None; DType::ALL.len()]; ElementOp::ALL.len()];
    let mut op = 0;
    while op < ElementOp::ALL.len() {
        let mut dtype = 0;
        while dtype < DType::ALL.len() {
            recipes[op][dtype] = defined(ElementOp::ALL[op], DType::ALL[dtype]);
            dtype += 1;
        }
        op += 1;
    }
    recipes
};

/// Computes [`recipe`].
const fn defined(op: ElementOp, dtype: DType) -> Option<Recipe> {
    let is_bool = matches!(dtype, DType::Bool);
    match chosen(op, dtype) {
        _ if !op.domain().contains(dtype) => None,
        _ if computed_in(op, dtype) as u8 != dtype as u8 => None,
        // The truth of a bool is itself.
        Some(Recipe::OfTruths(kernels)) if is_bool => Some(Recipe::Loop(kernels)),
        Some(Recipe::Swapped(kernels)) if kernels.commutes => Some(Recipe::Loop(kernels)),
        other => other,
    }
}

/// Computes the recipe of an operation, whatever its domain.
const fn chosen(op: ElementOp, dtype: DType) -> Option<Recipe> {
    use ElementOp as Op;
    use Recipe::{First, Loop};
    let is_bool = matches!(dtype, DType::Bool);
    let is_unsigned = is_bool || dtype.is_unsigned_int();
    let is_int = dtype.is_int();
    let is_word = matches!(dtype, DType::U16 | DType::I16);
    let is_f16 = matches!(dtype, DType::F16);
    let is_half = matches!(dtype, DType::F16 | DType::BF16);
    match op {
        Op::ShiftLeft if is_word => Some(Loop(const { &words::shift_left() })),
        Op::ShiftLeft => table!(dtype: of_two ShiftLeft not_words),
        Op::ShiftRight if matches!(dtype, DType::I8) => Some(Loop(const { &bytes::shift_right() })),
        Op::ShiftRight if matches!(dtype, DType::I16) => {
            Some(Loop(const { &words::shift_right() }))
        }
        Op::ShiftRight if dtype.is_signed_int() => {
            table!(dtype: of_two ShiftRight wide_signed)
        }
        Op::ShiftRight | Op::ShiftRightLogical if is_word => {
            Some(Loop(const { &words::shift_right_logical() }))
        }
        Op::ShiftRight | Op::ShiftRightLogical => {
            table!(dtype: of_two ShiftRight not_words)
        }
        Op::RotateLeft => table!(dtype: of_two RotateLeft wrapping),
        Op::RotateRight => table!(dtype: of_two RotateRight wrapping),
        Op::Copysign if is_unsigned => Some(First),
        Op::Copysign if is_int => table!(dtype: of_two Copysign signed),
        Op::Copysign => table!(dtype: of_two CopysignBits float_bits),
        Op::Add if is_bool => defined(Op::BitwiseOr, dtype),
        Op::Add if is_f16 => Some(Loop(const { &halves::of_two::<element::Add>(true) })),
        Op::Add => table!(dtype: symmetric Add wrapping other_floats complex),
        Op::Subtract if is_f16 => Some(Loop(const { &halves::of_two::<element::Subtract>(false) })),
        Op::Subtract => table!(dtype: of_two Subtract wrapping other_floats complex),
        Op::Multiply if is_bool => defined(Op::BitwiseAnd, dtype),
        Op::Multiply if is_f16 => Some(Loop(const { &halves::of_two::<element::Multiply>(true) })),
        Op::Multiply => table!(dtype: symmetric Multiply wrapping other_floats complex),
        Op::Divide if dtype.is_complex() => table!(dtype: heavy Divide complex),
        Op::Divide if is_f16 => Some(Loop(const { &halves::of_two::<element::Divide>(false) })),
        Op::Divide => table!(dtype: of_two Divide other_floats),
        Op::FloorDivide if is_int => table!(dtype: scalar FloorDivide signed unsigned),
        Op::FloorDivide if is_half => through_f32(defined(op, DType::F32)),
        Op::FloorDivide => table!(dtype: near FloorDivide wide_floats),
        Op::Remainder if is_int => table!(dtype: scalar Remainder signed unsigned),
        Op::Remainder if is_half => through_f32(defined(op, DType::F32)),
        Op::Remainder => table!(dtype: near Remainder wide_floats),
        Op::Pow if is_int => table!(dtype: heavy Pow signed unsigned),
        Op::Pow => function!(dtype: heavy FloatPow NarrowPow),
        Op::Equal => table!(dtype: symmetric Equal bool wrapping floats complex),
        Op::NotEqual => table!(dtype: symmetric NotEqual bool wrapping floats complex),
        Op::LessThan => table!(dtype: of_two LessThan bool unsigned signed floats),
        Op::LessEqual => table!(dtype: of_two LessEqual bool unsigned signed floats),
        Op::GreaterThan => swapped(defined(Op::LessThan, dtype)),
        Op::GreaterEqual => swapped(defined(Op::LessEqual, dtype)),
        Op::LogicalAnd => truths(defined(Op::BitwiseAnd, DType::Bool)),
        Op::LogicalOr => truths(defined(Op::BitwiseOr, DType::Bool)),
        Op::LogicalXor => truths(defined(Op::BitwiseXor, DType::Bool)),
        Op::BitwiseAnd => table!(dtype: symmetric BitwiseAnd bool wrapping),
        Op::BitwiseOr => table!(dtype: symmetric BitwiseOr bool wrapping),
        Op::BitwiseXor => table!(dtype: symmetric BitwiseXor bool wrapping),
        Op::Fmax if is_int || is_bool => defined(Op::Maximum, dtype),
        Op::Fmin if is_int || is_bool => defined(Op::Minimum, dtype),
        Op::Maximum if is_bool => defined(Op::BitwiseOr, dtype),
        Op::Minimum if is_bool => defined(Op::BitwiseAnd, dtype),
        // Not symmetric: of two NaNs the left one is kept.
        Op::Maximum => table!(dtype: of_two Maximum unsigned signed floats),
        Op::Minimum => table!(dtype: of_two Minimum unsigned signed floats),
        Op::Fmax => table!(dtype: of_two Fmax floats),
        Op::Fmin => table!(dtype: of_two Fmin floats),
        Op::LogAddExp => function!(dtype: heavy LogAddExp NarrowLogAddExp),
        Op::NextAfter if dtype.is_float8() => table!(dtype: scalar NextAfter float8),
        Op::NextAfter => table!(dtype: heavy NextAfter floats),
        Op::Atan2 => function!(dtype: heavy Atan2 NarrowAtan2),
        Op::Hypot => function!(dtype: heavy Hypot NarrowHypot),
        Op::Abs if dtype.is_complex() => table!(dtype: of_one AbsOfComplex complex),
        Op::Abs if is_unsigned => Some(First),
        Op::Abs if is_int => table!(dtype: of_one Abs signed),
        Op::Abs => table!(dtype: of_one AbsBits float_bits),
        Op::Negative if is_int => table!(dtype: of_one Negative wrapping),
        Op::Negative if dtype.is_complex() => {
            table!(dtype: of_one NegativeComplex complex)
        }
        Op::Negative => table!(dtype: of_one NegativeBits float_bits),
        Op::BitwiseNot if is_bool => table!(dtype: of_one NotBool bool),
        Op::BitwiseNot => table!(dtype: of_one BitwiseNot wrapping),
        Op::LogicalNot => truths(defined(Op::BitwiseNot, DType::Bool)),
        Op::Signbit if is_unsigned => Some(Recipe::False),
        Op::Signbit => table!(dtype: of_one SignOfBits sign_bits),
        Op::Sign if is_half => through_f32(defined(op, DType::F32)),
        Op::Sign => table!(dtype: of_one SignOf unsigned signed wide_floats),
        Op::Square if is_f16 => through_f32(defined(op, DType::F32)),
        Op::Square => table!(dtype: of_one Square wrapping other_floats complex),
        Op::Reciprocal if is_f16 => through_f32(defined(op, DType::F32)),
        Op::Reciprocal => table!(dtype: of_one Reciprocal other_floats complex),
        Op::Floor | Op::Ceil | Op::Trunc | Op::Round if is_int => Some(First),
        Op::Floor | Op::Ceil | Op::Trunc | Op::Round | Op::Sqrt if is_half => {
            through_f32(defined(op, DType::F32))
        }
        Op::Floor => table!(dtype: of_one Floor wide_floats),
        Op::Ceil => table!(dtype: of_one Ceil wide_floats),
        Op::Trunc => table!(dtype: of_one Trunc wide_floats),
        Op::Round => table!(dtype: of_one Round wide_floats),
        Op::Sqrt => table!(dtype: of_one Sqrt wide_floats),
        Op::IsNan | Op::IsInf if is_int | is_bool => Some(Recipe::False),
        Op::IsFinite if is_int | is_bool => table!(dtype: of_one Always bool wrapping),
        Op::IsNan => table!(dtype: of_one IsNan floats complex),
        Op::IsInf => table!(dtype: of_one IsInf floats complex),
        Op::IsFinite => table!(dtype: of_one IsFinite floats complex),
        Op::CountOnes => table!(dtype: of_one CountOnes wrapping),
        Op::LeadingZeros => table!(dtype: of_one LeadingZeros wrapping),
        Op::TrailingZeros => table!(dtype: of_one TrailingZeros wrapping),
        Op::ReverseBits => table!(dtype: of_one ReverseBits wrapping),
        Op::SwapBytes if dtype.size() == 1 => Some(First),
        Op::SwapBytes => table!(dtype: of_one SwapBytes wrapping),
        Op::Real => table!(dtype: of_one Real complex),
        Op::Imag => table!(dtype: of_one Imag complex),
        Op::Conj => table!(dtype: of_one Conj complex),
        Op::Sin => function!(dtype: of_one Sin NarrowSin),
        Op::Cos => function!(dtype: of_one Cos NarrowCos),
        Op::Tan => function!(dtype: of_one Tan NarrowTan),
        Op::Asin => function!(dtype: of_one Asin NarrowAsin),
        Op::Acos => function!(dtype: of_one Acos NarrowAcos),
        Op::Atan => function!(dtype: of_one Atan NarrowAtan),
        Op::Exp => function!(dtype: of_one Exp NarrowExp),
        Op::Log => function!(dtype: of_one Log NarrowLog),
        Op::Exp2 => function!(dtype: of_one Exp2 NarrowExp2),
        Op::Expm1 => function!(dtype: of_one Expm1 NarrowExpm1),
        Op::Log2 => function!(dtype: of_one Log2 NarrowLog2),
        Op::Log10 => function!(dtype: of_one Log10 NarrowLog10),
        Op::Log1p => function!(dtype: of_one Log1p NarrowLog1p),
        Op::Sinh => function!(dtype: of_one Sinh NarrowSinh),
        Op::Cosh => function!(dtype: of_one Cosh NarrowCosh),
        Op::Tanh => function!(dtype: of_one Tanh NarrowTanh),
        Op::Asinh => function!(dtype: of_one Asinh NarrowAsinh),
        Op::Acosh => function!(dtype: of_one Acosh NarrowAcosh),
        Op::Atanh => function!(dtype: of_one Atanh NarrowAtanh),
        Op::Fma => match dtype {
            DType::F32 => Some(Loop(const { &Kernels::fma::<f32>() })),
            DType::F64 => Some(Loop(const { &Kernels::fma::<f64>() })),
            _ => Some(Recipe::Through(
                DType::F64,
                const { &Kernels::of_three::<f64, element::FmaToOdd>() },
            )),
        },
        Op::Select => Some(Loop(select(dtype.size()))),
    }
}

/// Computes 16-bit floats in `f32`, which holds them exactly.
const fn through_f32(recipe: Option<Recipe>) -> Option<Recipe> {
    match recipe {
        Some(Recipe::Loop(kernels)) => Some(Recipe::Through(DType::F32, kernels)),
        other => other,
    }
}

const fn swapped(recipe: Option<Recipe>) -> Option<Recipe> {
    match recipe {
        Some(Recipe::Loop(kernels)) => Some(Recipe::Swapped(kernels)),
        other => other,
    }
}

const fn truths(recipe: Option<Recipe>) -> Option<Recipe> {
    match recipe {
        Some(Recipe::Loop(kernels)) => Some(Recipe::OfTruths(kernels)),
        other => other,
    }
}

/// The loops of a selection between elements of a size.
const fn select(size: usize) -> &'static Kernels {
    match size {
        1 => const { &Kernels::select::<u8>() },
        2 => const { &Kernels::select::<u16>() },
        4 => const { &Kernels::select::<u32>() },
        8 => const { &Kernels::select::<u64>() },
        // Complex numbers of 128 bits are aligned to 64.
        _ => const { &Kernels::select::<[u64; 2]>() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_a_loop_in_its_domain_and_none_beyond() {
        for &op in ElementOp::ALL {
            for &dtype in DType::ALL {
                let is_there = recipe(op, dtype).is_some();
                let is_here = computed_in(op, dtype) == dtype;
                assert_eq!(is_there, is_here && op.domain().contains(dtype), "{op:?} {dtype}");
            }
        }
    }
}
