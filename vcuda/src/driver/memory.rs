//! Allocation: device, stream-ordered, pinned and managed memory.

use super::{api, bad_call, healthy, outcome, put, wanted, working};
use crate::config;
use crate::error::{
    Code, ERROR_HOST_MEMORY_ALREADY_REGISTERED, ERROR_HOST_MEMORY_NOT_REGISTERED,
    ERROR_INVALID_HANDLE, ERROR_INVALID_VALUE, ERROR_NOT_FOUND, ERROR_NOT_SUPPORTED,
    ERROR_OUT_OF_MEMORY,
};
use crate::memory::{DATA, Owner, RAW};
use crate::runtime::{Guard, Work, enter, run_by_policy, run_context, run_devices, submit};
use crate::sanitizer::{describe, lock};
use std::ffi::{c_int, c_uint, c_void};

/// Runs pending frees if memory is short, as a real driver does.
fn make_room(mut s: Guard, cx: u64, pool: u64, size: usize) -> Result<Guard, Code> {
    let device = s.device_of(cx);
    if !s.freeing.is_empty() && !s.fits(device, pool, size as u64)? {
        s = run_devices(s, &[Some(device)]);
        healthy(&s, cx)?;
    }
    Ok(s)
}

/// Allocates on a device, within the limit of the settings. The memory is not accessible yet.
fn allocate(s: &mut Guard, device: usize, size: usize, owner: Owner) -> Result<u64, Code> {
    if size == 0 {
        return Err(ERROR_INVALID_VALUE);
    }
    if !s.fits(device, owner.pool, size as u64)? {
        return Err(ERROR_OUT_OF_MEMORY);
    }
    let region = s.region(device)?;
    lock(&region.heap).allocate(size as u64, owner).ok_or(ERROR_OUT_OF_MEMORY)
}

/// Allocates memory of the context's device that is accessible immediately.
fn allocate_now(size: usize, call: &'static str) -> Result<u64, Code> {
    let (mut s, cx) = working()?;
    s.check_capture_mode()?;
    let mut s = make_room(s, cx, 0, size)?;
    let device = s.device_of(cx);
    let at = allocate(&mut s, device, size, Owner { context: cx, call, pool: 0 })?;
    lock(&s.region(device)?.heap).open(at, RAW);
    Ok(at)
}

/// Allocates pinned or managed memory, which the host and every device can access.
fn allocate_host(size: usize, call: &'static str) -> Result<u64, Code> {
    let (mut s, cx) = working()?;
    s.check_capture_mode()?;
    if size == 0 {
        return Err(ERROR_INVALID_VALUE);
    }
    let region = s.host_region()?;
    let mut heap = lock(&region.heap);
    let owner = Owner { context: cx, call, pool: 0 };
    let addr = heap.allocate(size as u64, owner).ok_or(ERROR_OUT_OF_MEMORY)?;
    heap.open(addr, DATA);
    Ok(addr)
}

/// The kind of memory that an API function frees.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Freed {
    Device,
    Pinned,
    StreamOrdered,
}

/// Fails unless an address is the start of an allocation of the kind that the function frees.
fn check_free(s: &Guard, addr: u64, how: Freed) -> Result<(), Code> {
    let block = s.block(addr).filter(|b| b.addr == addr && b.owner != Owner::MODULE);
    let host = matches!(s.region_of(addr), Some((None, _)));
    let why = match &block {
        Some(_) if s.freeing.contains(&addr) => "whose free is already under way".into(),
        Some(b) if host && !b.owner.managed() && how != Freed::Pinned => {
            "which is pinned host memory".into()
        }
        Some(b) if host && b.owner.managed() && how != Freed::Device => {
            "which is managed memory".into()
        }
        Some(_) if !host && how == Freed::Pinned => "which is device memory".into(),
        Some(_) => return Ok(()),
        None => s.region_of(addr).map_or("which is not memory of this driver".into(), |(_, r)| {
            describe(&lock(&r.heap).neighbour(addr))
        }),
    };
    bad_call(ERROR_INVALID_VALUE, format!("free of {addr:#x}, {why}"));
    Err(ERROR_INVALID_VALUE)
}

