//! The special cases of IEEE 754 and of Annex F of the C standard, for both the narrow functions and those of f64.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

use crate::function::{F32, Function};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;
/// A small number that f16, bf16 and f32 represent exactly.
const SMALL: f64 = 1.0 / 16_384.0;

/// Checks the result of both forms of a function, including the sign of zero; the narrow form after rounding to f32.
fn expect(function: Function, x: f64, y: f64, expected: f64) {
    for (form, given, expected) in [
        ("narrow", F32.round(function.narrow(x, y)), F32.round(expected)),
        ("wide", function.wide(x, y), expected),
    ] {
        let same = given.to_bits() == expected.to_bits() || (given.is_nan() && expected.is_nan());
        assert!(same, "{form} {function:?}({x}, {y}) = {given}, not {expected}");
    }
}

#[test]
fn exp_and_log() {
    for (x, expected) in [
        (0.0, 1.0),
        (-0.0, 1.0),
        (INF, INF),
        (-INF, 0.0),
        (NAN, NAN),
        (1000.0, INF),
        (-1000.0, 0.0),
    ] {
        expect(Function::Exp, x, 0.0, expected);
    }
    for (x, expected) in [
        (0.0, -INF),
        (-0.0, -INF),
        (1.0, 0.0),
        (INF, INF),
        (-1.0, NAN),
        (-INF, NAN),
        (NAN, NAN),
        (-SMALL, NAN),
    ] {
        expect(Function::Log, x, 0.0, expected);
    }
}

#[test]
fn pow() {
    let pow = |x, y, expected| expect(Function::Pow, x, y, expected);
    let numbers = [0.0, SMALL, 0.5, 1.0, 1.5, 2.0, 3.0, 1e30, INF];
    for y in numbers.into_iter().chain([NAN]).flat_map(|y| [y, -y]) {
        pow(1.0, y, 1.0);
    }
    for x in numbers.into_iter().chain([NAN]).flat_map(|x| [x, -x]) {
        pow(x, 0.0, 1.0);
        pow(x, -0.0, 1.0);
        if x != 0.0 {
            pow(NAN, x, NAN);
        }
        if x != 1.0 {
            pow(x, NAN, NAN);
        }
    }
    // Powers of zero: infinity or zero, signed for odd integers.
    for (y, odd) in [
        (1.0, true),
        (3.0, true),
        (2.0, false),
        (0.5, false),
        (0.75, false),
        (1.5, false),
        (1e30, false),
        (INF, false),
    ] {
        pow(0.0, y, 0.0);
        pow(-0.0, y, if odd { -0.0 } else { 0.0 });
        pow(0.0, -y, INF);
        pow(-0.0, -y, if odd { -INF } else { INF });
        pow(INF, y, INF);
        pow(-INF, y, if odd { -INF } else { INF });
        pow(INF, -y, 0.0);
        pow(-INF, -y, if odd { -0.0 } else { 0.0 });
    }
    pow(-1.0, INF, 1.0);
    pow(-1.0, -INF, 1.0);
    for x in [0.5, 0.999, -0.5, SMALL] {
        pow(x, INF, 0.0);
        pow(x, -INF, INF);
    }
    for x in [1.001, 2.0, -2.0, 1e30] {
        pow(x, INF, INF);
        pow(x, -INF, 0.0);
    }
    // Powers of negative numbers: defined for integers only, whose parity gives the sign.
    for y in [0.5, 1.5, -0.5, 2.5, SMALL, 8_388_607.5] {
        pow(-2.0, y, NAN);
        pow(-SMALL, y, NAN);
    }
    pow(-2.0, 3.0, -8.0);
    pow(-2.0, 2.0, 4.0);
    pow(-2.0, -3.0, -0.125);
    pow(-1.0, 16_777_215.0, -1.0);
    pow(-1.0, 16_777_216.0, 1.0);
    pow(-1.0, 16_777_218.0, 1.0);
    pow(-1.0, 1e30, 1.0);
    pow(-2.0, 1001.0, -2.0 * 2f64.powi(1000));
    pow(-2.0, 1100.0, INF);
    pow(-2.0, 1101.0, -INF);
    pow(-2.0, -1201.0, -0.0);
    pow(-2.0, -1200.0, 0.0);
}

