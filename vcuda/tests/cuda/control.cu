// Divergence, calls, switches, local arrays, constants, structures by value.
__constant__ int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__device__ unsigned long long counter = 7;

extern "C" __global__ void collatz(const unsigned *in, unsigned *steps, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long v = in[i];
    unsigned count = 0;
    while (v != 1 && v != 0) {
        if (v & 1) v = 3 * v + 1;
        else v >>= 1;
        count++;
    }
    steps[i] = count;
}

struct Pair { int a; long long b; };
__device__ __noinline__ Pair swap_add(Pair p, int k) {
    Pair r;
    r.a = (int)p.b + k;
    r.b = (long long)p.a * k;
    return r;
}
__device__ __noinline__ long long twice(Pair p, int k) {
    Pair q = swap_add(p, k);
    if (k & 1) q = swap_add(q, k + 1);
    return q.a + q.b;
}

extern "C" __global__ void calls(const int *in, long long *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Pair p = {in[i], in[i] * 3LL};
    out[i] = twice(p, i);
}

extern "C" __global__ void switches(const int *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int local[8];
    for (int k = 0; k < 8; k++) local[k] = in[i] * k;
    int v = in[i], r;
    switch (v & 15) {
        case 0: r = v * 3; break;
        case 1: r = v ^ 0x55; break;
        case 2: r = -v; break;
        case 3: r = v << 3; break;
        case 4: r = v / 7; break;
        case 5: r = v % 11; break;
        case 6: r = __clz(v); break;
        case 7: r = __brev(v); break;
        case 8: r = __popc(v); break;
        case 9: r = __ffs(v); break;
        case 10: r = table[v >> 4 & 7]; break;
        case 11: r = local[v >> 4 & 7]; break;
        default: r = v * v; break;
    }
    out[i] = r;
}

struct Shape { int size[4]; long long stride[4]; unsigned char flag; };
extern "C" __global__ void by_value(const __grid_constant__ Shape s, const int *in, int *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, total = 1;
    for (int d = 0; d < 4; d++) total *= s.size[d];
    if (i >= total) return;
    long long at = 0;
    int rest = i;
    for (int d = 3; d >= 0; d--) {
        at += rest % s.size[d] * s.stride[d];
        rest /= s.size[d];
    }
    out[i] = in[at] + s.flag;
    if (i == 0) counter += 1;
}

extern "C" __global__ void wide(const unsigned long long *a, const unsigned long long *b, unsigned long long *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned __int128 p = (unsigned __int128)a[i] * b[i] + a[i];
    out[3 * i] = (unsigned long long)p;
    out[3 * i + 1] = (unsigned long long)(p >> 64);
    out[3 * i + 2] = b[i] ? a[i] / b[i] ^ a[i] % b[i] : 0;
}
