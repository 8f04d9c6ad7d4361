// Sums of two f32, in which the most frequent functions of one f16, bf16 or f32 are computed first: exp, exp2, log,
// log2 and log10.
//
// A sum has an error of some 2^-38. If rounding gives the same result at both ends of an interval around it that is
// wider than twice its error, that is the right result; otherwise, in less than one of 2000 cases, the integers of
// narrow.cuh decide.

namespace bl {
namespace pairs {

#if BL_DEVICE
BL_FN f32 fused(f32 x, f32 y, f32 z) {
    f32 r;
    BL_PTX("fma.rn.f32 %0, %1, %2, %3;" : "=f"(r) : "f"(x), "f"(y), "f"(z));
    return r;
}
#else
BL_FN f32 fused(f32 x, f32 y, f32 z) { return __builtin_fmaf(x, y, z); }
#endif

struct Pair { f32 value, rest; };

// An exact sum, for numbers of which the first is 0 or has the larger exponent.
BL_FN Pair quick(f32 x, f32 y) {
    const f32 value = x + y;
    return Pair{value, (x - value) + y};
}

// A result if it is certain.
template <class T> struct Maybe {
    T result;
    bool certain;
};

// Rounds a sum whose rest has an error below `error`.
template <class T> BL_FN Maybe<T> rounded(Pair x, f32 error) {
    if constexpr (same<T, f32>()) {
        const f32 up = x.value + (x.rest + error), down = x.value + (x.rest - error);
        return Maybe<T>{up, up == down};
    } else {
        // Rounding to f32 first must not matter either: that is within 2^-24.
        const f32 margin = fused(from_bits<f32>(bits_of(x.value) & 0x7fffffffu), 1.1920929e-7f, error);
        const T up = round_to<T>(x.value + (x.rest + margin)), down = round_to<T>(x.value + (x.rest - margin));
        return Maybe<T>{up, up.bits == down.bits};
    }
}

// e^(r.value + r.rest) * 2^(count / 64) for |r| up to 2^-7.5, with an error below 2^-36 of the power of two in it. The
// result must be a normal f32.
template <class T> BL_FN Maybe<T> exp(Pair r, i32 count) {
    const u64 row = math::exp_pair_row(u32(count) & 63)[0];
    const f32 table = from_bits<f32>(u32(row)), table_rest = from_bits<f32>(u32(row >> 32));
    const f32 series = fused(r.value, fused(r.value, 1.0f / 24.0f, 1.0f / 6.0f), 0.5f);
    const f32 bend = fused(r.value * r.value, series, r.rest);
    // table * (1 + r + bend) + table_rest
    const f32 product = table * r.value, product_rest = fused(table, r.value, -product);
    const Pair sum = quick(table, product);
    const f32 rest = sum.rest + (product_rest + fused(table, bend, fused(table_rest, r.value, table_rest)));
    // Adding to the exponents scales both by the power of two exactly. The rest is far from subnormal unless it is 0.
    const f32 power = from_bits<f32>(u32((count >> 6) + 127) << 23);
    if constexpr (same<T, f32>()) {
        const Maybe<f32> result = rounded<f32>(Pair{sum.value, rest}, 1.4551915e-11f);
        return Maybe<f32>{result.result * power, result.certain};
    } else return rounded<T>(Pair{sum.value * power, rest * power}, 1.4551915e-11f * power);
}

// Adding this to a number below 2^22 rounds it to an integer, which is then in the lowest bits.
#define BL_ROUND_F32 12582912.0f

// e^x for |x| up to 87.
template <class T> BL_FN Maybe<T> exp(f32 x) {
    const f32 shifted = fused(x, 92.33248f, BL_ROUND_F32), steps = shifted - BL_ROUND_F32;
    const f32 upper = fused(steps, -BL_STEP_F32, x);  // exact
    const f32 value = fused(steps, -BL_STEP_REST_F32, upper);
    const f32 rest = fused(steps, -BL_STEP_REST_F32, upper - value);
    return exp<T>(Pair{value, rest}, i32(bits_of(shifted)) - 0x4b400000);
}

// 2^x for |x| up to 125.
template <class T> BL_FN Maybe<T> exp2(f32 x) {
    const f32 shifted = fused(x, 64.0f, BL_ROUND_F32), steps = shifted - BL_ROUND_F32;
    const f32 part = fused(steps, -0.015625f, x);  // exact
    const f32 value = part * BL_LN2_F32;
    const f32 rest = fused(part, BL_LN2_REST_F32, fused(part, BL_LN2_F32, -value));
    return exp<T>(Pair{value, rest}, i32(bits_of(shifted)) - 0x4b400000);
}

// The natural logarithm of a positive normal number other than 1, with an error below 2^-37 of it.
BL_FN Pair log(f32 x) {
    const u32 bits = bits_of(x), i = bits >> 16 & 127;
    const f32 exponent = f32(i32(bits >> 23) - 127 + (i >= 53));
    const u64 (&row)[2] = math::log_pair_row(i);
    const f32 table = from_bits<f32>(u32(row[1])), table_rest = from_bits<f32>(u32(row[1] >> 32));
    const f32 r = fused(from_bits<f32>((bits & 0x7fffff) | 0x3f800000), from_bits<f32>(u32(row[0])), -1.0f);  // exact
    const f32 whole = exponent * BL_LN2_F32, whole_rest = fused(exponent, BL_LN2_F32, -whole);
    const Pair start = quick(whole, table), linear = quick(start.value, r);
    const f32 square = r * r, square_rest = fused(r, r, -square);
    const Pair sum = quick(linear.value, -0.5f * square);
    const f32 series = fused(r, fused(r, fused(r, -1.0f / 6.0f, 0.2f), -0.25f), 1.0f / 3.0f);
    const f32 bend = fused(square * r, series, -0.5f * square_rest);
    const f32 small = fused(exponent, BL_LN2_REST_F32, table_rest) + whole_rest;
    return quick(sum.value, (linear.rest + sum.rest) + ((start.rest + small) + bend));
}

// A number in [2^-126, 2^128) other than 1.
BL_FN bool is_plain(f32 x) { return bits_of(x) - 0x800000u < 0x7f000000u && x != 1.0f; }

BL_FN f32 error_of(Pair x) { return from_bits<f32>(bits_of(x.value) & 0x7fffffffu) * 7.2759576e-12f; }

// x times the sum of two f32.
BL_FN Pair times(Pair x, f32 factor, f32 factor_rest) {
    const f32 value = x.value * factor;
    return Pair{value, fused(x.value, factor, -value) + fused(x.rest, factor, x.value * factor_rest)};
}

}  // namespace pairs
}  // namespace bl
