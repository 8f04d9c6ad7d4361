// The skeletons of generated elementwise kernels. The generated part is a struct K:
//
//     Index, GROUP, DEPTH       u32 or u64; elements per group; groups per thread
//     EDGES                     whether there may be elements before the first group or after the last
//     Result                    the type of the program's result
//     Params                    the parameters; `at` holds an address per operand, the destination's first
//     Kept, keep(p, at)         the values that are the same for all elements: numbers and constant operands
//     Group<N>, Places          the operands of N elements, and their addresses
//     places<N>(p, at, n)       the addresses of group n (N = GROUP), or of element n (N = 1)
//     later(p, n, first, k)     the addresses of group n + k * BL_THREADS, given those of group n; only if DEPTH > 1
//     load<N>, store<N>         between memory and a group
//     compute(kept, group, k)   runs the program for element k
//     inner_size, inner_starts  elements along the inner loop; positions in it at which a whole group fits
//
// Computing in place is safe: each element is read and written by the same thread, all reads of a group before its
// writes, and the loads are plain ones. No operand overlaps the destination in any other way.

namespace bl {

template <class K, int N> BL_FN void compute_and_store(const typename K::Params& p, const typename K::Kept& kept,
                                                       const typename K::template Group<N>& group, u64 address) {
    typename K::Result result[N];
#pragma unroll
    for (int k = 0; k < N; ++k) result[k] = K::compute(kept, group, k);
    K::template store<N>(p, kept, group, address, result);
}

template <class K, int N, class I> BL_FN void map_at(const typename K::Params& p, const typename K::Kept& kept, I n) {
    const auto at = K::template places<N>(p, p.at, n);
    compute_and_store<K, N>(p, kept, K::template load<N>(p, at), at.address[0]);
}

// Every group is whole: each operand is contiguous or constant over all loops, or the size of the inner loop is a
// multiple of the group size. `full_blocks` blocks have DEPTH groups for every thread, whose loads are all issued
// before the first is used. One more block computes the remaining groups. With EDGES, the last block also computes
// `head` single elements before the first group (whose addresses are in `at`) and `tail` after the last.
template <class K> BL_FN void map_groups(const typename K::Params& p) {
    typedef typename K::Index Index;
    const typename K::Kept kept = K::keep(p, p.at);
    const Index first = Index(blockIdx.x) * (BL_THREADS * K::DEPTH) + threadIdx.x;
    if constexpr (K::DEPTH > 1) {
        if (blockIdx.x < u32(p.full_blocks)) {
            typename K::template Group<K::GROUP> group[K::DEPTH];
            u64 out[K::DEPTH];
            const auto start = K::template places<K::GROUP>(p, p.at, first);
#pragma unroll
            for (int k = 0; k < K::DEPTH; ++k) {
                const auto at = K::later(p, first, start, k);
                group[k] = K::template load<K::GROUP>(p, at);
                out[k] = at.address[0];
            }
#pragma unroll
            for (int k = 0; k < K::DEPTH; ++k) compute_and_store<K, K::GROUP>(p, kept, group[k], out[k]);
            return;
        }
    }
    Index n = first;
#pragma unroll 1
    for (int k = 0; k < K::DEPTH && n < Index(p.groups); ++k, n += BL_THREADS) map_at<K, K::GROUP>(p, kept, n);
    if constexpr (K::EDGES) {
        const u32 thread = threadIdx.x, head = u32(p.head);
        if (blockIdx.x == gridDim.x - 1 && thread < head + u32(p.tail)) {
            const u64 body = u64(p.groups) * K::GROUP;
            map_at<K, 1>(p, kept, u64(thread) - head + (thread < head ? 0 : body));
        }
    }
}

// The loops count elements. The first group begins after `head` elements, so that the destination is aligned. A group
// that straddles the end of the inner loop is computed element by element, and so are head and tail. One group or edge
// element per thread.
template <class K> BL_FN void map_elements(const typename K::Params& p) {
    typedef typename K::Index Index;
    const typename K::Kept kept = K::keep(p, p.at);
    const Index group = Index(blockIdx.x) * BL_THREADS + threadIdx.x, groups = Index(p.groups);
    Index n = Index(p.head) + group * K::GROUP;
    u32 count = K::GROUP;
    if (group < groups) {
        const auto at = K::template places<K::GROUP>(p, p.at, n);
        if (n - Index(at.outer) * K::inner_size(p) < K::inner_starts(p)) {
            compute_and_store<K, K::GROUP>(p, kept, K::template load<K::GROUP>(p, at), at.address[0]);
            return;
        }
    } else {
        const Index edge = group - groups;
        if (edge >= Index(p.head) + Index(p.tail)) return;
        n = edge < Index(p.head) ? edge : edge + groups * K::GROUP;
        count = 1;
    }
#pragma unroll 1
    for (u32 k = 0; k < count; ++k, ++n) map_at<K, 1>(p, kept, n);
}

}  // namespace bl
