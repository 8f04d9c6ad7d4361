//! Unevaluated sums of two f64, which carry about twice the bits of one.

use super::parts::{select, upper};

/// The number `value` + `rest`, where the rest is small compared with the value.
#[derive(Clone, Copy)]
pub(super) struct Sum {
    pub(super) value: f64,
    pub(super) rest: f64,
}

impl Sum {
    /// Returns the exact sum of any two numbers.
    #[inline(always)]
    pub(super) fn add(x: f64, y: f64) -> Sum {
        let value = x + y;
        let seen = value - x;
        Sum { value, rest: (x - (value - seen)) + (y - seen) }
    }

    /// Returns the exact sum of two numbers, of which the first is 0 or has the larger exponent.
    #[inline(always)]
    pub(super) fn quick(x: f64, y: f64) -> Sum {
        let value = x + y;
        Sum { value, rest: (x - value) + y }
    }

    /// Returns a product with a relative error of at most 2^-104.
    #[inline(always)]
    pub(super) fn product(x: f64, y: f64) -> Sum {
        let (x_upper, y_upper) = (upper(x), upper(y));
        let (x_lower, y_lower) = (x - x_upper, y - y_upper);
        let value = x * y;
        // All products but the last are exact.
        let rest = ((x_upper * y_upper - value) + (x_upper * y_lower + x_lower * y_upper))
            + x_lower * y_lower;
        Sum { value, rest }
    }

    /// Returns the quotient.
    #[inline(always)]
    pub(super) fn over(self, divisor: Sum) -> Sum {
        let value = self.value / divisor.value;
        let product = Sum::product(value, divisor.value);
        let remainder =
            ((self.value - product.value) - product.rest) + (self.rest - value * divisor.rest);
        Sum { value, rest: remainder / divisor.value }
    }

    /// Returns the square root.
    #[inline(always)]
    pub(super) fn root(self) -> Sum {
        let value = self.value.sqrt();
        let square = Sum::product(value, value);
        let remainder = ((self.value - square.value) - square.rest) + self.rest;
        Sum { value, rest: select(value == 0.0, 0.0, remainder / (2.0 * value)) }
    }

    /// Returns the sum with another number, whose error is that of the rest.
    #[inline(always)]
    pub(super) fn plus(self, x: f64) -> Sum {
        let sum = Sum::add(self.value, x);
        Sum { value: sum.value, rest: sum.rest + self.rest }
    }

    /// Returns the product with a number that is the sum of `upper`, of at most 26 bits, and `lower`.
    #[inline(always)]
    pub(super) fn times(self, upper_factor: f64, lower_factor: f64) -> Sum {
        let value_upper = upper(self.value);
        let rest = (self.value - value_upper) * upper_factor
            + (self.value * lower_factor + self.rest * upper_factor);
        Sum { value: value_upper * upper_factor, rest }
    }

    /// Chooses between two sums without a branch.
    #[inline(always)]
    pub(super) fn select(condition: bool, x: Sum, y: Sum) -> Sum {
        Sum { value: select(condition, x.value, y.value), rest: select(condition, x.rest, y.rest) }
    }

    /// Returns the product with a power of two.
    #[inline(always)]
    pub(super) fn scaled(self, power: f64) -> Sum {
        Sum { value: self.value * power, rest: self.rest * power }
    }

    /// Rounds to the nearest f64.
    #[inline(always)]
    pub(super) fn rounded(self) -> f64 {
        self.value + self.rest
    }

    /// Rounds to odd: to the sum itself if it is an f64, otherwise to that of its two neighbours whose last bit is 1.
    ///
    /// Rounding the result to a format of at most 51 bits then gives what rounding the sum gives. A last bit of 1 is
    /// beyond those bits, and tells on which side of halfway the sum is.
    #[inline(always)]
    pub(super) fn odd(self) -> f64 {
        let Sum { value, rest } = Sum::quick(self.value, self.rest);
        let bits = value.to_bits();
        // Written so that a NaN, which the rest is if the value is infinite, changes nothing.
        let inexact = (rest < 0.0) | (rest > 0.0);
        let step = select((rest > 0.0) == (value > 0.0), 1, u64::MAX);
        f64::from_bits(bits.wrapping_add(select(inexact & (bits & 1 == 0), step, 0)))
    }
}
