//! The mutants, as `xtask/mutants` lists them, and the check that they still apply to the sources.
//!
//! A file has a title, `# Kernels`, and paragraphs such as this one. Lines with a minus sign are replaced by those with a
//! plus sign; without the latter, they are deleted.
//!
//! ```text
//! tail-dropped: elements after the last whole vector are not computed
//! cuda/elementwise.cu --test results sizes::edges
//! - if (thread < head + tail) f(
//! + if (thread < head) f(
//! ```

use std::fs;
use std::path::Path;

use crate::Failure;
use crate::run::root;

/// One mutation of the sources.
#[derive(Clone, Debug, PartialEq)]
pub struct Mutant {
    /// The title of the file that lists it.
    pub topic: String,
    /// Its name on the command line.
    pub name: String,
    /// What goes wrong, in words.
    pub breaks: String,
    /// The file that is mutated, relative to the root of the workspace.
    pub file: String,
    /// The arguments of `cargo test` for the tests that are expected to fail.
    pub tests: String,
    /// The text that is replaced. It must occur exactly once in the file, so that a change of the source that affects
    /// the mutant is noticed.
    pub find: String,
    /// The replacement.
    pub put: String,
}

/// Returns the mutants with these names; without names, all of them.
pub fn chosen(names: &[String]) -> Result<Vec<Mutant>, Failure> {
    let entries = fs::read_dir(root().join("xtask/mutants"))?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, Failure>>()?;
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        let read = read(&fs::read_to_string(&path)?);
        all.extend(read.map_err(|what| format!("{}: {what}", path.display()))?);
    }
    if names.is_empty() {
        return Ok(all);
    }
    let named = |name: &String| {
        let found = all.iter().find(|mutant| mutant.name == *name).cloned();
        found.ok_or_else(|| format!("there is no mutant {name}; --list shows all").into())
    };
    names.iter().map(named).collect()
}

/// Reads one file of mutants.
fn read(text: &str) -> Result<Vec<Mutant>, String> {
    let mut paragraphs = text.trim_end().split("\n\n");
    let topic = paragraphs.next().and_then(|line| line.strip_prefix("# "));
    let topic = topic.ok_or("the first line is no title")?;
    let mutant = |paragraph: &str| -> Option<Mutant> {
        let mut lines = paragraph.lines();
        let (name, breaks) = lines.next()?.split_once(": ")?;
        let (file, tests) = lines.next()?.split_once(' ')?;
        let (mut find, mut put) = (Vec::new(), Vec::new());
        for line in lines {
            match line.split_at_checked(2)? {
                ("- ", old) if put.is_empty() => find.push(old),
                ("+ ", new) => put.push(new),
                _ => return None,
            }
        }
        let [topic, name, breaks] = [topic, name, breaks].map(String::from);
        let [file, tests] = [file, tests].map(String::from);
        Some(Mutant {
            topic,
            name,
            breaks,
            file,
            tests,
            find: find.join("\n"),
            put: put.join("\n"),
        })
    };
    paragraphs
        .map(|text| mutant(text).ok_or_else(|| format!("this paragraph is no mutant:\n{text}")))
        .collect()
}

/// Fails with the list of mutants that do not apply to the sources any more.
pub fn check(root: &Path, mutants: &[Mutant]) -> Result<(), Failure> {
    let misfits: Vec<_> = mutants.iter().filter_map(|mutant| misfit(root, mutant)).collect();
    if misfits.is_empty() { Ok(()) } else { Err(misfits.join("\n").into()) }
}

fn misfit(root: &Path, mutant: &Mutant) -> Option<String> {
    let Mutant { name, file, find, put, .. } = mutant;
    let source = match fs::read_to_string(root.join(file)) {
        Ok(source) => source,
        Err(error) => return Some(format!("{name}: cannot read {file}: {error}")),
    };
    match source.matches(find).count() {
        1 if find == put => Some(format!("{name} changes nothing")),
        1 => None,
        count => Some(format!("{name}: its text occurs {count} times in {file}, not once: {find}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mutant_still_applies() {
        check(&root(), &chosen(&[]).unwrap()).unwrap();
    }

    #[test]
    fn names_are_distinct_and_there_are_enough() {
        let all = chosen(&[]).unwrap();
        let mut names: Vec<_> = all.iter().map(|mutant| &*mutant.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        assert!(names.len() >= 150, "only {}", names.len());
        let page = fs::read_to_string(root().join("docs/mutants.md")).unwrap();
        for line in page.lines().filter_map(|line| line.strip_prefix("- `")) {
            let name = line.trim_end_matches('`');
            assert!(names.contains(&name), "docs/mutants.md names {name}, which does not exist");
        }
    }

    #[test]
    fn what_is_no_mutant_is_named() {
        let text = "# A\n\na: b\nREADME.md --lib x\n- no such\n-   text\n+ y\n";
        let read_back = read(text).unwrap().remove(0);
        assert_eq!((&*read_back.find, &*read_back.put), ("no such\n  text", "y"));
        let said = misfit(&root(), &read_back).unwrap();
        assert!(said.contains("a: its text occurs 0 times"), "{said}");
        for wrong in
            ["", "a: b", "# A\n\na: b\nfile", "# A\n\na: b\nc d\n+ x\n- y", "# A\n\na: b\nc d\ne"]
        {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
        assert!(chosen(&["nonsense".into()]).is_err());
    }
}
