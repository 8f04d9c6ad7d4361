//! Fault injection: the k-th call of a function fails.

use crate::error::{self, Code};
use crate::sanitizer::lock;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

#[derive(Debug)]
struct Rule {
    function: String,
    /// The call that fails, from one; zero means every call.
    call: u64,
    code: Code,
    seen: u64,
}

static RULES: Mutex<Vec<Rule>> = Mutex::new(Vec::new());
static ANY: AtomicBool = AtomicBool::new(false);

/// Adds rules of the form `FUNCTION:K:CODE`, several with commas between. An empty text removes all rules.
pub fn set(text: &str) -> Option<()> {
    if text.is_empty() {
        clear();
        return Some(());
    }
    let rules = text
        .split(',')
        .map(|rule| {
            let mut parts = rule.trim().split(':');
            let (function, call, code) = (parts.next()?, parts.next()?, parts.next()?);
            let call = if call == "*" { 0 } else { call.parse().ok()? };
            Some(Rule { function: function.to_string(), call, code: error::parse(code)?, seen: 0 })
        })
        .collect::<Option<Vec<_>>>()?;
    lock(&RULES).extend(rules);
    ANY.store(true, Relaxed);
    Some(())
}

/// Removes all rules.
pub fn clear() {
    lock(&RULES).clear();
    ANY.store(false, Relaxed);
}

/// The code with which this call of a function shall fail.
pub fn check(function: &str) -> Option<Code> {
    if !ANY.load(Relaxed) {
        return None;
    }
    let mut hit = None;
    for rule in lock(&RULES).iter_mut() {
        // Asking what an error means is not a step that can fail.
        if rule.function == function || rule.function == "*" && !function.starts_with("cuGetError")
        {
            rule.seen += 1;
            if rule.call == 0 || rule.seen == rule.call {
                hit = hit.or(Some(rule.code));
            }
        }
    }
    hit
}
