//! Context management, including primary contexts.

use super::{api, outcome, put, wanted, working};
use crate::error::{
    ERROR_INVALID_CONTEXT, ERROR_INVALID_DEVICE, ERROR_INVALID_VALUE,
    ERROR_PEER_ACCESS_ALREADY_ENABLED, ERROR_PEER_ACCESS_NOT_ENABLED,
    ERROR_PEER_ACCESS_UNSUPPORTED, ERROR_UNSUPPORTED_LIMIT,
};
use crate::runtime::{
    current, destroy_context, enter, release_primary, reset_primary, run_context, set_stack, stack,
};
use std::ffi::{c_int, c_uint, c_void};

fn ordinal(device: c_int) -> Result<usize, u32> {
    usize::try_from(device).map_err(|_| ERROR_INVALID_DEVICE)
}

/// Fails for unknown flags and for more than one scheduling flag.
fn check_flags(flags: c_uint) -> Result<(), u32> {
    let scheduling = flags & 7;
    if flags > 0xff || !matches!(scheduling, 0 | 1 | 2 | 4) {
        return Err(ERROR_INVALID_VALUE);
    }
    Ok(())
}

fn create(to: *mut u64, flags: c_uint, device: c_int) -> Result<(), u32> {
    let mut s = enter();
    s.device(device)?;
    wanted(to)?;
    check_flags(flags)?;
    let cx = s.create_context(ordinal(device)?, false)?;
    s.contexts.entry(cx).and_modify(|c| c.flags = flags);
    let mut contexts = stack();
    contexts.push(cx);
    set_stack(contexts);
    put(to, cx)
}

