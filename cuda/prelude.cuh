// The base of all kernels: number types, the few PTX instructions that C++ cannot express, and memory access.
//
// NVRTC ships no headers, so nothing is included. The same text compiles for the host (host.cpp), where every PTX
// instruction is replaced by an exact model and addresses are host addresses.

#ifdef __CUDACC_RTC__
#define BL_DEVICE 1
#define BL_FN __device__ __forceinline__
#define BL_SLOW __device__ __noinline__
#else
#define BL_DEVICE 0
#define BL_FN inline
#define BL_SLOW inline
#endif

namespace bl {

typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;

// Types that C++ lacks, or whose built-in arithmetic must not be used by accident, are structs of bits.
struct boolean { u8 bits; };
struct f8e4m3fn { u8 bits; };
struct f8e5m2 { u8 bits; };
struct f16 { u16 bits; };
struct bf16 { u16 bits; };
struct alignas(8) c64 { f32 re, im; };
struct alignas(16) c128 { f64 re, im; };

// Types by the dtype names of the host: dtype_bool, dtype_u8, ...
typedef boolean dtype_bool;
typedef u8 dtype_u8;
typedef u16 dtype_u16;
typedef u32 dtype_u32;
typedef u64 dtype_u64;
typedef i8 dtype_i8;
typedef i16 dtype_i16;
typedef i32 dtype_i32;
typedef i64 dtype_i64;
typedef f8e4m3fn dtype_f8e4m3fn;
typedef f8e5m2 dtype_f8e5m2;
typedef f16 dtype_f16;
typedef bf16 dtype_bf16;
typedef f32 dtype_f32;
typedef f64 dtype_f64;
typedef c64 dtype_c64;
typedef c128 dtype_c128;

// Traits are functions: a constexpr variable would become a .global in every module.
template <class A, class B> struct Same { enum { value = false }; };
template <class A> struct Same<A, A> { enum { value = true }; };
template <class A, class B> constexpr bool same() { return Same<A, B>::value; }
template <class T> constexpr bool is_bool() { return same<T, boolean>(); }
template <class T> constexpr bool is_float8() { return same<T, f8e4m3fn>() || same<T, f8e5m2>(); }
template <class T> constexpr bool is_half() { return same<T, f16>() || same<T, bf16>(); }
template <class T> constexpr bool is_complex() { return same<T, c64>() || same<T, c128>(); }
template <class T> constexpr bool is_float() { return same<T, f32>() || same<T, f64>(); }
template <class T> constexpr bool is_signed_integer() { return same<T, i8>() || same<T, i16>() || same<T, i32>() || same<T, i64>(); }
template <class T> constexpr bool is_unsigned_integer() { return same<T, u8>() || same<T, u16>() || same<T, u32>() || same<T, u64>(); }
template <class T> constexpr bool is_integer() { return is_signed_integer<T>() || is_unsigned_integer<T>(); }

// The unsigned integer of a given size: the type of an element's bits.
template <int BYTES> struct UnsignedOf;
template <> struct UnsignedOf<1> { typedef u8 type; };
template <> struct UnsignedOf<2> { typedef u16 type; };
template <> struct UnsignedOf<4> { typedef u32 type; };
template <> struct UnsignedOf<8> { typedef u64 type; };
template <class T> using Bits = typename UnsignedOf<sizeof(T)>::type;

template <class T> BL_FN Bits<T> bits_of(T x) { return __builtin_bit_cast(Bits<T>, x); }
template <class T> BL_FN T from_bits(Bits<T> x) { return __builtin_bit_cast(T, x); }

BL_FN boolean truth(bool x) { return boolean{u8(x)}; }

BL_FN u64 join(u32 low, u32 high) { return u64(high) << 32 | low; }
BL_FN u32 low_half(u64 x) { return u32(x); }

// ---- PTX instructions and their host models ----------------------------------------------------------------------

#if BL_DEVICE
#define BL_PTX(...) asm(__VA_ARGS__)
#endif

// Shifts that clamp: an amount of 32 (64) or more shifts every bit out. A negative amount, read as unsigned, is such an
// amount, so one instruction implements the complete semantics of a tensor shift.
BL_FN u32 shift_left(u32 x, u32 amount) {
#if BL_DEVICE
    u32 r;
    BL_PTX("shl.b32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(amount));
    return r;
#else
    return amount > 31 ? 0 : x << amount;
#endif
}
BL_FN u32 shift_right(u32 x, u32 amount) {
#if BL_DEVICE
    u32 r;
    BL_PTX("shr.u32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(amount));
    return r;
#else
    return amount > 31 ? 0 : x >> amount;
#endif
}
BL_FN u32 shift_right_signed(u32 x, u32 amount) {
#if BL_DEVICE
    u32 r;
    BL_PTX("shr.s32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(amount));
    return r;
#else
    return u32(i32(x) >> (amount > 31 ? 31 : amount));
#endif
}
BL_FN u64 shift_left(u64 x, u32 amount) {
#if BL_DEVICE
    u64 r;
    BL_PTX("shl.b64 %0, %1, %2;" : "=l"(r) : "l"(x), "r"(amount));
    return r;
#else
    return amount > 63 ? 0 : x << amount;
#endif
}
BL_FN u64 shift_right(u64 x, u32 amount) {
#if BL_DEVICE
    u64 r;
    BL_PTX("shr.u64 %0, %1, %2;" : "=l"(r) : "l"(x), "r"(amount));
    return r;
#else
    return amount > 63 ? 0 : x >> amount;
#endif
}
BL_FN u64 shift_right_signed(u64 x, u32 amount) {
#if BL_DEVICE
    u64 r;
    BL_PTX("shr.s64 %0, %1, %2;" : "=l"(r) : "l"(x), "r"(amount));
    return r;
#else
    return u64(i64(x) >> (amount > 63 ? 63 : amount));
#endif
}

// The upper half of (high, low) after a shift to the left by the amount modulo 32.
BL_FN u32 funnel_left(u32 low, u32 high, u32 amount) {
#if BL_DEVICE
    u32 r;
    BL_PTX("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(low), "r"(high), "r"(amount));
    return r;
#else
    return u32(join(low, high) << (amount & 31) >> 32);
#endif
}

// Byte permute: each nibble of SELECT picks one of the eight bytes of (high, low); its top bit replicates the byte's
// sign.
template <u32 SELECT> BL_FN u32 permute(u32 low, u32 high) {
#if BL_DEVICE
    u32 r;
    BL_PTX("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(low), "r"(high), "n"(SELECT));
    return r;
#else
    u32 r = 0;
    for (int i = 0; i < 4; ++i) {
        u32 nibble = SELECT >> (4 * i) & 15;
        u32 byte = u32(join(low, high) >> (8 * (nibble & 7))) & 255;
        if (nibble & 8) byte = byte & 128 ? 255 : 0;
        r |= byte << (8 * i);
    }
    return r;
#endif
}

// Bits of y where the mask is set, of x elsewhere: one lop3.
template <u32 MASK> BL_FN u32 blend(u32 x, u32 y) {
#if BL_DEVICE
    u32 r;
    BL_PTX("lop3.b32 %0, %1, %2, %3, 0xd8;" : "=r"(r) : "r"(x), "r"(y), "n"(MASK));
    return r;
#else
    return (x & ~MASK) | (y & MASK);
#endif
}

BL_FN u32 multiply_high(u32 x, u32 y) {
#if BL_DEVICE
    u32 r;
    BL_PTX("mul.hi.u32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));
    return r;
#else
    return u32(u64(x) * y >> 32);
#endif
}

// As instructions on 32-bit registers: the compiler would narrow these to 16 bits, and for sm_100 ptxas would pair
// sixteen of them through local memory.
BL_FN i32 larger(i32 x, i32 y) {
#if BL_DEVICE
    i32 r;
    BL_PTX("max.s32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));
    return r;
#else
    return x > y ? x : y;
#endif
}
BL_FN i32 smaller(i32 x, i32 y) {
#if BL_DEVICE
    i32 r;
    BL_PTX("min.s32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));
    return r;
#else
    return x < y ? x : y;
#endif
}

// base + index * SCALE: the widening multiplication and the addition compile to one instruction.
template <u32 SCALE> BL_FN u64 advance(u64 base, u32 index) { return base + u64(index) * SCALE; }
template <u32 SCALE> BL_FN u64 advance(u64 base, i32 index) { return base + u64(i64(index) * i64(SCALE)); }
template <u32 SCALE> BL_FN u64 advance(u64 base, u64 index) { return base + index * SCALE; }
BL_FN u64 advance(u64 base, u32 index, u32 scale) { return base + u64(index) * scale; }

// The upper half in a register of its own: otherwise the compiler turns a test of it into a 64-bit comparison.
BL_FN u32 high_half(u64 x) {
#if BL_DEVICE
    u32 high;
    BL_PTX("{ .reg .u32 low; mov.b64 {low, %0}, %1; }" : "=r"(high) : "l"(x));
    return high;
#else
    return u32(x >> 32);
#endif
}

// Rounding to an integer, and the square root: single instructions of f32 and f64.
#if BL_DEVICE
#define BL_FLOAT_INSTRUCTION(name, instruction32, instruction64, host) \
    BL_FN f32 name(f32 x) { f32 r; BL_PTX(instruction32 " %0, %1;" : "=f"(r) : "f"(x)); return r; } \
    BL_FN f64 name(f64 x) { f64 r; BL_PTX(instruction64 " %0, %1;" : "=d"(r) : "d"(x)); return r; }
#else
#define BL_FLOAT_INSTRUCTION(name, instruction32, instruction64, host) \
    BL_FN f32 name(f32 x) { return __builtin_##host##f(x); } \
    BL_FN f64 name(f64 x) { return __builtin_##host(x); }
#endif
BL_FLOAT_INSTRUCTION(round_down, "cvt.rmi.f32.f32", "cvt.rmi.f64.f64", floor)
BL_FLOAT_INSTRUCTION(round_up, "cvt.rpi.f32.f32", "cvt.rpi.f64.f64", ceil)
BL_FLOAT_INSTRUCTION(round_to_zero, "cvt.rzi.f32.f32", "cvt.rzi.f64.f64", trunc)
BL_FLOAT_INSTRUCTION(round_to_even, "cvt.rni.f32.f32", "cvt.rni.f64.f64", rint)
BL_FLOAT_INSTRUCTION(square_root, "sqrt.rn.f32", "sqrt.rn.f64", sqrt)

// x * y + z, rounded once; to_odd rounds to the odd one of the two nearest numbers, so that rounding the result again to
// a narrower type is rounding once.
#if BL_DEVICE
#define BL_FUSED(name, instruction, type, letter) \
    BL_FN type name(type x, type y, type z) { type r; BL_PTX(instruction " %0, %1, %2, %3;" : "=" letter(r) : letter(x), letter(y), letter(z)); return r; }
BL_FUSED(fused, "fma.rn.f32", f32, "f")
BL_FUSED(fused, "fma.rn.f64", f64, "d")
BL_FUSED(fused_down, "fma.rm.f32", f32, "f")
BL_FUSED(fused_up, "fma.rp.f32", f32, "f")
BL_FUSED(fused_to_zero, "fma.rz.f32", f32, "f")
BL_FN f32 fused_to_odd(f32 x, f32 y, f32 z) {
    const f32 low = fused_down(x, y, z), high = fused_up(x, y, z);
    // Equal numbers are exact, even if they are zeros of different signs; a NaN stays one.
    return low < high ? from_bits<f32>(bits_of(fused_to_zero(x, y, z)) | 1) : fused(x, y, z);
}
#else
BL_FN f32 fused(f32 x, f32 y, f32 z) { return __builtin_fmaf(x, y, z); }
BL_FN f64 fused(f64 x, f64 y, f64 z) { return __builtin_fma(x, y, z); }
BL_FN f32 fused_to_odd(f32 x, f32 y, f32 z) {
    // The product is exact. What the sum loses decides to which side an even result moves.
    const f64 product = f64(x) * f64(y), sum = product + f64(z), other = sum - product;
    const f64 error = (product - (sum - other)) + (f64(z) - other);
    const f32 nearest = f32(sum);
    const f64 above = f64(nearest) - sum;
    const bool is_exact = !(above < 0 || above > 0) && !(error < 0 || error > 0);
    const u32 bits = bits_of(nearest);
    if (nearest != nearest || sum - sum != 0 || is_exact || bits & 1) return nearest;
    // Whether the exact sum is further from zero than the nearest f32.
    const bool is_larger = above != 0 ? (above < 0) == (sum > 0) : (error > 0) == (sum > 0);
    return from_bits<f32>(is_larger ? bits + 1 : bits - 1);
}
#endif

// Counting and reversing bits. The zeros above the highest one of 0 are the width.
#if BL_DEVICE
#define BL_BIT_INSTRUCTION(name, instruction) \
    BL_FN u32 name(u32 x) { u32 r; BL_PTX(instruction ".b32 %0, %1;" : "=r"(r) : "r"(x)); return r; } \
    BL_FN u32 name(u64 x) { u32 r; BL_PTX(instruction ".b64 %0, %1;" : "=r"(r) : "l"(x)); return r; }
BL_BIT_INSTRUCTION(ones_in, "popc")
BL_BIT_INSTRUCTION(zeros_above, "clz")
BL_FN u32 reversed(u32 x) { u32 r; BL_PTX("brev.b32 %0, %1;" : "=r"(r) : "r"(x)); return r; }
BL_FN u64 reversed(u64 x) { u64 r; BL_PTX("brev.b64 %0, %1;" : "=l"(r) : "l"(x)); return r; }
#else
template <class T> BL_FN u32 ones_in(T x) {
    u32 count = 0;
    for (; x; x &= x - 1) ++count;
    return count;
}
template <class T> BL_FN u32 zeros_above(T x) {
    const u32 width = 8 * sizeof(T);
    return x ? u32(__builtin_clzll(x)) - (64 - width) : width;
}
template <class T> BL_FN T reversed(T x) {
    T r = 0;
    for (u32 i = 0; i < 8 * sizeof(T); ++i) r = T(r << 1 | (x >> i & 1));
    return r;
}
#endif

// ---- Sixteen bytes in registers, and memory ----------------------------------------------------------------------

// BYTES bytes of consecutive elements as 32-bit words; fewer than four bytes occupy the low end of one word.
template <int BYTES> struct Bundle { u32 word[(BYTES + 3) / 4]; };
typedef Bundle<16> Vector;

// Plain loads everywhere, never ld.global.nc: the destination may also be an operand. `volatile` keeps the loads and
// stores of a thread in program order.
#if BL_DEVICE
BL_FN Vector load_vector(u64 address) {
    Vector v;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.word[0]), "=r"(v.word[1]), "=r"(v.word[2]), "=r"(v.word[3]) : "l"(address));
    return v;
}

template <int BYTES> BL_FN Bundle<BYTES> load_bundle(u64 address) {
    Bundle<BYTES> v;
    if constexpr (BYTES == 16) v = load_vector(address);
    else if constexpr (BYTES == 8) asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(v.word[0]), "=r"(v.word[1]) : "l"(address));
    else if constexpr (BYTES == 4) asm volatile("ld.global.u32 %0, [%1];" : "=r"(v.word[0]) : "l"(address));
    else if constexpr (BYTES == 2) asm volatile("ld.global.u16 %0, [%1];" : "=r"(v.word[0]) : "l"(address));
    else asm volatile("ld.global.u8 %0, [%1];" : "=r"(v.word[0]) : "l"(address));
    return v;
}

BL_FN void store_bundle(u64 address, const Bundle<16>& v) {
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(v.word[0]), "r"(v.word[1]),
                 "r"(v.word[2]), "r"(v.word[3]) : "memory");
}
BL_FN void store_bundle(u64 address, const Bundle<8>& v) {
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(address), "r"(v.word[0]), "r"(v.word[1]) : "memory");
}
BL_FN void store_bundle(u64 address, const Bundle<4>& v) {
    asm volatile("st.global.u32 [%0], %1;" ::"l"(address), "r"(v.word[0]) : "memory");
}
BL_FN void store_bundle(u64 address, const Bundle<2>& v) {
    asm volatile("st.global.u16 [%0], %1;" ::"l"(address), "h"(u16(v.word[0])) : "memory");
}
BL_FN void store_bundle(u64 address, const Bundle<1>& v) {
    asm volatile("st.global.u8 [%0], %1;" ::"l"(address), "r"(v.word[0]) : "memory");
}

// Loads one element. Narrow signed integers are sign-extended by the load instruction.
template <class T> BL_FN T load(u64 address) {
    if constexpr (same<T, i8>()) {
        i32 x;
        asm volatile("ld.global.s8 %0, [%1];" : "=r"(x) : "l"(address));
        return i8(x);
    } else if constexpr (same<T, i16>()) {
        i32 x;
        asm volatile("ld.global.s16 %0, [%1];" : "=r"(x) : "l"(address));
        return i16(x);
    } else if constexpr (sizeof(T) == 1) {
        u32 x;
        asm volatile("ld.global.u8 %0, [%1];" : "=r"(x) : "l"(address));
        return from_bits<T>(u8(x));
    } else if constexpr (sizeof(T) == 2) {
        u32 x;
        asm volatile("ld.global.u16 %0, [%1];" : "=r"(x) : "l"(address));
        return from_bits<T>(u16(x));
    } else if constexpr (sizeof(T) == 4) {
        u32 x;
        asm volatile("ld.global.u32 %0, [%1];" : "=r"(x) : "l"(address));
        return from_bits<T>(x);
    } else if constexpr (sizeof(T) == 8) {
        u64 x;
        asm volatile("ld.global.u64 %0, [%1];" : "=l"(x) : "l"(address));
        return from_bits<T>(x);
    } else {
        u64 x, y;
        asm volatile("ld.global.v2.u64 {%0, %1}, [%2];" : "=l"(x), "=l"(y) : "l"(address));
        return T{from_bits<f64>(x), from_bits<f64>(y)};
    }
}
template <class T> BL_FN void store(u64 address, T x) {
    if constexpr (sizeof(T) == 1)
        asm volatile("st.global.u8 [%0], %1;" ::"l"(address), "r"(u32(bits_of(x))) : "memory");
    else if constexpr (sizeof(T) == 2)
        asm volatile("st.global.u16 [%0], %1;" ::"l"(address), "h"(bits_of(x)) : "memory");
    else if constexpr (sizeof(T) == 4)
        asm volatile("st.global.u32 [%0], %1;" ::"l"(address), "r"(bits_of(x)) : "memory");
    else if constexpr (sizeof(T) == 8)
        asm volatile("st.global.u64 [%0], %1;" ::"l"(address), "l"(bits_of(x)) : "memory");
    else
        asm volatile("st.global.v2.u64 [%0], {%1, %2};" ::"l"(address), "l"(bits_of(x.re)), "l"(bits_of(x.im)) : "memory");
}
#else
template <class T> BL_FN T load(u64 address) {
    T x;
    __builtin_memcpy(&x, reinterpret_cast<const void*>(address), sizeof(T));
    return x;
}
template <class T> BL_FN void store(u64 address, T x) { __builtin_memcpy(reinterpret_cast<void*>(address), &x, sizeof(T)); }

// Bundles must be aligned, as on the device.
template <int BYTES> BL_FN void store_bundle(u64 address, const Bundle<BYTES>& v) {
    if (address % BYTES != 0) __builtin_trap();
    __builtin_memcpy(reinterpret_cast<void*>(address), &v, BYTES);
}
#endif

}  // namespace bl
