// The skeleton of generated elementwise kernels with turned operands: operands that are contiguous along another loop than
// the destination. Read in the destination's order, each of their elements would take a memory access of 32 bytes of its
// own. Here a block computes a square tile of the inner loop and that other loop. It reads the turned operands along
// theirs, puts them into shared memory, and then reads them along the inner loop, as it writes the destination.
//
// The generated part is a struct K as for map.cuh, without `places` and `later`, and with:
//
//     TILE, LOCATED              the side of a tile; the operands that are not constant
//     PARTS, DEPTH               the groups of a thread; how many of them it loads before the first is used
//     SHARED                     the bytes of the turned operands of a tile
//     stage<FULL>(p, origin, inner, across)   loads a thread's elements of the turned operands: a struct with `keep(shared)`
//     in_tile(p, origin, i, j)   the addresses of the group that begins at (i, j) of a tile
//     turn<N>(group, shared, i, j)   reads the turned operands of a group
//
// The loops are those over tiles. Beside the offsets of the operands at its first element, the origin of a tile has its
// positions in the inner loop and in the other one.

namespace bl {

// The elements of a turned operand that one thread moves, which are neighbours along the inner loop: they are whole words.
template <class T, int TILE> struct Turned {
    // One more word per row, so that neighbouring threads, which write to neighbouring rows, use different banks.
    enum { COUNT = TILE * TILE / BL_THREADS, PITCH = TILE * int(sizeof(T)) + 4, BYTES = TILE * PITCH };
    T item[COUNT];

    // Loads them from the tile at this address. Neighbouring threads load neighbours along the other loop; neighbours along
    // the inner loop are `step` bytes apart.
    template <bool FULL> static BL_FN Turned load(u64 address, i64 step, u32 inner, u32 across) {
        const u32 i = threadIdx.x / TILE * COUNT, j = threadIdx.x % TILE;
        address += j * u32(sizeof(T)) + u64(i64(i) * step);
        Turned turned;
#pragma unroll
        for (int k = 0; k < COUNT; ++k, address += u64(step))
            if (FULL || (i + k < inner && j < across)) turned.item[k] = bl::load<T>(address);
        return turned;
    }

    BL_FN void keep(unsigned char* shared) const {
        const u32 i = threadIdx.x / TILE * COUNT, j = threadIdx.x % TILE;
        u32* words = reinterpret_cast<u32*>(shared + j * PITCH + i * u32(sizeof(T)));
        const auto all = bundle(item);
#pragma unroll
        for (int k = 0; k < COUNT * int(sizeof(T)) / 4; ++k) words[k] = all.word[k];
    }

    // N elements along the inner loop, from a multiple of N on.
    template <int N> static BL_FN Each<T, N> read(const unsigned char* shared, u32 i, u32 j) {
        const unsigned char* first = shared + j * PITCH + i * u32(sizeof(T));
        Each<T, N> each;
        if constexpr (N * sizeof(T) >= 4) {
            Bundle<N * int(sizeof(T))> bundle;
#pragma unroll
            for (int k = 0; k < N * int(sizeof(T)) / 4; ++k) bundle.word[k] = reinterpret_cast<const u32*>(first)[k];
#pragma unroll
            for (int k = 0; k < N; ++k) each.item[k] = element<T>(bundle, k);
        } else {
#pragma unroll
            for (int k = 0; k < N; ++k) each.item[k] = from_bits<T>(reinterpret_cast<const Bits<T>*>(first)[k]);
        }
        return each;
    }
};

// FULL: the tile has TILE elements along both loops. Otherwise it has `inner`, a multiple of GROUP, and `across`.
template <class K, bool FULL, class Origin>
BL_FN void map_tile(const typename K::Params& p, const Origin& origin, u32 inner, u32 across, unsigned char* shared) {
    enum { GROUPS = K::TILE / K::GROUP, APART = BL_THREADS / GROUPS };
    const typename K::Kept kept = K::keep(p, p.at);
    const u32 i = threadIdx.x % GROUPS * K::GROUP, j = threadIdx.x / GROUPS;
    const auto staged = K::template stage<FULL>(p, origin, inner, across);
    if constexpr (K::DEPTH > 1) {
        typename K::template Group<K::GROUP> group[K::PARTS];
        u64 out[K::PARTS];
#pragma unroll
        for (int k = 0; k < K::PARTS; ++k) {
            if (FULL || (i < inner && j + k * APART < across)) {
                const auto at = K::in_tile(p, origin, i, j + k * APART);
                group[k] = K::template load<K::GROUP>(p, at);
                out[k] = at.address[0];
            }
        }
        staged.keep(shared);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < K::PARTS; ++k) {
            if (FULL || (i < inner && j + k * APART < across)) {
                K::template turn<K::GROUP>(group[k], shared, i, j + k * APART);
                compute_and_store<K, K::GROUP>(p, kept, group[k], out[k]);
            }
        }
    } else {
        staged.keep(shared);
        __syncthreads();
#pragma unroll 1
        for (u32 k = 0; k < K::PARTS; ++k) {
            if (FULL || (i < inner && j + k * APART < across)) {
                const auto at = K::in_tile(p, origin, i, j + k * APART);
                auto group = K::template load<K::GROUP>(p, at);
                K::template turn<K::GROUP>(group, shared, i, j + k * APART);
                compute_and_store<K, K::GROUP>(p, kept, group, at.address[0]);
            }
        }
    }
}

// One block per tile.
template <class K> BL_FN void map_tiles(const typename K::Params& p) {
    typedef typename K::Index Index;
    __shared__ u32 shared[K::SHARED / 4];
    Index origin[K::LOCATED + 2];
    locate(p.loops, Index(blockIdx.x), origin);
    const Index inner = Index(p.inner_size) - origin[K::LOCATED], across = Index(p.across_size) - origin[K::LOCATED + 1];
    unsigned char* bytes = reinterpret_cast<unsigned char*>(shared);
    if (inner >= K::TILE && across >= K::TILE) map_tile<K, true>(p, origin, K::TILE, K::TILE, bytes);
    else map_tile<K, false>(p, origin, u32(inner < K::TILE ? inner : K::TILE), u32(across < K::TILE ? across : K::TILE), bytes);
}

}  // namespace bl
