//! The trigonometric functions, their inverses and hypot.
//!
//! Results of the narrow functions, rounded to f16, bf16 or f32, are correctly rounded for every argument. That needs no
//! bound on the errors here, since all arguments have been tried (`tests/math/of_one.rs`).

/// For results that are rounded to f32, f16 or bf16; see [`crate::math::narrow`].
pub(crate) mod narrow {
    use super::super::narrow::atan_parts;
    use super::super::parts::{ROUND, flip, select};
    use super::super::tables::{
        ACOS_TIES, ATAN_TIES, COS_TIES, HALF_PI_HI, HALF_PI_LO, PI_HI, PI_LO, SIN_TIES, TURNS,
        asin_series, cos_quarter_turns, sin_quarter_turns,
    };

    /// An angle, reduced: (`f` + `rest` + `quarters`) quarter turns, |f| up to 1/2.
    struct Turns {
        f: f64,
        rest: f64,
        quarters: u64,
    }

    impl Turns {
        /// Divides an angle by pi/2 and removes the nearest integer.
        ///
        /// Times the parts of 2/pi for its exponent, the angle has an exact product that is small enough to be rounded
        /// to an integer at once, whatever the exponent. Infinities and NaN give NaN.
        #[inline(always)]
        fn of(x: f64) -> Turns {
            const FIRST: i64 = 1023 - 32;
            let exponent = (x.to_bits() >> 52) as i64 & 0x7ff;
            let row = &TURNS[(exponent.max(FIRST) - FIRST).min(159) as usize];
            let [hi, mid, lo] = row.map(|part| x * f64::from_bits(part));
            let shifted = (hi + mid) + ROUND;
            let upper = hi - (shifted - ROUND); // exact
            let sum = upper + mid;
            let mid_seen = sum - upper;
            let lower = ((upper - (sum - mid_seen)) + (mid - mid_seen)) + lo;
            let f = sum + lower;
            Turns { f, rest: (sum - f) + lower, quarters: shifted.to_bits() }
        }

        /// The sine and cosine of `f` + `rest` quarter turns.
        #[inline(always)]
        fn sin_cos(&self) -> (f64, f64) {
            let Turns { f, rest, .. } = *self;
            let u = f * f;
            let series = (rest * HALF_PI_HI + f * HALF_PI_LO) + (f * u) * sin_quarter_turns(u);
            (f * HALF_PI_HI + series, 1.0 + u * cos_quarter_turns(u))
        }

        /// The sine of the angle, ahead by some quarter turns.
        #[inline(always)]
        fn sin(&self, ahead: u64) -> f64 {
            let (sin, cos) = self.sin_cos();
            let quarters = self.quarters.wrapping_add(ahead);
            let value = select(quarters & 1 == 1, cos, sin);
            f64::from_bits(value.to_bits() ^ (quarters >> 1 << 63))
        }
    }

    /// The sine.
    #[inline(always)]
    pub(crate) fn sin(x: f64) -> f64 {
        // The reduction loses the sign of -0.
        let sin = beside_ties(x.abs(), flip(Turns::of(x).sin(0), x), &SIN_TIES);
        select(x == 0.0, x, flip(sin, x))
    }

    /// The cosine.
    #[inline(always)]
    pub(crate) fn cos(x: f64) -> f64 {
        beside_ties(x.abs(), Turns::of(x).sin(1), &COS_TIES)
    }

    /// The tangent.
    #[inline(always)]
    pub(crate) fn tan(x: f64) -> f64 {
        let turns = Turns::of(x);
        let (sin, cos) = turns.sin_cos();
        let odd = turns.quarters & 1 == 1;
        let tan = select(odd, -cos, sin) / select(odd, sin, cos);
        select(x == 0.0, x, tan)
    }

    /// The arc sine.
    #[inline(always)]
    pub(crate) fn asin(x: f64) -> f64 {
        let (angle, large) = asin_part(x);
        flip(select(large, HALF_PI_HI - 2.0 * angle, angle), x)
    }

    /// The arc cosine.
    #[inline(always)]
    pub(crate) fn acos(x: f64) -> f64 {
        let (angle, large) = asin_part(x);
        let twice = 2.0 * angle;
        let near_one = select(x < 0.0, PI_HI - (twice - PI_LO), twice);
        let acos = select(large, near_one, HALF_PI_HI - (flip(angle, x) - HALF_PI_LO));
        beside_ties(x, acos, &ACOS_TIES)
    }

