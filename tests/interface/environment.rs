//! `docs/environment.md` lists every variable that the sources read from the environment, and no other.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Adds the sources below a folder.
fn find(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                find(&path, files);
            }
        } else if name.ends_with(".rs") || name.ends_with(".py") {
            files.push(path);
        }
    }
}

/// Returns the words of capitals, digits and underscores in a text, with the place where each begins.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let starts = text.match_indices(is_part).map(|(start, _)| start);
    let starts = starts.filter(move |&start| !text[..start].ends_with(is_part));
    starts.map(move |start| {
        let rest = &text[start..];
        (start, &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())])
    })
}

/// Whether a word is the name of a variable wherever it is found.
fn is_ours(word: &str) -> bool {
    ["BITLANE_", "VCUDA_", "XTASK_"].iter().any(|prefix| {
        word.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty() && !rest.ends_with('_'))
    })
}

/// Returns the variables that the sources name.
fn named_in_sources() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    find(root, &mut files);
    assert!(files.len() > 100, "{} sources in {}", files.len(), root.display());
    let mut found = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for (start, word) in words(&text) {
            // Others are seen where they are read, or where their name gets one of its own.
            let before = &text[..start];
            let is_read = ["env::var(\"", "env::var_os(\"", "const PART: &str = \""]
                .iter()
                .any(|call| before.ends_with(call));
            if is_ours(word) || is_read {
                found.insert(word.to_owned());
            }
        }
    }
    // Cargo sets these for build scripts.
    for name in ["OUT_DIR", "CARGO", "PATH", "TARGET", "HOST"] {
        found.remove(name);
    }
    found
}

#[test]
fn every_variable_is_documented() {
    let read =
        |file: &str| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    let page = read("docs/environment.md");
    let driver = read("vcuda/README.md");
    let found = named_in_sources();
    let is_listed = |name: &String| {
        let page = if name.starts_with("VCUDA_") { &driver } else { &page };
        page.contains(&format!("`{name}`"))
    };
    let missing: Vec<_> = found.iter().filter(|name| !is_listed(name)).collect();
    assert!(missing.is_empty(), "docs/environment.md does not have {missing:?}");
    let unread: Vec<_> = words(&page)
        .map(|(_, word)| word)
        .filter(|word| is_ours(word) && !found.contains(*word))
        .collect();
    assert!(unread.is_empty(), "no source reads {unread:?}");
}
