// The functions of one operand by dtype: wide:: for f64; for f16, bf16 and f32 a sum of two f32 first, and where that is
// not certain, or the operand is beyond the range in which it applies, integers or the pairs of angles.cuh.

namespace bl {
namespace math {

BL_FN f32 as_f32(f32 x) { return x; }
template <class T> BL_FN f32 as_f32(T x) { return widen(x); }

// `slowly` is the function that is always right, `applies` the range of the fast one, as an expression of `a` and its
// magnitude `size`, one of which is the `operand` of the fast one, and `parts` says how precise that is: the largest errors
// found are a third of what they allow. The slow function is not inlined, so that its code is there once for the several
// elements of a thread.
#define BL_OF_ONE(name, slowly, parts, operand, sign, applies) \
    template <class T> BL_SLOW T name##_slowly(f32 a) { return slowly; } \
    template <class T> BL_FN T name(T x) { \
        if constexpr (same<T, f64>()) return wide::name(x); \
        else { \
            const f32 a = as_f32(x); \
            [[maybe_unused]] const f32 size = pairs::size_of(a); \
            const auto first = pairs::settled<T, pairs::Sign::sign>(pairs::name(operand), a, parts); \
            if (first.certain && (applies)) return first.result; \
            return name##_slowly<T>(a); \
        } \
    }
#define BL_IN_INTEGERS(name, operand, sign, applies) BL_OF_ONE(name, fixed::name<T>(a), 2048.0f, operand, sign, applies)
BL_IN_INTEGERS(exp, a, ignored, size < 72.0f)
BL_IN_INTEGERS(exp2, a, ignored, size < 105.0f)
BL_IN_INTEGERS(expm1, a, copied, size < 87.0f)
BL_IN_INTEGERS(log, a, ignored, pairs::is_plain(a))
BL_IN_INTEGERS(log2, a, ignored, pairs::is_plain(a))
BL_IN_INTEGERS(log10, a, ignored, pairs::is_plain(a))
BL_IN_INTEGERS(log1p, a, copied, pairs::is_plain(1.0f + a))
BL_IN_INTEGERS(sinh, size, flips, size < 87.0f)
BL_IN_INTEGERS(cosh, size, ignored, size < 87.0f)
BL_IN_INTEGERS(tanh, size, flips, a == a)
BL_IN_INTEGERS(asinh, size, flips, size < 9.2e18f)
BL_IN_INTEGERS(acosh, a, ignored, a > 1.0f && a < 9.2e18f)
BL_IN_INTEGERS(atanh, size, flips, size < 1.0f)
#undef BL_IN_INTEGERS
#define BL_OF_ANGLES(name, operand, sign, applies) \
    BL_OF_ONE(name, (angles::rounded_to<T>(a, [](f32 it) { return angles::name(it); }, [](f32 it) { return name##_is_missed(it); })), \
              1024.0f, operand, sign, applies)
BL_OF_ANGLES(sin, size, flips, size < 65536.0f)
BL_OF_ANGLES(cos, size, ignored, size < 65536.0f)
BL_OF_ANGLES(tan, size, flips, size < 65536.0f)
BL_OF_ANGLES(asin, size, flips, size < 1.0f)
BL_OF_ANGLES(acos, a, ignored, size < 1.0f)
BL_OF_ANGLES(atan, size, flips, true)
#undef BL_OF_ANGLES
#undef BL_OF_ONE

}  // namespace math
}  // namespace bl