    /// Returns the arc sine of |x| up to 1/2, or half of the arc cosine of a larger |x|, and whether it is larger.
    #[inline(always)]
    fn asin_part(x: f64) -> (f64, bool) {
        let size = x.abs();
        let large = size > 0.5;
        // cos a = x is sin (a/2) = sqrt((1 - x) / 2).
        let half = (1.0 - size) * 0.5;
        let u = select(large, half, size * size);
        let v = select(large, half.sqrt(), size);
        (v + (v * u) * asin_series(u), large)
    }

    /// The arc tangent.
    #[inline(always)]
    pub(crate) fn atan(x: f64) -> f64 {
        let size = x.abs();
        let steep = size > 1.0;
        let (near, near_rest, small) =
            atan_parts(select(steep, 1.0, size), select(steep, size, 1.0));
        let angle = near + (near_rest + small);
        let atan = select(steep, HALF_PI_HI - (angle - HALF_PI_LO), angle);
        flip(beside_ties(size, atan, &ATAN_TIES), x)
    }

    /// Returns the result, except for the few inputs whose exact result is so close to a tie between two f32 that the
    /// nearest f64 is the tie.
    #[inline(always)]
    fn beside_ties(x: f64, result: f64, ties: &[[u64; 2]]) -> f64 {
        ties.iter().fold(result, |result, &[input, beside]| {
            select(x.to_bits() == input, f64::from_bits(beside), result)
        })
    }

    /// The length of the hypotenuse, rounded as if only once.
    #[inline(always)]
    pub(crate) fn hypot(x: f64, y: f64) -> f64 {
        let (x2, y2) = (x * x, y * y); // exact
        let large = select(x2 > y2, x2, y2);
        let small = select(x2 > y2, y2, x2);
        let sum = large + small;
        let rest = (large - sum) + small;
        let root = sum.sqrt();
        // The root is off by little, but may be on the wrong side of a number of 25 bits, such as are halfway between
        // two results. The square of such a number is exact.
        const PLACE: u64 = 1 << 28;
        let tie = f64::from_bits(root.to_bits().wrapping_add(PLACE / 2) & !(PLACE - 1));
        let excess = (sum - tie * tie) + rest;
        let side = select(excess > 0.0, 1, 0) - select(excess < 0.0, 1, 0);
        let near = (root.to_bits().wrapping_sub(tie.to_bits()) as i64).abs() < 16;
        let beside = f64::from_bits(tie.to_bits().wrapping_add(side as i64 as u64));
        let root = select(near, beside, root);
        let infinite = (x.abs() == f64::INFINITY) | (y.abs() == f64::INFINITY);
        select(infinite, f64::INFINITY, root)
    }
}

/// For f64, as sums of two where one f64 is not precise enough; see [`super::wide`].
pub(crate) mod wide {
    use super::super::parts::{ROUND, flip, select, upper};
    use super::super::sums::Sum;
    use super::super::tables::{HALF_PI_HI, HALF_PI_LO, QUARTER_TURNS, SIN_COS};
    use super::super::wide::{atan_sum, atan2};

    /// An angle that is `quarters` quarter turns and a rest of at most an eighth turn, the sum of two.
    struct Angle {
        rest: (f64, f64),
        quarters: u64,
    }

    impl Angle {
        /// Reduces an angle that is not negative. Infinity and NaN give NaN.
        #[inline(always)]
        fn of(x: f64) -> Angle {
            if x < 0.785 {
                return Angle { rest: (x, 0.0), quarters: 0 };
            }
            // x = m 2^e, and the angle in quarter turns is m times 2^e 2/pi, from which multiples of 4 are left out: the
            // product of m and 192 bits, the first two before the point.
            let m = (x.to_bits() & ((1 << 52) - 1)) | 1 << 52;
            let e = (x.to_bits() >> 52) & 0x7ff; // biased by 1075
            let skipped = e.min(2046) + 126 - 1075;
            let (first, shift) = ((skipped / 64) as usize, skipped % 64);
            let word = |index: usize| {
                let next = QUARTER_TURNS[first + index + 1][0] >> 1 >> (63 - shift);
                QUARTER_TURNS[first + index][0] << shift | next
            };
            let product = |index: usize| u128::from(m) * u128::from(word(index));
            let fraction =
                (product(2) >> 64).wrapping_add(product(1)).wrapping_add(product(0) << 64);
            // The nearest integer is removed: what is left is a fraction with a sign, of 128 bits.
            let quarters = (fraction.wrapping_add(1 << 125) >> 126) as u64;
            let fraction = (fraction << 2) as i128;
            let size = fraction.unsigned_abs();
            let zeros = size.leading_zeros();
            let size = size << zeros;
            let place = f64::from_bits(u64::from(1023 - 53 - zeros) << 52);
            let upper = (size >> 75) as u64 as f64 * place;
            let lower = ((size << 53) >> 64) as u64 as f64 * (place * 2f64.powi(-64));
            let sign = f64::from_bits((fraction as u128 >> 127 << 63) as u64);
            let (hi, lo) = multiply((upper, lower), (HALF_PI_HI, HALF_PI_LO));
            let valid = select(x < f64::INFINITY, 0.0, f64::NAN);
            Angle { rest: (flip(hi, sign) + valid, flip(lo, sign)), quarters }
        }

