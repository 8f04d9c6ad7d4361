//! The state of the driver: devices, contexts, streams, events, modules and graphs.

mod capture;
mod contexts;
mod copies;
mod host;
mod libraries;
mod loading;
mod order;
mod queues;
mod running;
mod state;

pub use capture::{Capture, Exec, Graph, exchange_mode};
pub use contexts::{destroy_context, release_primary, report_at_exit, reset_primary};
pub use copies::{Fill, Source, mark_pending, stage};
pub use host::in_host_function;
pub use libraries::{Library, LibraryKernel};
pub use loading::{FAT_BINARIES, Kernel, Link, Module, machine_code, refuse_machine_code};
pub use queues::{Event, KernelLaunch, Stream, Work, submit};
pub use running::{
    finish_pageable_copies, poll, run_all, run_by_policy, run_context, run_devices, run_stream,
    run_until,
};
pub use state::{Guard, Pool, current, enter, initialised, live, reset, set_stack, stack, stats};
