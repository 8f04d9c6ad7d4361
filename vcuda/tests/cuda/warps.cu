// Lanes of a warp that work together in parties, leave early, or meet at different places.

// Lanes above and below a limit are summed at the same instruction, each party by its own mask.
extern "C" __global__ void parties(const int *in, int *out, int limit) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, v = in[t];
    unsigned high = __ballot_sync(0xffffffffu, v > limit);
    unsigned mask = v > limit ? high : ~high;
    out[t] = __reduce_add_sync(mask, v);
}

// Some lanes return before the others meet.
extern "C" __global__ void leave_early(const int *in, int *out) {
    int t = threadIdx.x;
    if (in[t] < 0) return;
    int v = in[t];
    __syncwarp();
    out[t] = v + __popc(__activemask());
}

// The two halves of a warp hand data to each other, meeting at barriers in different branches.
extern "C" __global__ void hand_over(int *out) {
    __shared__ int box[32];
    int t = threadIdx.x;
    if (t < 16) {
        box[t] = t * t;
        __syncwarp();
        __syncwarp();
        out[t] = box[t + 16];
    } else {
        __syncwarp();
        box[t] = box[t - 16] + 1;
        __syncwarp();
        out[t] = box[t - 16];
    }
}

// One atomic per group of equal keys.
extern "C" __global__ void count_keys(const unsigned *keys, unsigned *counts, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned active = __ballot_sync(0xffffffffu, t < n);
    if (t >= n) return;
    unsigned same = __match_any_sync(active, keys[t]);
    if ((threadIdx.x & 31) == __ffs(same) - 1) atomicAdd(&counts[keys[t]], __popc(same));
}

// Compaction: lanes that found something reserve their places together.
extern "C" __global__ void keep_multiples(const int *in, int *out, int *count, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        if (in[i] % 3 != 0) continue;
        unsigned mask = __activemask();
        int leader = __ffs(mask) - 1, lane = threadIdx.x & 31, base = 0;
        if (lane == leader) base = atomicAdd(count, __popc(mask));
        base = __shfl_sync(mask, base, leader);
        out[base + __popc(mask & ((1u << lane) - 1))] = in[i];
    }
}
