// Numbers wider or narrower than registers: 128-bit division, carries, bytes and halves of words.

typedef unsigned long long u64;

extern "C" __global__ void divide(const u64 *in, u64 *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned __int128 a = (unsigned __int128)in[3 * i] << 64 | in[3 * i + 1], b = in[3 * i + 2];
    unsigned __int128 q = a / b;
    out[3 * i] = (u64)(q >> 64);
    out[3 * i + 1] = (u64)q;
    out[3 * i + 2] = (u64)(a % b);
}

// A number of four words minus another, and whether there was no borrow.
extern "C" __global__ void subtract(const unsigned *a, const unsigned *b, unsigned *out) {
    a += 4 * threadIdx.x, b += 4 * threadIdx.x, out += 5 * threadIdx.x;
    unsigned r[5];
    asm("sub.cc.u32 %0, %5, %9;\n\tsubc.cc.u32 %1, %6, %10;\n\tsubc.cc.u32 %2, %7, %11;\n\t"
        "subc.cc.u32 %3, %8, %12;\n\taddc.u32 %4, 0, 0;"
        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]), "=r"(r[4])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]));
    for (int k = 0; k < 5; k++) out[k] = r[k];
}

extern "C" __global__ void bytes(const unsigned *a, const unsigned *b, unsigned *out, int n) {
    int i = threadIdx.x;
    unsigned x = a[i], y = b[i];
    out[i] = __vabsdiffu4(x, y);
    out[n + i] = __vaddss4(x, y);
    out[2 * n + i] = __vsadu4(x, y);
    out[3 * n + i] = __vmaxs2(x, y);
    out[4 * n + i] = __vcmpgtu4(x, y);
    out[5 * n + i] = __dp4a(x, y, 7u);
    out[6 * n + i] = __byte_perm(x, y, 0x3715);
    out[7 * n + i] = __funnelshift_l(x, y, x & 31);
}
