//! The way into every API function: counting, tracing, injected faults.

use crate::error::{
    Code, ERROR_NOT_INITIALIZED, ERROR_NOT_PERMITTED, ERROR_NOT_READY, ERROR_UNKNOWN, SUCCESS,
    name as error_name,
};
use crate::sanitizer::{self, Finding, Kind, lock};
use crate::{config, faults, runtime};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The counter of one API function.
#[derive(Debug)]
pub struct Call {
    name: &'static str,
    count: AtomicU64,
}

static ALL: Mutex<Vec<&'static Call>> = Mutex::new(Vec::new());

/// Notes a call that is wrong in itself.
pub fn bad_call(code: Code, text: String) {
    sanitizer::report(Finding { kind: Kind::BadCall, code, place: None, text });
}

impl Call {
    /// The counter of a function.
    pub const fn new(name: &'static str) -> Call {
        Call { name, count: AtomicU64::new(0) }
    }

    /// Runs the body of a call unless it shall fail.
    #[inline]
    pub fn run(&'static self, body: impl FnOnce() -> Result<(), Code>) -> Code {
        // The settings of the environment hold from the very first call.
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

    /// Whether a program may call the function before `cuInit`.
    fn comes_first(&self) -> bool {
        let names =
            ["cuInit", "cuDriverGetVersion", "cuGetError", "cuGetProcAddress", "cuGetExportTable"];
        names.iter().any(|name| self.name.starts_with(name))
    }

    fn answer(&self, body: impl FnOnce() -> Result<(), Code>) -> Result<(), Code> {
        // Asking what an error means is harmless everywhere.
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
                runtime::settle();
            }
            result
        };
        // A fault of this driver must not end the program: nothing may unwind into C.
        catch_unwind(AssertUnwindSafe(whole)).unwrap_or_else(|_| {
            bad_call(ERROR_UNKNOWN, format!("{} failed inside the virtual driver", self.name));
            Err(ERROR_UNKNOWN)
        })
    }
}

/// The functions that were called, and how often.
pub fn counts() -> Vec<(&'static str, u64)> {
    let mut counts: Vec<_> =
        lock(&ALL).iter().map(|c| (c.name, c.count.load(Relaxed))).filter(|c| c.1 > 0).collect();
    counts.sort_unstable();
    counts
}

/// Starts counting again.
pub fn clear() {
    lock(&ALL).iter().for_each(|c| c.count.store(0, Relaxed));
}
