//! Events for `tracing`. Without that feature they are not even compiled.

/// Something that happens rarely: a kernel is compiled, or loaded from the disk.
macro_rules! trace_debug {
    ($($event:tt)*) => {
        #[cfg(feature = "tracing")]
        tracing::event!(target: "bitlane::cuda", tracing::Level::DEBUG, $($event)*);
    };
}
pub(super) use trace_debug;

/// Something that happens at every call.
macro_rules! trace_launch {
    ($($event:tt)*) => {
        #[cfg(feature = "tracing")]
        tracing::event!(target: "bitlane::cuda", tracing::Level::TRACE, $($event)*);
    };
}
pub(super) use trace_launch;

/// Something that went wrong without being an error for the caller.
macro_rules! trace_warning {
    ($($event:tt)*) => {
        #[cfg(feature = "tracing")]
        tracing::event!(target: "bitlane::cuda", tracing::Level::WARN, $($event)*);
    };
}
pub(super) use trace_warning;
