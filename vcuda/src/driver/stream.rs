//! Streams and stream capture.

use super::{api, on_stream, outcome, put, wanted, working};
use crate::error::{ERROR_INVALID_HANDLE, ERROR_INVALID_VALUE, ERROR_NOT_READY, SUCCESS};
use crate::runtime::{Stream, Work, enter, exchange_mode, poll, run_stream, submit};
use std::ffi::{c_int, c_uint, c_void};

fn create(to: *mut u64, flags: c_uint, priority: c_int) -> Result<(), u32> {
    let (mut s, cx) = working()?;
    if flags > 1 {
        return Err(ERROR_INVALID_VALUE);
    }
    wanted(to)?;
    let handle = s.handle();
    s.streams.insert(handle, Stream::new(cx, true, flags, priority.clamp(-5, 0)));
    put(to, handle)
}

fn capture_info(stream: u64, status: *mut c_int, id: *mut u64, graph: *mut u64) -> Result<(), u32> {
    let (s, _, stream) = on_stream(stream)?;
    s.can_ask_about_capture(stream)?;
    let capture = s.streams.get(&stream).and_then(|x| x.capture.as_ref());
    put(status, capture.map_or(0, |c| if c.invalid { 2 } else { 1 }))?;
    if !id.is_null() {
        put(id, capture.map_or(0, |c| c.id))?;
    }
    if !graph.is_null() {
        put(graph, capture.map_or(0, |c| c.id))?;
    }
    Ok(())
}

/// The callback type of `cuStreamAddCallback`, called with the stream, an error code and the user data.
pub type Callback = extern "C" fn(u64, u32, *mut c_void);

/// A callback with its arguments.
struct OldCall {
    function: Callback,
    stream: u64,
    data: usize,
}

extern "C" fn call_old(call: *mut c_void) {
    // SAFETY: the pointer comes from the box that `cuStreamAddCallback` leaked for this one call.
    let call = unsafe { Box::from_raw(call.cast::<OldCall>()) };
    (call.function)(call.stream, SUCCESS, call.data as *mut c_void);
}

