//! A grid, whose blocks are run by several host threads.

use super::access::Fault;
use super::block::Worker;
use super::program::Program;
use super::track::{self, Earlier, Tracker};
use crate::memory::{Arena, Heap};
use crate::sanitizer::{Finding, Kind, Kinds, lock};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// A range of memory that kernels may access.
#[derive(Debug, Clone)]
pub struct Region {
    pub arena: Arc<Arena>,
    pub heap: Arc<Mutex<Heap>>,
}

/// Everything that running a kernel needs.
pub struct Launch<'a> {
    pub program: &'a Program,
    /// The parameter block, in the program's layout.
    pub params: &'a [u8],
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared: u32,
    /// The memory that the kernel can access; the device's own comes first.
    pub regions: &'a [Region],
    /// Memory of other devices that the kernel cannot access, to name it in reports.
    pub foreign: &'a [Region],
    /// Registered host memory, which has no shadow.
    pub registered: &'a [(u64, u64)],
    /// Instructions that a warp may run before the launch times out.
    pub max_steps: u64,
    /// The address of the grid barrier's workspace in a cooperative launch; zero in other launches.
    pub workspace: u64,
    pub tracker: Option<Tracker>,
    pub tolerance: Tolerance,
    /// The seed of the order of a block's warps; zero: by their numbers.
    pub warps: u64,
    pub began: Instant,
    stop: AtomicBool,
}

/// The kinds of findings that do not stop the kernel, and those found so far.
#[derive(Debug, Default)]
pub struct Tolerance {
    /// Kinds that are reported, once per instruction.
    pub report: Kinds,
    /// Kinds that are not reported either.
    pub ignore: Kinds,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    places: HashSet<(Kind, u32)>,
    findings: Vec<Finding>,
}

impl Tolerance {
    /// Creates a tolerance from the settings.
    pub fn new(report: Kinds, ignore: Kinds) -> Tolerance {
        Tolerance { report, ignore, seen: Mutex::default() }
    }

    /// Whether the settings tolerate a kind.
    pub fn covers(&self, kind: Kind) -> bool {
        self.report.has(kind) || self.ignore.has(kind)
    }

    /// Takes the findings tolerated so far.
    fn take(&self) -> Vec<Finding> {
        std::mem::take(&mut lock(&self.seen).findings)
    }

    /// Returns `Ok` if the kind of a finding is tolerated; otherwise the finding is the fault that ends the launch.
    #[cold]
    pub fn judge(&self, mut finding: Fault) -> Result<(), Fault> {
        if self.ignore.has(finding.kind) {
            return Ok(());
        }
        if !self.report.has(finding.kind) {
            return Err(finding);
        }
        let line = finding.place.as_ref().map_or(0, |place| place.line);
        let mut seen = lock(&self.seen);
        if seen.places.insert((finding.kind, line)) {
            finding.code = 0;
            seen.findings.push(*finding);
        }
        Ok(())
    }
}

/// The outcome of a launch.
#[derive(Debug)]
pub struct Outcome {
    /// The fault that ended it, if any.
    pub finding: Option<Finding>,
    /// The findings that were tolerated and are to be reported.
    pub tolerated: Vec<Finding>,
    /// PTX instructions run, summed over threads.
    pub instructions: u64,
}

