//! hypot, compared with the crate `core-math`, whose results are correctly rounded: the function of the CPU and, with the
//! feature `host-kernels`, the code for CUDA compiled for the host.

use crate::arguments::Random;
use crate::exhaustive;
use crate::math;

const BLOCK: u64 = 1 << 16;

/// Returns two operands: any bits, subnormal, integers, of similar size, or the legs of a triangle whose sides are
/// integers, many of which are halfway between two f32.
fn legs(random: &mut Random, kind: u64) -> (f32, f32) {
    let (x, y) = (random.bits(), random.bits());
    let fraction = |bits: u64| (bits >> 41) as u32;
    let integer = |bits: u64| ((bits >> 32) % (2 << (bits % 24))) as f32;
    match kind % 5 {
        0 => (f32::from_bits(x as u32), f32::from_bits(y as u32)),
        1 => (f32::from_bits(fraction(x) >> (x % 16)), f32::from_bits(fraction(y) >> (y % 16))),
        2 => (integer(x), integer(y)),
        3 => {
            let exponent = 1 + (x % 240) as u32;
            let other = exponent + (y % 16) as u32;
            let number = |bits, exponent| f32::from_bits(fraction(bits) | exponent << 23);
            (number(x, exponent), number(y, other))
        }
        _ => {
            let (a, b) = ((x >> 40) % 4096, (y >> 40) % 4096);
            let (a, b, times) = (a.max(b), a.min(b), 1 + x % 8);
            let scale = f32::from_bits((27 + (y % 128) as u32) << 23);
            ((times * (a * a - b * b)) as f32 * scale, (times * 2 * a * b) as f32 * scale)
        }
    }
}

fn same(given: f64, exact: f64) -> bool {
    given.to_bits() == exact.to_bits() || (given.is_nan() && exact.is_nan())
}

#[test]
fn f32_results_are_correctly_rounded() {
    let count = if exhaustive() { 1_000_000_000 } else { 400_000 };
    for block in 0..count / BLOCK {
        let mut random = Random::new(3 + block);
        let pairs = (0..BLOCK).map(|kind| legs(&mut random, kind));
        let (x, y): (Vec<f32>, Vec<f32>) = pairs.unzip();
        #[cfg(feature = "host-kernels")]
        let on_host = crate::host_math::on_host("hypot", "f32", &x, &y);
        for at in 0..x.len() {
            let (x, y) = (x[at], y[at]);
            let exact = core_math::hypotf(x, y);
            let given = math::hypot_f32(x, y);
            assert!(
                same(given.into(), exact.into()),
                "hypot({x:e}, {y:e}) = {given:e}, not {exact:e}"
            );
            #[cfg(feature = "host-kernels")]
            assert!(
                same(on_host[at].into(), exact.into()),
                "hypot({x:e}, {y:e}) = {:e} in CUDA's code, not {exact:e}",
                on_host[at]
            );
        }
    }
}

#[test]
fn f64_results_are_correctly_rounded() {
    let count = if exhaustive() { 100_000_000 } else { 100_000 };
    let mut random = Random::new(4);
    for kind in 0..count {
        let (x, y) = match kind % 3 {
            0 => (f64::from_bits(random.bits()), f64::from_bits(random.bits())),
            1 => (f64::from_bits(random.below(1 << 52)), f64::from_bits(random.below(1 << 52))),
            _ => {
                let x = random.positive(crate::function::F64);
                (x, x * random.between(0.0, 8.0))
            }
        };
        let (given, exact) = (math::hypot_f64(x, y), core_math::hypot(x, y));
        // Not proven, but no other result has been found.
        assert!(same(given, exact), "hypot({x:e}, {y:e}) = {given:e}, not {exact:e}");
    }
}
