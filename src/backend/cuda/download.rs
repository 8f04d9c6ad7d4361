//! Copies to the host that are queued like any other work, and waited for later.

use std::ffi::c_void;
use std::ops::Range;
use std::ptr;
use std::slice;
use std::sync::Arc;

use bytemuck::AnyBitPattern;
use cudarc::driver::sys::{CUdeviceptr, CUevent, CUevent_flags, CUresult};

use super::capture::Relaxed;
use super::driver::{driver, is_code};
use super::graph;
use super::memory::CudaMemory;
use super::stream::Stream;
use super::trace::trace_warning;
use crate::{Error, Result};

/// A copy to pinned memory of its own, which may be unfinished.
pub(crate) struct Download {
    /// The pinned memory, which only the copy writes; null if there are no bytes.
    bytes: *mut c_void,
    len: usize,
    /// Recorded after the copy.
    event: CUevent,
    stream: Arc<Stream>,
    /// Whether the copy may have been queued and a wait for it has not succeeded yet.
    is_flying: bool,
    /// Whether the event comes after the copy.
    is_recorded: bool,
}

// SAFETY: memory and events of the driver may be used on any thread, and nothing else refers to these.
unsafe impl Send for Download {}
// SAFETY: as above; a shared reference only asks whether the copy is done.
unsafe impl Sync for Download {}

impl CudaMemory {
    /// Queues a copy of a range of bytes to the host, after the last write to the block. Later writes wait for it, and so
    /// does freeing the block.
    pub(crate) fn start_download(&self, range: Range<usize>) -> Result<Download> {
        self.check_range(&range)?;
        graph::forbid("a copy to the host")?;
        let stream = self.writer();
        stream.check_reach()?;
        let mut download = Download {
            bytes: ptr::null_mut(),
            len: range.len(),
            event: ptr::null_mut(),
            stream: Arc::clone(&stream),
            is_flying: false,
            is_recorded: false,
        };
        if range.is_empty() {
            return Ok(download);
        }
        let _bound = stream.context().bind()?;
        stream.check_not_captured()?;
        let _relaxed = Relaxed::enter()?;
        // SAFETY: the driver writes one handle and one address. What it has written is destroyed with `download`.
        unsafe {
            let flags = CUevent_flags::CU_EVENT_DISABLE_TIMING as u32;
            driver!(cuEventCreate(&mut download.event, flags))?;
            driver!(cuMemHostAlloc(&mut download.bytes, range.len(), 0)).map_err(|error| {
                match is_code(&error, CUresult::CUDA_ERROR_OUT_OF_MEMORY) {
                    true => Error::OutOfMemory { device: "host".into(), bytes: range.len() },
                    false => error,
                }
            })?;
        }
        self.before_read(&stream)?;
        let start = self.address() + range.start as CUdeviceptr;
        download.is_flying = true;
        // SAFETY: `check_range` has shown that the range lies inside the block, whose last write the stream waits for; the
        // stream is recorded as a reader. The pinned memory has room for the range, and is freed after a wait for the copy.
        // Event and stream belong to the current context.
        unsafe {
            driver!(cuMemcpyDtoHAsync_v2(download.bytes, start, range.len(), stream.raw()))?;
            driver!(cuEventRecord(download.event, stream.raw()))?;
        }
        download.is_recorded = true;
        Ok(download)
    }
}

impl Download {
    /// Returns whether the copy is done.
    pub(crate) fn is_done(&self) -> Result<bool> {
        if !self.is_flying {
            return Ok(true);
        }
        let _bound = self.stream.context().bind()?;
        let _relaxed = Relaxed::enter()?;
        // SAFETY: the event is alive, and was recorded after the copy.
        match unsafe { driver!(cuEventQuery(self.event)) } {
            Ok(()) => Ok(true),
            Err(error) if is_code(&error, CUresult::CUDA_ERROR_NOT_READY) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Waits for the copy, and returns its bytes as numbers. What is left over by their size is dropped.
    pub(crate) fn wait<B: AnyBitPattern>(mut self) -> Result<Vec<B>> {
        self.land()?;
        let mut copy = Vec::<B>::new();
        let count = self.len / size_of::<B>();
        copy.try_reserve_exact(count)
            .map_err(|_| Error::OutOfMemory { device: "host".into(), bytes: self.len })?;
        if count > 0 {
            // SAFETY: the copy is done, so that as many bytes are initialised and nothing writes them. Pinned memory begins
            // at a page, so that it is aligned for any number, and any bit pattern is a valid `B`.
            copy.extend_from_slice(unsafe { slice::from_raw_parts(self.bytes.cast(), count) });
        }
        Ok(copy)
    }

    /// Waits until nothing writes the pinned memory any more.
    fn land(&mut self) -> Result<()> {
        if !self.is_flying {
            return Ok(());
        }
        if self.is_recorded {
            let _bound = self.stream.context().bind()?;
            let _relaxed = Relaxed::enter()?;
            // SAFETY: the event is alive.
            unsafe { driver!(cuEventSynchronize(self.event)) }?;
        } else {
            self.stream.synchronize()?;
        }
        self.is_flying = false;
        Ok(())
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        // A wait also reports errors of earlier work; the second one tells whether the copy is done.
        let landed = self.land().or_else(|_| self.land());
        let freed = landed.and_then(|()| {
            let _bound = self.stream.context().bind()?;
            let _relaxed = Relaxed::enter()?;
            // SAFETY: both were made here if they are not null, nothing uses them any more, and they are freed once.
            unsafe {
                let memory = match self.bytes.is_null() {
                    true => Ok(()),
                    false => driver!(cuMemFreeHost(self.bytes)),
                };
                let event = match self.event.is_null() {
                    true => Ok(()),
                    false => driver!(cuEventDestroy_v2(self.event)),
                };
                memory.and(event)
            }
        });
        if let Err(error) = freed {
            // The copy may still be writing to the memory, which is therefore leaked.
            trace_warning!(%error, "the memory of a download was not freed");
            let _ = error;
        }
    }
}
