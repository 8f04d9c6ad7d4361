//! Fault injection: makes the k-th call of a function fail.

use crate::driver;
use crate::error::{self, Code, SUCCESS};
use crate::sanitizer::lock;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

#[derive(Debug)]
struct Rule {
    function: String,
    /// Which call fails, counted from one; zero means every call.
    call: u64,
    code: Code,
    seen: u64,
}

static RULES: Mutex<Vec<Rule>> = Mutex::new(Vec::new());
static ANY: AtomicBool = AtomicBool::new(false);

/// Returns the name of a function without its version suffix: `cuMemAlloc` for `cuMemAlloc_v2`.
fn stem(function: &str) -> &str {
    match function.rsplit_once("_v") {
        Some((stem, version)) if version.parse::<u32>().is_ok() => stem,
        _ => function,
    }
}

/// Adds rules of the form `FUNCTION:K:CODE`, separated by commas. An empty text removes all rules. Returns `None`, and
/// adds nothing, if one of the rules is malformed or could never make a call fail.
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
            let code = error::parse(code).filter(|&code| code != SUCCESS)?;
            let known = |name: &str| name == function || stem(name) == function;
            if parts.next().is_some() || function != "*" && !driver::names().any(known) {
                return None;
            }
            Some(Rule { function: function.to_string(), call, code, seen: 0 })
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

/// Counts a call of a function and returns the code it must fail with, if a rule applies to it.
pub fn check(function: &str) -> Option<Code> {
    if !ANY.load(Relaxed) {
        return None;
    }
    let mut hit = None;
    for rule in lock(&RULES).iter_mut() {
        // `*` leaves out looking up the text of an error, which programs do while handling one.
        let all = rule.function == "*" && !function.starts_with("cuGetError");
        if all || rule.function == function || rule.function == stem(function) {
            rule.seen += 1;
            if rule.call == 0 || rule.seen == rule.call {
                hit = hit.or(Some(rule.code));
            }
        }
    }
    hit
}
