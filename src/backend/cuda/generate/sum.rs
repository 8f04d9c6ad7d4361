//! Reductions: one launch combines the terms, and further launches combine the parts where several blocks or threads
//! share one output.

use std::sync::OnceLock;

use smallvec::{SmallVec, smallvec};

use super::class::{Class, NARROW, Operand, Walk, is_near, rank_bucket};
use super::fields::{Field, GROUPS, TERMS};
use super::form::{Adders, Finish, Fold, Form, KernelKind, calls_large};
use super::{GRID_X, Job, Loops, THREADS, VECTOR, Words, group_size, push_numbers, push_strides};
use crate::backend::cuda::force::Force;
use crate::backend::cuda::params::{BL_SUM_LEVELS, BL_WARP};
use crate::backend::cuda::tuning::Tuning;
use crate::layout::MAX_RANK;
use crate::plan::{OUT, Plan, Slot};
use crate::program::Program;
use crate::request::{Reduction, Request};
use crate::{DType, Error, Result};

/// The register budget for the operands of a group, and for its terms converted to the accumulator's dtype, in bytes.
const GROUP_BYTES: usize = 128;

/// The largest group where one thread adds up an output or segment alone.
const THREAD_GROUP: usize = 16;

/// The bytes of operands that a thread has in flight in a sum by lanes or by blocks.
const TILE_BYTES: usize = 128;

/// The number of groups of a thread in a tile, at most.
const DEEPEST: usize = 8;

/// What the threads that share an output spend, in instructions of each: beside the terms, on a term, and on an exchange of
/// totals.
const COSTS: [usize; 3] = [48, 10, 8];

/// The number of threads of a warp.
const WARP: usize = BL_WARP as usize;

/// The number of totals that the threads of one block add up, which are not worth another launch.
const FEW_GROUPS: usize = THREADS * DEEPEST;

/// The base-2 logarithm of the number of neighbouring runs that a block adds up for each output, at most: a warp still
/// reads neighbouring outputs.
const RUNS_LOG2: u32 = 3;

/// Returns the jobs of a sum, in order. `allocate` returns the address of temporary memory of the given size, which
/// must stay valid until the jobs are queued.
pub(super) fn sum<'a>(
    request: &Request<'a>,
    reduction: &Reduction<'_>,
    operands: &[Operand],
    force: Force,
    tuning: Tuning,
    mut allocate: impl FnMut(usize) -> Result<u64>,
) -> Result<SmallVec<[Job<'a>; 2]>> {
    let fold = Fold::of(reduction.op);
    let sums = fold.total_dtype(request.program.dtype(request.program.result()));
    let mut jobs = SmallVec::new();
    let first = Stage {
        op: request.op,
        fold,
        program: request.program,
        plan: request.plan,
        terms: reduction.terms,
        operands,
        divisor: reduction.divisor,
        tuning,
    };
    let mut choice = first.choose(force);
    if choice.segments == 1 {
        jobs.push(first.job(&choice, request.out, reduction.op.finish().into(), force)?);
        return Ok(jobs);
    }
    let outputs = request.plan.len;
    let part_at = |address: u64| Operand { address, size: sums.size() };
    let mut part = allocate(bytes_of(request, outputs, choice.segments, sums)?)?;
    let mut into_part: SmallVec<[Operand; 8]> = operands.into();
    into_part[OUT] = part_at(part);
    jobs.push(Stage { operands: &into_part, ..first }.job(&choice, sums, Finish::Part, force)?);
    loop {
        let (plan, parts) =
            (plan_of_parts(request.plan, choice.segments), terms_of_parts(choice.segments));
        let operands = [operands[OUT], part_at(part)];
        let stage = Stage {
            program: sum_of_parts(sums),
            plan: &plan,
            terms: &parts,
            operands: &operands,
            ..first
        };
        choice = stage.choose(force);
        if choice.segments == 1 {
            jobs.push(stage.job(&choice, request.out, reduction.op.finish().into(), force)?);
            return Ok(jobs);
        }
        part = allocate(bytes_of(request, outputs, choice.segments, sums)?)?;
        let into_part = [part_at(part), operands[1]];
        jobs.push(Stage { operands: &into_part, ..stage }.job(
            &choice,
            sums,
            Finish::Part,
            force,
        )?);
    }
}

/// Returns the size of the memory for the parts of all sums, in bytes.
fn bytes_of(request: &Request<'_>, outputs: usize, segments: usize, sums: DType) -> Result<usize> {
    let parts = outputs.checked_mul(segments).and_then(|parts| parts.checked_mul(sums.size()));
    parts.ok_or_else(|| Error::InvalidArgument {
        op: request.op,
        reason: "a sum has too many parts".into(),
    })
}

