//! The mutants, and the check that they still apply to the sources.

use std::fs;
use std::path::Path;

use super::{
    in_bits, in_core, in_cuda_host, in_expressions, in_extremes, in_kernels, in_operations,
};
use crate::Failure;

/// A mutant: one mutation of the sources.
pub struct Mutant {
    /// Its name on the command line.
    pub name: &'static str,
    /// The file that is mutated, relative to the root of the workspace.
    pub file: &'static str,
    /// The text that is replaced. It must occur exactly once in the file, so that a change of the source that affects
    /// the mutant is noticed.
    pub find: &'static str,
    /// The replacement.
    pub put: &'static str,
    /// What goes wrong, in words.
    pub breaks: &'static str,
    /// The arguments of `cargo test` for the tests that are expected to fail.
    pub tests: &'static str,
}

/// The tables of mutants, with titles.
pub const TABLES: &[(&str, &[Mutant])] = &[
    ("Kernels", in_kernels::MUTANTS),
    ("CUDA host code", in_cuda_host::MUTANTS),
    ("Core and CPU backend", in_core::MUTANTS),
    ("Operations and sums", in_operations::MUTANTS),
    ("Bits, whole numbers and ternary operations", in_bits::MUTANTS),
    ("Other reductions, scans and look-ups", in_extremes::MUTANTS),
    ("Expressions", in_expressions::MUTANTS),
];

/// Returns the mutants with these names; without names, all of them.
pub fn chosen(names: &[String]) -> Result<Vec<&'static Mutant>, Failure> {
    let all = || TABLES.iter().flat_map(|(_, mutants)| *mutants);
    if names.is_empty() {
        return Ok(all().collect());
    }
    let named = |name: &String| {
        let found = all().find(|mutant| mutant.name == name);
        found.ok_or_else(|| format!("there is no mutant {name}; --list shows all").into())
    };
    names.iter().map(named).collect()
}

/// Fails with the list of mutants that do not apply to the sources any more.
pub fn check(root: &Path, mutants: &[&'static Mutant]) -> Result<(), Failure> {
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
    use crate::run::root;

    #[test]
    fn every_mutant_still_applies() {
        check(&root(), &chosen(&[]).unwrap()).unwrap();
    }

    #[test]
    fn names_are_distinct_and_there_are_enough() {
        let mut names: Vec<_> = chosen(&[]).unwrap().iter().map(|mutant| mutant.name).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
        for ((what, mutants), enough) in TABLES.iter().zip([12, 10, 6, 15, 12, 8, 10]) {
            assert!(mutants.len() >= enough, "only {} in {what}", mutants.len());
        }
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let mutant = Mutant {
            name: "nonsense",
            file: "README.md",
            find: "no such text",
            put: "",
            breaks: "",
            tests: "",
        };
        let said = misfit(&root(), &mutant).unwrap();
        assert!(said.contains("nonsense") && said.contains("0 times"), "{said}");
        assert!(chosen(&["nonsense".into()]).is_err());
    }
}
