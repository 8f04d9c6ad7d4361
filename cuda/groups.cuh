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
};

// The same element for all.
template <class T> struct One {
    T item;
    static BL_FN One load(u64 address) { return One{bl::load<T>(address)}; }
    BL_FN T get(int) const { return item; }
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

// The same where a mask decides. Whole parts are stored at once, the others element by element; nothing is read back.
template <class T, int N, class Mask> BL_FN void store_run_where(u64 address, const T (&x)[N], const Mask& mask) {
    enum { BYTES = N * int(sizeof(T)), ONCE = BYTES < 16 ? BYTES : 16, EACH = ONCE / int(sizeof(T)) };
#pragma unroll
    for (int i = 0; i < N / EACH; ++i) {
        T part[EACH];
        u32 all = 1;
#pragma unroll
        for (int k = 0; k < EACH; ++k) part[k] = x[i * EACH + k], all &= mask.get(i * EACH + k).bits;
        if constexpr (EACH == 1) {
            if (all) store(address + i * ONCE, part[0]);
        } else if (all) store_bundle(address + i * ONCE, bundle(part));
        else {
#pragma unroll
            for (int k = 0; k < EACH; ++k)
                if (mask.get(i * EACH + k).bits) store(address + i * ONCE + k * sizeof(T), part[k]);
        }
    }
}

template <class T, int N, class Mask> BL_FN void store_each_where(u64 address, const T (&x)[N], const Mask& mask, i64 step = sizeof(T)) {
#pragma unroll
    for (int k = 0; k < N; ++k)
        if (mask.get(k).bits) store(address + u64(k * step), x[k]);
}

}  // namespace bl
