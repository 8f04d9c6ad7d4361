//! The gradient of copysign.

use std::sync::Arc;

use super::first_element;
use super::kernels::Module;
use super::launch::{THREADS, count, divisor, launch};
use super::params::{BlGrad, BlGradDim};
use super::stream::Stream;
use super::trace::trace_launch;
use crate::backend::{CopysignGradCall, Memory};
use crate::layout::{MAX_RANK, boxed};
use crate::plan::{Plan, Role, Shape};
use crate::storage::Access;
use crate::{Error, Result};

/// Sums from this length on are worth a block each.
const LONG_SUM: usize = 256;

/// Sums from this length on are, too, if there are too few of them to fill the device otherwise.
const MEDIUM_SUM: usize = 32;
const FEW_SUMS: usize = 1 << 13;

/// What 32-bit kernels can count.
const NARROW: usize = 1 << 31;

/// Queues the kernel. The context is current and the memory in order for the lane.
pub(super) fn run(
    lane: &Arc<Stream>,
    module: Module,
    call: &CopysignGradCall<'_>,
    access: &Access<'_>,
) -> Result<()> {
    let size = call.dtype.size();
    if call.summed.len == 0 {
        // Sums of nothing.
        if let Some(Memory::Cuda(memory)) = access.memory(Role::Out) {
            let start = call.kept.offsets[Role::Out as usize] * size;
            memory.clear_range(start..start + call.kept.len * size, lane)?;
        }
        return Ok(());
    }
    if call.summed.len >= NARROW {
        return Err(Error::InvalidShape {
            op: "copysign_grad",
            shape: boxed(&call.summed.sizes[..call.summed.rank]),
            reason: format!(
                "sums of {} elements; the longest have {}",
                call.summed.len,
                NARROW - 1
            ),
        });
    }
    queue(lane, module, call.kept, call.summed, access, size)
}

fn queue(
    lane: &Arc<Stream>,
    module: Module,
    kept: &Plan,
    summed: &Plan,
    access: &Access<'_>,
    size: usize,
) -> Result<()> {
    if kept.len >= NARROW
        && let Some((front, back)) = kept.split()
    {
        queue(lane, module, &front, summed, access, size)?;
        return queue(lane, module, &back, summed, access, size);
    }
    let address = |role: Role| first_element(access, role, kept.offsets[role as usize], size);
    let mut dims = [BlGradDim::default(); MAX_RANK];
    fill_dims(&mut dims[..kept.rank], kept)?;
    fill_dims(&mut dims[kept.rank..kept.rank + summed.rank], summed)?;
    let params = BlGrad {
        out: address(Role::Out)?,
        x: address(Role::Lhs)?,
        y: address(Role::Rhs)?,
        g: address(Role::Mask)?,
        outputs: count(kept.len)?,
        terms: count(summed.len)?,
        kept_rank: count(kept.rank)?,
        reduced_rank: count(summed.rank)?,
        dims,
    };
    let many_threads = summed.len >= LONG_SUM || (summed.len >= MEDIUM_SUM && kept.len < FEW_SUMS);
    let (shape, blocks) = if many_threads {
        (Shape::Sum, kept.len)
    } else {
        (Shape::Each, kept.len.div_ceil(THREADS))
    };
    trace_launch!(kernel = %module.kernel(shape), grid = blocks, ?kept, ?summed, "launch");
    launch(lane, module, shape, [blocks, 1], &params)
}

/// Turns loops into dimensions with steps (see `params.h`).
fn fill_dims(dims: &mut [BlGradDim], plan: &Plan) -> Result<()> {
    for (level, dim) in dims.iter_mut().enumerate() {
        let step = |role: Role| {
            let strides = plan.strides_of(role);
            let inner = match level {
                0 => 0,
                _ => (plan.sizes[level - 1] as isize).wrapping_mul(strides[level - 1]),
            };
            strides[level].wrapping_sub(inner) as i64
        };
        *dim = BlGradDim {
            size: divisor(plan.sizes[level])?,
            x_step: step(Role::Lhs),
            y_step: step(Role::Rhs),
            g_step: step(Role::Mask),
        };
    }
    Ok(())
}
