// Sums of two f32, in which every function of one f16, bf16 or f32 is tried first: exponentials, logarithms and
// hyperbolic functions here, angles in pair_angles.cuh.
//
// A sum has an error of some 2^-38. If it is not so close to halfway between two numbers that the error matters, the
// nearest number is the result (`settled`). Otherwise, in one of two thousand cases, and for operands beyond the range of
// a function here, of_one.cuh has the slower functions decide. There is no branch before that, and reciprocals and roots
// are the approximate ones of the device, whose remainders are added again.

namespace bl {
namespace pairs {

using math::Pair;
using math::angles::fused;

#if BL_DEVICE
BL_FN f32 about_reciprocal(f32 x) { f32 r; BL_PTX("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
BL_FN f32 about_inverse_root(f32 x) { f32 r; BL_PTX("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
#else
// One unit in the last place too small, as they may be on a device.
BL_FN f32 one_below(f32 x) { return x > 0.0f && x < 3e38f ? from_bits<f32>(bits_of(x) - 1) : x; }
BL_FN f32 about_reciprocal(f32 x) { return one_below(1.0f / x); }
BL_FN f32 about_inverse_root(f32 x) { return one_below(1.0f / square_root(x)); }
#endif

BL_FN f32 size_of(f32 x) { return from_bits<f32>(bits_of(x) & 0x7fffffffu); }
BL_FN Pair scaled(Pair x, f32 power) { return Pair{x.hi * power, x.lo * power}; }
BL_FN Pair chosen(bool first, Pair x, Pair y) { return Pair{first ? x.hi : y.hi, first ? x.lo : y.lo}; }

// An exact sum, for numbers of which the first is 0 or has the larger exponent.
BL_FN Pair quick(f32 x, f32 y) { return math::angles::rounded(Pair{x, y}); }
// An exact sum.
BL_FN Pair exact(f32 x, f32 y) {
    const f32 sum = x + y, y_seen = sum - x;
    return Pair{sum, (x - (sum - y_seen)) + (y - y_seen)};
}
BL_FN Pair product(f32 x, f32 y) {
    const f32 near = x * y;
    return Pair{near, fused(x, y, -near)};
}
// x / y, where y.lo is below a unit in the last place of y.hi.
BL_FN Pair quotient(Pair x, Pair y) {
    const f32 inverse = about_reciprocal(y.hi), near = x.hi * inverse;
    return Pair{near, (fused(-near, y.hi, x.hi) + fused(-near, y.lo, x.lo)) * inverse};
}
BL_FN Pair root(Pair x) {
    const f32 inverse = about_inverse_root(x.hi), near = x.hi * inverse;
    return Pair{near, (fused(-near, near, x.hi) + x.lo) * (0.5f * inverse)};
}

// A result if it is certain.
template <class T> struct Maybe {
    T result;
    bool certain;
};

// What the sign of an operand does to a result, as bits: nothing; the function is odd, and was computed for the
// magnitude; or the result has the same sign, even if it is 0.
enum class Sign { ignored, flips, copied };
template <Sign sign> BL_FN f32 with_sign(f32 result, f32 operand) {
    const u32 bits = bits_of(operand) & 0x80000000u;
    if constexpr (sign == Sign::flips) return from_bits<f32>(bits_of(result) ^ bits);
    else if constexpr (sign == Sign::copied) return from_bits<f32>((bits_of(result) & 0x7fffffffu) | bits);
    else return result;
}

// Rounds a sum, given the operand. For an f32, its error must be below 1 / `parts` of half a unit in its last place: then
// it is certain unless a rest that much larger would be rounded to another number. For 16 bits, every operand is tried by
// the tests.
template <class T, Sign sign> BL_FN Maybe<T> settled(Pair x, f32 operand, f32 parts) {
    const Pair near = math::angles::rounded(x);
    if constexpr (same<T, f32>())
        return Maybe<T>{with_sign<sign>(near.hi, operand), fused(near.lo, 1.0f + 1.0f / parts, near.hi) == near.hi};
    else return Maybe<T>{round_to<T>(with_sign<sign>(math::angles::to_odd(near), operand)), near.hi - near.hi == 0.0f};
}

// Below this an odd function is its operand, to all bits that count.
BL_FN Pair or_tiny(f32 size, Pair x) { return chosen(size < 9.3132257e-10f, Pair{size, 0.0f}, x); }

// ---- Powers ------------------------------------------------------------------------------------------------------

// Adding this to a number below 2^22 rounds it to an integer, which is then in the lowest bits.
#define BL_ROUND_F32 12582912.0f

// A power as table * (1 + table_error) * e^r.
struct Power {
    f32 table, table_error;
    Pair r;
};
// 2^(steps / 64) e^r, where the steps are in the lowest bits.
BL_FN Power power(u32 steps, Pair r) {
    const u64 row = math::exp_pair_row(steps & 63)[0];
    return Power{from_bits<f32>(u32(row) + (steps << 17 & 0xff800000u)), from_bits<f32>(u32(row >> 32)), r};
}
// e^x for |x| up to 87.
BL_FN Power exp_power(f32 x) {
    const f32 shifted = fused(x, 92.33248f, BL_ROUND_F32), steps = shifted - BL_ROUND_F32;
    const f32 upper = fused(steps, -BL_STEP_F32, x);  // exact
    const f32 value = fused(steps, -BL_STEP_REST_F32, upper);
    return power(bits_of(shifted), Pair{value, fused(steps, -BL_STEP_REST_F32, upper - value)});
}
// 2^x for |x| up to 125.
BL_FN Power exp2_power(f32 x) {
    const f32 shifted = fused(x, 64.0f, BL_ROUND_F32), steps = shifted - BL_ROUND_F32;
    const f32 part = fused(steps, -0.015625f, x);  // exact
    const Pair r = product(part, BL_LN2_F32);
    return power(bits_of(shifted), Pair{r.hi, fused(part, BL_LN2_REST_F32, r.lo)});
}

// The power, with an error of 2^-39.
BL_FN Pair value(const Power& p) {
    const f32 r = p.r.hi;
    const f32 bend = fused(r * r, fused(r, fused(r, 1.0f / 24.0f, 1.0f / 6.0f), 0.5f), p.r.lo);
    const Pair added = product(p.table, r), sum = quick(p.table, added.hi);
    return Pair{sum.hi, sum.lo + fused(p.table, bend + fused(p.table_error, r, p.table_error), added.lo)};
}
// The power less 1, with an error of 2^-39 of the difference, however small that is. If the power is less than 1,
// `any_size` must be set.
template <bool any_size> BL_FN Pair less_one(const Power& p) {
    const f32 r = p.r.hi;
    // e^r - 1 = r + r^2 / 2 + ..., of which the second term is exact.
    const Pair square = product(0.5f * r, r), sum = quick(r, square.hi);
    const f32 series = fused(r, fused(r, 1.0f / 60.0f, 1.0f / 12.0f), 1.0f / 3.0f);
    const f32 rest = (sum.lo + square.lo) + fused(square.hi * r, series, fused(p.r.lo, r, p.r.lo));
    const f32 with_error = rest + fused(p.table_error, sum.hi, p.table_error);
    const Pair from = any_size ? exact(p.table, -1.0f) : quick(p.table, -1.0f), added = product(p.table, sum.hi);
    const Pair total = quick(from.hi, added.hi);
    return Pair{total.hi, (total.lo + from.lo) + fused(p.table, with_error, added.lo)};
}

BL_FN Pair exp(f32 x) { return value(exp_power(x)); }
BL_FN Pair exp2(f32 x) { return value(exp2_power(x)); }
BL_FN Pair expm1(f32 x) { return less_one<true>(exp_power(x)); }
BL_FN Pair cosh(f32 size) {
    const Pair up = math::angles::rounded(exp(size)), down = quotient(Pair{1.0f, 0.0f}, up), sum = quick(up.hi, down.hi);
    return scaled(Pair{sum.hi, sum.lo + (up.lo + down.lo)}, 0.5f);
}
BL_FN Pair sinh(f32 size) {
    // With m = e^x - 1, that is half of m + m / (m + 1).
    const Pair m = less_one<false>(exp_power(size)), whole = exact(1.0f, m.hi);
    const Pair down = quotient(m, Pair{whole.hi, whole.lo + m.lo}), sum = exact(m.hi, down.hi);
    return or_tiny(size, scaled(Pair{sum.hi, sum.lo + (m.lo + down.lo)}, 0.5f));
}
BL_FN Pair tanh(f32 size) {
    // With m = e^2x - 1, that is m / (m + 2). From 10 on it rounds to 1.
    const f32 limited = size < 10.0f ? size : 10.0f;
    const Pair m = less_one<false>(exp_power(2.0f * limited)), divisor = exact(2.0f, m.hi);
    return or_tiny(size, quotient(m, Pair{divisor.hi, divisor.lo + m.lo}));
}

// ---- Logarithms --------------------------------------------------------------------------------------------------

// A number in [2^-126, 2^127).
BL_FN bool is_plain(f32 x) { return bits_of(x) - 0x800000u < 0x7e800000u; }

// The natural logarithm of a plain number as (exponent ln 2 + table + table_rest) + log(1 + r).
struct Reduced {
    f32 exponent, table, table_rest, r;
    f32 scale;  // what anything added to the number adds to r, relative to it
};
BL_FN Reduced reduced(f32 x) {
    const u32 bits = bits_of(x);
    // One more from the 53rd of 128 intervals on, where the table is that of half the significand.
    const f32 exponent = from_bits<f32>(((bits + (75u << 16)) >> 23) | 0x4b000000u) - 8388735.0f;
    const u64 (&row)[2] = math::log_pair_row(bits >> 16 & 127);
    const f32 inverse = from_bits<f32>(u32(row[0]));
    return Reduced{exponent, from_bits<f32>(u32(row[1])), from_bits<f32>(u32(row[1] >> 32)),
                   fused(from_bits<f32>((bits & 0x7fffff) | 0x3f800000), inverse, -1.0f),  // exact
                   from_bits<f32>(u32(row[0]) - (bits & 0x7f800000u) + 0x3f800000u)};
}
// The logarithm with an r that has grown to r + r_change, where the change is below 2^-16 of it. The error is below
// 2^-38 of the logarithm, however small that is. If it must be precise where it is multiplied by a large number, the error
// is below 2^-44 of the logarithm, or below 2^-45 if that is less than 1.
template <bool precise> BL_FN Pair log_of(const Reduced& x, f32 r, f32 change) {
    const Pair whole = precise ? product(x.exponent, BL_LN2_F32) : Pair{x.exponent * BL_LN2_F32_HI, 0.0f};
    const Pair start = quick(whole.hi, x.table), linear = quick(start.hi, r);
    const Pair square = product(-0.5f * r, r), sum = quick(linear.hi, square.hi);
    const f32 series = fused(r, fused(r, fused(r, 1.0f / 3.0f, -0.4f), 0.5f), -2.0f / 3.0f);
    const f32 bend = fused(square.hi * r, series, square.lo + change);
    const f32 rest = fused(x.exponent, precise ? BL_LN2_REST_F32 : BL_LN2_F32_LO, x.table_rest);
    const f32 small = rest + (precise ? start.lo + whole.lo : start.lo);
    return quick(sum.hi, (linear.lo + sum.lo) + (small + bend));
}
BL_FN Pair log(f32 x) {
    const Reduced it = reduced(x);
    return log_of<false>(it, it.r, 0.0f);
}
BL_FN Pair precise_log(f32 x) {
    const Reduced it = reduced(x);
    return log_of<true>(it, it.r, 0.0f);
}
// log(x + rest + last), where the rest is below a unit in the last place of x, and the last even smaller.
BL_FN Pair log(f32 x, f32 rest, f32 last) {
    const Reduced it = reduced(x);
    const Pair r = quick(it.r, rest * it.scale);
    const f32 r_rest = fused(last, it.scale, r.lo);
    return log_of<false>(it, r.hi, r_rest * fused(r.hi, r.hi, 1.0f - r.hi));  // log(1 + r) has the slope 1 - r + r^2 - ...
}
BL_FN Pair log2(f32 x) { return math::angles::times(log(x), Pair{BL_LOG2_E_F32, BL_LOG2_E_REST_F32}); }
BL_FN Pair log10(f32 x) { return math::angles::times(log(x), Pair{BL_LOG10_E_F32, BL_LOG10_E_REST_F32}); }

// log(1 + x), for an x of any size above -1.
BL_FN Pair log1p(Pair x) {
    const Pair sum = exact(1.0f, x.hi);
    return log(sum.hi, sum.lo, x.lo);
}
BL_FN Pair log1p(f32 x) { return log1p(Pair{x, 0.0f}); }

BL_FN Pair asinh(f32 size) {
    // log(x + sqrt(x^2 + 1)), for small x as log(1 + (x + x^2 / 2 - ...)).
    const Pair square = product(size, size), sum = exact(1.0f, square.hi);
    const Pair side = root(Pair{sum.hi, sum.lo + square.lo});
    const f32 u = square.hi, series = fused(u, fused(u, -5.0f / 128.0f, 1.0f / 16.0f), -1.0f / 8.0f);
    const Pair near = quick(size, 0.5f * u);
    const f32 near_rest = near.lo + fused(u * u, series, 0.5f * square.lo);
    const bool small = size < 0.03125f;
    const Pair whole = exact(small ? 1.0f : side.hi, small ? near.hi : size);
    return log(whole.hi, whole.lo, small ? near_rest : side.lo);
}
BL_FN Pair acosh(f32 x) {
    // log(1 + (x - 1 + sqrt(x^2 - 1))).
    const Pair square = product(x, x), less = quick(square.hi, -1.0f), part = quick(x, -1.0f);
    const Pair side = root(quick(less.hi, less.lo + square.lo));
    const Pair beyond = exact(side.hi, part.hi), whole = exact(1.0f, beyond.hi);
    return log(whole.hi, whole.lo, beyond.lo + (part.lo + side.lo));
}
BL_FN Pair atanh(f32 size) {
    // Half of log(1 + 2x / (1 - x)).
    const Pair log = log1p(quotient(Pair{2.0f * size, 0.0f}, quick(1.0f, -size)));
    return or_tiny(size, scaled(log, 0.5f));
}

}  // namespace pairs
}  // namespace bl
