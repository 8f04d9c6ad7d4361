// The entry points: which kernels a module holds follows from its op and compute dtype alone.
//
//     binary ops                   contig scalar lscalar row lrow col lcol gen{2,4,8} gath{2,4,8} mixed mixedw
//     comparisons in dtype `int`   mixed mixedw
//     signbit, cast                contig gath{2,4,8} mixed mixedw
//     copysign_grad                each sum
//
// A fill is mixed_cast_{dtype} with an immediate lhs; a copy of a view into fresh memory is gath{N}_cast_{dtype}.

#if BL_DEVICE
#define BL_JOIN_(a, b) a##b
#define BL_JOIN(a, b) BL_JOIN_(a, b)
#define BL_NAME_(shape, op, dtype) shape##_##op##_##dtype
#define BL_NAME(shape, op, dtype) BL_NAME_(shape, op, dtype)
#define BL_KERNEL(shape, Params) \
    extern "C" __global__ void __launch_bounds__(BL_THREADS) BL_NAME(shape, BL_OP, BL_DTYPE)(const __grid_constant__ Params p)

// Undefined names count as 0 in #if: an op is binary unless it says otherwise.
#define BL_ARITY_signbit 1
#define BL_ARITY_cast 1
#define BL_ARITY_copysign_grad 3
#define BL_ARITY BL_JOIN(BL_ARITY_, BL_OP)
#define BL_ONLY_MIXED_int 1
#define BL_ONLY_MIXED BL_JOIN(BL_ONLY_MIXED_, BL_DTYPE)

#if BL_ARITY == 1
#define BL_OPERANDS 1
#else
#define BL_OPERANDS 2
#endif

namespace bl {
typedef BL_JOIN(dtype_, BL_DTYPE) Compute;
#if BL_ARITY != 3
typedef op::BL_OP Op;
#endif

#if BL_ARITY == 1
// A unary op as a binary one with a right operand that nobody reads.
struct Unary {
    template <class T> static BL_FN auto apply(T x, T) { return Op::apply(x); }
};
#endif
}  // namespace bl

#if BL_ARITY == 3
BL_KERNEL(each, BlGrad) { bl::each_grad<bl::Compute>(p); }
BL_KERNEL(sum, BlGrad) { bl::sum_grad<bl::Compute>(p); }
#else

BL_KERNEL(mixed, BlMixed) { bl::mixed<bl::Op, bl::Compute, BL_OPERANDS, bl::u32>(p); }
BL_KERNEL(mixedw, BlMixed) { bl::mixed<bl::Op, bl::Compute, BL_OPERANDS, bl::u64>(p); }

#if BL_ARITY == 1
BL_KERNEL(contig, BlLinear) { bl::scalar<bl::Unary, bl::Compute, bl::Side::right>(p); }
BL_KERNEL(gath2, BlStrided) { bl::gath<bl::Unary, bl::Compute, 2, 1>(p); }
BL_KERNEL(gath4, BlStrided) { bl::gath<bl::Unary, bl::Compute, 4, 1>(p); }
BL_KERNEL(gath8, BlStrided) { bl::gath<bl::Unary, bl::Compute, 8, 1>(p); }
#elif !BL_ONLY_MIXED
BL_KERNEL(contig, BlLinear) { bl::contig<bl::Op, bl::Compute>(p); }
BL_KERNEL(scalar, BlLinear) { bl::scalar<bl::Op, bl::Compute, bl::Side::right>(p); }
BL_KERNEL(lscalar, BlLinear) { bl::scalar<bl::Op, bl::Compute, bl::Side::left>(p); }
BL_KERNEL(row, BlMatrix) { bl::row<bl::Op, bl::Compute, bl::Side::right>(p); }
BL_KERNEL(lrow, BlMatrix) { bl::row<bl::Op, bl::Compute, bl::Side::left>(p); }
BL_KERNEL(col, BlMatrix) { bl::col<bl::Op, bl::Compute, bl::Side::right>(p); }
BL_KERNEL(lcol, BlMatrix) { bl::col<bl::Op, bl::Compute, bl::Side::left>(p); }
BL_KERNEL(gen2, BlStrided) { bl::gen<bl::Op, bl::Compute, 2>(p); }
BL_KERNEL(gen4, BlStrided) { bl::gen<bl::Op, bl::Compute, 4>(p); }
BL_KERNEL(gen8, BlStrided) { bl::gen<bl::Op, bl::Compute, 8>(p); }
BL_KERNEL(gath2, BlStrided) { bl::gath<bl::Op, bl::Compute, 2, 2>(p); }
BL_KERNEL(gath4, BlStrided) { bl::gath<bl::Op, bl::Compute, 4, 2>(p); }
BL_KERNEL(gath8, BlStrided) { bl::gath<bl::Op, bl::Compute, 8, 2>(p); }
#endif
#endif
#endif
