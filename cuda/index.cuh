// From a position in the loop nest to the places of the operands. Division is a multiplication by a number that the host
// made (params.h: BlDivisor); positions stay below 2^31.

namespace bl {

BL_FN u32 divide_by(u32 n, u32 magic, u32 shift) { return multiply_high(n, magic) >> shift; }

// Element offsets of both operands.
struct PairOffsets { i32 lhs, rhs; };

// Takes position n apart along RANK dimensions, innermost first. The last one needs no division: what is left is its
// coordinate. `inner` receives the coordinate along dimension 0.
template <int RANK> BL_FN PairOffsets locate(const BlStridedDim* dims, u32 n, u32& inner) {
    PairOffsets at = {0, 0};
#pragma unroll
    for (int d = 0; d < RANK; ++d) {
        u32 coordinate = n;
        if (d < RANK - 1) {
            u32 quotient = divide_by(n, dims[d].size.magic, dims[d].size.shift);
            coordinate = n - quotient * dims[d].size.divisor;
            n = quotient;
        }
        if (d == 0) inner = coordinate;
        at.lhs += i32(coordinate) * dims[d].lhs_stride;
        at.rhs += i32(coordinate) * dims[d].rhs_stride;
    }
    return at;
}

// Element offsets of all roles of a mixed launch. Index is u32 (the host made sure that everything fits in 31 bits) or u64.
template <class Index> struct RoleOffsets;
template <> struct RoleOffsets<u32> { i32 role[BL_ROLES]; };
template <> struct RoleOffsets<u64> { i64 role[BL_ROLES]; };

template <class Index> BL_FN RoleOffsets<Index> locate(const BlMixed& p, Index n) {
    RoleOffsets<Index> at = {{0, 0, 0, 0}};
#pragma unroll 1
    for (u32 d = 0; d < p.rank; ++d) {
        const BlMixedDim& dim = p.dims[d];
        Index quotient;
        if constexpr (same<Index, u32>()) quotient = divide_by(n, dim.magic, dim.shift);
        else quotient = n / dim.size;
        Index coordinate = n - quotient * Index(dim.size);
        n = quotient;
#pragma unroll
        for (int r = 0; r < BL_ROLES; ++r) at.role[r] += decltype(at.role[r] + 0)(coordinate) * decltype(at.role[r] + 0)(dim.stride[r]);
    }
    return at;
}

}  // namespace bl