#[test]
fn parity_of_large_f64_exponents() {
    let pow = |y: f64| Function::Pow.wide(-1.0, y);
    assert_eq!(pow(9_007_199_254_740_991.0), -1.0);
    assert_eq!(pow(9_007_199_254_740_992.0), 1.0);
    assert_eq!(pow(4_503_599_627_370_497.0), -1.0);
    assert_eq!(pow(4_503_599_627_370_496.0), 1.0);
    assert!(pow(4_503_599_627_370_495.5).is_nan());
    assert!(pow(1_125_899_906_842_624.5).is_nan());
    assert_eq!(pow(1.7e308), 1.0);
}

#[test]
fn powers_with_exact_results_are_exact() {
    for x in 1..=1000u32 {
        let square = f64::from(x).powi(2);
        expect(Function::Pow, x.into(), 2.0, square);
        expect(Function::Pow, square, 0.5, x.into());
        expect(Function::Pow, x.into(), 1.0, x.into());
    }
    for k in -149..=127 {
        expect(Function::Pow, 2.0, k.into(), 2f64.powi(k));
        expect(Function::Pow, 0.5, (-k).into(), 2f64.powi(k));
    }
    for k in 0..=22 {
        assert_eq!(Function::Pow.wide(10.0, k.into()), format!("1e{k}").parse::<f64>().unwrap());
    }
    // The ends of the range of f64.
    assert_eq!(Function::Pow.wide(2.0, -1074.0), 5e-324);
    assert_eq!(Function::Pow.wide(2.0, -1075.0), 0.0);
    assert_eq!(Function::Pow.wide(2.0, 1023.0), 2f64.powi(1023));
    assert_eq!(Function::Pow.wide(2.0, 1024.0), INF);
    assert_eq!(Function::Pow.wide(5e-324, 1.0), 5e-324);
    assert_eq!(Function::Pow.wide(f64::MAX, 1.0), f64::MAX);
    assert_eq!(Function::Pow.wide(5e-324, -1.0), INF);
    assert!(Function::Exp.wide(709.782_712_893_384, 0.0) < INF);
    assert_eq!(Function::Exp.wide(709.782_712_893_384_2, 0.0), INF);
}

#[test]
fn atan2() {
    let both = |y: f64, x: f64, expected: f64| {
        expect(Function::Atan2, y, x, expected);
        expect(Function::Atan2, -y, x, -expected);
    };
    for x in [0.0, SMALL, 1.0, 1e30, INF] {
        both(0.0, x, 0.0);
        both(0.0, -x, PI);
    }
    for y in [SMALL, 1.0, 1e30, INF] {
        both(y, 0.0, FRAC_PI_2);
        both(y, -0.0, FRAC_PI_2);
    }
    for y in [SMALL, 1.0, 1e30] {
        both(y, INF, 0.0);
        both(y, -INF, PI);
        both(INF, y, FRAC_PI_2);
        both(INF, -y, FRAC_PI_2);
        both(y, y, FRAC_PI_4);
        both(y, -y, 3.0 * FRAC_PI_4);
    }
    both(INF, INF, FRAC_PI_4);
    both(INF, -INF, 3.0 * FRAC_PI_4);
    for x in [0.0, -0.0, 1.0, -1.0, INF, -INF, NAN] {
        expect(Function::Atan2, NAN, x, NAN);
        expect(Function::Atan2, x, NAN, NAN);
    }
    // Quotients outside the range of f64.
    assert_eq!(Function::Atan2.wide(5e-324, 1.0), 5e-324);
    assert_eq!(Function::Atan2.wide(5e-324, 1e308), 0.0);
    assert_eq!(Function::Atan2.wide(5e-324, -1e308), PI);
    assert_eq!(Function::Atan2.wide(1e308, 5e-324), FRAC_PI_2);
    assert_eq!(Function::Atan2.wide(5e-324, 5e-324), FRAC_PI_4);
    assert_eq!(Function::Atan2.wide(1.7e308, 1.7e308), FRAC_PI_4);
}