api! {
    fn cuDevicePrimaryCtxRetain(context: *mut u64, device: c_int) {
        let mut s = enter();
        s.device(device)?;
        wanted(context)?;
        let cx = s.retain_primary(ordinal(device)?)?;
        put(context, cx)
    }

    fn cuDevicePrimaryCtxRelease_v2(device: c_int) {
        let mut s = enter();
        s.device(device)?;
        release_primary(s, ordinal(device)?).map(drop)
    }

    fn cuDevicePrimaryCtxReset_v2(device: c_int) {
        let mut s = enter();
        s.device(device)?;
        reset_primary(s, ordinal(device)?).map(drop)
    }

    fn cuDevicePrimaryCtxSetFlags_v2(device: c_int, flags: c_uint) {
        let mut s = enter();
        let primary = s.device(device)?.primary;
        check_flags(flags)?;
        s.device(device)?.flags = flags;
        s.contexts.entry(primary).and_modify(|c| c.flags = flags);
        Ok(())
    }

    fn cuDevicePrimaryCtxGetState(device: c_int, flags: *mut c_uint, active: *mut c_int) {
        let mut s = enter();
        let found = s.device(device)?;
        let (on, set) = (found.primary_refs > 0, found.flags);
        wanted(flags)?;
        wanted(active)?;
        put(flags, set)?;
        put(active, c_int::from(on))
    }

    fn cuCtxCreate_v2(context: *mut u64, flags: c_uint, device: c_int) {
        create(context, flags, device)
    }

    fn cuCtxCreate_v3(context: *mut u64, _params: *mut c_void, _count: c_int, flags: c_uint, device: c_int) {
        create(context, flags, device)
    }

    fn cuCtxCreate_v4(context: *mut u64, _params: *mut c_void, flags: c_uint, device: c_int) {
        create(context, flags, device)
    }

    fn cuCtxDestroy_v2(context: u64) {
        let s = enter();
        s.ready()?;
        if s.contexts.get(&context).is_none_or(|c| c.primary) {
            return Err(ERROR_INVALID_CONTEXT);
        }
        drop(destroy_context(s, context));
        let mut contexts = stack();
        contexts.pop_if(|last| *last == context);
        set_stack(contexts);
        Ok(())
    }

    fn cuCtxGetCurrent(context: *mut u64) {
        enter().ready()?;
        put(context, current())
    }

    fn cuCtxSetCurrent(context: u64) {
        let s = enter();
        s.ready()?;
        if context != 0 && !s.contexts.contains_key(&context) {
            return Err(ERROR_INVALID_CONTEXT);
        }
        let mut contexts = stack();
        contexts.pop();
        if context != 0 {
            contexts.push(context);
        }
        set_stack(contexts);
        Ok(())
    }

    fn cuCtxPushCurrent_v2(context: u64) {
        let s = enter();
        s.ready()?;
        if !s.contexts.contains_key(&context) {
            return Err(ERROR_INVALID_CONTEXT);
        }
        let mut contexts = stack();
        contexts.push(context);
        set_stack(contexts);
        Ok(())
    }

    fn cuCtxPopCurrent_v2(context: *mut u64) {
        enter().ready()?;
        let mut contexts = stack();
        let old = contexts.pop().ok_or(ERROR_INVALID_CONTEXT)?;
        set_stack(contexts);
        if context.is_null() { Ok(()) } else { put(context, old) }
    }

    fn cuCtxGetDevice(device: *mut c_int) {
        let s = enter();
        // The device of a context can be queried even after the context has failed.
        let cx = if s.contexts.contains_key(&current()) { current() } else { s.context()? };
        put(device, s.device_of(cx) as c_int)
    }

    fn cuCtxSynchronize() {
        let (mut s, cx) = working()?;
        s.check_capture_mode()?;
        s.no_capture_in(cx)?;
        let mut s = run_context(s, cx);
        outcome(&mut s, cx, None)
    }

    fn cuCtxGetFlags(flags: *mut c_uint) {
        let (s, cx) = working()?;
        put(flags, s.contexts.get(&cx).map_or(0, |c| c.flags))
    }

    fn cuCtxSetFlags(flags: c_uint) {
        let (mut s, cx) = working()?;
        check_flags(flags)?;
        s.contexts.entry(cx).and_modify(|c| c.flags = flags);
        Ok(())
    }

    fn cuCtxGetId(context: u64, id: *mut u64) {
        let (s, cx) = working()?;
        let context = if context == 0 { cx } else { context };
        if s.contexts.contains_key(&context) { put(id, context) } else { Err(ERROR_INVALID_CONTEXT) }
    }

    fn cuCtxGetApiVersion(context: u64, version: *mut c_uint) {
        let (s, _) = working()?;
        if context != 0 && !s.contexts.contains_key(&context) {
            return Err(ERROR_INVALID_CONTEXT);
        }
        put(version, 3020)
    }

    fn cuCtxGetLimit(value: *mut usize, limit: c_int) {
        let (s, cx) = working()?;
        let standard = match limit {
            0 => 1024,
            1 => 1 << 20,
            2 => 8 << 20,
            3..=6 => 0,
            _ => return Err(ERROR_UNSUPPORTED_LIMIT),
        };
        put(value, s.contexts.get(&cx).and_then(|c| c.limits.get(&limit)).copied().unwrap_or(standard))
    }

    fn cuCtxSetLimit(limit: c_int, value: usize) {
        let (mut s, cx) = working()?;
        if !(0..=6).contains(&limit) {
            return Err(ERROR_UNSUPPORTED_LIMIT);
        }
        if let Some(context) = s.contexts.get_mut(&cx) {
            context.limits.insert(limit, value);
        }
        Ok(())
    }

    fn cuCtxGetCacheConfig(value: *mut c_int) {
        drop(working()?);
        put(value, 0)
    }

    fn cuCtxSetCacheConfig(_value: c_int) {
        working().map(drop)
    }

    fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) {
        drop(working()?);
        if !least.is_null() {
            put(least, 0)?;
        }
        if !greatest.is_null() {
            put(greatest, -5)?;
        }
        Ok(())
    }

    fn cuCtxEnablePeerAccess(peer: u64, flags: c_uint) {
        let (mut s, cx) = working()?;
        if flags != 0 {
            return Err(ERROR_INVALID_VALUE);
        }
        let device = s.contexts.get(&peer).filter(|_| peer != cx).ok_or(ERROR_INVALID_CONTEXT)?.device;
        if device == s.device_of(cx) {
            return Err(ERROR_PEER_ACCESS_UNSUPPORTED);
        }
        let added = s.contexts.get_mut(&cx).is_some_and(|c| c.peers.insert(device));
        if added { Ok(()) } else { Err(ERROR_PEER_ACCESS_ALREADY_ENABLED) }
    }

    fn cuCtxDisablePeerAccess(peer: u64) {
        let (mut s, cx) = working()?;
        let device = s.contexts.get(&peer).ok_or(ERROR_INVALID_CONTEXT)?.device;
        let removed = s.contexts.get_mut(&cx).is_some_and(|c| c.peers.remove(&device));
        if removed { Ok(()) } else { Err(ERROR_PEER_ACCESS_NOT_ENABLED) }
    }
}
