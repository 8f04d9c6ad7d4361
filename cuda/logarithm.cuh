// log, log2, log10 and log1p of f64: a port of src/math/logarithm.rs, with the same names.

namespace bl {
namespace math {

// Below 2^-28, the first terms of a series suffice.
#define BL_TINY from_bits<f64>(u64(1023 - 28) << 52)

// log(1 + x) in all cases, given a value that need only be right for finite x above -1 except 0.
BL_FN f64 log1p_cases(f64 x, f64 log) {
    log = x == BL_INFINITY || x == 0.0 ? x : log;
    log = x == -1.0 ? -BL_INFINITY : log;
    return x < -1.0 || is_nan(x) ? BL_NAN : log;
}

namespace wide {

// The natural logarithm of a positive finite sum.
BL_FN Sum log_of(Sum x) {
    const Sum log = log_sum(x.value);
    return quick(log.value, log.rest + x.rest / x.value);
}

BL_FN f64 log(f64 x) { return log_cases(x, math::rounded(log_sum(x))); }
BL_FN f64 log2(f64 x) {
    return log_cases(x, math::rounded(times(log_sum(x), BL_LOG2_E_UPPER, BL_LOG2_E_LOWER)));
}
BL_FN f64 log10(f64 x) {
    return log_cases(x, math::rounded(times(log_sum(x), BL_LOG10_E_UPPER, BL_LOG10_E_LOWER)));
}
BL_FN f64 log1p(f64 x) {
    const f64 log = math::rounded(log_of(add(1.0, x)));
    return log1p_cases(x, magnitude(x) < BL_TINY ? math::rounded(Sum{x, -(x * x * (0.5 - x * (1.0 / 3.0)))}) : log);
}

}  // namespace wide
}  // namespace math
}  // namespace bl
