//! The results of earlier runs, so that an interrupted run can be resumed.
//!
//! A result is stored under a digest of everything that it depends on: the code, the tests that were run, and the
//! mutant. Only mutants that were caught and tests that passed are stored; everything else is tried again.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::judge::Verdict;
use super::list::Mutant;
use crate::run::root;
use crate::{Failure, Outcome};

/// The code that every test depends on: the crate, the virtual driver, and the shared parts of the tests.
const CODE: &[&str] =
    &["src", "cuda", "build.rs", "Cargo.toml", "vcuda/src", "tests/model", "tests/devices"];

/// The stored results, and the file for new ones.
pub struct Journal {
    /// The name and message of the test that failed, by digest; both are empty for tests without a mutant.
    known: HashMap<String, (String, String)>,
    file: File,
    /// The digest of [`CODE`].
    code: u64,
}

impl Journal {
    /// Opens the journal in `target`. Earlier results are used only if `resume` is set.
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

    /// Returns the stored outcome for a mutant, if there is one.
    pub fn verdict(&self, mutant: &Mutant) -> Result<Option<Verdict>, Failure> {
        let found = self.known.get(&self.digest(mutant.tests, Some(mutant))?);
        Ok(found.map(|(test, said)| Verdict::Caught { test: test.clone(), said: said.clone() }))
    }

    /// Returns whether these tests are known to pass without a mutant.
    pub fn passes(&self, tests: &str) -> Result<bool, Failure> {
        Ok(self.known.contains_key(&self.digest(tests, None)?))
    }

    /// Stores the outcome for a mutant, if it was caught.
    pub fn caught(&mut self, mutant: &Mutant, verdict: &Verdict) -> Outcome {
        let Verdict::Caught { test, said } = verdict else { return Ok(()) };
        let digest = self.digest(mutant.tests, Some(mutant))?;
        Ok(writeln!(self.file, "{digest}\t{test}\t{}", said.replace('\t', " "))?)
    }

    /// Stores that tests pass without a mutant.
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

/// Returns the files of the test that arguments of `cargo test` name; unit tests are part of the code.
fn places(tests: &str) -> Vec<PathBuf> {
    let mut words = tests.split_whitespace();
    let name = words.find(|word| *word == "--test").and_then(|_| words.next());
    let folder = name.map(|name| Path::new("tests").join(name));
    folder.into_iter().flat_map(|folder| [folder.with_extension("rs"), folder]).collect()
}

/// Adds the file or folder at a path to a digest, if it exists.
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
        let found = places("--test results sums::zeros");
        assert_eq!(found, [Path::new("tests/results.rs"), Path::new("tests/results")]);
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
