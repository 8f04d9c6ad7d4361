//! `x · y + z`, rounded once: by the machine's instruction, or exactly without one.

use super::Fuse;

/// The fused multiplication and addition by an instruction, in loops that are compiled for machines that have it.
pub(crate) struct FmaInHardware;

/// The same by other instructions.
pub(crate) struct FmaInSoftware;

/// The same for numbers that an `f32` can represent, rounded to odd: the caller rounds once more, to a dtype narrower
/// than `f64`, and both roundings together are one.
pub(crate) struct FmaToOdd;

macro_rules! fused {
    ($($function:ident: $float:ty, |$x:ident, $y:ident, $z:ident| $result:expr;)*) => {$(
        impl Fuse<$float> for $function {
            #[inline(always)]
            fn fuse($x: $float, $y: $float, $z: $float) -> $float {
                $result
            }
        }
    )*};
}

fused! {
    FmaInHardware: f32, |x, y, z| x.mul_add(y, z);
    FmaInHardware: f64, |x, y, z| x.mul_add(y, z);
    FmaInSoftware: f32, |x, y, z| to_odd(x.into(), y.into(), z.into()) as f32;
    FmaInSoftware: f64, |x, y, z| exact(x, y, z);
    FmaToOdd: f64, |x, y, z| to_odd(x, y, z);
}

/// Rounds `x · y + z` of numbers of up to 24 bits to the two nearest `f64`s' odd one, unless it is exact. A bit that
/// stands for everything below keeps ties of narrower dtypes apart from what is near them.
#[inline(always)]
fn to_odd(x: f64, y: f64, z: f64) -> f64 {
    // Up to 48 bits, far from the ends of the range.
    let product = x * y;
    let sum = product + z;
    // The error of the sum (Knuth's TwoSum), or NaN if the sum is not finite.
    let other = sum - product;
    let error = (product - (sum - other)) + (z - other);
    let bits = sum.to_bits();
    let away = (error > 0.0) == (sum > 0.0);
    let odd = if away { bits + 1 } else { bits.wrapping_sub(1) };
    let is_even = bits & 1 == 0;
    f64::from_bits(if is_even & ((error < 0.0) | (error > 0.0)) { odd } else { bits })
}

/// Computes `x · y + z` of any numbers in integers of 128 bits.
fn exact(x: f64, y: f64, z: f64) -> f64 {
    if !(x.is_finite() && y.is_finite()) || x == 0.0 || y == 0.0 {
        // The product is exact.
        return x * y + z;
    }
    if !z.is_finite() {
        // Whatever the finite product is, even if it would overflow by itself.
        return z;
    }
    let product_sign = x.is_sign_negative() != y.is_sign_negative();
    let ((mx, ex), (my, ey), (mz, ez)) = (parts(x), parts(y), parts(z));
    let product = Term::new(product_sign, u128::from(mx) * u128::from(my), ex + ey);
    if z == 0.0 {
        return product.rounded();
    }
    product.add(Term::new(z.is_sign_negative(), mz.into(), ez)).rounded()
}

/// Returns the integer and the power of two of which a finite number is the product, without its sign.
fn parts(x: f64) -> (u64, i32) {
    let (exponent, fraction) = ((x.to_bits() >> 52 & 0x7ff) as i32, x.to_bits() << 12 >> 12);
    (if exponent == 0 { fraction } else { fraction | 1 << 52 }, exponent.max(1) - 1075)
}

/// A number other than zero, with its highest bit at 126. Bits below the lowest are or-ed into that one.
struct Term {
    is_negative: bool,
    bits: u128,
    exponent: i32,
}

impl Term {
    fn new(is_negative: bool, bits: u128, exponent: i32) -> Term {
        let up = bits.leading_zeros() as i32 - 1;
        Term { is_negative, bits: bits << up, exponent: exponent - up }
    }

    /// Adds a number. Of 127 bits at most 106 are used by either, so bits are only lost below a difference in size that
    /// lets at most one leading bit cancel.
    fn add(self, other: Term) -> Term {
        let is_larger = (self.exponent, self.bits) >= (other.exponent, other.bits);
        let (large, small) = if is_larger { (self, other) } else { (other, self) };
        let moved = shifted(small.bits, large.exponent.abs_diff(small.exponent));
        let is_sum = large.is_negative == small.is_negative;
        let bits = if is_sum { large.bits + moved } else { large.bits - moved };
        // Where both cancel, the result is +0.
        let is_negative = large.is_negative && bits != 0;
        // The carry of a sum is the highest bit of all.
        if bits >> 127 == 1 {
            return Term { is_negative, bits: shifted(bits, 1), exponent: large.exponent + 1 };
        }
        let up = if bits == 0 { 0 } else { bits.leading_zeros() as i32 - 1 };
        Term { is_negative, bits: bits << up, exponent: large.exponent - up }
    }

