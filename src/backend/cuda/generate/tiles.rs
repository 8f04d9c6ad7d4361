//! Elementwise requests with turned operands, which are contiguous along another loop than the destination: a block
//! computes a square tile of both loops, and reads these operands through shared memory.

use smallvec::SmallVec;

use super::class::{Class, NARROW, Operand, Walk, is_near, rank_bucket};
use super::fields::{ACROSS, Field};
use super::form::{Form, KernelKind, calls_large};
use super::map::GROUP_BYTES;
use super::{GRID_X, Job, Loops, THREADS, VECTOR, Words, push_numbers};
use crate::backend::cuda::force::Force;
use crate::backend::cuda::tuning::Tuning;
use crate::layout::MAX_RANK;
use crate::plan::{OUT, Plan, Slot};
use crate::request::Request;
use crate::{Error, Result};

/// The sides of tiles.
const SIDES: [usize; 2] = [64, 32];

/// The least number of elements along both loops of a tile: of fewer, most threads would have nothing to do.
const LEAST: usize = 16;

/// The size of the largest elements that are read through shared memory. Larger ones waste less of an access.
const LARGEST: usize = 4;

/// The shared memory of a block, in bytes, as far as every device has it.
const SHARED: usize = 48 << 10;

/// Returns the loop along which the turned operands of a plan are contiguous, or `None` if there are none or too few
/// elements.
fn other_loop(plan: &Plan, operands: &[Operand]) -> Option<usize> {
    if plan.rank < 2 || plan.slots[OUT].strides[0] != 1 || plan.sizes[0] < LEAST {
        return None;
    }
    let turned = |slot: &usize| *slot != OUT && operands[*slot].size <= LARGEST;
    (0..plan.slots.len()).filter(turned).find_map(|slot| {
        let strides = &plan.slots[slot].strides;
        let far = strides[0].unsigned_abs() > 1;
        (1..plan.rank).find(|&level| far && strides[level] == 1 && plan.sizes[level] >= LEAST)
    })
}

/// Whether some operands of a plan are turned, and there are enough elements for tiles.
pub(in crate::backend::cuda) fn is_turned(plan: &Plan, operands: &[Operand]) -> bool {
    other_loop(plan, operands).is_some()
}

/// How an elementwise request is divided into tiles.
pub(super) struct Tiles {
    /// The loop along which the turned operands are contiguous.
    other: usize,
    /// The elements along a side.
    side: usize,
    /// The elements that a thread stores at once, along the inner loop.
    group: usize,
    classes: SmallVec<[Class; 8]>,
    /// Whether the program applies one of the large operations.
    slow: bool,
}

