// The crate's own pow, atan2, logaddexp and fmod, and powers of integers: a port of src/math/. Both perform
// the same IEEE operations in the same order, and so give the same bits. The names are the same; the derivations are
// there.
//
// narrow:: takes numbers that an f32 can hold, and returns an f64 that the caller rounds once, to f32, f16 or bf16; it is
// for the few cases that of_two.cuh cannot decide in sums of two f32.
// wide:: is for f64. No operation is fused, no library function is called, and no array is indexed except the tables.

namespace bl {
namespace math {

// Adding this to a number below 2^50 rounds it to an integer, which is then in the lowest bits.
#define BL_ROUND 6755399441055744.0
#define BL_INFINITY from_bits<f64>(0x7ff0000000000000ull)
#define BL_NAN from_bits<f64>(0x7ff8000000000000ull)

struct Sum { f64 value, rest; };

BL_FN f64 magnitude(f64 x) { return from_bits<f64>(bits_of(x) & 0x7fffffffffffffffull); }
BL_FN bool is_nan(f64 x) { return x != x; }
BL_FN f64 limited(f64 x, f64 limit) {
    x = x > limit ? limit : x;
    return x < -limit ? -limit : x;
}

// The upper 26 bits of the significand.
BL_FN f64 upper(f64 x) { return from_bits<f64>(bits_of(x) & ~((1ull << 27) - 1)); }

// x with its sign flipped if the sign bit of `sign` is set.
BL_FN f64 flip(f64 x, f64 sign) { return from_bits<f64>(bits_of(x) ^ (bits_of(sign) & 0x8000000000000000ull)); }

// x = significand * 2^exponent, and the table row for the significand. x must be positive and normal.
struct Split {
    f64 significand, exponent;
    const u64 (&row)[4];
};
BL_FN Split split(f64 x) {
    const u64 offset = bits_of(x) - BL_LOG_START;
    const u64 biased = (offset + (2048ull << 52)) >> 52;
    return Split{from_bits<f64>(bits_of(x) - (offset & (0xfffull << 52))),
                 from_bits<f64>(0x4330000000000000ull | biased) - 4503599627372544.0, log_row(u32(offset >> 45) & 127)};
}

// ---- Special cases -----------------------------------------------------------------------------------------------

// Whether the exponent of a power is an integer, and whether it is odd. Infinity counts as an even integer.
struct Parity { bool integer, odd; };

// x^y in all cases, given |x|^y, which need only be right for finite x other than 0 and any y.
BL_FN f64 pow_cases(f64 x, f64 y, Parity parity, f64 power) {
    const f64 size = magnitude(x);
    const f64 at_end = (size == 0.0) == (y > 0.0) ? 0.0 : BL_INFINITY;
    power = size == 0.0 || size == BL_INFINITY ? at_end : power;
    power = flip(power, parity.odd ? x : 0.0);
    const bool complex = x < 0.0 && size < BL_INFINITY && !parity.integer;
    power = complex || is_nan(x) || is_nan(y) ? BL_NAN : power;
    return y == 0.0 || x == 1.0 ? 1.0 : power;
}

// log x in all cases, given a value that need only be right for positive finite x.
BL_FN f64 log_cases(f64 x, f64 log) {
    log = x == BL_INFINITY ? x : log;
    log = x == 0.0 ? -BL_INFINITY : log;
    return x < 0.0 || is_nan(x) ? BL_NAN : log;
}

// log(e^x + e^y) in all cases, given a value that need only be right for finite x and y, or if exactly one of them is
// -inf.
BL_FN f64 logaddexp_cases(f64 x, f64 y, f64 sum) {
    sum = x == y && x == -BL_INFINITY ? x : sum;
    sum = x == BL_INFINITY || y == BL_INFINITY ? BL_INFINITY : sum;
    return is_nan(x) || is_nan(y) ? BL_NAN : sum;
}

// atan2(y, x) as an angle of a triangle with two sides, shorter <= longer, neither negative. It is measured from the
// vertical axis if the point is steep, else from the horizontal one. If x or y is a NaN, so is one of the sides.
struct Triangle {
    f64 shorter, longer;
    bool steep, left;
};
BL_FN Triangle triangle(f64 y, f64 x) {
    const f64 height = magnitude(y), width = magnitude(x);
    const bool steep = height > width;
    const f64 shorter = steep ? width : height, longer = steep ? height : width;
    const bool infinite = shorter == BL_INFINITY && longer == BL_INFINITY;
    return Triangle{infinite ? 1.0 : shorter, infinite || longer == 0.0 ? 1.0 : longer, steep, bits_of(x) >> 63 != 0};
}
BL_FN f64 axis(const Triangle& t, f64 half, f64 whole) { return t.steep ? half : t.left ? whole : 0.0; }
BL_FN f64 turn(const Triangle& t, f64 angle) { return t.steep != t.left ? -angle : angle; }

// ---- For results that are rounded to f32, f16 or bf16 ------------------------------------------------------------

namespace narrow {

// 2^t; results that are out of the range of the narrow formats stay out of it.
BL_FN f64 exp2(f64 t) {
    t = limited(t, 512.0);
    const f64 shifted = t * 128.0 + BL_ROUND;
    const u64 steps = bits_of(shifted);
    const f64 r = (t - (shifted - BL_ROUND) * (1.0 / 128.0)) * BL_LN2;
    const f64 near = from_bits<f64>(exp_row(u32(steps) & 127)[0] + ((steps & ~127ull) << 45));
    return near + near * (r + r * r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0))));
}