    /// Rounds to nearest even.
    fn rounded(self) -> f64 {
        let sign = u64::from(self.is_negative) << 63;
        if self.bits == 0 {
            return f64::from_bits(sign);
        }
        // The exponent of the last of 53 bits, or of the smallest number.
        let last = (self.exponent + 126 - 52).max(-1074);
        let down = (last - self.exponent) as u32;
        // Two bits more: the half, and whether there is anything below.
        let bits = shifted(self.bits, down - 2) as u64;
        let round_up = matches!(bits & 7, 3 | 6 | 7);
        let mantissa = (bits >> 2) + u64::from(round_up);
        // The implicit bit adds one to the exponent field, as does a carry from rounding.
        let magnitude = mantissa + (((last + 1074) as u64) << 52);
        f64::from_bits(sign | magnitude.min(f64::INFINITY.to_bits()))
    }
}

/// Shifts to the right and keeps in the lowest bit whether a one was lost.
fn shifted(bits: u128, amount: u32) -> u128 {
    let kept = bits.checked_shr(amount).unwrap_or(0);
    kept | u128::from(kept.checked_shl(amount).unwrap_or(0) != bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cast::Cast;

    /// Numbers at the edges of the format and random ones, many of them so near each other that sums cancel.
    fn numbers(count: usize) -> Vec<f64> {
        let mut state = 7u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state ^ state >> 31
        };
        let edges =
            [0, 1, 2, 1 << 52, 1 << 63, 0x3ff << 52, 0x7fe << 52, 0x7ff << 52, 0x7ff8 << 48];
        let near = |bits: u64| [bits, bits.wrapping_sub(1), bits | 1 << 63].map(f64::from_bits);
        let mut all: Vec<f64> = edges.into_iter().flat_map(near).collect();
        while all.len() < count {
            let bits = random();
            all.push(f64::from_bits(match bits % 3 {
                0 => bits,
                // Few bits, so that sums and products are often exact or ties.
                1 => bits & 0xfff0_0000_0000_0000 | (bits >> 20 & 3) << 50 | bits >> 9 & 1,
                _ => bits % (1 << 55) + (0x3e0 << 52),
            }));
        }
        all
    }

    #[track_caller]
    fn agrees(given: f64, expected: f64, what: &dyn std::fmt::Debug) {
        let is_same =
            given.to_bits() == expected.to_bits() || (given.is_nan() && expected.is_nan());
        assert!(is_same, "{what:?}: {given:e}, not {expected:e}");
    }

    #[test]
    fn without_the_instruction_the_bits_are_the_same() {
        let all = numbers(96);
        for (&x, &y) in all.iter().flat_map(|x| all.iter().map(move |y| (x, y))) {
            // Sums that cancel, too.
            let near = [-(x * y), -(x * y) * (1.0 + f64::EPSILON), (x * y) * 0.5];
            for &z in all.iter().chain(&near) {
                agrees(exact(x, y, z), x.mul_add(y, z), &(x, y, z));
                let [x, y, z] = [x, y, z].map(|number| number as f32);
                let given = FmaInSoftware::fuse(x, y, z);
                agrees(given.into(), x.mul_add(y, z).into(), &(x, y, z));
            }
        }
    }

    #[test]
    fn what_is_near_a_tie_is_not_rounded_as_one() {
        // 1 + 2^-8 is a tie of bf16, of which 2^-133 decides; f64 would lose that.
        let (x, tiny) = (257.0 / 256.0, 2f64.powi(-133));
        let bf16 = |z: f64| Cast::<half::bf16>::cast(to_odd(x, 1.0, z)).to_bits();
        assert_eq!([bf16(-tiny), bf16(0.0), bf16(tiny)], [0x3f80, 0x3f80, 0x3f81]);
        let f32 = |x: f32, z: f32| FmaInSoftware::fuse(x, 1.0 + 2f32.powi(-12), z);
        let tie = 1.0 + 2f32.powi(-12);
        assert_eq!(f32(tie, 2f32.powi(-149)), tie.mul_add(tie, 2f32.powi(-149)));
    }
}
