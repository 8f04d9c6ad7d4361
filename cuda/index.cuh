// From a position in the loop nest to the offsets of the operands, by dividing it by one dimension after another and
// adding up steps (params.h). With 32-bit indices, positions are below 2^31 and division is a multiplication by a
// constant that the host computed; generated kernels with 64-bit indices divide.

namespace bl {

BL_FN u32 divide_by(u32 n, BlDivisor d) { return multiply_high(n, d.magic) >> d.shift; }

// Element offsets of both operands.
struct PairOffsets { i32 lhs, rhs; };

// Unrolled, for the fast path of gen and gath. `outer` receives the position divided by the size of dimension 0.
template <int RANK> BL_FN PairOffsets locate(const BlStridedDim* dims, u32 n, u32& outer) {
    u32 lhs = 0, rhs = 0;
#pragma unroll
    for (int d = 0; d < RANK; ++d) {
        lhs += n * u32(dims[d].lhs_step);
        rhs += n * u32(dims[d].rhs_step);
        if (d < RANK - 1) n = divide_by(n, dims[d].size);
        if (d == 0) outer = n;
    }
    return {i32(lhs), i32(rhs)};
}

// The same in a loop: smaller code, for the paths that few threads take.
BL_FN PairOffsets locate(const BlStridedDim* dims, u32 rank, u32 n) {
    u32 lhs = 0, rhs = 0;
#pragma unroll 1
    for (u32 d = 0; d < rank; ++d) {
        lhs += n * u32(dims[d].lhs_step);
        rhs += n * u32(dims[d].rhs_step);
        n = divide_by(n, dims[d].size);
    }
    return {i32(lhs), i32(rhs)};
}

// The loops of a generated kernel over any number of operands, innermost first. With 32-bit indices a size is the bits
// of a BlDivisor, with 64-bit indices the size itself. Unused loops: a divisor of all zeros, or size 1; steps 0.
template <int RANK, int OPERANDS> struct Loops {
    u64 size[RANK];
    i64 step[RANK][OPERANDS];
};
BL_FN u32 divide_by(u32 n, u64 size) { return divide_by(n, BlDivisor{low_half(size), u32(size >> 32)}); }
BL_FN u64 divide_by(u64 n, u64 size) { return n / size; }

// Computes the offsets of all operands in elements; they wrap in Index, as the steps do. Returns the position divided
// by the size of the inner loop.
template <class Index, int RANK, int OPERANDS>
BL_FN Index locate(const Loops<RANK, OPERANDS>& loops, Index n, Index (&offset)[OPERANDS]) {
    Index outer = 0;
#pragma unroll
    for (int k = 0; k < OPERANDS; ++k) offset[k] = 0;
#pragma unroll
    for (int d = 0; d < RANK; ++d) {
#pragma unroll
        for (int k = 0; k < OPERANDS; ++k) offset[k] += n * Index(loops.step[d][k]);
        if (d < RANK - 1) n = divide_by(n, loops.size[d]);
        if (d == 0) outer = RANK > 1 ? n : 0;
    }
    return outer;
}

// The address of an element at an offset that has wrapped: 32-bit offsets are read as signed.
template <u32 SIZE> BL_FN u64 displace(u64 base, u32 offset) { return advance<SIZE>(base, i32(offset)); }
template <u32 SIZE> BL_FN u64 displace(u64 base, u64 offset) { return advance<SIZE>(base, offset); }

}  // namespace bl
