// The hand-written kernel shapes of one binary op in one compute dtype: operands of the compute dtype T, a contiguous
// result of the op's own result dtype R (T or bool). Kernels for everything else are generated on demand.
//
// The module is compiled with -DBL_OP=<op> -DBL_DTYPE=<dtype>; kernels are named {shape}_{op}_{dtype}. Every kernel
// runs BL_THREADS threads per block and takes one struct of params.h by value. LANES = 16 / sizeof(T); a vector is
// LANES elements: 16 bytes of an operand, LANES * sizeof(R) bytes of the result. "Aligned" means aligned to those
// sizes.
//
// Computing in place is safe in every shape: the result may be the same view as an operand, because each element is
// read and written by the same thread, reads first. The host must prevent any other overlap of the result with an
// operand, including any overlap with the broadcast operand of scalar (by address), row, col or a splat of gen.
//
// Each shape has an unrolled path for full blocks, which issues all its loads before it uses the first, and a rolled
// path for everything else. "#pragma unroll 1" keeps the latter small: the compiler would unroll it, at a cost in
// registers.

namespace bl {

enum class Side { left, right };

// apply(moving) computes the op of a moving and a kept operand, each on its own side. A kept right operand is prepared
// only once.
template <class V, Side KEPT, class T> struct KeptVector;
template <class V, class T> struct KeptVector<V, Side::right, T> {
    typename V::Right kept;
    BL_FN explicit KeptVector(const Vector& y) : kept(V::ready(y)) {}
    BL_FN typename V::Out apply(const Vector& x) const { return V::apply(x, kept); }
};
template <class V, class T> struct KeptVector<V, Side::left, T> {
    Vector kept;
    BL_FN explicit KeptVector(const Vector& x) : kept(x) {}
    BL_FN typename V::Out apply(const Vector& y) const { return V::apply(kept, V::ready(y)); }
};
template <class V, Side KEPT, class T> struct KeptElement;
template <class V, class T> struct KeptElement<V, Side::right, T> {
    typename V::Uniform kept;
    BL_FN explicit KeptElement(T y) : kept(V::ready(y)) {}
    BL_FN typename V::Out apply(const Vector& x) const { return V::apply(x, kept); }
};
template <class V, class T> struct KeptElement<V, Side::left, T> {
    Vector kept;
    BL_FN explicit KeptElement(T x) : kept(splat(x)) {}
    BL_FN typename V::Out apply(const Vector& y) const { return V::apply(kept, V::ready(y)); }
};
template <class Op, Side KEPT, class T> BL_FN auto apply_kept(T moving, T kept) {
    if constexpr (KEPT == Side::right) return Op::apply(moving, kept);
    else return Op::apply(kept, moving);
}

// Elements that no vector covers: f(i) for -head <= i < 0 and for body <= i < body + tail. One block has enough
// threads.
template <class F> BL_FN void at_the_edges(u32 head, u64 body, u32 tail, F f) {
    const u32 thread = threadIdx.x;
    if (thread < head + tail) f(i64(thread) - i64(head) + (thread < head ? 0 : i64(body)));
}

// Loads one element without sign extension, for uses that discard the extended bits.
template <class T> BL_FN T load_unextended(u64 address) {
    if constexpr (sizeof(T) < 4) return from_bits<T>(load<Bits<T>>(address));
    else return load<T>(address);
}

// ---- contig ------------------------------------------------------------------------------------------------------
// out[i] = lhs[i] op rhs[i], BlLinear. out, lhs and rhs aligned (the addresses are those of the first body element, so
// a view may begin anywhere if all three become aligned after the same `head` elements). vectors <= 2^32 - 2^11;
// element counts and addresses are 64 bits wide. The host takes contig for fewer than 2^31 vectors, else a generated
// kernel.
// Grid: full_blocks, plus one block if vectors % (BL_THREADS * BL_CONTIG_VECTORS), head or tail is not zero.
template <class Op, class T> BL_FN void contig(const BlLinear& p) {
    typedef VectorOp<Op, T> V;
    enum { STEP = BL_THREADS, DEPTH = BL_CONTIG_VECTORS, OUT = V::OUT_BYTES };
    const u32 first = blockIdx.x * (STEP * DEPTH) + threadIdx.x;
    const u64 lhs = advance<16>(p.lhs, first), rhs = advance<16>(p.rhs, first), out = advance<OUT>(p.out, first);
    if (blockIdx.x < p.full_blocks) {
        Vector x[DEPTH], y[DEPTH];
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) x[k] = load_vector(lhs + k * STEP * 16), y[k] = load_vector(rhs + k * STEP * 16);
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) store_bundle(out + k * STEP * OUT, V::apply(x[k], V::ready(y[k])));
        return;
    }
