//! From a plan to a launch: the kernel's shape, its parameters and its grid.

use std::ptr;
use std::sync::Arc;

use super::driver::driver;
use super::force;
use super::kernels::Module;
use super::params::{
    BL_COL_VECTORS, BL_CONTIG_VECTORS, BL_GEN_VECTORS, BL_MIXED_ELEMENTS, BL_ROW_ROWS,
    BL_SCALAR_VECTORS, BL_SCALAR_VECTORS_WIDE, BL_THREADS, BlDivisor, BlLinear, BlMatrix, BlMixed,
    BlMixedDim, BlStrided, BlStridedDim, BlValue,
};
use super::stream::Stream;
use super::trace::trace_launch;
use crate::layout::MAX_RANK;
use crate::plan::{Fit, Plan, ROLES, Role, Shape, tile_log2};
use crate::{Error, Result};

pub(super) const THREADS: usize = BL_THREADS as usize;

/// The largest first dimension of a grid.
const GRID_X: usize = i32::MAX as usize;

/// Vectors that one launch of the linear kernels takes, with room for the rest of a block.
const LINEAR_VECTORS: usize = 1 << 31;

/// An elementwise operation with all that a kernel needs to know of it.
pub(super) struct Job<'a> {
    pub(super) lane: &'a Arc<Stream>,
    pub(super) module: Module,
    pub(super) plan: &'a Plan,
    pub(super) fit: Fit,
    /// The first element of every role, 0 for a role without memory.
    pub(super) addresses: [u64; ROLES],
    /// The size of the destination's elements.
    pub(super) out_size: usize,
    /// The numbers that stand for operands without memory.
    pub(super) values: [BlValue; 2],
    /// The dtypes of destination and operands, as the kernels count them.
    pub(super) dtypes: [u32; 3],
}

