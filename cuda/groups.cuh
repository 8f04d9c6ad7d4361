// Groups: the N consecutive elements of the loop nest that a thread of a generated kernel loads at once. The access
// pattern of an operand determines the type that loads and holds its elements; get(k) returns element k for each of
// these types.

namespace bl {

// Contiguous elements at an address aligned to N elements or to 16 bytes, whichever is less: vector accesses. The
// elements stay packed in words until get(k).
template <class T, int N> struct Run {
    enum { BYTES = N * int(sizeof(T)), ONCE = BYTES < 16 ? BYTES : 16, EACH = ONCE / int(sizeof(T)) };
    Bundle<ONCE> part[N / EACH];
    static BL_FN Run load(u64 address) {
        Run run;
#pragma unroll
        for (int i = 0; i < N / EACH; ++i) run.part[i] = load_bundle<ONCE>(address + i * ONCE);
        return run;
    }
    BL_FN T get(int k) const { return element<T>(part[k / EACH], k % EACH); }
    BL_FN bool all() const {  // for bools only
        enum { WORDS = (ONCE + 3) / 4 };
        u32 both = ~0u;
#pragma unroll
        for (int i = 0; i < N / EACH; ++i)
#pragma unroll
            for (int k = 0; k < WORDS; ++k) both &= part[i].word[k];
        return both == (ONCE >= 4 ? 0x01010101u : ONCE == 2 ? 0x0101u : 1u);
    }
};

// Elements loaded one by one: unaligned, or `step` bytes apart.
template <class T, int N> struct Each {
    T item[N];
    static BL_FN Each load(u64 address, i64 step = sizeof(T)) {
        Each each;
#pragma unroll
        for (int k = 0; k < N; ++k) each.item[k] = bl::load<T>(address + u64(k * step));
        return each;
    }
    BL_FN T get(int k) const { return item[k]; }
    BL_FN bool all() const {
        u32 both = 1;
#pragma unroll
        for (int k = 0; k < N; ++k) both &= item[k].bits;
        return both != 0;
    }
};

// One element for the whole group.
template <class T> struct One {
    T item;
    static BL_FN One load(u64 address) { return One{bl::load<T>(address)}; }
    BL_FN T get(int) const { return item; }
    BL_FN bool all() const { return item.bits != 0; }
};

template <class T, int N> BL_FN void store_run(u64 address, const T (&x)[N]) {
    enum { BYTES = N * int(sizeof(T)), ONCE = BYTES < 16 ? BYTES : 16, EACH = ONCE / int(sizeof(T)) };
#pragma unroll
    for (int i = 0; i < N / EACH; ++i) {
        T part[EACH];
#pragma unroll
        for (int k = 0; k < EACH; ++k) part[k] = x[i * EACH + k];
        if constexpr (EACH == 1) store(address + i * ONCE, part[0]);
        else store_bundle(address + i * ONCE, bundle(part));
    }
}

template <class T, int N> BL_FN void store_each(u64 address, const T (&x)[N], i64 step = sizeof(T)) {
#pragma unroll
    for (int k = 0; k < N; ++k) store(address + u64(k * step), x[k]);
}

// Stores f32 results as f16 or bf16, rounding two at a time. SIGNED: a NaN keeps its sign.
template <class H, bool SIGNED, int N> BL_FN void store_run_rounded(u64 address, const f32 (&x)[N]) {
    if constexpr (N == 1) store(address, SIGNED ? to_float<H>(x[0]) : round_to<H>(x[0]));
    else {
        enum { BYTES = 2 * N, ONCE = BYTES < 16 ? BYTES : 16, WORDS = ONCE / 4 };
#pragma unroll
        for (int i = 0; i < BYTES / ONCE; ++i) {
            Bundle<ONCE> part;
#pragma unroll
            for (int k = 0; k < WORDS; ++k) part.word[k] = round_pair<H, SIGNED>(x[2 * (i * WORDS + k)], x[2 * (i * WORDS + k) + 1]);
            store_bundle(address + i * ONCE, part);
        }
    }
}

// Stores under a mask: a group whose mask is all true as above, any other element by element. The destination is not
// read.
template <class T, int N, class Mask> BL_FN void store_run_where(u64 address, const T (&x)[N], const Mask& mask) {
    if (!mask.all()) {
#pragma unroll
        for (int k = 0; k < N; ++k)
            if (mask.get(k).bits) store(address + k * sizeof(T), x[k]);
        return;
    }
    store_run(address, x);
}

template <class T, int N, class Mask> BL_FN void store_each_where(u64 address, const T (&x)[N], const Mask& mask, i64 step = sizeof(T)) {
#pragma unroll
    for (int k = 0; k < N; ++k)
        if (mask.get(k).bits) store(address + u64(k * step), x[k]);
}

}  // namespace bl