#pragma unroll 1
    for (u32 k = 0; k < DEPTH && first + k * STEP < p.vectors; ++k) {
        Vector x = load_vector(lhs + k * STEP * 16), y = load_vector(rhs + k * STEP * 16);
        store_bundle(out + k * STEP * OUT, V::apply(x, V::ready(y)));
    }
    at_the_edges(p.head, u64(p.vectors) * lanes<T>(), p.tail, [&](i64 i) {
        T x = load<T>(p.lhs + i * i64(sizeof(T))), y = load<T>(p.rhs + i * i64(sizeof(T)));
        store(p.out + i * i64(sizeof(typename V::Result)), Op::apply(x, y));
    });
}

// ---- scalar, lscalar ---------------------------------------------------------------------------------------------
// scalar: out[i] = lhs[i] op s, s = the element at address rhs, or `value` if rhs is 0. lscalar: out[i] = s op rhs[i],
// s from lhs likewise. BlLinear; conditions as for contig. full_blocks = 0 if s is in memory: full blocks use only
// `value`. Vectors per thread: BL_SCALAR_VECTORS, BL_SCALAR_VECTORS_WIDE for dtypes of 8 bytes or more.
// Grid: ceil(vectors / (BL_THREADS * vectors per thread)), plus one block if that is exact and head or tail is not
// zero.
template <class Op, class T, Side KEPT> BL_FN void scalar(const BlLinear& p) {
    typedef VectorOp<Op, T> V;
    enum { STEP = BL_THREADS, DEPTH = sizeof(T) < 8 ? BL_SCALAR_VECTORS : BL_SCALAR_VECTORS_WIDE, OUT = V::OUT_BYTES };
    const u64 source = KEPT == Side::right ? p.lhs : p.rhs, kept_at = KEPT == Side::right ? p.rhs : p.lhs;
    const u32 first = blockIdx.x * (STEP * DEPTH) + threadIdx.x;
    const u64 in = advance<16>(source, first), out = advance<OUT>(p.out, first);
    if (blockIdx.x < p.full_blocks) {
        const KeptElement<V, KEPT, T> kept(immediate<T>(p.value));
        Vector x[DEPTH];
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) x[k] = load_vector(in + k * STEP * 16);
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) store_bundle(out + k * STEP * OUT, kept.apply(x[k]));
        return;
    }
    const T s = kept_at ? load<T>(kept_at) : immediate<T>(p.value);
    const KeptElement<V, KEPT, T> kept(s);
#pragma unroll 1
    for (u32 k = 0; k < DEPTH && first + k * STEP < p.vectors; ++k)
        store_bundle(out + k * STEP * OUT, kept.apply(load_vector(in + k * STEP * 16)));
    if (blockIdx.x != gridDim.x - 1) return;
    at_the_edges(p.head, u64(p.vectors) * lanes<T>(), p.tail, [&](i64 i) {
        T x = load<T>(source + i * i64(sizeof(T)));
        store(p.out + i * i64(sizeof(typename V::Result)), apply_kept<Op, KEPT>(x, s));
    });
}

