// The skeletons of generated reductions. The terms of one output, in order, are the leaves of a perfect binary tree in
// which every node combines its children, the left one first; leaves beyond the last term are the identity (of addition:
// -0, or 0 for integers). So any aligned run of 2^k terms is a subtree, which may be added up by a thread in its
// registers, by a warp, by a block, or by the next launch, which sums the parts that this one has stored. The result
// depends only on the terms.
//
// The generated part is a struct K as for map.cuh, where groups are groups of terms, without `later` and `store`, and
// with:
//
//     Sum                        the total: Folded<op, T>, or Best
//     STRADDLES                  whether a group may straddle the end of the inner loop
//     COUNTS_GROUPS              whether places<GROUP> takes the index of a group rather than of its first element
//     output_places(p, output)   the addresses of an output and of the first term of every operand
//     finish(p, at, output, segment, sum)   stores a sum, or a part of one
//
// The p.terms terms of an output make up p.segments segments of p.segment_groups groups each, the last perhaps shorter.

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
    i64 value;
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
    BL_FN c128 packed() const { return c128{from_bits<f64>(key), from_bits<f64>(u64(value))}; }
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

template <class S> BL_FN S quotient(S sum, f64 terms) {
    if constexpr (is_complex<S>()) return S{sum.re / terms, sum.im / terms};
    else return S(sum / terms);
}

// A binary counter of subtrees: bit k of `count` is set if held[k], the sum of 2^k subtrees, waits for its right
// sibling. It takes at most 2^LEVELS subtrees of equal size, in order.
template <class S, int LEVELS> struct Counter {
    S held[LEVELS + 1];
    u32 count;
    BL_FN Counter() : count(0) {
#pragma unroll
        for (int k = 0; k <= LEVELS; ++k) held[k] = S::identity();
    }
    BL_FN void push(S x) {
        bool carries = true;
#pragma unroll
        for (int k = 0; k <= LEVELS; ++k) {
            // Branches rather than selections: half of the subtrees end at the first level, and all threads of a warp
            // take the same branch.
            if (carries) {
                if (count >> k & 1) x = sum_of(held[k], x);
                else held[k] = x, carries = false;
            }
        }
        ++count;
    }
    BL_FN S sum() const {
        S x = S::identity();
#pragma unroll
        for (int k = 0; k <= LEVELS; ++k) x = count >> k & 1 ? sum_of(held[k], x) : x;
        return x;
    }
};

constexpr int log2_of(int n) { return n > 1 ? 1 + log2_of(n / 2) : 0; }

// The sum of N adjacent subtrees.
template <int N, class S> BL_FN S tree(S (&x)[N]) {
#pragma unroll
    for (int step = 1; step < N; step *= 2)
#pragma unroll
        for (int k = 0; k + step < N; k += 2 * step) x[k] = sum_of(x[k], x[k + step]);
    return x[0];
}

// The sum of a group of terms, which may lie partly or entirely beyond the last term.
template <class K, class Places, class Kept>
BL_FN typename K::Sum sum_group(const typename K::Params& p, const Places& output, const Kept& kept, typename K::Index group) {
    typedef typename K::Sum Sum;
    typedef typename K::Index Index;
    const Index n = group * K::GROUP, terms = Index(p.terms);
    if (n + K::GROUP <= terms) {
        const auto at = K::template places<K::GROUP>(p, output.address, K::COUNTS_GROUPS ? group : n);
        if (!K::STRADDLES || n - Index(at.outer) * K::inner_size(p) < K::inner_starts(p)) {
            const auto loaded = K::template load<K::GROUP>(p, at);
            Sum x[K::GROUP];
#pragma unroll
            for (int k = 0; k < K::GROUP; ++k) x[k] = leaf<Sum>(K::compute(kept, loaded, k), n + k);
            return tree(x);
        }
    }
    Counter<Sum, log2_of(K::GROUP)> counter;
    if constexpr (K::STRADDLES || K::EDGES) {
#pragma unroll 1
        for (Index k = n; k < n + K::GROUP && k < terms; ++k) {
            const auto at = K::template places<1>(p, output.address, k);
            counter.push(leaf<Sum>(K::compute(kept, K::template load<1>(p, at), 0), k));
        }
    }
    return counter.sum();
}

// ---- One thread per output and segment ---------------------------------------------------------------------------
// For outputs that are contiguous in memory, and for few terms. At most 2^BL_SUM_LEVELS groups per segment. Blocks
// count tiles of BL_THREADS outputs first, then segments. The grid has a y dimension if x cannot hold all blocks.
BL_FN u64 block_number() { return u64(blockIdx.y) * gridDim.x + blockIdx.x; }