        /// The sine, ahead by some quarter turns, as a sum of two.
        #[inline(always)]
        fn sin(&self, ahead: u64) -> (f64, f64) {
            // The rest is taken as positive, and split into the nearest angle of the table and what is left.
            let (hi, lo) = (self.rest.0.abs(), flip(self.rest.1, self.rest.0));
            let shifted = hi * 64.0 + ROUND;
            let d = hi - (shifted - ROUND) * (1.0 / 64.0);
            let row = &SIN_COS[(shifted.to_bits() as usize & 127).min(51)];
            let [sin, sin_rest, cos, cos_rest] = row.map(f64::from_bits);
            // sin(t + d) = sin t cos d + cos t sin d, and cos(t + d) = cos t cos d - sin t sin d.
            let turns = self.quarters.wrapping_add(ahead);
            let odd = turns & 1 == 1;
            let (a, a_rest) = (select(odd, cos, sin), select(odd, cos_rest, sin_rest));
            let (b, b_rest) = (select(odd, -sin, cos), select(odd, -sin_rest, cos_rest));
            let (b_upper, d_upper) = (upper(b), upper(d));
            let (b_lower, d_lower) = ((b - b_upper) + b_rest, d - d_upper);
            let product = b_upper * d_upper; // exact
            let product_rest = b_upper * d_lower + b_lower * d;
            let d2 = d * d;
            let cos_series = d2 * (-0.5 + d2 * (1.0 / 24.0 + d2 * (-1.0 / 720.0)));
            let sin_series = d * d2 * (-1.0 / 6.0 + d2 * (1.0 / 120.0 + d2 * (-1.0 / 5040.0)));
            let sum = a + product;
            let sum_rest = (a - sum) + product;
            let series = (a * cos_series + b * sin_series) + ((b - a * d) * lo + a_rest);
            let rest = (sum_rest + product_rest) + series;
            let value = sum + rest;
            let value_rest = (sum - value) + rest;
            // The sine is odd and the cosine even; half a turn negates both.
            let sign = select(odd, 0.0, self.rest.0);
            let sign = flip(sign, f64::from_bits(turns >> 1 << 63));
            (flip(value, sign), flip(value_rest, sign))
        }
    }

    /// The sine.
    #[inline(always)]
    pub(crate) fn sin(x: f64) -> f64 {
        flip(Angle::of(x.abs()).sin(0).0, x)
    }

    /// The cosine.
    #[inline(always)]
    pub(crate) fn cos(x: f64) -> f64 {
        Angle::of(x.abs()).sin(1).0
    }

    /// The tangent.
    #[inline(always)]
    pub(crate) fn tan(x: f64) -> f64 {
        let angle = Angle::of(x.abs());
        let ((sin, sin_rest), (cos, cos_rest)) = (angle.sin(0), angle.sin(1));
        let (tan, cos_upper) = (upper(sin / cos), upper(cos));
        let remainder =
            ((sin - tan * cos_upper) - tan * (cos - cos_upper)) + (sin_rest - tan * cos_rest);
        flip(tan + remainder / cos, x)
    }

    /// The arc sine.
    #[inline(always)]
    pub(crate) fn asin(x: f64) -> f64 {
        let size = x.abs();
        let (cos, cos_rest) = leg(size);
        let steep = size > cos;
        let short = select(steep, cos, size);
        let short_rest = select(steep, cos_rest, 0.0);
        let long = select(steep, size, cos);
        let long_rest = select(steep, 0.0, cos_rest);
        let (angle, rest) = atan_sum((short, short_rest), (long, long_rest), short / long);
        let (from, from_rest) = (select(steep, HALF_PI_HI, 0.0), select(steep, HALF_PI_LO, 0.0));
        let angle = select(steep, -angle, angle);
        let rest = select(steep, -rest, rest);
        let sum = from + angle;
        let asin = sum + (((from - sum) + angle) + (from_rest + rest));
        // A tiny angle equals its sine; parts of the sum might underflow.
        flip(select(size < 5e-20, size, asin), x)
    }

