// What an elementwise library does: 16-byte vectors, shifts and packed bytes.
typedef unsigned int u32;
extern "C" __global__ void __launch_bounds__(256) shift_u8(const uint4 *__restrict__ a, const uint4 *__restrict__ b, uint4 *o, u32 n) {
    u32 i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    uint4 x = a[i], y = b[i], r;
    u32 *xs = &x.x, *ys = &y.x, *rs = &r.x;
    #pragma unroll
    for (int k = 0; k < 4; k++) {
        u32 v = xs[k], s = ys[k], w = 0;
        #pragma unroll
        for (int j = 0; j < 4; j++) w |= ((v >> 8 * j & 255) << min(s >> 8 * j & 255, 8u) & 255) << 8 * j;
        rs[k] = w;
    }
    o[i] = r;
}

extern "C" __global__ void __launch_bounds__(256) shift_i32(const int *a, const int *b, int *o, u32 n) {
    for (u32 i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) o[i] = a[i] >> min((u32)b[i], 31u);
}
