//! Pinned host memory through which tensors are copied from and to the host.
//!
//! The driver copies pinned memory at the speed of the bus and in the order of a stream. So an upload needs only to wait until
//! its bytes are in such memory, not for the device, and a download overlaps the copy of one part to its destination with
//! the transfer of the next.

use std::collections::VecDeque;
use std::ffi::c_void;
use std::mem;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::{CUdeviceptr, CUevent, CUevent_flags, CUresult};

use super::capture::Relaxed;
use super::driver::{driver, is_code};
use super::stream::Stream;
use crate::Result;

/// The size of a buffer: large enough that the start of a transfer costs nothing in comparison.
const SIZE: usize = 4 << 20;

/// How many buffers a context has at most.
const BUFFERS: usize = 4;

/// A pinned buffer, with an event after which nothing uses it.
struct Buffer {
    bytes: *mut u8,
    event: CUevent,
}

// SAFETY: memory and events of the driver may be used on any thread, and a buffer has one owner.
unsafe impl Send for Buffer {}

/// The buffers of a context.
#[derive(Default)]
pub(super) struct Staging {
    /// Those that no call has taken, in the order in which they were used. Transfers of theirs may be unfinished.
    free: Mutex<VecDeque<Buffer>>,
    /// How many there are.
    count: Mutex<usize>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Staging {
    /// Takes a buffer that nothing uses. The context must be current. Returns `None` if there is none to be had.
    fn take(&self) -> Result<Option<Buffer>> {
        // The one that was used longest ago; it is waited for only if there can be no other.
        let Some(buffer) = ({ lock(&self.free).pop_front() }) else { return Ok(self.create()) };
        let done = match buffer.is_done() {
            Ok(false) => match self.create() {
                Some(new) => {
                    lock(&self.free).push_front(buffer);
                    return Ok(Some(new));
                }
                None => buffer.wait(),
            },
            done => done.map(drop),
        };
        match done {
            Ok(()) => Ok(Some(buffer)),
            Err(error) => {
                lock(&self.free).push_front(buffer);
                Err(error)
            }
        }
    }

    /// Creates a buffer, unless there are enough or the driver has no memory for it.
    fn create(&self) -> Option<Buffer> {
        let mut count = lock(&self.count);
        if *count >= BUFFERS {
            return None;
        }
        let mut event = ptr::null_mut();
        let mut bytes: *mut c_void = ptr::null_mut();
        // SAFETY: the driver writes one handle and one address.
        unsafe {
            let flags = CUevent_flags::CU_EVENT_DISABLE_TIMING as u32;
            driver!(cuEventCreate(&mut event, flags)).ok()?;
            if driver!(cuMemHostAlloc(&mut bytes, SIZE, 0)).is_err() {
                let _ = driver!(cuEventDestroy_v2(event));
                return None;
            }
        }
        *count += 1;
        Some(Buffer { bytes: bytes.cast(), event })
    }

    /// Returns a buffer after the work on a stream that uses it was queued.
    fn give_back(&self, buffer: Buffer, stream: &Stream) -> Result<()> {
        let recorded = buffer.record(stream);
        if recorded.is_err() && stream.synchronize().or_else(|_| stream.synchronize()).is_err() {
            // It may be in use for ever, so that it is lost.
            *lock(&self.count) -= 1;
            return recorded;
        }
        lock(&self.free).push_back(buffer);
        recorded
    }

    /// Copies bytes of the host to an address in the order of a stream. They may change when this returns. Returns `false` if
    /// there are no buffers.
    ///
    /// # Safety
    ///
    /// There must be memory for the bytes at the address, which nothing else uses, and work that uses it must come after
    /// this on the stream. The stream's context must be current.
    pub(super) unsafe fn upload(
        &self,
        to: CUdeviceptr,
        bytes: &[u8],
        stream: &Stream,
    ) -> Result<bool> {
        let _relaxed = Relaxed::enter()?;
        for (index, part) in bytes.chunks(SIZE).enumerate() {
            let Some(buffer) = self.take()? else { return Ok(false) };
            let to = to + (index * SIZE) as CUdeviceptr;
            // SAFETY: the buffer has room for the part and nothing else uses it; the caller guarantees the rest. The
            // buffer is not used again until the copy is done.
            let copied = unsafe {
                ptr::copy_nonoverlapping(part.as_ptr(), buffer.bytes, part.len());
                let from = buffer.bytes.cast();
                driver!(cuMemcpyHtoDAsync_v2(to, from, part.len(), stream.raw()))
            };
            copied.and(self.give_back(buffer, stream))?;
        }
        Ok(true)
    }

    /// Copies memory of the device to the host. Returns `false` if there are no buffers.
    ///
    /// # Safety
    ///
    /// There must be `len` bytes at either address. The stream must wait for earlier work on those of the device, and its
    /// context must be current.
    pub(super) unsafe fn download(
        &self,
        to: *mut u8,
        from: CUdeviceptr,
        len: usize,
        stream: &Stream,
    ) -> Result<bool> {
        let _relaxed = Relaxed::enter()?;
        let mut flying = VecDeque::new();
        let mut outcome = Ok(true);
        for start in (0..len).step_by(SIZE) {
            let bytes = SIZE.min(len - start);
            // Two buffers suffice: one is filled while the other is emptied.
            let buffer = match flying.len() {
                0 => self.take(),
                1 => self.take().and_then(|taken| match taken {
                    Some(buffer) => Ok(Some(buffer)),
                    None => self.land(to, flying.pop_front(), stream),
                }),
                _ => self.land(to, flying.pop_front(), stream),
            };
            outcome = buffer.and_then(|buffer| {
                let Some(buffer) = buffer else { return Ok(false) };
                let from = from + start as CUdeviceptr;
                // SAFETY: the buffer has room for the part, nothing else uses it, and it is not read before the transfer
                // is done; the caller guarantees that the device's memory is there.
                let copied = unsafe {
                    let to = buffer.bytes.cast();
                    driver!(cuMemcpyDtoHAsync_v2(to, from, bytes, stream.raw()))
                };
                if let Err(error) = copied.and_then(|()| buffer.record(stream)) {
                    let _ = self.give_back(buffer, stream);
                    return Err(error);
                }
                flying.push_back(Part { buffer, start, bytes });
                Ok(true)
            });
            if !matches!(outcome, Ok(true)) {
                break;
            }
        }
        for part in flying {
            let landed = self.land(to, Some(part), stream);
            outcome = outcome.and_then(|all| {
                lock(&self.free).extend(landed?);
                Ok(all)
            });
        }
        outcome
    }

    /// Waits for a part and copies it to its place in the destination. Returns its buffer.
    fn land(&self, to: *mut u8, part: Option<Part>, stream: &Stream) -> Result<Option<Buffer>> {
        let Some(Part { buffer, start, bytes }) = part else { return Ok(None) };
        if let Err(error) = buffer.wait() {
            let _ = self.give_back(buffer, stream);
            return Err(error);
        }
        // SAFETY: the transfer into the buffer is done, and the part lies inside the destination, which whoever calls
        // `download` guarantees to be writable.
        unsafe { ptr::copy_nonoverlapping(buffer.bytes, to.add(start), bytes) };
        Ok(Some(buffer))
    }

    /// Frees the buffers that nothing uses. The context must be current.
    pub(super) fn release(&self) {
        let all = mem::take(&mut *lock(&self.free));
        for buffer in all {
            if !matches!(buffer.is_done(), Ok(true)) {
                lock(&self.free).push_back(buffer);
                continue;
            }
            // SAFETY: buffer and event were created here, nothing uses them, and they are destroyed once.
            unsafe {
                let _ = driver!(cuMemFreeHost(buffer.bytes.cast()));
                let _ = driver!(cuEventDestroy_v2(buffer.event));
            }
            *lock(&self.count) -= 1;
        }
    }
}

/// A part of a download that is under way.
struct Part {
    buffer: Buffer,
    start: usize,
    bytes: usize,
}

impl Buffer {
    /// Marks the work on a stream so far as that which uses the buffer.
    fn record(&self, stream: &Stream) -> Result<()> {
        // SAFETY: event and stream belong to the current context.
        unsafe { driver!(cuEventRecord(self.event, stream.raw())) }
    }

    /// Returns whether the work that uses the buffer is done.
    fn is_done(&self) -> Result<bool> {
        // SAFETY: the event is alive.
        match unsafe { driver!(cuEventQuery(self.event)) } {
            Ok(()) => Ok(true),
            Err(error) if is_code(&error, CUresult::CUDA_ERROR_NOT_READY) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Waits for the work that uses the buffer.
    fn wait(&self) -> Result<()> {
        // SAFETY: the event is alive.
        unsafe { driver!(cuEventSynchronize(self.event)) }
    }
}
