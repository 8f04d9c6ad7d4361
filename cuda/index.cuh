// From a position in the loop nest to the places of the operands, by dividing it down dimension after dimension and adding
// up steps (params.h). Division is a multiplication by a number that the host made; positions stay below 2^31.

namespace bl {

BL_FN u32 divide_by(u32 n, BlDivisor d) { return multiply_high(n, d.magic) >> d.shift; }

// Element offsets of both operands.
struct PairOffsets { i32 lhs, rhs; };

// Unrolled: the fast path of gen and gath. `outer` receives the position without dimension 0.
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

// The same in a loop: small code, for the paths that few threads take.
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

// Element offsets of all roles of a mixed launch. Index is u32 (the host made sure that everything fits in 31 bits) or u64;
// the sums wrap in it.
template <class Index> struct RoleOffsets { Index role[BL_ROLES]; };
BL_FN i64 signed_offset(u32 wrapped) { return i32(wrapped); }
BL_FN i64 signed_offset(u64 wrapped) { return i64(wrapped); }

template <class Index> BL_FN RoleOffsets<Index> locate(const BlMixed& p, Index n) {
    RoleOffsets<Index> at = {{0, 0, 0, 0}};
#pragma unroll 1
    for (u32 d = 0; d < p.rank; ++d) {
        const BlMixedDim& dim = p.dims[d];
#pragma unroll
        for (int r = 0; r < BL_ROLES; ++r) at.role[r] += n * Index(dim.step[r]);
        if constexpr (same<Index, u32>()) n = divide_by(n, dim.divisor);
        else n = n / dim.size;
    }
    return at;
}

}  // namespace bl
