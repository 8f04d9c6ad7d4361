//! The host side of the CUDA backend: what it asks of the driver, in which order, and what becomes
//! of a driver that fails. Runs on the virtual driver, which can be told to fail and counts what it
//! is asked; without an NVRTC, these tests say that they are skipped.

#![cfg(all(feature = "cuda", feature = "cpu", unix))]

mod cudarc_users;
#[path = "../devices/mod.rs"]
mod devices;
mod far;
mod fault_fuzz;
mod faults;
mod generated;
mod missing;
#[path = "../model/mod.rs"]
mod model;
mod order;
mod setup;
mod virtual_driver;
