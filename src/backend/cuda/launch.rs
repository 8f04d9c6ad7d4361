//! Parameters and grids of the hand-written kernels, and the launch of any kernel.

use std::ffi::c_void;
use std::ptr;

use super::driver::driver;
use super::loading::Function;
use super::params::{
    BL_COL_VECTORS, BL_CONTIG_VECTORS, BL_GEN_VECTORS, BL_ROW_ROWS, BL_SCALAR_VECTORS,
    BL_SCALAR_VECTORS_WIDE, BL_THREADS, BlDivisor, BlLinear, BlMatrix, BlStrided, BlStridedDim,
    BlValue,
};
use super::shapes::{KernelShape, Pair, Side, tile_log2};
use super::stream::Stream;
use crate::layout::MAX_RANK;
use crate::plan::OUT;
use crate::{Error, Result};

const THREADS: usize = BL_THREADS as usize;

/// The parameters of a hand-written kernel. The shape of a kernel determines the struct that it takes; only
/// [`Parameters::of`] constructs one.
pub(super) enum Parameters {
    Linear(BlLinear),
    Matrix(BlMatrix),
    Strided(BlStrided),
}

impl Parameters {
    /// Returns the parameters and the grid of the kernel of `shape`, which [`Pair::shape`] must have chosen for this
    /// pair.
    pub(super) fn of(shape: KernelShape, pair: &Pair<'_>) -> Result<(Parameters, [usize; 2])> {
        match shape {
            KernelShape::Contig => linear(pair, None),
            KernelShape::Scalar => linear(pair, Some(1)),
            KernelShape::Lscalar => linear(pair, Some(0)),
            KernelShape::Row | KernelShape::Lrow => row(pair),
            KernelShape::Col | KernelShape::Lcol => column(pair),
            KernelShape::Gen2 | KernelShape::Gen4 | KernelShape::Gen8 => general(pair),
            KernelShape::Gath2 | KernelShape::Gath4 | KernelShape::Gath8 => gather(pair),
        }
    }

    /// Returns a pointer to the struct.
    pub(super) fn address(&self) -> *const c_void {
        match self {
            Parameters::Linear(params) => ptr::from_ref(params).cast(),
            Parameters::Matrix(params) => ptr::from_ref(params).cast(),
            Parameters::Strided(params) => ptr::from_ref(params).cast(),
        }
    }
}

/// Returns the number of elements before the first aligned vector of the destination.
fn head(pair: &Pair<'_>) -> usize {
    ((pair.lanes - pair.place(OUT)) % pair.lanes).min(pair.plan.len)
}

/// Returns the address of an operand's first element, or 0 for a number.
fn address(pair: &Pair<'_>, side: usize) -> u64 {
    pair.sides[side].slot().map_or(0, |slot| pair.operands[slot].address)
}

/// `contig`, `scalar` and `lscalar`. `kept` is the side that is a single element, if any.
fn linear(pair: &Pair<'_>, kept: Option<usize>) -> Result<(Parameters, [usize; 2])> {
    let depth = match (kept, pair.element_size) {
        (None, _) => BL_CONTIG_VECTORS,
        (Some(_), 0..8) => BL_SCALAR_VECTORS,
        (Some(_), _) => BL_SCALAR_VECTORS_WIDE,
    };
    let per_block = THREADS * depth as usize;
    let head = head(pair);
    let vectors = (pair.plan.len - head) / pair.lanes;
    let tail = pair.plan.len - head - vectors * pair.lanes;
    let skipped =
        |side: usize| if kept == Some(side) { 0 } else { (head * pair.element_size) as u64 };
    let (value, kept_in_memory) = match kept.map(|side| pair.sides[side]) {
        None => (BlValue::default(), false),
        Some(Side::Number(value)) => (value, false),
        Some(Side::Memory(_)) => (BlValue::default(), true),
    };
    let out = &pair.operands[OUT];
    let params = BlLinear {
        out: out.address + (head * out.size) as u64,
        lhs: address(pair, 0) + skipped(0),
        rhs: address(pair, 1) + skipped(1),
        vectors: count(vectors)?,
        full_blocks: if kept_in_memory { 0 } else { count(vectors / per_block)? },
        head: count(head)?,
        tail: count(tail)?,
        value,
    };
    let rest = !vectors.is_multiple_of(per_block) || head + tail != 0;
    Ok((Parameters::Linear(params), [vectors / per_block + usize::from(rest), 1]))
}

