// The trigonometric functions and their inverses, and hypot, of f64: a port of src/math/trigonometry.rs, as math.cuh is of
// the other files there. Those of narrower floats are in angles.cuh.

namespace bl {
namespace math {

BL_FN u64 multiply_high(u64 x, u64 y) {
#if BL_DEVICE
    u64 r;
    BL_PTX("mul.hi.u64 %0, %1, %2;" : "=l"(r) : "l"(x), "l"(y));
    return r;
#else
    return u64((unsigned __int128)x * y >> 64);
#endif
}

// ---- f64 ---------------------------------------------------------------------------------------------------------

namespace wide {

BL_FN Sum multiply(Sum x, Sum y) {
    const f64 product = x.value * y.value;
    const f64 x_upper = upper(x.value), y_upper = upper(y.value);
    const f64 x_lower = x.value - x_upper, y_lower = y.value - y_upper;
    const f64 error = ((x_upper * y_upper - product) + (x_upper * y_lower + x_lower * y_upper)) + x_lower * y_lower;
    return Sum{product, error + (x.value * y.rest + x.rest * y.value)};
}
BL_FN Sum root(Sum x) {
    const f64 root = square_root(x.value);
    const Sum square = multiply(Sum{root, 0.0}, Sum{root, 0.0});
    const f64 rest = ((x.value - square.value) + (x.rest - square.rest)) / (2.0 * root);
    return Sum{root, root == 0.0 ? 0.0 : rest};
}

// An angle that is `quarters` quarter turns and a rest of at most an eighth turn.
struct Angle {
    Sum rest;
    u32 quarters;
};
BL_FN Angle angle(f64 x) {
    if (x < 0.785) return Angle{Sum{x, 0.0}, 0};
    const u64 m = (bits_of(x) & ((1ull << 52) - 1)) | 1ull << 52;
    const u32 e = u32(bits_of(x) >> 52) & 0x7ff;
    const u32 skipped = (e < 2046 ? e : 2046) + 126 - 1075;
    const u32 first = skipped / 64, shift = skipped % 64;
    const auto word = [&](u32 index) {
        return quarter_turns_row(first + index)[0] << shift | quarter_turns_row(first + index + 1)[0] >> 1 >> (63 - shift);
    };
    // The product modulo 2^192, without its lowest 64 bits.
    const u64 word1 = word(1), lower_add = multiply_high(m, word(2));
    const u64 middle = m * word1 + lower_add;
    const u64 top = multiply_high(m, word1) + m * word(0) + u64(middle < lower_add);
    const u32 quarters = u32((top + (1ull << 61)) >> 62);
    const u64 high = top << 2 | middle >> 62, low = middle << 2;
    const bool negative = high >> 63 != 0;
    const u64 size_high = negative ? ~high + u64(low == 0) : high, size_low = negative ? 0 - low : low;
    const u32 zeros = size_high ? zeros_above(size_high) : 64 + zeros_above(size_low);
    const u64 joined = size_high << (zeros & 63) | size_low >> 1 >> (63 - (zeros & 63));
    const u64 upper_bits = zeros < 64 ? joined : size_low << (zeros & 63);
    const u64 lower_bits = zeros < 64 ? size_low << zeros : 0;
    const f64 place = from_bits<f64>(u64(1023 - 53 - zeros) << 52);
    const f64 upper = f64(upper_bits >> 11) * place;
    const f64 lower = f64(upper_bits << 53 | lower_bits >> 11) * (place * (1.0 / 18446744073709551616.0));
    const f64 sign = from_bits<f64>(u64(negative) << 63);
    const Sum rest = multiply(Sum{upper, lower}, Sum{BL_HALF_PI_HI, BL_HALF_PI_LO});
    const f64 valid = x < BL_INFINITY ? 0.0 : BL_NAN;
    return Angle{Sum{flip(rest.value, sign) + valid, flip(rest.rest, sign)}, quarters};
}

// The sine of an angle, ahead by some quarter turns.
BL_FN Sum sin_of(const Angle& angle, u32 ahead) {
    const f64 hi = magnitude(angle.rest.value), lo = flip(angle.rest.rest, angle.rest.value);
    const f64 shifted = hi * 64.0 + BL_ROUND;
    const f64 d = hi - (shifted - BL_ROUND) * (1.0 / 64.0);
    const u32 masked = u32(bits_of(shifted)) & 127;
    const u64 (&row)[4] = sin_cos_row(masked < 51 ? masked : 51);
    const f64 sin = from_bits<f64>(row[0]), sin_rest = from_bits<f64>(row[1]);
    const f64 cos = from_bits<f64>(row[2]), cos_rest = from_bits<f64>(row[3]);
    const u32 turns = angle.quarters + ahead;
    const bool odd = turns & 1;
    const f64 a = odd ? cos : sin, a_rest = odd ? cos_rest : sin_rest;
    const f64 b = odd ? -sin : cos, b_rest = odd ? -sin_rest : cos_rest;
    const f64 b_upper = upper(b), d_upper = upper(d);
    const f64 b_lower = (b - b_upper) + b_rest, d_lower = d - d_upper;
    const f64 product = b_upper * d_upper;  // exact
    const f64 product_rest = b_upper * d_lower + b_lower * d;
    const f64 d2 = d * d;
    const f64 cos_series = d2 * (-0.5 + d2 * (1.0 / 24.0 + d2 * (-1.0 / 720.0)));
    const f64 sin_series = d * d2 * (-1.0 / 6.0 + d2 * (1.0 / 120.0 + d2 * (-1.0 / 5040.0)));
    const f64 sum = a + product;
    const f64 sum_rest = (a - sum) + product;
    const f64 series = (a * cos_series + b * sin_series) + ((b - a * d) * lo + a_rest);
    const f64 rest = (sum_rest + product_rest) + series;
    const f64 value = sum + rest;
    const f64 value_rest = (sum - value) + rest;
    const f64 sign = flip(odd ? 0.0 : angle.rest.value, from_bits<f64>(u64(turns >> 1) << 63));
    return Sum{flip(value, sign), flip(value_rest, sign)};
}
BL_FN f64 sin(f64 x) { return flip(sin_of(angle(magnitude(x)), 0).value, x); }
BL_FN f64 cos(f64 x) { return sin_of(angle(magnitude(x)), 1).value; }
BL_FN f64 tan(f64 x) {
    const Angle reduced = angle(magnitude(x));
    const Sum sin = sin_of(reduced, 0), cos = sin_of(reduced, 1);
    const f64 tan = upper(sin.value / cos.value), cos_upper = upper(cos.value);
    const f64 remainder = ((sin.value - tan * cos_upper) - tan * (cos.value - cos_upper)) + (sin.rest - tan * cos.rest);
    return flip(tan + remainder / cos.value, x);
}

// sqrt(1 - x^2).
BL_FN Sum leg(f64 x) { return wide::root(multiply(add(1.0, -x), add(1.0, x))); }
BL_FN f64 asin(f64 x) {
    const f64 size = magnitude(x);
    const Sum cos = leg(size), sin = Sum{size, 0.0};
    const bool steep = size > cos.value;
    const Sum shorter = steep ? cos : sin, longer = steep ? sin : cos;
    const Sum exact = atan_sum(shorter, longer, shorter.value / longer.value);
    const f64 from = steep ? BL_HALF_PI_HI : 0.0, from_rest = steep ? BL_HALF_PI_LO : 0.0;
    const f64 angle = steep ? -exact.value : exact.value, rest = steep ? -exact.rest : exact.rest;
    const f64 sum = from + angle;
    const f64 asin = sum + (((from - sum) + angle) + (from_rest + rest));
    return flip(size < 5e-20 ? size : asin, x);
}
BL_FN f64 acos(f64 x) {
    const f64 size = magnitude(x);
    const Sum sin = leg(size), cos = Sum{size, 0.0};
    const bool steep = sin.value > size;
    const Sum shorter = steep ? cos : sin, longer = steep ? sin : cos;
    const Sum exact = atan_sum(shorter, longer, shorter.value / longer.value);
    const bool left = x < 0.0;
    const f64 quarters = steep ? 1.0 : left ? 2.0 : 0.0;
    const f64 from = quarters * BL_HALF_PI_HI, from_rest = quarters * BL_HALF_PI_LO;
    const f64 angle = steep != left ? -exact.value : exact.value, rest = steep != left ? -exact.rest : exact.rest;
    const f64 sum = from + angle;
    return sum + (((from - sum) + angle) + (from_rest + rest));
}
BL_FN f64 atan(f64 x) { return atan2(x, 1.0); }

BL_FN f64 hypot(f64 x, f64 y) {
    const f64 small_scale = from_bits<f64>(u64(1023 - 600) << 52), large_scale = from_bits<f64>(u64(1023 + 600) << 52);
    const f64 subnormal = from_bits<f64>(u64(1023 - 422) << 52);
    const f64 width = magnitude(x), height = magnitude(y);
    f64 large = width > height ? width : height, small = width > height ? height : width;
    const bool huge = large > 1e150, tiny = large < 1e-150;
    const f64 scale = tiny ? large_scale : huge ? small_scale : 1.0, back = tiny ? small_scale : huge ? large_scale : 1.0;
    large *= scale;
    small *= scale;
    const Sum square = multiply(Sum{large, 0.0}, Sum{large, 0.0}), other = multiply(Sum{small, 0.0}, Sum{small, 0.0});
    const f64 squares = square.value + other.value;
    const f64 squares_rest = ((square.value - squares) + other.value) + (square.rest + other.rest);
    const Sum length = wide::root(Sum{squares, squares_rest});
    const f64 ruler = tiny && length.value < subnormal ? subnormal : 0.0;
    const f64 sum = ruler + length.value;
    const f64 sum_rest = ((ruler - sum) + length.value) + length.rest;
    const bool infinite = width == BL_INFINITY || height == BL_INFINITY;
    return infinite ? BL_INFINITY : ((sum + sum_rest) - ruler) * back;
}

}  // namespace wide

}  // namespace math
}  // namespace bl
