//! A CUDA driver whose device is the CPU.
//!
//! How a call becomes a kernel run: `driver` exports the API functions and checks their arguments. `runtime` keeps
//! contexts, modules and streams, and by default runs queued work only when the program synchronises. `ptx` parses the
//! text of a module; `exec` decodes it with the instruction table in `isa` and interprets it, one warp of 32 threads at
//! a time. `memory` holds the bytes of the device, with a shadow byte for each that says whether it may be accessed and
//! a race-detection cell that says who accessed it last. `sanitizer` collects the findings.
//!
//! `config` holds the settings, `faults` the injected faults and `calls` the call counters. The crate
//! `vcuda-control` is the handle through which a test suite drives the loaded shared library; this one has no Rust
//! interface.
//!
//! The driver tests kernel logic and host code. It says nothing about speed or about the vendor's driver.

#![deny(clippy::undocumented_unsafe_blocks)]
#![allow(clippy::precedence)]

#[cfg(not(target_os = "linux"))]
compile_error!("the virtual CUDA driver runs on Linux only");

mod calls;
mod config;
mod driver;
mod error;
mod exec;
mod faults;
mod isa;
mod memory;
mod ptx;
mod runtime;
mod sanitizer;
