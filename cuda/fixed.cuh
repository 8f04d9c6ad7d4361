// Numbers of 64 bits made of integers, in which the functions of one f16, bf16 or f32 are computed (narrow.cuh): no
// instruction of them is of f64, which most cards compute at 1/32 or 1/64 of the rate of integers.
//
// An integer in "units of 2^-k" stands for its product with 2^-k. Products are truncated, so each has an error of one
// unit at most; the comments of the functions say what is left of 64 bits.

namespace bl {
namespace fixed {

// The upper 64 bits of a product.
#if BL_DEVICE
BL_FN u64 high(u64 x, u64 y) { u64 r; BL_PTX("mul.hi.u64 %0, %1, %2;" : "=l"(r) : "l"(x), "l"(y)); return r; }
BL_FN i64 high(i64 x, i64 y) { i64 r; BL_PTX("mul.hi.s64 %0, %1, %2;" : "=l"(r) : "l"(x), "l"(y)); return r; }
#else
BL_FN u64 high(u64 x, u64 y) { return u64(static_cast<unsigned __int128>(x) * y >> 64); }
BL_FN i64 high(i64 x, i64 y) { return i64(static_cast<__int128>(x) * y >> 64); }
#endif
BL_FN i32 high(i32 x, i32 y) { return i32(i64(x) * y >> 32); }

// x as T, to nearest.
template <class T> BL_FN T round_narrow(f32 x) {
    if constexpr (same<T, f32>()) return x;
    else return round_to<T>(x);
}

// x shifted to the right by any amount.
BL_FN u64 down(u64 x, i32 amount) { return amount < 64 ? x >> amount : 0; }

// A positive number, significand * 2^(exponent - 63), whose highest bit is set. If it is not exact, its lowest bit must
// be 1, as in rounding to odd, so that it is never halfway between two numbers of a narrow format.
struct Number {
    u64 significand;
    i32 exponent;
};

// x * 2^(exponent - 63) for an x that is not 0.
BL_FN Number normal(u64 x, i32 exponent) {
    const i32 zeros = i32(zeros_above(x));
    return Number{x << zeros, exponent - zeros};
}

BL_FN Number inexact(Number x) { return Number{x.significand | 1, x.exponent}; }

// The number of a finite f32 above 0. It is exact.
BL_FN Number number(f32 x) {
    const u32 bits = bits_of(x);
    if (bits < 0x800000) return normal(bits, 63 - 149);
    return Number{u64(bits & 0x7fffff) << 40 | 1ull << 63, i32(bits >> 23) - 127};
}

// The sum of two numbers, of which the first has the larger exponent.
BL_FN Number sum(Number x, Number y) {
    return normal((x.significand >> 1) + down(y.significand, x.exponent - y.exponent + 1), x.exponent + 1);
}

// Rounds to T, once. The sign is the highest bit of `sign`.
template <class T> BL_FN T rounded(Number x, u32 sign) {
    // To odd in 32 bits: enough for the 24 of an f32, or fewer, and a bit below.
    u32 kept = u32(x.significand >> 32) | (u32(x.significand) != 0), exponent = u32(x.exponent + 126);
    if (x.exponent < -126) {
        const u32 below = u32(-126 - x.exponent), shift = below < 31 ? below : 31;
        kept = kept >> shift | (kept << (32 - shift) != 0);
        exponent = 0;
    }
    exponent = exponent < 255 ? exponent : 255;
    u32 bits = (exponent << 23) + (kept >> 8);
    if constexpr (same<T, f32>()) bits += (kept & 255) + (kept >> 8 & 1) > 128;
    else bits |= (kept & 255) != 0;
    bits = bits < 0x7f800000u ? bits : 0x7f800000u;
    return round_narrow<T>(from_bits<f32>(bits | (sign & 0x80000000u)));
}

// ---- Reciprocals and roots, by Newton's method -------------------------------------------------------------------

// y + y * e / 2, for y in units of 2^-63 and |e| < 2^-20 in units of 2^-61.
BL_FN u64 corrected(u64 y, i64 e) { return y + u64(high(i64(y >> 1), e << 20) >> 17); }

// 1 / x for x in [1, 2) in units of 2^-63, the result in (0.5, 1] in the same units. Its error is below 2^-60.
BL_FN u64 reciprocal(u64 x) {
    u64 y = u64(9223372036854775808.0f / (f32(u32(x >> 40)) * (1.0f / 8388608.0f)));
    for (int i = 0; i < 2; ++i) y = corrected(y, i64((1ull << 62) - high(x, y)));
    return y;
}

// The square root of x in [1, 4) in units of 2^-62, the result in [1, 2) in units of 2^-63. Its error is below 2^-59.
BL_FN u64 root(u64 x) {
    u64 y = u64(9223372036854775808.0f / square_root(f32(u32(x >> 40)) * (1.0f / 4194304.0f)));
    for (int i = 0; i < 2; ++i) y = corrected(y, i64((1ull << 61) - high(x, high(y, y) << 1)));
    return high(x, y) << 2;
}

}  // namespace fixed
}  // namespace bl
