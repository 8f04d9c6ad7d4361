// Functions of one f16, bf16 or f32, in integers of 64 bits (fixed.cuh). The most frequent ones try sums of two f32
// first (pairs.cuh), which decide nearly always.
//
// Every result is the one nearest to the exact value, as it is on the CPU, where src/math/ computes it in f64: so both
// have the same bits although their arithmetic differs. That it is the nearest has been checked for every one of the
// 2^32 arguments (docs/proof.md).

namespace bl {
namespace fixed {

BL_FN bool is_nan(f32 x) { return x != x; }
BL_FN f32 magnitude(f32 x) { return from_bits<f32>(bits_of(x) & 0x7fffffffu); }
BL_FN f32 infinity() { return from_bits<f32>(0x7f800000u); }
BL_FN f32 nan() { return from_bits<f32>(0x7fc00000u); }

// 2^k for k from -126 to 127.
constexpr u32 power_bits(int k) { return u32(k + 127) << 23; }
#define BL_POWER(k) from_bits<f32>(power_bits(k))

// An f32 below 2^(63 - k) in units of 2^-k, truncated.
BL_FN i64 units(f32 x, f32 power) { return i64(x * power); }

// ---- Powers ------------------------------------------------------------------------------------------------------

// 2^(n + (i + f 2^-64) / 512), with an error below 2^-60. It is exact if f is 0 and i is 0.
BL_FN Number power(i32 n, u32 i, u64 f) {
    const u64 one = 1ull << 55;  // 2^-9 in units of 2^-64: each power of r brings a factor of 2^-9
    const u64 r = high(f, BL_LN2_FIXED);  // in units of 2^-73
    // e^r - 1 = r + r^2 / 2 + ..., where r is below 2^-9.5; beyond the third term, 32 bits suffice.
    const u32 r32 = u32(r >> 32);
    const u64 fourth = (one >> 18) / 24 + (u64(r32) * u32((one >> 27) / 120) >> 32);
    const u64 third = (one >> 9) / 6 + (u64(r32) * u32(fourth >> 1) >> 31);
    const u64 second = one / 2 + (u64(r32) * u32(third >> 12) >> 20);
    const u64 less_one = r + high(r, high(r, second));
    const u64 near = math::exp_fixed_row(i)[0];
    return Number{(near + (high(near, less_one) >> 9)) | (f != 0), n};
}

// e^x for |x| up to 127.
BL_FN Number exp_number(f32 x) {
    const i64 t = units(x, BL_POWER(56)), factor = i64(BL_LOG2_E_FIXED);
    const i64 upper = high(t, factor);  // of x log2 e in units of 2^-118
    const u64 lower = u64(t) * u64(factor);
    return power(i32(upper >> 54), u32(upper >> 45) & 511, u64(upper) << 19 | lower >> 45);
}

// x between two bounds; NaN becomes one of them.
BL_FN f32 between(f32 low, f32 x, f32 high) { return x > low ? x < high ? x : high : low; }

// ---- Series near 0 -----------------------------------------------------------------------------------------------

// x * (1 + bend), where the bend is below 1/4 in units of 2^-64.
BL_FN Number bent(Number x, i64 bend) {
    const u64 half = x.significand >> 1;
    const u64 change = high(half, bend < 0 ? u64(-bend) : u64(bend));
    return inexact(normal(bend < 0 ? half - change : half + change, x.exponent + 1));
}

// x (1 + c1 y + c2 y^2 + ...) with y = x^2, for |x| < 2^-5. The coefficients are in units of 2^-62; those from the
// fourth on need 32 bits only.
template <class T> BL_FN T odd_series(f32 x, i64 c1, i64 c2, i64 c3, i64 c4, i64 c5, i64 c6) {
    const f32 size = magnitude(x);
    if (size == 0.0f) return round_narrow<T>(x);
    const u64 scaled = u64(size * BL_POWER(69));
    const i64 y = i64(high(scaled, scaled) >> 1);  // in units of 2^-73
    const i32 y32 = i32(y >> 32);
    i32 tail = i32(c6 >> 31);
    tail = i32(c5 >> 31) + (high(y32, tail) >> 9);
    tail = i32(c4 >> 31) + (high(y32, tail) >> 9);
    i64 series = c3 + (i64(y32) * tail >> 10);
    series = c2 + (high(y, series) >> 9);
    series = c1 + (high(y, series) >> 9);
    return rounded<T>(bent(number(size), high(y, series) >> 7), bits_of(x));
}

// ---- Logarithms --------------------------------------------------------------------------------------------------

// log x = exponent * ln 2 + table + log(1 + r), where r is in units of 2^-71, and the table in those of 2^-64.
struct Split {
    i32 exponent;
    i64 table, r;
};
BL_FN Split split(Number x) {
    const u32 i = u32(x.significand >> 55) & 255;
    const u64 (&row)[2] = math::log_fixed_row(i);
    // The product with 1/s, less 1, in units of 2^-77.
    const u32 inverse = u32(row[0]);
    const u64 lower = u64(u32(x.significand)) * inverse;
    const u64 upper = u64(u32(x.significand >> 32)) * inverse + (lower >> 32);
    return Split{x.exponent + (i >= 106), i64(row[1]), i64((upper - (1ull << 45)) << 26 | u32(lower) >> 6)};
}

// r / 2 - r^2 / 3 + ..., in units of 2^-69. Its error is below 2^-60 of r.
BL_FN i64 log_bend(i64 r) {
    const i64 one = 1ll << 62;
    const i32 r32 = i32(r >> 32);
    i32 tail = i32((one >> 31) / 7) - (high(r32, i32((one >> 31) / 8)) >> 7);
    tail = i32((one >> 31) / 6) - (high(r32, tail) >> 7);
    tail = i32((one >> 31) / 5) - (high(r32, tail) >> 7);
    i64 series = one / 4 - (i64(r32) * tail >> 8);
    series = one / 3 - (high(r, series) >> 7);
    series = one / 2 - (high(r, series) >> 7);
    return high(r, series);
}

// log(1 + x) for |x| < 2^-8, given |x| and x in units of 2^-71. The relative error is small however small x is.
BL_FN Number log_near_one(Number size, i64 r) { return bent(size, -(log_bend(r) >> 5)); }

// A number with a sign: upper + lower * 2^-64.
struct Wide {
    i64 upper;
    u64 lower;
};
BL_FN Wide add(Wide x, Wide y) {
    const u64 lower = x.lower + y.lower;
    return Wide{x.upper + y.upper + (lower < x.lower), lower};
}
BL_FN Wide negative(Wide x) { return Wide{~x.upper + (x.lower == 0), 0 - x.lower}; }
// The magnitude of a number that is not 0 and below 128.
BL_FN Number number(Wide x) {
    if (x.upper < 0) x = negative(x);
    const bool small = x.upper == 0;
    return inexact(normal(small ? x.lower : u64(x.upper) << 56 | x.lower >> 8, small ? -1 : 7));
}

// The natural logarithm, with an error below 2^-61.
BL_FN Wide log_wide(Split s) {
    const i64 e = s.exponent;
    const u64 lower = u64(e) * BL_LN2_FIXED, upper = high(u64(e), BL_LN2_FIXED) - (e < 0 ? BL_LN2_FIXED : 0);
    const i64 rest = s.table + ((s.r - (high(s.r, log_bend(s.r)) >> 5)) >> 7);
    return add(Wide{i64(upper), lower}, Wide{rest >> 63, u64(rest)});
}
BL_FN Wide log_wide(Number x) { return log_wide(split(x)); }

// The natural logarithm of a positive number other than 1: its magnitude, and its sign as that of an f32.
struct Signed {
    Number size;
    u32 sign;
};
BL_FN Signed signed_log(Number x) {
    const Split s = split(x);
    if (s.exponent == 0 && s.table == 0) {
        const u64 size = s.r < 0 ? u64(-s.r) : u64(s.r);
        return Signed{log_near_one(normal(size, 63 - 71), s.r), u32(s.r >> 32)};
    }
    const Wide result = log_wide(s);
    return Signed{number(result), u32(result.upper >> 32)};
}
// The same for an f32, whose r is exact in 32 bits. The error is below 2^-55, and far from 1 mostly that of the units.
BL_FN Signed signed_log(f32 x) {
    const bool subnormal = x < BL_POWER(-126);
    const u32 bits = bits_of(subnormal ? x * 16777216.0f : x), i = bits >> 15 & 255;
    const i32 e = i32(bits >> 23) - (subnormal ? 127 + 24 : 127) + (i >= 106);
    const u64 (&row)[2] = math::log_fixed_row(i);
    const i32 r = i32(((bits & 0x7fffff) | 0x800000) * u32(row[0]));  // in units of 2^-37: 1 has vanished with 2^32
    if (e == 0 && row[1] == 0) {
        const u32 size = r < 0 ? u32(-r) : u32(r);
        return Signed{log_near_one(normal(size, 63 - 37), i64(r) << 34), u32(r)};
    }
    // r - r^2 (1/2 - r/3 + ...).
    const i64 one = 1ll << 62;
    const i32 r39 = r * 4;
    i32 tail = i32((one >> 31) / 6) - (high(r39, i32((one >> 31) / 7)) >> 7);
    tail = i32((one >> 31) / 5) - (high(r39, tail) >> 7);
    tail = i32((one >> 31) / 4) - (high(r39, tail) >> 7);
    tail = i32((one >> 31) / 3) - (high(r39, tail) >> 7);
    const u64 series = u64(one / 2 - (i64(r39) * tail >> 8)), square = u64(i64(r) * r) << 6;
    const i64 rest = i64(row[1]) + (i64(r) << 27) - i64(high(square, series << 2) >> 16);
    // In units of 2^-56. The product with ln 2 is one with its first 31 bits, and one with the next 32.
    const i64 upper = i64(e) * i32(BL_LN2_FIXED >> 33), lower = i64(e) * i64(BL_LN2_FIXED >> 1 & 0xffffffffu);
    const i64 result = (upper << 25) + (lower >> 7) + (rest >> 8);
    return Signed{inexact(normal(result < 0 ? u64(-result) : u64(result), 63 - 56)), u32(result >> 32)};
}

template <class T, class F> BL_FN T log_to_base(f32 x, F scaled) {
    if (!(x > 0.0f)) return round_narrow<T>(x == 0.0f ? -infinity() : nan());
    if (x == infinity() || x == 1.0f) return round_narrow<T>(x == 1.0f ? 0.0f : x);
    const Signed result = signed_log(x);
    return rounded<T>(scaled(result.size), result.sign);
}

// ---- The functions -----------------------------------------------------------------------------------------------

template <class T> BL_FN T exp(f32 x) {
    return is_nan(x) ? round_narrow<T>(x) : rounded<T>(exp_number(between(-110.0f, x, 110.0f)), 0);
}
template <class T> BL_FN T exp2(f32 x) {
    if (is_nan(x)) return round_narrow<T>(x);
    const i64 t = units(between(-200.0f, x, 200.0f), BL_POWER(55));
    return rounded<T>(power(i32(t >> 55), u32(t >> 46) & 511, u64(t) << 18), 0);
}
template <class T> BL_FN T expm1(f32 x) {
    const f32 size = magnitude(x);
    if (is_nan(x) || x == 0.0f) return round_narrow<T>(x);
    if (size < 0.0078125f) {
        const i64 one = 1ll << 62, t = units(x, BL_POWER(70));
        const i32 t32 = i32(t >> 32);
        i32 tail = i32((one >> 31) / 720) + (high(t32, i32((one >> 31) / 5040)) >> 6);
        tail = i32((one >> 31) / 120) + (high(t32, tail) >> 6);
        i64 series = one / 24 + (i64(t32) * tail >> 7);
        series = one / 6 + (high(t, series) >> 6);
        series = one / 2 + (high(t, series) >> 6);
        return rounded<T>(bent(number(size), high(t, series) >> 4), bits_of(x));
    }
    const Number p = exp_number(between(-40.0f, x, 110.0f));
    const i32 n = p.exponent;
    if (x > 0.0f) return rounded<T>(inexact(normal(p.significand - down(1ull << 63, n), n)), 0);
    return rounded<T>(inexact(normal(0 - down(p.significand, -1 - n), -1)), bits_of(x));
}

template <class T> BL_FN T log(f32 x) {
    return log_to_base<T>(x, [](Number size) { return size; });
}
template <class T> BL_FN T log2(f32 x) {
    return log_to_base<T>(x, [](Number size) {
        return inexact(normal(high(size.significand, BL_LOG2_E_FIXED), size.exponent + 2));
    });
}
template <class T> BL_FN T log10(f32 x) {
    return log_to_base<T>(x, [](Number size) {
        return inexact(normal(high(size.significand, BL_LOG10_E_FIXED), size.exponent - 1));
    });
}
template <class T> BL_FN T log1p(f32 x) {
    if (!(x > -1.0f)) return round_narrow<T>(x == -1.0f ? -infinity() : nan());
    if (x == infinity() || x == 0.0f) return round_narrow<T>(x);
    // The one argument whose result is nearer to halfway between two numbers than 64 bits can tell: 2^-66 of it.
    if (bits_of(x) == 0xb53ffffdu) return round_narrow<T>(from_bits<f32>(0xb5400001u));
    if (magnitude(x) < 0.00390625f)
        return rounded<T>(log_near_one(number(magnitude(x)), units(x, BL_POWER(71))), bits_of(x));
    // 1 + x is exact up to 2^62; beyond, the 1 is negligible.
    Number sum;
    if (x < 8388608.0f) sum = normal(u64((1ll << 40) + units(x, BL_POWER(40))), 63 - 40);
    else if (x < BL_POWER(62)) sum = normal(1 + u64(x), 63);
    else sum = number(x);
    const Signed result = signed_log(sum);
    return rounded<T>(result.size, result.sign);
}

template <class T> BL_FN T sinh(f32 x) {
    const i64 one = 1ll << 62;
    const f32 size = magnitude(x);
    if (is_nan(x)) return round_narrow<T>(x);
    if (size < 0.03125f) return odd_series<T>(x, one / 6, one / 120, one / 5040, one / 362880, 0, 0);
    const f32 size_limited = between(0.0f, size, 110.0f);
    const Number up = exp_number(size_limited), downwards = exp_number(-size_limited);
    const u64 difference = up.significand - down(downwards.significand, up.exponent - downwards.exponent);
    return rounded<T>(inexact(normal(difference, up.exponent - 1)), bits_of(x));
}
template <class T> BL_FN T cosh(f32 x) {
    if (is_nan(x)) return round_narrow<T>(x);
    const f32 size_limited = between(0.0f, magnitude(x), 110.0f);
    Number result = sum(exp_number(size_limited), exp_number(-size_limited));
    --result.exponent;
    return rounded<T>(inexact(result), 0);
}
template <class T> BL_FN T tanh(f32 x) {
    const i64 one = 1ll << 62;
    const f32 size = magnitude(x);
    if (is_nan(x)) return round_narrow<T>(x);
    if (size < 0.03125f)
        return odd_series<T>(x, -one / 3, one / 15 * 2, -one / 315 * 17, one / 2835 * 62, -one / 155925 * 1382, 0);
    // 1 - 2 / (e^2x + 1).
    const Number divisor = sum(exp_number(between(0.0f, size, 20.0f) * 2.0f), Number{1ull << 63, 0});
    const u64 quotient = reciprocal(divisor.significand);  // in units of 2^-63
    return rounded<T>(inexact(normal((1ull << 63) - down(quotient, divisor.exponent - 1), 0)), bits_of(x));
}

template <class T> BL_FN T asinh(f32 x) {
    const i64 one = 1ll << 62;
    const f32 size = magnitude(x);
    if (!(size < infinity())) return round_narrow<T>(x);
    if (size < 0.03125f)
        return odd_series<T>(x, -one / 6, one / 40 * 3, -one / 336 * 15, one / 3456 * 105, -one / 42240 * 945, 0);
    // log(x + sqrt(x^2 + 1)). From 2^31 on, that is log 2x.
    Number argument = number(size);
    const i32 e = argument.exponent, scale = e > 0 ? e : 0;
    if (e < 31) {
        const u64 m = argument.significand >> 40;
        const u64 square = (m * m << (14 + 2 * (e - scale))) + (1ull << (60 - 2 * scale));  // exact
        const i32 zeros = i32(zeros_above(square)) & ~1;
        argument = sum(Number{root(square << zeros), scale + 1 - zeros / 2}, argument);
    } else ++argument.exponent;
    return rounded<T>(number(log_wide(argument)), bits_of(x));
}
template <class T> BL_FN T acosh(f32 x) {
    if (!(x >= 1.0f)) return round_narrow<T>(nan());
    if (x == infinity() || x == 1.0f) return round_narrow<T>(x == 1.0f ? 0.0f : x);
    // v = x - 1 + sqrt(x^2 - 1), and log(1 + v). From 2^31 on, that is log 2x.
    Number argument = number(x);
    const i32 e = argument.exponent;
    if (e < 31) {
        const i32 places = e < 23 ? 23 - e : 0, up = e < 23 ? 0 : e - 23;
        const u64 m = (argument.significand >> 40) << up;  // x in units of 2^-places
        const u64 square = m * m - (1ull << 2 * places);     // exact
        const i32 zeros = i32(zeros_above(square)) & ~1;
        const Number root_of = Number{root(square << zeros), 31 - zeros / 2 - places};
        const Number v = sum(root_of, normal(m - (1ull << places), 63 - places));
        if (v.exponent < -8)
            return rounded<T>(log_near_one(v, i64(v.significand >> (-8 - v.exponent))), 0);
        const Number one = Number{1ull << 63, 0};
        argument = v.exponent < 0 ? sum(one, v) : sum(v, one);
    } else ++argument.exponent;
    return rounded<T>(number(log_wide(argument)), 0);
}
template <class T> BL_FN T atanh(f32 x) {
    const i64 one = 1ll << 62;
    const f32 size = magnitude(x);
    if (!(size < 1.0f)) return round_narrow<T>(size == 1.0f ? from_bits<f32>(bits_of(x) | 0x7f800000u) : nan());
    if (size < 0.03125f) return odd_series<T>(x, one / 3, one / 5, one / 7, one / 9, one / 11, one / 13);
    // Half of log(1 + x) - log(1 - x), both of whose arguments are exact.
    const u64 whole = 1ull << 40, part = u64(units(size, BL_POWER(40)));
    const Wide above = log_wide(normal(whole + part, 63 - 40)), below = log_wide(normal(whole - part, 63 - 40));
    Number result = number(add(above, negative(below)));
    --result.exponent;
    return rounded<T>(result, bits_of(x));
}

}  // namespace fixed

}  // namespace bl
