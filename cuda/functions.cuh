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

// A unary function of a float: `half` computes f16 and bf16 in f64, rounded once; `whole` computes f32 and f64.
template <class T, class F, class G> BL_FN T of_one_float(T x, F half, G whole) {
    if constexpr (is_half<T>()) return round_to<T>(round_to_odd(half(f64(widen(x)))));
    else return whole(x);
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

struct sin {
    template <class T> static BL_FN T apply(T x) { return math::sin(x); }
};
struct cos {
    template <class T> static BL_FN T apply(T x) { return math::cos(x); }
};
struct tan {
    template <class T> static BL_FN T apply(T x) { return math::tan(x); }
};
struct asin {
    template <class T> static BL_FN T apply(T x) { return math::asin(x); }
};
struct acos {
    template <class T> static BL_FN T apply(T x) { return math::acos(x); }
};
struct atan {
    template <class T> static BL_FN T apply(T x) { return math::atan(x); }
};

struct exp {
    template <class T> static BL_FN T apply(T x) {
        return of_one_float(x, [](f64 a) { return math::narrow::exp(a); }, [](auto a) { return math::exp(a); });
    }
};

struct log {
    template <class T> static BL_FN T apply(T x) {
        return of_one_float(x, [](f64 a) { return math::narrow::log(a); }, [](auto a) { return math::log(a); });
    }
};

}  // namespace op
}  // namespace bl