// The binary logarithm of a positive finite number.
BL_FN f64 log2(f64 x) {
    const Split s = split(x);
    const f64 r = s.significand * from_bits<f64>(s.row[0]) - 1.0;
    const f64 series = -0.5 + r * (1.0 / 3.0 + r * (-0.25 + r * (0.2 + r * (-1.0 / 6.0))));
    return (s.exponent + from_bits<f64>(s.row[3])) + (r + r * r * series) * BL_LOG2_E;
}

// The nearest number of 29 bits if the power is so close to it that it may be exactly that number, else the power.
BL_FN f64 settle(f64 power) {
    const u64 below = (1ull << 24) - 1, near = 1ull << 9, raised = bits_of(power) + near;
    return (raised & below) <= 2 * near ? from_bits<f64>(raised & ~below) : power;
}

// For numbers up to 2^40. In [2^52, 2^53), the last bit of a number has the value 1.
BL_FN Parity parity(f64 x) {
    const f64 rounded = magnitude(x) + 4503599627370496.0;
    const bool integer = rounded - 4503599627370496.0 == magnitude(x);
    return Parity{integer, integer && (bits_of(rounded) & 1)};
}
BL_FN f64 pow(f64 x, f64 y) {
    const f64 exponent = limited(y, 1099511627776.0);
    return pow_cases(x, y, parity(exponent), settle(exp2(exponent * log2(magnitude(x)))));
}
BL_FN f64 logaddexp(f64 x, f64 y) {
    const f64 large = x > y ? x : y, small = x > y ? y : x;
    const f64 ratio = exp2((small - large) * BL_LOG2_E);
    const f64 sum = 1.0 + ratio;
    const f64 log = log2(sum) * BL_LN2 + (ratio - (sum - 1.0));
    return logaddexp_cases(x, y, large + log);
}
// The angle whose tangent is shorter / longer as a sum of three.
struct Near { f64 near, rest, small; };
BL_FN Near atan_parts(f64 shorter, f64 longer) {
    longer = longer == BL_INFINITY ? 1e300 : longer;
    const f64 shifted = f64(f32(shorter) / f32(longer)) * 64.0 + BL_ROUND;
    const f64 near = (shifted - BL_ROUND) * (1.0 / 64.0);
    const u32 masked = u32(bits_of(shifted)) & 127;
    const u64 (&row)[2] = atan_row(masked < 64 ? masked : 64);
    const f64 t = (shorter - near * longer) / (longer + near * shorter);
    const f64 t2 = t * t;
    const f64 series = -1.0 / 3.0 + t2 * (1.0 / 5.0 + t2 * (-1.0 / 7.0));
    return Near{from_bits<f64>(row[0]), from_bits<f64>(row[1]), t + t * (t2 * series)};
}
BL_FN f64 atan2(f64 y, f64 x) {
    const Triangle sides = triangle(y, x);
    const Near parts = atan_parts(sides.shorter, sides.longer);
    return flip(axis(sides, BL_HALF_PI_HI, BL_PI_HI) + turn(sides, parts.near + parts.small), y);
}

}  // namespace narrow

