//! Functions with exact results: fmod, and powers of integers.

use crate::arguments::Random;
use crate::exhaustive;
use crate::math::{
    IntegerPower, fmod_f32, fmod_f64, fmod_step_f32, fmod_step_f64, is_far_f32, is_far_f64,
};

/// Returns pairs of any bits, and pairs with small quotients, which the former hardly ever have.
fn pairs(seed: u64) -> impl Iterator<Item = (f64, f64)> {
    let mut random = Random::new(seed);
    let count = if exhaustive() { 20_000_000 } else { 200_000 };
    (0..count).map(move |round| {
        let any = f64::from_bits(random.bits());
        match round % 6 {
            0 => (any, f64::from_bits(random.bits())),
            1 => {
                let y = any * random.between(0.5, 2.0);
                (y * random.between(-100.0, 100.0).trunc(), y) // an exact multiple, or nearly
            }
            2 => (any * random.between(1.0, 1e6), any),
            // At the upper end of the range, with a divisor of similar or any size.
            3 => {
                let x = f64::MAX * random.between(0.5, 1.0);
                (x, x / random.between(0.5, 20.0))
            }
            4 => (f64::MAX * random.between(0.5, 1.0), any),
            _ => {
                let place = random.below(40);
                (random.below(1 << 24) as f64, (random.below(1 << 24) >> (place % 24)) as f64)
            }
        }
    })
}

/// Compares the bits; all NaNs count as equal.
fn same(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

#[test]
fn fmod_is_that_of_the_language() {
    let edges = [
        0.0,
        1.0,
        3.0,
        0.1,
        1.5,
        5e-324,
        2.2e-308,
        1.7e308,
        1e16,
        9_007_199_254_740_993.0,
        f64::INFINITY,
        f64::NAN,
        16_777_216.0,
        16_777_215.0,
        268_435_456.0,
        1e-45,
        3.4e38,
    ];
    let signed = edges.into_iter().flat_map(|x| [x, -x]);
    let table: Vec<(f64, f64)> =
        signed.clone().flat_map(|x| signed.clone().map(move |y| (x, y))).collect();
    let mut near = [0, 0];
    for (x, y) in table.into_iter().chain(pairs(3)) {
        assert!(same(fmod_f64(x, y), x % y), "{x:e} {y:e}: {:e}, not {:e}", fmod_f64(x, y), x % y);
        if !is_far_f64(x, y) {
            near[0] += 1;
            assert!(same(fmod_step_f64(x, y), x % y), "{x:e} {y:e}");
        }
        let (a, b) = (x as f32, y as f32);
        let (given, expected) = (f64::from(fmod_f32(a, b)), f64::from(a % b));
        assert!(same(given, expected), "{a:e} {b:e}: {given:e}, not {expected:e}");
        if !is_far_f32(a, b) {
            near[1] += 1;
            assert!(same(fmod_step_f32(a, b).into(), expected), "{a:e} {b:e}");
        }
    }
    assert!(near.iter().all(|&count| count > 10_000), "{near:?}");
}

/// Computes a power by repeated multiplication, for exponents small enough.
fn by_hand(base: i128, exponent: i128, bits: u32) -> i128 {
    if exponent < 0 {
        return match base {
            1 => 1,
            -1 => {
                if exponent % 2 == 0 {
                    1
                } else {
                    -1
                }
            }
            _ => 0,
        };
    }
    let mut power = 1i128;
    for _ in 0..exponent {
        power = power.wrapping_mul(base) & ((1 << bits) - 1);
    }
    power
}

macro_rules! check_powers {
    ($type:ty, $bases:expr, $exponents:expr) => {
        for base in $bases {
            for exponent in $exponents {
                let expected = by_hand(base.into(), exponent.into(), <$type>::BITS) as $type;
                assert_eq!(
                    base.power(exponent),
                    expected,
                    "{base}^{exponent} in {}",
                    stringify!($type)
                );
            }
        }
    };
}

#[test]
fn powers_of_integers_wrap() {
    check_powers!(u8, 0..=u8::MAX, 0..=u8::MAX);
    check_powers!(i8, i8::MIN..=i8::MAX, i8::MIN..=i8::MAX);
    check_powers!(i16, [i16::MIN, -181, -2, -1, 0, 1, 2, 3, 255, i16::MAX], -3..300i16);
    check_powers!(u16, [0, 1, 2, 3, 181, 255, u16::MAX], 0..300u16);
    check_powers!(i32, [i32::MIN, -46_341, -2, -1, 0, 1, 2, 3, 10, i32::MAX], -3..100i32);
    check_powers!(u32, [0, 1, 2, 3, 10, 65_535, u32::MAX], 0..100u32);
    check_powers!(i64, [i64::MIN, -3, -1, 0, 1, 2, 7, i64::MAX], -3..100i64);
    check_powers!(u64, [0, 1, 2, 3, 10, u64::MAX], 0..100u64);
    // An exponent that uses its highest bit: odd numbers to the power of 2^63 are 1, and powers of 2 are 0.
    assert_eq!(3u64.power(1 << 63), 1);
    assert_eq!(3u64.power((1 << 63) + 1), 3);
    assert_eq!(2u64.power(1 << 63), 0);
    assert_eq!(u32::MAX.power(u32::MAX), u32::MAX);
    assert_eq!((-1i64).power(i64::MIN), 1);
    assert_eq!((-1i64).power(i64::MIN + 1), -1);
}
