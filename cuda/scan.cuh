// Scans: all elements along a dimension combined up to each one. The elements are the leaves of a perfect binary tree; a
// prefix that ends in the left half of a tree is the prefix within that half, and one that ends in the right half is the
// total of the left half combined with the prefix within the right half. So a prefix is made from the inside out: that
// within a thread, then the totals of the threads to its left, which are those of the nodes at the bits of the thread's
// number, and then the totals of the blocks to its left, at the bits of the block's number.
//
// If there are several blocks along the dimension, there are three launches: scan_totals computes the total of every block,
// scan_nodes those of the nodes above them, and scan_apply the prefixes.
//
// A total is S (totals.cuh), an element T, a result R; K is Scan<S, T>.

namespace bl {

// The elements are those of `rows` scans: row r begins at element (r / inner) * len * inner + r % inner, and its elements
// are `inner` elements apart. A row has `chunks` blocks.
struct ScanParams {
    u64 from, to;  // addresses
    u64 nodes;     // the address of 2 * chunks totals per row: those of all blocks, then of pairs of blocks, and so on
    u64 rows, len, inner, chunks;
};

template <class S, class T> struct Scan {
    enum { EACH = 8, CHUNK = BL_THREADS * EACH };
    typedef decltype(S::identity().packed()) Packed;

    u64 row, chunk;
    S x[EACH];

    static BL_FN u64 element(const ScanParams& p, u64 row, u64 place) {
        return (row / p.inner * p.len + place) * p.inner + row % p.inner;
    }
    BL_FN u64 place(int k) const { return chunk * CHUNK + threadIdx.x * EACH + k; }
    static BL_FN u64 node(const ScanParams& p, u64 row, u64 index) { return p.nodes + (row * 2 * p.chunks + index) * sizeof(Packed); }

    // Loads the elements of this thread and combines them up to each one.
    BL_FN Scan(const ScanParams& p) {
        const u64 block = block_number();
        row = block / p.chunks, chunk = block - row * p.chunks;
#pragma unroll
        for (int k = 0; k < EACH; ++k)
            x[k] = place(k) < p.len ? leaf<S>(bl::load<T>(p.from + element(p, row, place(k)) * sizeof(T)), 0) : S::identity();
#pragma unroll
        for (int half = 1; half < EACH; half *= 2)
#pragma unroll
            for (int k = 0; k < EACH; ++k)
                if (k & half) x[k] = sum_of(x[(k & ~(half - 1)) - 1], x[k]);
    }

    BL_FN void combine_with(S left) {
#pragma unroll
        for (int k = 0; k < EACH; ++k) x[k] = sum_of(left, x[k]);
    }

    // Computes the totals of all threads, of pairs of them, and so on. The last is that of the block.
    BL_FN void totals(S (&nodes)[2 * BL_THREADS]) const {
        nodes[threadIdx.x] = x[EACH - 1];
        __syncthreads();
        u32 from = 0;
#pragma unroll 1
        for (u32 count = BL_THREADS; count > 1; count /= 2) {
            const u32 to = from + count;
            if (threadIdx.x < count / 2) nodes[to + threadIdx.x] = sum_of(nodes[from + 2 * threadIdx.x], nodes[from + 2 * threadIdx.x + 1]);
            __syncthreads();
            from = to;
        }
    }
};

template <class K, class S> BL_FN void scan_totals(const ScanParams& p) {
    __shared__ S nodes[2 * BL_THREADS];
    if (block_number() >= p.rows * p.chunks) return;
    const K scan(p);
    scan.totals(nodes);
    if (threadIdx.x == 0) bl::store(K::node(p, scan.row, scan.chunk), nodes[2 * BL_THREADS - 2].packed());
}

// One block per row.
template <class K, class S> BL_FN void scan_nodes(const ScanParams& p) {
    const u64 row = block_number();
    if (row >= p.rows) return;
    u64 from = 0;
#pragma unroll 1
    for (u64 count = p.chunks; count > 1; count /= 2) {
        const u64 to = from + count;
#pragma unroll 1
        for (u64 k = threadIdx.x; k < count / 2; k += BL_THREADS) {
            const S left = S::of(bl::load<typename K::Packed>(K::node(p, row, from + 2 * k)), 0);
            const S right = S::of(bl::load<typename K::Packed>(K::node(p, row, from + 2 * k + 1)), 0);
            bl::store(K::node(p, row, to + k), sum_of(left, right).packed());
        }
        __syncthreads();
        from = to;
    }
}

template <class K, class S, class R> BL_FN void scan_apply(const ScanParams& p) {
    __shared__ S nodes[2 * BL_THREADS];
    if (block_number() >= p.rows * p.chunks) return;
    K scan(p);
    scan.totals(nodes);
    u32 level = 0;
#pragma unroll 1
    for (u32 thread = threadIdx.x, count = BL_THREADS; thread > 0; thread /= 2, level += count, count /= 2)
        if (thread & 1) scan.combine_with(nodes[level + thread - 1]);
    u64 above = 0;
#pragma unroll 1
    for (u64 chunk = scan.chunk, count = p.chunks; chunk > 0; chunk /= 2, above += count, count /= 2)
        if (chunk & 1) scan.combine_with(S::of(bl::load<typename K::Packed>(K::node(p, scan.row, above + chunk - 1)), 0));
#pragma unroll
    for (int k = 0; k < K::EACH; ++k)
        if (scan.place(k) < p.len) bl::store(p.to + K::element(p, scan.row, scan.place(k)) * sizeof(R), convert<R>(scan.x[k].total()));
}

}  // namespace bl