/// One launch of a sum.
struct Stage<'p, 's> {
    op: &'static str,
    fold: Fold,
    program: &'p Program,
    plan: &'s Plan,
    terms: &'s Plan,
    operands: &'s [Operand],
    /// What the total of a mean, a variance or a deviation is divided by.
    divisor: f64,
    tuning: Tuning,
}

/// How a stage is divided among threads.
struct Choice {
    adders: Adders,
    group: usize,
    depth: usize,
    walk: Walk,
    /// Groups of terms per output.
    groups: usize,
    /// Groups that one thread or block adds up.
    segment_groups: usize,
    segments: usize,
    /// The base-2 logarithm of the threads that share an output, within a warp or, each with a run of its own, a block.
    lanes_log2: u32,
}

impl<'p> Stage<'p, '_> {
    fn choose(&self, force: Force) -> Choice {
        let (terms, slow) = (self.terms, calls_large(self.program));
        let slots = 1..self.operands.len();
        let is_constant = |slot: usize| terms.rank > 0 && terms.is_constant(slot);
        let is_linear = slots.clone().all(|slot| terms.is_dense(slot) || is_constant(slot));
        let inner = (!is_linear && terms.rank > 1).then_some(terms.sizes[0]);
        let moving = slots.filter(|&slot| {
            !is_constant(slot) && (terms.rank == 0 || terms.slots[slot].strides[0] != 0)
        });
        let terms_dtype = self.program.dtype(self.program.result());
        let sums = self.fold.total_dtype(terms_dtype).size();
        // The terms in the accumulator's dtype take registers too, so the budget is scaled down. Their size is not
        // passed to `group_size` as an operand's, because they are not accessed in memory.
        let most = GROUP_BYTES.min(
            GROUP_BYTES / sums * moving.clone().map(|slot| self.operands[slot].size).sum::<usize>(),
        );
        let mut group = group_size(
            moving.clone().map(|slot| self.operands[slot].size),
            VECTOR,
            most,
            slow,
            inner,
        );
        let by_threads = if force.has(Force::THREAD_SUMS) {
            true
        } else if force.has(Force::BLOCK_SUMS) {
            false
        } else {
            self.suits_threads(moving.clone())
        };
        if by_threads {
            let bytes = moving.map(|slot| self.operands[slot].size).sum::<usize>().max(1);
            let most = (self.tuning.thread_bytes / bytes).clamp(1, THREAD_GROUP);
            group = group_size_of_threads(group, most, inner, slow);
        }
        let walk = match inner {
            _ if is_linear => Walk::Linear,
            Some(inner) if inner.is_multiple_of(group) => Walk::Groups,
            _ => Walk::Elements,
        };
        let groups = terms.len.div_ceil(group);
        let (outputs, small) = (self.plan.len, force.has(Force::SMALL_SEGMENTS));
        let mut choice = Choice {
            adders: Adders::Lanes,
            group,
            depth: 1,
            walk,
            groups,
            segment_groups: groups,
            segments: 1,
            lanes_log2: 0,
        };
        if by_threads {
            // At least 2, since segments of one group might leave as many parts as terms, and the stages would never
            // end.
            let few =
                |run: usize| outputs.saturating_mul(groups.div_ceil(run)) < self.tuning.threads;
            choice.adders = Adders::Thread;
            choice.segment_groups = halve(1 << BL_SUM_LEVELS, 2, |run| small || few(run));
            let runs = groups.div_ceil(choice.segment_groups);
            if !small && outputs >= WARP {
                choice.lanes_log2 = runs.next_power_of_two().ilog2().min(RUNS_LOG2);
            }
            choice.segments = runs.div_ceil(1 << choice.lanes_log2);
        } else {
            let depth = self.depth(group, walk, slow);
            let tile = WARP * depth;
            if groups <= tile && !(small && groups > 1) {
                (choice.lanes_log2, choice.depth) = self.lanes(groups, group, depth);
                return choice;
            }
            choice.depth = depth;
            let few = |segment: usize| {
                outputs.saturating_mul(groups.div_ceil(segment)) < self.tuning.blocks
            };
            let most = THREADS * WARP;
            let splits = small || groups > FEW_GROUPS;
            choice.adders = Adders::Block;
            choice.segment_groups = halve(most, tile, |segment| small || splits && few(segment));
            choice.segments = groups.div_ceil(choice.segment_groups);
        }
        choice
    }

    /// Returns the number of groups of a thread in a tile. Every group is another copy of the program's steps.
    fn depth(&self, group: usize, walk: Walk, slow: bool) -> usize {
        if slow || walk == Walk::Elements {
            return 1;
        }
        let sizes = self.operands[1..].iter().map(|operand| operand.size);
        let bytes = group * sizes.sum::<usize>().max(1);
        let steps = 1 + self.program.steps().len() / 2;
        let most = (TILE_BYTES / bytes).min(DEEPEST / steps).max(1);
        1 << most.ilog2()
    }

    /// Returns the base-2 logarithm of the number of threads that share an output of this many groups, and the number of
    /// groups of each, at most `deepest`: those that spend the least on idle threads and on exchanges. If they left threads
    /// of the device without work, there are more threads.
    fn lanes(&self, groups: usize, group: usize, deepest: usize) -> (u32, usize) {
        let [own, term, exchange] = COSTS;
        let lanes_of = |depth: usize| {
            // As many as there are runs, which exchange their totals with each other.
            let lanes = groups.div_ceil(depth).next_power_of_two().max(depth.next_power_of_two());
            (lanes <= WARP).then_some((lanes, depth))
        };
        let cost = |&(lanes, depth): &(usize, usize)| {
            let exchanges = depth.next_power_of_two() - 1 + lanes.ilog2() as usize;
            lanes * (own + depth * group * term + exchanges * exchange)
        };
        let is_enough = |lanes: usize| self.plan.len.saturating_mul(lanes) >= self.tuning.threads;
        let mut found = (1..=deepest).filter_map(lanes_of);
        let Some(mut best) = found.next() else { return (WARP.ilog2(), deepest) };
        for choice in found.filter(|&(lanes, _)| is_enough(lanes)) {
            best = if cost(&choice) < cost(&best) { choice } else { best };
        }
        (best.0.ilog2(), best.1)
    }

    /// Whether neighbouring threads should compute neighbouring outputs: if the outputs are contiguous in memory and
    /// the terms are not, or if there are too few terms to share.
    fn suits_threads(&self, moving: impl Iterator<Item = usize>) -> bool {
        const FEW_TERMS: usize = 4;
        let (mut outputs, mut terms) = (0, 0);
        for slot in moving {
            let step = |plan: &Plan| plan.slots[slot].strides[0].unsigned_abs();
            if self.terms.rank > 0 && step(self.terms) == 1 {
                terms += self.operands[slot].size;
            } else if self.plan.rank > 0 && step(self.plan) <= 1 {
                outputs += self.operands[slot].size;
            }
        }
        self.terms.len <= FEW_TERMS || outputs > terms && self.plan.len >= BL_WARP as usize
    }

    fn job(&self, choice: &Choice, out: DType, finish: Finish, force: Force) -> Result<Job<'p>> {
        let (plan, terms, group, walk) = (self.plan, self.terms, choice.group, choice.walk);
        let slots = 0..self.operands.len();
        let class = |slot: usize| match slot {
            OUT => Class::Constant,
            slot => self.class(slot, walk, group),
        };
        let classes: SmallVec<[Class; 8]> = slots.clone().map(class).collect();
        let located: SmallVec<[usize; 8]> =
            slots.clone().filter(|&slot| classes[slot].is_located()).collect();
        let outputs = plan.len;
        let tiles = outputs.div_ceil(THREADS >> choice.lanes_log2);
        let blocks = match choice.adders {
            Adders::Thread => tiles.saturating_mul(choice.segments),
            Adders::Lanes => outputs.div_ceil(THREADS >> choice.lanes_log2),
            Adders::Block => outputs.saturating_mul(choice.segments),
        };
        let near =
            |plan: &Plan| plan.len < NARROW && plan.slots.iter().all(|slot| is_near(plan, slot));
        let wide = force.has(Force::WIDE) || blocks >= NARROW || !near(plan) || !near(terms);
        let unit = if walk == Walk::Groups { group } else { 1 };
        let dropped = usize::from(walk == Walk::Groups && terms.sizes[0] == group);
        let room = if located.is_empty() { 0 } else { rank_bucket(terms.rank - dropped) };
        let form = Form {
            program: self.program,
            kind: KernelKind::Sum(choice.adders, self.fold, finish),
            out,
            masked: false,
            classes,
            walk,
            rank: room,
            outer_rank: rank_bucket(plan.rank),
            wide,
            group: group as u8,
            depth: choice.depth as u8,
            tile: 0,
        };
        let (inner_size, inner_starts) =
            (terms.sizes[0], (terms.sizes[0] + 1).saturating_sub(group));
        let groups: [usize; GROUPS.len()] = [choice.groups, 0, 0, 0, inner_size, inner_starts];
        let counts: [usize; TERMS.len()] = [
            terms.len,
            terms.len / group,
            outputs,
            tiles,
            choice.segments,
            choice.segment_groups,
            choice.lanes_log2 as usize,
        ];
        let mut words = Words::new();
        for field in form.fields() {
            match field {
                Field::Addresses => {
                    words.extend(self.operands.iter().map(|operand| operand.address));
                }
                Field::Groups => words.extend(groups.map(|count| count as u64)),
                Field::Terms => words.extend(counts.map(|count| count as u64)),
                Field::Divisor => words.push(self.divisor.to_bits()),
                Field::Strides => push_strides(&mut words, &form, terms, self.operands),
                Field::Numbers => push_numbers(&mut words, self.program),
                Field::Loops if located.is_empty() => {}
                Field::Loops => {
                    Loops::new(terms, unit, room, wide).push(&mut words, &located)?;
                }
                Field::Outputs => {
                    let all: SmallVec<[usize; 8]> = slots.clone().collect();
                    let room = form.outer_rank;
                    Loops { plan, unit: 1, first: 0, room, wide }.push(&mut words, &all)?;
                }
                // Of other kinds of kernels.
                Field::Sides | Field::TileStrides | Field::Tiles => {}
            }
        }
        let x = blocks.min(GRID_X);
        let job = Job { form, words, grid: [x, blocks.div_ceil(x)] };
        job.checked(self.op)
    }

    /// Returns the access pattern of the terms of each output in an operand.
    fn class(&self, slot: usize, walk: Walk, group: usize) -> Class {
        let operand = &self.operands[slot];
        let class = operand.class(self.terms, slot, walk, group, 0);
        let outer = &self.plan.slots[slot].strides[..self.plan.rank];
        match class {
            Class::DenseAligned if !operand.keeps_alignment(outer, group) => Class::Dense,
            Class::RunAligned if !operand.keeps_alignment(outer, group) => Class::Run,
            class => class,
        }
    }
}

