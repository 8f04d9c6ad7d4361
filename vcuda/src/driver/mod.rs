//! The exported driver API, one file per chapter of its documentation.
//!
//! The functions have the names, parameters and error codes of the vendor's driver. A program calls them through the
//! shared library.

mod absent;
mod context;
mod control;
mod copy;
mod device;
mod event;
mod function;
mod graph;
mod init;
mod jit;
mod library;
mod memory;
mod module;
mod nodes;
mod pool;
mod stream;

pub(crate) use jit::Options;

use crate::calls::bad_call;
use crate::error::{
    Code, ERROR_CONTEXT_IS_DESTROYED, ERROR_INVALID_CONTEXT, ERROR_INVALID_HANDLE,
    ERROR_INVALID_VALUE,
};
use crate::runtime::{Guard, enter};
use std::ffi::{CStr, c_char};

/// Exports functions whose body evaluates to a `Result<(), Code>`, with counting, tracing and fault injection.
macro_rules! api {
    ($(fn $name:ident($($a:ident: $t:ty),* $(,)?) $body:block)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "` of the driver API.")]
            ///
            /// # Safety
            /// As the API documents: a pointer is null or valid for its use, until the work it was passed for has
            /// completed.
            #[unsafe(no_mangle)]
            #[allow(non_snake_case)]
            pub unsafe extern "C" fn $name($($a: $t),*) -> $crate::error::Code {
                static CALL: $crate::calls::Call = $crate::calls::Call::new(stringify!($name));
                CALL.run(move || $body)
            }
        )*
        /// Returns the names and addresses of the functions of this file.
        pub(super) fn functions() -> Vec<(&'static str, usize)> {
            vec![$((stringify!($name), $name as *const () as usize)),*]
        }
    };
}
use api;

/// Iterates over the names and addresses of the functions that are implemented.
fn functions() -> impl Iterator<Item = (&'static str, usize)> {
    let files = [
        context::functions(),
        copy::functions(),
        device::functions(),
        event::functions(),
        function::functions(),
        graph::functions(),
        init::functions(),
        jit::functions(),
        library::functions(),
        memory::functions(),
        module::functions(),
        nodes::functions(),
        pool::functions(),
        stream::functions(),
    ];
    files.into_iter().flatten()
}

/// Iterates over the names of the functions that are implemented.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    functions().map(|f| f.0)
}

/// Fails if the pointer for a result is null. Called before anything is created whose handle would be lost.
fn wanted<T>(to: *mut T) -> Result<(), Code> {
    if to.is_null() { Err(ERROR_INVALID_VALUE) } else { Ok(()) }
}

/// Writes a result through a pointer that the program passed.
fn put<T>(to: *mut T, value: T) -> Result<(), Code> {
    wanted(to)?;
    // SAFETY: not null, and by the API's contract writable for a value of its type.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Copies a string that the program passed.
fn text(from: *const c_char) -> Result<String, Code> {
    if from.is_null() {
        return Err(ERROR_INVALID_VALUE);
    }
    // SAFETY: not null, and by the API's contract a NUL-terminated string.
    unsafe { CStr::from_ptr(from) }.to_str().map(str::to_string).map_err(|_| ERROR_INVALID_VALUE)
}

/// Returns the lock on the state and the current context, or the error if there is none or it has failed.
fn working() -> Result<(Guard, u64), Code> {
    let s = enter();
    match s.context() {
        Ok(cx) => Ok((s, cx)),
        Err(code) => {
            match code {
                ERROR_INVALID_CONTEXT => {
                    bad_call(code, "a call on a thread that has no current context".into())
                }
                ERROR_CONTEXT_IS_DESTROYED => {
                    bad_call(code, "a call on a thread whose current context has ended".into())
                }
                _ => {}
            }
            Err(code)
        }
    }
}

/// Returns the lock on the state, and the context and key of the stream behind a handle. A stream created by the
/// program belongs to its own context; a default stream, to the thread's current one.
fn on_stream(handle: u64) -> Result<(Guard, u64, u64), Code> {
    let s = enter();
    if let Some(stream) = s.streams.get(&handle).filter(|x| x.user && !x.destroyed) {
        let cx = stream.context;
        healthy(&s, cx)?;
        return Ok((s, cx, handle));
    }
    drop(s);
    let (mut s, cx) = working()?;
    let stream = s.stream(cx, handle)?;
    Ok((s, cx, stream))
}

/// Returns the lock on the state and the context of an event. No context needs to be current.
fn with_event(event: u64) -> Result<(Guard, u64), Code> {
    let s = enter();
    if let Some(event) = s.events.get(&event) {
        let cx = event.context;
        healthy(&s, cx)?;
        return Ok((s, cx));
    }
    drop(s);
    working().and(Err(ERROR_INVALID_HANDLE))
}

/// Fails with the sticky error of a context that has failed.
fn healthy(s: &Guard, cx: u64) -> Result<(), Code> {
    match s.contexts.get(&cx).map_or(0, |c| c.sticky) {
        0 => Ok(()),
        code => Err(code),
    }
}

/// Returns the error, if any, of the work that was just waited for: on one stream, or on all streams of a context.
fn outcome(s: &mut Guard, cx: u64, stream: Option<u64>) -> Result<(), Code> {
    healthy(s, cx)?;
    let of_these = |&mut (failed, _): &mut (u64, Code)| stream.is_none_or(|one| one == failed);
    let passing = s.contexts.get_mut(&cx).and_then(|context| context.passing.take_if(of_these));
    passing.map_or(Ok(()), |(_, code)| Err(code))
}
