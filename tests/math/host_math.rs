//! The mathematical functions of `src/math/` and those of `cuda/math.cuh`, compiled for the host, give the same bits.

use std::ffi::{CString, c_char, c_int, c_void};

// The functions of `cuda/` are linked into the crate.
use crate::exhaustive;
use crate::function::Function;
use crate::math::trigonometry::{narrow as narrow_angles, wide as angles};
use crate::math::{self, IntegerPower, narrow};
use bitlane as _;
use half::{bf16, f16};

unsafe extern "C" {
    fn bl_host_math(
        name: *const c_char,
        dtype: *const c_char,
        x: *const c_void,
        y: *const c_void,
        out: *mut c_void,
        n: usize,
    ) -> c_int;
}

/// The number of operands: any bits, numbers of ordinary size, and special values.
const COUNT: usize = 400_000;

/// Applies a function of `cuda/`, given by its name, to arrays.
pub fn on_host<T: Copy + Default>(name: &str, dtype: &str, x: &[T], y: &[T]) -> Vec<T> {
    let (name_text, dtype_text) = (CString::new(name).unwrap(), CString::new(dtype).unwrap());
    let mut out = vec![T::default(); x.len()];
    // SAFETY: all three arrays have as many elements of the dtype as the call says.
    let found = unsafe {
        bl_host_math(
            name_text.as_ptr(),
            dtype_text.as_ptr(),
            x.as_ptr().cast(),
            y[..x.len()].as_ptr().cast(),
            out.as_mut_ptr().cast(),
            x.len(),
        )
    };
    assert_eq!(found, 1, "no host function {name} of {dtype}");
    out
}

/// xorshift64*.
fn random(state: &mut u64) -> u64 {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d)
}

/// Returns operands as f64; callers convert them to their dtype.
fn numbers(seed: u64) -> Vec<f64> {
    let specials = [
        0.0,
        1.0,
        2.0,
        0.5,
        3.0,
        1e-45,
        5e-324,
        1e-40,
        6e-8,
        3e38,
        1.7e308,
        f64::INFINITY,
        f64::NAN,
        709.0,
        0.7044,
    ];
    let mut state = seed;
    (0..COUNT)
        .map(|index| {
            let bits = random(&mut state);
            let fraction = f64::from_bits(0x3ff0_0000_0000_0000 | bits >> 12);
            let sign = if bits & 1 == 1 { -1.0 } else { 1.0 };
            let special = specials[(bits % specials.len() as u64) as usize];
            match index % 8 {
                0 => f64::from_bits(bits),
                1 => f64::from(f32::from_bits(bits as u32)),
                2 => sign * special,
                3 => 1.0 + sign * (fraction - 1.0) * 2f64.powi(-((bits >> 5 & 63) as i32)),
                4 => fraction,
                5 => sign * (fraction - 1.0) * 800.0,
                6 => sign * ((bits >> 40) % 12) as f64,
                _ => sign * fraction * 2f64.powi((bits >> 7 & 31) as i32 - 16),
            }
        })
        .collect()
}

/// Compares the bits; all NaNs count as equal.
fn compare<T: Copy + Default>(
    name: &str,
    dtype: &str,
    from: impl Fn(f64) -> T,
    bits: impl Fn(T) -> (u64, bool),
    ours: impl Fn(T, T) -> T,
) {
    let x: Vec<T> = numbers(11).into_iter().map(&from).collect();
    // Shuffle, so that every kind of operand meets every other kind.
    let mut y: Vec<T> = numbers(12).into_iter().map(&from).collect();
    let mut state = 13;
    for last in (1..y.len()).rev() {
        y.swap(last, (random(&mut state) % (last as u64 + 1)) as usize);
    }
    let mut ordinary = 0;
    for (index, given) in on_host(name, dtype, &x, &y).into_iter().enumerate() {
        let ((given, given_nan), (expected, nan)) = (bits(given), bits(ours(x[index], y[index])));
        assert!(
            given == expected || (given_nan && nan),
            "{name} of {dtype} {:#x} and {:#x}: {given:#x} in C++, {expected:#x} in Rust",
            bits(x[index]).0,
            bits(y[index]).0
        );
        ordinary += usize::from(!nan);
    }
    assert!(ordinary > COUNT / 5, "{name} of {dtype} is nearly always NaN");
}

fn compare_f32(name: &str, ours: impl Fn(f32, f32) -> f32) {
    compare(name, "f32", |x| x as f32, |x| (x.to_bits().into(), x.is_nan()), ours);
}

fn compare_f64(name: &str, ours: impl Fn(f64, f64) -> f64) {
    compare(name, "f64", |x| x, |x| (x.to_bits(), x.is_nan()), ours);
}

/// Rounds to f32 with round-to-odd: inexact results are truncated and their last bit is set. Rounding that to 16 bits
/// gives the same as rounding once.
pub fn to_odd(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) == x || x.is_nan() {
        return near;
    }
    let cut = if f64::from(near).abs() > x.abs() { near.to_bits() - 1 } else { near.to_bits() };
    f32::from_bits(cut | 1)
}

fn compare_16_bits(name: &str, ours: impl Fn(f64, f64) -> f64) {
    compare(
        name,
        "f16",
        f16::from_f64,
        |x| (x.to_bits().into(), x.is_nan()),
        |x, y| f16::from_f32(to_odd(ours(x.to_f64(), y.to_f64()))),
    );
    compare(
        name,
        "bf16",
        bf16::from_f64,
        |x| (x.to_bits().into(), x.is_nan()),
        |x, y| bf16::from_f32(to_odd(ours(x.to_f64(), y.to_f64()))),
    );
}

