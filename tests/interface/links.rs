//! Links between the pages of the repository lead to files and headings that exist.

use std::fs;
use std::path::{Path, PathBuf};

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Adds the pages in a folder and in those below it.
fn find(folder: &Path, pages: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            find(&path, pages);
        } else if name.ends_with(".md") {
            pages.push(path);
        }
    }
}

/// Returns the text of a page without its code.
fn prose(text: &str) -> String {
    let mut is_code = false;
    let lines = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    lines.map(|line| format!("{line}\n")).collect()
}

/// Returns the labels and targets of the definitions of links in a page.
fn definitions(prose: &str) -> impl Iterator<Item = (&str, &str)> {
    prose.lines().filter_map(|line| line.strip_prefix('[')?.split_once("]: "))
}

/// Returns the targets of all links in a page.
fn targets(prose: &str) -> Vec<&str> {
    let inline = prose.match_indices("](").filter_map(|(at, _)| {
        let target = &prose[at + 2..];
        Some(&target[..target.find(')')?])
    });
    inline.chain(definitions(prose).map(|(_, target)| target)).collect()
}

/// Returns the anchors of the headings of a page, as GitHub makes them.
fn anchors(prose: &str) -> Vec<String> {
    let headings = prose.lines().filter(|line| line.starts_with('#'));
    let names = headings.map(|line| line.trim_start_matches('#').trim().to_lowercase());
    let is_kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    names.map(|name| name.chars().filter(is_kept).collect::<String>().replace(' ', "-")).collect()
}

#[test]
fn links_lead_somewhere() {
    let mut pages = Vec::new();
    find(Path::new(env!("CARGO_MANIFEST_DIR")), &mut pages);
    assert!(pages.len() > 20, "{} pages", pages.len());
    let mut wrong = Vec::new();
    for page in &pages {
        let text = prose(&read(page));
        for target in targets(&text) {
            if target.contains(':') {
                continue; // another site
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let linked = if file.is_empty() { page.clone() } else { page.with_file_name(file) };
            let is_there = linked.exists()
                && (anchor.is_empty()
                    || anchors(&prose(&read(&linked))).iter().any(|own| own == anchor));
            if !is_there {
                wrong.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The documentation of the crate shows some pages, where a file beside the page does not exist: `src/lib.rs` and
/// `src/guide.rs` define each link of a page before it.
#[test]
fn guides_link_to_their_own_version() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (library, guide) = (read(&root.join("src/lib.rs")), read(&root.join("src/guide.rs")));
    let (before, _) = library.split_once("pub mod guide;").unwrap();
    let source = format!("{before}{guide}");
    let mut parts = source.split("include_str!(\"../docs/");
    let mut own = parts.next().unwrap();
    let mut count = 0;
    for part in parts {
        let (name, rest) = part.split_once('"').unwrap();
        let text = prose(&read(&root.join("docs").join(name)));
        for (label, target) in definitions(&text) {
            let is_defined = own.contains(&format!("\"[{label}]: "))
                || own.contains(&format!("of_this_version!(\"{label}\""));
            assert!(is_defined, "{name}: the documentation has no link for [{label}]: {target}");
            count += 1;
        }
        let inline = targets(&text).into_iter().filter(|to| !to.contains(':')).find(|to| {
            !to.starts_with('#') && !definitions(&text).any(|(_, target)| target == *to)
        });
        assert_eq!(inline, None, "{name}: the documentation cannot follow this link");
        own = rest;
    }
    assert!(count > 15, "{count} links");
}
