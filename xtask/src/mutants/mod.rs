//! `cargo xtask mutants`: mutation testing with hand-written mutants.
//!
//! A test suite that passes says little unless it is known to fail for wrong code. Every paragraph of the files in
//! `xtask/mutants` is a plausible mistake in the kernels, in the CUDA host code or in the core. It is applied to a copy of
//! the tree, and the tests that it names must fail there. Mistakes in Rust code that `cargo mutants` makes by itself are
//! left to it.

mod journal;
mod judge;
mod list;
mod tree;

use std::time::Instant;

use self::journal::{Journal, key};
use self::judge::{Judge, Verdict};
use self::list::Mutant;
use self::tree::Tree;
use crate::Outcome;

/// Applies mutants to a copy of the tree, one at a time, and checks that a test catches each.
#[derive(clap::Args)]
pub struct Options {
    /// Only the mutants of these names.
    #[arg(long = "only", value_name = "NAME")]
    names: Vec<String>,
    /// List them.
    #[arg(long)]
    list: bool,
    /// Skip those that an earlier run caught in the same sources.
    #[arg(long)]
    resume: bool,
    /// Only part K, counted from 0, of N parts of about the same size.
    #[arg(long, value_name = "K/N", value_parser = part)]
    shard: Option<(usize, usize)>,
}

/// Reads a part, such as `0/4`.
fn part(word: &str) -> Result<(usize, usize), String> {
    let numbers = word.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
    numbers.filter(|(k, n)| k < n).ok_or_else(|| "a part is K/N, with K below N".into())
}

pub fn run(Options { names, list, resume, shard }: Options) -> Outcome {
    let mut mutants = list::chosen(&names)?;
    if let Some((part, parts)) = shard {
        let mut place = 0..;
        mutants.retain(|_| place.next().is_some_and(|place: usize| place % parts == part));
    }
    list::check(&crate::run::root(), &mutants)?;
    if list {
        for Mutant { topic, name, file, breaks, .. } in &mutants {
            println!("{topic}: {name}, {file}: {breaks}");
        }
        println!("{} mutants, all of which apply", mutants.len());
        return Ok(());
    }
    let start = Instant::now();
    let (tree, sources) = Tree::copy()?;
    list::check(tree.root(), &mutants)?;
    let judge = Judge::new(&tree)?;
    let mut journal = Journal::open(resume, sources)?;
    mutants.retain(|mutant| !journal.knows(&key(mutant)));
    expect_success(&judge, &mutants, &mut journal)?;
    let mut survivors = Vec::new();
    for mutant in &mutants {
        let start = Instant::now();
        let source = tree.apply(mutant)?;
        let verdict = judge.run(&mutant.tests, judge::PATIENCE);
        // Restore the file even if cargo could not be started, so that the next mutant starts from an unmodified tree.
        tree.restore(mutant, &source)?;
        let verdict = verdict?;
        println!("{:32} {:5.0} s  {verdict}", mutant.name, start.elapsed().as_secs_f64());
        match verdict {
            Verdict::Caught { .. } => journal.note(&key(mutant))?,
            _ => survivors.push(&*mutant.name),
        }
    }
    let (caught, minutes) = (mutants.len() - survivors.len(), start.elapsed().as_secs_f64() / 60.0);
    println!("{caught} of {} mutants were caught, in {minutes:.1} minutes", mutants.len());
    if survivors.is_empty() { Ok(()) } else { Err(format!("not caught: {survivors:?}").into()) }
}

/// Checks that the tests pass without a mutant: otherwise their failure with one would prove nothing.
fn expect_success(judge: &Judge, mutants: &[Mutant], journal: &mut Journal) -> Outcome {
    let mut commands: Vec<&str> = mutants.iter().map(|mutant| &*mutant.tests).collect();
    commands.sort_unstable();
    commands.dedup();
    for tests in commands {
        if journal.knows(tests) {
            continue;
        }
        let start = Instant::now();
        match judge.run(tests, judge::PATIENCE_WITHOUT)? {
            Verdict::Survived => {}
            other => return Err(format!("`cargo test {tests}` without a mutant: {other}").into()),
        }
        journal.note(tests)?;
        println!("without a mutant: {tests} passes, {:.0} s", start.elapsed().as_secs_f64());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn parts_are_counted_from_zero() {
        assert_eq!(part("0/4"), Ok((0, 4)));
        assert_eq!(part("3/4"), Ok((3, 4)));
        assert!(["4/4", "0/0", "1", "-1/4", "a/b", ""].into_iter().all(|word| part(word).is_err()));
    }
}