impl Tiles {
    /// Returns the tiles of a request, or `None` if it has no turned operands.
    pub(super) fn of(request: &Request<'_>, operands: &[Operand], tuning: Tuning) -> Option<Tiles> {
        let plan = request.plan;
        let other = other_loop(plan, operands)?;
        let is_turned = |slot: usize| {
            let strides = &plan.slots[slot].strides;
            slot != OUT
                && operands[slot].size <= LARGEST
                && strides[0].unsigned_abs() > 1
                && strides[other] == 1
        };
        let slots = 0..operands.len();
        let shared = |side: usize| -> usize {
            slots
                .clone()
                .filter(|&slot| is_turned(slot))
                .map(|slot| bytes(side, operands[slot]))
                .sum()
        };
        let slow = calls_large(request.program);
        // What a thread loads before it computes, in registers.
        let inputs = slots.clone().skip(1).filter(|&slot| !plan.is_constant(slot));
        let inputs: usize = inputs.map(|slot| operands[slot].size).sum();
        let count = |side: usize| {
            let rest = plan.len / (plan.sizes[0] * plan.sizes[other]);
            rest * plan.sizes[0].div_ceil(side) * plan.sizes[other].div_ceil(side)
        };
        let suits = |side: usize| {
            side == SIDES[1]
                || (plan.sizes[0].min(plan.sizes[other]) >= side
                    && !slow
                    && side * side / THREADS * inputs <= GROUP_BYTES
                    && count(side) >= tuning.blocks)
        };
        let side = SIDES.into_iter().find(|&side| shared(side) <= SHARED && suits(side))?;
        let out = &operands[OUT];
        let outer = &plan.slots[OUT].strides[1..plan.rank];
        let most = (VECTOR / out.size).clamp(1, if slow { 1 } else { side * side / THREADS });
        let fits = |group: &usize| {
            plan.sizes[0].is_multiple_of(*group)
                && out.is_aligned(*group, 0)
                && out.keeps_alignment(outer, *group)
        };
        let halves = std::iter::successors(Some(most), |group| (*group > 1).then_some(group / 2));
        let group = halves.into_iter().find(fits).unwrap_or(1);
        let class = |slot: usize| {
            let (operand, strides) = (&operands[slot], &plan.slots[slot].strides[..plan.rank]);
            let is_aligned =
                || operand.is_aligned(group, 0) && operand.keeps_alignment(&strides[1..], group);
            match strides[0] {
                _ if slot != OUT && plan.is_constant(slot) => Class::Constant,
                _ if is_turned(slot) => Class::Turned,
                0 => Class::Column,
                1 if is_aligned() => Class::RunAligned,
                1 => Class::Run,
                _ => Class::Strided,
            }
        };
        Some(Tiles { other, side, group, classes: slots.clone().map(class).collect(), slow })
    }

    /// Returns the form, parameters and grid.
    pub(super) fn job<'a>(
        self,
        request: &Request<'a>,
        operands: &[Operand],
        force: Force,
    ) -> Result<Job<'a>> {
        let Tiles { other, side, group, classes, slow } = self;
        let plan = request.plan;
        let located: SmallVec<[usize; 8]> =
            (0..operands.len()).filter(|&slot| classes[slot].is_located()).collect();
        let near = |&slot: &usize| is_near(plan, &plan.slots[slot]);
        let wide = force.has(Force::WIDE) || plan.len >= NARROW || !located.iter().all(near);
        let loops = loops_over_tiles(plan, other, side, &located);
        if loops.len > GRID_X {
            let reason = format!("{} elements are more than a grid has threads for", plan.len);
            return Err(Error::InvalidArgument { op: request.op, reason });
        }
        let form = Form {
            program: request.program,
            kind: KernelKind::Map,
            out: request.out,
            masked: request.masked,
            classes,
            walk: Walk::Tiles,
            rank: rank_bucket(plan.rank),
            outer_rank: 0,
            wide,
            group: group as u8,
            depth: if slow { 1 } else { 2 },
            tile: side as u8,
        };
        let sides: [usize; ACROSS.len()] = [plan.sizes[0], plan.sizes[other]];
        let mut words = Words::new();
        for field in form.fields() {
            match field {
                Field::Addresses => words.extend(operands.iter().map(|operand| operand.address)),
                Field::Sides => words.extend(sides.map(|size| size as u64)),
                Field::TileStrides => {
                    let strides = located.iter().map(|&slot| &plan.slots[slot].strides);
                    words.extend(strides.flat_map(|of| [of[0] as u64, of[other] as u64]));
                }
                Field::Numbers => push_numbers(&mut words, request.program),
                Field::Tiles => {
                    let all: SmallVec<[usize; 8]> = (0..loops.slots.len()).collect();
                    let room = form.rank;
                    Loops { plan: &loops, unit: 1, first: 0, room, wide }.push(&mut words, &all)?;
                }
                // Of other kinds of kernels.
                Field::Groups | Field::Terms | Field::Divisor => {}
                Field::Strides | Field::Loops | Field::Outputs => {}
            }
        }
        Job { form, words, grid: [loops.len, 1] }.checked(request.op)
    }
}

/// Returns the bytes of shared memory that a turned operand takes: one word more per row than its elements.
fn bytes(side: usize, operand: Operand) -> usize {
    side * (side * operand.size + 4)
}

