// Numbers as the sum of two f32, the second a fraction of a unit in the last place of the first: about 47 bits without an
// f64 instruction.

namespace bl {
namespace math {

struct Pair { f32 hi, lo; };

namespace angles {

BL_FN f32 fused(f32 x, f32 y, f32 z) {
#if BL_DEVICE
    f32 r;
    BL_PTX("fma.rn.f32 %0, %1, %2, %3;" : "=f"(r) : "f"(x), "f"(y), "f"(z));
    return r;
#else
    return __builtin_fmaf(x, y, z);
#endif
}

// x with its sign flipped if the sign bit of `sign` is set.
BL_FN u32 flip(u32 x, u32 sign) { return x ^ (sign & 0x80000000u); }
BL_FN Pair flip(Pair x, u32 sign) {
    return Pair{from_bits<f32>(flip(bits_of(x.hi), sign)), from_bits<f32>(flip(bits_of(x.lo), sign))};
}
BL_FN Pair negated(Pair x) { return Pair{-x.hi, -x.lo}; }

// The sum, for |x| >= |y| or x = 0.
BL_FN Pair plus(Pair x, Pair y) {
    const f32 sum = x.hi + y.hi;
    return Pair{sum, ((x.hi - sum) + y.hi) + (x.lo + y.lo)};
}
BL_FN Pair times(Pair x, Pair y) {
    const f32 product = x.hi * y.hi;
    return Pair{product, fused(x.lo, y.hi, fused(x.hi, y.lo, fused(x.hi, y.hi, -product)))};
}
BL_FN Pair times(Pair x, f32 y) {
    const f32 product = x.hi * y;
    return Pair{product, fused(x.lo, y, fused(x.hi, y, -product))};
}
BL_FN Pair over(Pair x, Pair y) {
    const f32 quotient = x.hi / y.hi;
    return Pair{quotient, (fused(-quotient, y.hi, x.hi) + fused(-quotient, y.lo, x.lo)) / y.hi};
}
// The same number, with the nearest f32 first.
BL_FN Pair rounded(Pair x) {
    const f32 sum = x.hi + x.lo;
    return Pair{sum, (x.hi - sum) + x.lo};
}
// For rounding to f16 or bf16: truncated, and with the last bit set if anything was cut off.
BL_FN f32 to_odd(Pair pair) {
    const Pair result = rounded(pair);
    if (result.lo == 0.0f) return result.hi;
    const u32 opposite = (bits_of(result.hi) ^ bits_of(result.lo)) >> 31;
    return from_bits<f32>((bits_of(result.hi) - opposite) | 1);
}

}  // namespace angles
}  // namespace math
}  // namespace bl
