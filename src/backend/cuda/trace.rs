//! Events for `tracing`. Without that feature the macros expand to nothing.

/// Emits a debug event for something rare, such as compiling a kernel or loading one from disk.
macro_rules! trace_debug {
    ($($event:tt)*) => {
        #[cfg(feature = "tracing")]
        tracing::event!(target: "bitlane::cuda", tracing::Level::DEBUG, $($event)*);
    };
}
pub(super) use trace_debug;

/// Emits a trace event for something that happens on every call.
macro_rules! trace_launch {
    ($($event:tt)*) => {
        #[cfg(feature = "tracing")]
        tracing::event!(target: "bitlane::cuda", tracing::Level::TRACE, $($event)*);
    };
}
pub(super) use trace_launch;

/// Emits a warning about a failure that is not reported to the caller as an error.
macro_rules! trace_warning {
    ($($event:tt)*) => {
        #[cfg(feature = "tracing")]
        tracing::event!(target: "bitlane::cuda", tracing::Level::WARN, $($event)*);
    };
}
pub(super) use trace_warning;