// ---- f64 ---------------------------------------------------------------------------------------------------------

namespace wide {

// A sum and its rounding error.
BL_FN Sum add(f64 x, f64 y) {
    const f64 sum = x + y, y_seen = sum - x;
    return Sum{sum, (x - (sum - y_seen)) + (y - y_seen)};
}

// A power of e as table * (1 + table_error) * e^(r + r_rest) * 2^(exponent - 8192).
struct Reduced {
    f64 table, table_error, r, r_rest;
    u32 exponent;
};
BL_FN Reduced reduced_at(u32 count, f64 r, f64 r_rest) {
    return Reduced{from_bits<f64>(exp_row(count & 127)[0]), from_bits<f64>(exp_row(count & 127)[1]), r, r_rest,
                   (count & ((1u << 22) - 1)) >> 7};
}
// e^(x + rest), where the rest is below a millionth of x, and |x| below 1000.
BL_FN Reduced reduced(f64 x, f64 rest) {
    const f64 shifted = x * BL_STEPS + (BL_ROUND + 1048576.0);
    const f64 steps = shifted - (BL_ROUND + 1048576.0);
    const f64 upper = x - steps * BL_STEP_HI;  // exact
    const f64 lower = rest - steps * BL_STEP_LO;
    const f64 r = upper + lower;
    return reduced_at(u32(bits_of(shifted)), r, (upper - r) + lower);
}
// The terms of the power beyond 1 + r, relative to the value of the table.
BL_FN f64 terms(const Reduced& p) {
    const f64 r = p.r;
    const f64 series = 0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0))));
    return r * r * series + (p.r_rest + p.table_error);
}

// A power of e: (near + rest) * 2^(exponent - 8192), with near close to [1, 2).
struct Power {
    f64 near, rest;
    u32 exponent;
};
BL_FN Power powered(const Reduced& p) {
    const f64 added = p.table * (p.r + terms(p));
    const f64 near = p.table + added;
    return Power{near, (p.table - near) + added, p.exponent};
}
// e^(x + rest), where the rest is below a millionth of x.
BL_FN Power power(f64 x, f64 rest) {
    rest = magnitude(x) > 800.0 ? 0.0 : rest;
    return powered(reduced(limited(x, 800.0), rest));
}
BL_FN f64 power_of_two(u32 exponent) { return from_bits<f64>(u64(exponent - (4096 - 1023)) << 52); }
BL_FN f64 scale(const Power& p, f64 x) {
    const u32 half = p.exponent >> 1;
    return x * power_of_two(half) * power_of_two(p.exponent - half);
}
// The power, rounded once even if the result is subnormal.
BL_FN f64 rounded(const Power& p) {
    const u32 smallest = 8192 - 1022;
    const bool subnormal = p.exponent < smallest || (p.exponent == smallest && p.near < 1.0);
    const f64 ruler = subnormal ? from_bits<f64>(u64(8193 - p.exponent) << 52) : 0.0;
    const f64 sum = ruler + p.near;
    const f64 sum_rest = ((ruler - sum) + p.near) + p.rest;
    return scale(p, (sum + sum_rest) - ruler);
}

