//! Events.

use super::{api, on_stream, outcome, put, wanted, with_event, working};
use crate::error::{
    Code, ERROR_CAPTURED_EVENT, ERROR_INVALID_HANDLE, ERROR_INVALID_VALUE, ERROR_NOT_READY,
};
use crate::runtime::{Event, Guard, Work, poll, run_by_policy, run_until};
use std::ffi::c_uint;

fn find(s: &Guard, event: u64) -> Result<&Event, Code> {
    let event = s.events.get(&event).ok_or(ERROR_INVALID_HANDLE)?;
    if event.captured.is_some() { Err(ERROR_CAPTURED_EVENT) } else { Ok(event) }
}

fn done(s: &Guard, event: &Event) -> bool {
    event
        .recorded
        .is_none_or(|(stream, number)| s.streams.get(&stream).is_none_or(|x| x.done >= number))
}

fn record(event: u64, stream: u64) -> Result<(), Code> {
    let (mut s, _, stream) = on_stream(stream)?;
    let context = s.events.get(&event).ok_or(ERROR_INVALID_HANDLE)?.context;
    if s.streams.get(&stream).is_none_or(|x| x.context != context) {
        return Err(ERROR_INVALID_HANDLE);
    }
    let capture =
        s.streams.get(&stream).and_then(|x| x.capture.as_ref()).map(|c| (c.id, stream, c.count));
    if capture.is_some() {
        if let Some(e) = s.events.get_mut(&event) {
            e.captured = capture;
        }
        return Ok(());
    }
    s.push(stream, Work::Record { event })?;
    let number = s.streams.get(&stream).map_or(0, |x| x.pushed);
    let clock = s.reached(stream);
    if let Some(e) = s.events.get_mut(&event) {
        e.captured = None;
        e.recorded = Some((stream, number));
        e.clock = clock;
        e.at = None;
    }
    drop(run_by_policy(s, stream));
    Ok(())
}

fn elapsed(ms: *mut f32, start: u64, end: u64) -> Result<(), Code> {
    let (s, _) = with_event(start)?;
    wanted(ms)?;
    let (a, b) = (find(&s, start)?, find(&s, end)?);
    let timed = |e: &Event| e.flags & 2 == 0 && e.recorded.is_some();
    if !timed(a) || !timed(b) || a.context != b.context {
        return Err(ERROR_INVALID_HANDLE);
    }
    if !done(&s, a) || !done(&s, b) {
        return Err(ERROR_NOT_READY);
    }
    let (Some(a), Some(b)) = (a.at, b.at) else { return put(ms, 0.0) };
    let span = if b >= a { (b - a).as_secs_f32() } else { -(a - b).as_secs_f32() };
    put(ms, span * 1e3)
}

api! {
    fn cuEventCreate(event: *mut u64, flags: c_uint) {
        let (mut s, cx) = working()?;
        // An interprocess event must have timing disabled.
        if flags > 7 || flags & 6 == 4 {
            return Err(ERROR_INVALID_VALUE);
        }
        wanted(event)?;
        let handle = s.handle();
        s.events.insert(handle, Event { context: cx, flags, ..Event::default() });
        put(event, handle)
    }

    fn cuEventDestroy_v2(event: u64) {
        let (mut s, _) = with_event(event)?;
        s.events.remove(&event).map(drop).ok_or(ERROR_INVALID_HANDLE)
    }

    fn cuEventRecord(event: u64, stream: u64) {
        record(event, stream)
    }

    fn cuEventRecordWithFlags(event: u64, stream: u64, flags: c_uint) {
        if flags > 1 {
            return Err(ERROR_INVALID_VALUE);
        }
        record(event, stream)
    }

    fn cuEventSynchronize(event: u64) {
        let (mut s, cx) = with_event(event)?;
        let Event { recorded, clock, .. } = find(&s, event)?.clone();
        s.check_capture_mode()?;
        let Some((stream, number)) = recorded else { return Ok(()) };
        let mut s = run_until(s, stream, number);
        s.host_waited(&clock);
        outcome(&mut s, cx, Some(stream))
    }

    fn cuEventQuery(event: u64) {
        let (mut s, cx) = with_event(event)?;
        let e = find(&s, event)?.clone();
        s.check_capture_mode()?;
        let Some((stream, _)) = e.recorded else { return Ok(()) };
        if done(&s, &e) {
            s.host_waited(&e.clock);
            return outcome(&mut s, cx, Some(stream));
        }
        let mut s = poll(s, stream);
        outcome(&mut s, cx, Some(stream))?;
        Err(ERROR_NOT_READY)
    }

    fn cuEventElapsedTime(ms: *mut f32, start: u64, end: u64) {
        elapsed(ms, start, end)
    }

    fn cuEventElapsedTime_v2(ms: *mut f32, start: u64, end: u64) {
        elapsed(ms, start, end)
    }
}