impl<'a> Launch<'a> {
    /// Creates a launch, with race checking if `races` is set.
    #[allow(clippy::too_many_arguments)]
    pub fn new(
        program: &'a Program,
        params: &'a [u8],
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_shared: u32,
        regions: &'a [Region],
        foreign: &'a [Region],
        registered: &'a [(u64, u64)],
        max_steps: u64,
        workspace: u64,
        races: bool,
        tolerance: Tolerance,
        warps: u64,
        earlier: Vec<Earlier>,
    ) -> Launch<'a> {
        let threads = grid.iter().chain(&block).fold(1u64, |n, &d| n.saturating_mul(d.into()));
        let tracker = races.then(|| {
            if !track::next_launch_fits(threads) {
                for region in regions.iter().chain(foreign) {
                    lock(&region.heap).clear_cells();
                }
                track::restart();
            }
            track::next_launch_fits(threads).then(|| Tracker::start(program, earlier)).flatten()
        });
        Launch {
            program,
            params,
            grid,
            block,
            dynamic_shared,
            regions,
            foreign,
            registered,
            max_steps,
            workspace,
            tracker: tracker.flatten(),
            tolerance,
            warps,
            began: Instant::now(),
            stop: AtomicBool::new(false),
        }
    }

    /// Returns the first number of its threads, if races are tracked.
    pub fn first_number(&self) -> Option<u32> {
        self.tracker.as_ref().map(Tracker::base)
    }

    /// Returns whether another block has failed.
    pub fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }
}

/// Instructions that a warp runs before the next one is scheduled, where a block may be waiting for another one.
const SHORT_TURN: u64 = 1 << 10;

/// Runs the blocks of a cooperative launch in turns, because each may wait for all others. There are no more of them
/// than can be resident on the device at the same time.
fn run_together(launch: &Launch<'_>, blocks: u64) -> Outcome {
    let mut workers: Vec<Worker<'_>> = (0..blocks).map(|_| Worker::new(launch)).collect();
    (0..).zip(&mut workers).for_each(|(k, worker)| worker.start(place(launch, k)));
    let mut running: Vec<usize> = (0..workers.len()).collect();
    let mut finding = None;
    while !running.is_empty() && finding.is_none() {
        running.retain(|&k| match workers[k].round(SHORT_TURN) {
            Ok(ended) => !ended,
            Err(fault) => {
                finding.get_or_insert(*fault);
                false
            }
        });
    }
    let instructions = workers.iter().map(Worker::executed).sum();
    Outcome { finding, tolerated: launch.tolerance.take(), instructions }
}

/// Returns the coordinates of a block, given its linear index.
fn place(launch: &Launch<'_>, k: u64) -> [u32; 3] {
    let [x, y, _] = launch.grid.map(u64::from);
    [(k % x) as u32, (k / x % y) as u32, (k / x / y) as u32]
}

/// Runs a launch to its end or its first fault, on up to `workers` host threads. Unless `ends` is zero, only the first
/// and the last `ends` blocks of a grid are run.
pub fn run(launch: &Launch<'_>, workers: usize, ends: u64) -> Outcome {
    let blocks = launch.grid.iter().fold(1u64, |n, &d| n * u64::from(d));
    let threads = blocks * launch.block.iter().map(|&d| u64::from(d)).product::<u64>();
    if launch.workspace != 0 && launch.program.takes_turns {
        return run_together(launch, blocks);
    }
    let left_out = if ends == 0 { 0 } else { blocks.saturating_sub(ends.saturating_mul(2)) };
    let next = AtomicU64::new(0);
    let instructions = AtomicU64::new(0);
    let fault: Mutex<Option<Fault>> = Mutex::new(None);
    let work = || {
        let mut worker = Worker::new(launch);
        while !launch.stopped() {
            let mut k = next.fetch_add(1, Relaxed);
            if k >= blocks - left_out {
                break;
            }
            if left_out > 0 && k >= ends {
                k += left_out;
            }
            if let Err(found) = worker.run(place(launch, k)) {
                launch.stop.store(true, Relaxed);
                lock(&fault).get_or_insert(found);
            }
        }
        instructions.fetch_add(worker.executed(), Relaxed);
    };
    // For a small grid, starting threads costs more than running it.
    let workers =
        if threads < 2048 { 1 } else { workers.min(usize::try_from(blocks).unwrap_or(usize::MAX)) };
    if workers <= 1 {
        work();
    } else {
        std::thread::scope(|scope| {
            for _ in 1..workers {
                scope.spawn(work);
            }
            work();
        });
    }
    let finding = lock(&fault).take().map(|f| *f);
    Outcome { finding, tolerated: launch.tolerance.take(), instructions: instructions.into_inner() }
}
