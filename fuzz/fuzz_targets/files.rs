//! A file from a stranger, which is read, written and read again. Never does that take much more memory than the file.

#![no_main]

#[path = "../../bitlane-quant/tests/stranger/mod.rs"]
mod quantised;
#[path = "../../tests/interface/stranger.rs"]
mod stranger;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // GGUF files begin with their own name, the others with a byte that chooses the format.
    if bytes.starts_with(b"GGUF") {
        quantised::check(bytes);
    } else {
        stranger::check(bytes);
    }
});
