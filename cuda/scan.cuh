// Scans: all elements along a dimension combined up to each one. The elements are the leaves of a perfect binary tree; a
// prefix that ends in the left half of a tree is the prefix within that half, and one that ends in the right half is the
// total of the left half combined with the prefix within the right half. So a prefix is made from the inside out: that
// within 8 neighbours, then the totals of the groups of 8 to their left, which are those of the nodes at the bits of the
// group's number.
//
// A row is cut into chunks. If there are several, there are three launches: scan_totals computes the total of every chunk,
// scan_nodes those of the nodes above them, and scan_apply the prefixes. A chunk is scanned by a block (Scan) or, where rows
// are short or their elements apart, by one thread (Lane): neighbouring threads then have neighbouring rows, and their loads
// and stores are coalesced.
//
// A total is S (totals.cuh), an element T, a result R.

namespace bl {

// The elements are those of `rows` scans: row r begins at element (r / inner) * len * inner + r % inner, and its elements
// are `inner` elements apart. A row has `chunks` chunks of `run` elements, a power of two.
struct ScanParams {
    u64 from, to;  // addresses
    u64 nodes;     // the address of 2 * chunks totals per row: those of all chunks, then of pairs of chunks, and so on
    u64 rows, len, inner, chunks, run;
    BL_FN u64 start(u64 row) const { return row / inner * len * inner + row % inner; }
    template <class S> BL_FN u64 node(u64 row, u64 index) const { return nodes + (row * 2 * chunks + index) * sizeof(S().packed()); }
};

// The prefixes of 8 neighbours of a row, of which the first is at `place`. There are none beyond the end of the row.
template <class S, class T> struct Group {
    enum { EACH = 8 };
    u64 first, place;
    S x[EACH];

    BL_FN Group(const ScanParams& p, u64 start, u64 at) : first(start + at * p.inner), place(at) {
#pragma unroll
        for (int k = 0; k < EACH; ++k)
            x[k] = place + k < p.len ? leaf<S>(bl::load<T>(p.from + (first + k * p.inner) * sizeof(T)), 0) : S::identity();
#pragma unroll
        for (int half = 1; half < EACH; half *= 2)
#pragma unroll
            for (int k = 0; k < EACH; ++k)
                if (k & half) x[k] = sum_of(x[(k & ~(half - 1)) - 1], x[k]);
    }
    BL_FN S total() const { return x[EACH - 1]; }
    BL_FN void combine_with(S left) {
#pragma unroll
        for (int k = 0; k < EACH; ++k) x[k] = sum_of(left, x[k]);
    }
    // Combines with the chunks before this one, from the nearest to the farthest.
    BL_FN void combine_with_chunks(const ScanParams& p, u64 row, u64 chunk) {
        u64 above = 0;
#pragma unroll 1
        for (u64 count = p.chunks; chunk > 0; chunk /= 2, above += count, count /= 2)
            if (chunk & 1) combine_with(S::of(bl::load<decltype(S().packed())>(p.node<S>(row, above + chunk - 1)), 0));
    }
    template <class R> BL_FN void store(const ScanParams& p) const {
#pragma unroll
        for (int k = 0; k < EACH; ++k)
            if (place + k < p.len) bl::store(p.to + (first + k * p.inner) * sizeof(R), convert<R>(x[k].total()));
    }
};

// A block scans a chunk, each thread a group of it.
template <class S, class T> struct Scan {
    // Computes the totals of all threads, of pairs of them, and so on. The last is that of the block.
    static BL_FN void totals(S total, S (&nodes)[2 * BL_THREADS]) {
        nodes[threadIdx.x] = total;
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
    static BL_FN Group<S, T> group(const ScanParams& p, u64 row, u64 chunk) {
        return Group<S, T>(p, p.start(row), chunk * p.run + threadIdx.x * Group<S, T>::EACH);
    }

    static BL_FN void scan_totals(const ScanParams& p) {
        __shared__ S nodes[2 * BL_THREADS];
        const u64 block = block_number(), row = block / p.chunks, chunk = block - row * p.chunks;
        if (row >= p.rows) return;
        totals(group(p, row, chunk).total(), nodes);
        if (threadIdx.x == 0) bl::store(p.node<S>(row, chunk), nodes[2 * BL_THREADS - 2].packed());
    }

    template <class R> static BL_FN void scan_apply(const ScanParams& p) {
        __shared__ S nodes[2 * BL_THREADS];
        const u64 block = block_number(), row = block / p.chunks, chunk = block - row * p.chunks;
        if (row >= p.rows) return;
        Group<S, T> own = group(p, row, chunk);
        totals(own.total(), nodes);
        u32 level = 0;
#pragma unroll 1
        for (u32 thread = threadIdx.x, count = BL_THREADS; thread > 0; thread /= 2, level += count, count /= 2)
            if (thread & 1) own.combine_with(nodes[level + thread - 1]);
        own.combine_with_chunks(p, row, chunk);
        own.template store<R>(p);
    }
};

// A thread scans a chunk, group by group, of which there are at most 2^LEVELS.
template <class S, class T> struct Lane {
    enum { LEVELS = 8 };
    u64 row, chunk;
    S nodes[LEVELS];  // where bit k of the number of groups so far is set, the total of the last 2^k of them that are a subtree

    BL_FN Lane(const ScanParams& p) {
        const u64 unit = block_number() * BL_THREADS + threadIdx.x, rest = unit / p.inner;
        chunk = rest % p.chunks;
        row = rest / p.chunks * p.inner + unit % p.inner;
#pragma unroll
        for (int k = 0; k < LEVELS; ++k) nodes[k] = S::identity();
    }
    // How many groups of the chunk begin before the end of the row.
    BL_FN u32 groups(const ScanParams& p) const {
        const u64 left = p.len - chunk * p.run, most = left < p.run ? left : p.run;
        return u32((most + Group<S, T>::EACH - 1) / Group<S, T>::EACH);
    }
    BL_FN Group<S, T> group(const ScanParams& p, u32 number) const {
        return Group<S, T>(p, p.start(row), chunk * p.run + number * Group<S, T>::EACH);
    }
    // Adds the total of a group. Returns that of the largest subtree that ends with it.
    BL_FN S add(u32 number, S total) {
        bool is_right = true;  // whether what has been combined so far is the right half of a subtree
#pragma unroll
        for (int k = 0; k < LEVELS; ++k) {
            if (is_right && number >> k & 1) total = sum_of(nodes[k], total);
            else if (is_right) nodes[k] = total, is_right = false;
        }
        return total;
    }

    static BL_FN void scan_totals(const ScanParams& p) {
        Lane lane(p);
        if (lane.row >= p.rows) return;
        S total = S::identity();
#pragma unroll 1
        for (u32 number = 0, count = lane.groups(p); number < count; ++number) total = lane.add(number, lane.group(p, number).total());
        bl::store(p.node<S>(lane.row, lane.chunk), total.packed());
    }

    template <class R> static BL_FN void scan_apply(const ScanParams& p) {
        Lane lane(p);
        if (lane.row >= p.rows) return;
#pragma unroll 1
        for (u32 number = 0, count = lane.groups(p); number < count; ++number) {
            Group<S, T> own = lane.group(p, number);
            const S total = own.total();
#pragma unroll
            for (int k = 0; k < LEVELS; ++k)
                if (number >> k & 1) own.combine_with(lane.nodes[k]);
            own.combine_with_chunks(p, lane.row, lane.chunk);
            own.template store<R>(p);
            lane.add(number, total);
        }
    }
};

// One block per row.
template <class S> BL_FN void scan_nodes(const ScanParams& p) {
    typedef decltype(S().packed()) Packed;
    const u64 row = block_number();
    if (row >= p.rows) return;
    u64 from = 0;
#pragma unroll 1
    for (u64 count = p.chunks; count > 1; count /= 2) {
        const u64 to = from + count;
#pragma unroll 1
        for (u64 k = threadIdx.x; k < count / 2; k += BL_THREADS) {
            const S left = S::of(bl::load<Packed>(p.node<S>(row, from + 2 * k)), 0);
            const S right = S::of(bl::load<Packed>(p.node<S>(row, from + 2 * k + 1)), 0);
            bl::store(p.node<S>(row, to + k), sum_of(left, right).packed());
        }
        __syncthreads();
        from = to;
    }
}

}  // namespace bl