#[test]
fn angles() {
    use crate::math::trigonometry::{narrow, wide};
    type One = fn(f64) -> f64;
    type Case = (&'static str, One, One, &'static [(f64, f64)]);
    let cases: [Case; 6] = [
        (
            "sin",
            narrow::sin,
            wide::sin,
            &[(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
        ),
        (
            "cos",
            narrow::cos,
            wide::cos,
            &[(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
        ),
        (
            "tan",
            narrow::tan,
            wide::tan,
            &[(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (NAN, NAN)],
        ),
        (
            "asin",
            narrow::asin,
            wide::asin,
            &[
                (0.0, 0.0),
                (-0.0, -0.0),
                (1.0, FRAC_PI_2),
                (-1.0, -FRAC_PI_2),
                (1.5, NAN),
                (-INF, NAN),
                (NAN, NAN),
            ],
        ),
        (
            "acos",
            narrow::acos,
            wide::acos,
            &[
                (1.0, 0.0),
                (-1.0, PI),
                (0.0, FRAC_PI_2),
                (-0.0, FRAC_PI_2),
                (-1.5, NAN),
                (INF, NAN),
                (NAN, NAN),
            ],
        ),
        (
            "atan",
            narrow::atan,
            wide::atan,
            &[
                (0.0, 0.0),
                (-0.0, -0.0),
                (INF, FRAC_PI_2),
                (-INF, -FRAC_PI_2),
                (1.0, FRAC_PI_4),
                (NAN, NAN),
            ],
        ),
    ];
    for (name, narrow, wide, rows) in cases {
        for &(x, expected) in rows {
            for (given, expected) in
                [(F32.round(narrow(x)), F32.round(expected)), (wide(x), expected)]
            {
                let same = given.to_bits() == expected.to_bits();
                assert!(
                    same || (given.is_nan() && expected.is_nan()),
                    "{name}({x}) = {given}, not {expected}"
                );
            }
        }
    }
}

#[test]
fn hypot() {
    use crate::math::trigonometry::{narrow, wide};
    let both = |x: f64, y: f64, expected: f64| {
        for (x, y) in [(x, y), (y, x), (-x, y), (-y, -x)] {
            for given in [narrow::hypot(x, y), wide::hypot(x, y)] {
                let same = given.to_bits() == expected.to_bits();
                assert!(
                    same || (given.is_nan() && expected.is_nan()),
                    "hypot({x}, {y}) = {given}, not {expected}"
                );
            }
        }
    };
    both(3.0, 4.0, 5.0);
    both(0.0, 0.0, 0.0);
    both(0.0, SMALL, SMALL);
    both(INF, 1.0, INF);
    both(INF, INF, INF);
    both(INF, NAN, INF);
    both(NAN, 1.0, NAN);
    both(NAN, NAN, NAN);
    assert_eq!(wide::hypot(3e300, 4e300), 5e300);
    assert_eq!(wide::hypot(5e-324, 0.0), 5e-324);
    assert_eq!(wide::hypot(1.7e308, 1.7e308), INF);
}

#[test]
fn logaddexp() {
    let both = |x, y, expected| {
        expect(Function::Logaddexp, x, y, expected);
        expect(Function::Logaddexp, y, x, expected);
    };
    both(-INF, -INF, -INF);
    both(INF, INF, INF);
    both(INF, -INF, INF);
    for x in [0.0, -0.0, 1.0, -1e30, 1e30] {
        both(INF, x, INF);
        both(-INF, x, if x == 0.0 { 0.0 } else { x });
    }
    for x in [0.0, 1.0, -1.0, INF, -INF, NAN] {
        both(NAN, x, NAN);
    }
    both(0.0, 0.0, std::f64::consts::LN_2);
    both(1e30, -1e30, 1e30);
    assert_eq!(Function::Logaddexp.wide(1.7e308, -1.7e308), 1.7e308);
    assert_eq!(Function::Logaddexp.wide(-1.7e308, -1.7e308), -1.7e308);
    assert_eq!(Function::Logaddexp.wide(0.0, -745.0), 5e-324);
}