/// The parameters that the row and column kernels have in common.
fn matrix(pair: &Pair<'_>) -> Result<BlMatrix> {
    let [columns, rows] = [pair.plan.sizes[0], pair.plan.sizes[1]];
    Ok(BlMatrix {
        out: pair.operands[OUT].address,
        lhs: address(pair, 0),
        rhs: address(pair, 1),
        rows: count(rows)?,
        row_vectors: count(columns / pair.lanes)?,
        row_bytes: count(columns * pair.element_size)?,
        out_row_bytes: count(columns * pair.operands[OUT].size)?,
        ..BlMatrix::default()
    })
}

fn row(pair: &Pair<'_>) -> Result<(Parameters, [usize; 2])> {
    let mut params = matrix(pair)?;
    let (rows, vectors) = (params.rows as usize, params.row_vectors as usize);
    params.tile_log2 = tile_log2(vectors);
    params.tile_mask = (1 << params.tile_log2) - 1;
    params.rows_apart = BL_THREADS >> params.tile_log2;
    params.block_rows_log2 = (BL_ROW_ROWS * params.rows_apart).ilog2();
    params.full_rows = params.rows.saturating_sub((BL_ROW_ROWS - 1) * params.rows_apart);
    let grid =
        [rows.div_ceil(1 << params.block_rows_log2), vectors.div_ceil(1 << params.tile_log2)];
    Ok((Parameters::Matrix(params), grid))
}

fn column(pair: &Pair<'_>) -> Result<(Parameters, [usize; 2])> {
    let params = matrix(pair)?;
    let blocks = (params.row_vectors as usize).div_ceil(THREADS * BL_COL_VECTORS as usize);
    let rows = params.rows as usize;
    Ok((Parameters::Matrix(params), [rows, blocks]))
}

fn general(pair: &Pair<'_>) -> Result<(Parameters, [usize; 2])> {
    let (plan, lanes) = (pair.plan, pair.lanes);
    let splat = [0, 1].map(|side| stride(pair, side, 0) == 0);
    // The inner loop counts vectors; if there is only one, the loop is dropped.
    let inner = plan.sizes[0] / lanes;
    let size_of = |level: usize| if level == 0 { inner } else { plan.sizes[level] };
    let stride_of = |side: usize, level: usize| match stride(pair, side, level) {
        1 if level == 0 => lanes as isize,
        stride => stride,
    };
    let vectors = plan.len / lanes;
    let per_block = THREADS * BL_GEN_VECTORS as usize;
    let params = BlStrided {
        out: pair.operands[OUT].address,
        lhs: address(pair, 0),
        rhs: address(pair, 1),
        vectors: count(vectors)?,
        full_blocks: if splat == [false, false] { count(vectors / per_block)? } else { 0 },
        lhs_splat: splat[0].into(),
        rhs_splat: splat[1].into(),
        dims: dims(usize::from(inner == 1)..plan.rank, size_of, stride_of)?,
        ..BlStrided::default()
    };
    Ok((Parameters::Strided(params), [vectors.div_ceil(per_block), 1]))
}

fn gather(pair: &Pair<'_>) -> Result<(Parameters, [usize; 2])> {
    let (plan, lanes) = (pair.plan, pair.lanes);
    let (head, out) = (head(pair), &pair.operands[OUT]);
    let vectors = (plan.len - head) / lanes;
    let params = BlStrided {
        out: out.address + (head * out.size) as u64,
        lhs: address(pair, 0),
        rhs: address(pair, 1),
        vectors: count(vectors)?,
        head: count(head)?,
        tail: count(plan.len - head - vectors * lanes)?,
        inner_size: count(plan.sizes[0])?,
        inner_starts: count((plan.sizes[0] + 1).saturating_sub(lanes))?,
        dims: dims(
            0..plan.rank,
            |level| plan.sizes[level],
            |side, level| stride(pair, side, level),
        )?,
        ..BlStrided::default()
    };
    Ok((Parameters::Strided(params), [(vectors + 2).div_ceil(THREADS), 1]))
}

