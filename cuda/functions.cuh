// The large operations: floor division, remainder, powers, logarithms and angles. Only kernels that call one of them are
// compiled with this file, math.cuh and trigonometry.cuh.

namespace bl {

// NumPy's algorithm, in f32 or f64. The remainder is exact, so the quotient is an integer up to rounding.
template <class F> BL_FN F float_floor_divide(F x, F y) {
    const F ratio = x / y;
    if (y == 0) return ratio;
    const F rest = math::fmod(x, y);
    F quotient = (x - rest) / y;
    if (rest != 0 && (y < 0) != (rest < 0)) quotient -= 1;
    if (quotient == 0) return with_sign(F(0), sign_of(ratio));
    const F floor = round_down(quotient);
    return quotient - floor > F(0.5) ? floor + 1 : floor;
}
template <class F> BL_FN F float_remainder(F x, F y) {
    const F rest = math::fmod(x, y);
    if (rest == 0) return with_sign(F(0), sign_of(y));
    return (y < 0) != (rest < 0) ? rest + y : rest;
}

// Integers: division by zero gives 0, and the only quotient that does not fit wraps.
template <class T> BL_FN T integer_floor_divide(T x, T y) {
    if (y == 0) return 0;
    if constexpr (is_signed_integer<T>()) {
        if (y == T(-1)) return T(0 - wrapping(x));
        const T quotient = T(x / y), rest = T(x % y);
        return rest != 0 && (rest < 0) != (y < 0) ? T(quotient - 1) : quotient;
    } else return T(x / y);
}
template <class T> BL_FN T integer_remainder(T x, T y) {
    if (y == 0) return 0;
    if constexpr (is_signed_integer<T>()) {
        if (y == T(-1)) return 0;
        const T rest = T(x % y);
        return rest != 0 && (rest < 0) != (y < 0) ? T(rest + y) : rest;
    } else return T(x % y);
}

namespace op {

struct floor_divide {
    template <class T> static BL_FN T apply(T x, T y) {
        if constexpr (is_integer<T>()) return integer_floor_divide(x, y);
        else return arithmetic(x, y, [](auto a, auto b) { return float_floor_divide(a, b); });
    }
};

struct remainder {
    template <class T> static BL_FN T apply(T x, T y) {
        if constexpr (is_integer<T>()) return integer_remainder(x, y);
        else return arithmetic(x, y, [](auto a, auto b) { return float_remainder(a, b); });
    }
};

struct pow {
    template <class T> static BL_FN T apply(T x, T y) {
        if constexpr (is_integer<T>()) return math::ipow(x, y);
        else return math::pow(x, y);
    }
};

struct logaddexp {
    template <class T> static BL_FN T apply(T x, T y) { return math::logaddexp(x, y); }
};

struct atan2 {
    template <class T> static BL_FN T apply(T y, T x) { return math::atan2(y, x); }
};

struct hypot {
    template <class T> static BL_FN T apply(T x, T y) { return math::hypot(x, y); }
};

#define BL_FUNCTION(name) \
    struct name { \
        template <class T> static BL_FN T apply(T x) { return math::name(x); } \
    };
BL_FUNCTION(exp)
BL_FUNCTION(exp2)
BL_FUNCTION(expm1)
BL_FUNCTION(log)
BL_FUNCTION(log2)
BL_FUNCTION(log10)
BL_FUNCTION(log1p)
BL_FUNCTION(sinh)
BL_FUNCTION(cosh)
BL_FUNCTION(tanh)
BL_FUNCTION(asinh)
BL_FUNCTION(acosh)
BL_FUNCTION(atanh)
BL_FUNCTION(sin)
BL_FUNCTION(cos)
BL_FUNCTION(tan)
BL_FUNCTION(asin)
BL_FUNCTION(acos)
BL_FUNCTION(atan)

}  // namespace op
}  // namespace bl
