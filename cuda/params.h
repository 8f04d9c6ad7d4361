/* Launch parameters: the one definition shared by the kernels (through NVRTC) and the host (through bindgen).
 *
 * Plain C. Every hand-written kernel takes exactly one of these structs, by value, as its only parameter. Addresses are device
 * addresses as the driver hands them out. "Vector" means 16 bytes of one operand in the compute dtype: LANES =
 * 16 / sizeof(compute dtype) elements. Sizes, strides and offsets count elements unless a name says otherwise. */
#ifndef BITLANE_PARAMS_H
#define BITLANE_PARAMS_H

typedef int bl_i32;
typedef unsigned int bl_u32;
typedef long long bl_i64;
typedef unsigned long long bl_u64;

#ifdef __cplusplus
#define BL_STATIC_ASSERT(condition) static_assert(condition, #condition)
#else
#define BL_STATIC_ASSERT(condition) _Static_assert(condition, #condition)
#endif
#ifdef __CUDACC_RTC__ /* has no <stddef.h>; this is what its offsetof expands to */
#define BL_OFFSET_IS(type, member, offset) BL_STATIC_ASSERT(__INTADDR__((&((type*)0)->member)) == (offset))
#else
#define BL_OFFSET_IS(type, member, offset) BL_STATIC_ASSERT(__builtin_offsetof(type, member) == (offset))
#endif

/* How much one block does. Every launch has BL_THREADS threads per block, one-dimensional. */
enum BlTuning {
    BL_THREADS = 256,
    BL_VECTOR_BYTES = 16,
    BL_MAX_RANK = 8,
    BL_CONTIG_VECTORS = 2,      /* vectors per thread of contig */
    BL_SCALAR_VECTORS = 4,      /* vectors per thread of scalar, lscalar */
    BL_SCALAR_VECTORS_WIDE = 8, /* ... for dtypes of 8 bytes and more */
    BL_ROW_ROWS = 4,            /* rows per thread of row, lrow */
    BL_COL_VECTORS = 4,         /* vectors per thread of col, lcol */
    BL_GEN_VECTORS = 2,         /* vectors per thread of gen2, gen4, gen8 */
    BL_WARP = 32,
    BL_SUM_LEVELS = 5           /* generated sums: groups that one thread adds up on its own, as a power of two */
};

/* An immediate operand: the bits of one element of the compute dtype, little-endian, zero-padded. Complex: real part
 * first. */
typedef struct BlValue {
    bl_u64 bits[2];
} BlValue;
BL_STATIC_ASSERT(sizeof(BlValue) == 16);

/* Division of n by a size known to the host, for 0 <= n < 2^31, as  q = mulhi_u32(n, magic) >> shift.
 *
 *     size d >= 2:  l = ceil(log2 d),  magic = ceil(2^(31 + l) / d),  shift = l - 1
 *     size d == 1:  magic = 0, shift = 0; n is then always 0, so the quotient 0 is right
 *
 * Proof: e = magic*d - 2^(31+l) satisfies 0 <= e < d <= 2^l, so n*magic/2^(31+l) exceeds n/d by n*e/(d*2^(31+l)) < 1/d
 * (as n*e < 2^31 * 2^l), which never reaches the next integer. 2^(l-1) < d gives magic <= 2^32 - 1. */
typedef struct BlDivisor {
    bl_u32 magic;
    bl_u32 shift;
} BlDivisor;
BL_STATIC_ASSERT(sizeof(BlDivisor) == 8);

/* Steps instead of strides. Let position n be taken apart as n_0 = n, n_(d+1) = n_d / size_d, dimension 0 innermost. The
 * coordinate along d is n_d - n_(d+1) * size_d, so the offset of an operand with strides s is
 *
 *     sum over d of n_d * step_d,   step_0 = s_0,   step_d = s_d - size_(d-1) * s_(d-1)
 *
 * and the kernels never compute a coordinate. Steps and partial sums wrap; the offset itself does not. */

