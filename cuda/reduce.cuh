// The skeletons of generated reductions. The terms of one output, in order, are the leaves of a perfect binary tree in
// which every node combines its children, the left one first; leaves beyond the last term are the identity (of addition:
// -0, or 0 for integers). So any aligned run of 2^k terms is a subtree, which may be added up by a thread in its
// registers, by a warp, by a block, or by the next launch, which sums the parts that this one has stored. The result
// depends only on the terms.
//
// The generated part is a struct K as for map.cuh, where groups are groups of terms, without `later` and `store`, and
// with:
//
//     Sum                        the total (totals.cuh)
//     DEPTH                      groups that a thread loads at once where several of a warp add up a tile together
//     STRADDLES                  whether a group may straddle the end of the inner loop
//     COUNTS_GROUPS              whether places<GROUP> takes the index of a group rather than of its first element
//     output_places(p, output)   the addresses of an output and of the first term of every operand
//     finish(p, at, output, segment, sum)   stores a sum, or a part of one
//
// The p.terms terms of an output, of which whole groups are p.whole_groups, make up p.segments segments of p.segment_groups groups each, the last perhaps shorter.

namespace bl {

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

// The terms of a loaded group.
template <class K, class Kept, class Loaded>
BL_FN typename K::Sum sum_loaded(const Kept& kept, const Loaded& loaded, typename K::Index n) {
    typename K::Result term[K::GROUP];
#pragma unroll
    for (int k = 0; k < K::GROUP; ++k) term[k] = K::compute(kept, loaded, k);
    return Terms<typename K::Sum>::sum(term, n);
}

// The sum of the terms from n to `end`, one by one.
template <class K, class Places, class Kept>
BL_FN typename K::Sum sum_each(const typename K::Params& p, const Places& output, const Kept& kept, typename K::Index n, typename K::Index end) {
    Counter<typename K::Sum, log2_of(K::GROUP)> counter;
#pragma unroll 1
    for (; n < end; ++n) {
        const auto at = K::template places<1>(p, output.address, n);
        counter.push(leaf<typename K::Sum>(K::compute(kept, K::template load<1>(p, at), 0), n));
    }
    return counter.sum();
}

// The sum of the terms from n on, which are fewer than a group. All loads are issued before the first is used; what lies
// beyond the last term loads that instead.
template <class K, class Places, class Kept>
BL_FN typename K::Sum sum_rest(const typename K::Params& p, const Places& output, const Kept& kept, typename K::Index n) {
    typedef typename K::Sum Sum;
    const typename K::Index terms = typename K::Index(p.terms);
    typename K::template Group<1> loaded[K::GROUP];
#pragma unroll
    for (int k = 0; k < K::GROUP - 1; ++k)
        loaded[k] = K::template load<1>(p, K::template places<1>(p, output.address, n + k < terms ? n + k : terms - 1));
    Sum x[K::GROUP];
#pragma unroll
    for (int k = 0; k < K::GROUP; ++k) {
        if (k < K::GROUP - 1) x[k] = leaf<Sum>(K::compute(kept, loaded[k], 0), n + k);
        if (k == K::GROUP - 1 || n + k >= terms) x[k] = Sum::identity();
    }
    return tree(x);
}

// The sum of a group of terms, which may lie partly or entirely beyond the last term.
template <class K, class Places, class Kept>
BL_FN typename K::Sum sum_group(const typename K::Params& p, const Places& output, const Kept& kept, typename K::Index group) {
    typedef typename K::Index Index;
    const Index n = group * K::GROUP, terms = Index(p.terms);
    if (n + K::GROUP <= terms) {
        const auto at = K::template places<K::GROUP>(p, output.address, K::COUNTS_GROUPS ? group : n);
        if (!K::STRADDLES || n - Index(at.outer) * K::inner_size(p) < K::inner_starts(p))
            return sum_loaded<K>(kept, K::template load<K::GROUP>(p, at), n);
    }
    if constexpr (K::STRADDLES) return sum_each<K>(p, output, kept, n, n + K::GROUP < terms ? n + K::GROUP : terms);
    if constexpr (K::EDGES && K::GROUP > 1)
        if (n < terms) return sum_rest<K>(p, output, kept, n);
    return K::Sum::identity();
}

// ---- One thread per output and segment ---------------------------------------------------------------------------
// For outputs that are contiguous in memory, and for few terms. A block has BL_THREADS >> lanes_log2 outputs, and adds up
// 2^lanes_log2 neighbouring runs of p.segment_groups groups of each, at most 2^BL_SUM_LEVELS; together they are a segment.
// Blocks count tiles of outputs first, then segments. The grid has a y dimension if x cannot hold all blocks.
BL_FN u64 block_number() { return u64(blockIdx.y) * gridDim.x + blockIdx.x; }

template <class K> BL_FN void sum_by_threads(const typename K::Params& p) {
    typedef typename K::Index Index;
    typedef typename K::Sum Sum;
    __shared__ Sum partial[BL_THREADS];
    const u32 log2 = u32(p.lanes_log2), columns = BL_THREADS >> log2;
    const u32 column = threadIdx.x & (columns - 1), run = threadIdx.x / columns;
    const Index block = Index(block_number()), tiles = Index(p.tiles);
    const Index segment = block / tiles, output = (block - segment * tiles) * columns + column;
    const bool works = output < Index(p.outputs) && segment < Index(p.segments);
    const auto places = K::output_places(p, works ? output : 0);
    const auto kept = K::keep(p, places.address);
    Counter<Sum, BL_SUM_LEVELS> counter;
    const Index first = ((segment << log2) + run) * Index(p.segment_groups), groups = Index(p.groups);
    const Index end = !works || first >= groups ? first : groups - first < Index(p.segment_groups) ? groups : first + Index(p.segment_groups);
#pragma unroll 1
    for (Index group = first; group < end; ++group) counter.push(sum_group<K>(p, places, kept, group));
    Sum sum = counter.sum();
    if (log2 > 0) {
        partial[threadIdx.x] = sum;
#pragma unroll 1
        for (u32 k = 0; k < log2; ++k) {
            __syncthreads();
            // In each round, a thread whose total is read writes nothing.
            if ((run & ((2u << k) - 1)) == 0) partial[threadIdx.x] = sum = sum_of(sum, partial[threadIdx.x + (columns << k)]);
        }
    }
    if (works && run == 0) K::finish(p, places, output, segment, sum);
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
    return Best<PICK>{exchange(x.key, distance), exchange(x.place, distance)};
}
BL_FN Scaled exchange(Scaled x, u32 distance) { return Scaled{exchange(x.value, distance)}; }

// The sum over 2^log2 neighbouring threads of a warp, in the first of them. The others add in a different order, and
// their results are not used.
template <class S> BL_FN S sum_of_lanes(S x, u32 log2) {
#pragma unroll 1
    for (u32 k = 0; k < log2; ++k) x = sum_of(x, exchange(x, 1u << k));
    return x;
}

// Shares 2 * HALF runs, of which N are there, among the threads that differ in the bit of DISTANCE and in those above it, until
// each thread has one. In the first round a run may have no partner. Then it stays with both threads.
template <int HALF, u32 DISTANCE, int N, class S> BL_FN void share_runs(S (&x)[N]) {
    const bool upper = threadIdx.x & DISTANCE;
#pragma unroll
    for (int k = 0; k < HALF; ++k) {
        S kept = x[k], given = x[k];
        if (k + HALF < N) {
            if (upper) kept = x[k + HALF];
            else given = x[k + HALF];
        }
        const S got = exchange(given, DISTANCE);
        x[k] = Commutes<S>::VALUE || !upper ? sum_of(kept, got) : sum_of(got, kept);
    }
    if constexpr (HALF > 1) share_runs<HALF / 2, 2 * DISTANCE>(x);
}

// The sum of N adjacent runs of 2^log2 subtrees, of which each of 2^log2 neighbouring threads has one of each run, in the
// first of them. There are at least as many threads as runs, and as many everywhere in the warp. For each run alone, all
// threads would add at every level. Here a thread passes half of its totals to its neighbour and takes the neighbour's part
// of the other half, so that some N additions do the work of N times log2(N).
template <int N, class S> BL_FN S sum_of_runs(S (&x)[N], u32 log2) {
    enum { SLOTS = N > 1 ? 2 << log2_of(N - 1) : 1 };
    if constexpr (SLOTS > 1) share_runs<SLOTS / 2, 1>(x);
    S sum = x[0];
#pragma unroll
    for (u32 distance = SLOTS; distance < BL_WARP; distance *= 2)
        if (distance < 1u << log2) sum = sum_of(sum, exchange(sum, distance));
    // The number of a thread's run is in the lowest bits of the thread's, the highest bit first.
    if constexpr (SLOTS > N)
        if (__brev(threadIdx.x) >> (32 - log2_of(SLOTS)) >= u32(N)) sum = S::identity();
#pragma unroll
    for (u32 distance = SLOTS / 2; distance > 0; distance /= 2) sum = sum_of(sum, exchange(sum, distance));
    return sum;
}

// The sum of the K::DEPTH << log2 groups from `first` on, which 2^log2 neighbouring threads add up, in the first of them.
// Some may lie beyond the last term. All loads are issued before the first is used; groups beyond the last whole one, of
// which there is one, load that instead.
template <class K, class Places, class Kept>
BL_FN typename K::Sum sum_of_tile(const typename K::Params& p, const Places& output, const Kept& kept, typename K::Index first, u32 log2) {
    typedef typename K::Sum Sum;
    typedef typename K::Index Index;
    const u32 lanes = 1u << log2;
    const Index mine = first + (threadIdx.x & (lanes - 1)), whole = Index(p.whole_groups);
    if constexpr (K::STRADDLES) {
        Counter<Sum, log2_of(K::DEPTH)> counter;
#pragma unroll 1
        for (Index k = 0; k < K::DEPTH; ++k) counter.push(sum_of_lanes(sum_group<K>(p, output, kept, mine + k * lanes), log2));
        return counter.sum();
    }
    typename K::template Group<K::GROUP> loaded[K::DEPTH];
#pragma unroll
    for (int k = 0; k < K::DEPTH; ++k) {
        const Index group = mine + k * lanes < whole ? mine + k * lanes : whole - 1;
        loaded[k] = K::template load<K::GROUP>(p, K::template places<K::GROUP>(p, output.address, group));
    }
    Sum x[K::DEPTH];
#pragma unroll
    for (int k = 0; k < K::DEPTH; ++k) {
        x[k] = sum_loaded<K>(kept, loaded[k], (mine + k * lanes) * K::GROUP);
        if (mine + k * lanes >= whole) x[k] = Sum::identity();
    }
    if constexpr (K::EDGES && K::GROUP > 1) {
        const Index beyond = whole - mine;  // wraps in threads after the last whole group
        if (whole < Index(p.groups) && beyond < K::DEPTH * lanes && (beyond & (lanes - 1)) == 0) {
            const Sum last = sum_rest<K>(p, output, kept, whole * K::GROUP);
#pragma unroll
            for (int k = 0; k < K::DEPTH; ++k)
                if (beyond == k * lanes) x[k] = last;
        }
    }
    return sum_of_runs(x, log2);
}

// ---- Threads of a warp per output --------------------------------------------------------------------------------
// 2^lanes_log2 threads for outputs with at most DEPTH << lanes_log2 groups of terms. One segment.
template <class K> BL_FN void sum_by_lanes(const typename K::Params& p) {
    typedef typename K::Index Index;
    const u32 log2 = u32(p.lanes_log2), lane = threadIdx.x & ((1u << log2) - 1);
    const Index output = Index(block_number() * (BL_THREADS >> log2) + (threadIdx.x >> log2));
    const bool works = output < Index(p.outputs);
    const auto places = K::output_places(p, works ? output : 0);
    const auto kept = K::keep(p, places.address);
    typename K::Sum sum;
    if constexpr (K::DEPTH > 1) sum = sum_of_tile<K>(p, places, kept, 0, log2);
    else sum = sum_of_lanes(sum_group<K>(p, places, kept, works ? Index(lane) : Index(p.groups)), log2);
    if (works && lane == 0) K::finish(p, places, output, 0, sum);
}

// ---- One block per output and segment ----------------------------------------------------------------------------
// At most BL_THREADS * 32 groups per segment, which its warps add up 32 * DEPTH at a time. Blocks count segments first,
// then outputs.
template <class K> BL_FN void sum_by_blocks(const typename K::Params& p) {
    typedef typename K::Index Index;
    typedef typename K::Sum Sum;
    enum { TILE = BL_WARP * K::DEPTH };
    __shared__ Sum partial[BL_THREADS];
    const Index block = Index(block_number()), segments = Index(p.segments);
    const Index output = block / segments, segment = block - output * segments;
    if (output >= Index(p.outputs)) return;
    const auto places = K::output_places(p, output);
    const auto kept = K::keep(p, places.address);
    const Index first = segment * Index(p.segment_groups), groups = Index(p.groups);
    const Index size = groups - first < Index(p.segment_groups) ? groups - first : Index(p.segment_groups);
    const u32 count = u32((size + TILE - 1) / TILE);
#pragma unroll 1
    for (u32 tile = threadIdx.x / BL_WARP; tile < count; tile += BL_THREADS / BL_WARP) {
        const Sum sum = sum_of_tile<K>(p, places, kept, first + Index(tile) * TILE, log2_of(BL_WARP));
        if (threadIdx.x % BL_WARP == 0) partial[tile] = sum;
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