// ---- row, lrow ---------------------------------------------------------------------------------------------------
// row: out[r][c] = lhs[r][c] op rhs[c]; lrow: out[r][c] = lhs[c] op rhs[r][c]. BlMatrix; all three aligned and the
// number of columns a multiple of LANES; rows < 2^31, row_bytes < 2^32. A thread keeps one vector of the broadcast row
// and computes BL_ROW_ROWS rows, rows_apart apart. tile_log2 in 0..=8: the host takes the largest one that leaves no
// more than a quarter of the threads without a vector.
// Grid: x = ceil(rows / (BL_ROW_ROWS * rows_apart)), y = ceil(row_vectors / 2^tile_log2) <= 65535.
template <class Op, class T, Side KEPT> BL_FN void row(const BlMatrix& p) {
    typedef VectorOp<Op, T> V;
    enum { DEPTH = BL_ROW_ROWS, OUT = V::OUT_BYTES };
    const u32 column = (blockIdx.y << p.tile_log2) + (threadIdx.x & p.tile_mask);
    const u32 first = (blockIdx.x << p.block_rows_log2) + (threadIdx.x >> p.tile_log2);
    if (column >= p.row_vectors) return;
    const u64 source = KEPT == Side::right ? p.lhs : p.rhs, kept_at = KEPT == Side::right ? p.rhs : p.lhs;
    const u64 in = advance<16>(source, column), out = advance<OUT>(p.out, column);
    const Vector broadcast = load_vector(advance<16>(kept_at, column));
    if (first < p.full_rows) {
        u32 at[DEPTH] = {first};
#pragma unroll
        for (int k = 1; k < DEPTH; ++k) at[k] = at[k - 1] + p.rows_apart;
        Vector x[DEPTH];
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) x[k] = load_vector(advance(in, at[k], p.row_bytes));
        const KeptVector<V, KEPT, T> kept(broadcast);
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) store_bundle(advance(out, at[k], p.out_row_bytes), kept.apply(x[k]));
        return;
    }
    const KeptVector<V, KEPT, T> kept(broadcast);
    u32 at = first;
#pragma unroll 1
    for (u32 k = 0; k < DEPTH && at < p.rows; ++k, at += p.rows_apart)
        store_bundle(advance(out, at, p.out_row_bytes), kept.apply(load_vector(advance(in, at, p.row_bytes))));
}

// ---- col, lcol ---------------------------------------------------------------------------------------------------
// col: out[r][c] = lhs[r][c] op rhs[r]; lcol: out[r][c] = lhs[r] op rhs[r][c]. BlMatrix; the matrices aligned, the
// column contiguous and of any alignment; the number of columns a multiple of LANES; rows < 2^31, row_bytes < 2^32.
// Meant for long rows: the host takes it if row_vectors fills its blocks to three quarters or more, else gen2 with a
// splat if its limits allow.
// Grid: x = rows, y = ceil(row_vectors / (BL_THREADS * BL_COL_VECTORS)) <= 65535.
template <class Op, class T, Side KEPT> BL_FN void col(const BlMatrix& p) {
    typedef VectorOp<Op, T> V;
    enum { STEP = BL_THREADS, DEPTH = BL_COL_VECTORS, OUT = V::OUT_BYTES };
    const u32 r = blockIdx.x, column = blockIdx.y * (STEP * DEPTH) + threadIdx.x;
    const u64 source = KEPT == Side::right ? p.lhs : p.rhs, kept_at = KEPT == Side::right ? p.rhs : p.lhs;
    const u64 in = advance<16>(advance(source, r, p.row_bytes), column);
    const u64 out = advance<OUT>(advance(p.out, r, OUT == 16 ? p.row_bytes : p.out_row_bytes), column);
    const KeptElement<V, KEPT, T> kept(load_unextended<T>(advance<sizeof(T)>(kept_at, r)));
    if ((blockIdx.y + 1) * (STEP * DEPTH) <= p.row_vectors) {
        Vector x[DEPTH];
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) x[k] = load_vector(in + k * STEP * 16);
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) store_bundle(out + k * STEP * OUT, kept.apply(x[k]));
        return;
    }
#pragma unroll 1
    for (u32 k = 0; k < DEPTH && column + k * STEP < p.row_vectors; ++k)
        store_bundle(out + k * STEP * OUT, kept.apply(load_vector(in + k * STEP * 16)));
}