fn release(addr: u64, how: Freed) -> Result<(), Code> {
    let (mut s, cx) = working()?;
    if addr == 0 {
        return Ok(());
    }
    s.check_capture_mode()?;
    // A synchronous free waits for all work of the context, as in a real driver.
    let mut s = run_context(s, cx);
    outcome(&mut s, cx, None)?;
    check_free(&s, addr, how)?;
    s.free_now(addr);
    Ok(())
}

/// Fails unless a range is managed memory.
fn check_managed(s: &Guard, addr: u64, len: usize) -> Result<(), Code> {
    s.check_range(addr, len as u64)?;
    s.block(addr).filter(|b| len > 0 && b.owner.managed()).map(drop).ok_or(ERROR_INVALID_VALUE)
}

/// Returns the value of a pointer attribute and its size in bytes, or `None` if there is no such attribute.
fn attribute(s: &Guard, which: c_int, addr: u64) -> Result<Option<(u64, usize)>, Code> {
    let (device, _) = s.region_of(addr).ok_or(ERROR_INVALID_VALUE)?;
    let block = s.block(addr).ok_or(ERROR_INVALID_VALUE)?;
    Ok(Some(match which {
        1 => (block.owner.context, 8),
        2 => (if device.is_some() { 2 } else { 1 }, 4),
        3 | 4 => (addr, 8),
        6 => (0, 4),
        7 => (block.serial, 8),
        8 => (block.owner.managed().into(), 4),
        9 => (device.unwrap_or_else(|| s.device_of(block.owner.context)) as u64, 4),
        11 => (block.addr, 8),
        12 => (block.size, 8),
        13 => (1, 4),
        17 => (block.owner.pool, 8),
        _ => return Ok(None),
    }))
}

fn put_attribute(to: *mut c_void, (value, bytes): (u64, usize)) -> Result<(), Code> {
    if bytes == 4 { put(to.cast(), value as u32) } else { put(to.cast(), value) }
}

/// Makes a stream-ordered allocation from a pool.
pub(super) fn allocate_async(
    to: *mut u64,
    size: usize,
    pool: Option<u64>,
    stream: u64,
    call: &'static str,
) -> Result<(), Code> {
    let (mut s, cx) = working()?;
    if !config::with(|c| c.pools) {
        return Err(ERROR_NOT_SUPPORTED);
    }
    wanted(to)?;
    let stream = s.stream(cx, stream)?;
    if size == 0 {
        // Unlike `cuMemAlloc`, this succeeds; there is nothing to free.
        return put(to, 0);
    }
    // The memory belongs to the stream's device, whichever context is current.
    let cx = s.streams.get(&stream).map_or(cx, |x| x.context);
    let pool = pool.unwrap_or(s.devices[s.device_of(cx)].current_pool);
    let mut s = make_room(s, cx, pool, size)?;
    let device = s.pools.get(&pool).ok_or(ERROR_INVALID_VALUE)?.device;
    let addr = allocate(&mut s, device, size, Owner { context: cx, call, pool })?;
    if let Some(pool) = s.pools.get_mut(&pool) {
        pool.used += size as u64;
        pool.reserved = pool.reserved.max(pool.used);
        pool.high = pool.high.max(pool.used);
    }
    let serial = s.block(addr).map_or(0, |b| b.serial);
    match s.push(stream, Work::Open { addr, serial }) {
        Ok(()) => drop(run_by_policy(s, stream)),
        Err(code) => {
            s.free_now(addr);
            return Err(code);
        }
    }
    put(to, addr)
}

fn prefetch(addr: u64, len: usize, device: Option<c_int>, stream: u64) -> Result<(), Code> {
    let (mut s, cx) = working()?;
    let stream = s.stream(cx, stream)?;
    check_managed(&s, addr, len)?;
    if let Some(device) = device {
        s.device(device)?;
    }
    submit(s, stream, Work::Nothing).map(drop)
}

