// exp, exp2 and expm1 of f64: a port of src/math/exponential.rs, with the same names.

namespace bl {
namespace math {

// ---- Sums of two f64: a port of src/math/sums.rs -----------------------------------------------------------------

BL_FN Sum quick(f64 x, f64 y) {
    const f64 value = x + y;
    return Sum{value, (x - value) + y};
}
BL_FN Sum product(f64 x, f64 y) {
    const f64 x_upper = upper(x), y_upper = upper(y), x_lower = x - x_upper, y_lower = y - y_upper, value = x * y;
    return Sum{value, ((x_upper * y_upper - value) + (x_upper * y_lower + x_lower * y_upper)) + x_lower * y_lower};
}
BL_FN Sum over(Sum x, Sum y) {
    const f64 value = x.value / y.value;
    const Sum p = product(value, y.value);
    return Sum{value, (((x.value - p.value) - p.rest) + (x.rest - value * y.rest)) / y.value};
}
BL_FN Sum root(Sum x) {
    const f64 value = square_root(x.value);
    const Sum square = product(value, value);
    const f64 remainder = ((x.value - square.value) - square.rest) + x.rest;
    return Sum{value, value == 0.0 ? 0.0 : remainder / (2.0 * value)};
}
BL_FN Sum plus(Sum x, f64 y) {
    const Sum sum = wide::add(x.value, y);
    return Sum{sum.value, sum.rest + x.rest};
}
BL_FN Sum times(Sum x, f64 upper_factor, f64 lower_factor) {
    const f64 value_upper = upper(x.value);
    return Sum{value_upper * upper_factor,
               (x.value - value_upper) * upper_factor + (x.value * lower_factor + x.rest * upper_factor)};
}
BL_FN Sum scaled(Sum x, f64 power) { return Sum{x.value * power, x.rest * power}; }
BL_FN f64 rounded(Sum x) { return x.value + x.rest; }

// ---- The functions -----------------------------------------------------------------------------------------------

namespace wide {

BL_FN f64 exp(f64 x) { return rounded(power(x, 0.0)); }
BL_FN f64 exp2(f64 x) {
    x = limited(x, 1200.0);
    const f64 shifted = x * 128.0 + (BL_ROUND + 1048576.0);
    const f64 part = x - (shifted - (BL_ROUND + 1048576.0)) * (1.0 / 128.0);
    const Sum r = product(part, BL_LN2);
    return rounded(powered(reduced_at(u32(bits_of(shifted)), r.value, r.rest + part * BL_LN2_REST)));
}

// Half of e^x - 1 for x in [-60, 709.9].
BL_FN Sum half_expm1(f64 x) {
    const Reduced p = reduced(x, 0.0);
    const f64 table_upper = upper(p.table), r_upper = upper(p.r);
    const f64 product_rest = (table_upper * (p.r - r_upper) + (p.table - table_upper) * p.r)
                             + p.table * (terms(p) + p.r * p.table_error);
    const f64 half = from_bits<f64>(u64(p.exponent - (8193 - 1023)) << 52);
    const Sum start = add(p.table * half, -0.5);
    const Sum linear = plus(start, table_upper * r_upper * half);  // the product is exact
    return quick(linear.value, linear.rest + product_rest * half);
}
BL_FN f64 expm1(f64 x) {
    const Sum sum = half_expm1(x < -60.0 ? -60.0 : x > 709.9 ? 709.9 : x);
    return magnitude(x) < 5e-17 ? x : math::rounded(sum) * 2.0;
}

}  // namespace wide
}  // namespace math
}  // namespace bl
