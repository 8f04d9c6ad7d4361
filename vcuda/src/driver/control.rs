//! The exported functions that control the virtual driver itself, for programs that load it as a library.
//!
//! Functions that return text write as much of it as fits into the buffer, NUL-terminated, and return its full length.

use super::text;
use crate::sanitizer::{self, Finding};
use crate::{calls, config, exec, isa, runtime};
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
        // SAFETY: the caller guarantees that the buffer is writable for `len` bytes; `fits + 1 <= len` are written.
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

/// Changes a setting. The keys are the names of the environment variables without `VCUDA_`. Returns zero on success.
///
/// # Safety
/// Each argument is null or a NUL-terminated string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vcuda_configure(key: *const c_char, value: *const c_char) -> c_int {
    match (text(key), text(value)) {
        (Ok(key), Ok(value)) if config::set(&key, &value) => 0,
        _ => 1,
    }
}

/// Resets the driver to its initial state: the settings of the environment, no contexts, no findings, no counts.
#[unsafe(no_mangle)]
pub extern "C" fn vcuda_reset() {
    runtime::reset();
    config::reset();
    sanitizer::clear();
    calls::clear();
}

/// Writes the findings so far as a JSON array.
///
/// # Safety
/// `buffer` is null or writable for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vcuda_report(buffer: *mut c_char, len: usize) -> usize {
    let all: Vec<String> = sanitizer::findings().iter().map(finding_json).collect();
    give(buffer, len, &format!("[{}]", all.join(",")))
}

/// Discards the findings so far.
#[unsafe(no_mangle)]
pub extern "C" fn vcuda_clear_findings() {
    sanitizer::clear();
}

/// Writes the launches and instructions of each kernel and the calls of each function as JSON.
///
/// # Safety
/// `buffer` is null or writable for `len` bytes.
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

/// Writes the counts of live allocations, streams, events, modules, graphs and contexts, and the bytes allocated: as
/// many as fit into `len`. Returns how many there are.
///
/// # Safety
/// `counts` is null or writable for `len` values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vcuda_live(counts: *mut u64, len: usize) -> usize {
    let live = runtime::live();
    if !counts.is_null() {
        for (k, &count) in live.iter().enumerate().take(len) {
            // SAFETY: `k < len`, and the caller guarantees that `counts` is writable for `len` values.
            unsafe { counts.add(k).write(count) };
        }
    }
    live.len()
}

/// Writes the names of the rows of the instruction table, one per line, for a test that misses none.
///
/// # Safety
/// `buffer` is null or writable for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vcuda_rows(buffer: *mut c_char, len: usize) -> usize {
    let rows: Vec<&str> = isa::all().map(|row| row.name).collect();
    give(buffer, len, &rows.join("\n"))
}

/// Writes the name of the row to which an opcode, as written in PTX, is decoded; nothing if there is none.
///
/// # Safety
/// `opcode` is null or a NUL-terminated string, and `buffer` is null or writable for `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn vcuda_row_of(
    opcode: *const c_char,
    buffer: *mut c_char,
    len: usize,
) -> usize {
    let row = text(opcode).ok().and_then(|opcode| exec::row_name(&opcode));
    give(buffer, len, row.unwrap_or_default())
}
