// What reductions and scans compute with: totals of several kinds, and how terms become totals.
//
// A total S has
//
//     of(term, place), identity()   the total of one term, and of none
//     sum_of(left, right)           the total of both; `left` comes first
//     total()                       the result
//     packed()                      what is stored between launches, of which `of` makes the same total again

namespace bl {

// What changes no total that the operation O combines it with.
template <class O, class T> struct Identity {
    static BL_FN T value() { return from_bits<T>(Bits<T>(0)); }  // of bitwise_or and bitwise_xor
};
template <class T> struct Identity<op::add, T> {
    static BL_FN T value() {
        if constexpr (is_complex<T>()) return T{Identity<op::add, decltype(T::re)>::value(), Identity<op::add, decltype(T::im)>::value()};
        else if constexpr (is_float<T>()) return from_bits<T>(Bits<T>(1) << (8 * sizeof(T) - 1));  // -0
        else return T(0);
    }
};
template <class T> struct Identity<op::multiply, T> {
    static BL_FN T value() { return T(1); }
};
template <class T> struct Identity<op::bitwise_and, T> {
    static BL_FN T value() { return from_bits<T>(Bits<T>(~Bits<T>(0))); }
};
// An extremum begins at the other end of the dtype.
template <class T, bool HIGHEST> BL_FN T end_of() {
    constexpr Bits<T> sign = Bits<T>(Bits<T>(1) << (8 * sizeof(T) - 1));
    if constexpr (is_bool<T>()) return truth(HIGHEST);
    else if constexpr (is_unsigned_integer<T>()) return HIGHEST ? T(~T(0)) : T(0);
    else if constexpr (is_integer<T>()) return from_bits<T>(HIGHEST ? Bits<T>(~sign) : sign);
    else return from_bits<T>(HIGHEST ? op::infinity_bits<T>() : Bits<T>(op::infinity_bits<T>() | sign));
}
template <class T> struct Identity<op::maximum, T> {
    static BL_FN T value() { return end_of<T, false>(); }
};
template <class T> struct Identity<op::minimum, T> {
    static BL_FN T value() { return end_of<T, true>(); }
};

// A total that the operation O combines with others.
template <class O, class T> struct Folded {
    T value;
    static BL_FN Folded of(T value, u64) { return Folded{value}; }
    BL_FN T total() const { return value; }
    BL_FN T packed() const { return value; }
    static BL_FN Folded identity() { return Folded{Identity<O, T>::value()}; }
};
template <class O, class T> BL_FN Folded<O, T> sum_of(Folded<O, T> left, Folded<O, T> right) {
    return Folded<O, T>{O::apply(left.value, right.value)};
}

// The larger or smaller of two totals in one instruction where there is one, which may change the payload of a NaN. It
// orders zeros as extremum does.
template <Pick PICK, class T> BL_FN T extreme(T x, T y) {
#if BL_DEVICE && __CUDA_ARCH__ >= 800
    if constexpr (same<T, f32>()) {
        f32 r;
        if constexpr (PICK == Pick::larger) BL_PTX("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
        else BL_PTX("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
        return r;
    } else if constexpr (same<T, f16>()) {
        f16 r;
        if constexpr (PICK == Pick::larger) BL_PTX("max.NaN.f16 %0, %1, %2;" : "=h"(r.bits) : "h"(x.bits), "h"(y.bits));
        else BL_PTX("min.NaN.f16 %0, %1, %2;" : "=h"(r.bits) : "h"(x.bits), "h"(y.bits));
        return r;
    } else if constexpr (same<T, bf16>()) {
        bf16 r;
        if constexpr (PICK == Pick::larger) BL_PTX("max.NaN.bf16 %0, %1, %2;" : "=h"(r.bits) : "h"(x.bits), "h"(y.bits));
        else BL_PTX("min.NaN.bf16 %0, %1, %2;" : "=h"(r.bits) : "h"(x.bits), "h"(y.bits));
        return r;
    } else
#endif
        return extremum<PICK, Nan::wins>(x, y);
}
template <class T> BL_FN Folded<op::maximum, T> sum_of(Folded<op::maximum, T> left, Folded<op::maximum, T> right) {
    return Folded<op::maximum, T>{extreme<Pick::larger>(left.value, right.value)};
}
template <class T> BL_FN Folded<op::minimum, T> sum_of(Folded<op::minimum, T> left, Folded<op::minimum, T> right) {
    return Folded<op::minimum, T>{extreme<Pick::smaller>(left.value, right.value)};
}

// Complex multiplication by 1 can change signs of zeros and turn infinities into NaNs, so the total of no terms is marked.
template <> struct Folded<op::multiply, c128> {
    c128 value;
    bool is_none;
    static BL_FN Folded of(c128 value, u64) { return Folded{value, false}; }
    BL_FN c128 total() const { return value; }
    BL_FN c128 packed() const { return value; }
    static BL_FN Folded identity() { return Folded{c128{1, 0}, true}; }
};
BL_FN Folded<op::multiply, c128> sum_of(Folded<op::multiply, c128> left, Folded<op::multiply, c128> right) {
    if (right.is_none) return left;
    if (left.is_none) return right;
    return Folded<op::multiply, c128>::of(op::multiply::apply(left.value, right.value), 0);
}

// An extreme and its place. The key of a term is larger, as an integer, the better the term is, and that of a NaN is the
// largest. Of two equal keys the left one, whose place comes first, is kept. A missing term has the smallest key.
template <Pick PICK> struct Best {
    u64 key;
    i64 place;
    template <class T> static BL_FN u64 key_of(T x) {
        constexpr Bits<T> sign = Bits<T>(Bits<T>(1) << (8 * sizeof(T) - 1));
        Bits<T> order = bits_of(x);
        if constexpr (is_signed_integer<T>()) order ^= sign;
        if constexpr (is_half<T>() || is_float<T>()) {
            if (op::magnitude_bits(x) > op::infinity_bits<T>()) return ~0ull;
            order = Bits<T>(order & sign ? ~order : order | sign);
        }
        return PICK == Pick::larger ? u64(order) : ~u64(order);
    }
    template <class T> static BL_FN Best of(T x, u64 place) {
        // What an earlier launch has packed.
        if constexpr (is_complex<T>()) return Best{bits_of(f64(x.re)), i64(bits_of(f64(x.im)))};
        else return Best{key_of(x), i64(place)};
    }
    BL_FN i64 total() const { return place; }
    BL_FN c128 packed() const { return c128{from_bits<f64>(key), from_bits<f64>(u64(place))}; }
    static BL_FN Best identity() { return Best{0, 0}; }
};
template <Pick PICK> BL_FN Best<PICK> sum_of(Best<PICK> left, Best<PICK> right) { return right.key > left.key ? right : left; }

// A term, and its place among the terms of the output, as a total. The sign of a NaN is unspecified here, so floats are
// simply widened.
template <class S, class T> struct Leaf {
    static BL_FN S of(T x, u64 place) { return S::of(x, place); }
};
template <class O, class Total, class T> struct Leaf<Folded<O, Total>, T> {
    static BL_FN Folded<O, Total> of(T x, u64 place) {
        typedef Folded<O, Total> S;
        if constexpr (same<T, Total>()) return S::of(x, place);
        else if constexpr (is_complex<T>()) return S::of(Total{f64(x.re), f64(x.im)}, place);
        else if constexpr (is_half<T>()) return S::of(Total(widen(x)), place);
        else if constexpr (is_bool<T>()) return S::of(Total(x.bits), place);
        else return S::of(Total(x), place);
    }
};
template <class S, class T> BL_FN S leaf(T x, u64 place) { return Leaf<S, T>::of(x, place); }

// Whether sum_of(x, y) and sum_of(y, x) are the same.
template <class S> struct Commutes { enum { VALUE = true }; };
template <Pick PICK> struct Commutes<Best<PICK>> { enum { VALUE = false }; };
template <> struct Commutes<Folded<op::multiply, c128>> { enum { VALUE = false }; };

// A sum of f32, f16 or bf16 terms, as an f64 that is 2^-896 times the sum. Consumer cards do two f64 operations per clock
// and multiprocessor, conversions among them, so a term becomes an f64 in integers: its bits, moved. The f64 then has the
// exponent field of the f32, and is the term times 2^(127 - 1023), subnormal terms included. All totals are multiples of
// 2^-1045, so that no addition is inexact because its result is subnormal, and each rounds exactly as that of the totals
// themselves. None overflows, since a sum is below 2^128 times the number of terms.
struct Scaled {
    f64 value;
    // Of a finite term.
    static BL_FN Scaled of_finite(f32 x) {
        const i64 moved = i64(i32(bits_of(x))) * (1 << 29);  // the sign is in the four highest bits, of which one stays
        return Scaled{from_bits<f64>(join(low_half(u64(moved)), high_half(u64(moved)) & 0x8fffffffu))};
    }
    template <class T> static BL_FN Scaled of(T x, u64) {
        const f32 wide = as_single(x);
        u64 bits = bits_of(of_finite(wide).value);
        if (op::magnitude_bits(wide) >= op::infinity_bits<f32>()) bits |= 0x7ff0000000000000ull;
        return Scaled{from_bits<f64>(bits)};
    }
    template <class T> static BL_FN f32 as_single(T x) {
        if constexpr (is_half<T>()) return widen(x);
        else return x;
    }
    BL_FN f64 total() const { return value * from_bits<f64>(u64(1023 + 896) << 52); }
    BL_FN f64 packed() const { return total(); }
    static BL_FN Scaled identity() { return Scaled{Identity<op::add, f64>::value()}; }
};
BL_FN Scaled sum_of(Scaled left, Scaled right) { return Scaled{left.value + right.value}; }


template <class S> BL_FN S quotient(S sum, f64 terms) {
    if constexpr (is_complex<S>()) return S{sum.re / terms, sum.im / terms};
    else return S(sum / terms);
}

constexpr int log2_of(int n) { return n > 1 ? 1 + log2_of(n / 2) : 0; }

// The sum of N adjacent subtrees.
template <int N, class S> BL_FN S tree(S (&x)[N]) {
#pragma unroll
    for (int step = 1; step < N; step *= 2)
#pragma unroll
        for (int k = 0; k + step < N; k += 2 * step) x[k] = sum_of(x[k], x[k + step]);
    return x[0];
}

// The sum of N adjacent terms, of which the first has this place.
template <class S> struct Terms {
    template <int N, class T> static BL_FN S sum(const T (&term)[N], u64 place) {
        S x[N];
#pragma unroll
        for (int k = 0; k < N; ++k) x[k] = leaf<S>(term[k], place + k);
        return tree(x);
    }
};

// Integers of at most 16 bits are added in 32.
template <> struct Terms<Folded<op::add, u64>> {
    typedef Folded<op::add, u64> S;
    template <int N, class T> static BL_FN S sum(const T (&term)[N], u64) {
        if constexpr (sizeof(T) <= 2 && (is_integer<T>() || is_bool<T>())) {
            i32 total = 0;
#pragma unroll
            for (int k = 0; k < N; ++k) {
                if constexpr (is_bool<T>()) total += i32(term[k].bits);
                else total += i32(term[k]);
            }
            return S{u64(i64(total))};
        } else {
            S x[N];
#pragma unroll
            for (int k = 0; k < N; ++k) x[k] = leaf<S>(term[k], 0);
            return tree(x);
        }
    }
};

template <> struct Terms<Scaled> {
    template <int N, class T> static BL_FN Scaled sum(const T (&term)[N], u64) {
        if constexpr (same<T, f16>() && N >= 4 && N <= 16) return of_halves(term);
        else if constexpr (same<T, bf16>() && N >= 4 && N <= 16) return of_bfloats(term);
        else {
            Scaled x[N];
            f32 guard = 0;  // NaN after a term that is not finite
#pragma unroll
            for (int k = 0; k < N; ++k) {
                const f32 wide = Scaled::as_single(term[k]);
                x[k] = Scaled::of_finite(wide);
                guard = fused(wide, 0.0f, guard);
            }
            return guard == guard ? tree(x) : each(term);
        }
    }

    // With terms that are not finite, or whose sum may not be exact in f32. Few threads come here.
    template <int N, class T> static BL_FN Scaled each(const T (&term)[N]) {
        Scaled x[N];
#pragma unroll
        for (int k = 0; k < N; ++k) x[k] = Scaled::of(term[k], 0);
        return tree(x);
    }

    // The sum of N <= 16 terms of f16 is exact in f64, so the order of the additions does not matter: they are multiples of
    // 2^-24 below 2^16. Each is split, exactly, into a multiple of 1/16 and a rest of at most 1/32, and N of either have an
    // exact sum in f32: at most 2^24 sixteenths, and at most 2^23 times 2^-24. The rest of what is not finite is NaN. If all
    // terms are -0, so are all rests, and the sum has to be; otherwise no rest is -0 where its term is not.
    template <int N> static BL_FN Scaled of_halves(const f16 (&term)[N]) {
        const f32 rounder = 786432.0f;  // 1.5 * 2^19, whose neighbours are 1/16 apart
        f32 whole[N], rest[N];
#pragma unroll
        for (int k = 0; k < N; ++k) {
            const f32 wide = widen(term[k]);
            whole[k] = (wide + rounder) - rounder;
            rest[k] = wide - whole[k];
        }
#pragma unroll
        for (int step = 1; step < N; step *= 2)
#pragma unroll
            for (int k = 0; k + step < N; k += 2 * step) whole[k] += whole[k + step], rest[k] += rest[k + step];
        if (rest[0] != rest[0]) return each(term);
        const Scaled low = Scaled::of_finite(rest[0]);
        return whole[0] == 0 ? low : sum_of(Scaled::of_finite(whole[0]), low);
    }

    // The larger of two magnitudes, or the one that is not NaN.
    static BL_FN f32 larger_magnitude(f32 x, f32 y) {
#if BL_DEVICE
        f32 r;
        BL_PTX("{ .reg .f32 a, b; abs.f32 a, %1; abs.f32 b, %2; max.f32 %0, a, b; }" : "=f"(r) : "f"(x), "f"(y));
        return r;
#else
        const f32 a = x < 0 ? -x : x, b = y < 0 ? -y : y;
        return a > b || b != b ? a : b;
#endif
    }

    // The sum of N <= 16 terms of bf16 is exact in f32, in any order, if all of them are multiples of 2^(e - 19), where 2^e is
    // the power of two of the largest: the sums are below 2^(e + 5). Then it is exact in f64 too, so that the total is the
    // same. A term that is added to 1.5 * 2^(e + 4) is rounded to such a multiple, which tells whether it is one: nearly all
    // groups of neighbours are of one magnitude. The signs of zeros, which this loses, do not count. If the largest is
    // subnormal, all sums are exact. Infinities, and what makes that number infinite, become NaN, and NaN stays one in any
    // case.
    template <int N> static BL_FN Scaled of_bfloats(const bf16 (&term)[N]) {
        f32 x[N], largest = 0;
#pragma unroll
        for (int k = 0; k < N; ++k) {
            x[k] = widen(term[k]);
            largest = larger_magnitude(largest, x[k]);
        }
        const f32 rounder = from_bits<f32>(bits_of(largest) & 0x7f800000u) * 24.0f;
        u32 differ = 0;
#pragma unroll
        for (int k = 0; k < N; ++k) differ |= bits_of(x[k]) ^ bits_of((x[k] + rounder) - rounder);
        if ((differ & 0x7fffffffu) != 0) return each(term);
#pragma unroll
        for (int step = 1; step < N; step *= 2)
#pragma unroll
            for (int k = 0; k + step < N; k += 2 * step) x[k] += x[k + step];
        return Scaled::of(x[0], 0);
    }
};

}  // namespace bl