/// Returns the stride of an operand along a loop, or 0 for a number.
fn stride(pair: &Pair<'_>, side: usize, level: usize) -> isize {
    pair.sides[side].slot().map_or(0, |slot| pair.plan.slots[slot].strides[level])
}

/// Converts loops to dimensions with steps instead of strides (see `params.h`).
fn dims(
    levels: std::ops::Range<usize>,
    size_of: impl Fn(usize) -> usize,
    stride_of: impl Fn(usize, usize) -> isize,
) -> Result<[BlStridedDim; MAX_RANK]> {
    let mut dims = [BlStridedDim::default(); MAX_RANK];
    let first = levels.start;
    for (dim, level) in dims.iter_mut().zip(levels) {
        let step =
            |side: usize| step(level, first, &size_of, |level| stride_of(side, level)) as i32;
        *dim =
            BlStridedDim { size: divisor(size_of(level))?, lhs_step: step(0), rhs_step: step(1) };
    }
    Ok(dims)
}

/// Returns the step of an operand along a loop of the kernel, of which `first` is the innermost (see `params.h`).
/// Steps wrap, as do the kernels' partial sums; the final offsets fit.
#[inline]
pub(super) fn step(
    level: usize,
    first: usize,
    size_of: impl Fn(usize) -> usize,
    stride_of: impl Fn(usize) -> isize,
) -> isize {
    if level == first {
        return stride_of(level);
    }
    let inner = (size_of(level - 1) as isize).wrapping_mul(stride_of(level - 1));
    stride_of(level).wrapping_sub(inner)
}

/// Queues a kernel whose only parameter is the struct at `parameters`, passed by value.
///
/// # Safety
///
/// The struct must be the one that the kernel takes. With its values and this grid, the kernel must access only memory
/// that is alive, whose earlier work this stream waits for, and whose storage is locked until this returns. The
/// stream's context must be current.
pub(super) unsafe fn launch(
    stream: &Stream,
    function: Function,
    grid: [u32; 2],
    parameters: *const c_void,
) -> Result<()> {
    let mut arguments = [parameters.cast_mut()];
    // SAFETY: guaranteed by the caller; the driver copies the parameters before it returns, and does not write to them.
    unsafe {
        driver!(cuLaunchKernel(
            function.raw(),
            grid[0],
            grid[1],
            1,
            BL_THREADS,
            1,
            1,
            0,
            stream.raw(),
            arguments.as_mut_ptr(),
            ptr::null_mut(),
        ))
    }
}

/// Converts a count to the type that the kernels take. Kernels are chosen so that it fits.
#[inline]
pub(super) fn count(count: usize) -> Result<u32> {
    u32::try_from(count).map_err(|_| Error::InvalidArgument {
        op: "launch",
        reason: format!("{count} is beyond what a kernel can count"),
    })
}

/// Returns the constants with which the kernels divide by a size below 2^31 (see `params.h`).
#[inline]
pub(super) fn divisor(size: usize) -> Result<BlDivisor> {
    let size = u64::from(count(size)?);
    if size <= 1 {
        return Ok(BlDivisor::default());
    }
    let log2 = u64::BITS - (size - 1).leading_zeros();
    let magic = (1u64 << (31 + log2)).div_ceil(size);
    Ok(BlDivisor { magic: count(magic as usize)?, shift: log2 - 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn divisors_divide() {
        let divide = |n: u64, d: BlDivisor| ((n * u64::from(d.magic)) >> 32) >> d.shift;
        let sizes =
            (1..2000).chain([(1 << 31) - 1, 1 << 30, (1 << 30) + 1, 0x5555_5555, 65535, 65537]);
        for size in sizes {
            let d = divisor(size as usize).unwrap();
            let near = (0..20u64)
                .flat_map(|k| [k * size, k * size + 1, k * size + size - 1, (1 << 31) - 1 - k]);
            for n in near.filter(|&n| n < 1 << 31 && (size > 1 || n == 0)) {
                assert_eq!(divide(n, d), n / size, "{n} / {size}");
            }
        }
    }
}
