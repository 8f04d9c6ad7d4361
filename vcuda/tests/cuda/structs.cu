// Structures as users have them: with padding and bit fields, as parameters and results, in every memory.

struct Padded {
    char a;
    int b;
    short c;
    double d;
};

struct Fields {
    unsigned x : 5, y : 11, z : 16;
};

struct Large {
    int head;
    double factor;
    char text[13];
    long long table[100];
};

__device__ int numbers[4] = {10, -20, 30, -40};
__device__ int *second = numbers + 1;
__constant__ short steps[3] = {1, -2, 3};

extern "C" __global__ void fill(Padded *out) {
    Padded *p = out + threadIdx.x;
    p->a = threadIdx.x;
    p->b = 2 * threadIdx.x;
    p->c = 3 * threadIdx.x;
    p->d = 0.5 * threadIdx.x;
}

extern "C" __global__ void turn(const Padded *in, Padded *out) {
    __shared__ Padded all[32];
    all[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = all[31 - threadIdx.x];
}

extern "C" __global__ void pick(const int *which, Fields *out) {
    Fields local[4];
    for (int k = 0; k < 4; k++) {
        local[k].x = k;
        local[k].y = 100 * k;
        local[k].z = 1000 * k;
    }
    local[which[threadIdx.x] & 3].y = 77;
    out[threadIdx.x] = local[which[threadIdx.x] + 1 & 3];
}

__noinline__ __device__ Padded advance(Padded p, const Large &large) {
    p.b += large.table[p.a];
    p.d *= large.factor;
    return p;
}

extern "C" __global__ void pass(Large large, Padded *out) {
    Padded p = {(char)threadIdx.x, large.head, (short)large.text[threadIdx.x % 13], 1.5};
    p = advance(advance(p, large), large);
    p.c += second[threadIdx.x % 3] + steps[threadIdx.x % 3];
    out[threadIdx.x] = p;
}

// A shared variable belongs to its function, however often that is called.
__noinline__ __device__ int remembered(int value, bool store) {
    __shared__ int kept[32];
    if (store) kept[threadIdx.x] = value;
    __syncthreads();
    return kept[31 - threadIdx.x];
}

extern "C" __global__ void remember(int *out) {
    int first = remembered(5 * threadIdx.x, true);
    __syncthreads();
    out[threadIdx.x] = 1000 * first + remembered(0, false);
}

// Indices that go down from the end of shared memory, two of four numbers used.
extern "C" __global__ void downwards(const float4 *in, float *out) {
    __shared__ float4 all[32];
    all[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    float4 v = all[31 - threadIdx.x];
    out[threadIdx.x] = v.x + v.w;
}
