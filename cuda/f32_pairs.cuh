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

}  // namespace angles
}  // namespace math
}  // namespace bl