impl Job<'_> {
    /// Queues the kernel. The context is current and the memory in order for the lane.
    pub(super) fn run(&self) -> Result<()> {
        let shape = force::apply(self.plan, &self.fit, self.plan.shape(&self.fit));
        match shape {
            Shape::Contig | Shape::Scalar | Shape::Lscalar => self.linear(shape),
            Shape::Row | Shape::Lrow => self.row(shape),
            Shape::Col | Shape::Lcol => self.column(shape),
            Shape::Gen2 | Shape::Gen4 | Shape::Gen8 => self.general(shape),
            Shape::Gath2 | Shape::Gath4 | Shape::Gath8 => self.gather(shape),
            _ => self.mixed(shape, self.plan, self.addresses),
        }
    }

    /// Elements before the first whole vector of the destination.
    fn head(&self) -> usize {
        let lanes = self.fit.lanes;
        ((lanes - self.fit.places[0]) % lanes).min(self.plan.len)
    }

    fn linear(&self, shape: Shape) -> Result<()> {
        let Fit { lanes, element_size, .. } = self.fit;
        let is_contig = shape == Shape::Contig && self.fit.arity == 2;
        let depth = match element_size {
            _ if is_contig => BL_CONTIG_VECTORS,
            0..8 => BL_SCALAR_VECTORS,
            _ => BL_SCALAR_VECTORS_WIDE,
        };
        let per_block = THREADS * depth as usize;
        let [out, lhs, rhs, _] = self.addresses;
        // An operand that stays the same, and so does not move on with the others.
        let (lhs_size, rhs_size) = match shape {
            Shape::Lscalar => (0, element_size),
            Shape::Scalar => (element_size, 0),
            _ if is_contig => (element_size, element_size),
            _ => (element_size, 0),
        };
        let kept_in_memory = match shape {
            Shape::Lscalar => lhs != 0,
            Shape::Scalar => rhs != 0,
            _ => false,
        };
        let value = self.values[usize::from(shape != Shape::Lscalar)];
        let mut head = self.head();
        let mut done = head;
        loop {
            let vectors = ((self.plan.len - done) / lanes).min(LINEAR_VECTORS);
            let left = self.plan.len - done - vectors * lanes;
            let tail = if left < lanes { left } else { 0 };
            let at = |address: u64, size: usize| address + (done * size) as u64;
            let params = BlLinear {
                out: at(out, self.out_size),
                lhs: at(lhs, lhs_size),
                rhs: at(rhs, rhs_size),
                vectors: count(vectors)?,
                full_blocks: if kept_in_memory { 0 } else { count(vectors / per_block)? },
                head: count(head)?,
                tail: count(tail)?,
                value,
            };
            let rest = !vectors.is_multiple_of(per_block) || head + tail != 0;
            self.launch(shape, [vectors / per_block + usize::from(rest), 1], &params)?;
            done += vectors * lanes + tail;
            head = 0;
            if done == self.plan.len {
                return Ok(());
            }
        }
    }

    /// What rows and columns have in common.
    fn matrix(&self) -> Result<BlMatrix> {
        let [columns, rows] = [self.plan.sizes[0], self.plan.sizes[1]];
        let [out, lhs, rhs, _] = self.addresses;
        Ok(BlMatrix {
            out,
            lhs,
            rhs,
            rows: count(rows)?,
            row_vectors: count(columns / self.fit.lanes)?,
            row_bytes: count(columns * self.fit.element_size)?,
            out_row_bytes: count(columns * self.out_size)?,
            ..BlMatrix::default()
        })
    }

    fn row(&self, shape: Shape) -> Result<()> {
        let mut params = self.matrix()?;
        let (rows, vectors) = (params.rows as usize, params.row_vectors as usize);
        params.tile_log2 = tile_log2(vectors);
        params.tile_mask = (1 << params.tile_log2) - 1;
        params.rows_apart = BL_THREADS >> params.tile_log2;
        params.block_rows_log2 = (BL_ROW_ROWS * params.rows_apart).ilog2();
        params.full_rows = params.rows.saturating_sub((BL_ROW_ROWS - 1) * params.rows_apart);
        let grid =
            [rows.div_ceil(1 << params.block_rows_log2), vectors.div_ceil(1 << params.tile_log2)];
        self.launch(shape, grid, &params)
    }

    fn column(&self, shape: Shape) -> Result<()> {
        let params = self.matrix()?;
        let blocks = (params.row_vectors as usize).div_ceil(THREADS * BL_COL_VECTORS as usize);
        self.launch(shape, [params.rows as usize, blocks], &params)
    }

    fn general(&self, shape: Shape) -> Result<()> {
        let Fit { lanes, .. } = self.fit;
        let plan = self.plan;
        let splat = |role: Role| plan.strides_of(role)[0] == 0;
        // Along the inner loop vectors are counted; if there is only one it is no loop.
        let inner = plan.sizes[0] / lanes;
        let first = usize::from(inner == 1);
        let mut dims = [BlStridedDim::default(); MAX_RANK];
        let size_of = |level: usize| if level == 0 { inner } else { plan.sizes[level] };
        let stride_of = |role: Role, level: usize| match plan.strides_of(role)[level] {
            1 if level == 0 => lanes as isize,
            stride => stride,
        };
        self.fill_dims(&mut dims, first, size_of, stride_of)?;
        let [out, lhs, rhs, _] = self.addresses;
        let vectors = plan.len / lanes;
        let per_block = THREADS * BL_GEN_VECTORS as usize;
        let runs = !splat(Role::Lhs) && !splat(Role::Rhs);
        let params = BlStrided {
            out,
            lhs,
            rhs,
            vectors: count(vectors)?,
            full_blocks: if runs { count(vectors / per_block)? } else { 0 },
            lhs_splat: splat(Role::Lhs).into(),
            rhs_splat: splat(Role::Rhs).into(),
            dims,
            ..BlStrided::default()
        };
        self.launch(shape, [vectors.div_ceil(per_block), 1], &params)
    }

    fn gather(&self, shape: Shape) -> Result<()> {
        let Fit { lanes, .. } = self.fit;
        let plan = self.plan;
        let head = self.head();
        let vectors = (plan.len - head) / lanes;
        let mut dims = [BlStridedDim::default(); MAX_RANK];
        self.fill_dims(
            &mut dims,
            0,
            |level| plan.sizes[level],
            |role, level| plan.strides_of(role)[level],
        )?;
        let [out, lhs, rhs, _] = self.addresses;
        let params = BlStrided {
            out: out + (head * self.out_size) as u64,
            lhs,
            rhs,
            vectors: count(vectors)?,
            head: count(head)?,
            tail: count(plan.len - head - vectors * lanes)?,
            inner_size: count(plan.sizes[0])?,
            inner_starts: count((plan.sizes[0] + 1).saturating_sub(lanes))?,
            dims,
            ..BlStrided::default()
        };
        self.launch(shape, [(vectors + 2).div_ceil(THREADS), 1], &params)
    }

    /// Turns the loops from `first` on into dimensions with steps (see `params.h`).
    fn fill_dims(
        &self,
        dims: &mut [BlStridedDim; MAX_RANK],
        first: usize,
        size_of: impl Fn(usize) -> usize,
        stride_of: impl Fn(Role, usize) -> isize,
    ) -> Result<()> {
        for (dim, level) in dims.iter_mut().zip(first..self.plan.rank) {
            let step = |role: Role| {
                let inner = if level == first {
                    0
                } else {
                    (size_of(level - 1) as isize).wrapping_mul(stride_of(role, level - 1))
                };
                // Steps wrap, as the kernels' sums do; the offsets that come out fit.
                stride_of(role, level).wrapping_sub(inner) as i32
            };
            dim.size = divisor(size_of(level))?;
            dim.lhs_step = step(Role::Lhs);
            dim.rhs_step = step(Role::Rhs);
        }
        Ok(())
    }

    fn mixed(&self, shape: Shape, plan: &Plan, addresses: [u64; ROLES]) -> Result<()> {
        let blocks = plan.len.div_ceil(THREADS * BL_MIXED_ELEMENTS as usize);
        if blocks > GRID_X
            && let Some((front, back)) = plan.split()
        {
            let size = |dtype: u32| crate::DType::ALL.get(dtype as usize).map_or(0, |d| d.size());
            let sizes = [size(self.dtypes[0]), size(self.dtypes[1]), size(self.dtypes[2]), 1];
            let mut moved = addresses;
            for role in 0..ROLES {
                let elements = back.offsets[role].wrapping_sub(plan.offsets[role]);
                moved[role] = moved[role].wrapping_add(elements.wrapping_mul(sizes[role]) as u64);
            }
            self.mixed(shape, &front, addresses)?;
            return self.mixed(shape, &back, moved);
        }
        let mut dims = [BlMixedDim::default(); MAX_RANK];
        for (level, dim) in dims.iter_mut().enumerate().take(plan.rank) {
            dim.size = plan.sizes[level] as u64;
            for (step, strides) in dim.step.iter_mut().zip(&plan.strides) {
                let inner = match level {
                    0 => 0,
                    _ => (plan.sizes[level - 1] as isize).wrapping_mul(strides[level - 1]),
                };
                *step = strides[level].wrapping_sub(inner) as i64;
            }
            if shape == Shape::Mixed {
                dim.divisor = divisor(plan.sizes[level])?;
            }
        }
        let params = BlMixed {
            address: addresses,
            length: plan.len as u64,
            rank: count(plan.rank)?,
            dtype: self.dtypes,
            value: self.values,
            dims,
        };
        self.launch(shape, [blocks, 1], &params)
    }

    fn launch<P>(&self, shape: Shape, grid: [usize; 2], params: &P) -> Result<()> {
        trace_launch!(
            kernel = %self.module.kernel(shape), grid = ?grid, plan = ?self.plan, "launch"
        );
        launch(self.lane, self.module, shape, grid, params)
    }
}

