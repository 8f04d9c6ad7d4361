//! CPU and CUDA compute the same, bit for bit: every kernel there is, in sizes around the edges of
//! its vectors and blocks, on views of every kind, into destinations of every kind.
//!
//! What may differ is what the specification leaves open: the bits of a NaN that arithmetic made.
//! On the virtual driver this proves the kernels' logic and the host code, and nothing about speed
//! or about the vendor's driver and assembler, which take no part.

#![cfg(all(feature = "cuda", feature = "cpu", unix))]

mod cases;
mod data;
mod destinations;
#[path = "../devices/mod.rs"]
mod devices;
mod far;
mod faults;
#[path = "../model/mod.rs"]
mod model;
mod promoted;
mod runner;
mod streams;
mod two_devices;
mod unary;
#[path = "../cuda/virtual_driver.rs"]
mod virtual_driver;

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bitlane::introspect::{self, Force, Module};
use bitlane::{BinaryOp, DType, Device};

use crate::cases::Case;
use crate::runner::{Runner, shape_under};
use crate::virtual_driver::Driver;

/// Says something that the harness does not swallow.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "bitlane parity: {text}");
}

/// What a kernel is made to be holds for all threads, and so do faults: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static GATE: Mutex<()> = Mutex::new(());
    GATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The CUDA device, or a visible word that there is none.
fn cuda(test: &str) -> Option<Device> {
    let device = devices::devices().into_iter().find(|device| *device != Device::cpu());
    if device.is_none() {
        say(&format!("{test} skipped, there is no CUDA device to compare with"));
    }
    device
}

/// What the sanitizer of a virtual driver has to say, and whether everything was freed.
fn expect_nothing_found(device: &Device) {
    device.synchronize().unwrap();
    if let Some(driver) = Driver::in_use() {
        assert_eq!(driver.report(), "[]", "the virtual driver has found something");
        assert_eq!(driver.allocations(), 0, "something was not freed");
    }
}

/// The largest call, in elements, that runs on kernels it would not take by itself.
const FORCED_LEN: usize = 2100;

/// Everything that one module computes. Each case of a generated kernel is another kernel to compile, so of those
/// there are two, and two that are forced; expressions and samples have more.
fn module(runner: &Runner, module: &Module, force: Force) {
    let op: BinaryOp = module.op().parse().unwrap();
    let dtype: DType = module.dtype().parse().unwrap();
    let cases = cases::fresh(op, dtype).into_iter().chain(destinations::given(op, dtype));
    let (generated, written): (Vec<Case>, Vec<Case>) =
        cases.partition(|case| shape_under(case, force) == cases::GENERATED);
    // Nothing is forced on large calls, nor on those that would run as they have already.
    let is_new = |case: &&Case| {
        force == Force::NOTHING
            || case.len() <= FORCED_LEN && shape_under(case, force) != case.shape
    };
    for case in written.iter().filter(is_new) {
        runner.binary(op, dtype, case, force);
    }
    // Other modules take other cases.
    let turn = module.kernels()[0].bytes().map(usize::from).sum::<usize>();
    let few: Vec<_> = generated.iter().filter(is_new).collect();
    let count = if force == Force::NOTHING { 2 } else { 1 }.min(few.len());
    for at in 0..count {
        runner.binary(op, dtype, few[(turn + at * 7) % few.len()], force);
    }
}

#[test]
fn every_kernel_computes_what_the_cpu_does() {
    let Some(device) = cuda("every kernel") else { return };
    let _alone = alone();
    let driver = Driver::in_use();
    let runner = Runner::new(device.clone());
    for force in [Force::NOTHING, Force::GATHER, Force::ELEMENTS, Force::WIDE] {
        introspect::force(force);
        runner.for_each_module(|one| module(&runner, one, force));
        introspect::force(Force::NOTHING);
    }
    runner.share(DType::ALL.len(), |at| unary::all(&runner, DType::ALL[at]));
    for force in unary::SUMS {
        introspect::force(force);
        runner.share(DType::ALL.len(), |at| unary::sums(&runner, DType::ALL[at], force));
        introspect::force(Force::NOTHING);
    }
    runner.share(BinaryOp::ALL.len(), |at| promoted::pairs(&runner, at));
    runner.share(promoted::EXACT.len(), |at| promoted::exact(&runner, promoted::EXACT[at]));
    let failures = runner.failures();
    assert!(failures.is_empty(), "CPU and CUDA disagree:\n{}", failures.join("\n"));
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

/// How many kernels were executed of how many there are; fails unless it was all of them.
fn report(runner: &Runner, driver: Option<&Driver>) {
    let all: BTreeSet<_> = introspect::modules().iter().flat_map(Module::kernels).collect();
    let executed: BTreeSet<_> = match driver {
        // The driver's own count, of kernels that really took instructions.
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
        "{} of {} written kernels and {} generated ones executed on {device} ({name} driver), {} calls equal to \
         the CPU's",
        all.intersection(&executed).count(),
        all.len(),
        executed.difference(&all).count(),
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

#[test]
fn elements_beyond_32_bits_are_found() {
    let Some(device) = cuda("elements beyond 32 bits") else { return };
    let _alone = alone();
    far::bytes(&device);
    far::wide_elements(&device);
    expect_nothing_found(&device);
}
