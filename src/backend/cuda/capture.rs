//! Captures of the user's streams, which must survive what this crate does on other streams.

use std::marker::PhantomData;

use cudarc::driver::sys::CUstreamCaptureMode;

use super::driver::driver;
use super::trace::trace_warning;
use crate::Result;

/// Allows the calling thread, until it is dropped, to wait for streams that are not captured while others are.
///
/// By default a capture forbids such calls to its own thread or to all threads, and ends when one is made. The reason is
/// that they might depend on the captured work. Those of this crate do not: it never waits for a stream that is captured.
pub(super) struct Relaxed {
    /// The mode of the thread before.
    mode: u32,
    /// The mode belongs to the thread, so the value must be dropped on it.
    _on_this_thread: PhantomData<*const ()>,
}

impl Relaxed {
    pub(super) fn enter() -> Result<Relaxed> {
        let mut mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED as u32;
        // SAFETY: the driver reads one mode and replaces it with the old one.
        unsafe { driver!(cuThreadExchangeStreamCaptureMode(&mut mode)) }?;
        Ok(Relaxed { mode, _on_this_thread: PhantomData })
    }
}

impl Drop for Relaxed {
    fn drop(&mut self) {
        // SAFETY: as in `enter`; the mode is the one that the driver returned there.
        if let Err(error) = unsafe { driver!(cuThreadExchangeStreamCaptureMode(&mut self.mode)) } {
            trace_warning!(%error, "the capture mode of a thread was not restored");
            let _ = error;
        }
    }
}
