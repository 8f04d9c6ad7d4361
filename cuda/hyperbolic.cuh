// sinh, cosh, tanh, asinh, acosh and atanh of f64: a port of src/math/hyperbolic.rs, with the same names.

namespace bl {
namespace math {
namespace wide {

// e^x - 1 for a number that is not negative, and taken to be no more than 40.
BL_FN Sum expm1_near(f64 x) { return scaled(half_expm1(x > 40.0 ? 40.0 : x), 2.0); }
BL_FN f64 half_exp(f64 x) {
    Power p = power(x, 0.0);
    --p.exponent;
    return rounded(p);
}

BL_FN f64 sinh(f64 x) {
    const f64 size = magnitude(x);
    const Sum m = expm1_near(size), quotient = over(m, plus(m, 1.0)), sum = plus(m, quotient.value);
    f64 result = math::rounded(scaled(Sum{sum.value, sum.rest + quotient.rest}, 0.5));
    result = size < BL_TINY ? math::rounded(Sum{size, size * size * (size * (1.0 / 6.0))}) : result;
    return flip(size > 40.0 ? half_exp(size) : result, x);
}
BL_FN f64 cosh(f64 x) {
    const f64 size = magnitude(x);
    const Sum whole = plus(expm1_near(size), 1.0), inverse = over(Sum{1.0, 0.0}, whole);
    const Sum sum = plus(whole, inverse.value);
    return size > 40.0 ? half_exp(size) : math::rounded(scaled(Sum{sum.value, sum.rest + inverse.rest}, 0.5));
}
BL_FN f64 tanh(f64 x) {
    const f64 size = magnitude(x);
    const Sum m = expm1_near(size * 2.0);
    return flip(size < BL_TINY ? math::rounded(Sum{size, size * size * (size * (-1.0 / 3.0))}) : math::rounded(over(m, plus(m, 2.0))), x);
}

// log 2x.
BL_FN f64 log_of_twice(f64 x) {
    const Sum log = plus(log_of(Sum{x, 0.0}), BL_LN2);
    return math::rounded(Sum{log.value, log.rest + BL_LN2_REST});
}
BL_FN f64 asinh(f64 x) {
    const f64 size = magnitude(x), near = size > 1e9 ? 1.0 : size;
    const Sum sum = log_of(plus(root(plus(product(near, near), 1.0)), near));
    f64 result = size > 1e9 ? log_of_twice(size) : math::rounded(sum);
    result = size < BL_TINY ? math::rounded(Sum{size, size * size * (size * (-1.0 / 6.0))}) : result;
    return flip(size == BL_INFINITY ? size : result, x);
}
BL_FN f64 acosh(f64 x) {
    const f64 near = x > 1e9 ? 1.0 : x, below = near - 1.0;
    const Sum above = add(near, 1.0), p = product(below, above.value);
    const Sum sum = log_of(plus(root(Sum{p.value, p.rest + below * above.rest}), near));
    const f64 result = x > 1e9 ? log_of_twice(x) : math::rounded(sum);
    return x < 1.0 || is_nan(x) ? BL_NAN : x == BL_INFINITY ? x : result;
}
BL_FN f64 atanh(f64 x) {
    const f64 size = magnitude(x);
    f64 result = math::rounded(scaled(log_of(over(add(1.0, size), add(1.0, -size))), 0.5));
    result = size < BL_TINY ? math::rounded(Sum{size, size * size * (size * (1.0 / 3.0))}) : result;
    result = size == 1.0 ? BL_INFINITY : result;
    return size > 1.0 || is_nan(x) ? BL_NAN : flip(result, x);
}

}  // namespace wide

}  // namespace math
}  // namespace bl
