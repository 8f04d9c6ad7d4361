// PTX inside CUDA code, as libraries write it.

// The same loop expanded twice: its label is known inside the braces only.
__device__ __forceinline__ unsigned sum_to(unsigned n) {
    unsigned s;
    asm volatile("{\n\t.reg .pred p;\n\t.reg .u32 i;\n\tmov.u32 i, 0;\n\tmov.u32 %0, 0;\n"
                 "AGAIN:\n\tadd.u32 %0, %0, i;\n\tadd.u32 i, i, 1;\n\tsetp.le.u32 p, i, %1;\n\t@p bra AGAIN;\n\t}"
                 : "=r"(s) : "r"(n));
    return s;
}

extern "C" __global__ void loops(unsigned *out) {
    out[threadIdx.x] = sum_to(threadIdx.x) + 1000 * sum_to(2 * threadIdx.x);
}

// Half precision without its headers.
extern "C" __global__ void halves(const unsigned *a, const unsigned *b, unsigned *out, int n) {
    int i = threadIdx.x;
    unsigned x = a[i], y = b[i], r;
    asm("{.reg.b32 t; mul.rn.f16x2 t, %1, %2; add.rn.f16x2 %0, t, %1;}" : "=r"(r) : "r"(x), "r"(y));
    out[i] = r;
    asm("{set.gt.f16x2.f16x2 %0, %1, %2;}" : "=r"(r) : "r"(x), "r"(y));
    out[n + i] = r;
    asm("{set.le.u32.f16x2 %0, %1, %2;}" : "=r"(r) : "r"(x), "r"(y));
    out[2 * n + i] = r;
    asm("{.reg .pred p, q; setp.lt.f16x2 p|q, %1, %2; selp.u32 %0, 1, 0, p; @q add.u32 %0, %0, 2;}" : "=r"(r) : "r"(x), "r"(y));
    out[3 * n + i] = r;
    asm("{.reg.b16 l, h; mov.b32 {l, h}, %1; add.sat.f16 l, l, h; set.eq.f16.f16 h, l, l; mov.b32 %0, {l, h};}" : "=r"(r) : "r"(x));
    out[4 * n + i] = r;
}

// Two warps pass a box to and fro through barriers of their own.
extern "C" __global__ void barriers(int *out) {
    __shared__ int box[32];
    int lane = threadIdx.x & 31;
    if (threadIdx.x < 32) {
        box[lane] = 3 * lane;
        asm volatile("bar.arrive 1, 64;" ::: "memory");
        asm volatile("barrier.sync 2, 64;" ::: "memory");
        out[lane] = box[lane];
    } else {
        asm volatile("bar.sync %0, %1;" :: "r"(1), "r"(64) : "memory");
        box[lane] += 1;
        asm volatile("bar.arrive 2, 64;" ::: "memory");
    }
}

// Printing gives no error, and its answer may be looked at.
extern "C" __global__ void say(int *out) {
    int n = printf("thread %d of %d\n", threadIdx.x, blockDim.x);
    out[threadIdx.x] = n >= 0 ? threadIdx.x : -1;
}
