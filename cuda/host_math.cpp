// The functions of math.cuh compiled for the host, for tests, by name and over arrays.

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

#include <cstddef>
#include <cstring>

namespace {
using namespace bl;

typedef void Function(const void* x, const void* y, void* out, size_t n);

template <class T, T (*F)(T, T)> void each(const void* x, const void* y, void* out, size_t n) {
    for (size_t i = 0; i < n; ++i) static_cast<T*>(out)[i] = F(static_cast<const T*>(x)[i], static_cast<const T*>(y)[i]);
}
// Functions of one operand ignore the second.
template <class T, T (*F)(T)> void each(const void* x, const void*, void* out, size_t n) {
    for (size_t i = 0; i < n; ++i) static_cast<T*>(out)[i] = F(static_cast<const T*>(x)[i]);
}

struct Row {
    const char* name;
    const char* dtype;
    Function* function;
};

#define M(name, dtype) {#name, #dtype, each<dtype_##dtype, math::name<dtype_##dtype>>},
#define O(name) {#name, "f32", each<f32, op::name::apply<f32>>},
#define FLOATS(name) M(name, f16) M(name, bf16) M(name, f32) M(name, f64)
const Row rows[] = {
    FLOATS(exp) FLOATS(exp2) FLOATS(expm1) FLOATS(log) FLOATS(log2) FLOATS(log10) FLOATS(log1p)
    FLOATS(sinh) FLOATS(cosh) FLOATS(tanh) FLOATS(asinh) FLOATS(acosh) FLOATS(atanh)
    FLOATS(sin) FLOATS(cos) FLOATS(tan) FLOATS(asin) FLOATS(acos) FLOATS(atan)
    FLOATS(pow) FLOATS(atan2) FLOATS(logaddexp) FLOATS(hypot) M(fmod, f32) M(fmod, f64)
    O(sqrt) O(reciprocal) O(square) O(floor) O(ceil) O(trunc) O(round) O(sign)
    M(ipow, u8) M(ipow, u16) M(ipow, u32) M(ipow, u64) M(ipow, i8) M(ipow, i16) M(ipow, i32) M(ipow, i64)
};

}  // namespace

// Returns whether there is a function of this name.
extern "C" int bl_host_math(const char* name, const char* dtype, const void* x, const void* y, void* out, size_t n) {
    for (const Row& row : rows)
        if (!strcmp(row.name, name) && !strcmp(row.dtype, dtype)) return row.function(x, y, out, n), 1;
    return 0;
}
