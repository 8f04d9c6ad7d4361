//! Control of the virtual driver itself, for programs that loaded it as a library.
//!
//! Functions that give text write as much as fits, end it with a zero, and return the length it has.

use super::text;
use crate::sanitizer::{self, Finding};
use crate::{calls, config, runtime};
use std::ffi::{c_char, c_int};
use std::fmt::Write;

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if (c as u32) < 32 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn give(buffer: *mut c_char, len: usize, text: &str) -> usize {
    if !buffer.is_null() && len > 0 {
        let fits = text.len().min(len - 1);
        // SAFETY: the caller vouches that the buffer has `len` bytes; at most that many are written.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), buffer.cast(), fits);
            buffer.add(fits).write(0);
        }
    }
    text.len()
}

fn finding_json(f: &Finding) -> String {
    let place = f.place.as_ref().map_or(String::new(), |p| {
        format!(
            ",\"kernel\":{},\"block\":{:?},\"thread\":{:?},\"line\":{}",
            quoted(&p.kernel),
            p.block,
            p.thread,
            p.line
        )
    });
    format!(
        "{{\"kind\":\"{}\",\"code\":{}{place},\"text\":{}}}",
        f.kind.word(),
        f.code,
        quoted(&f.to_string())
    )
}

/// Changes a setting: the keys of the environment without their prefix. Zero on success.
///
/// # Safety
/// Both are strings that end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vcuda_configure(key: *const c_char, value: *const c_char) -> c_int {
    match (text(key), text(value)) {
        (Ok(key), Ok(value)) if config::set(&key, &value) => 0,
        _ => 1,
    }
}

/// Goes back to the first state: settings of the environment, no contexts, no findings, no counts.
#[unsafe(no_mangle)]
pub extern "C" fn vcuda_reset() {
    runtime::reset();
    config::reset();
    sanitizer::clear();
    calls::clear();
}

/// The findings so far, as a JSON array.
///
/// # Safety
/// `buffer` is null or has room for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vcuda_report(buffer: *mut c_char, len: usize) -> usize {
    let all: Vec<String> = sanitizer::findings().iter().map(finding_json).collect();
    give(buffer, len, &format!("[{}]", all.join(",")))
}

/// Forgets the findings.
#[unsafe(no_mangle)]
pub extern "C" fn vcuda_clear_findings() {
    sanitizer::clear();
}

/// Launches and instructions per kernel and calls per function, as JSON.
///
/// # Safety
/// `buffer` is null or has room for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vcuda_stats(buffer: *mut c_char, len: usize) -> usize {
    let kernels: Vec<String> = runtime::stats()
        .iter()
        .map(|(name, (launches, instructions))| {
            format!("{}:{{\"launches\":{launches},\"instructions\":{instructions}}}", quoted(name))
        })
        .collect();
    let calls: Vec<String> =
        calls::counts().iter().map(|(name, count)| format!("\"{name}\":{count}")).collect();
    give(
        buffer,
        len,
        &format!("{{\"kernels\":{{{}}},\"calls\":{{{}}}}}", kernels.join(","), calls.join(",")),
    )
}

/// Live objects: allocations, streams, events, modules, graphs, contexts, bytes; as many as fit into `len`.
///
/// # Safety
/// `counts` is null or has room for `len` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vcuda_live(counts: *mut u64, len: usize) -> usize {
    let live = runtime::live();
    if !counts.is_null() {
        for (k, &count) in live.iter().enumerate().take(len) {
            // SAFETY: the caller vouches for the room.
            unsafe { counts.add(k).write(count) };
        }
    }
    live.len()
}
