// Look-ups by index, and the places of what is true.

namespace bl {

// The destination, the operand at the start of the axis, and the indices, over up to 8 loops, innermost first. Steps and
// the stride along the axis are in bytes.
struct GatherParams {
    u64 at[3];
    u64 count, rank, len;
    i64 stride;
    u64 size[BL_MAX_RANK];
    i64 step[BL_MAX_RANK][3];
};

BL_FN u64 element_number() { return (u64(blockIdx.y) * gridDim.x + blockIdx.x) * BL_THREADS + threadIdx.x; }

// One thread per element. An index below 0 counts from the end, and one out of range is clamped: whatever the indices are,
// only elements of the operand are read.
template <class T, class I, class Index> BL_FN void gather(const GatherParams& p) {
    if (element_number() >= p.count) return;
    Index n = Index(element_number());
    u64 at[3] = {p.at[0], p.at[1], p.at[2]};
#pragma unroll 1
    for (u32 d = 0; d < u32(p.rank); ++d) {
        const Index next = n / Index(p.size[d]), turn = n - next * Index(p.size[d]);
#pragma unroll
        for (int k = 0; k < 3; ++k) at[k] += u64(i64(turn) * p.step[d][k]);
        n = next;
    }
    const i64 index = i64(load<I>(at[2])), last = i64(p.len) - 1;
    i64 place = index < 0 ? index + i64(p.len) : index;
    place = place < 0 ? 0 : place > last ? last : place;
    store(at[0], load<T>(at[1] + u64(place * p.stride)));
}

// `at` holds the addresses of the places, of `count` bools, and of their running sums.
BL_FN void write_places(const GatherParams& p) {
    const u64 n = element_number();
    if (n < p.count && load<boolean>(p.at[1] + n).bits)
        store(p.at[0] + u64(load<i64>(p.at[2] + n * sizeof(i64)) - 1) * sizeof(i64), i64(n));
}

}  // namespace bl
