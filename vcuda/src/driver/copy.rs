//! Copies and fills.

use super::{api, outcome, working};
use crate::error::{Code, ERROR_INVALID_CONTEXT, ERROR_INVALID_VALUE};
use crate::runtime::{Fill, Guard, Source, Work, mark_pending, run_stream, stage, submit};
use std::ffi::{c_uchar, c_uint, c_ushort, c_void};

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Host,
    Device,
    /// Whatever the address says.
    Either,
}

fn check(s: &Guard, addr: u64, len: u64, end: End) -> Result<bool, Code> {
    let device = match end {
        End::Host => false,
        End::Device => true,
        End::Either => s.region_of(addr).is_some(),
    };
    if addr == 0 && len > 0 {
        return Err(ERROR_INVALID_VALUE);
    }
    if device && len > 0 {
        s.check_range(addr, len)?;
    }
    Ok(device)
}

/// A copy on a stream. `None`: at once, on the legacy stream.
fn copy(
    to: u64,
    to_end: End,
    from: u64,
    from_end: End,
    len: usize,
    stream: Option<u64>,
) -> Result<(), Code> {
    let (mut s, cx) = working()?;
    let handle = s.stream(cx, stream.unwrap_or(0))?;
    if stream.is_none() {
        s.no_capture_in(cx)?;
    }
    let len = len as u64;
    let to_device = check(&s, to, len, to_end)?;
    let from_device = check(&s, from, len, from_end)?;
    let capturing = s.streams.get(&handle).is_some_and(|x| x.capture.is_some());
    let source = if from_device || len == 0 {
        Source::Address(from)
    } else {
        // SAFETY: by the API's contract the source is readable for its length.
        unsafe { stage(&s, from, len, capturing) }
    };
    let pageable = !to_device && s.region_of(to).is_none();
    if pageable && stream.is_some() && !capturing {
        // SAFETY: by the API's contract the destination is writable for its length.
        unsafe { mark_pending(to, len) };
    }
    let s = submit(s, handle, Work::Copy { to, from: source, len, pageable })?;
    if stream.is_some() {
        return Ok(());
    }
    let s = run_stream(s, handle);
    outcome(&s, cx)
}

fn fill(f: Fill, stream: Option<u64>) -> Result<(), Code> {
    let (mut s, cx) = working()?;
    let handle = s.stream(cx, stream.unwrap_or(0))?;
    if stream.is_none() {
        s.no_capture_in(cx)?;
    }
    if !f.addr.is_multiple_of(f.width) || !f.pitch.is_multiple_of(f.width) {
        return Err(ERROR_INVALID_VALUE);
    }
    let len = f.rows.saturating_sub(1) * f.pitch + f.count * f.width;
    if len > 0 {
        s.check_range(f.addr, len)?;
    }
    let s = submit(s, handle, Work::Fill(f))?;
    if stream.is_some() {
        return Ok(());
    }
    let s = run_stream(s, handle);
    outcome(&s, cx)
}

fn line(addr: u64, value: u32, width: u64, count: usize) -> Fill {
    Fill { addr, value, width, count: count as u64, rows: 1, pitch: 0 }
}

fn peers(to: u64, from: u64) -> Result<(), Code> {
    let (s, _) = working()?;
    if s.contexts.contains_key(&to) && s.contexts.contains_key(&from) {
        Ok(())
    } else {
        Err(ERROR_INVALID_CONTEXT)
    }
}

api! {
    fn cuMemcpy(to: u64, from: u64, len: usize) {
        copy(to, End::Either, from, End::Either, len, None)
    }

    fn cuMemcpyAsync(to: u64, from: u64, len: usize, stream: u64) {
        copy(to, End::Either, from, End::Either, len, Some(stream))
    }

    fn cuMemcpyHtoD_v2(to: u64, from: *const c_void, len: usize) {
        copy(to, End::Device, from as u64, End::Host, len, None)
    }

    fn cuMemcpyHtoDAsync_v2(to: u64, from: *const c_void, len: usize, stream: u64) {
        copy(to, End::Device, from as u64, End::Host, len, Some(stream))
    }

    fn cuMemcpyDtoH_v2(to: *mut c_void, from: u64, len: usize) {
        copy(to as u64, End::Host, from, End::Device, len, None)
    }

    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: u64, len: usize, stream: u64) {
        copy(to as u64, End::Host, from, End::Device, len, Some(stream))
    }

    fn cuMemcpyDtoD_v2(to: u64, from: u64, len: usize) {
        copy(to, End::Device, from, End::Device, len, None)
    }

    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, len: usize, stream: u64) {
        copy(to, End::Device, from, End::Device, len, Some(stream))
    }

    fn cuMemcpyPeer(to: u64, to_context: u64, from: u64, from_context: u64, len: usize) {
        peers(to_context, from_context)?;
        copy(to, End::Device, from, End::Device, len, None)
    }

    fn cuMemcpyPeerAsync(to: u64, to_context: u64, from: u64, from_context: u64, len: usize, stream: u64) {
        peers(to_context, from_context)?;
        copy(to, End::Device, from, End::Device, len, Some(stream))
    }

    fn cuMemsetD8_v2(addr: u64, value: c_uchar, count: usize) {
        fill(line(addr, value.into(), 1, count), None)
    }

    fn cuMemsetD16_v2(addr: u64, value: c_ushort, count: usize) {
        fill(line(addr, value.into(), 2, count), None)
    }

    fn cuMemsetD32_v2(addr: u64, value: c_uint, count: usize) {
        fill(line(addr, value, 4, count), None)
    }

    fn cuMemsetD8Async(addr: u64, value: c_uchar, count: usize, stream: u64) {
        fill(line(addr, value.into(), 1, count), Some(stream))
    }

    fn cuMemsetD16Async(addr: u64, value: c_ushort, count: usize, stream: u64) {
        fill(line(addr, value.into(), 2, count), Some(stream))
    }

    fn cuMemsetD32Async(addr: u64, value: c_uint, count: usize, stream: u64) {
        fill(line(addr, value, 4, count), Some(stream))
    }

    fn cuMemsetD2D8_v2(addr: u64, pitch: usize, value: c_uchar, width: usize, height: usize) {
        fill(Fill { addr, value: value.into(), width: 1, count: width as u64, rows: height as u64, pitch: pitch as u64 }, None)
    }

    fn cuMemsetD2D32_v2(addr: u64, pitch: usize, value: c_uint, width: usize, height: usize) {
        fill(Fill { addr, value, width: 4, count: width as u64, rows: height as u64, pitch: pitch as u64 }, None)
    }
}
