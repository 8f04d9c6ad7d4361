/* Launch parameters: the one definition shared by the kernels (through NVRTC) and the host (through bindgen).
 *
 * Plain C. Every kernel takes exactly one of these structs, by value, as its only parameter. Addresses are device
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
    BL_SCALAR_VECTORS = 4,      /* vectors per thread of scalar, lscalar and of unary contig */
    BL_SCALAR_VECTORS_WIDE = 8, /* ... for dtypes of 8 bytes and more */
    BL_ROW_ROWS = 4,            /* rows per thread of row, lrow */
    BL_COL_VECTORS = 4,         /* vectors per thread of col, lcol */
    BL_GEN_VECTORS = 2,         /* vectors per thread of gen2, gen4, gen8 */
    BL_GATH_VECTORS = 1,        /* vectors per thread of gath2, gath4, gath8 */
    BL_MIXED_ELEMENTS = 4       /* elements per thread of mixed, mixedw */
};

/* Operand dtypes as mixed kernels see them, in the order of the dtype table. */
enum BlDtype {
    BL_DTYPE_BOOL, BL_DTYPE_U8, BL_DTYPE_U16, BL_DTYPE_U32, BL_DTYPE_U64,
    BL_DTYPE_I8, BL_DTYPE_I16, BL_DTYPE_I32, BL_DTYPE_I64,
    BL_DTYPE_F16, BL_DTYPE_BF16, BL_DTYPE_F32, BL_DTYPE_F64, BL_DTYPE_C64, BL_DTYPE_C128,
    BL_DTYPE_IMMEDIATE          /* no tensor: the operand is a value inside the parameters */
};

/* An immediate operand: the bits of one element of the compute dtype, little-endian, zero-padded. Complex: real part
 * first. Compute dtype `int`: bits[0] is the value modulo 2^64, bits[1] is 1 if the value is negative, else 0. */
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

/* The tensors a mixed kernel touches. */
enum BlRole { BL_ROLE_OUT, BL_ROLE_LHS, BL_ROLE_RHS, BL_ROLE_MASK, BL_ROLES };

/* One dimension of a mixed launch, innermost first. */
typedef struct BlMixedDim {
    bl_u64 size;
    bl_i64 step[BL_ROLES];
    BlDivisor divisor;          /* mixed: of `size`; mixedw: unused */
} BlMixedDim;
BL_STATIC_ASSERT(sizeof(BlMixedDim) == 48);

/* mixed, mixedw: any dtypes, any strides, optional mask. */
typedef struct BlMixed {
    bl_u64 address[BL_ROLES];   /* of the element at coordinate 0; a mask address of 0 means no mask */
    bl_u64 length;              /* elements of the loop nest */
    bl_u32 rank;
    bl_u32 dtype[3];            /* BlDtype by role OUT, LHS, RHS; the mask is always bool */
    BlValue value[2];           /* LHS, RHS where their dtype is BL_DTYPE_IMMEDIATE */
    BlMixedDim dims[BL_MAX_RANK];
} BlMixed;
BL_STATIC_ASSERT(sizeof(BlMixed) == 472);
BL_OFFSET_IS(BlMixed, rank, 40);
BL_OFFSET_IS(BlMixed, value, 56);
BL_OFFSET_IS(BlMixed, dims, 88);

/* One dimension of copysign_grad: kept dimensions index gx, reduced dimensions are summed over. Steps count from
 * dimension 0 of either group on its own. */
typedef struct BlGradDim {
    BlDivisor size;
    bl_i64 x_step;
    bl_i64 y_step;
    bl_i64 g_step;
} BlGradDim;
BL_STATIC_ASSERT(sizeof(BlGradDim) == 32);

/* each_copysign_grad (one thread per output), sum_copysign_grad (one block per output). */
typedef struct BlGrad {
    bl_u64 out;                 /* gx, contiguous */
    bl_u64 x;
    bl_u64 y;
    bl_u64 g;
    bl_u32 outputs;             /* elements of gx: the product of the kept sizes, < 2^31 */
    bl_u32 terms;               /* elements summed into each: the product of the reduced sizes, 1 <= terms < 2^31 */
    bl_u32 kept_rank;
    bl_u32 reduced_rank;
    BlGradDim dims[BL_MAX_RANK]; /* the kept ones, innermost first, then the reduced ones, innermost first */
} BlGrad;
BL_STATIC_ASSERT(sizeof(BlGrad) == 304);
BL_OFFSET_IS(BlGrad, dims, 48);

#endif
