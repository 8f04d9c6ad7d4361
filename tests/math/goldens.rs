//! Exact results by mpmath: the reference agrees with them in nearly all bits, and the crate's own functions round
//! them.
//!
//! `tests/goldens/math.txt` is written by `goldens.py`. `BITLANE_MATH_GOLDENS` may name another file, with more lines.

use crate::function::{F32, F64, Function};
use crate::reference::{Double, Exact, exact, power_of_two};

#[test]
fn the_reference_and_the_functions_agree_with_mpmath() {
    let file = std::env::var("BITLANE_MATH_GOLDENS")
        .unwrap_or(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/goldens/math.txt").into());
    let text = std::fs::read_to_string(file).unwrap();
    let (mut lines, mut singles) = (0, 0);
    let mut furthest = [0.0f64; Function::ALL.len()];
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |word: &str| f64::from_bits(u64::from_str_radix(word, 16).unwrap());
        let function = Function::named(words[0]).unwrap();
        let (x, y) = (number(words[1]), number(words[2]));
        let value = Double { hi: number(words[3]), lo: number(words[4]) };
        let golden = Exact { value, exponent: words[5].parse().unwrap() };

        let ours = exact(function, x, y);
        let shift = ours.exponent - golden.exponent;
        let hi = power_of_two(ours.value.hi, shift) - value.hi;
        let lo = power_of_two(ours.value.lo, shift) - value.lo;
        // When `logaddexp` cancels, it is no more precise than its operands.
        let scale = if function == Function::Logaddexp {
            power_of_two(x.abs().max(y.abs()), -golden.exponent).max(value.hi.abs())
        } else {
            value.hi.abs()
        };
        let distance = (hi + lo).abs() / scale;
        furthest[function as usize] = furthest[function as usize].max(distance);
        assert!(distance < 2f64.powi(-84), "{line}: 2^{}", distance.log2());

        let unit = (function == Function::Logaddexp).then(|| x.abs().max(y.abs()));
        let error = F64.error(function.wide(x, y), golden, unit);
        assert!(error < 0.51, "{line}: {error} ulp");
        if F32.round(x) == x && F32.round(y) == y {
            let error = F32.error(F32.round(function.narrow(x, y)), golden, unit);
            assert!(error < 0.501, "{line}: {error} ulp of f32");
            singles += 1;
        }
        lines += 1;
    }
    println!("{lines} lines; the reference is off by 2^{:.1?}", furthest.map(f64::log2));
    assert!(lines >= 2500 && singles > 800, "{lines} {singles}");
}
