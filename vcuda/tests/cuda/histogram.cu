// Atomics in shared and global memory; a lock; a counter that wraps.
extern "C" __global__ void histogram(const unsigned char *data, unsigned *bins, int n) {
    __shared__ unsigned local[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[data[i]], 1u);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], local[i]);
}

extern "C" __global__ void extremes(const int *data, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicMin(&out[0], data[i]);
    atomicMax(&out[1], data[i]);
    atomicXor((unsigned *)&out[2], (unsigned)data[i]);
    atomicInc((unsigned *)&out[3], 6u);
}

extern "C" __global__ void float_add_by_cas(const double *data, double *sum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long *at = (unsigned long long *)sum, old = *(volatile unsigned long long *)at, seen;
    do {
        seen = old;
        old = atomicCAS(at, seen, __double_as_longlong(data[i] + __longlong_as_double(seen)));
    } while (old != seen);
}
