// The device functions compiled for the host, for tests, with PTX instructions replaced by their models. Nothing here
// is part of the library.

#include "params.h"

#include "prelude.cuh"
#include "convert.cuh"
#include "ops.cuh"
#include "f32_pairs.cuh"
#include "tables.cuh"
#include "math.cuh"
#include "exponential.cuh"
#include "logarithm.cuh"
#include "hyperbolic.cuh"
#include "fixed.cuh"
#include "pairs.cuh"
#include "pair_angles.cuh"
#include "narrow.cuh"
#include "trigonometry.cuh"
#include "angles.cuh"
#include "of_one.cuh"
#include "of_two.cuh"
#include "functions.cuh"
#include "vectors.cuh"
#include "packed.cuh"
#include "index.cuh"

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

// Here n counts vectors of 16 bytes; y holds as many vectors (`vectors`), or one element for all (`uniform`).
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
    INTEGERS(F, rotate_left) INTEGERS(F, rotate_right)
    REAL(F, copysign)
    ALL(F, add) INTEGERS(F, subtract) FLOATS(F, subtract) COMPLEX(F, subtract) ALL(F, multiply) FLOATS(F, divide) COMPLEX(F, divide)
    ALL(F, equal) ALL(F, not_equal) REAL(F, less_than) REAL(F, less_equal) REAL(F, greater_than) REAL(F, greater_equal)
    F(bitwise_and, bool) INTEGERS(F, bitwise_and) F(bitwise_or, bool) INTEGERS(F, bitwise_or) F(bitwise_xor, bool) INTEGERS(F, bitwise_xor)
    ALL(F, logical_and) ALL(F, logical_or) ALL(F, logical_xor)
    REAL(F, maximum) REAL(F, minimum) REAL(F, fmax) REAL(F, fmin)
    INTEGERS(F, floor_divide) FLOATS(F, floor_divide) INTEGERS(F, remainder) FLOATS(F, remainder) INTEGERS(F, pow) FLOATS(F, pow)
    FLOATS(F, logaddexp) FLOATS(F, nextafter) FLOATS(F, atan2) FLOATS(F, hypot)
};

const Functions* find(const char* op, const char* dtype) {
    for (const Functions& f : functions)
        if (!strcmp(f.op, op) && !strcmp(f.dtype, dtype)) return &f;
    return nullptr;
}

}  // namespace

// Each returns whether there is a function of this name. n counts elements, or vectors of 16 bytes.
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
extern "C" bl_u32 bl_host_divide(bl_u32 n, bl_u32 magic, bl_u32 shift) { return divide_by(n, BlDivisor{magic, shift}); }
