//! A CUDA driver whose device is the CPU.
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