// The natural logarithm of a positive finite number as a sum of two.
BL_FN Sum log_sum(f64 x) {
    const bool subnormal = x < 2.2250738585072014e-308;
    const Split s = split(subnormal ? x * 18014398509481984.0 : x);
    const f64 exponent = subnormal ? s.exponent - 54.0 : s.exponent;
    const f64 inverse = from_bits<f64>(s.row[0]), log_hi = from_bits<f64>(s.row[1]), log_lo = from_bits<f64>(s.row[2]);
    const f64 significand_upper = from_bits<f64>((bits_of(s.significand) + 0x80000000ull) & ~0xffffffffull);
    const f64 r_upper = significand_upper * inverse - 1.0;
    const f64 r_lower = (s.significand - significand_upper) * inverse;
    const f64 r = r_upper + r_lower;
    const f64 r_rest = (r_upper - r) + r_lower;
    const f64 table = exponent * BL_LN2_HI + log_hi;  // exact
    const f64 table_rest = exponent * BL_LN2_LO + log_lo;
    const f64 linear = table + r;
    const f64 linear_rest = (table - linear) + r;
    const f64 square = -0.5 * r_upper * r_upper;  // exact
    const f64 square_rest = -0.5 * r_lower * (r + r_upper);
    const f64 sum = linear + square;
    const f64 sum_rest = (linear - sum) + square;
    const f64 series =
        1.0 / 3.0 + r * (-0.25 + r * (0.2 + r * (-1.0 / 6.0 + r * (1.0 / 7.0 + r * (-0.125 + r * (1.0 / 9.0))))));
    const f64 cube = r * (r * r) * series;
    const f64 rest = ((table_rest + r_rest) + (linear_rest + sum_rest)) + (square_rest + cube);
    const f64 log = sum + rest;
    return Sum{log, (sum - log) + rest};
}

// The angle whose tangent is shorter / longer, which is about `quotient`, as a sum of two.
BL_FN Sum atan_sum(Sum shorter_leg, Sum longer_leg, f64 quotient) {
    f64 shorter = shorter_leg.value, longer = longer_leg.value;
    f64 scale = longer > 1e150 ? from_bits<f64>(u64(1023 - 600) << 52) : 1.0;
    scale = longer < 1e-150 ? from_bits<f64>(u64(1023 + 600) << 52) : scale;
    shorter *= scale;
    longer *= scale;
    const f64 shifted = quotient * 64.0 + BL_ROUND;
    const f64 near = (shifted - BL_ROUND) * (1.0 / 64.0);
    const u32 masked = u32(bits_of(shifted)) & 127, row = masked < 64 ? masked : 64;
    const f64 short_upper = upper(shorter), long_upper = upper(longer);
    const f64 short_lower = shorter - short_upper, long_lower = longer - long_upper;
    const f64 across_upper = shorter - near * long_upper;  // exact
    const f64 across = across_upper - near * long_lower;
    const f64 across_rest =
        ((across_upper - across) - near * long_lower) + (shorter_leg.rest - near * longer_leg.rest);
    const f64 along = longer + near * short_upper;
    const f64 along_rest = (((longer - along) + near * short_upper) + near * short_lower) + longer_leg.rest;
    const f64 inverse = 1.0 / along;
    const f64 t_upper = upper(across * inverse);
    const f64 along_upper = upper(along);
    const f64 remainder =
        ((across - t_upper * along_upper) - t_upper * (along - along_upper)) + (across_rest - t_upper * along_rest);
    const f64 t_lower = remainder * inverse;
    const f64 t = t_upper + t_lower;
    const f64 t2 = t * t;
    const f64 series = -1.0 / 3.0 + t2 * (1.0 / 5.0 + t2 * (-1.0 / 7.0 + t2 * (1.0 / 9.0 + t2 * (-1.0 / 11.0))));
    const f64 cube = t * (t2 * series);
    const f64 table = from_bits<f64>(atan_row(row)[0]), table_rest = from_bits<f64>(atan_row(row)[1]);
    const f64 angle = table + t_upper;
    return Sum{angle, ((table - angle) + t_upper) + ((table_rest + t_lower) + cube)};
}

