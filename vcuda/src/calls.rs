//! The wrapper around every API function: counting, tracing and injected faults.

use crate::error::{
    Code, ERROR_NOT_INITIALIZED, ERROR_NOT_PERMITTED, ERROR_NOT_READY, ERROR_UNKNOWN, SUCCESS,
    name as error_name,
};
use crate::sanitizer::{self, Finding, Kind, lock};
use crate::{config, faults, runtime};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The call counter of one API function.
#[derive(Debug)]
pub struct Call {
    name: &'static str,
    count: AtomicU64,
}

static ALL: Mutex<Vec<&'static Call>> = Mutex::new(Vec::new());

/// Reports a misuse of the API.
pub fn bad_call(code: Code, text: String) {
    sanitizer::report(Finding { kind: Kind::BadCall, code, place: None, text });
}

impl Call {
    /// Creates the counter of a function.
    pub const fn new(name: &'static str) -> Call {
        Call { name, count: AtomicU64::new(0) }
    }

    /// Counts the call and runs its body, unless a fault is injected or the call is not allowed here.
    #[inline]
    pub fn run(&'static self, body: impl FnOnce() -> Result<(), Code>) -> Code {
        // Reading the settings first makes those of the environment apply from the very first call.
        let tracing = config::tracing();
        if self.count.fetch_add(1, Relaxed) == 0 {
            let mut all = lock(&ALL);
            if !all.iter().any(|c| std::ptr::eq(*c, self)) {
                all.push(self);
            }
        }
        let code = self.answer(body).err().unwrap_or(SUCCESS);
        if tracing {
            let word = error_name(code).map_or("".into(), |n| n.to_string_lossy());
            eprintln!("vcuda: {} -> {code} {word}", self.name);
        }
        code
    }

    /// Returns whether a program may call the function before `cuInit`.
    fn comes_first(&self) -> bool {
        let names =
            ["cuInit", "cuDriverGetVersion", "cuGetError", "cuGetProcAddress", "cuGetExportTable"];
        names.iter().any(|name| self.name.starts_with(name))
    }

    fn answer(&self, body: impl FnOnce() -> Result<(), Code>) -> Result<(), Code> {
        // Looking up the text of an error is harmless everywhere.
        if runtime::in_host_function() && !self.name.starts_with("cuGetError") {
            bad_call(ERROR_NOT_PERMITTED, format!("{} in a host function of a stream", self.name));
            return Err(ERROR_NOT_PERMITTED);
        }
        let whole = || {
            let result = match faults::check(self.name) {
                Some(code) => Err(code),
                None if !runtime::initialised() && !self.comes_first() => {
                    Err(ERROR_NOT_INITIALIZED)
                }
                None => body(),
            };
            if result.is_err_and(|code| code != ERROR_NOT_READY) {
                runtime::finish_pageable_copies();
            }
            result
        };
        // A bug in this driver must not abort the program: a panic must not unwind into C.
        catch_unwind(AssertUnwindSafe(whole)).unwrap_or_else(|_| {
            bad_call(ERROR_UNKNOWN, format!("{} failed inside the virtual driver", self.name));
            Err(ERROR_UNKNOWN)
        })
    }
}

/// Returns the functions that were called, with their call counts.
pub fn counts() -> Vec<(&'static str, u64)> {
    let mut counts: Vec<_> =
        lock(&ALL).iter().map(|c| (c.name, c.count.load(Relaxed))).filter(|c| c.1 > 0).collect();
    counts.sort_unstable();
    counts
}

/// Resets all counters to zero.
pub fn clear() {
    lock(&ALL).iter().for_each(|c| c.count.store(0, Relaxed));
}
