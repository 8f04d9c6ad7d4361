// The entry points of a module: the kernels of one binary op in one compute dtype, in every hand-written shape.

#define BL_NAME_(shape, op, dtype) shape##_##op##_##dtype
#define BL_NAME(shape, op, dtype) BL_NAME_(shape, op, dtype)
#define BL_JOIN_(a, b) a##b
#define BL_JOIN(a, b) BL_JOIN_(a, b)
#define BL_KERNEL(shape, Params) \
    extern "C" __global__ void __launch_bounds__(BL_THREADS) BL_NAME(shape, BL_OP, BL_DTYPE)(const __grid_constant__ Params p)

namespace bl {
typedef BL_JOIN(dtype_, BL_DTYPE) Compute;
typedef op::BL_OP Op;
}  // namespace bl

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
BL_KERNEL(gath2, BlStrided) { bl::gath<bl::Op, bl::Compute, 2>(p); }
BL_KERNEL(gath4, BlStrided) { bl::gath<bl::Op, bl::Compute, 4>(p); }
BL_KERNEL(gath8, BlStrided) { bl::gath<bl::Op, bl::Compute, 8>(p); }
