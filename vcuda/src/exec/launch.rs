//! A grid: its blocks, run by several host threads.

use super::access::Fault;
use super::block::Worker;
use super::program::Program;
use super::track::{self, Tracker};
use crate::memory::{Arena, Heap};
use crate::sanitizer::{Finding, Kind, Kinds, lock};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Memory that kernels may touch.
#[derive(Debug, Clone)]
pub struct Region {
    pub arena: Arc<Arena>,
    pub heap: Arc<Mutex<Heap>>,
}

/// Everything a kernel needs to run.
pub struct Launch<'a> {
    pub program: &'a Program,
    /// The parameter block, as laid out by the program.
    pub params: &'a [u8],
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared: u32,
    /// Memory within reach; the device's own first.
    pub regions: &'a [Region],
    /// Memory out of reach, to name it in reports.
    pub foreign: &'a [Region],
    /// Host memory made accessible, without a shadow.
    pub registered: &'a [(u64, u64)],
    /// Instructions a warp may run.
    pub patience: u64,
    /// Where the blocks of a cooperative launch meet; zero in other launches.
    pub workspace: u64,
    pub tracker: Option<Tracker>,
    pub tolerance: Tolerance,
    pub began: Instant,
    stop: AtomicBool,
}

/// What a kernel may do without being stopped, and what of that it has done.
#[derive(Debug, Default)]
pub struct Tolerance {
    /// Reported, once for every instruction.
    pub report: Kinds,
    /// Not reported either.
    pub ignore: Kinds,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    places: HashSet<(Kind, u32)>,
    findings: Vec<Finding>,
}

impl Tolerance {
    /// The tolerance of the settings.
    pub fn new(report: Kinds, ignore: Kinds) -> Tolerance {
        Tolerance { report, ignore, seen: Mutex::default() }
    }

    /// What was tolerated so far.
    fn take(&self) -> Vec<Finding> {
        std::mem::take(&mut lock(&self.seen).findings)
    }

    /// Lets a finding pass if its kind is tolerated; otherwise it is the fault that ends the launch.
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

/// What a launch came to.
#[derive(Debug)]
pub struct Outcome {
    /// The fault that ended it.
    pub finding: Option<Finding>,
    /// What was tolerated.
    pub tolerated: Vec<Finding>,
    /// PTX instructions, summed over threads.
    pub instructions: u64,
}

impl<'a> Launch<'a> {
    /// A launch with race tracking, if wanted.
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
        patience: u64,
        workspace: u64,
        races: bool,
        tolerance: Tolerance,
    ) -> Launch<'a> {
        let threads = grid.iter().chain(&block).fold(1u64, |n, &d| n.saturating_mul(d.into()));
        let tracker = races.then(|| {
            if !track::next_launch_fits(threads) {
                for region in regions.iter().chain(foreign) {
                    lock(&region.heap).clear_cells();
                }
                track::restart();
            }
            track::next_launch_fits(threads).then(|| Tracker::start(program)).flatten()
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
            patience,
            workspace,
            tracker: tracker.flatten(),
            tolerance,
            began: Instant::now(),
            stop: AtomicBool::new(false),
        }
    }

    /// Another block has failed.
    pub fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }
}

/// Instructions a warp runs before the next has its turn, where a block may be waiting for another one.
const SHORT_TURN: u64 = 1 << 10;

/// Runs the blocks of a cooperative launch in turns, as each may wait for all others. There are no more of them than
/// a device has room for at a time.
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

/// The coordinates of a block by its number.
fn place(launch: &Launch<'_>, k: u64) -> [u32; 3] {
    let [x, y, _] = launch.grid.map(u64::from);
    [(k % x) as u32, (k / x % y) as u32, (k / x / y) as u32]
}

/// Runs a launch to its end or first fault, on up to `workers` host threads. Of a grid with more than `ends` blocks at
/// either end, only those are run, unless `ends` is zero.
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
    // Starting a thread costs more than a small grid.
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
