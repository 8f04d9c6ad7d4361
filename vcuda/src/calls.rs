//! The way into every API function: counting, tracing, injected faults.

use crate::error::{Code, ERROR_NOT_READY, SUCCESS};
use crate::sanitizer::lock;
use crate::{config, faults, runtime};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The counter of one API function.
#[derive(Debug)]
pub struct Call {
    name: &'static str,
    count: AtomicU64,
}

static ALL: Mutex<Vec<&'static Call>> = Mutex::new(Vec::new());

impl Call {
    /// The counter of a function.
    pub const fn new(name: &'static str) -> Call {
        Call { name, count: AtomicU64::new(0) }
    }

    /// Runs the body of a call unless it shall fail.
    #[inline]
    pub fn run(&'static self, body: impl FnOnce() -> Result<(), Code>) -> Code {
        if self.count.fetch_add(1, Relaxed) == 0 {
            let mut all = lock(&ALL);
            if !all.iter().any(|c| std::ptr::eq(*c, self)) {
                all.push(self);
            }
        }
        let result = match faults::check(self.name) {
            Some(code) => Err(code),
            None => body(),
        };
        let code = result.err().unwrap_or(SUCCESS);
        if code != SUCCESS && code != ERROR_NOT_READY && self.name.starts_with("cu") {
            runtime::settle();
        }
        if config::tracing() {
            let name = crate::error::name(code)
                .map_or(String::new(), |n| n.to_string_lossy().into_owned());
            eprintln!("vcuda: {} -> {code} {name}", self.name);
        }
        code
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
