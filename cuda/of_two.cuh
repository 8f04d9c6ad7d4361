// The functions of two operands by dtype: wide:: for f64; for f16, bf16 and f32 a sum of two f32 first, and where that is
// not certain, or the operands are beyond the range in which it applies, the functions of narrow::, in f64.
//
// narrow:: performs the operations of the CPU, and so decides every case in which a result is nearly halfway between two
// numbers. Its own errors are below a hundredth of those that are allowed for here: what is certain here, it rounds alike.

namespace bl {
namespace pairs {

// Rounds a sum whose error is below `error`, with the sign bit of `sign` flipped. The result is certain if everything
// within that error is rounded to it.
template <class T> BL_FN T flipped(T x, u32 sign) { return from_bits<T>(bits_of(x) ^ Bits<T>((sign & 0x80000000u) >> (32 - 8 * sizeof(T)))); }
template <class T> BL_FN Maybe<T> within(Pair x, f32 error, u32 sign) {
    const Pair near = math::angles::rounded(x);
    if constexpr (same<T, f32>())
        return Maybe<T>{flipped(near.hi, sign), near.hi + (near.lo + error) == near.hi + (near.lo - error)};
    else {
        // Half a unit in the last place of the first number bounds the second.
        const f32 slack = fused(size_of(near.hi), 1.1920929e-7f, error);
        const T above = round_to<T>(near.hi + slack), below = round_to<T>(near.hi - slack);
        return Maybe<T>{flipped(above, sign), bits_of(above) == bits_of(below)};
    }
}

// ---- Angles ------------------------------------------------------------------------------------------------------

// A number in [2^-60, 2^60): what products with it leave of an f32 is normal.
BL_FN bool is_ordinary(f32 size) { return bits_of(size) - (67u << 23) < 120u << 23; }

template <class T> BL_FN Maybe<T> atan2(f32 y, f32 x) {
    const f32 height = size_of(y), width = size_of(x);
    const bool steep = height > width, left = bits_of(x) >> 31;
    const f32 shorter = steep ? width : height, longer = steep ? height : width;
    const Pair from_axis = slope(shorter, longer, shorter * about_reciprocal(longer), 63.9999f);
    const Pair angle = less(steep ? 1.0f : left ? 2.0f : 0.0f, steep != left ? from_axis : math::angles::negated(from_axis));
    // The largest error that was found is a third of this, as in the functions below.
    const Maybe<T> result = within<T>(angle, angle.hi * 1.4551915e-11f, bits_of(y));
    const bool applies = is_ordinary(longer) && (shorter == 0.0f || (shorter > 1e-28f && angle.hi > 1e-28f));
    return Maybe<T>{result.result, result.certain && applies};
}

// ---- Sums of powers ----------------------------------------------------------------------------------------------

// e^x for a sum whose second number is below a unit in the last place of the first.
BL_FN Pair exp(Pair x) {
    const Power p = exp_power(x.hi);
    return math::angles::rounded(value(Power{p.table, p.table_error, quick(p.r.hi, p.r.lo + x.lo)}));
}

template <class T> BL_FN Maybe<T> logaddexp(f32 x, f32 y) {
    const f32 large = x > y ? x : y, small = x > y ? y : x;
    // The larger operand and log(1 + e^d). Where d is below -64, that is negligible unless the operand is tiny.
    const Pair difference = exact(small, -large);
    const bool far = difference.hi < -64.0f;
    const Pair log = log1p(exp(chosen(far, Pair{-64.0f, 0.0f}, difference)));
    const Pair sum = exact(large, log.hi);
    const Maybe<T> result = within<T>(Pair{sum.hi, sum.lo + log.lo}, fused(log.hi, 1.4551915e-11f, size_of(sum.hi) * 5.7e-14f), 0);
    return Maybe<T>{result.result, result.certain && size_of(sum.hi) < 1e38f && (!far || size_of(large) > 1e-18f)};
}

// ---- Powers ------------------------------------------------------------------------------------------------------

template <class T> BL_FN Maybe<T> pow(f32 x, f32 y) {
    const f32 size = size_of(x), exponent = size_of(y);
    const Pair log_of_x = precise_log(size), t = product(log_of_x.hi, y);
    const Pair power = exp(quick(t.hi, fused(log_of_x.lo, y, t.lo)));
    // From 2^23 on, the last bit of an f32 has the value 1.
    const f32 counted = exponent + 8388608.0f;
    const bool integer = counted - 8388608.0f == exponent, zero = size == 0.0f && y > 0.0f;
    const u32 odd = integer ? bits_of(counted) << 31 : 0;
    // The error of the logarithm is one of the power, times the exponent.
    const f32 error = power.hi * fused(exponent, 7e-14f, 1.4551915e-11f);
    const Maybe<T> result = within<T>(zero ? Pair{0.0f, 0.0f} : power, zero ? 0.0f : error, bits_of(x) & odd);
    const bool applies = (is_plain(size) && size_of(t.hi) < 72.0f) || zero;
    return Maybe<T>{result.result, result.certain && applies && exponent < 4194304.0f && (integer || x >= 0.0f)};
}

}  // namespace pairs

namespace math {

// The slow function is not inlined, so that its code is there once for the several elements of a thread.
#define BL_OF_TWO(name) \
    template <class T> BL_SLOW T name##_slowly(f32 x, f32 y) { \
        const f64 result = narrow::name(x, y); \
        if constexpr (same<T, f32>()) return f32(result); \
        else return round_to<T>(round_to_odd(result)); \
    } \
    template <class T> BL_FN T name(T x, T y) { \
        if constexpr (same<T, f64>()) return wide::name(x, y); \
        else { \
            const f32 a = as_f32(x), b = as_f32(y); \
            const auto first = pairs::name<T>(a, b); \
            if (first.certain) return first.result; \
            return name##_slowly<T>(a, b); \
        } \
    }
BL_OF_TWO(pow)
BL_OF_TWO(atan2)
BL_OF_TWO(logaddexp)
#undef BL_OF_TWO

}  // namespace math
}  // namespace bl
