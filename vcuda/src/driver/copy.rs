//! Copies and fills in one, two and three dimensions.

use super::{api, bad_call, outcome, working};
use crate::config::{self, Async};
use crate::error::{Code, ERROR_INVALID_CONTEXT, ERROR_INVALID_VALUE, ERROR_NOT_SUPPORTED};
use crate::runtime::{
    Fill, Guard, Source, Work, mark_pending, run_devices, run_stream, stage, submit,
};
use std::ffi::{c_uchar, c_uint, c_ushort, c_void};

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Host,
    Device,
    /// Whichever the address belongs to.
    Either,
}

/// One side of a copy: the address of its first row, and the pitch in bytes between rows and between planes.
#[derive(Clone, Copy)]
struct Side {
    addr: u64,
    end: End,
    pitch: u64,
    plane: u64,
}

impl Side {
    fn line(addr: u64, end: End) -> Side {
        Side { addr, end, pitch: 0, plane: 0 }
    }

    /// Returns the distance in bytes from the start of a box to its end, or `None` if that exceeds the address space.
    fn span(&self, [width, height, depth]: [u64; 3]) -> Option<u64> {
        let rows = (height - 1).checked_mul(self.pitch)?;
        let span = (depth - 1).checked_mul(self.plane)?.checked_add(rows)?.checked_add(width)?;
        self.addr.checked_add(span).filter(|_| isize::try_from(span).is_ok()).map(|_| span)
    }

    /// Returns whether a box is accessed as memory of the driver, not as plain host memory. Fails for device memory
    /// that is passed as host memory, and for memory of the driver that is not wholly in one live allocation.
    fn check(&self, s: &Guard, size: [u64; 3]) -> Result<bool, Code> {
        let span = self.span(size).filter(|_| self.addr != 0).ok_or(ERROR_INVALID_VALUE)?;
        let place = s.region_of(self.addr);
        match self.end {
            End::Host if matches!(place, Some((Some(_), _))) => {
                let text =
                    format!("a copy takes device memory at {:#x} for host memory", self.addr);
                bad_call(ERROR_INVALID_VALUE, text);
                Err(ERROR_INVALID_VALUE)
            }
            End::Host => Ok(false),
            End::Either if place.is_none() => Ok(false),
            End::Either | End::Device => s.check_range(self.addr, span).map(|()| true),
        }
    }
}

/// Copies a box, row by row, on a stream; with `None`, synchronously on the legacy stream.
fn copy_box(to: Side, from: Side, size: [u64; 3], stream: Option<u64>) -> Result<(), Code> {
    let (mut s, cx) = working()?;
    let handle = s.stream(cx, stream.unwrap_or(0))?;
    if stream.is_none() {
        s.check_capture_mode()?;
    }
    if size.contains(&0) {
        return Ok(());
    }
    let (to_device, from_device) = (to.check(&s, size)?, from.check(&s, size)?);
    let [len, height, depth] = size;
    if height == 1 && depth == 1 && to.addr.abs_diff(from.addr) < len {
        let (a, b) = (from.addr, to.addr);
        bad_call(0, format!("a copy of {len} bytes from {a:#x} to {b:#x}, which overlap"));
    }
    // A copy between devices on the legacy stream starts when both devices are idle, and both wait for it to complete.
    let homes = [&to, &from].map(|side| s.region_of(side.addr).and_then(|(device, _)| device));
    let between = homes[0] != homes[1] && !homes.contains(&None) && s.is_legacy(handle);
    if between {
        s = run_devices(s, &homes);
    }
    let span = to.span(size).unwrap_or(0);
    let pageable = !to_device && !s.is_pinned(to.addr, span);
    let (strict, when) = config::with(|c| (c.strict, c.when));
    let capturing = s.streams.get(&handle).is_some_and(|x| x.capture.is_some());
    let late = pageable && strict && when != Async::Eager && stream.is_some() && !capturing;
    for row in 0..height * depth {
        let at = |side: &Side| side.addr + row / height * side.plane + row % height * side.pitch;
        let source = if from_device {
            Source::Address(at(&from))
        } else {
            // SAFETY: by the API's contract each row of the source is readable for its length.
            unsafe { stage(&s, at(&from), len, capturing) }
        };
        if late {
            // SAFETY: by the API's contract each row of the destination is writable for its length.
            unsafe { mark_pending(at(&to), len) };
        }
        s = submit(s, handle, Work::Copy { to: at(&to), from: source, len, pageable })?;
    }
    if stream.is_some() && !between && (late || capturing || !pageable) {
        return Ok(());
    }
    let mut s = run_stream(s, handle);
    outcome(&mut s, cx, stream.is_some().then_some(handle))
}

