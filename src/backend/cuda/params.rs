// Generated from cuda/params.h by `cargo xtask bindings`: faf56b20a05909c1e2ec6185fcf9a2b0e23e60f0449159503470f598fce74117
pub type bl_i32 = ::core::ffi::c_int;
pub type bl_u32 = ::core::ffi::c_uint;
pub type bl_i64 = ::core::ffi::c_longlong;
pub type bl_u64 = ::core::ffi::c_ulonglong;
pub const BL_THREADS: BlTuning = 256;
pub const BL_VECTOR_BYTES: BlTuning = 16;
pub const BL_MAX_RANK: BlTuning = 8;
pub const BL_CONTIG_VECTORS: BlTuning = 2;
pub const BL_SCALAR_VECTORS: BlTuning = 4;
pub const BL_SCALAR_VECTORS_WIDE: BlTuning = 8;
pub const BL_ROW_ROWS: BlTuning = 4;
pub const BL_COL_VECTORS: BlTuning = 4;
pub const BL_GEN_VECTORS: BlTuning = 2;
pub const BL_WARP: BlTuning = 32;
pub const BL_SUM_LEVELS: BlTuning = 5;
pub type BlTuning = ::core::ffi::c_uint;
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct BlValue {
    pub bits: [bl_u64; 2usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of BlValue"][::core::mem::size_of::<BlValue>() - 16usize];
    ["Alignment of BlValue"][::core::mem::align_of::<BlValue>() - 8usize];
    ["Offset of field: BlValue::bits"][::core::mem::offset_of!(BlValue, bits) - 0usize];
};
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct BlDivisor {
    pub magic: bl_u32,
    pub shift: bl_u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of BlDivisor"][::core::mem::size_of::<BlDivisor>() - 8usize];
    ["Alignment of BlDivisor"][::core::mem::align_of::<BlDivisor>() - 4usize];
    ["Offset of field: BlDivisor::magic"][::core::mem::offset_of!(BlDivisor, magic) - 0usize];
    ["Offset of field: BlDivisor::shift"][::core::mem::offset_of!(BlDivisor, shift) - 4usize];
};
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct BlLinear {
    pub out: bl_u64,
    pub lhs: bl_u64,
    pub rhs: bl_u64,
    pub vectors: bl_u32,
    pub full_blocks: bl_u32,
    pub head: bl_u32,
    pub tail: bl_u32,
    pub value: BlValue,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of BlLinear"][::core::mem::size_of::<BlLinear>() - 56usize];
    ["Alignment of BlLinear"][::core::mem::align_of::<BlLinear>() - 8usize];
    ["Offset of field: BlLinear::out"][::core::mem::offset_of!(BlLinear, out) - 0usize];
    ["Offset of field: BlLinear::lhs"][::core::mem::offset_of!(BlLinear, lhs) - 8usize];
    ["Offset of field: BlLinear::rhs"][::core::mem::offset_of!(BlLinear, rhs) - 16usize];
    ["Offset of field: BlLinear::vectors"][::core::mem::offset_of!(BlLinear, vectors) - 24usize];
    ["Offset of field: BlLinear::full_blocks"]
        [::core::mem::offset_of!(BlLinear, full_blocks) - 28usize];
    ["Offset of field: BlLinear::head"][::core::mem::offset_of!(BlLinear, head) - 32usize];
    ["Offset of field: BlLinear::tail"][::core::mem::offset_of!(BlLinear, tail) - 36usize];
    ["Offset of field: BlLinear::value"][::core::mem::offset_of!(BlLinear, value) - 40usize];
};
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct BlMatrix {
    pub out: bl_u64,
    pub lhs: bl_u64,
    pub rhs: bl_u64,
    pub rows: bl_u32,
    pub row_vectors: bl_u32,
    pub row_bytes: bl_u32,
    pub out_row_bytes: bl_u32,
    pub tile_log2: bl_u32,
    pub tile_mask: bl_u32,
    pub block_rows_log2: bl_u32,
    pub full_rows: bl_u32,
    pub rows_apart: bl_u32,
    pub reserved: bl_u32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of BlMatrix"][::core::mem::size_of::<BlMatrix>() - 64usize];
    ["Alignment of BlMatrix"][::core::mem::align_of::<BlMatrix>() - 8usize];
    ["Offset of field: BlMatrix::out"][::core::mem::offset_of!(BlMatrix, out) - 0usize];
    ["Offset of field: BlMatrix::lhs"][::core::mem::offset_of!(BlMatrix, lhs) - 8usize];
    ["Offset of field: BlMatrix::rhs"][::core::mem::offset_of!(BlMatrix, rhs) - 16usize];
    ["Offset of field: BlMatrix::rows"][::core::mem::offset_of!(BlMatrix, rows) - 24usize];
    ["Offset of field: BlMatrix::row_vectors"]
        [::core::mem::offset_of!(BlMatrix, row_vectors) - 28usize];
    ["Offset of field: BlMatrix::row_bytes"]
        [::core::mem::offset_of!(BlMatrix, row_bytes) - 32usize];
    ["Offset of field: BlMatrix::out_row_bytes"]
        [::core::mem::offset_of!(BlMatrix, out_row_bytes) - 36usize];
    ["Offset of field: BlMatrix::tile_log2"]
        [::core::mem::offset_of!(BlMatrix, tile_log2) - 40usize];
    ["Offset of field: BlMatrix::tile_mask"]
        [::core::mem::offset_of!(BlMatrix, tile_mask) - 44usize];
    ["Offset of field: BlMatrix::block_rows_log2"]
        [::core::mem::offset_of!(BlMatrix, block_rows_log2) - 48usize];
    ["Offset of field: BlMatrix::full_rows"]
        [::core::mem::offset_of!(BlMatrix, full_rows) - 52usize];
    ["Offset of field: BlMatrix::rows_apart"]
        [::core::mem::offset_of!(BlMatrix, rows_apart) - 56usize];
    ["Offset of field: BlMatrix::reserved"][::core::mem::offset_of!(BlMatrix, reserved) - 60usize];
};
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct BlStridedDim {
    pub size: BlDivisor,
    pub lhs_step: bl_i32,
    pub rhs_step: bl_i32,
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of BlStridedDim"][::core::mem::size_of::<BlStridedDim>() - 16usize];
    ["Alignment of BlStridedDim"][::core::mem::align_of::<BlStridedDim>() - 4usize];
    ["Offset of field: BlStridedDim::size"][::core::mem::offset_of!(BlStridedDim, size) - 0usize];
    ["Offset of field: BlStridedDim::lhs_step"]
        [::core::mem::offset_of!(BlStridedDim, lhs_step) - 8usize];
    ["Offset of field: BlStridedDim::rhs_step"]
        [::core::mem::offset_of!(BlStridedDim, rhs_step) - 12usize];
};
#[repr(C)]
#[derive(Debug, Default, Copy, Clone)]
pub struct BlStrided {
    pub out: bl_u64,
    pub lhs: bl_u64,
    pub rhs: bl_u64,
    pub vectors: bl_u32,
    pub head: bl_u32,
    pub full_blocks: bl_u32,
    pub tail: bl_u32,
    pub inner_size: bl_u32,
    pub inner_starts: bl_u32,
    pub lhs_splat: bl_u32,
    pub rhs_splat: bl_u32,
    pub dims: [BlStridedDim; 8usize],
}
#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of BlStrided"][::core::mem::size_of::<BlStrided>() - 184usize];
    ["Alignment of BlStrided"][::core::mem::align_of::<BlStrided>() - 8usize];
    ["Offset of field: BlStrided::out"][::core::mem::offset_of!(BlStrided, out) - 0usize];
    ["Offset of field: BlStrided::lhs"][::core::mem::offset_of!(BlStrided, lhs) - 8usize];
    ["Offset of field: BlStrided::rhs"][::core::mem::offset_of!(BlStrided, rhs) - 16usize];
    ["Offset of field: BlStrided::vectors"][::core::mem::offset_of!(BlStrided, vectors) - 24usize];
    ["Offset of field: BlStrided::head"][::core::mem::offset_of!(BlStrided, head) - 28usize];
    ["Offset of field: BlStrided::full_blocks"]
        [::core::mem::offset_of!(BlStrided, full_blocks) - 32usize];
    ["Offset of field: BlStrided::tail"][::core::mem::offset_of!(BlStrided, tail) - 36usize];
    ["Offset of field: BlStrided::inner_size"]
        [::core::mem::offset_of!(BlStrided, inner_size) - 40usize];
    ["Offset of field: BlStrided::inner_starts"]
        [::core::mem::offset_of!(BlStrided, inner_starts) - 44usize];
    ["Offset of field: BlStrided::lhs_splat"]
        [::core::mem::offset_of!(BlStrided, lhs_splat) - 48usize];
    ["Offset of field: BlStrided::rhs_splat"]
        [::core::mem::offset_of!(BlStrided, rhs_splat) - 52usize];
    ["Offset of field: BlStrided::dims"][::core::mem::offset_of!(BlStrided, dims) - 56usize];
};