/* contig, scalar, lscalar: everything is one run of elements. The body is `vectors` whole vectors; `head` elements
 * stand directly before it and `tail` elements directly after it. */
typedef struct BlLinear {
    bl_u64 out;                 /* address of the first body element */
    bl_u64 lhs;                 /* likewise; lscalar: address of a one-element tensor, or 0 for `value` */
    bl_u64 rhs;                 /* likewise; scalar: address of a one-element tensor, or 0 for `value` */
    bl_u32 vectors;
    bl_u32 full_blocks;         /* vectors / (BL_THREADS * vectors per thread), rounded down */
    bl_u32 head;                /* < LANES */
    bl_u32 tail;                /* < LANES */
    BlValue value;              /* scalar, lscalar: the immediate operand */
} BlLinear;
BL_STATIC_ASSERT(sizeof(BlLinear) == 56);
BL_OFFSET_IS(BlLinear, vectors, 24);
BL_OFFSET_IS(BlLinear, value, 40);

/* row, lrow, col, lcol: a matrix, and one operand that is a single row or a single column of it. */
typedef struct BlMatrix {
    bl_u64 out;                 /* address of element (0, 0) */
    bl_u64 lhs;
    bl_u64 rhs;
    bl_u32 rows;
    bl_u32 row_vectors;         /* vectors per row */
    bl_u32 row_bytes;           /* bytes per row of the matrix operand: row_vectors * 16 */
    bl_u32 out_row_bytes;       /* bytes per row of the result */
    /* The rest is for row and lrow alone: 2^tile_log2 neighbouring threads stand in one row. */
    bl_u32 tile_log2;           /* 0 ..= 8 */
    bl_u32 tile_mask;           /* 2^tile_log2 - 1 */
    bl_u32 block_rows_log2;     /* log2(BL_ROW_ROWS * rows_apart) */
    bl_u32 full_rows;           /* rows - (BL_ROW_ROWS - 1) * rows_apart, 0 if negative */
    bl_u32 rows_apart;          /* BL_THREADS >> tile_log2: from one row of a thread to its next */
    bl_u32 reserved;
} BlMatrix;
BL_STATIC_ASSERT(sizeof(BlMatrix) == 64);
BL_OFFSET_IS(BlMatrix, row_bytes, 32);
BL_OFFSET_IS(BlMatrix, tile_log2, 40);

/* One dimension of a strided operand pair, innermost first. */
typedef struct BlStridedDim {
    BlDivisor size;
    bl_i32 lhs_step;
    bl_i32 rhs_step;
} BlStridedDim;
BL_STATIC_ASSERT(sizeof(BlStridedDim) == 16);

/* gen2, gen4, gen8, gath2, gath4, gath8: the result is contiguous, the operands are strided. */
typedef struct BlStrided {
    bl_u64 out;                 /* gen: address of element 0; gath: of the first body element */
    bl_u64 lhs;                 /* address of the element at coordinate 0 */
    bl_u64 rhs;
    bl_u32 vectors;             /* whole vectors of the body */
    bl_u32 head;                /* gath: elements before the body */
    bl_u32 full_blocks;         /* gen: vectors / (BL_THREADS * BL_GEN_VECTORS), rounded down; 0 where there is a splat */
    bl_u32 tail;                /* gath: elements after the body */
    bl_u32 inner_size;          /* gath: elements along dimension 0 */
    bl_u32 inner_starts;        /* gath: places where a vector fits in there, inner_size - LANES + 1, 0 if negative */
    bl_u32 lhs_splat;           /* gen: 1 if lhs does not move along the inner dimension, else 0 */
    bl_u32 rhs_splat;           /* gen: the same for rhs */
    BlStridedDim dims[BL_MAX_RANK];
} BlStrided;
BL_STATIC_ASSERT(sizeof(BlStrided) == 184);
BL_OFFSET_IS(BlStrided, dims, 56);

#endif