// ---- gen2, gen4, gen8 --------------------------------------------------------------------------------------------
// Up to 2, 4, 8 dimensions; along the inner one, each operand has stride 1 ("runs") or 0 ("splat"). BlStrided: out
// aligned; inner size a multiple of LANES; an operand that runs is aligned, its outer strides multiples of LANES; a
// splat may have any outer strides and alignment. Dimension 0 counts vectors: size = inner size / LANES, stride = LANES
// for an operand that runs, 0 for a splat; if that size is 1 the host drops the dimension. Unused dimensions: all zero.
// Total elements and |offset| of either operand < 2^31 elements. full_blocks = 0 if an operand is a splat: full blocks
// handle only operands that run.
// Grid: ceil(vectors / (BL_THREADS * BL_GEN_VECTORS)).
template <class T> BL_FN Vector load_running_or_splat(u64 address, u32 is_splat) {
    if (is_splat) return splat(load<T>(address));
    return load_vector(address);
}
template <class Op, class T, int RANK> BL_FN void gen(const BlStrided& p) {
    typedef VectorOp<Op, T> V;
    enum { STEP = BL_THREADS, DEPTH = BL_GEN_VECTORS, OUT = V::OUT_BYTES, SIZE = sizeof(T) };
    const u32 first = blockIdx.x * (STEP * DEPTH) + threadIdx.x;
    const u64 out = advance<OUT>(p.out, first);
    if (blockIdx.x < p.full_blocks) {
        Vector x[DEPTH], y[DEPTH];
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            u32 outer;
            const PairOffsets at = locate<RANK>(p.dims, first + k * STEP, outer);
            x[k] = load_vector(advance<SIZE>(p.lhs, at.lhs));
            y[k] = load_vector(advance<SIZE>(p.rhs, at.rhs));
        }
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) store_bundle(out + k * STEP * OUT, V::apply(x[k], V::ready(y[k])));
        return;
    }
#pragma unroll 1
    for (u32 k = 0; k < DEPTH && first + k * STEP < p.vectors; ++k) {
        const PairOffsets at = locate(p.dims, RANK, first + k * STEP);
        const Vector x = load_running_or_splat<T>(advance<SIZE>(p.lhs, at.lhs), p.lhs_splat);
        const Vector y = load_running_or_splat<T>(advance<SIZE>(p.rhs, at.rhs), p.rhs_splat);
        store_bundle(out + k * STEP * OUT, V::apply(x, V::ready(y)));
    }
}

// ---- gath2, gath4, gath8 -----------------------------------------------------------------------------------------
// Up to 2, 4, 8 dimensions, any strides (including 0 and negative ones), any inner size, any alignment of the operands.
// BlStrided: the result is contiguous and aligned at its body, which begins `head` elements in; dims count elements;
// sizes >= 2, unused dimensions as for gen. Total elements and |offset| of either operand < 2^31 elements. A thread
// gathers LANES elements and stores one vector; two further threads compute tail and head. full_blocks is not used.
// Grid: ceil((vectors + 2) / BL_THREADS).
template <class Op, class T, int RANK> BL_FN void gath(const BlStrided& p) {
    typedef VectorOp<Op, T> V;
    typedef typename V::Result R;
    typedef typename LaneOf<Op, T>::type Lane;
    typedef decltype(Op::apply(Lane(), Lane())) LaneResult;
    enum { LANES = lanes<T>(), SIZE = sizeof(T) };
    const u32 vector = blockIdx.x * BL_THREADS + threadIdx.x;
    u32 n = p.head + vector * LANES, outer;
    const PairOffsets at = locate<RANK>(p.dims, n, outer);
    if ((vector < p.vectors) & (n - outer * p.inner_size < p.inner_starts)) {  // all in one inner run
        const u64 lhs = advance<SIZE>(p.lhs, at.lhs), rhs = advance<SIZE>(p.rhs, at.rhs);
        const i32 lhs_step = p.dims[0].lhs_step, rhs_step = p.dims[0].rhs_step;
        Lane x[LANES], y[LANES];
        LaneResult r[LANES];
#pragma unroll
        for (int k = 0; k < LANES; ++k) {
            x[k] = load<Lane>(lhs + i64(lhs_step) * (k * SIZE));
            y[k] = load<Lane>(rhs + i64(rhs_step) * (k * SIZE));
        }
#pragma unroll
        for (int k = 0; k < LANES; ++k) r[k] = Op::apply(x[k], y[k]);
        store_bundle(advance<V::OUT_BYTES>(p.out, vector), bundle(r));
        return;
    }
    if (vector > p.vectors + 1) return;
    u32 count = LANES;
    if (vector == p.vectors) count = p.tail;
    if (vector == p.vectors + 1) n = 0, count = p.head;
#pragma unroll 1
    for (u32 k = 0; k < count; ++k, ++n) {
        const PairOffsets at = locate(p.dims, RANK, n);
        const T x = load<T>(advance<SIZE>(p.lhs, at.lhs)), y = load<T>(advance<SIZE>(p.rhs, at.rhs));
        store(advance<sizeof(R)>(p.out, i32(n - p.head)), Op::apply(x, y));
    }
}

}  // namespace bl
