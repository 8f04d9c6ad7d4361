//! core-math, with which the functions are compared, against correctly rounded results by mpmath: `tests/goldens/oracle.txt`
//! has a digest of 2,700 of each function in f64 and in f32, 102,600 in all. `oracle.py` writes it.

use crate::arguments::Random;
use crate::function::Function;
use crate::of_one::OF_ONE;

/// core-math's function of f32.
fn of_f32(name: &str) -> fn(f32) -> f32 {
    let found = OF_ONE.iter().find(|of_one| of_one.name == name);
    found.map_or_else(|| Function::named(name).unwrap().rounded_f32(), |of_one| of_one.exact_f32)
}

/// core-math's function of f64.
fn of_f64(name: &str) -> fn(f64) -> f64 {
    let found = OF_ONE.iter().find(|of_one| of_one.name == name);
    found.map_or_else(|| Function::named(name).unwrap().rounded_f64(), |of_one| of_one.exact_f64)
}

#[test]
fn core_math_gives_the_numbers_nearest_to_what_mpmath_computes() {
    let mut results = 0;
    for line in include_str!("../goldens/oracle.txt").lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [name, dtype, signs, low, high, count, digest] = words[..] else { panic!("{line}") };
        let number = |word: &str| word.parse::<i64>().unwrap();
        let (low, high, count) = (number(low), number(high), number(count));
        let (of_f32, of_f64) = (of_f32(name), of_f64(name));
        let mut random = Random::from_state(1);
        let mut found = 0xcbf2_9ce4_8422_2325u64;
        for _ in 0..count {
            let (first, second) = (random.bits(), random.bits());
            let exponent = low + ((second >> 8) % (high - low + 1) as u64) as i64;
            let negative = signs == "1" && second >> 63 == 1;
            let result = if dtype == "f64" {
                let x = f64::from_bits(((exponent + 1023) as u64) << 52 | first >> 12);
                of_f64(if negative { -x } else { x }).to_bits()
            } else {
                let x = f32::from_bits(((exponent + 127) as u32) << 23 | (first >> 41) as u32);
                of_f32(if negative { -x } else { x }).to_bits().into()
            };
            found = (found ^ result).wrapping_mul(0x100_0000_01b3);
        }
        assert_eq!(
            format!("{found:016x}"),
            digest,
            "{name} of {dtype}; `oracle.py {name} {dtype}`"
        );
        results += count;
    }
    assert!(results >= 100_000, "{results}");
}
