// Sum of floats and a scan of integers through shared memory.
extern "C" __global__ void reduce(const float *in, float *out, int n) {
    __shared__ float part[256];
    int t = threadIdx.x;
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    part[t] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = part[0];
}

extern "C" __global__ void warp_reduce(const int *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = i < n ? in[i] : 0;
    for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
    if ((threadIdx.x & 31) == 0) atomicAdd(out, v);
    unsigned ballot = __ballot_sync(0xffffffffu, i < n && (in[i] & 1));
    if ((threadIdx.x & 31) == 0) atomicAdd(out + 1, __popc(ballot));
}

extern "C" __global__ void scan(const int *in, int *out, int n) {
    extern __shared__ int temp[];
    int t = threadIdx.x, from = 0, to = 0;
    temp[t] = t < n ? in[t] : 0;
    __syncthreads();
    for (int d = 1; d < n; d *= 2) {
        to = 1 - to;
        from = 1 - to;
        temp[to * n + t] = temp[from * n + t] + (t >= d ? temp[from * n + t - d] : 0);
        __syncthreads();
    }
    out[t] = temp[to * n + t];
}