BL_FN bool is_integer(f64 x) { return x >= 4503599627370496.0 || (x + 4503599627370496.0) - 4503599627370496.0 == x; }
BL_FN Parity parity(f64 x) { return Parity{is_integer(x), is_integer(x) && !is_integer(x * 0.5)}; }
BL_FN f64 pow(f64 x, f64 y) {
    const f64 exponent = limited(y, 36893488147419103232.0);
    const Sum log = log_sum(magnitude(x));
    const f64 log_upper = upper(log.value), exponent_upper = upper(exponent);
    const f64 log_lower = (log.value - log_upper) + log.rest;
    const f64 product = exponent_upper * log_upper;
    const f64 product_rest = (exponent - exponent_upper) * log_upper + exponent * log_lower;
    return pow_cases(x, y, parity(magnitude(y)), rounded(power(product, product_rest)));
}
BL_FN f64 logaddexp(f64 x, f64 y) {
    const f64 large = x > y ? x : y, small = x > y ? y : x;
    const Sum difference = add(small, -large);
    const Power p = power(difference.value, difference.rest);
    const f64 ratio = rounded(p), ratio_rest = scale(p, p.rest);
    const f64 sum = 1.0 + ratio;
    const f64 sum_rest = ((1.0 - sum) + ratio) + ratio_rest;
    const Sum log = log_sum(sum), result = add(large, log.value);
    return logaddexp_cases(x, y, result.value + (result.rest + (log.rest + sum_rest / sum)));
}
BL_FN f64 atan2(f64 y, f64 x) {
    const Triangle sides = triangle(y, x);
    const f64 quotient = sides.shorter / sides.longer;
    const Sum exact = atan_sum(Sum{sides.shorter, 0.0}, Sum{sides.longer, 0.0}, quotient);
    const bool tiny = quotient < 5e-20;
    const f64 angle = turn(sides, tiny ? quotient : exact.value), rest = turn(sides, tiny ? 0.0 : exact.rest);
    const f64 from = axis(sides, BL_HALF_PI_HI, BL_PI_HI);
    const f64 sum = from + angle;
    const f64 sum_rest = (from - sum) + angle;
    return flip(sum + (sum_rest + (axis(sides, BL_HALF_PI_LO, BL_PI_LO) + rest)), y);
}

}  // namespace wide

// ---- fmod: exact -------------------------------------------------------------------------------------------------

// x mod y for positive numbers whose quotient is below 2^28 if T is f32, and below 2^24 if T is f64.
template <class T> BL_FN f64 fmod_step(f64 x, f64 y) {
    // The quotient is rounded, so its product with y may exceed x, and so overflow.
    const bool large = same<T, f64>() && x > 1e300;
    x *= large ? 0.25 : 1.0;
    y *= large ? 0.25 : 1.0;
    const f64 quotient = (x / y + BL_ROUND) - BL_ROUND;
    f64 rest;
    if constexpr (same<T, f64>()) rest = (x - quotient * upper(y)) - quotient * (y - upper(y));
    else rest = x - quotient * y;
    rest = rest < 0.0 ? rest + y : rest;
    return (x < y ? x : rest) * (large ? 4.0 : 1.0);
}
template <class T> BL_FN T fmod(T x, T y) {
    constexpr f64 place = same<T, f64>() ? 16777216.0 : 268435456.0;
    const f64 dividend = magnitude(x), last = magnitude(y);
    if (!(dividend < BL_INFINITY) || !(last > 0.0)) return T(BL_NAN);
    f64 divisor = last;
    while (divisor * place <= dividend) divisor *= place;
    f64 rest = fmod_step<T>(dividend, divisor);
    while (divisor > last) {
        divisor *= 1.0 / place;
        rest = fmod_step<T>(rest, divisor);
    }
    return T(flip(rest, x));
}

// ---- Powers of integers, which wrap ------------------------------------------------------------------------------

// A negative exponent gives 1 for base 1, 1 or -1 for base -1, else 0.
template <class T> BL_FN T ipow(T x, T y) {
    typedef decltype(u32() + Bits<T>()) Word;  // no narrower than int, so that promotion cannot make it signed
    if (is_signed_integer<T>() && y < T(0)) return x == T(1) ? T(1) : x == T(-1) ? T(y & 1 ? -1 : 1) : T(0);
    Word result = 1, square = Word(x);
    for (Bits<T> rest = Bits<T>(y); rest != 0; rest = Bits<T>(rest >> 1)) {
        if (rest & 1) result *= square;
        square *= square;
    }
    return T(result);
}

}  // namespace math
}  // namespace bl
