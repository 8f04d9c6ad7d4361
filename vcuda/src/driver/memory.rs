//! Allocation: device, stream-ordered, pinned and managed memory.

use super::{api, bad_call, outcome, put, working};
use crate::config;
use crate::error::{
    Code, ERROR_HOST_MEMORY_ALREADY_REGISTERED, ERROR_HOST_MEMORY_NOT_REGISTERED,
    ERROR_INVALID_VALUE, ERROR_NOT_SUPPORTED, ERROR_OUT_OF_MEMORY,
};
use crate::memory::{DATA, Owner, RAW};
use crate::runtime::{Guard, Work, enter, run_context, submit};
use crate::sanitizer::{describe, lock};
use std::ffi::{c_int, c_uint, c_void};

/// Whether an allocation of this size stays within the limit of the settings.
fn fits(s: &mut Guard, cx: u64, size: usize) -> Result<bool, Code> {
    let region = s.region_for(cx)?;
    let used = lock(&region.heap).used();
    Ok(used.saturating_add(size as u64) <= config::with(|c| c.memory))
}

/// Lets frees under way happen when memory is short, as the driver does.
fn make_room(mut s: Guard, cx: u64, size: usize) -> Result<Guard, Code> {
    if !s.freeing.is_empty() && !fits(&mut s, cx, size)? {
        s = run_context(s, cx);
        outcome(&s, cx)?;
    }
    Ok(s)
}

/// Finds room on the context's device, within the limit of the settings.
fn allocate(s: &mut Guard, cx: u64, size: usize, call: &'static str) -> Result<u64, Code> {
    if size == 0 {
        return Err(ERROR_INVALID_VALUE);
    }
    if !fits(s, cx, size)? {
        return Err(ERROR_OUT_OF_MEMORY);
    }
    let region = s.region_for(cx)?;
    lock(&region.heap).allocate(size as u64, Owner { context: cx, call }).ok_or(ERROR_OUT_OF_MEMORY)
}

/// Pinned or managed memory: in reach of the host and of every device.
fn allocate_host(s: &mut Guard, cx: u64, size: usize, call: &'static str) -> Result<u64, Code> {
    if size == 0 {
        return Err(ERROR_INVALID_VALUE);
    }
    let region = s.host_region()?;
    let mut heap = lock(&region.heap);
    let addr =
        heap.allocate(size as u64, Owner { context: cx, call }).ok_or(ERROR_OUT_OF_MEMORY)?;
    heap.open(addr, DATA);
    Ok(addr)
}

fn release(s: Guard, cx: u64, addr: u64, host: bool) -> Result<(), Code> {
    if addr == 0 {
        return Ok(());
    }
    let mut s = s;
    s.no_capture_in(cx)?;
    // Freeing waits for everything, as the driver does.
    let s = run_context(s, cx);
    outcome(&s, cx)?;
    let region = s.region_of(addr);
    let is_host = matches!(&region, Some((None, _)));
    match region {
        Some((_, region)) if !host || is_host => {
            let mut heap = lock(&region.heap);
            if heap.free(addr).is_some() {
                return Ok(());
            }
            bad_call(
                ERROR_INVALID_VALUE,
                format!("free of {addr:#x}, {}", describe(&heap.neighbour(addr))),
            );
        }
        _ => bad_call(
            ERROR_INVALID_VALUE,
            format!("free of {addr:#x}, which is not memory of this driver"),
        ),
    }
    Err(ERROR_INVALID_VALUE)
}

/// A stream-ordered allocation from a pool.
pub(super) fn allocate_async(
    to: *mut u64,
    size: usize,
    pool: Option<u64>,
    stream: u64,
    call: &'static str,
) -> Result<(), Code> {
    let (s, cx) = working()?;
    if !config::with(|c| c.pools) {
        return Err(ERROR_NOT_SUPPORTED);
    }
    let stream = s.stream(cx, stream)?;
    let pool = pool.unwrap_or(s.devices[s.device_of(cx)].current_pool);
    if !s.pools.contains_key(&pool) {
        return Err(ERROR_INVALID_VALUE);
    }
    let mut s = make_room(s, cx, size)?;
    let addr = allocate(&mut s, cx, size, call)?;
    if let Some(pool) = s.pools.get_mut(&pool) {
        pool.used += size as u64;
        pool.high = pool.high.max(pool.used);
    }
    let s = submit(s, stream, Work::Open { addr })?;
    drop(s);
    put(to, addr)
}

