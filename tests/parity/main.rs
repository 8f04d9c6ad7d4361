//! Checks that CPU and CUDA compute the same bits: every hand-written kernel and a sample of the generated ones, in
//! sizes around their vector and block boundaries, on views of every kind, into destinations of every kind.
//!
//! Only what the specification leaves open may differ: the sign and payload of a NaN produced by arithmetic. On the
//! virtual driver this tests the kernels' logic and the host code, but neither speed nor NVIDIA's driver and assembler,
//! which are not involved. Without a device to compare with, the tests are shown as ignored.

#[cfg(unix)]
mod cases;
#[cfg(unix)]
mod data;
#[cfg(unix)]
mod destinations;
#[cfg(unix)]
#[path = "../devices/mod.rs"]
mod devices;
#[cfg(unix)]
mod far;
#[cfg(unix)]
mod faults;
#[cfg(unix)]
mod kernels;
#[cfg(unix)]
#[path = "../model/mod.rs"]
#[allow(unused_imports, reason = "the tests of the model itself are run elsewhere")]
mod model;
#[cfg(unix)]
mod promoted;
#[cfg(unix)]
mod runner;
#[cfg(unix)]
mod streams;
#[cfg(unix)]
#[macro_use]
#[path = "../devices/trials.rs"]
mod trials;
#[cfg(unix)]
mod two_devices;
#[cfg(unix)]
mod unary;
#[cfg(unix)]
#[path = "../cuda/virtual_driver.rs"]
mod virtual_driver;

#[cfg(unix)]
use std::io::Write;
#[cfg(unix)]
use std::sync::{Mutex, MutexGuard, PoisonError};

#[cfg(unix)]
use bitlane::Device;

#[cfg(unix)]
use crate::virtual_driver::{Driver, is_isolated};

/// Prints a line that the test harness does not capture.
#[cfg(unix)]
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "bitlane parity: {text}");
}

/// Makes tests run one at a time, because overrides of kernel selection and faults affect all threads.
#[cfg(unix)]
fn alone() -> MutexGuard<'static, ()> {
    static GATE: Mutex<()> = Mutex::new(());
    GATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the CUDA device, whose existence `main` has checked.
#[cfg(unix)]
fn cuda() -> Device {
    found().expect("a CUDA device to compare with")
}

#[cfg(unix)]
fn found() -> Option<Device> {
    devices::devices().into_iter().find(|device| *device != Device::cpu())
}

/// Checks that a virtual driver's sanitizer has reported nothing and that all memory is freed.
#[cfg(unix)]
fn expect_nothing_found(device: &Device) {
    device.synchronize().unwrap();
    if let Some(driver) = Driver::in_use() {
        assert_eq!(driver.report(), "[]", "the virtual driver has found something");
        assert_eq!(driver.allocations(), 0, "something was not freed");
    }
}

#[cfg(unix)]
fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    // A process that runs the body of one test opens a device of its own.
    let ignored = !is_isolated() && found().is_none();
    let mut tests = trials! { ignored
        kernels {
            every_written_kernel_computes_what_the_cpu_does
            kernels_generated_for_binary_operations
            kernels_generated_for_one_operand
            kernels_generated_for_sums
            kernels_of_scans_and_look_ups
            kernels_generated_for_pairs_of_dtypes
            elements_beyond_32_bits_are_found
        }
    };
    let libraries = devices::libraries::libraries();
    let ignored = libraries.is_err();
    if let Err(reason) = libraries {
        eprintln!("parity: what needs the virtual driver is ignored, {reason}");
    }
    tests.extend(trials! { ignored
        streams { many_threads_on_many_streams }
        two_devices {
            operands_must_be_on_one_device
            every_dtype_and_view_arrives
            both_compute_the_same_at_the_same_time
        }
    });
    libtest_mimic::run(&arguments, tests).exit();
}

/// The virtual driver supports Unix only.
#[cfg(not(unix))]
fn main() {
    eprintln!("parity: nothing is tested, the virtual driver is for Unix");
}
