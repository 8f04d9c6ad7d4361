//! The special cases of the Python array API standard, version 2025.12, for every operation that it shares with the
//! crate.
//!
//! The standard covers f32 and f64; here it is applied to every float dtype. A [`Row`] gives the operands that it
//! applies to and their result. Every row is checked on all pairs from a list of values, some of which it applies to.
//! Where the crate deviates, the row gives its result and the reason, and the deviation must be needed.

mod arithmetic;
mod comparison;
mod division;
mod exponentials;
mod functions;
mod signs;
mod whole;

use crate::devices::devices;
use bitlane::{
    BinaryOp, DType, Device, Element, IntoAxes, Tensor, UnaryOp, bf16, binary, f16, unary,
};

/// A case of the standard. A unary operation uses only the first operand.
struct Row {
    when: &'static str,
    holds: fn(f64, f64) -> bool,
    result: Answer,
    /// The crate's result if it deviates, and the reason.
    ours: Option<(Answer, &'static str)>,
}

type Answer = fn(f64, f64) -> Expected;

/// What is expected of a result.
#[derive(Clone, Copy, Debug)]
enum Expected {
    /// A NaN of any sign.
    Nan,
    /// A NaN of this sign.
    NegativeNan,
    PositiveNan,
    /// Exactly this number, including the sign of a zero.
    Is(f64),
    /// The number of the dtype that is nearest to this one.
    Nearest(f64),
    /// An approximation to this number.
    About(f64),
    /// A number or a zero of this sign.
    Positive,
    Negative,
    True,
    False,
}

/// Declares a table of rows: `"words": |x, y| condition => result`, followed by `; but result, "reason"` where the
/// crate deviates.
macro_rules! rows {
    ($($when:literal: |$x:pat_param, $y:pat_param| $holds:expr => $result:expr
        $(; but $ours:expr, $reason:literal)?,)*) => {
        {
            #[allow(unused_variables, reason = "most results are the same for all operands")]
            const ROWS: &[$crate::special_cases::Row] = &[$($crate::special_cases::Row {
                when: $when,
                holds: |$x, $y| $holds,
                result: |$x, $y| $result,
                ours: rows!(@ours |$x, $y| $($ours, $reason)?),
            }),*];
            ROWS
        }
    };
    (@ours |$x:pat_param, $y:pat_param|) => { None };
    (@ours |$x:pat_param, $y:pat_param| $ours:expr, $reason:literal) => {
        Some((|$x, $y| $ours, $reason))
    };
}
use rows;

/// A float dtype of the crate.
trait Float: Element {
    const NAME: &'static str;
    /// The bits of the mantissa, without the leading one.
    const DIGITS: i32;
    const SUBNORMAL: f64;
    const NORMAL: f64;
    const LARGEST: Self;
    fn nearest(value: f64) -> Self;
    fn value(self) -> f64;
}

macro_rules! floats {
    ($($float:ident $digits:literal $smallest:literal $subnormal:literal $nearest:expr, $value:expr;)*) => {$(
        impl Float for $float {
            const NAME: &'static str = stringify!($float);
            const DIGITS: i32 = $digits;
            const SUBNORMAL: f64 = f64::from_bits($subnormal);
            const NORMAL: f64 = f64::from_bits($smallest);
            const LARGEST: Self = $float::MAX;

            fn nearest(value: f64) -> Self {
                $nearest(value)
            }

            fn value(self) -> f64 {
                $value(self)
            }
        }
    )*};
}

// The powers of two as bits of an f64: 2⁻²⁴ and 2⁻¹⁴, 2⁻¹³³ and 2⁻¹²⁶, 2⁻¹⁴⁹ and 2⁻¹²⁶.
floats! {
    f16 10 0x3f10_0000_0000_0000 0x3e70_0000_0000_0000 f16::from_f64, f16::to_f64;
    bf16 7 0x3810_0000_0000_0000 0x37a0_0000_0000_0000 bf16::from_f64, bf16::to_f64;
    f32 23 0x3810_0000_0000_0000 0x36a0_0000_0000_0000 |value| value as f32, |value: f32| value as f64;
    f64 52 0x0010_0000_0000_0000 0x0000_0000_0000_0001 |value| value, |value| value;
}

/// Returns numbers of every kind that rows distinguish, of either sign.
fn values<T: Float>() -> Vec<f64> {
    let odd = 2f64.powi(T::DIGITS + 1) - 1.0; // the largest odd number
    let positive = [
        0.0,
        T::SUBNORMAL,
        3.0 * T::SUBNORMAL,
        T::NORMAL,
        0.5,
        1.0 - 0.5f64.powi(T::DIGITS + 1),
        1.0,
        1.0 + 0.5f64.powi(T::DIGITS),
        1.5,
        2.0,
        3.0,
        4.0,
        odd,
        T::LARGEST.value(),
        f64::INFINITY,
        f64::NAN,
    ];
    positive.into_iter().flat_map(|value| [value, -value]).collect()
}

/// Returns the results of an operation on every pair of values.
fn results<T: Float>(op: &str, device: &Device) -> Vec<[f64; 3]> {
    let values = values::<T>();
    let elements: Vec<T> = values.iter().map(|&value| T::nearest(value)).collect();
    let len = elements.len();
    let x = Tensor::from_slice(&elements, [len, 1], device).unwrap();
    let y = Tensor::from_slice(&elements, [1, len], device).unwrap();
    let result = match op.parse::<UnaryOp>() {
        Ok(op) => unary(op, &x).run(),
        Err(_) => binary(op.parse::<BinaryOp>().unwrap(), &x, &y).run(),
    };
    let result = result.unwrap().broadcast_to([len, len]).unwrap();
    let numbers: Vec<f64> = if result.dtype() == DType::Bool {
        let truths = result.to_vec::<bool>().unwrap();
        truths.into_iter().map(|truth| f64::from(u8::from(truth))).collect()
    } else {
        result.to_vec::<T>().unwrap().into_iter().map(T::value).collect()
    };
    let pairs = values.iter().flat_map(|&x| values.iter().map(move |&y| [x, y]));
    pairs.zip(numbers).map(|([x, y], result)| [x, y, result]).collect()
}

/// Returns the number of the dtype that is nearest to a value. The conversions of `half` are not used because,
/// depending on the machine, some of them round twice.
fn rounded<T: Float>(value: f64) -> f64 {
    let exponent = (value.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    let step = 2f64.powi(exponent.max(-1022) - T::DIGITS).max(T::SUBNORMAL);
    let nearest = (value / step).round_ties_even() * step;
    if nearest.abs() > T::LARGEST.value() { f64::INFINITY.copysign(value) } else { nearest }
}

impl Expected {
    fn allows<T: Float>(self, given: f64) -> bool {
        let is = |value: f64| !given.is_nan() && given.to_bits() == value.to_bits();
        match self {
            Expected::Nan => given.is_nan(),
            Expected::NegativeNan => given.is_nan() && given.is_sign_negative(),
            Expected::PositiveNan => given.is_nan() && given.is_sign_positive(),
            Expected::Is(value) => is(value),
            Expected::Nearest(value) => is(rounded::<T>(value)),
            Expected::About(value) => (given / value - 1.0).abs() <= 0.5f64.powi(T::DIGITS),
            Expected::Positive => !given.is_nan() && given.is_sign_positive(),
            Expected::Negative => !given.is_nan() && given.is_sign_negative(),
            Expected::True => is(1.0),
            Expected::False => is(0.0),
        }
    }
}

fn check<T: Float>(op: &str, rows: &[Row], device: &Device) {
    let results = results::<T>(op, device);
    for Row { when, holds, result, ours } in rows {
        let concerned: Vec<_> = results.iter().filter(|&&[x, y, _]| holds(x, y)).collect();
        let name = T::NAME;
        assert!(!concerned.is_empty(), "no operands of {name} for {op}: {when}");
        for &&[x, y, given] in &concerned {
            let expected = ours.map_or(*result, |(ours, _)| ours)(x, y);
            assert!(
                expected.allows::<T>(given),
                "{device}: {op} of {name} {x:?} and {y:?} is {given:?}, not {expected:?}: {when}"
            );
        }
        if let Some((_, reason)) = ours {
            let departs = |&&[x, y, given]: &&[f64; 3]| !result(x, y).allows::<T>(given);
            assert!(
                concerned.iter().any(departs),
                "{op} of {name} does as the standard says, so strike the deviation: {when}; {reason}"
            );
        }
    }
}

fn check_all(tables: &[(&str, &[Row])]) {
    for device in devices() {
        for (op, rows) in tables {
            check::<f16>(op, rows, &device);
            check::<bf16>(op, rows, &device);
            check::<f32>(op, rows, &device);
            check::<f64>(op, rows, &device);
        }
    }
}

#[test]
fn sums_differences_and_products() {
    check_all(arithmetic::TABLES);
}

#[test]
fn quotients_and_remainders() {
    check_all(division::TABLES);
}

#[test]
fn powers_angles_logarithms_and_neighbours() {
    check_all(functions::TABLES);
}

#[test]
fn exponentials_and_logarithms() {
    check_all(exponentials::TABLES);
}

/// Checks what IEEE 754 specifies for powers and the standard leaves open, for any other operand, including NaN.
fn check_ones<T: Float>(device: &Device) {
    let values = values::<T>();
    let tensor = |values: &[f64]| {
        let elements: Vec<T> = values.iter().map(|&value| T::nearest(value)).collect();
        Tensor::from_slice(&elements, [values.len()], device).unwrap()
    };
    let (all, one, zero) = (tensor(&values), tensor(&[1.0]), tensor(&[-0.0]));
    for power in [one.pow(&all).unwrap(), all.pow(&zero).unwrap()] {
        let ones: Vec<f64> = power.to_vec::<T>().unwrap().into_iter().map(T::value).collect();
        assert_eq!(ones, vec![1.0; values.len()], "{} on {device}", T::DTYPE);
    }
}

#[test]
fn powers_of_one_and_with_nothing() {
    for device in devices() {
        check_ones::<f16>(&device);
        check_ones::<bf16>(&device);
        check_ones::<f32>(&device);
        check_ones::<f64>(&device);
    }
}

/// Squares of odd numbers that need one bit more than a dtype has are halfway between two of its numbers. Like the
/// product, an exact power rounds to the even one.
#[test]
fn powers_that_are_ties_go_to_the_even_number() {
    for device in devices() {
        for (dtype, odd) in [(DType::BF16, 17..22), (DType::F16, 47..63), (DType::F32, 4097..5791)]
        {
            let odd: Vec<i32> = odd.step_by(2).collect();
            let odd = Tensor::from_slice(&odd, [odd.len()], &device).unwrap();
            let odd = odd.cast(dtype).unwrap();
            let (power, product) = (odd.pow(2).unwrap(), odd.multiply(&odd).unwrap());
            assert_eq!(power.to_bytes().unwrap(), product.to_bytes().unwrap(), "{dtype}");
        }
    }
}

#[test]
fn signs() {
    check_all(signs::TABLES);
}

#[test]
fn whole_numbers_roots_and_finite_numbers() {
    check_all(whole::TABLES);
}

#[test]
fn comparisons_and_extremes() {
    check_all(comparison::TABLES);
}

/// Checks sums and means of no elements, and with a NaN among the elements.
fn check_reductions<T: Float>(device: &Device) {
    let tensor = |values: &[f64]| {
        let elements: Vec<T> = values.iter().map(|&value| T::nearest(value)).collect();
        Tensor::from_slice(&elements, [elements.len()], device).unwrap()
    };
    let one = |result: Tensor| result.to_vec::<T>().unwrap()[0].value();
    let (nothing, with_nan) = (tensor(&[]), tensor(&[1.0, f64::NAN, f64::INFINITY]));
    assert!(Expected::Is(0.0).allows::<T>(one(nothing.sum(..).unwrap())), "{}", T::NAME);
    for axes in [(..).into_axes(), 0.into_axes()] {
        let axes = &axes;
        assert!(one(nothing.mean(axes).unwrap()).is_nan(), "{}", T::NAME);
        assert!(one(with_nan.sum(axes).unwrap()).is_nan(), "{}", T::NAME);
        assert!(one(with_nan.mean(axes).unwrap()).is_nan(), "{}", T::NAME);
    }
}

#[test]
fn sums_and_means() {
    for device in devices() {
        check_reductions::<f16>(&device);
        check_reductions::<bf16>(&device);
        check_reductions::<f32>(&device);
        check_reductions::<f64>(&device);
    }
}

// Predicates for conditions.

fn is_zero(value: f64) -> bool {
    value == 0.0
}

fn is_plus_zero(value: f64) -> bool {
    value == 0.0 && value.is_sign_positive()
}

fn is_minus_zero(value: f64) -> bool {
    value == 0.0 && value.is_sign_negative()
}

/// Returns whether a value is finite and nonzero.
fn is_plain(value: f64) -> bool {
    value.is_finite() && value != 0.0
}

fn is_positive(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

fn is_negative(value: f64) -> bool {
    value.is_finite() && value < 0.0
}

fn same_sign(x: f64, y: f64) -> bool {
    x.is_sign_negative() == y.is_sign_negative()
}

const INF: f64 = f64::INFINITY;
