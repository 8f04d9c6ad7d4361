//! Every hand-written kernel, and a sample of the generated ones.

use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

use bitlane::introspect::{self, Force, Module};
use bitlane::{BinaryOp, DType};

use crate::cases::{self, Case};
use crate::runner::{Runner, shape_under};
use crate::virtual_driver::Driver;
use crate::{alone, cuda, destinations, expect_nothing_found, far, faults, promoted, say, unary};

/// The largest call, in elements, for which kernel selection is overridden.
const FORCED_LEN: usize = 2100;

/// Returns the cases of one module: those that run on hand-written kernels, and those that run on generated ones.
fn cases_under(module: &Module, force: Force) -> (Computed, [Vec<Case>; 2]) {
    let op: BinaryOp = module.op().parse().unwrap();
    let dtype: DType = module.dtype().parse().unwrap();
    let cases = cases::fresh(op, dtype).into_iter().chain(destinations::given(op, dtype));
    // Skips large calls, and those that the override does not affect.
    let is_new = |case: &Case| {
        force == Force::NOTHING
            || case.len() <= FORCED_LEN && shape_under(case, force) != case.shape
    };
    let (generated, written) =
        cases.filter(is_new).partition(|case| shape_under(case, force) == cases::GENERATED);
    ((op, dtype), [written, generated])
}

type Computed = (BinaryOp, DType);

pub fn every_written_kernel_computes_what_the_cpu_does() {
    let device = cuda();
    let _alone = alone();
    let driver = Driver::in_use();
    let runner = Runner::new(device.clone());
    for force in [Force::NOTHING, Force::GATHER] {
        introspect::force(force);
        runner.for_each_module(|module| {
            let ((op, dtype), [written, _]) = cases_under(module, force);
            written.iter().for_each(|case| runner.binary(op, dtype, case, force));
        });
        introspect::force(Force::NOTHING);
    }
    runner.expect_no_failures();
    match &driver {
        Some(driver) => {
            let calls = faults::no_launch_no_result(&runner, driver);
            say(&format!("with every launch failing, {calls} of {calls} calls gave an error"));
        }
        None => say("failing launches skipped, the driver is not the virtual one"),
    }
    report(&runner, driver.as_ref());
    drop(runner);
    expect_nothing_found(&device);
}

/// Each case needs a kernel to be compiled. So every second module runs one of its cases without an override, and one
/// with a kernel whose loops count elements or that has 64-bit indices. The cases differ between modules and between
/// runs.
pub fn kernels_generated_for_binary_operations() {
    with_generated("kernels for binary operations", |runner| {
        let part = Part::of_this_run();
        let turn = part.turn;
        for (at, force) in [Force::NOTHING, Force::ELEMENTS, Force::WIDE].into_iter().enumerate() {
            introspect::force(force);
            let modules = introspect::modules();
            runner.share(modules.len(), |index| {
                let is_taken = match force {
                    Force::NOTHING => (index + turn).is_multiple_of(2),
                    _ => (index + turn) % 4 == 2 * (at - 1),
                };
                if is_taken && part.has(index) {
                    let ((op, dtype), [_, generated]) = cases_under(&modules[index], force);
                    let case = &generated[(turn + index * 7) % generated.len()];
                    runner.binary(op, dtype, case, force);
                }
            });
            introspect::force(Force::NOTHING);
        }
    });
}

pub fn kernels_generated_for_one_operand() {
    with_generated("kernels for one operand", |runner| {
        part_of_the_dtypes(runner, |dtype| unary::all(runner, dtype));
    });
}

pub fn kernels_of_scans_and_look_ups() {
    with_generated("scans and look-ups", |runner| {
        for force in unary::SUMS {
            introspect::force(force);
            part_of_the_dtypes(runner, |dtype| unary::scans(runner, dtype, force));
            introspect::force(Force::NOTHING);
        }
        part_of_the_dtypes(runner, |dtype| unary::look_ups(runner, dtype));
    });
}