    /// The arc cosine.
    #[inline(always)]
    pub(crate) fn acos(x: f64) -> f64 {
        let size = x.abs();
        let (sin, sin_rest) = leg(size);
        let steep = sin > size;
        let short = select(steep, size, sin);
        let short_rest = select(steep, 0.0, sin_rest);
        let long = select(steep, sin, size);
        let long_rest = select(steep, sin_rest, 0.0);
        let (angle, rest) = atan_sum((short, short_rest), (long, long_rest), short / long);
        // Measured from the right, from the left, or from above towards the right or the left.
        let left = x < 0.0;
        let quarters = select(steep, 1.0, select(left, 2.0, 0.0));
        let (from, from_rest) = (quarters * HALF_PI_HI, quarters * HALF_PI_LO);
        let angle = select(steep != left, -angle, angle);
        let rest = select(steep != left, -rest, rest);
        let sum = from + angle;
        sum + (((from - sum) + angle) + (from_rest + rest))
    }

    /// sqrt(1 - x^2) as a sum of two, for x from 0 to 1; NaN beyond.
    #[inline(always)]
    fn leg(x: f64) -> (f64, f64) {
        let (minus, plus) = (Sum::add(1.0, -x), Sum::add(1.0, x));
        root(multiply((minus.value, minus.rest), (plus.value, plus.rest)))
    }

    /// The arc tangent.
    #[inline(always)]
    pub(crate) fn atan(x: f64) -> f64 {
        atan2(x, 1.0)
    }

    /// The length of the hypotenuse.
    #[inline(always)]
    pub(crate) fn hypot(x: f64, y: f64) -> f64 {
        const SMALL: f64 = f64::from_bits((1023 - 600) << 52); // 2^-600
        const LARGE: f64 = f64::from_bits((1023 + 600) << 52); // 2^600
        const SUBNORMAL: f64 = f64::from_bits((1023 - 422) << 52); // the smallest normal number times 2^600
        let (width, height) = (x.abs(), y.abs());
        let large = select(width > height, width, height);
        let small = select(width > height, height, width);
        // Scaling avoids overflow and underflow. What it loses of the small leg has no effect.
        let scale = select(large > 1e150, SMALL, 1.0);
        let scale = select(large < 1e-150, LARGE, scale);
        let back = select(large > 1e150, LARGE, 1.0);
        let back = select(large < 1e-150, SMALL, back);
        let (large, small) = (large * scale, small * scale);
        let (square, other) =
            (multiply((large, 0.0), (large, 0.0)), multiply((small, 0.0), (small, 0.0)));
        let sum = square.0 + other.0;
        let sum_rest = ((square.0 - sum) + other.0) + (square.1 + other.1);
        let (root, rest) = root((sum, sum_rest));
        // Added to this number, one whose scaled result is subnormal is rounded at the last place of that result.
        let ruler = select((scale == LARGE) & (root < SUBNORMAL), SUBNORMAL, 0.0);
        let sum = ruler + root;
        let sum_rest = ((ruler - sum) + root) + rest;
        let length = ((sum + sum_rest) - ruler) * back;
        let infinite = (width == f64::INFINITY) | (height == f64::INFINITY);
        select(infinite, f64::INFINITY, length)
    }

    /// The product of two sums of two.
    #[inline(always)]
    fn multiply(x: (f64, f64), y: (f64, f64)) -> (f64, f64) {
        let product = x.0 * y.0;
        let (x_upper, y_upper) = (upper(x.0), upper(y.0));
        let (x_lower, y_lower) = (x.0 - x_upper, y.0 - y_upper);
        let error = ((x_upper * y_upper - product) + (x_upper * y_lower + x_lower * y_upper))
            + x_lower * y_lower;
        (product, error + (x.0 * y.1 + x.1 * y.0))
    }

    /// The square root of a sum of two.
    #[inline(always)]
    fn root(x: (f64, f64)) -> (f64, f64) {
        let root = x.0.sqrt();
        let (square, square_rest) = multiply((root, 0.0), (root, 0.0));
        let rest = ((x.0 - square) + (x.1 - square_rest)) / (2.0 * root);
        (root, select(root == 0.0, 0.0, rest))
    }
}
