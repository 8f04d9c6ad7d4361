//! What earlier runs have found, so that one that was interrupted need not begin again.
//!
//! A finding is kept under a digest of everything that it depends on: the code, the tests that were run, and the fault. Only
//! what went as it should is kept; everything else is tried again.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::judge::Verdict;
use super::list::Mutant;
use crate::run::root;
use crate::{Failure, Outcome};

/// What every test depends on: the crate, the virtual driver, and what the tests share.
const CODE: &[&str] =
    &["src", "cuda", "build.rs", "Cargo.toml", "vcuda/src", "tests/model", "tests/devices"];

/// The findings, and where new ones go.
pub struct Journal {
    /// Names of failed tests with their complaints, by digest; both are empty for tests without a fault.
    known: HashMap<String, (String, String)>,
    file: File,
    /// The digest of [`CODE`].
    code: u64,
}

impl Journal {
    /// The journal in `target`; what is in it counts if `resume` says so.
    pub fn open(resume: bool) -> Result<Journal, Failure> {
        let path = root().join("target/mutants/journal.tsv");
        let text =
            if resume { fs::read_to_string(&path).unwrap_or_default() } else { String::new() };
        let known = text.lines().filter_map(read_line).collect();
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let mut hasher = DefaultHasher::new();
        for place in CODE {
            digest(&root().join(place), &mut hasher)?;
        }
        Ok(Journal { known, file, code: hasher.finish() })
    }

    /// What has become of a mutant, if that is known.
    pub fn verdict(&self, mutant: &Mutant) -> Result<Option<Verdict>, Failure> {
        let found = self.known.get(&self.digest(mutant.tests, Some(mutant))?);
        Ok(found.map(|(test, said)| Verdict::Caught { test: test.clone(), said: said.clone() }))
    }

    /// Whether these tests are known to pass without a mutant.
    pub fn passes(&self, tests: &str) -> Result<bool, Failure> {
        Ok(self.known.contains_key(&self.digest(tests, None)?))
    }

    /// Notes a mutant that was caught.
    pub fn caught(&mut self, mutant: &Mutant, verdict: &Verdict) -> Outcome {
        let Verdict::Caught { test, said } = verdict else { return Ok(()) };
        let digest = self.digest(mutant.tests, Some(mutant))?;
        Ok(writeln!(self.file, "{digest}\t{test}\t{}", said.replace('\t', " "))?)
    }

    /// Notes tests that pass.
    pub fn passed(&mut self, tests: &str) -> Outcome {
        let digest = self.digest(tests, None)?;
        Ok(writeln!(self.file, "{digest}\t\t")?)
    }

    fn digest(&self, tests: &str, mutant: Option<&Mutant>) -> Result<String, Failure> {
        let mut hasher = DefaultHasher::new();
        (self.code, tests).hash(&mut hasher);
        if let Some(mutant) = mutant {
            (mutant.file, mutant.find, mutant.put).hash(&mut hasher);
        }
        for place in places(tests) {
            digest(&root().join(place), &mut hasher)?;
        }
        Ok(format!("{:016x}", hasher.finish()))
    }
}

fn read_line(line: &str) -> Option<(String, (String, String))> {
    let (digest, rest) = line.split_once('\t')?;
    let (test, said) = rest.split_once('\t')?;
    Some((digest.into(), (test.into(), said.into())))
}

/// The files of the test that arguments of `cargo test` name; unit tests are among the code.
fn places(tests: &str) -> Vec<PathBuf> {
    let mut words = tests.split_whitespace();
    let name = words.find(|word| *word == "--test").and_then(|_| words.next());
    let folder = name.map(|name| Path::new("tests").join(name));
    folder.into_iter().flat_map(|folder| [folder.with_extension("rs"), folder]).collect()
}

/// Adds what is at a path, if anything is.
fn digest(path: &Path, hasher: &mut DefaultHasher) -> Outcome {
    if path.is_file() {
        path.strip_prefix(root())?.hash(hasher);
        fs::read(path)?.hash(hasher);
    } else if path.is_dir() {
        let entries = fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path()));
        let mut paths = entries.collect::<Result<Vec<_>, _>>()?;
        paths.sort();
        for path in paths {
            digest(&path, hasher)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_found_by_their_arguments() {
        let found = places("--test sums zeros");
        assert_eq!(found, [Path::new("tests/sums.rs"), Path::new("tests/sums")]);
        assert!(places("--lib cache::").is_empty());
    }

    #[test]
    fn lines_are_read_as_they_are_written() {
        let (digest, (test, said)) = read_line("12ab\tsums::zeros\t1, not 2").unwrap();
        assert_eq!((&*digest, &*test, &*said), ("12ab", "sums::zeros", "1, not 2"));
        assert_eq!(read_line("12ab\t\t").unwrap().1, (String::new(), String::new()));
        assert!(read_line("half a li").is_none());
    }
}
