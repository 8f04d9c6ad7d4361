//! What earlier runs have found, so that an interrupted run can be resumed.
//!
//! A line stands for a mutant that was caught, or for tests that passed without one, in sources with the digest that it
//! begins with. Everything else is tried again.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::Write;

use super::list::Mutant;
use crate::run::root;
use crate::{Failure, Outcome};

pub struct Journal {
    known: HashSet<String>,
    file: File,
    /// The digest of the sources.
    sources: String,
}

impl Journal {
    /// Opens the journal in `target`. What it says is believed only if `resume` is set.
    pub fn open(resume: bool, sources: String) -> Result<Journal, Failure> {
        let path = root().join("target/mutants/journal.txt");
        let text =
            if resume { fs::read_to_string(&path).unwrap_or_default() } else { String::new() };
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Journal { known: text.lines().map(String::from).collect(), file, sources })
    }

    pub fn knows(&self, what: &str) -> bool {
        self.known.contains(&format!("{} {what}", self.sources))
    }

    pub fn note(&mut self, what: &str) -> Outcome {
        Ok(writeln!(self.file, "{} {what}", self.sources)?)
    }
}

/// Returns what stands for a mutant: all that it consists of, in one line.
pub fn key(Mutant { file, tests, find, put, .. }: &Mutant) -> String {
    format!("{:?}", [file, tests, find, put])
}
