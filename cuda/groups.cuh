// Groups: the N consecutive elements of the loop nest that a thread of a generated kernel takes at once. How an operand's part
// of a group is read depends on its class, and so does the type that holds it; get(k) gives element k of any of them.

namespace bl {

// Side by side, from an address that N elements (or 16 bytes) divide: as few accesses as there can be. The elements stay in
// words until they are asked for.
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
    BL_FN bool all() const {  // of bools
        enum { WORDS = (ONCE + 3) / 4 };
        u32 both = ~0u;
#pragma unroll
        for (int i = 0; i < N / EACH; ++i)
#pragma unroll
            for (int k = 0; k < WORDS; ++k) both &= part[i].word[k];
        return both == (ONCE >= 4 ? 0x01010101u : ONCE == 2 ? 0x0101u : 1u);
    }
};

// One by one: elements that are not aligned, or a step of so many bytes apart.
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

// The same element for all.
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

// Results of f32 that are stored as f16 or bf16, two at a time. SIGNED: a NaN keeps its sign.
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

// The same where a mask decides: a whole group as above, any other element by element. Nothing is read back.
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
