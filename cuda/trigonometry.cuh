// The trigonometric functions, their inverses and hypot: a port of src/math/trigonometry.rs, as math.cuh is of the other
// files there.

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

// ---- For results that are rounded to f32, f16 or bf16 ------------------------------------------------------------

namespace narrow {

// (f + rest + quarters) quarter turns.
struct Turns {
    f64 f, rest;
    u32 quarters;
};
BL_FN Turns turns(f64 x) {
    const i32 exponent = i32(bits_of(x) >> 52) & 0x7ff, first = 1023 - 32;
    const u64 (&row)[3] = turns_row(u32(smaller(larger(exponent, first) - first, 159)));
    const f64 hi = x * from_bits<f64>(row[0]), mid = x * from_bits<f64>(row[1]), lo = x * from_bits<f64>(row[2]);
    const f64 shifted = (hi + mid) + BL_ROUND;
    const f64 upper = hi - (shifted - BL_ROUND);  // exact
    const f64 sum = upper + mid;
    const f64 mid_seen = sum - upper;
    const f64 lower = ((upper - (sum - mid_seen)) + (mid - mid_seen)) + lo;
    const f64 f = sum + lower;
    return Turns{f, (sum - f) + lower, u32(bits_of(shifted))};
}
// sin and cos of f + rest quarter turns.
struct SinCos { f64 sin, cos; };
BL_FN SinCos sin_cos(const Turns& t) {
    const f64 u = t.f * t.f;
    const f64 series = (t.rest * BL_HALF_PI_HI + t.f * BL_HALF_PI_LO) + (t.f * u) * sin_quarter_turns(u);
    return SinCos{t.f * BL_HALF_PI_HI + series, 1.0 + u * cos_quarter_turns(u)};
}
BL_FN f64 sin_of(const Turns& t, u32 ahead) {
    const SinCos both = sin_cos(t);
    const u32 quarters = t.quarters + ahead;
    return flip(quarters & 1 ? both.cos : both.sin, from_bits<f64>(u64(quarters >> 1) << 63));
}
BL_FN f64 sin(f64 x) {
    const f64 sin = sin_ties(magnitude(x), flip(sin_of(turns(x), 0), x));
    return x == 0.0 ? x : flip(sin, x);
}
BL_FN f64 cos(f64 x) { return cos_ties(magnitude(x), sin_of(turns(x), 1)); }
BL_FN f64 tan(f64 x) {
    const Turns t = turns(x);
    const SinCos both = sin_cos(t);
    const bool odd = t.quarters & 1;
    const f64 tan = (odd ? -both.cos : both.sin) / (odd ? both.sin : both.cos);
    return x == 0.0 ? x : tan;
}

// The arc sine of |x| up to 1/2, or half of the arc cosine of a larger |x|.
struct Arc {
    f64 angle;
    bool large;
};
BL_FN Arc arc(f64 x) {
    const f64 size = magnitude(x);
    const bool large = size > 0.5;
    const f64 half = (1.0 - size) * 0.5;
    const f64 u = large ? half : size * size, v = large ? square_root(half) : size;
    return Arc{v + (v * u) * asin_series(u), large};
}
BL_FN f64 asin(f64 x) {
    const Arc a = arc(x);
    return flip(a.large ? BL_HALF_PI_HI - 2.0 * a.angle : a.angle, x);
}
BL_FN f64 acos(f64 x) {
    const Arc a = arc(x);
    const f64 twice = 2.0 * a.angle;
    const f64 near_one = x < 0.0 ? BL_PI_HI - (twice - BL_PI_LO) : twice;
    return acos_ties(x, a.large ? near_one : BL_HALF_PI_HI - (flip(a.angle, x) - BL_HALF_PI_LO));
}
BL_FN f64 atan(f64 x) {
    const f64 size = magnitude(x);
    const bool steep = size > 1.0;
    const Near parts = atan_parts(steep ? 1.0 : size, steep ? size : 1.0);
    const f64 angle = parts.near + (parts.rest + parts.small);
    return flip(atan_ties(size, steep ? BL_HALF_PI_HI - (angle - BL_HALF_PI_LO) : angle), x);
}

// Rounded as if only once.
BL_FN f64 hypot(f64 x, f64 y) {
    const f64 x2 = x * x, y2 = y * y;
    const f64 large = x2 > y2 ? x2 : y2, small = x2 > y2 ? y2 : x2;
    const f64 sum = large + small;
    const f64 rest = (large - sum) + small;
    const f64 root = square_root(sum);
    const u64 place = 1ull << 28;
    const f64 tie = from_bits<f64>((bits_of(root) + place / 2) & ~(place - 1));
    const f64 excess = (sum - tie * tie) + rest;
    const i64 apart = i64(bits_of(root) - bits_of(tie));
    const bool near = -16 < apart && apart < 16;
    const f64 beside = from_bits<f64>(bits_of(tie) + u64(i64(excess > 0.0) - i64(excess < 0.0)));
    const bool infinite = magnitude(x) == BL_INFINITY || magnitude(y) == BL_INFINITY;
    return infinite ? BL_INFINITY : near ? beside : root;
}

}  // namespace narrow

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

// ---- By dtype ----------------------------------------------------------------------------------------------------

// f(x) for f16, bf16 or f32, where f is a function of narrow::, rounded once.
template <class T, class F> BL_FN T through_f64(T x, F f) {
    if constexpr (is_half<T>()) return round_to<T>(round_to_odd(f(f64(widen(x)))));
    else return f32(f(f64(x)));
}
#define BL_OF_ONE_FLOAT(name) \
    template <class T> BL_FN T name(T x) { \
        if constexpr (same<T, f64>()) return wide::name(x); \
        else return through_f64(x, [](f64 a) { return narrow::name(a); }); \
    }
BL_OF_ONE_FLOAT(sin)
BL_OF_ONE_FLOAT(cos)
BL_OF_ONE_FLOAT(tan)
BL_OF_ONE_FLOAT(asin)
BL_OF_ONE_FLOAT(acos)
BL_OF_ONE_FLOAT(atan)
#undef BL_OF_ONE_FLOAT

template <class T> BL_FN T hypot(T x, T y) {
    if constexpr (same<T, f64>()) return wide::hypot(x, y);
    else return through_f64(x, y, [](f64 a, f64 b) { return narrow::hypot(a, b); });
}

}  // namespace math
}  // namespace bl