api! {
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
        let (mut s, cx) = working()?;
        wanted(free)?;
        wanted(total)?;
        let region = s.region_for(cx)?;
        let memory = config::with(|c| c.memory);
        let taken = lock(&region.heap).used() + s.kept(s.device_of(cx), 0);
        put(free, memory.saturating_sub(taken) as usize)?;
        put(total, memory as usize)
    }

    fn cuMemAlloc_v2(addr: *mut u64, size: usize) {
        drop(working()?);
        wanted(addr)?;
        put(addr, allocate_now(size, "cuMemAlloc")?)
    }

    fn cuMemAllocPitch_v2(addr: *mut u64, pitch: *mut usize, width: usize, height: usize, element: c_uint) {
        drop(working()?);
        wanted(addr)?;
        wanted(pitch)?;
        if !matches!(element, 4 | 8 | 16) {
            return Err(ERROR_INVALID_VALUE);
        }
        let row = width.checked_next_multiple_of(512).ok_or(ERROR_INVALID_VALUE)?;
        let size = row.checked_mul(height).ok_or(ERROR_OUT_OF_MEMORY)?;
        put(addr, allocate_now(size, "cuMemAllocPitch")?)?;
        put(pitch, row)
    }

    fn cuMemFree_v2(addr: u64) {
        release(addr, Freed::Device)
    }

    fn cuMemAllocAsync(addr: *mut u64, size: usize, stream: u64) {
        allocate_async(addr, size, None, stream, "cuMemAllocAsync")
    }

    fn cuMemFreeAsync(addr: u64, stream: u64) {
        let (mut s, cx) = working()?;
        let stream = s.stream(cx, stream)?;
        if addr == 0 {
            return Ok(());
        }
        check_free(&s, addr, Freed::StreamOrdered)?;
        let serial = s.block(addr).map_or(0, |b| b.serial);
        let capturing = s.streams.get(&stream).is_some_and(|x| x.capture.is_some());
        if capturing || s.is_of_a_graph((addr, serial)) {
            return submit(s, stream, Work::Close { addr, serial }).map(drop);
        }
        s.push(stream, Work::Free { addr })?;
        // Remember the pending free: a second free of the allocation must fail at the call.
        s.freeing.insert(addr);
        drop(run_by_policy(s, stream));
        Ok(())
    }

    fn cuMemAllocManaged(addr: *mut u64, size: usize, flags: c_uint) {
        drop(working()?);
        wanted(addr)?;
        if !matches!(flags, 1 | 2) {
            return Err(ERROR_INVALID_VALUE);
        }
        put(addr, allocate_host(size, "cuMemAllocManaged")?)
    }

    fn cuMemHostAlloc(to: *mut *mut c_void, size: usize, flags: c_uint) {
        drop(working()?);
        wanted(to)?;
        if flags > 7 {
            return Err(ERROR_INVALID_VALUE);
        }
        put(to, allocate_host(size, "cuMemHostAlloc")? as *mut c_void)
    }

    fn cuMemAllocHost_v2(to: *mut *mut c_void, size: usize) {
        drop(working()?);
        wanted(to)?;
        put(to, allocate_host(size, "cuMemAllocHost")? as *mut c_void)
    }

    fn cuMemFreeHost(at: *mut c_void) {
        release(at as u64, Freed::Pinned)
    }

    fn cuMemHostGetDevicePointer_v2(to: *mut u64, at: *mut c_void, _flags: c_uint) {
        let (s, _) = working()?;
        let at = at as u64;
        let known = matches!(s.region_of(at), Some((None, _))) && s.block(at).is_some() || s.registered.iter().any(|r| (r.0..r.1).contains(&at));
        if known { put(to, at) } else { Err(ERROR_INVALID_VALUE) }
    }

    fn cuMemHostGetFlags(flags: *mut c_uint, at: *mut c_void) {
        let (s, _) = working()?;
        if matches!(s.region_of(at as u64), Some((None, _))) { put(flags, 3) } else { Err(ERROR_INVALID_VALUE) }
    }

    fn cuMemHostRegister_v2(at: *mut c_void, size: usize, flags: c_uint) {
        let (mut s, cx) = working()?;
        s.check_capture_mode()?;
        let start = at as u64;
        let end = start.checked_add(size as u64).ok_or(ERROR_INVALID_VALUE)?;
        if at.is_null() || size == 0 || flags > 15 {
            return Err(ERROR_INVALID_VALUE);
        }
        if s.region_of(start).is_some() || s.registered.iter().any(|r| start < r.1 && r.0 < end) {
            return Err(ERROR_HOST_MEMORY_ALREADY_REGISTERED);
        }
        s.registered.push((start, end, cx));
        Ok(())
    }

    fn cuMemHostUnregister(at: *mut c_void) {
        let (mut s, cx) = working()?;
        s.check_capture_mode()?;
        let mut s = run_context(s, cx);
        let before = s.registered.len();
        s.registered.retain(|r| r.0 != at as u64);
        if s.registered.len() < before { Ok(()) } else { Err(ERROR_HOST_MEMORY_NOT_REGISTERED) }
    }

    fn cuMemGetAddressRange_v2(base: *mut u64, size: *mut usize, addr: u64) {
        let (s, _) = working()?;
        let block = s.block(addr).ok_or(ERROR_NOT_FOUND)?;
        if !base.is_null() {
            put(base, block.addr)?;
        }
        if size.is_null() { Ok(()) } else { put(size, block.size as usize) }
    }

    fn cuPointerGetAttribute(data: *mut c_void, which: c_int, addr: u64) {
        let s = enter();
        s.ready()?;
        put_attribute(data, attribute(&s, which, addr)?.ok_or(ERROR_INVALID_VALUE)?)
    }

    // For memory unknown to the driver, this function returns zero for every attribute.
    fn cuPointerGetAttributes(count: c_uint, which: *mut c_int, data: *mut *mut c_void, addr: u64) {
        let s = enter();
        s.ready()?;
        wanted(which)?;
        wanted(data)?;
        for k in 0..count as usize {
            // SAFETY: by the API's contract both arrays have `count` entries.
            let (which, to) = unsafe { (which.add(k).read_unaligned(), data.add(k).read_unaligned()) };
            let known = attribute(&s, which, addr).unwrap_or(Some((0, if matches!(which, 2 | 6 | 8 | 9 | 13) { 4 } else { 8 })));
            put_attribute(to, known.ok_or(ERROR_INVALID_VALUE)?)?;
        }
        Ok(())
    }

    fn cuMemAdvise(addr: u64, len: usize, _advice: c_int, _device: c_int) {
        let (s, _) = working()?;
        check_managed(&s, addr, len)
    }

    fn cuMemAdvise_v2(addr: u64, len: usize, _advice: c_int, _location: u64) {
        let (s, _) = working()?;
        check_managed(&s, addr, len)
    }

    fn cuMemPrefetchAsync(addr: u64, len: usize, device: c_int, stream: u64) {
        // −1 is `CU_DEVICE_CPU`.
        prefetch(addr, len, if device == -1 { None } else { Some(device) }, stream)
    }

    fn cuMemPrefetchAsync_v2(addr: u64, len: usize, location: u64, flags: c_uint, stream: u64) {
        if flags != 0 {
            return Err(ERROR_INVALID_VALUE);
        }
        // `CUmemLocation` passed by value: the type in the lower half (1 is a device), the ordinal in the upper half.
        let device = (location as u32 == 1).then_some((location >> 32) as c_int);
        prefetch(addr, len, device, stream)
    }

    fn cuStreamAttachMemAsync(stream: u64, addr: u64, len: usize, flags: c_uint) {
        let (mut s, cx) = working()?;
        let stream = s.stream(cx, stream)?;
        let block = s.block(addr).filter(|b| b.addr == addr && b.owner.managed()).ok_or(ERROR_INVALID_VALUE)?;
        if len != 0 && len as u64 != block.size || !matches!(flags, 1 | 2 | 4) {
            return Err(ERROR_INVALID_VALUE);
        }
        submit(s, stream, Work::Nothing).map(drop)
    }

    fn cuImportExternalMemory(_memory: *mut u64, _from: *const c_void) {
        working().and(Err(ERROR_NOT_SUPPORTED))
    }

    fn cuExternalMemoryGetMappedBuffer(_addr: *mut u64, _memory: u64, _what: *const c_void) {
        working().and(Err(ERROR_NOT_SUPPORTED))
    }

    fn cuDestroyExternalMemory(_memory: u64) {
        working().and(Err(ERROR_INVALID_HANDLE))
    }
}