api! {
    fn cuStreamCreate(stream: *mut u64, flags: c_uint) {
        create(stream, flags, 0)
    }

    fn cuStreamCreateWithPriority(stream: *mut u64, flags: c_uint, priority: c_int) {
        create(stream, flags, priority)
    }

    fn cuStreamDestroy_v2(stream: u64) {
        if stream <= 2 {
            return working().and(Err(ERROR_INVALID_HANDLE));
        }
        let (mut s, ..) = on_stream(stream)?;
        s.abandon_capture(stream);
        // Pending work still runs, when something waits for it.
        match s.streams.get_mut(&stream) {
            Some(x) if x.done < x.pushed => x.destroyed = true,
            _ => drop(s.streams.remove(&stream)),
        }
        Ok(())
    }

    fn cuStreamSynchronize(stream: u64) {
        let (mut s, context, stream) = on_stream(stream)?;
        s.not_capturing(stream)?;
        s.check_capture_mode()?;
        // Waiting for the legacy stream includes the streams that it waits for.
        let s = if s.is_legacy(stream) { submit(s, stream, Work::Nothing)? } else { s };
        let legacy = s.is_legacy(stream);
        let mut s = run_stream(s, stream);
        outcome(&mut s, context, (!legacy).then_some(stream))
    }

    fn cuStreamQuery(stream: u64) {
        let (mut s, cx, stream) = on_stream(stream)?;
        s.not_capturing(stream)?;
        s.check_capture_mode()?;
        let (done, pushed) = s.streams.get(&stream).map_or((0, 0), |x| (x.done, x.pushed));
        if done == pushed {
            let clock = s.reached(stream);
            s.host_waited(&clock);
            return outcome(&mut s, cx, Some(stream));
        }
        let mut s = poll(s, stream);
        outcome(&mut s, cx, Some(stream))?;
        Err(ERROR_NOT_READY)
    }

    fn cuStreamWaitEvent(stream: u64, event: u64, flags: c_uint) {
        let (mut s, _, stream) = on_stream(stream)?;
        if flags > 1 {
            return Err(ERROR_INVALID_VALUE);
        }
        let event = s.events.get(&event).cloned().ok_or(ERROR_INVALID_HANDLE)?;
        if let Some(captured) = event.captured {
            return s.join_capture(stream, captured);
        }
        let capturing = s.streams.get(&stream).is_some_and(|x| x.capture.is_some());
        if event.recorded.is_some() && !capturing {
            s.stream_waits_for(stream, &event.clock);
        }
        match event.recorded {
            Some(_) if capturing => {
                s.invalidate(stream);
                Err(crate::error::ERROR_STREAM_CAPTURE_ISOLATION)
            }
            Some((other, number)) if other != stream && s.streams.get(&other).is_some_and(|o| o.done < number) => submit(s, stream, Work::Wait { stream: other, number }).map(drop),
            _ => Ok(()),
        }
    }

    fn cuStreamGetCtx(stream: u64, context: *mut u64) {
        let (s, _, stream) = on_stream(stream)?;
        put(context, s.streams.get(&stream).map_or(0, |x| x.context))
    }

    fn cuStreamGetFlags(stream: u64, flags: *mut c_uint) {
        let (s, _, stream) = on_stream(stream)?;
        put(flags, s.streams.get(&stream).map_or(0, |x| x.flags))
    }

    fn cuStreamGetPriority(stream: u64, priority: *mut c_int) {
        let (s, _, stream) = on_stream(stream)?;
        put(priority, s.streams.get(&stream).map_or(0, |x| x.priority))
    }

    fn cuStreamGetId(stream: u64, id: *mut u64) {
        put(id, on_stream(stream)?.2)
    }

    fn cuLaunchHostFunc(stream: u64, function: *mut c_void, data: *mut c_void) {
        let (s, _, stream) = on_stream(stream)?;
        if function.is_null() {
            return Err(ERROR_INVALID_VALUE);
        }
        submit(s, stream, Work::Host { function: function as usize, data: data as usize }).map(drop)
    }

    // The predecessor of `cuLaunchHostFunc`.
    fn cuStreamAddCallback(stream: u64, function: Option<Callback>, data: *mut c_void, flags: c_uint) {
        let handle = stream;
        let (mut s, _, stream) = on_stream(stream)?;
        let function = function.filter(|_| flags == 0).ok_or(ERROR_INVALID_VALUE)?;
        s.not_capturing(stream)?;
        let call = Box::new(OldCall { function, stream: handle, data: data as usize });
        let data = Box::into_raw(call) as usize;
        submit(s, stream, Work::Host { function: call_old as *const () as usize, data }).map(drop)
    }

    fn cuStreamBeginCapture_v2(stream: u64, mode: c_uint) {
        let (mut s, _, stream) = on_stream(stream)?;
        s.begin_capture(stream, mode)
    }

    fn cuStreamEndCapture(stream: u64, graph: *mut u64) {
        let (mut s, _, stream) = on_stream(stream)?;
        wanted(graph)?;
        let made = s.end_capture(stream);
        put(graph, made.unwrap_or(0))?;
        made.map(drop)
    }

    fn cuStreamIsCapturing(stream: u64, status: *mut c_int) {
        capture_info(stream, status, std::ptr::null_mut(), std::ptr::null_mut())
    }

    fn cuStreamGetCaptureInfo_v2(stream: u64, status: *mut c_int, id: *mut u64, graph: *mut u64, dependencies: *mut *const u64, count: *mut usize) {
        capture_info(stream, status, id, graph)?;
        if !dependencies.is_null() {
            put(dependencies, std::ptr::null())?;
        }
        if count.is_null() { Ok(()) } else { put(count, 0) }
    }

    fn cuStreamGetCaptureInfo_v3(stream: u64, status: *mut c_int, id: *mut u64, graph: *mut u64, dependencies: *mut *const u64, edges: *mut *const c_void, count: *mut usize) {
        capture_info(stream, status, id, graph)?;
        if !dependencies.is_null() {
            put(dependencies, std::ptr::null())?;
        }
        if !edges.is_null() {
            put(edges, std::ptr::null())?;
        }
        if count.is_null() { Ok(()) } else { put(count, 0) }
    }

    fn cuThreadExchangeStreamCaptureMode(mode: *mut c_uint) {
        enter().ready()?;
        wanted(mode)?;
        // SAFETY: not null, and by the API's contract it points to a mode.
        let old = exchange_mode(unsafe { mode.read_unaligned() })?;
        put(mode, old)
    }
}
