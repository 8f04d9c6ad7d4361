// The operations: one struct each, whose function `apply` computes one element. All operands have the compute dtype,
// except the condition of select; the result has it too, or is boolean. The host ensures that an op accepts its dtype, and
// has floats of 8 bits computed in f32, except by the operations on bits.
// The ops that need math.cuh or integer division are in functions.cuh.

namespace bl {

// Integers in a type that wraps: unsigned, and no narrower than int, so that promotion cannot make it signed again.
template <class T> BL_FN auto wrapping(T x) {
    if constexpr (sizeof(T) == 8) return u64(x);
    else return u32(x);
}

// f(x, y) in the arithmetic of T: f16 and bf16 are computed in f32 and rounded once, integers wrap.
template <class T, class F> BL_FN T arithmetic(T x, T y, F f) {
    if constexpr (is_half<T>()) return round_to<T>(f(widen(x), widen(y)));
    else if constexpr (is_integer<T>()) return T(f(wrapping(x), wrapping(y)));
    else return f(x, y);
}

// f(x, y) for a comparison: f16 and bf16 compare as f32, bool as 0 and 1.
template <class T, class F> BL_FN boolean comparison(T x, T y, F f) {
    if constexpr (is_half<T>()) return truth(f(widen(x), widen(y)));
    else if constexpr (is_bool<T>()) return truth(f(x.bits, y.bits));
    else return truth(f(x, y));
}

// f(x, y) on the bits of bool and integers.
template <class T, class F> BL_FN T bitwise(T x, T y, F f) { return from_bits<T>(Bits<T>(f(bits_of(x), bits_of(y)))); }

BL_FN bool operator==(c64 x, c64 y) { return x.re == y.re && x.im == y.im; }
BL_FN bool operator!=(c64 x, c64 y) { return !(x == y); }
BL_FN bool operator==(c128 x, c128 y) { return x.re == y.re && x.im == y.im; }
BL_FN bool operator!=(c128 x, c128 y) { return !(x == y); }

// A shift amount for the clamping shifts: a negative amount becomes a large unsigned number, and a large one stays
// large.
template <class T> BL_FN u32 clamped_amount(T amount) {
    if constexpr (sizeof(T) == 8) return high_half(u64(amount)) ? 64u : low_half(u64(amount));
    else return u32(amount);
}

// Floats of 8 and 16 bits as f32, others as they are.
template <class T> BL_FN auto as_float(T x) {
    if constexpr (is_half<T>() || is_float8<T>()) return widen(x);
    else return x;
}

// A float with its sign bit cleared or flipped, and nothing else changed.
template <class T> BL_FN T without_sign(T x) { return from_bits<T>(Bits<T>(bits_of(x) & Bits<T>(~Bits<T>(0)) >> 1)); }
template <class T> BL_FN T with_other_sign(T x) { return from_bits<T>(Bits<T>(bits_of(x) ^ Bits<T>(Bits<T>(1) << (8 * sizeof(T) - 1)))); }

// The larger or smaller of x and y, with the rules of maximum, minimum, fmax and fmin for NaNs and zeros.
enum class Nan { wins, loses };
enum class Pick { larger, smaller };
template <Pick PICK, Nan NAN, class T> BL_FN T extremum(T x, T y) {
    if constexpr (is_bool<T>()) return boolean{u8(PICK == Pick::larger ? x.bits | y.bits : x.bits & y.bits)};
    else if constexpr (is_integer<T>() && sizeof(T) < 4) return T(PICK == Pick::larger ? larger(x, y) : smaller(x, y));
    else if constexpr (is_integer<T>()) return (PICK == Pick::larger ? x > y : x < y) ? x : y;
    else {
        const auto a = as_float(x), b = as_float(y);
        // Selections rather than branches, because a thread computes up to sixteen of these at once.
        T chosen = (PICK == Pick::larger ? a > b : a < b) ? x : y;
        // Equal floats have equal bits, except zeros of different signs: the sign of the larger zero is the AND of
        // both.
        chosen = a == b ? from_bits<T>(Bits<T>(PICK == Pick::larger ? bits_of(x) & bits_of(y) : bits_of(x) | bits_of(y))) : chosen;
        chosen = b != b ? (NAN == Nan::wins ? y : x) : chosen;
        return a != a ? (NAN == Nan::wins ? x : y) : chosen;
    }
}

// For the absolute value of a complex number; in trigonometry.cuh.
namespace math {
template <class T> BL_FN T hypot(T x, T y);
}

namespace op {

// ---- Shifts ------------------------------------------------------------------------------------------------------

struct bitwise_left_shift {
    template <class T> static BL_FN T apply(T x, T amount) { return T(shift_left(wrapping(x), clamped_amount(amount))); }
};

struct bitwise_right_shift {
    template <class T> static BL_FN T apply(T x, T amount) {
        if constexpr (is_signed_integer<T>()) return T(shift_right_signed(wrapping(x), clamped_amount(amount)));
        else return T(shift_right(wrapping(x), clamped_amount(amount)));
    }
};

struct bitwise_right_shift_logical {
    template <class T> static BL_FN T apply(T x, T amount) {
        return T(shift_right(wrapping(bits_of(x)), clamped_amount(amount)));
    }
};

// A narrow integer is repeated until it fills a register: to rotate that rotates each copy. Registers rotate modulo 32,
// which the widths of narrow integers divide.
struct rotate_left {
    template <class T> static BL_FN T apply(T x, T amount) {
        if constexpr (sizeof(T) == 8) {
            const u32 turn = low_half(u64(amount)), low = low_half(u64(x)), high = high_half(u64(x));
            const u32 a = turn & 32 ? low : high, b = turn & 32 ? high : low;
            return T(join(funnel_left(a, b, turn), funnel_left(b, a, turn)));
        } else {
            u32 copies = u32(bits_of(x));
            if constexpr (sizeof(T) == 1) copies = permute<0x0000>(copies, 0);
            if constexpr (sizeof(T) == 2) copies = permute<0x1010>(copies, 0);
            return T(funnel_left(copies, copies, u32(amount)));
        }
    }
};

struct rotate_right {
    template <class T> static BL_FN T apply(T x, T amount) { return rotate_left::apply(x, T(0 - wrapping(amount))); }
};

// ---- Signs -------------------------------------------------------------------------------------------------------

struct copysign {
    template <class T> static BL_FN T apply(T x, T y) {
        if constexpr (is_bool<T>() || is_unsigned_integer<T>()) return x;
        else if constexpr (is_signed_integer<T>()) return sign_of(x) == sign_of(y) ? x : T(0 - wrapping(x));
        else return with_sign(x, sign_of(y));
    }
};

struct signbit {
    template <class T> static BL_FN boolean apply(T x) { return truth(sign_of(x)); }
};

// ---- Arithmetic --------------------------------------------------------------------------------------------------

struct add {
    template <class T> static BL_FN T apply(T x, T y) {
        if constexpr (is_bool<T>()) return boolean{u8(x.bits | y.bits)};
        else if constexpr (is_complex<T>()) return T{x.re + y.re, x.im + y.im};
        else return arithmetic(x, y, [](auto a, auto b) { return a + b; });
    }
};

struct subtract {
    template <class T> static BL_FN T apply(T x, T y) {
        if constexpr (is_complex<T>()) return T{x.re - y.re, x.im - y.im};
        else return arithmetic(x, y, [](auto a, auto b) { return a - b; });
    }
};

struct multiply {
    template <class T> static BL_FN T apply(T x, T y) {
        if constexpr (is_bool<T>()) return boolean{u8(x.bits & y.bits)};
        else if constexpr (is_complex<T>()) return T{x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
        else return arithmetic(x, y, [](auto a, auto b) { return a * b; });
    }
};

struct divide {
    template <class T> static BL_FN T apply(T x, T y) {
        if constexpr (is_complex<T>()) {
            // Smith's algorithm: scales by the larger component of the divisor, to avoid intermediate overflow.
            auto re = y.re < 0 ? -y.re : y.re, im = y.im < 0 ? -y.im : y.im;
            if (re >= im) {
                if (re == 0 && im == 0) {
                    re = from_bits<decltype(re)>(0);  // +0, whatever the zeros' signs
                    return T{x.re / re, x.im / re};
                }
                auto ratio = y.im / y.re, scale = 1 / (y.re + y.im * ratio);
                return T{(x.re + x.im * ratio) * scale, (x.im - x.re * ratio) * scale};
            }
            auto ratio = y.re / y.im, scale = 1 / (y.im + y.re * ratio);
            return T{(x.re * ratio + x.im) * scale, (x.im * ratio - x.re) * scale};
        } else return arithmetic(x, y, [](auto a, auto b) { return a / b; });
    }
};

// ---- Comparison and logic ----------------------------------------------------------------------------------------

struct equal {
    template <class T> static BL_FN boolean apply(T x, T y) { return comparison(x, y, [](auto a, auto b) { return a == b; }); }
};
struct not_equal {
    template <class T> static BL_FN boolean apply(T x, T y) { return comparison(x, y, [](auto a, auto b) { return a != b; }); }
};
struct less_than {
    template <class T> static BL_FN boolean apply(T x, T y) { return comparison(x, y, [](auto a, auto b) { return a < b; }); }
};
struct less_equal {
    template <class T> static BL_FN boolean apply(T x, T y) { return comparison(x, y, [](auto a, auto b) { return a <= b; }); }
};
struct greater_than {
    template <class T> static BL_FN boolean apply(T x, T y) { return comparison(x, y, [](auto a, auto b) { return a > b; }); }
};
struct greater_equal {
    template <class T> static BL_FN boolean apply(T x, T y) { return comparison(x, y, [](auto a, auto b) { return a >= b; }); }
};

struct logical_and {
    template <class T> static BL_FN boolean apply(T x, T y) { return truth(is_nonzero(x) & is_nonzero(y)); }
};
struct logical_or {
    template <class T> static BL_FN boolean apply(T x, T y) { return truth(is_nonzero(x) | is_nonzero(y)); }
};
struct logical_xor {
    template <class T> static BL_FN boolean apply(T x, T y) { return truth(is_nonzero(x) != is_nonzero(y)); }
};

struct bitwise_and {
    template <class T> static BL_FN T apply(T x, T y) { return bitwise(x, y, [](auto a, auto b) { return a & b; }); }
};
struct bitwise_or {
    template <class T> static BL_FN T apply(T x, T y) { return bitwise(x, y, [](auto a, auto b) { return a | b; }); }
};
struct bitwise_xor {
    template <class T> static BL_FN T apply(T x, T y) { return bitwise(x, y, [](auto a, auto b) { return a ^ b; }); }
};

// ---- Larger and smaller ------------------------------------------------------------------------------------------

struct maximum {
    template <class T> static BL_FN T apply(T x, T y) { return extremum<Pick::larger, Nan::wins>(x, y); }
};
struct minimum {
    template <class T> static BL_FN T apply(T x, T y) { return extremum<Pick::smaller, Nan::wins>(x, y); }
};
struct fmax {
    template <class T> static BL_FN T apply(T x, T y) { return extremum<Pick::larger, Nan::loses>(x, y); }
};
struct fmin {
    template <class T> static BL_FN T apply(T x, T y) { return extremum<Pick::smaller, Nan::loses>(x, y); }
};

// ---- One element -------------------------------------------------------------------------------------------------

// For floats these operate on the sign bit, including that of a NaN; integers wrap.
struct abs {
    template <class T> static BL_FN auto apply(T x) {
        if constexpr (is_complex<T>()) return math::hypot(x.re, x.im);
        else return of_real(x);
    }
    template <class T> static BL_FN T of_real(T x) {
        if constexpr (is_signed_integer<T>()) return x < 0 ? T(0 - wrapping(x)) : x;
        else if constexpr (is_unsigned_integer<T>()) return x;
        else return without_sign(x);
    }
};

struct negative {
    template <class T> static BL_FN T apply(T x) {
        if constexpr (is_integer<T>()) return T(0 - wrapping(x));
        else if constexpr (is_complex<T>()) return T{with_other_sign(x.re), with_other_sign(x.im)};
        else return with_other_sign(x);
    }
};

struct bitwise_not {
    template <class T> static BL_FN T apply(T x) {
        if constexpr (is_bool<T>()) return boolean{u8(x.bits ^ 1)};
        else return T(~x);
    }
};

struct logical_not {
    template <class T> static BL_FN boolean apply(T x) { return truth(!is_nonzero(x)); }
};

// Computes f of a float in f32 or f64; f16 and bf16 are rounded once. Other types have no fraction and stay as they are.
template <class T, class F> BL_FN T of_float(T x, F f) {
    if constexpr (is_half<T>()) return round_to<T>(f(widen(x)));
    else if constexpr (is_float<T>()) return f(x);
    else return x;
}

struct floor {
    template <class T> static BL_FN T apply(T x) { return of_float(x, [](auto a) { return round_down(a); }); }
};
struct ceil {
    template <class T> static BL_FN T apply(T x) { return of_float(x, [](auto a) { return round_up(a); }); }
};
struct trunc {
    template <class T> static BL_FN T apply(T x) { return of_float(x, [](auto a) { return round_to_zero(a); }); }
};
struct round {
    template <class T> static BL_FN T apply(T x) { return of_float(x, [](auto a) { return round_to_even(a); }); }
};
struct sqrt {
    template <class T> static BL_FN T apply(T x) { return of_float(x, [](auto a) { return square_root(a); }); }
};

struct sign {
    template <class T> static BL_FN T apply(T x) {
        if constexpr (is_integer<T>()) return T((x > 0) - (x < 0));
        else return of_float(x, [](auto a) { return a > 0 ? 1 : a < 0 ? -1 : a == 0 ? 0 : a; });
    }
};

struct square {
    template <class T> static BL_FN T apply(T x) { return multiply::apply(x, x); }
};

struct reciprocal {
    template <class T> static BL_FN T apply(T x) {
        if constexpr (is_complex<T>()) return divide::apply(T{1, 0}, x);
        else return of_float(x, [](auto a) { return 1 / a; });
    }
};

// The magnitude of a float as bits, compared with that of infinity.
template <class T> BL_FN Bits<T> infinity_bits() {
    if constexpr (same<T, f16>()) return 0x7c00;
    else if constexpr (same<T, bf16>()) return 0x7f80;
    else if constexpr (same<T, f32>()) return 0x7f800000u;
    else return 0x7ff0000000000000ull;
}
template <class T> BL_FN Bits<T> magnitude_bits(T x) { return bits_of(without_sign(x)); }

struct isnan {
    template <class T> static BL_FN boolean apply(T x) {
        if constexpr (is_complex<T>()) return truth(apply(x.re).bits | apply(x.im).bits);
        else if constexpr (is_half<T>() || is_float<T>()) return truth(magnitude_bits(x) > infinity_bits<T>());
        else return truth(false);
    }
};
struct isinf {
    template <class T> static BL_FN boolean apply(T x) {
        if constexpr (is_complex<T>()) return truth(apply(x.re).bits | apply(x.im).bits);
        else if constexpr (is_half<T>() || is_float<T>()) return truth(magnitude_bits(x) == infinity_bits<T>());
        else return truth(false);
    }
};
struct isfinite {
    template <class T> static BL_FN boolean apply(T x) {
        if constexpr (is_complex<T>()) return truth(apply(x.re).bits & apply(x.im).bits);
        else if constexpr (is_half<T>() || is_float<T>()) return truth(magnitude_bits(x) < infinity_bits<T>());
        else return truth(true);
    }
};

// ---- Bits --------------------------------------------------------------------------------------------------------

struct count_ones {
    template <class T> static BL_FN T apply(T x) { return T(ones_in(wrapping(bits_of(x)))); }
};
// The bits of a narrow integer are moved to the top of a register; a one below them counts as the end.
struct leading_zeros {
    template <class T> static BL_FN T apply(T x) {
        if constexpr (sizeof(T) < 4) return T(zeros_above((u32(bits_of(x)) << 1 | 1) << (31 - 8 * sizeof(T))));
        else return T(zeros_above(bits_of(x)));
    }
};
struct trailing_zeros {
    template <class T> static BL_FN T apply(T x) {
        if constexpr (sizeof(T) < 4) return T(zeros_above(reversed(u32(bits_of(x)) | 1u << 8 * sizeof(T))));
        else return T(zeros_above(reversed(bits_of(x))));
    }
};
struct reverse_bits {
    template <class T> static BL_FN T apply(T x) {
        if constexpr (sizeof(T) < 4) return T(reversed(u32(bits_of(x))) >> (32 - 8 * sizeof(T)));
        else return T(reversed(bits_of(x)));
    }
};
struct swap_bytes {
    template <class T> static BL_FN T apply(T x) {
        if constexpr (sizeof(T) == 1) return x;
        else if constexpr (sizeof(T) == 2) return T(permute<0x4401>(u32(bits_of(x)), 0));
        else if constexpr (sizeof(T) == 4) return T(permute<0x0123>(u32(x), 0));
        else return T(join(permute<0x0123>(high_half(u64(x)), 0), permute<0x0123>(low_half(u64(x)), 0)));
    }
};

// ---- Parts of complex numbers ------------------------------------------------------------------------------------

struct real {
    template <class T> static BL_FN auto apply(T x) { return x.re; }
};
struct imag {
    template <class T> static BL_FN auto apply(T x) { return x.im; }
};
struct conj {
    template <class T> static BL_FN T apply(T x) { return T{x.re, with_other_sign(x.im)}; }
};

// ---- Choice and neighbours ---------------------------------------------------------------------------------------

struct select {
    template <class T> static BL_FN T apply(boolean condition, T x, T y) { return condition.bits ? x : y; }
};

struct fma {
    template <class T> static BL_FN T apply(T x, T y, T z) {
        if constexpr (is_half<T>()) return round_to<T>(fused_to_odd(widen(x), widen(y), widen(z)));
        else return fused(x, y, z);
    }
};

// The next value after x towards y. The bits of a float, as an integer, increase with its magnitude.
struct nextafter {
    template <class T> static BL_FN T apply(T x, T y) {
        constexpr Bits<T> sign = Bits<T>(Bits<T>(1) << (8 * sizeof(T) - 1));
        const auto a = as_float(x), b = as_float(y);
        const Bits<T> neighbour = Bits<T>(bits_of(x) + ((a < b) == (a > 0) ? Bits<T>(1) : Bits<T>(~Bits<T>(0))));
        const Bits<T> smallest = Bits<T>((bits_of(y) & sign) | 1);
        const T moved = from_bits<T>(a == 0 ? smallest : neighbour), stays = a != a ? x : y;
        return a != a || b != b || a == b ? stays : moved;
    }
};

}  // namespace op
}  // namespace bl