/// Returns the loops over tiles, with slots for the operands that have an address of their own in each, and for the
/// positions of a tile along its two loops. As in any plan, no loop has only one turn.
fn loops_over_tiles(plan: &Plan, other: usize, side: usize, located: &[usize]) -> Plan {
    let sides = |level: usize| if level == 0 || level == other { side } else { 1 };
    let tiles = |level: usize| plan.sizes[level].div_ceil(sides(level));
    let levels: SmallVec<[usize; MAX_RANK]> =
        (0..plan.rank).filter(|&level| tiles(level) > 1).collect();
    let mut sizes = [1; MAX_RANK];
    for (size, &level) in sizes.iter_mut().zip(&levels) {
        *size = tiles(level);
    }
    let slot = |stride_of: &dyn Fn(usize) -> isize| {
        let mut strides = [0; MAX_RANK];
        for (stride, &level) in strides.iter_mut().zip(&levels) {
            *stride = stride_of(level).wrapping_mul(sides(level) as isize);
        }
        Slot { offset: 0, strides }
    };
    let slots = located.iter().map(|&of| slot(&|level| plan.slots[of].strides[level]));
    let along = [0, other].map(|loop_of| slot(&|level| isize::from(level == loop_of)));
    let len = sizes.iter().product();
    Plan { len, rank: levels.len(), sizes, slots: slots.chain(along).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;

    fn turned(shape: &[usize], axes: &[usize], size: usize) -> Option<usize> {
        let out = Layout::row_major(shape);
        let mut stored = vec![0; shape.len()];
        for (axis, &from) in axes.iter().enumerate() {
            stored[from] = shape[axis];
        }
        let operand = Layout::row_major(&stored).permute(axes).unwrap();
        let plan = Plan::new(shape, [&out, &operand]);
        let operands = [Operand { address: 4096, size }; 2];
        other_loop(&plan, &operands)
    }

    #[test]
    fn operands_that_are_contiguous_along_another_loop_are_turned() {
        assert_eq!(turned(&[100, 200], &[1, 0], 4), Some(1));
        assert_eq!(turned(&[100, 200], &[0, 1], 4), None);
        assert_eq!(turned(&[3, 100, 200], &[0, 2, 1], 1), Some(1));
        assert_eq!(turned(&[100, 3, 200], &[2, 1, 0], 2), Some(2));
        // Too few elements along one of the loops, or too large ones.
        assert_eq!(turned(&[15, 200], &[1, 0], 4), None);
        assert_eq!(turned(&[200, 15], &[1, 0], 4), None);
        assert_eq!(turned(&[100, 200], &[1, 0], 8), None);
    }

    #[test]
    fn tiles_cover_the_loops() {
        let out = Layout::row_major(&[3, 70, 130]);
        let turned = Layout::row_major(&[3, 130, 70]).permute(&[0, 2, 1]).unwrap();
        let plan = Plan::new(&[3, 70, 130], [&out, &turned]);
        let tiles = loops_over_tiles(&plan, 1, 64, &[0, 1]);
        assert_eq!((tiles.len, tiles.rank, &tiles.sizes[..3]), (18, 3, &[3, 2, 3][..]));
        let strides = tiles.slots.iter().map(|slot| slot.strides[..3].to_vec());
        let expected: [[isize; 3]; 4] =
            [[64, 64 * 130, 9100], [64 * 70, 64, 9100], [64, 0, 0], [0, 64, 0]];
        assert!(strides.eq(expected.map(|strides| strides.to_vec())));
        // One tile along the inner loop leaves two loops.
        let tiles =
            loops_over_tiles(&Plan { sizes: [60, 70, 3, 1, 1, 1, 1, 1], ..plan }, 1, 64, &[]);
        assert_eq!((tiles.len, tiles.rank, &tiles.sizes[..3]), (6, 2, &[2, 3, 1][..]));
        assert_eq!((tiles.slots[0].strides[0], tiles.slots[1].strides[0]), (0, 64));
    }
}