fn copy(
    to: u64,
    to_end: End,
    from: u64,
    from_end: End,
    len: usize,
    stream: Option<u64>,
) -> Result<(), Code> {
    copy_box(Side::line(to, to_end), Side::line(from, from_end), [len as u64, 1, 1], stream)
}

/// One side of a `CUDA_MEMCPY2D` or `CUDA_MEMCPY3D`; the former has no depth and no LOD.
#[derive(Clone, Copy)]
struct Part {
    place: [usize; 3],
    kind: c_uint,
    host: u64,
    device: u64,
    pitch: usize,
    height: usize,
}

impl Part {
    fn side(&self, [width, height, depth]: [u64; 3]) -> Result<Side, Code> {
        let (addr, end) = match self.kind {
            1 => (self.host, End::Host),
            2 => (self.device, End::Device),
            4 => (self.device, End::Either),
            3 => return Err(ERROR_NOT_SUPPORTED),
            _ => return Err(ERROR_INVALID_VALUE),
        };
        let [x, y, z] = self.place.map(|n| n as u64);
        let (pitch, rows) = (self.pitch as u64, self.height as u64);
        let plane = pitch.checked_mul(rows).ok_or(ERROR_INVALID_VALUE)?;
        let narrow = height > 1 && x.checked_add(width).is_none_or(|end| end > pitch);
        let low = depth > 1 && y.checked_add(height).is_none_or(|end| end > rows);
        let offset =
            z.checked_mul(plane).and_then(|n| n.checked_add(y.checked_mul(pitch)?)?.checked_add(x));
        match offset.and_then(|n| addr.checked_add(n)) {
            Some(addr) if !narrow && !low => Ok(Side { addr, end, pitch, plane }),
            _ => Err(ERROR_INVALID_VALUE),
        }
    }
}

/// `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Copy2D {
    from_place: [usize; 2],
    from_kind: c_uint,
    from: [u64; 3],
    from_pitch: usize,
    to_place: [usize; 2],
    to_kind: c_uint,
    to: [u64; 3],
    to_pitch: usize,
    size: [usize; 2],
}

/// `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Copy3D {
    from_place: [usize; 4],
    from_kind: c_uint,
    from: [u64; 4],
    from_pitch: [usize; 2],
    to_place: [usize; 4],
    to_kind: c_uint,
    to: [u64; 4],
    to_pitch: [usize; 2],
    size: [usize; 3],
}

fn part(
    at: &[usize],
    kind: c_uint,
    &[host, device, ..]: &[u64; 4],
    [pitch, height]: [usize; 2],
) -> Part {
    Part {
        place: [at[0], at[1], at.get(2).copied().unwrap_or(0)],
        kind,
        host,
        device,
        pitch,
        height,
    }
}

fn copy_parts(to: Part, from: Part, size: [usize; 3], stream: Option<u64>) -> Result<(), Code> {
    let size = size.map(|n| n as u64);
    if size.contains(&0) {
        return working().map(drop);
    }
    copy_box(to.side(size)?, from.side(size)?, size, stream)
}

fn copy_2d(what: *const Copy2D, stream: Option<u64>) -> Result<(), Code> {
    if what.is_null() {
        return Err(ERROR_INVALID_VALUE);
    }
    // SAFETY: not null, and by the API's contract it points to a valid structure.
    let c = unsafe { what.read_unaligned() };
    let four = |[a, b, c]: [u64; 3]| [a, b, c, 0];
    let to = part(&c.to_place, c.to_kind, &four(c.to), [c.to_pitch, 0]);
    let from = part(&c.from_place, c.from_kind, &four(c.from), [c.from_pitch, 0]);
    copy_parts(to, from, [c.size[0], c.size[1], 1], stream)
}

