//! A CUDA driver whose device is the CPU.
//!
//! The way of a kernel: [`driver`] takes the call and checks its arguments; `runtime` keeps contexts, modules and
//! streams, whose work happens when somebody waits for it; `ptx` reads the text of a module, `exec` decodes it
//! with the table in `isa` and runs it, a warp of 32 threads per step; `memory` holds the bytes, each with a
//! shadow that says whether it may be touched and a cell that says who did; `sanitizer` collects what was wrong.
//!
//! `config` and `faults` are the settings, `calls` the counters, and [`control`] is the handle for a test suite
//! that has loaded the shared library.
//!
//! The driver proves kernel logic and host code. It says nothing about speed or about the vendor's driver.

#![deny(missing_docs, clippy::undocumented_unsafe_blocks)]
#![allow(clippy::precedence)]

mod calls;
mod config;
pub mod control;
pub mod driver;
pub mod error;
#[allow(missing_docs)]
mod exec;
mod faults;
mod isa;
mod memory;
mod ptx;
mod runtime;
mod sanitizer;

/// The rows of the instruction table, by name.
pub fn rows() -> impl Iterator<Item = &'static str> {
    isa::all().map(|row| row.name)
}

/// The row that an opcode as written in PTX is decoded to.
pub fn row_of(opcode: &str) -> Option<&'static str> {
    exec::row_name(opcode)
}
