//! The inputs that the fuzzer has kept, because each reached something new when it was tried.

use std::fs;
use std::path::Path;

/// Returns the names and contents of the inputs for a fuzz target.
pub fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut inputs = Vec::new();
    for entry in fs::read_dir(&folder).expect("the corpus is part of the sources") {
        let path = entry.unwrap().path();
        inputs.push((path.display().to_string(), fs::read(path).unwrap()));
    }
    assert!(!inputs.is_empty(), "{} is empty", folder.display());
    inputs.sort();
    inputs
}
