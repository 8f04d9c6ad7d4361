//! `cargo xtask mutants`: mutation testing with hand-written mutants.
//!
//! A test suite that passes says little unless it is known to fail for wrong code. Every row of the tables here is a
//! plausible mistake in the kernels, in the CUDA host code or in the core. It is applied to a copy of the tree, and the
//! tests that the row names must fail there.

mod in_bits;
mod in_core;
mod in_cuda_host;
mod in_expressions;
mod in_extremes;
mod in_kernels;
mod in_operations;
mod journal;
mod judge;
mod list;
mod report;
mod tree;

use std::time::Instant;

use self::journal::Journal;
use self::judge::{Judge, Verdict};
use self::list::Mutant;
use self::report::Row;
use self::tree::Tree;
use crate::{Failure, Outcome};

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
    /// Write the results to a page of the documentation.
    #[arg(long, value_name = "FILE", conflicts_with = "names")]
    markdown: Option<String>,
}

pub fn run(Options { names, list, resume, markdown }: Options) -> Outcome {
    let chosen = list::chosen(&names)?;
    list::check(&crate::run::root(), &chosen)?;
    if list {
        return print_list(&chosen);
    }

    let start = Instant::now();
    let tree = Tree::copy()?;
    list::check(tree.root(), &chosen)?;
    let judge = Judge::new(&tree)?;
    let mut journal = Journal::open(resume)?;
    let mut results = Vec::new();
    let mut waiting = Vec::new();
    for mutant in chosen {
        match journal.verdict(mutant)? {
            Some(verdict) => results.push(Row { mutant, verdict, seconds: 0.0 }),
            None => waiting.push(mutant),
        }
    }
    expect_success(&judge, &waiting, &mut journal)?;
    for mutant in waiting {
        let result = judge_one(&tree, &judge, mutant)?;
        result.print();
        journal.caught(mutant, &result.verdict)?;
        results.push(result);
    }
    report::summary(&results, start.elapsed());
    if let Some(file) = markdown {
        report::markdown(&results, &file)?;
    }
    let survivors = results.iter().filter(|result| !result.verdict.is_caught()).count();
    if survivors == 0 { Ok(()) } else { Err(format!("{survivors} were not caught").into()) }
}

fn print_list(mutants: &[&'static Mutant]) -> Outcome {
    for mutant in mutants {
        println!("{:32} {:36} {}", mutant.name, mutant.file, mutant.breaks);
    }
    println!("{} mutants, all of which apply", mutants.len());
    Ok(())
}

/// Checks that the tests pass without a mutant: otherwise their failure with one would prove nothing.
fn expect_success(judge: &Judge, mutants: &[&'static Mutant], journal: &mut Journal) -> Outcome {
    let mut commands: Vec<_> = mutants.iter().map(|mutant| mutant.tests).collect();
    commands.sort_unstable();
    commands.dedup();
    for tests in commands {
        if journal.passes(tests)? {
            continue;
        }
        let start = Instant::now();
        match judge.run(tests, judge::PATIENCE_WITHOUT)? {
            Verdict::Survived => {}
            other => return Err(format!("`cargo test {tests}` without a mutant: {other}").into()),
        }
        journal.passed(tests)?;
        println!("without a mutant: {tests} passes, {:.0} s", start.elapsed().as_secs_f64());
    }
    Ok(())
}

fn judge_one(tree: &Tree, judge: &Judge, mutant: &'static Mutant) -> Result<Row, Failure> {
    let start = Instant::now();
    let source = tree.apply(mutant)?;
    let verdict = judge.run(mutant.tests, judge::PATIENCE);
    // Restore the file even if cargo could not be started, so that the next mutant starts from an unmodified tree.
    tree.restore(mutant, &source)?;
    Ok(Row { mutant, verdict: verdict?, seconds: start.elapsed().as_secs_f64() })
}
