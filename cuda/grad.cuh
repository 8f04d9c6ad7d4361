// The gradient of copysign with respect to x: g where the signs of x and y agree, -g where they do not, +0 where x is a
// zero; summed over the dimensions along which x was broadcast, in f32 (f64 for f64), rounded once. The order of the sum
// is fixed by the shape alone, so equal inputs give equal bits.

namespace bl {

template <class T> BL_FN T copysign_grad(T x, T y, T g) {
    if (!is_nonzero(x)) return from_bits<T>(Bits<T>(0));
    return with_sign(g, sign_of(g) != (sign_of(x) != sign_of(y)));
}

// ---- each_copysign_grad, sum_copysign_grad -----------------------------------------------------------------------
// BlGrad; gx dense; x, y and g of any strides, x with strides 0 along the reduced dimensions. outputs and terms < 2^31.
// Sizes >= 2. each: one thread per output, for terms == 1 or short sums; grid = ceil(outputs / BL_THREADS).
// sum: one block per output; grid = outputs.

struct GradOffsets { i64 x, y, g; };
BL_FN GradOffsets locate(const BlGradDim* dims, u32 rank, u32 n, GradOffsets at) {
#pragma unroll 1
    for (u32 d = 0; d < rank; ++d) {
        at.x += n * dims[d].x_step;
        at.y += n * dims[d].y_step;
        at.g += n * dims[d].g_step;
        n = divide_by(n, dims[d].size);
    }
    return at;
}

template <class T> struct AccumulatorOf { typedef f32 type; };
template <> struct AccumulatorOf<f64> { typedef f64 type; };

template <class T> BL_FN T grad_term(const BlGrad& p, GradOffsets kept, u32 term) {
    enum { SIZE = sizeof(T) };
    const GradOffsets at = locate(p.dims + p.kept_rank, p.reduced_rank, term, kept);
    return copysign_grad(load<T>(p.x + at.x * SIZE), load<T>(p.y + at.y * SIZE), load<T>(p.g + at.g * SIZE));
}

template <class T> BL_FN void each_grad(const BlGrad& p) {
    typedef typename AccumulatorOf<T>::type Sum;
    const u32 n = blockIdx.x * BL_THREADS + threadIdx.x;
    if (n >= p.outputs) return;
    const GradOffsets kept = locate(p.dims, p.kept_rank, n, GradOffsets{0, 0, 0});
    T result;
    if (p.terms == 1) result = grad_term<T>(p, kept, 0);  // bit for bit: not even a NaN passes through arithmetic
    else {
        Sum sum = 0;
#pragma unroll 1
        for (u32 term = 0; term < p.terms; ++term) sum += convert<Sum>(grad_term<T>(p, kept, term));
        result = convert<T>(sum);
    }
    store(p.out + u64(n) * sizeof(T), result);
}

#if BL_DEVICE  // the one kernel whose threads talk to each other
template <class T> BL_FN void sum_grad(const BlGrad& p) {
    typedef typename AccumulatorOf<T>::type Sum;
    __shared__ Sum partial[BL_THREADS];
    const GradOffsets kept = locate(p.dims, p.kept_rank, blockIdx.x, GradOffsets{0, 0, 0});
    Sum sum = 0;
#pragma unroll 1
    for (u32 term = threadIdx.x; term < p.terms; term += BL_THREADS) sum += convert<Sum>(grad_term<T>(p, kept, term));
    partial[threadIdx.x] = sum;
    __syncthreads();
#pragma unroll 1
    for (u32 half = BL_THREADS / 2; half != 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) store(p.out + u64(blockIdx.x) * sizeof(T), convert<T>(partial[0]));
}
#endif

}  // namespace bl
