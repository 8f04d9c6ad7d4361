// The trigonometric functions, their inverses and hypot for f16, bf16 and f32, without an f64 instruction, which most
// cards have only few units for.
//
// Numbers are pairs of f32, the second a fraction of a unit in the last place of the first, with about 47 bits. Angles
// are reduced in integers. The CPU computes in f64 (src/math/trigonometry.rs): that the bits are the same does not come
// from the same operations here, but from both results being correctly rounded, which was checked for every input. The
// few inputs of each function for which a pair is not precise enough are listed in tables.cuh.

namespace bl {
namespace math {
namespace angles {

BL_FN f32 magnitude(f32 x) { return from_bits<f32>(bits_of(x) & 0x7fffffffu); }

BL_FN Pair half_pi() { return Pair{BL_HALF_PI_F32, BL_HALF_PI_F32_REST}; }

// ---- Angles ------------------------------------------------------------------------------------------------------

// An angle that is `quarters` quarter turns and a rest of at most an eighth turn.
struct Angle {
    Pair rest;
    u32 quarters;
};
BL_FN Angle angle(f32 size) {
    if (size < 0.785f) return Angle{Pair{size, 0.0f}, 0};
    // size = m 2^e, and the angle in quarter turns is the product of m and 96 bits of 2/pi, two of them before the point.
    const u32 m = (bits_of(size) & 0x7fffffu) | 0x800000u;
    const u32 skipped = (bits_of(size) >> 23) - 120;
    const u32 first = skipped / 32, shift = skipped % 32;
    const auto word = [&](u32 index) {
        return u32(join(quarter_turns_word(first + index + 1), quarter_turns_word(first + index)) >> (32 - shift));
    };
    const u64 low = u64(m) * word(2);
    const u64 middle = u64(m) * word(1) + (low >> 32);
    const u32 top = m * word(0) + high_half(middle);
    const u32 quarters = (top + (1u << 29)) >> 30;
    // The rest is a fraction with a sign, whose magnitude is one unit in its 94th place too small at most.
    const u32 sign = top << 2 & 0x80000000u, mask = sign ? 0xffffffffu : 0;
    const u64 fraction = (join(low_half(middle), top) << 2 | u32(low) >> 30) ^ join(mask, mask);
    const u32 tail = (u32(low) << 2) ^ mask;
    const u32 zeros = zeros_above(fraction);
    const u64 digits = fraction << zeros | (u64(tail) << zeros) >> 32;
    const f32 place = from_bits<f32>((127 - 24 - zeros) << 23);
    const Pair turns{f32(u32(digits >> 40)) * place, f32(u32(digits >> 8)) * (place * (1.0f / 4294967296.0f))};
    const Pair rest = flip(times(turns, half_pi()), sign);
    return Angle{Pair{rest.hi + (size - size), rest.lo}, quarters};  // NaN for infinity and NaN
}

// sin r, or cos r if `odd`, for r up to an eighth turn.
BL_FN Pair sin_or_cos(Pair r, bool odd) {
    const Pair u = times(r, r), base = odd ? Pair{1.0f, 0.0f} : r;
    return plus(base, times(base, times(u, odd ? cos_pairs(u) : sin_pairs(u))));
}
BL_FN Pair sin_of(const Angle& angle, u32 ahead) {
    const u32 quarters = angle.quarters + ahead;
    return flip(sin_or_cos(angle.rest, quarters & 1), quarters << 30);
}

// Below this the functions that are odd differ from their operand by less than half a unit in its last place.
#define BL_TINY_ANGLE (1.0f / 4096.0f)
BL_FN Pair unchanged(f32 x) { return Pair{x, x * 0.0f}; }  // the sum of two zeros of the same sign keeps it

BL_FN Pair sin(f32 x) {
    const f32 size = magnitude(x);
    return size < BL_TINY_ANGLE ? unchanged(x) : flip(sin_of(angle(size), 0), bits_of(x));
}
BL_FN Pair cos(f32 x) { return sin_of(angle(magnitude(x)), 1); }
BL_FN Pair tan(f32 x) {
    const f32 size = magnitude(x);
    const Angle reduced = angle(size);
    const Pair sin = sin_or_cos(reduced.rest, false), cos = sin_or_cos(reduced.rest, true);
    const bool odd = reduced.quarters & 1;
    const Pair tan = over(odd ? negated(cos) : sin, odd ? sin : cos);
    return size < BL_TINY_ANGLE ? unchanged(x) : flip(tan, bits_of(x));
}

// ---- Inverses ----------------------------------------------------------------------------------------------------

// The arc sine of `size` up to 1/2, or half of the arc cosine of a larger one.
BL_FN Pair arc(f32 size) {
    const bool large = size > 0.5f;
    const f32 half = (1.0f - size) * 0.5f;  // exact where it is used
    const f32 root = square_root(half);
    const f32 root_rest = root == 0.0f ? 0.0f : fused(-root, root, half) / (root + root);
    const Pair v = large ? Pair{root, root_rest} : Pair{size, 0.0f};
    const Pair u = large ? Pair{half, 0.0f} : times(v, v);
    return plus(v, times(v, times(u, asin_pairs(u))));
}
BL_FN Pair asin(f32 x) {
    const f32 size = magnitude(x);
    const Pair a = arc(size);
    const Pair asin = size > 0.5f ? plus(half_pi(), Pair{-2.0f * a.hi, -2.0f * a.lo}) : a;
    return size < BL_TINY_ANGLE ? unchanged(x) : flip(asin, bits_of(x));
}
BL_FN Pair acos(f32 x) {
    const f32 size = magnitude(x);
    const Pair a = arc(size), twice = Pair{2.0f * a.hi, 2.0f * a.lo};
    if (!(size > 0.5f)) return plus(half_pi(), flip(a, ~bits_of(x)));
    const Pair pi = Pair{2.0f * half_pi().hi, 2.0f * half_pi().lo};
    return x < 0.0f ? plus(pi, negated(twice)) : twice;
}
BL_FN Pair atan(f32 x) {
    const f32 size = magnitude(x), limited = size > 1e30f ? 1e30f : size;
    const bool steep = size > 1.0f;
    // The nearest angle of the table, plus the rest, from the formula for the tangent of a difference.
    const f32 shifted = (steep ? 1.0f / limited : limited) * 64.0f + 12582912.0f;
    const f32 near = (shifted - 12582912.0f) * (1.0f / 64.0f);
    const u32 masked = bits_of(shifted) & 127;
    const Pair scaled = times(Pair{limited, 0.0f}, near);
    const Pair across = steep ? Pair{1.0f - scaled.hi, -scaled.lo} : Pair{limited - near, 0.0f};  // exact
    const Pair along = steep ? plus(Pair{limited, 0.0f}, Pair{near, 0.0f}) : plus(Pair{1.0f, 0.0f}, scaled);
    const Pair t = over(across, along);
    const Pair u = times(t, t);
    const Pair rest = plus(t, times(t, times(u, atan_pairs(u))));
    const Pair a = plus(atan_pair(masked < 64 ? masked : 64), rest);
    const Pair atan = steep ? plus(half_pi(), negated(a)) : a;
    return size < BL_TINY_ANGLE ? unchanged(x) : flip(atan, bits_of(x));
}

// ---- Rounding ----------------------------------------------------------------------------------------------------

// The nearest f32. Where a pair is not precise enough to tell, `is_missed` tells for which operands it is on the wrong
// side of a tie.
template <class F> BL_FN f32 nearest(f32 x, Pair pair, F is_missed) {
    const Pair result = rounded(pair);
    if (result.hi + result.lo * (1.0f + 1.0f / 65536.0f) == result.hi || !is_missed(x)) return result.hi;
    return result.hi + result.lo * 1.5f;
}

// ---- Lengths -----------------------------------------------------------------------------------------------------

// sqrt(x^2 + y^2), scaled: (sum - ruler) * back, where the sum is rounded at the last place that the result has.
struct Length {
    Pair sum;
    f32 ruler, back;
    f32 large, small;  // the operands, scaled
};
BL_FN Length length(f32 x, f32 y) {
    const f32 width = magnitude(x), height = magnitude(y);
    const f32 larger = width > height ? width : height, smaller = width > height ? height : width;
    // Scaled by a power of two, the larger one is in [1, 4), or less if it is subnormal.
    const u32 exponent = bits_of(larger) >> 23;
    const f32 scale = from_bits<f32>(exponent > 253 ? 1u << 23 : (254 - exponent) << 23);
    const f32 back = from_bits<f32>(exponent == 0 ? 1u << 22 : exponent > 253 ? 253u << 23 : exponent << 23);
    const f32 large = larger * scale, small = smaller * scale;
    const Pair sum = plus(times(Pair{large, 0.0f}, large), times(Pair{small, 0.0f}, small));
    const f32 root = square_root(sum.hi);
    const f32 rest = root == 0.0f ? 0.0f : (fused(-root, root, sum.hi) + sum.lo) / (root + root);
    const f32 ruler = exponent == 0 && root < 2.0f ? 2.0f : 0.0f;
    return Length{rounded(plus(Pair{ruler, 0.0f}, Pair{root, rest})), ruler, back, large, small};
}

// Whether small^2 is below, equal to or above t^2 - large^2, as -1, 0 or 1, exactly: t is halfway between two numbers.
BL_FN i32 side_of_tie(const Length& l, f32 near, f32 far) {
    const auto integer = [](f32 x) { return u64(x * 137438953472.0f); };  // in units of 2^-37
    const u64 t = integer(near - l.ruler) + integer(far - l.ruler);
    const u64 large = integer(l.large) << 1, small = integer(l.small) << 1, above = t - large, both = t + large;
    const u64 left = multiply_high(small, small), right = multiply_high(above, both);
    const u64 left_low = small * small, right_low = above * both;
    return left != right ? (left > right ? 1 : -1) : left_low != right_low ? (left_low > right_low ? 1 : -1) : 0;
}

BL_FN f32 single(f32 x) { return x; }
template <class T> BL_FN f32 single(T x) { return widen(x); }

template <class T> BL_FN T hypot(T x, T y) {
    const f32 a = single(x), b = single(y);
    const f32 infinity = from_bits<f32>(0x7f800000u);
    const bool infinite = magnitude(a) == infinity || magnitude(b) == infinity;
    const Length l = length(a, b);
    if constexpr (is_half<T>()) return round_to<T>(infinite ? infinity : (to_odd(l.sum) - l.ruler) * l.back);
    else {
        f32 near = l.sum.hi;
        if (near + l.sum.lo * (1.0f + 1.0f / 65536.0f) != near && near == near) {
            const f32 far = near + l.sum.lo * 1.5f;
            const i32 side = side_of_tie(l, near, far);
            const bool wrong = side == 0 ? bits_of(near) & 1 : (side > 0) == (l.sum.lo > 0.0f);
            near = wrong ? far : near;
        }
        return infinite ? infinity : (near - l.ruler) * l.back;
    }
}

template <class T, class F, class G> BL_FN T rounded_to(f32 x, F function, G is_missed) {
    if constexpr (is_half<T>()) return round_to<T>(to_odd(function(x)));
    else return nearest(x, function(x), is_missed);
}

}  // namespace angles

template <class T> BL_FN T hypot(T x, T y) {
    if constexpr (same<T, f64>()) return wide::hypot(x, y);
    else return angles::hypot(x, y);
}

}  // namespace math
}  // namespace bl