/// Returns the size of a group whose thread adds up an output alone: `most`, unless a smaller one divides the inner loop.
fn group_size_of_threads(group: usize, most: usize, inner: Option<usize>, slow: bool) -> usize {
    if slow {
        return group.min(most);
    }
    let mut size = 1 << most.ilog2();
    if let Some(inner) = inner {
        let divides = |size: &usize| inner.is_multiple_of(*size);
        let mut found = std::iter::successors(Some(size), |size| (*size > 2).then_some(size / 2));
        size = found.find(divides).unwrap_or(size);
    }
    size
}

/// Halves a power of two while `smaller` holds for it, but not below `least`.
fn halve(from: usize, least: usize, smaller: impl Fn(usize) -> bool) -> usize {
    let mut value = from;
    while value > least && smaller(value) {
        value /= 2;
    }
    value
}

/// Returns the plan of the outputs for a stage that sums parts, which are contiguous for each output.
fn plan_of_parts(plan: &Plan, segments: usize) -> Plan {
    let mut strides = [0; MAX_RANK];
    let mut stride = segments as isize;
    for (stride_of, &size) in strides.iter_mut().zip(&plan.sizes[..plan.rank]) {
        *stride_of = stride;
        stride = stride.wrapping_mul(size as isize);
    }
    Plan { slots: smallvec![plan.slots[OUT], Slot { offset: 0, strides }], ..plan.clone() }
}

/// Returns the plan of the parts of one sum.
fn terms_of_parts(segments: usize) -> Plan {
    let (mut sizes, mut strides) = ([1; MAX_RANK], [0; MAX_RANK]);
    (sizes[0], strides[0]) = (segments, 1);
    let constant = Slot { offset: 0, strides: [0; MAX_RANK] };
    Plan { len: segments, rank: 1, sizes, slots: smallvec![constant, Slot { offset: 0, strides }] }
}

/// Returns the program without steps, whose result is its only input.
fn sum_of_parts(sums: DType) -> &'static Program {
    static PROGRAMS: [OnceLock<Program>; DType::ALL.len()] =
        [const { OnceLock::new() }; DType::ALL.len()];
    PROGRAMS[sums as usize].get_or_init(|| {
        let mut program = Program::new();
        program.memory(sums);
        program
    })
}
