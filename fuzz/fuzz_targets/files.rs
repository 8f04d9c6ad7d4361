//! A file from a stranger, which is read, written and read again. Never does that take much more memory than the file.

#![no_main]

#[path = "../../tests/interface/stranger.rs"]
mod stranger;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| stranger::check(bytes));
