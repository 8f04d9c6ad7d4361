//! Requests that share rows, which are run on one block of rows after another.

use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::SmallVec;

use super::nest::{Nest, SharedSlots, Slots};
use super::reduce::{self, share_units};
use super::walk;
use crate::backend::cpu::settings::Settings;
use crate::backend::cpu::threads::sharing::Team;
use crate::backend::cpu::{Located, address, start};
use crate::plan::Plan;
use crate::request::{RowStage, RowsRequest};
use crate::storage::Access;

/// Rows of more bytes do not stay in the cache of a core until they are read again.
const LARGEST_ROW: usize = 1024 * 1024;

/// The fewest blocks for each thread, so that none waits long for the other.
const BLOCKS_PER_THREAD: usize = 4;

/// Returns how many iterations of the innermost loop over rows are a block. Returns `None` if a row is too large to stay in
/// the cache, or if all rows stay there anyway: then longer passes are faster.
pub(crate) fn rows_of_a_block(rows: &Plan, row_bytes: usize, settings: &Settings) -> Option<usize> {
    let bytes = rows.len.saturating_mul(row_bytes);
    if row_bytes > LARGEST_ROW || bytes < settings.stream_bytes {
        return None;
    }
    let team = Team::new(bytes, settings);
    let share = rows.len.div_ceil(team.parts_of(BLOCKS_PER_THREAD));
    Some((settings.row_bytes / row_bytes.max(1)).min(share).clamp(1, rows.sizes[0]))
}

/// Runs requests that share rows, on memory that the caller has locked: the slots of the access are the one that is
/// written, and those of the request. Returns `None` if a step is not defined for its dtype.
pub(crate) fn run(
    request: &RowsRequest<'_>,
    access: &Access<'_>,
    settings: &Settings,
) -> Option<()> {
    let mut stages: SmallVec<[RunStage<'_>; 4]> = SmallVec::new();
    let mut sizes: SmallVec<[usize; 16]> = SmallVec::new();
    let memory = |slot: usize| start(access.memory(1 + slot));
    for stage in request.stages {
        let first = sizes.len();
        sizes.push(stage.out.size());
        sizes.extend(stage.program.input_sizes());
        let is_written = (first..sizes.len()).map(|slot| memory(slot) == memory(first)).collect();
        let (sizes, settings) = (sizes[first..].into(), *settings);
        stages.push(RunStage { stage, first, sizes, is_written, settings });
    }
    let bytes = (request.rows.len / request.block).saturating_mul(bytes_of(&stages));
    for stage in &mut stages {
        // Blocks are shared, and not the work on one. Only the last results are not read again.
        stage.settings.parallel_bytes = usize::MAX;
        stage.settings.threads = None;
        stage.settings.stream_bytes = usize::MAX;
    }
    if let Some(last) = stages.last_mut()
        && bytes >= settings.stream_bytes
    {
        last.settings.stream_bytes = 0;
    }
    let base =
        |slot: usize| address(access, 1 + slot, request.rows.slots[slot].offset * sizes[slot]);
    let bases = SharedSlots::new((0..sizes.len()).map(base).collect());
    let nest = Nest::new(request.rows, &sizes, request.block, None);
    let lacks_a_loop = AtomicBool::new(false);
    let team = Team::new(bytes, settings);
    share_units(nest.units, team, &|range| {
        nest.walk(bases.get(), range, |slots, extent| {
            for stage in &stages {
                if stage.run(request, slots, extent.inner).is_none() {
                    lacks_a_loop.store(true, Ordering::Relaxed);
                }
            }
        });
    });
    (!lacks_a_loop.into_inner()).then_some(())
}

/// Returns the bytes that all stages read and write in a block.
fn bytes_of(stages: &[RunStage<'_>]) -> usize {
    let of_stage = |stage: &RunStage<'_>| {
        let RunStage { stage: RowStage { whole, .. }, sizes, .. } = stage;
        let terms = whole.terms.as_ref().map_or(1, |(terms, _)| terms.len);
        let elements = whole.plan.len.saturating_mul(terms);
        elements.saturating_mul(sizes.iter().sum())
    };
    stages.iter().map(of_stage).fold(0, usize::saturating_add)
}

/// One of the requests, with where its slots are among those of all.
struct RunStage<'a> {
    stage: &'a RowStage,
    first: usize,
    sizes: SmallVec<[usize; 4]>,
    /// Whether each slot's memory is the destination's.
    is_written: SmallVec<[bool; 4]>,
    settings: Settings,
}

impl RunStage<'_> {
    /// Runs the request on a block of `count` rows, given the first elements of all slots.
    fn run(&self, rows: &RowsRequest<'_>, slots: &[*mut u8], count: usize) -> Option<()> {
        let request = self.stage.request(rows, count);
        let base = |(slot, &size): (usize, &usize)| {
            // It is before the first row if the rows of the destination are in the opposite order.
            let offset = request.plan.slots[slot].offset as isize;
            slots[self.first + slot].wrapping_offset(offset.wrapping_mul(size as isize))
        };
        let bases: Slots = self.sizes.iter().enumerate().map(base).collect();
        let (sizes, is_written) = (self.sizes.clone(), self.is_written.clone());
        let call = Located { request: &request, bases, sizes, is_written };
        match &request.reduction {
            None => walk::run(&call, &self.settings),
            Some(reduction) => reduce::run(&call, reduction, &self.settings),
        }
    }
}