/// Queues a kernel whose only parameter is `params`, by value.
pub(super) fn launch<P>(
    lane: &Stream,
    module: Module,
    shape: Shape,
    grid: [usize; 2],
    params: &P,
) -> Result<()> {
    let context = lane.context();
    let function = context.kernels().get(context, module, shape)?;
    let [x, y] = [count(grid[0])?, count(grid[1])?];
    let mut arguments = [ptr::from_ref(params).cast_mut().cast()];
    // SAFETY: the kernel takes this struct by value, and the driver copies it before it returns.
    // Whoever made the parameters made sure that the kernel stays inside the memory they name,
    // which is alive, in order for this lane, and locked until the launch is queued.
    unsafe {
        driver!(cuLaunchKernel(
            function.raw(),
            x,
            y,
            1,
            BL_THREADS,
            1,
            1,
            0,
            lane.raw(),
            arguments.as_mut_ptr(),
            ptr::null_mut(),
        ))
    }
}

/// A count as the kernels take it. Shapes are chosen so that it fits.
#[inline]
pub(super) fn count(count: usize) -> Result<u32> {
    u32::try_from(count).map_err(|_| Error::InvalidArgument {
        op: "launch",
        reason: format!("{count} is beyond what a kernel can count"),
    })
}

/// Numbers with which the kernels divide by a size below 2^31 (see `params.h`).
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
