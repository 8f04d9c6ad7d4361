//! Forms, parameters and grids of elementwise requests.

use smallvec::SmallVec;

use super::class::{Class, NARROW, Operand, Walk, is_near, rank_bucket};
use super::fields::{Field, GROUPS};
use super::form::{Form, KernelKind, calls_large};
use super::tiles::Tiles;
use super::{GRID_X, Job, Loops, THREADS, VECTOR, Words, group_size, push_numbers, push_strides};
use crate::backend::cuda::force::Force;
use crate::backend::cuda::tuning::Tuning;
use crate::plan::{OUT, Plan};
use crate::request::Request;
use crate::{Error, Result};

/// The register budget for the operands of a group, in bytes.
pub(super) const GROUP_BYTES: usize = 208;

/// The number of bytes that a thread should have in flight.
const IN_FLIGHT: usize = 64;

/// Returns the form, parameters and grid for an elementwise request. `operands` is indexed by slot.
pub(super) fn map<'a>(
    request: &Request<'a>,
    operands: &[Operand],
    force: Force,
    tuning: Tuning,
) -> Result<Job<'a>> {
    if !force.has(Force::ELEMENTS)
        && let Some(tiles) = Tiles::of(request, operands, tuning)
    {
        return tiles.job(request, operands, force);
    }
    let plan = request.plan;
    let slots = 0..plan.slots.len();
    let slow = calls_large(request.program);
    let moves = |slot: usize| {
        plan.is_dense(slot) || !plan.is_constant(slot) && plan.slots[slot].strides[0] != 0
    };
    let is_linear = plan.is_dense(OUT)
        && slots.clone().all(|slot| plan.is_dense(slot) || plan.is_constant(slot))
        && !force.has(Force::ELEMENTS);
    let sizes = || slots.clone().filter(|&slot| moves(slot)).map(|slot| operands[slot].size);
    // With a single loop there is no inner loop whose end a group could straddle, and one kernel serves every length.
    let inner = (!is_linear && plan.rank > 1).then_some(plan.sizes[0]);
    // Larger groups amortise the cost of decomposing positions into loops.
    let vector = if inner.is_some() { 2 * VECTOR } else { VECTOR };
    let group = group_size(sizes(), vector, GROUP_BYTES, slow, inner);
    let walk = match inner {
        _ if is_linear => Walk::Linear,
        Some(inner) if inner.is_multiple_of(group) && !force.has(Force::ELEMENTS) => Walk::Groups,
        _ => Walk::Elements,
    };
    let head = match walk {
        Walk::Linear => best_head(plan, operands, group),
        Walk::Elements if plan.is_dense(OUT) => operands[OUT].head(group).min(plan.len),
        Walk::Groups | Walk::Elements | Walk::Tiles => 0,
    };
    let class = |slot: usize| operands[slot].class(plan, slot, walk, group, head);
    let classes: SmallVec<[Class; 8]> = slots.clone().map(class).collect();
    let located: SmallVec<[usize; 8]> =
        slots.clone().filter(|&slot| classes[slot].is_located()).collect();
    let unit = if walk == Walk::Groups { group } else { 1 };
    let groups = (plan.len - head) / group;
    let wide = force.has(Force::WIDE)
        || match walk {
            Walk::Linear => groups >= NARROW,
            Walk::Groups | Walk::Elements | Walk::Tiles => {
                plan.len >= NARROW || !located.iter().all(|&slot| is_near(plan, &plan.slots[slot]))
            }
        };
    let loops = Loops::new(
        plan,
        unit,
        if located.is_empty() {
            0
        } else {
            rank_bucket(plan.rank - usize::from(walk == Walk::Groups && plan.sizes[0] == group))
        },
        wide,
    );
    let depth = match walk {
        Walk::Elements | Walk::Tiles => 1,
        _ if slow => 1,
        Walk::Linear | Walk::Groups => {
            let out = operands[OUT].size;
            let in_flight = if walk == Walk::Linear { IN_FLIGHT } else { 2 * IN_FLIGHT };
            depth(group, sizes().sum::<usize>() - out, out, in_flight)
        }
    };
    let form = Form {
        program: request.program,
        kind: KernelKind::Map,
        out: request.out,
        masked: request.masked,
        classes,
        walk,
        rank: loops.room,
        outer_rank: 0,
        wide,
        group: group as u8,
        depth: depth as u8,
        tile: 0,
    };

    let tail = plan.len - head - groups * group;
    let per_block = THREADS * depth;
    let blocks = match walk {
        Walk::Elements | Walk::Tiles => (groups + head + tail).div_ceil(THREADS),
        Walk::Linear | Walk::Groups => {
            groups / per_block + usize::from(!groups.is_multiple_of(per_block) || head + tail != 0)
        }
    };
    if blocks > GRID_X {
        let reason = format!("{} elements are more than a grid has threads for", plan.len);
        return Err(Error::InvalidArgument { op: request.op, reason });
    }
    let address = |slot: usize| {
        let runs = matches!(form.classes[slot], Class::DenseAligned | Class::Dense);
        let skipped = if walk == Walk::Linear && runs { head * operands[slot].size } else { 0 };
        operands[slot].address + skipped as u64
    };
    let (inner_size, inner_starts) = (plan.sizes[0], (plan.sizes[0] + 1).saturating_sub(group));
    let counts: [usize; GROUPS.len()] =
        [groups, groups / per_block, head, tail, inner_size, inner_starts];
    let mut words = Words::new();
    for field in form.fields() {
        match field {
            Field::Addresses => words.extend(slots.clone().map(address)),
            Field::Groups => words.extend(counts.map(|count| count as u64)),
            Field::Strides => push_strides(&mut words, &form, plan, operands),
            Field::Numbers => push_numbers(&mut words, request.program),
            Field::Loops if located.is_empty() => {}
            Field::Loops => loops.push(&mut words, &located)?,
            // Of other kinds of kernels.
            Field::Terms | Field::Divisor | Field::Outputs => {}
            Field::Sides | Field::TileStrides | Field::Tiles => {}
        }
    }
    Job { form, words, grid: [blocks, 1] }.checked(request.op)
}

/// Returns the number of leading elements to compute one by one, so that the destination is aligned from there on and
/// as many operands as possible are aligned with it.
fn best_head(plan: &Plan, operands: &[Operand], group: usize) -> usize {
    let runs = |slot: usize| plan.is_dense(slot);
    let aligned = |head: usize| {
        let slots = (0..operands.len()).filter(|&slot| runs(slot));
        slots.filter(|&slot| operands[slot].is_aligned(group, head)).count()
    };
    let mut best = operands[OUT].head(group);
    let all = (0..operands.len()).filter(|&slot| runs(slot)).count();
    if aligned(best) < all {
        let heads = (best + 1..group).filter(|&head| operands[OUT].is_aligned(group, head));
        best =
            heads.fold(best, |best, head| if aligned(head) > aligned(best) { head } else { best });
    }
    best.min(plan.len)
}

/// Returns the number of groups per thread: enough to have `in_flight` bytes in flight, as far as registers allow. A
/// fill, which has no inputs, stores enough groups per thread to amortise the computation of addresses.
fn depth(group: usize, inputs: usize, out: usize, in_flight: usize) -> usize {
    if inputs == 0 {
        return (4 * out).clamp(8, 32);
    }
    let mut depth = 1;
    while depth < 4
        && depth * group * inputs < in_flight
        && 2 * depth * group * inputs + group * out <= GROUP_BYTES
    {
        depth *= 2;
    }
    depth
}