template <class K> BL_FN void sum_by_threads(const typename K::Params& p) {
    typedef typename K::Index Index;
    const Index block = Index(block_number()), tiles = Index(p.tiles);
    const Index segment = block / tiles, output = (block - segment * tiles) * BL_THREADS + threadIdx.x;
    if (output >= Index(p.outputs) || segment >= Index(p.segments)) return;
    const auto places = K::output_places(p, output);
    const auto kept = K::keep(p, places.address);
    Counter<typename K::Sum, BL_SUM_LEVELS> counter;
    const Index first = segment * Index(p.segment_groups), groups = Index(p.groups);
#pragma unroll 1
    for (Index group = first; group < first + Index(p.segment_groups) && group < groups; ++group)
        counter.push(sum_group<K>(p, places, kept, group));
    K::finish(p, places, output, segment, counter.sum());
}

// ---- Communication between the threads of a warp ----------------------------------------------------------------

BL_FN u64 exchange(u64 x, u32 distance) {
    const u32 low = __shfl_xor_sync(0xffffffffu, low_half(x), distance), high = __shfl_xor_sync(0xffffffffu, high_half(x), distance);
    return join(low, high);
}
template <class T> BL_FN T exchange(T x, u32 distance) {
    if constexpr (is_complex<T>()) return T{exchange(x.re, distance), exchange(x.im, distance)};
    else if constexpr (sizeof(T) == 8) return from_bits<T>(exchange(bits_of(x), distance));
    else return from_bits<T>(Bits<T>(__shfl_xor_sync(0xffffffffu, u32(bits_of(x)), distance)));
}
template <class O, class T> BL_FN Folded<O, T> exchange(Folded<O, T> x, u32 distance) {
    return Folded<O, T>{exchange(x.value, distance)};
}
BL_FN Folded<op::multiply, c128> exchange(Folded<op::multiply, c128> x, u32 distance) {
    return Folded<op::multiply, c128>{exchange(x.value, distance), exchange(u32(x.is_none), distance) != 0};
}

template <Pick PICK> BL_FN Best<PICK> exchange(Best<PICK> x, u32 distance) {
    return Best<PICK>{exchange(x.key, distance), exchange(x.value, distance)};
}

// The sum over 2^log2 neighbouring threads of a warp, in the first of them. The others add in a different order, and
// their results are not used.
template <class S> BL_FN S sum_of_lanes(S x, u32 log2) {
#pragma unroll 1
    for (u32 k = 0; k < log2; ++k) x = sum_of(x, exchange(x, 1u << k));
    return x;
}

// ---- 2^lanes_log2 threads of a warp per output ------------------------------------------------------------------
// For outputs with at most 32 groups of terms; one segment.
template <class K> BL_FN void sum_by_lanes(const typename K::Params& p) {
    typedef typename K::Index Index;
    const u32 log2 = u32(p.lanes_log2), lane = threadIdx.x & ((1u << log2) - 1);
    const Index output = Index(block_number() * (BL_THREADS >> log2) + (threadIdx.x >> log2));
    const bool works = output < Index(p.outputs);
    const auto places = K::output_places(p, works ? output : 0);
    const auto kept = K::keep(p, places.address);
    const auto sum = sum_of_lanes(sum_group<K>(p, places, kept, works ? Index(lane) : Index(p.groups)), log2);
    if (works && lane == 0) K::finish(p, places, output, 0, sum);
}

// ---- One block per output and segment ----------------------------------------------------------------------------
// At most 2^BL_SUM_CHUNKS_LOG2 chunks of BL_THREADS groups per segment. Blocks count segments first, then outputs.
template <class K> BL_FN void sum_by_blocks(const typename K::Params& p) {
    typedef typename K::Index Index;
    typedef typename K::Sum Sum;
    enum { WARPS = BL_THREADS / BL_WARP };
    __shared__ Sum partial[WARPS << BL_SUM_CHUNKS_LOG2];
    const Index block = Index(block_number()), segments = Index(p.segments);
    const Index output = block / segments, segment = block - output * segments;
    if (output >= Index(p.outputs)) return;
    const auto places = K::output_places(p, output);
    const auto kept = K::keep(p, places.address);
    const Index first = segment * Index(p.segment_groups), groups = Index(p.groups);
    const Index end = groups - first < Index(p.segment_groups) ? groups : first + Index(p.segment_groups);
    u32 count = 0;  // partial sums of warps, in all chunks so far
#pragma unroll 1
    for (Index group = first; group < end; group += BL_THREADS, count += WARPS) {
        const Sum sum = sum_of_lanes(sum_group<K>(p, places, kept, group + threadIdx.x), 5);
        if (threadIdx.x % BL_WARP == 0) partial[count + threadIdx.x / BL_WARP] = sum;
    }
    __syncthreads();
    Sum sum = threadIdx.x < count ? partial[threadIdx.x] : Sum::identity();
#pragma unroll 1
    for (u32 left = count; left > 1; left = (left + 1) / 2) {
        const u32 right = 2 * threadIdx.x + 1;
        if (right <= left) sum = right < left ? sum_of(partial[right - 1], partial[right]) : partial[right - 1];
        __syncthreads();
        if (right <= left) partial[threadIdx.x] = sum;
        __syncthreads();
    }
    if (threadIdx.x == 0) K::finish(p, places, output, segment, sum);
}

}  // namespace bl
