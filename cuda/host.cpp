// The kernels on the host, for tests: the same functions, words, conversions and kernel shapes, with PTX instructions
// replaced by their models. Nothing here is part of the library.

#include "params.h"

#include "prelude.cuh"

#include "convert.cuh"
#include "tables.cuh"
#include "math.cuh"
#include "ops.cuh"
#include "functions.cuh"
#include "vectors.cuh"
#include "packed.cuh"
#include "index.cuh"
#include "elementwise.cu"
#include "groups.cuh"
#include "map.cuh"
#include "reduce.cuh"

#include <cstddef>
#include <cstring>

namespace {
using namespace bl;

u64 address_of(const void* p) { return reinterpret_cast<u64>(p); }

// ---- Element functions and vectors -------------------------------------------------------------------------------

typedef void Binary(const void* x, const void* y, void* out, size_t n);

template <class Op, class T> void elements(const void* x, const void* y, void* out, size_t n) {
    typedef decltype(Op::apply(T(), T())) R;
    for (size_t i = 0; i < n; ++i)
        store(address_of(out) + i * sizeof(R), Op::apply(load<T>(address_of(x) + i * sizeof(T)), load<T>(address_of(y) + i * sizeof(T))));
}

// n counts vectors of 16 bytes here; y is another vector for each, or one element for all.
template <class Op, class T> void vectors(const void* x, const void* y, void* out, size_t n) {
    typedef VectorOp<Op, T> V;
    for (size_t i = 0; i < n; ++i) {
        const Vector left = load<Vector>(address_of(x) + i * 16), right = load<Vector>(address_of(y) + i * 16);
        store_bundle(address_of(out) + i * V::OUT_BYTES, V::apply(left, V::ready(right)));
    }
}
template <class Op, class T> void uniform(const void* x, const void* y, void* out, size_t n) {
    typedef VectorOp<Op, T> V;
    const typename V::Uniform kept = V::ready(load<T>(address_of(y)));
    for (size_t i = 0; i < n; ++i) store_bundle(address_of(out) + i * V::OUT_BYTES, V::apply(load<Vector>(address_of(x) + i * 16), kept));
}

struct Functions {
    const char* op;
    const char* dtype;
    Binary* elements;
    Binary* vectors;
    Binary* uniform;
};

#define F(op_, dtype) {#op_, #dtype, elements<op::op_, dtype_##dtype>, vectors<op::op_, dtype_##dtype>, uniform<op::op_, dtype_##dtype>},
#define INTEGERS(X, op) X(op, u8) X(op, u16) X(op, u32) X(op, u64) X(op, i8) X(op, i16) X(op, i32) X(op, i64)
#define FLOATS(X, op) X(op, f16) X(op, bf16) X(op, f32) X(op, f64)
#define COMPLEX(X, op) X(op, c64) X(op, c128)
#define REAL(X, op) X(op, bool) INTEGERS(X, op) FLOATS(X, op)
#define ALL(X, op) REAL(X, op) COMPLEX(X, op)

const Functions functions[] = {
    INTEGERS(F, bitwise_left_shift) INTEGERS(F, bitwise_right_shift) INTEGERS(F, bitwise_right_shift_logical)
    REAL(F, copysign)
    ALL(F, add) INTEGERS(F, subtract) FLOATS(F, subtract) COMPLEX(F, subtract) ALL(F, multiply) FLOATS(F, divide) COMPLEX(F, divide)
    ALL(F, equal) ALL(F, not_equal) REAL(F, less_than) REAL(F, less_equal) REAL(F, greater_than) REAL(F, greater_equal)
    F(bitwise_and, bool) INTEGERS(F, bitwise_and) F(bitwise_or, bool) INTEGERS(F, bitwise_or) F(bitwise_xor, bool) INTEGERS(F, bitwise_xor)
    ALL(F, logical_and) ALL(F, logical_or) ALL(F, logical_xor)
    REAL(F, maximum) REAL(F, minimum) REAL(F, fmax) REAL(F, fmin)
    INTEGERS(F, floor_divide) FLOATS(F, floor_divide) INTEGERS(F, remainder) FLOATS(F, remainder) INTEGERS(F, pow) FLOATS(F, pow)
    FLOATS(F, logaddexp) FLOATS(F, nextafter) FLOATS(F, atan2)
};

const Functions* find(const char* op, const char* dtype) {
    for (const Functions& f : functions)
        if (!strcmp(f.op, op) && !strcmp(f.dtype, dtype)) return &f;
    return nullptr;
}

// ---- Kernel shapes: a loop for the grid, a loop for the block ----------------------------------------------------

template <class Params, class Body> void play(const void* params, u32 grid_x, u32 grid_y, Body body) {
    const Params& p = *static_cast<const Params*>(params);
    gridDim = {grid_x, grid_y};
    for (blockIdx.y = 0; blockIdx.y < grid_y; ++blockIdx.y)
        for (blockIdx.x = 0; blockIdx.x < grid_x; ++blockIdx.x)
            for (threadIdx = {0, 0}; threadIdx.x < BL_THREADS; ++threadIdx.x) body(p);
}

struct Kernel {
    const char* name;
    void (*run)(const void* params, u32 grid_x, u32 grid_y);
};

#define K(name, Params, call) {name, [](const void* params, u32 x, u32 y) { play<Params>(params, x, y, [](const Params& p) { call; }); }},
#define SHAPES(op_, dtype)                                                                               \
    K("contig_" #op_ "_" #dtype, BlLinear, (contig<op::op_, dtype_##dtype>(p)))                          \
    K("scalar_" #op_ "_" #dtype, BlLinear, (scalar<op::op_, dtype_##dtype, Side::right>(p)))             \
    K("lscalar_" #op_ "_" #dtype, BlLinear, (scalar<op::op_, dtype_##dtype, Side::left>(p)))             \
    K("row_" #op_ "_" #dtype, BlMatrix, (row<op::op_, dtype_##dtype, Side::right>(p)))                   \
    K("lrow_" #op_ "_" #dtype, BlMatrix, (row<op::op_, dtype_##dtype, Side::left>(p)))                   \
    K("col_" #op_ "_" #dtype, BlMatrix, (col<op::op_, dtype_##dtype, Side::right>(p)))                   \
    K("lcol_" #op_ "_" #dtype, BlMatrix, (col<op::op_, dtype_##dtype, Side::left>(p)))                   \
    K("gen2_" #op_ "_" #dtype, BlStrided, (gen<op::op_, dtype_##dtype, 2>(p)))                           \
    K("gen4_" #op_ "_" #dtype, BlStrided, (gen<op::op_, dtype_##dtype, 4>(p)))                           \
    K("gen8_" #op_ "_" #dtype, BlStrided, (gen<op::op_, dtype_##dtype, 8>(p)))                           \
    K("gath2_" #op_ "_" #dtype, BlStrided, (gath<op::op_, dtype_##dtype, 2>(p)))                         \
    K("gath4_" #op_ "_" #dtype, BlStrided, (gath<op::op_, dtype_##dtype, 4>(p)))                         \
    K("gath8_" #op_ "_" #dtype, BlStrided, (gath<op::op_, dtype_##dtype, 8>(p)))  

// Shapes do not depend on the op: these cover every element size, signed loads, and results of every width.
const Kernel kernels[] = {
    INTEGERS(SHAPES, bitwise_right_shift) SHAPES(bitwise_left_shift, i8) SHAPES(bitwise_right_shift_logical, i16)
    FLOATS(SHAPES, copysign)
    SHAPES(less_than, i8) SHAPES(less_than, bf16) SHAPES(less_than, f32) SHAPES(less_than, f64) SHAPES(equal, c128)
    SHAPES(subtract, c64) SHAPES(subtract, c128)
};

}  // namespace

// Each returns whether there is such a function. n counts elements, or vectors of 16 bytes.
extern "C" int bl_host_elements(const char* op, const char* dtype, const void* x, const void* y, void* out, size_t n) {
    const Functions* f = find(op, dtype);
    if (f) f->elements(x, y, out, n);
    return f != nullptr;
}
extern "C" int bl_host_vectors(const char* op, const char* dtype, const void* x, const void* y, void* out, size_t n) {
    const Functions* f = find(op, dtype);
    if (f) f->vectors(x, y, out, n);
    return f != nullptr;
}
extern "C" int bl_host_uniform(const char* op, const char* dtype, const void* x, const void* y, void* out, size_t n) {
    const Functions* f = find(op, dtype);
    if (f) f->uniform(x, y, out, n);
    return f != nullptr;
}
// Runs a kernel by its name: params is the struct that the kernel takes, with host addresses in it.
extern "C" int bl_host_run(const char* kernel, const void* params, bl_u32 grid_x, bl_u32 grid_y) {
    for (const Kernel& k : kernels)
        if (!strcmp(k.name, kernel)) return k.run(params, grid_x, grid_y), 1;
    return 0;
}
extern "C" bl_u32 bl_host_divide(bl_u32 n, bl_u32 magic, bl_u32 shift) { return divide_by(n, BlDivisor{magic, shift}); }
