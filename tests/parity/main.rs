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
use bitlane::{BinaryOp, DType, Device, Shift};

use crate::cases::Case;
use crate::model::ops::{is_defined, result_dtype};
use crate::runner::{GENERATED, Runner, shape_under};
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

/// Everything that one operation computes in one dtype.
fn operation(runner: &Runner, op: BinaryOp, dtype: DType, force: Force) {
    let cases = cases::fresh(op, dtype).into_iter().chain(destinations::given(op, dtype));
    // Nothing is forced on large calls, nor on those that would run as they have already.
    let is_new = |case: &Case| {
        force == Force::NOTHING
            || case.len() <= FORCED_LEN
                && (force == Force::WIDE
                    || shape_under(op, case, force) != shape_under(op, case, Force::NOTHING))
    };
    // A hand-written kernel is there for all cases, but a generated one is to be compiled for each sort: every operation and
    // dtype takes others of them.
    let turn = number_of(op) + dtype as usize;
    for (at, case) in cases.filter(is_new).enumerate() {
        let every = if shape_under(op, &case, force) == GENERATED { 13 } else { 1 };
        if (at + turn) % every == 0 {
            runner.binary(op, dtype, &case, force);
        }
    }
}

/// The place of an operation in the table.
fn number_of(op: BinaryOp) -> usize {
    BinaryOp::ALL.iter().position(|&other| other == op).unwrap()
}

/// Everything that all operations compute, with kernels as they are forced to be.
fn everything(runner: &Runner, force: Force) {
    let pairs: Vec<_> = (BinaryOp::ALL.iter())
        .filter(|&&op| op != BinaryOp::LeftShift(Shift::Logical))
        .flat_map(|&op| DType::ALL.iter().map(move |&dtype| (op, dtype)))
        .filter(|&(op, dtype)| is_defined(op, dtype))
        .collect();
    runner.share(pairs.len(), |at| operation(runner, pairs[at].0, pairs[at].1, force));
    runner.share(DType::ALL.len(), |at| {
        let dtype = DType::ALL[at];
        unary::cast(runner, dtype, force);
        unary::of_one(runner, dtype, force);
        if dtype.is_float() && force == Force::NOTHING {
            unary::copysign_grad(runner, dtype);
        }
    });
    let comparisons: Vec<_> = (BinaryOp::ALL.iter().copied())
        .filter(|&op| {
            result_dtype(op, DType::I8) == DType::Bool && !op.name().starts_with("logical")
        })
        .collect();
    runner.share(comparisons.len(), |at| promoted::exact(runner, comparisons[at], force));
}

#[test]
fn every_kernel_computes_what_the_cpu_does() {
    let Some(device) = cuda("every kernel") else { return };
    let _alone = alone();
    let driver = Driver::in_use();
    let runner = Runner::new(device.clone());
    let forced = [Force::GATHER, Force::GENERATED, Force::WIDE, Force::ELEMENTS];
    for force in [Force::NOTHING].into_iter().chain(forced) {
        introspect::force(force);
        everything(&runner, force);
        introspect::force(Force::NOTHING);
    }
    runner.share(BinaryOp::ALL.len(), |at| promoted::pairs(&runner, BinaryOp::ALL[at]));
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
        "{} of {} hand-written kernels and {} generated ones executed on {device} ({name} driver), {} calls equal to \
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