api! {
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
        let (mut s, cx) = working()?;
        let region = s.region_for(cx)?;
        let memory = config::with(|c| c.memory);
        put(free, memory.saturating_sub(lock(&region.heap).used()) as usize)?;
        put(total, memory as usize)
    }

    fn cuMemAlloc_v2(addr: *mut u64, size: usize) {
        let (mut s, cx) = working()?;
        s.no_capture_in(cx)?;
        let mut s = make_room(s, cx, size)?;
        let at = allocate(&mut s, cx, size, "cuMemAlloc")?;
        let region = s.region_for(cx)?;
        lock(&region.heap).open(at, RAW);
        put(addr, at)
    }

    fn cuMemAllocPitch_v2(addr: *mut u64, pitch: *mut usize, width: usize, height: usize, _element: c_uint) {
        let (mut s, cx) = working()?;
        s.no_capture_in(cx)?;
        let row = width.next_multiple_of(512);
        let at = allocate(&mut s, cx, row.checked_mul(height).ok_or(ERROR_OUT_OF_MEMORY)?, "cuMemAllocPitch")?;
        let region = s.region_for(cx)?;
        lock(&region.heap).open(at, RAW);
        put(pitch, row)?;
        put(addr, at)
    }

    fn cuMemFree_v2(addr: u64) {
        let (s, cx) = working()?;
        release(s, cx, addr, false)
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
        let found = s.region_of(addr).and_then(|(_, r)| lock(&r.heap).covering(addr, 1).filter(|b| b.addr == addr).map(|b| b.size));
        if found.is_none() {
            let near = s.region_of(addr).map_or("not memory of this driver".into(), |(_, r)| describe(&lock(&r.heap).neighbour(addr)));
            bad_call(ERROR_INVALID_VALUE, format!("free of {addr:#x}, {near}"));
            return Err(ERROR_INVALID_VALUE);
        }
        let pool = s.devices[s.device_of(cx)].current_pool;
        let capturing = s.streams.get(&stream).is_some_and(|x| x.capture.is_some());
        let work = if capturing { Work::Close { addr } } else { Work::Free { addr, pool } };
        // Two frees of one allocation may both be waiting; the second must fail at its call.
        if !capturing && !s.freeing.insert(addr) {
            bad_call(ERROR_INVALID_VALUE, format!("free of {addr:#x}, whose free is already under way"));
            return Err(ERROR_INVALID_VALUE);
        }
        match submit(s, stream, work) {
            Ok(_) => Ok(()),
            Err(code) => {
                enter().freeing.remove(&addr);
                Err(code)
            }
        }
    }

    fn cuMemAllocManaged(addr: *mut u64, size: usize, flags: c_uint) {
        let (mut s, cx) = working()?;
        if !matches!(flags, 1 | 2) {
            return Err(ERROR_INVALID_VALUE);
        }
        let at = allocate_host(&mut s, cx, size, "cuMemAllocManaged")?;
        put(addr, at)
    }

    fn cuMemHostAlloc(to: *mut *mut c_void, size: usize, _flags: c_uint) {
        let (mut s, cx) = working()?;
        let at = allocate_host(&mut s, cx, size, "cuMemHostAlloc")?;
        put(to, at as *mut c_void)
    }

    fn cuMemAllocHost_v2(to: *mut *mut c_void, size: usize) {
        let (mut s, cx) = working()?;
        let at = allocate_host(&mut s, cx, size, "cuMemAllocHost")?;
        put(to, at as *mut c_void)
    }

    fn cuMemFreeHost(at: *mut c_void) {
        let (s, cx) = working()?;
        release(s, cx, at as u64, true)
    }

    fn cuMemHostGetDevicePointer_v2(to: *mut u64, at: *mut c_void, _flags: c_uint) {
        let (s, _) = working()?;
        let at = at as u64;
        let known = matches!(s.region_of(at), Some((None, _))) || s.registered.iter().any(|r| (r.0..r.1).contains(&at));
        if known { put(to, at) } else { Err(ERROR_INVALID_VALUE) }
    }

    fn cuMemHostGetFlags(flags: *mut c_uint, at: *mut c_void) {
        let (s, _) = working()?;
        if matches!(s.region_of(at as u64), Some((None, _))) { put(flags, 3) } else { Err(ERROR_INVALID_VALUE) }
    }

    fn cuMemHostRegister_v2(at: *mut c_void, size: usize, _flags: c_uint) {
        let (mut s, cx) = working()?;
        let (start, end) = (at as u64, at as u64 + size as u64);
        if at.is_null() || size == 0 {
            return Err(ERROR_INVALID_VALUE);
        }
        if s.registered.iter().any(|r| start < r.1 && r.0 < end) {
            return Err(ERROR_HOST_MEMORY_ALREADY_REGISTERED);
        }
        s.registered.push((start, end, cx));
        Ok(())
    }

    fn cuMemHostUnregister(at: *mut c_void) {
        let (s, cx) = working()?;
        let mut s = run_context(s, cx);
        let before = s.registered.len();
        s.registered.retain(|r| r.0 != at as u64);
        if s.registered.len() < before { Ok(()) } else { Err(ERROR_HOST_MEMORY_NOT_REGISTERED) }
    }

    fn cuMemGetAddressRange_v2(base: *mut u64, size: *mut usize, addr: u64) {
        let (s, _) = working()?;
        let (_, region) = s.region_of(addr).ok_or(crate::error::ERROR_NOT_FOUND)?;
        let block = lock(&region.heap).covering(addr, 1).cloned().ok_or(crate::error::ERROR_NOT_FOUND)?;
        if !base.is_null() {
            put(base, block.addr)?;
        }
        if size.is_null() { Ok(()) } else { put(size, block.size as usize) }
    }

    fn cuPointerGetAttribute(data: *mut c_void, which: c_int, addr: u64) {
        let s = enter();
        s.ready()?;
        let (device, region) = s.region_of(addr).ok_or(ERROR_INVALID_VALUE)?;
        let block = lock(&region.heap).covering(addr, 1).cloned().ok_or(ERROR_INVALID_VALUE)?;
        match which {
            1 => put(data.cast(), block.owner.context),
            2 => put(data.cast(), if device.is_some() { 2u32 } else { 1 }),
            3 | 4 => put(data.cast(), addr),
            7 => put(data.cast(), block.serial),
            8 => put(data.cast(), c_int::from(block.owner.call == "cuMemAllocManaged")),
            9 => put(data.cast(), device.unwrap_or(0) as c_int),
            11 => put(data.cast(), block.addr),
            12 => put(data.cast(), block.size as usize),
            13 => put(data.cast(), 1 as c_int),
            _ => Err(ERROR_INVALID_VALUE),
        }
    }

    fn cuMemAdvise_v2(addr: u64, len: usize, _advice: c_int, _location: u64) {
        let (s, _) = working()?;
        s.check_range(addr, len as u64)
    }

    fn cuMemPrefetchAsync_v2(addr: u64, len: usize, _location: u64, _flags: c_uint, stream: u64) {
        let (s, cx) = working()?;
        s.check_range(addr, len as u64)?;
        let stream = s.stream(cx, stream)?;
        submit(s, stream, Work::Nothing).map(drop)
    }

    fn cuStreamAttachMemAsync(stream: u64, addr: u64, len: usize, _flags: c_uint) {
        let (s, cx) = working()?;
        s.check_range(addr, len as u64)?;
        let stream = s.stream(cx, stream)?;
        submit(s, stream, Work::Nothing).map(drop)
    }
}
