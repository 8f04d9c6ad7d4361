//! The copy of the sources to which mutants are applied.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::list::Mutant;
use crate::run::root;
use crate::{Failure, Outcome};

/// A copy of every file that git tracks or does not ignore.
pub struct Tree {
    root: PathBuf,
}

impl Tree {
    /// Brings the copy up to date, and returns it with a digest of the sources. Unchanged files are not touched, so that
    /// cargo rebuilds only what has changed since the last run.
    pub fn copy() -> Result<(Tree, String), Failure> {
        let tree = Tree { root: root().join("target/mutants/tree") };
        // Include untracked files, which manifests and modules may refer to.
        let listed = Command::new("git")
            .current_dir(root())
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .output();
        let listed = listed.map_err(|error| format!("cannot run git: {error}"))?;
        if !listed.status.success() {
            return Err(format!("git ls-files ended with {}", listed.status).into());
        }
        let names = String::from_utf8(listed.stdout)?;
        let (mut known, mut digest) = (HashSet::new(), blake3::Hasher::new());
        for name in names.split_terminator('\0') {
            let from = root().join(name);
            // Deleted, but still in git's index.
            if !from.is_file() {
                continue;
            }
            let to = tree.root.join(name);
            let content = fs::read(from)?;
            if !name.starts_with("xtask/") && !name.ends_with(".md") {
                digest.update(name.as_bytes()).update(blake3::hash(&content).as_bytes());
            }
            if fs::read(&to).ok().as_ref() != Some(&content) {
                fs::create_dir_all(to.parent().unwrap_or(&tree.root))?;
                fs::write(&to, content)?;
            }
            known.insert(to);
        }
        remove_others(&tree.root, &known)?;
        Ok((tree, digest.finalize().to_hex()[..16].into()))
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Applies a mutant and returns the original text of the file.
    pub fn apply(&self, mutant: &Mutant) -> Result<String, Failure> {
        let path = self.root.join(&mutant.file);
        let source = fs::read_to_string(&path)?;
        fs::write(path, source.replacen(&mutant.find, &mutant.put, 1))?;
        Ok(source)
    }

    /// Restores the original text. This updates the modification time of the file, by which cargo sees that it has
    /// changed.
    pub fn restore(&self, mutant: &Mutant, source: &str) -> Outcome {
        Ok(fs::write(self.root.join(&mutant.file), source)?)
    }
}

/// Removes files that are in the copy but not in the original, because cargo takes every file in `tests` for a test.
fn remove_others(folder: &Path, known: &HashSet<PathBuf>) -> Outcome {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(&path, known)?;
        } else if !known.contains(&path) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}
