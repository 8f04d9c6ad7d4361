//! The host side of the CUDA backend: what it asks of the driver, in which order, and what becomes
//! of a driver that fails. Runs on the virtual driver that `BITLANE_VCUDA` names, which can be told
//! to fail and counts what it is asked; without it, these tests say that they are skipped.

#![cfg(all(feature = "cuda", feature = "cpu", unix))]

mod cudarc_users;
mod far;
mod faults;
mod missing;
mod order;
mod setup;
mod virtual_driver;
