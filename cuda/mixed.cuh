// The shape for everything the fast shapes do not take: operands of other dtypes, a mask, a result of another dtype or of
// any strides, offsets beyond 31 bits. Each operand is converted to the compute dtype as it is loaded and the result to the
// destination's dtype as it is stored, both as `cast` does. The dtype codes are the same for all threads of a launch, so
// the switches never diverge.

namespace bl {

// ---- mixed, mixedw -----------------------------------------------------------------------------------------------
// BlMixed, BL_MIXED_ELEMENTS elements per thread. Any strides, 0 and negative too (for the result only if no two elements
// share a place). Sizes >= 2 (rank 0 for a single element). mixed: length, and |offset| in elements of every role, < 2^31,
// with the dims' divisors set; mixedw: no limit. In place is safe as in the fast shapes. Unary ops ignore the rhs.
// Grid: ceil(length / (BL_THREADS * BL_MIXED_ELEMENTS)).

template <class T, class S> BL_FN T load_as(u64 base, i64 offset) { return convert<T>(load<S>(base + offset * i64(sizeof(S)))); }

template <class T> BL_FN T load_any(u64 base, i64 offset, u32 dtype, const BlValue& value) {
    switch (dtype) {
        case BL_DTYPE_BOOL: return load_as<T, boolean>(base, offset);
        case BL_DTYPE_U8: return load_as<T, u8>(base, offset);
        case BL_DTYPE_U16: return load_as<T, u16>(base, offset);
        case BL_DTYPE_U32: return load_as<T, u32>(base, offset);
        case BL_DTYPE_U64: return load_as<T, u64>(base, offset);
        case BL_DTYPE_I8: return load_as<T, i8>(base, offset);
        case BL_DTYPE_I16: return load_as<T, i16>(base, offset);
        case BL_DTYPE_I32: return load_as<T, i32>(base, offset);
        case BL_DTYPE_I64: return load_as<T, i64>(base, offset);
    }
    if constexpr (!same<T, anyint>()) {  // `int` compares integers only
        switch (dtype) {
            case BL_DTYPE_F16: return load_as<T, f16>(base, offset);
            case BL_DTYPE_BF16: return load_as<T, bf16>(base, offset);
            case BL_DTYPE_F32: return load_as<T, f32>(base, offset);
            case BL_DTYPE_F64: return load_as<T, f64>(base, offset);
            case BL_DTYPE_C64: return load_as<T, c64>(base, offset);
            case BL_DTYPE_C128: return load_as<T, c128>(base, offset);
        }
    }
    return immediate<T>(value);
}

template <class D, class R> BL_FN void store_as(u64 base, i64 offset, R x) { store(base + offset * i64(sizeof(D)), convert<D>(x)); }

template <class R> BL_FN void store_any(u64 base, i64 offset, u32 dtype, R x) {
    switch (dtype) {
        case BL_DTYPE_BOOL: return store_as<boolean>(base, offset, x);
        case BL_DTYPE_U8: return store_as<u8>(base, offset, x);
        case BL_DTYPE_U16: return store_as<u16>(base, offset, x);
        case BL_DTYPE_U32: return store_as<u32>(base, offset, x);
        case BL_DTYPE_U64: return store_as<u64>(base, offset, x);
        case BL_DTYPE_I8: return store_as<i8>(base, offset, x);
        case BL_DTYPE_I16: return store_as<i16>(base, offset, x);
        case BL_DTYPE_I32: return store_as<i32>(base, offset, x);
        case BL_DTYPE_I64: return store_as<i64>(base, offset, x);
        case BL_DTYPE_F16: return store_as<f16>(base, offset, x);
        case BL_DTYPE_BF16: return store_as<bf16>(base, offset, x);
        case BL_DTYPE_F32: return store_as<f32>(base, offset, x);
        case BL_DTYPE_F64: return store_as<f64>(base, offset, x);
        case BL_DTYPE_C64: return store_as<c64>(base, offset, x);
        case BL_DTYPE_C128: return store_as<c128>(base, offset, x);
    }
}

template <class Op, class T, int ARITY, class Index> BL_FN void mixed(const BlMixed& p) {
#pragma unroll 1
    for (u32 k = 0; k < BL_MIXED_ELEMENTS; ++k) {
        const Index n = Index(blockIdx.x) * (BL_THREADS * BL_MIXED_ELEMENTS) + k * BL_THREADS + threadIdx.x;
        if (n >= p.length) return;
        const RoleOffsets<Index> at = locate<Index>(p, n);
        if (p.address[BL_ROLE_MASK] && !load<u8>(p.address[BL_ROLE_MASK] + signed_offset(at.role[BL_ROLE_MASK]))) continue;
        T x, y;
#pragma unroll 1
        for (u32 role = BL_ROLE_LHS; role <= ARITY; ++role) {  // a loop, to hold the switch only once
            x = y;
            y = load_any<T>(p.address[role], signed_offset(role == BL_ROLE_LHS ? at.role[BL_ROLE_LHS] : at.role[BL_ROLE_RHS]), p.dtype[role],
                            p.value[role - BL_ROLE_LHS]);
        }
        if constexpr (ARITY == 1) store_any(p.address[BL_ROLE_OUT], signed_offset(at.role[BL_ROLE_OUT]), p.dtype[BL_ROLE_OUT], Op::apply(y));
        else store_any(p.address[BL_ROLE_OUT], signed_offset(at.role[BL_ROLE_OUT]), p.dtype[BL_ROLE_OUT], Op::apply(x, y));
    }
}

}  // namespace bl
