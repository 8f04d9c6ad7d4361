// Conversion between any two dtypes, as `cast` defines it: integers wrap; float to integer truncates and saturates, NaN
// becomes 0; anything to bool is "not zero"; complex to real drops the imaginary part; and whatever must be rounded is
// rounded once, to nearest even. The sign of a NaN survives; its payload is free.

namespace bl {

// ---- f16 and bf16 to and from f32 --------------------------------------------------------------------------------

BL_FN f32 widen(f16 x) {
#if BL_DEVICE
    f32 r;
    BL_PTX("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x.bits));
    return r;
#else
    u32 sign = u32(x.bits & 0x8000) << 16, exponent = x.bits >> 10 & 31, fraction = x.bits & 0x3ff;
    if (exponent == 31) return from_bits<f32>(sign | 0x7f800000u | fraction << 13);
    if (exponent != 0) return from_bits<f32>(sign | (exponent + 112) << 23 | fraction << 13);
    f32 tiny = f32(fraction) * (1.0f / 16777216.0f);  // fraction * 2^-24, exact
    return sign ? -tiny : tiny;
#endif
}
BL_FN f32 widen(bf16 x) { return from_bits<f32>(u32(x.bits) << 16); }

template <class H> BL_FN H round_to(f32 x);
template <> BL_FN f16 round_to<f16>(f32 x) {
#if BL_DEVICE
    f16 r;
    BL_PTX("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(x));
    return r;
#else
    u32 bits = bits_of(x), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return f16{0x7fff};  // the sign of a NaN is lost, as on the device
    if (magnitude >= 0x477ff000u) return f16{u16(sign | 0x7c00)};
    if (magnitude < 0x38800000u) {  // below 2^-14: the result is subnormal, a multiple of 2^-24
        f32 scaled = from_bits<f32>(magnitude) * 16777216.0f;
        u32 whole = u32(scaled);
        f32 rest = scaled - f32(whole);
        if (rest > 0.5f || (rest == 0.5f && (whole & 1))) ++whole;
        return f16{u16(sign | whole)};
    }
    return f16{u16(sign | ((magnitude - 0x38000000u + 0xfff + (magnitude >> 13 & 1)) >> 13))};
#endif
}
template <> BL_FN bf16 round_to<bf16>(f32 x) {
#if BL_DEVICE && __CUDA_ARCH__ >= 800
    bf16 r;
    BL_PTX("cvt.rn.bf16.f32 %0, %1;" : "=h"(r.bits) : "f"(x));
    return r;
#else
    u32 bits = bits_of(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return bf16{0x7fff};
    return bf16{u16((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
#endif
}

// ---- Floats of 8 bits to and from f32 ----------------------------------------------------------------------------

// The bits, moved into place, are an f32 that lacks a power of two. The product is exact, that of a subnormal number too.
BL_FN f32 widen(f8e4m3fn x) {
    const u32 sign = u32(x.bits & 0x80) << 24, magnitude = x.bits & 0x7f;
    const f32 moved = from_bits<f32>(magnitude << 20) * from_bits<f32>((127 + 120) << 23);
    return from_bits<f32>(sign | (magnitude == 0x7f ? 0x7fc00000u : bits_of(moved)));
}
// The upper half of an f16, whose conversion loses the sign of a NaN.
BL_FN f32 widen(f8e5m2 x) { return from_bits<f32>(bits_of(widen(f16{u16(x.bits << 8)})) | u32(x.bits & 0x80) << 24); }

// Rounds the magnitude of a finite f32 to a float with so many bits of mantissa: as an integer that counts such floats,
// whose exponents have this bias. One that is too large gives a number above all finite ones.
template <int MANTISSA, int BIAS> BL_FN u32 count_of(u32 magnitude) {
    constexpr int drop = 23 - MANTISSA;
    // The sum with a number whose last bit is that of a subnormal result is rounded there.
    constexpr u32 unit = u32(127 + 23 + 1 - BIAS - MANTISSA) << 23;
    if (magnitude < u32(128 - BIAS) << 23) return bits_of(from_bits<f32>(magnitude) + from_bits<f32>(unit)) - unit;
    const u32 odd = magnitude >> drop & 1;
    return (magnitude - (u32(127 - BIAS) << 23) + ((1u << (drop - 1)) - 1) + odd) >> drop;
}
template <> BL_FN f8e4m3fn round_to<f8e4m3fn>(f32 x) {
    const u32 bits = bits_of(x), magnitude = bits & 0x7fffffffu;
    const u32 count = magnitude > 0x43e80000u ? 0x7f : count_of<3, 7>(magnitude);  // above 464 there is only the NaN
    return f8e4m3fn{u8((bits >> 24 & 0x80) | count)};
}
template <> BL_FN f8e5m2 round_to<f8e5m2>(f32 x) {
    const u32 bits = bits_of(x), magnitude = bits & 0x7fffffffu;
    const u32 finite = magnitude >= 0x47700000u ? 0x7c : count_of<2, 15>(magnitude);  // from 61440 on it is infinite
    return f8e5m2{u8((bits >> 24 & 0x80) | (magnitude > 0x7f800000u ? 0x7e : finite))};
}

// ---- Rounding to odd, for a single rounding to fewer bits -------------------------------------------------------

// x as f32, truncated, with the last bit set if that is inexact. Rounding the result to nearest in a format at least
// two bits shorter gives the same as rounding x directly: the set bit stands for everything that was truncated.
template <class S> BL_FN f32 round_to_odd(S x) {
#if BL_DEVICE
    f32 cut;
    if constexpr (same<S, f64>()) BL_PTX("cvt.rz.f32.f64 %0, %1;" : "=f"(cut) : "d"(x));
    else if constexpr (same<S, i64>()) BL_PTX("cvt.rz.f32.s64 %0, %1;" : "=f"(cut) : "l"(x));
    else if constexpr (same<S, u64>()) BL_PTX("cvt.rz.f32.u64 %0, %1;" : "=f"(cut) : "l"(x));
    else if constexpr (same<S, i32>()) BL_PTX("cvt.rz.f32.s32 %0, %1;" : "=f"(cut) : "r"(x));
    else BL_PTX("cvt.rz.f32.u32 %0, %1;" : "=f"(cut) : "r"(x));
#else
    // Round to nearest, then step towards zero if that rounded away from it; the long double holds every S exactly.
    f32 cut = f32(x);
    long double exact = x, nearest = cut;
    if ((exact < 0 ? nearest < exact : nearest > exact)) cut = from_bits<f32>(bits_of(cut) - 1);
#endif
    return S(cut) == x ? cut : from_bits<f32>(bits_of(cut) | 1);
}

// ---- One conversion per pair of kinds ----------------------------------------------------------------------------

template <class T> constexpr bool is_real_float() { return is_float<T>() || is_half<T>() || is_float8<T>(); }
template <class T> constexpr T lowest() { return is_signed_integer<T>() ? T(u64(1) << (8 * sizeof(T) - 1)) : T(0); }
template <class T> constexpr T highest() { return T(~lowest<T>()); }

// Whether x is negative; for floats, whether the sign bit is set, which includes -0 and NaNs.
template <class T> BL_FN bool sign_of(T x) {
    if constexpr (is_signed_integer<T>()) return x < 0;
    else if constexpr (is_unsigned_integer<T>() || is_bool<T>()) return false;
    else return bits_of(x) >> (8 * sizeof(T) - 1) != 0;
}
// The bits as the device computed them. The compiler assumes that converting a NaN whose sign bit is clear gives
// another one, and would remove the mask below, but the NaN that the device produces in 64 bits has its sign bit set.
template <class T> BL_FN Bits<T> device_bits_of(T x) {
#if BL_DEVICE
    Bits<T> r;
    if constexpr (same<T, f64>()) BL_PTX("mov.b64 %0, %1;" : "=l"(r) : "d"(x));
    else if constexpr (same<T, f32>()) BL_PTX("mov.b32 %0, %1;" : "=r"(r) : "f"(x));
    else r = bits_of(x);
    return r;
#else
    return bits_of(x);
#endif
}
template <class T> BL_FN T with_sign(T x, bool negative) {
    constexpr int top = 8 * sizeof(T) - 1;
    return from_bits<T>(Bits<T>((device_bits_of(x) & ~(Bits<T>(1) << top)) | Bits<T>(Bits<T>(negative) << top)));
}

// y with the sign of x, from which it was converted, in a shift and one lop3. Unless y is a NaN, it has that sign
// already; in 32 bits and fewer, the sign bit of the NaN that the device produces is clear.
template <class D, class S> BL_FN D take_sign(D y, S x) {
    constexpr int wider = 8 * (int(sizeof(D)) - int(sizeof(S))), top = 8 * sizeof(D) - 1;
    Bits<D> sign;
    if constexpr (wider >= 0) sign = Bits<D>(Bits<D>(bits_of(x)) << wider);
    else sign = Bits<D>(bits_of(x) >> -wider);
    constexpr Bits<D> mask = Bits<D>(Bits<D>(1) << top);
    if constexpr (sizeof(D) <= 4) return from_bits<D>(Bits<D>(device_bits_of(y) | (sign & mask)));
    else return from_bits<D>(Bits<D>((device_bits_of(y) & Bits<D>(~mask)) | (sign & mask)));
}

// The comparisons replace the saturation of the conversion instruction, which is not the same for all widths.
template <class I, class F> BL_FN I float_to_integer(F x) {
    constexpr F limit = F(highest<I>() / 2 + 1) * 2;  // highest + 1, a power of two: exact
    if (x >= limit) return highest<I>();
    if (x < F(lowest<I>())) return lowest<I>();
    return x == x ? I(x) : I(0);
}

// An integer to f16, rounded once.
template <class S> BL_FN f16 integer_to_f16(S x) {
#if BL_DEVICE
    f16 r;
    if constexpr (same<S, i64>()) BL_PTX("cvt.rn.f16.s64 %0, %1;" : "=h"(r.bits) : "l"(x));
    else if constexpr (same<S, u64>()) BL_PTX("cvt.rn.f16.u64 %0, %1;" : "=h"(r.bits) : "l"(x));
    else if constexpr (is_signed_integer<S>()) BL_PTX("cvt.rn.f16.s32 %0, %1;" : "=h"(r.bits) : "r"(i32(x)));
    else BL_PTX("cvt.rn.f16.u32 %0, %1;" : "=h"(r.bits) : "r"(u32(x)));
    return r;
#else
    if constexpr (sizeof(S) <= 2) return round_to<f16>(f32(x));  // exact in f32
    else return round_to<f16>(round_to_odd(x));
#endif
}

// A float or an integer to a float.
template <class D, class S> BL_FN D to_float(S x) {
    if constexpr (same<D, S>()) return x;
    else if constexpr (is_float8<S>()) return to_float<D>(widen(x));
    else if constexpr (is_float8<D>() && is_half<S>()) return take_sign(round_to<D>(widen(x)), x);
    else if constexpr (is_float8<D>() && same<S, f64>()) return take_sign(round_to<D>(round_to_odd(x)), x);
    else if constexpr (is_float8<D>()) return round_to<D>(f32(x));  // an integer that f32 rounds is too large
    else if constexpr (same<S, bf16>() && same<D, f32>()) return widen(x);  // moves the bits, including those of a NaN
    else if constexpr (is_half<S>() && is_half<D>()) return take_sign(round_to<D>(widen(x)), x);
    else if constexpr (is_half<S>()) return take_sign(D(widen(x)), x);
    else if constexpr (is_half<D>() && same<S, f32>()) return take_sign(round_to<D>(x), x);
    else if constexpr (is_half<D>() && same<S, f64>()) return take_sign(round_to<D>(round_to_odd(x)), x);
    else if constexpr (same<D, f16>()) return integer_to_f16(x);
    else if constexpr (is_half<D>() && (sizeof(S) <= 2)) return round_to<D>(f32(x));  // exact in f32
    else if constexpr (is_half<D>()) return round_to<D>(round_to_odd(x));
    else if constexpr (is_float<S>()) return take_sign(D(x), x);
    else return D(x);
}

// Rounds two f32 to a word of two f16 or bf16, with the results of round_to, or of to_float (which keeps signs) if
// SIGNED.
template <class H, bool SIGNED> BL_FN u32 round_pair(f32 low, f32 high) {
#if BL_DEVICE && __CUDA_ARCH__ >= 800
    u32 pair;
    if constexpr (same<H, f16>()) BL_PTX("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    else BL_PTX("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
#else
    const u32 pair = u32(round_to<H>(low).bits) | u32(round_to<H>(high).bits) << 16;
#endif
    if constexpr (SIGNED) return blend<0x80008000u>(pair, permute<0x7632>(bits_of(low), bits_of(high)));
    else return pair;
}

template <class S> BL_FN bool is_nonzero(S x) {
    if constexpr (is_complex<S>()) return x.re != 0 || x.im != 0;
    else if constexpr (is_half<S>()) return u16(x.bits << 1) != 0;
    else if constexpr (is_float8<S>()) return u8(x.bits << 1) != 0;
    else if constexpr (is_bool<S>()) return x.bits != 0;
    else return x != S(0);
}

template <class D, class S> BL_FN D convert(S x) {
    if constexpr (same<D, S>()) return x;
    else if constexpr (is_bool<D>()) return truth(is_nonzero(x));
    else if constexpr (is_bool<S>()) return convert<D>(x.bits);
    else if constexpr (is_complex<S>() && is_complex<D>()) return D{to_float<decltype(D::re)>(x.re), to_float<decltype(D::re)>(x.im)};
    else if constexpr (is_complex<S>()) return convert<D>(x.re);
    else if constexpr (is_complex<D>()) return D{to_float<decltype(D::re)>(x), 0};
    else if constexpr (is_real_float<D>()) return to_float<D>(x);
    else if constexpr (is_half<S>() || is_float8<S>()) return float_to_integer<D>(widen(x));
    else if constexpr (is_float<S>()) return float_to_integer<D>(x);
    else return D(x);
}

}  // namespace bl
