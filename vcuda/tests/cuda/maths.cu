// Library functions in single and double precision.
extern "C" __global__ void singles(const float *x, const float *y, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float a = x[i], b = y[i];
    out[i + 0 * n] = sqrtf(a);
    out[i + 1 * n] = expf(b);
    out[i + 2 * n] = powf(a, b);
    out[i + 3 * n] = atan2f(b, a);
    out[i + 4 * n] = sinf(b);
    out[i + 5 * n] = logf(a);
    out[i + 6 * n] = a / b;
    out[i + 7 * n] = fmodf(a, b);
    out[i + 8 * n] = rsqrtf(a);
    out[i + 9 * n] = rintf(b) + floorf(b) + ceilf(b) + truncf(b);
}

extern "C" __global__ void doubles(const double *x, const double *y, double *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double a = x[i], b = y[i];
    out[i + 0 * n] = sqrt(a);
    out[i + 1 * n] = exp(b);
    out[i + 2 * n] = pow(a, b);
    out[i + 3 * n] = sin(b);
    out[i + 4 * n] = log(a);
    out[i + 5 * n] = a / b;
    out[i + 6 * n] = fma(a, b, -a);
    out[i + 7 * n] = (double)(long long)(b * 1000) + (double)(unsigned)(int)b;
}

extern "C" __global__ void halves(const unsigned short *x, unsigned short *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x[i]));
    f = f * f + 0.5f;
    unsigned short r;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(f));
    out[i] = r;
}