pub fn kernels_generated_for_sums() {
    with_generated("kernels for sums", |runner| {
        for force in unary::SUMS {
            introspect::force(force);
            part_of_the_dtypes(runner, |dtype| unary::sums(runner, dtype, force));
            introspect::force(Force::NOTHING);
        }
    });
}

pub fn kernels_generated_for_pairs_of_dtypes() {
    with_generated("kernels for pairs of dtypes", |runner| {
        let part = Part::of_this_run();
        runner.share(BinaryOp::ALL.len(), |at| {
            if part.has(at) {
                promoted::pairs(runner, at, part.turn);
            }
        });
        runner.share(promoted::EXACT.len(), |at| promoted::exact(runner, promoted::EXACT[at]));
    });
}

/// Compares both sides, and prints the number of kernels that were generated.
fn with_generated(what: &str, run: impl FnOnce(&Runner)) {
    let device = cuda();
    let _alone = alone();
    let runner = Runner::new(device.clone());
    run(&runner);
    runner.expect_no_failures();
    say(&format!("{what}: {} generated, {} calls", runner.generated(), runner.calls()));
    drop(runner);
    expect_nothing_found(&device);
}

/// What a run takes of the cases that each need a kernel to be compiled: all of them, or one in `BITLANE_KERNELS`.
struct Part {
    /// Selects cases: a different number in every run, or the value of `BITLANE_TURN`.
    turn: usize,
    step: usize,
}

impl Part {
    fn of_this_run() -> Part {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as usize % 1000;
        let number = |name: &str| std::env::var(name).ok()?.parse::<usize>().ok();
        let turn = number("BITLANE_TURN").unwrap_or(now);
        say(&format!("BITLANE_TURN={turn} repeats these cases"));
        Part { turn, step: number("BITLANE_KERNELS").unwrap_or(1).max(1) }
    }

    fn has(&self, at: usize) -> bool {
        (at + self.turn).is_multiple_of(self.step)
    }
}

/// Runs a function for the dtypes that this run takes, on a few threads.
fn part_of_the_dtypes(runner: &Runner, run: impl Fn(DType) + Sync) {
    let part = Part::of_this_run();
    let taken: Vec<_> = (0..DType::ALL.len()).filter(|&at| part.has(at)).collect();
    runner.share(taken.len(), |at| run(DType::ALL[taken[at]]));
}

/// Prints how many of the hand-written kernels were executed, and panics unless all of them were.
fn report(runner: &Runner, driver: Option<&Driver>) {
    let all: BTreeSet<_> = introspect::modules().iter().flat_map(Module::kernels).collect();
    let executed: BTreeSet<_> = match driver {
        // The driver's own record of the kernels that executed instructions.
        Some(driver) => driver
            .kernels()
            .into_iter()
            .filter(|(_, taken)| *taken > 0)
            .map(|(name, _)| name)
            .collect(),
        None => runner.launched(),
    };
    let (device, name) = (&runner.devices[1], if driver.is_some() { "virtual" } else { "system" });
    say(&format!(
        "{} of {} written kernels executed on {device} ({name} driver), {} calls equal to the CPU's",
        all.intersection(&executed).count(),
        all.len(),
        runner.calls()
    ));
    say(match driver {
        Some(_) => {
            "this proves the kernels' logic and the host code; it says nothing about speed, nor \
             about the vendor's driver and assembler, which took no part"
        }
        None => "this proves the kernels and the host code on this device; nothing about speed",
    });
    let missing: Vec<_> = all.difference(&executed).map(String::as_str).collect();
    assert!(missing.is_empty(), "never executed: {}", missing.join(" "));
}

pub fn elements_beyond_32_bits_are_found() {
    let device = cuda();
    let _alone = alone();
    far::bytes(&device);
    far::wide_elements(&device);
    expect_nothing_found(&device);
}
