//! What the driver remembers: devices, contexts, streams, events, modules, graphs.

mod capture;
mod contexts;
mod copies;
mod loading;
mod queues;
mod state;

pub use capture::{Exec, Graph};
pub use contexts::{destroy_context, release_primary, report_at_exit, reset_primary};
pub use copies::{Fill, Source, mark_pending, stage};
pub use loading::{Kernel, Module};
pub use queues::{
    Event, KernelLaunch, Stream, Work, run_context, run_stream, run_until, settle, stir, submit,
};
pub use state::{Guard, Pool, current, enter, live, reset, set_stack, stack, stats};