pub(super) fn copy_3d(what: *const Copy3D, stream: Option<u64>) -> Result<(), Code> {
    if what.is_null() {
        return Err(ERROR_INVALID_VALUE);
    }
    // SAFETY: not null, and by the API's contract it points to a valid structure.
    let c = unsafe { what.read_unaligned() };
    let to = part(&c.to_place, c.to_kind, &c.to, c.to_pitch);
    let from = part(&c.from_place, c.from_kind, &c.from, c.from_pitch);
    copy_parts(to, from, c.size, stream)
}

pub(super) fn fill(f: Fill, stream: Option<u64>) -> Result<(), Code> {
    let (mut s, cx) = working()?;
    let handle = s.stream(cx, stream.unwrap_or(0))?;
    if stream.is_none() {
        s.check_capture_mode()?;
    }
    if !f.addr.is_multiple_of(f.width) || !f.pitch.is_multiple_of(f.width) {
        return Err(ERROR_INVALID_VALUE);
    }
    let row = f.count.checked_mul(f.width).ok_or(ERROR_INVALID_VALUE)?;
    if row == 0 || f.rows == 0 {
        return Ok(());
    }
    let rest = (f.rows - 1).checked_mul(f.pitch).filter(|_| f.rows == 1 || f.pitch >= row);
    let len = rest.and_then(|rest| rest.checked_add(row)).ok_or(ERROR_INVALID_VALUE)?;
    s.check_range(f.addr, len)?;
    let s = submit(s, handle, Work::Fill(f))?;
    if stream.is_some() {
        return Ok(());
    }
    let mut s = run_stream(s, handle);
    outcome(&mut s, cx, stream.is_some().then_some(handle))
}

fn line(addr: u64, value: u32, width: u64, count: usize) -> Fill {
    plane(addr, 0, value, width, [count, 1])
}

pub(super) fn plane(
    addr: u64,
    pitch: usize,
    value: u32,
    width: u64,
    [count, rows]: [usize; 2],
) -> Fill {
    Fill { addr, value, width, count: count as u64, rows: rows as u64, pitch: pitch as u64 }
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
        fill(plane(addr, pitch, value.into(), 1, [width, height]), None)
    }

    fn cuMemsetD2D8Async(addr: u64, pitch: usize, value: c_uchar, width: usize, height: usize, stream: u64) {
        fill(plane(addr, pitch, value.into(), 1, [width, height]), Some(stream))
    }

    fn cuMemsetD2D16_v2(addr: u64, pitch: usize, value: c_ushort, width: usize, height: usize) {
        fill(plane(addr, pitch, value.into(), 2, [width, height]), None)
    }

    fn cuMemsetD2D16Async(addr: u64, pitch: usize, value: c_ushort, width: usize, height: usize, stream: u64) {
        fill(plane(addr, pitch, value.into(), 2, [width, height]), Some(stream))
    }

    fn cuMemsetD2D32_v2(addr: u64, pitch: usize, value: c_uint, width: usize, height: usize) {
        fill(plane(addr, pitch, value, 4, [width, height]), None)
    }

    fn cuMemsetD2D32Async(addr: u64, pitch: usize, value: c_uint, width: usize, height: usize, stream: u64) {
        fill(plane(addr, pitch, value, 4, [width, height]), Some(stream))
    }

    fn cuMemcpy2D_v2(what: *const Copy2D) {
        copy_2d(what, None)
    }

    fn cuMemcpy2DUnaligned_v2(what: *const Copy2D) {
        copy_2d(what, None)
    }

    fn cuMemcpy2DAsync_v2(what: *const Copy2D, stream: u64) {
        copy_2d(what, Some(stream))
    }

    fn cuMemcpy3D_v2(what: *const Copy3D) {
        copy_3d(what, None)
    }

    fn cuMemcpy3DAsync_v2(what: *const Copy3D, stream: u64) {
        copy_3d(what, Some(stream))
    }
}