#[test]
fn functions_of_one_operand_have_the_same_bits() {
    macro_rules! compare_all {
        ($($name:ident $wide:ident;)*) => {$(
            compare_f32(stringify!($name), |x, _| narrow::$name(x.into()) as f32);
            compare_f64(stringify!($name), |x, _| math::$wide(x));
            compare_16_bits(stringify!($name), |x, _| narrow::$name(x));
        )*};
    }
    compare_all! {
        exp exp_f64;
        exp2 exp2_f64;
        expm1 expm1_f64;
        log log_f64;
        log2 log2_f64;
        log10 log10_f64;
        log1p log1p_f64;
        sinh sinh_f64;
        cosh cosh_f64;
        tanh tanh_f64;
        asinh asinh_f64;
        acosh acosh_f64;
        atanh atanh_f64;
    }
}

/// Checks functions of one f32 by `cuda/` against core-math.
fn check_f32(function: Function, x: &[f32]) {
    let name = format!("{function:?}").to_lowercase();
    for (&x, given) in x.iter().zip(on_host(&name, "f32", x, x)) {
        let expected = function.rounded_f32()(x);
        let same = given.to_bits() == expected.to_bits() || (given.is_nan() && expected.is_nan());
        assert!(same, "{name} of {x:e} ({:#x}): {given:e}, not {expected:e}", x.to_bits());
    }
}

#[test]
fn functions_of_one_operand_round_correctly_near_ties() {
    for line in include_str!("../goldens/ties.txt").lines() {
        let (name, list) = line.split_once(' ').unwrap();
        let bits = list.split(' ').map(|word| u32::from_str_radix(word, 16).unwrap());
        check_f32(Function::named(name).unwrap(), &bits.map(f32::from_bits).collect::<Vec<_>>());
    }
}

#[test]
fn functions_of_every_16_bits_have_the_same_bits() {
    let x: Vec<u16> = (0..=u16::MAX).collect();
    let from_bf16 = |bits| bf16::from_bits(bits).to_f64();
    let from_f16 = |bits| f16::from_bits(bits).to_f64();
    for function in Function::of_one() {
        let name = format!("{function:?}").to_lowercase();
        let ours = |x: f64| to_odd(function.narrow(x, 0.0));
        for (&x, given) in x.iter().zip(on_host(&name, "bf16", &x, &x)) {
            let expected = bf16::from_f32(ours(from_bf16(x)));
            let nans = expected.is_nan() && bf16::from_bits(given).is_nan();
            assert!(given == expected.to_bits() || nans, "{name} of bf16 {x:#x}: {given:#x}");
        }
        for (&x, given) in x.iter().zip(on_host(&name, "f16", &x, &x)) {
            let expected = f16::from_f32(ours(from_f16(x)));
            let nans = expected.is_nan() && f16::from_bits(given).is_nan();
            assert!(given == expected.to_bits() || nans, "{name} of f16 {x:#x}: {given:#x}");
        }
    }
}

/// Every argument in the exhaustive mode, else one in 65,521.
#[test]
fn functions_of_every_f32_round_correctly() {
    let step = if exhaustive() { 1 } else { 65_521 };
    for function in Function::wished() {
        for block in 0..1u32 << 12 {
            let bits = (0..1 << 20).step_by(step).map(|it| block << 20 | it);
            check_f32(function, &bits.map(f32::from_bits).collect::<Vec<_>>());
        }
        println!("{function:?}: 2^32 / {step} results of f32 by cuda/ are the nearest");
    }
}

#[test]
fn pow_has_the_same_bits() {
    compare_f32("pow", math::pow_f32);
    compare_f64("pow", math::pow_f64);
    compare_16_bits("pow", narrow::pow);
}

#[test]
fn atan2_has_the_same_bits() {
    compare_f32("atan2", math::atan2_f32);
    compare_f64("atan2", math::atan2_f64);
    compare_16_bits("atan2", narrow::atan2);
}

#[test]
fn angles_have_the_same_bits() {
    macro_rules! compare_functions {
        ($($name:ident)*) => {$(
            let name = stringify!($name);
            compare_f32(name, |x, _| narrow_angles::$name(x.into()) as f32);
            compare_f64(name, |x, _| angles::$name(x));
            compare_16_bits(name, |x, _| narrow_angles::$name(x));
        )*};
    }
    compare_functions! { sin cos tan asin acos atan }
}

#[test]
fn hypot_has_the_same_bits() {
    compare_f32("hypot", math::hypot_f32);
    compare_f64("hypot", math::hypot_f64);
    compare_16_bits("hypot", narrow_angles::hypot);
}

#[test]
fn logaddexp_has_the_same_bits() {
    compare_f32("logaddexp", math::logaddexp_f32);
    compare_f64("logaddexp", math::logaddexp_f64);
    compare_16_bits("logaddexp", narrow::logaddexp);
}

#[test]
fn fmod_has_the_same_bits() {
    compare_f32("fmod", math::fmod_f32);
    compare_f64("fmod", math::fmod_f64);
}

#[test]
fn powers_of_integers_are_the_same() {
    macro_rules! compare_integers {
        ($($type:ty)*) => {$(
            let mut state = 5;
            let mut some = || -> Vec<$type> {
                // Include small numbers; otherwise nearly all bases and exponents would have 64 bits.
                let number = |bits: u64| (bits as i64 >> (bits >> 58)) as $type;
                (0..COUNT).map(|_| number(random(&mut state))).collect()
            };
            let (x, y) = (some(), some());
            let given = on_host("ipow", stringify!($type), &x, &y);
            for (index, given) in given.into_iter().enumerate() {
                assert_eq!(given, x[index].power(y[index]), "{}^{}", x[index], y[index]);
            }
        )*};
    }
    compare_integers! { u8 u16 u32 u64 i8 i16 i32 i64 }
}
